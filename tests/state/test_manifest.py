"""The file of a manifest: whole or refused, whatever has happened to it."""

from __future__ import annotations

import hashlib
import struct

import msgspec
import pytest
from hypothesis import given, strategies as st

from firesteel.common.errors import StateCorruptionError
from firesteel.state.line import DeltaRef, RunRef, StateLine
from firesteel.state.manifest import (
    FORMAT_VERSION,
    Manifest,
    OperatorEntry,
    SubtaskEntry,
    VertexEntry,
    decode_manifest,
    encode_manifest,
    with_paths,
)

RUN = RunRef("epoch-1-a", 4, 100, "d" * 32, 7, 0, 63)
LINE = StateLine("m2", "m1", (RUN,), (DeltaRef("m2", RUN), DeltaRef("m3")), 2)
MANIFEST = Manifest(
    id=3,
    savepoint=False,
    job_id="a" * 32,
    job_name="job",
    claim="1-ab",
    triggered_ms=1_000,
    epoch=7,
    now_ms=999,
    topology="t",
    vertices=(
        VertexEntry(
            "v",
            "vertex",
            128,
            (OperatorEntry("o", "operator", "uid"), OperatorEntry("p", "other")),
            (SubtaskEntry(LINE, b"carry", 12, True), SubtaskEntry()),
        ),
    ),
    sources={"o": b"\x80source"},
    sinks={},
)
DATA = encode_manifest(MANIFEST)


def test_it_comes_back_as_it_was() -> None:
    assert decode_manifest(DATA, "here") == MANIFEST
    assert MANIFEST.files == {"epoch-1-a"}
    assert MANIFEST.vertices[0].parallelism == 2


def test_its_files_may_be_named_anew() -> None:
    moved = with_paths(MANIFEST, lambda path: f"/there/{path}")
    assert moved.files == {"/there/epoch-1-a"}
    assert with_paths(moved, lambda path: path.removeprefix("/there/")) == MANIFEST


@given(st.integers(0, len(DATA) * 8 - 1))
def test_every_flipped_bit_is_found(bit: int) -> None:
    damaged = bytearray(DATA)
    damaged[bit // 8] ^= 1 << bit % 8
    with pytest.raises(StateCorruptionError, match="/some/chk-3/_metadata"):
        decode_manifest(bytes(damaged), "/some/chk-3/_metadata")


@given(st.integers(0, len(DATA) - 1), st.binary(max_size=9))
def test_what_is_cut_or_goes_on_is_found(length: int, more: bytes) -> None:
    for damaged in (DATA[:length], DATA[:length] + more, DATA + b"x" + more):
        if damaged != DATA:
            with pytest.raises(StateCorruptionError):
                decode_manifest(damaged, "here")


@given(st.binary(max_size=300))
def test_what_is_something_else_is_refused(data: bytes) -> None:
    with pytest.raises(StateCorruptionError):
        decode_manifest(data, "here")


def test_a_sound_file_with_another_content_is_refused() -> None:
    """Fields that a later release may have are not an error; those that are missing are."""
    fields = msgspec.msgpack.decode(msgspec.msgpack.encode(MANIFEST))
    del fields["vertices"]
    other = msgspec.msgpack.encode(fields)
    head = DATA[: len(DATA) - len(msgspec.msgpack.encode(MANIFEST))]
    digest = hashlib.blake2b(other, digest_size=16).digest()
    whole = head[:8] + struct.pack(">HQ", FORMAT_VERSION, len(other)) + digest + other
    with pytest.raises(StateCorruptionError, match="vertices"):
        decode_manifest(whole, "here")


def test_a_later_format_is_named() -> None:
    later = DATA[:8] + (FORMAT_VERSION + 1).to_bytes(2, "big") + DATA[10:]
    with pytest.raises(StateCorruptionError, match=f"version {FORMAT_VERSION + 1}"):
        decode_manifest(later, "here")
