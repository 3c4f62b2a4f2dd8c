from __future__ import annotations

import gzip
import resource
import zlib
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.io.inflate import BadEncoding, TooLarge, UnknownEncoding, inflate

MIB = 1 << 20


def raw_deflate(body: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(body) + stream.flush()


def zstd_of_unknown_size(body: bytes) -> bytes:
    stream = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    return stream.compress(body) + stream.flush()


def two_members(body: bytes) -> bytes:
    return gzip.compress(body[: len(body) // 2]) + gzip.compress(body[len(body) // 2 :])


WAYS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("gzip", two_members),
    ("deflate", zlib.compress),
    ("deflate", raw_deflate),
    ("zstd", zstandard.compress),
    ("zstd", zstd_of_unknown_size),
]


@given(st.sampled_from(WAYS), st.binary(max_size=3000))
def test_what_was_compressed_comes_back(way: tuple[str, Callable[[bytes], bytes]], body: bytes) -> None:
    encoding, compress = way
    assert inflate(compress(body), encoding, len(body)) == body
    if body:
        with pytest.raises(TooLarge):
            inflate(compress(body), encoding, len(body) - 1)


@given(st.sampled_from(WAYS), st.binary(min_size=1, max_size=300), st.data())
def test_a_cut_body_is_an_error_and_never_a_part(
    way: tuple[str, Callable[[bytes], bytes]], body: bytes, data: st.DataObject
) -> None:
    encoding, compress = way
    packed = compress(body)
    cut = data.draw(st.integers(0, len(packed) - 1))
    if compress is two_members and cut == len(gzip.compress(body[: len(body) // 2])):
        return  # the first member alone is whole
    with pytest.raises(BadEncoding):
        inflate(packed[:cut], encoding, MIB)


@given(st.sampled_from(["gzip", "deflate", "zstd", "identity"]), st.binary(max_size=200))
def test_any_bytes_give_bytes_or_a_named_error(encoding: str, body: bytes) -> None:
    try:
        assert len(inflate(body, encoding, 1000)) <= 1000
    except (TooLarge, BadEncoding):
        assert encoding != "identity"


@pytest.mark.parametrize(("encoding", "compress"), WAYS)
def test_a_bomb_costs_no_more_than_the_limit(encoding: str, compress: Callable[[bytes], bytes]) -> None:
    bomb, limit = compress(bytes(64 * MIB)), 4 * MIB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TooLarge, match=str(limit)):
        inflate(bomb, encoding, limit)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 2 * limit


def test_many_members_are_refused() -> None:
    with pytest.raises(BadEncoding, match="members"):
        inflate(gzip.compress(b"") * 1000, "gzip", MIB)


@pytest.mark.parametrize("encoding", ["deflate", "zstd"])
def test_data_after_the_end_is_an_error(encoding: str) -> None:
    compress = zlib.compress if encoding == "deflate" else zstandard.compress
    with pytest.raises(BadEncoding):
        inflate(compress(b"a") + b"more", encoding, MIB)


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "snappy"])
def test_unknown_encodings(encoding: str) -> None:
    with pytest.raises(UnknownEncoding, match="gzip, zstd, deflate and identity"):
        inflate(b"", encoding, MIB)


def test_case_and_space_do_not_matter() -> None:
    assert inflate(b"a", " Identity ", 1) == inflate(b"a", "", 1) == b"a"
