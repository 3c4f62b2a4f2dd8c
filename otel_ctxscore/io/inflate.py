"""Inflates request bodies, with a limit that is kept while inflating: a bomb costs no more than the limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import zstandard
from isal import isal_zlib

ISAL_ERROR = cast("type[Exception]", isal_zlib.error)  # its stub declares an instance
_GZIP_WINDOW, _ZLIB_WINDOW, _RAW_WINDOW = 31, 15, -15
_MOST_MEMBERS = 16  # each member costs a copy of the rest
_SMALLEST_ZSTD_WINDOW = 8 << 20  # the least that RFC 8878 asks a decoder to support


class TooLarge(ValueError):  # noqa: N818 -- the text is what a sender reads
    """The body is larger than the limit once inflated."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the request is larger than {limit} bytes (max_request_size)")


class BadEncoding(ValueError):  # noqa: N818
    """The body is not what its content encoding says."""


class UnknownEncoding(ValueError):  # noqa: N818
    """A content encoding that is not read."""


def inflate(body: bytes, encoding: str, limit: int) -> bytes:
    """The body without its content encoding: `gzip` (of a few members), `zstd` (one frame), `deflate` (in the zlib
    format or bare), `identity` or none.

    Raises TooLarge as soon as the output passes `limit` bytes, BadEncoding for a broken or cut body, UnknownEncoding.
    """
    name = encoding.strip().lower()
    if name not in _INFLATERS:
        raise UnknownEncoding(f"content encoding {name[:40]!r} is not read, but gzip, zstd, deflate and identity are")
    return _INFLATERS[name](body, limit)


def _identity(body: bytes, limit: int) -> bytes:
    if len(body) > limit:
        raise TooLarge(limit)
    return body


def _gzip(body: bytes, limit: int) -> bytes:
    member, rest = _member(body, _GZIP_WINDOW, limit, limit)
    members, left = [member], limit - len(member)
    while rest:
        if len(members) == _MOST_MEMBERS:
            raise BadEncoding(f"the compressed body has more than {_MOST_MEMBERS} gzip members")
        member, rest = _member(rest, _GZIP_WINDOW, left, limit)
        members.append(member)
        left -= len(member)
    return b"".join(members) if len(members) > 1 else member


def _deflate(body: bytes, limit: int) -> bytes:
    inflated, rest = _member(body, _ZLIB_WINDOW if _has_zlib_header(body) else _RAW_WINDOW, limit, limit)
    if rest:
        raise BadEncoding("data after the end of the compressed body")
    return inflated


def _has_zlib_header(body: bytes) -> bool:
    """RFC 1950: method 8, and the first two bytes are a multiple of 31."""
    return len(body) > 1 and body[0] & 0x0F == 8 and int.from_bytes(body[:2]) % 31 == 0


def _member(body: bytes, window: int, left: int, limit: int) -> tuple[bytes, bytes]:
    """One compressed member of at most `left` bytes of output, and what follows it."""
    stream = isal_zlib.decompressobj(wbits=window)
    try:
        inflated: bytes = stream.decompress(body, left + 1)
    except ISAL_ERROR:
        raise BadEncoding("the compressed body is broken") from None
    if len(inflated) > left:
        raise TooLarge(limit)
    if not stream.eof:
        raise BadEncoding("the compressed body is cut")
    return inflated, stream.unused_data


def _zstd(body: bytes, limit: int) -> bytes:
    inflater = zstandard.ZstdDecompressor(max_window_size=max(limit, _SMALLEST_ZSTD_WINDOW))
    try:
        stated = zstandard.frame_content_size(body)
        if stated > limit:
            raise TooLarge(limit)
        inflated = inflater.decompress(body, max_output_size=limit + 1, allow_extra_data=False)
    except zstandard.ZstdError:
        raise _zstd_fault(inflater, body, limit) from None
    if len(inflated) > limit:
        raise TooLarge(limit)
    return inflated


def _zstd_fault(inflater: zstandard.ZstdDecompressor, body: bytes, limit: int) -> ValueError:
    """Why a frame was not inflated: the library tells one that is cut from one that is too large by nothing."""
    try:
        with inflater.stream_reader(body) as stream:
            too_large = len(stream.read(limit + 1)) > limit
    except zstandard.ZstdError:
        too_large = False
    return TooLarge(limit) if too_large else BadEncoding("the compressed body is broken or cut")


_INFLATERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "zstd": _zstd,
    "deflate": _deflate,
    "identity": _identity,
    "": _identity,
}
