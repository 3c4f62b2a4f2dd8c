"""What every part of the configuration is, and the TLS and token sections that several of them hold."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, model_validator


class Section(BaseModel):
    """A part of the configuration. Unknown keys are refused; values do not change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)


class Tls(Section):
    cert: Path
    """Certificate chain, PEM."""
    key: Path
    """Private key, PEM."""
    client_ca: Path | None = None
    """Authority that client certificates must come from; set, it makes them mandatory (mTLS)."""


class ClientTls(Section):
    ca: Path | None = None
    """Authority of the server's certificate; the system's where null."""
    cert: Path | None = None
    """Client certificate, PEM (mTLS)."""
    key: Path | None = None
    """Client key, PEM."""

    @model_validator(mode="after")
    def _together(self) -> ClientTls:
        if self.key is not None and self.cert is None:
            raise ValueError("key needs cert")
        return self


class TokenAuth(Section):
    token_file: Path
    """File that holds the bearer token; read again when it changes."""
