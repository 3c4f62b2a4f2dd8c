"""Attributes that are texts are read without protobuf: only those that protobuf reads alike."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from otel_ctxscore.core.codec import proto


def attribute(key: str, text: str) -> bytes:
    return KeyValue(key=key, value=AnyValue(string_value=text)).SerializeToString()


SIZES = [0, 1, 120, *range(122, 131), 250, *range(16_376, 16_388), 2_097_144, *range(2_097_146, 2_097_154)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("key", ["k", "retrieval.documents.0.document.content", "k" * 127])
def test_every_size_of_a_text_is_read_the_short_way(key: str, size: int) -> None:
    assert proto._text_pair(attribute(key, "x" * size)) == (key, "x" * size)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Attributes of every kind, with a byte set, a piece cut out or something added."""
    value = draw(
        st.builds(lambda text: AnyValue(string_value=text), st.text(max_size=200))
        | st.builds(lambda number: AnyValue(int_value=number), st.integers(-(2**63), 2**63 - 1))
        | st.builds(lambda raw: AnyValue(bytes_value=raw), st.binary(max_size=200))
    )
    written = bytearray(KeyValue(key=draw(st.text(max_size=130)), value=value).SerializeToString())
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(written)))
        written[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    return bytes(written)


@given(damaged())
@example(b"")
@example(b"\n")
@example(b"\n\x01")
@example(b"\n\x01k\x12\x03\n\x01")
@example(b"\n\x01k\x12\x02\n\x01a")
@example(b"\n\x01\xff\x12\x03\n\x01a")
@example(b"\n\x01k\x12\x03\n\x01\xff")
@example(b"\n\x01k\x12\x83\x00\n\x01a")
def test_what_is_read_the_short_way_protobuf_reads_alike(written: bytes) -> None:
    pair = proto._text_pair(written)
    if pair is not None:
        read = KeyValue.FromString(written)
        assert (read.key, read.value.string_value) == pair
        assert read.value.WhichOneof("value") == "string_value"


def test_what_is_remembered_is_bounded_and_holds_scalars_alone() -> None:
    pairs = proto._ShortPairs()
    for number in range(proto._MOST_PAIRS + 10):
        assert pairs[attribute(f"key{number}", "x")] == (f"key{number}", "x")
        assert len(pairs) <= proto._MOST_PAIRS
    listed = KeyValue(key="list")
    listed.value.array_value.values.add(string_value="x")
    before = len(pairs)
    assert pairs[listed.SerializeToString()] == ("list", ["x"])
    assert len(pairs) == before, "a list could be changed under whoever shares it"
