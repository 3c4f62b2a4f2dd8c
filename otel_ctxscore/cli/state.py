"""What the commands that read and write the state file have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import click

from otel_ctxscore.config import Config
from otel_ctxscore.core.errors import with_its_file
from otel_ctxscore.io.state import Database, Kept, StateError
from otel_ctxscore.io.state.opening import default_folder


@asynccontextmanager
async def kept(config: Config, *, create: bool = False) -> AsyncIterator[Kept]:
    """The values in the state of a configuration, also while a service runs on it. Raises ClickException where there
    is no state, unless `create`, or it cannot be used."""
    path = (config.state.path or default_folder()) / "state.sqlite3"
    if not create and not path.exists():
        raise click.ClickException(f"there is no state at {path}: name the configuration of the service with -c")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        database = Database(path, max_size=config.state.max_size, max_age=config.state.max_age)
    except StateError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(with_its_file(error)) from None
    try:
        yield Kept(database)
    finally:
        await database.close()
    if database.dropped:
        raise click.ClickException(f"{path} could not be written, see above")
