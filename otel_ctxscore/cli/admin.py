"""The admin address of a running service, as commands ask it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import requests

from otel_ctxscore.web.access import CSRF_HEADER

SECONDS = 10
URL = click.option(
    "--url", default="http://127.0.0.1:9464", show_default=True, help="Admin address of the running service."
)
TOKEN = click.option(
    "--token-file", type=click.Path(path_type=Path), help="File with the token of admin.auth, where it asks for one."
)


class Admin:
    """The admin address of a running service."""

    def __init__(self, url: str, token_file: Path | None) -> None:
        self._url = url.rstrip("/")
        self._session = requests.Session()
        if token_file is not None:
            try:
                token = token_file.read_text("utf-8").split()[0]
            except (OSError, IndexError) as error:
                raise click.ClickException(f"{token_file}: {getattr(error, 'strerror', None) or 'is empty'}") from None
            self._session.headers["Authorization"] = f"Bearer {token}"

    def ask(
        self, method: str, path: str, body: dict[str, Any] | None = None, query: Mapping[str, object] | None = None
    ) -> Any:
        """The answer. Raises ClickException for an error, with what to do about it."""
        answer = self._answer(method, path, json=body, params=query)
        if CSRF_HEADER in answer.headers:
            self._session.headers[CSRF_HEADER] = answer.headers[CSRF_HEADER]
        try:
            said = answer.json()
        except ValueError:
            raise click.ClickException(f"{self._url} is no admin address of otel-ctxscore") from None
        if not answer.ok:
            raise click.ClickException(f"{said.get('error', answer.reason)} ({said.get('hint', '')})")
        return said

    def stream(self, path: str, query: Mapping[str, object]) -> Iterator[str]:
        """An answer that may be long, piece by piece. Raises ClickException where it is an error, or breaks off."""
        answer = self._answer("GET", path, params=query, stream=True)
        if not answer.ok:
            said = answer.json()
            raise click.ClickException(f"{said.get('error', answer.reason)} ({said.get('hint', '')})")
        try:
            yield from answer.iter_content(1 << 16, decode_unicode=True)
        except requests.RequestException as error:
            raise click.ClickException(f"{self._url} broke off: {type(error).__name__}") from None

    def _answer(self, method: str, path: str, **options: Any) -> Any:
        try:
            return self._session.request(method, f"{self._url}/api/v1/{path}", timeout=SECONDS, **options)
        except requests.RequestException as error:
            raise click.ClickException(f"{self._url} does not answer: {type(error).__name__}; is it --url?") from None
