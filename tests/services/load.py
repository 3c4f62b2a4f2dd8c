"""h2load, which sends one request again and again over HTTP/1.1, HTTP/2 and gRPC, from Debian."""

from __future__ import annotations

from tests.services.debian import DebianPrograms

H2LOAD = DebianPrograms((("h2load",),), ("nghttp2-client",))
