from __future__ import annotations

from zlib import crc32

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.errors import StateCorruptionError
from firesteel.state import runs
from firesteel.state.runs import TOMBSTONE, Run, RunWriter, encode_run, group_of, mark_of, prefix_end

KEYS = st.binary(min_size=3, max_size=12)


def make(entries: dict[bytes, bytes]) -> tuple[Run, bytes]:
    keys = sorted(entries)
    data, _ = encode_run(keys, [entries[key] for key in keys])
    return Run.of_bytes(data), data


def numbered(count: int) -> dict[bytes, bytes]:
    return {(n * 7 % 5000).to_bytes(2, "big") + b"key%05d" % n: b"value%d" % n for n in range(count)}


@given(st.dictionaries(KEYS, st.binary(max_size=5), min_size=1, max_size=400), KEYS)
@settings(deadline=None)
def test_what_was_written_is_read(entries: dict[bytes, bytes], other: bytes) -> None:
    run, _ = make(entries)
    assert dict(run.scan_all()) == entries
    assert list(run.scan_all()) == sorted(entries.items())
    assert run.entries == len(entries)
    assert all(run.get(key) == value for key, value in entries.items())
    assert run.get(other) == entries.get(other)
    assert (run.first_key, run.last_key) == (min(entries), max(entries))


@given(
    st.dictionaries(KEYS, st.binary(max_size=5), min_size=1, max_size=400),
    st.binary(min_size=1, max_size=3),
    st.integers(0, 0xFFFF),
    st.integers(0, 0xFFFF),
)
@settings(deadline=None)
@pytest.mark.row("S-BACK-15")
def test_scans_of_prefixes_and_groups(
    entries: dict[bytes, bytes], prefix: bytes, one: int, other: int
) -> None:
    run, _ = make(entries)
    slices = run.slices(prefix, prefix_end(prefix))
    assert {key: value for slice in slices for key, value in zip(*slice, strict=True)} == {
        key: value for key, value in entries.items() if key.startswith(prefix)
    }
    first, last = sorted((one, other))
    found = [key for keys, _ in run.scan_groups(first, last) for key in keys]
    assert found == sorted(key for key in entries if first <= group_of(key) <= last)
    assert 0 <= run.count_groups(first, last) <= len(entries) + 1e-6


def test_entries_of_a_range_of_groups_are_estimated_well() -> None:
    run, _ = make({group.to_bytes(2, "big") + b"%04d" % n: b"" for group in range(64) for n in range(100)})
    assert run.count_groups(0, 63) == 6_400
    for first in range(0, 60, 7):
        for last in range(first, 64, 5):
            assert abs(run.count_groups(first, last) - 100 * (last - first + 1)) <= 128
    small, _ = make({group.to_bytes(2, "big") + b"key": b"" for group in range(100)})
    assert small.count_groups(10, 19) == pytest.approx(10)


def test_the_same_entries_have_the_same_digest() -> None:
    keys = [b"\0\0a", b"\0\0b"]
    assert encode_run(keys, [b"1", TOMBSTONE])[1] == encode_run(keys, [b"1", TOMBSTONE])[1]
    assert encode_run(keys, [b"1", TOMBSTONE])[1] != encode_run(keys, [b"1", b"2"])[1]


def test_large_values_make_small_blocks() -> None:
    entries = {b"\0\0key%03d" % n: bytes(50_000) for n in range(20)}
    run, _ = make(entries)
    assert run.blocks >= 10
    assert dict(run.scan_all()) == entries


def test_reading_one_entry_reads_the_index_and_one_block() -> None:
    _, data = make(numbered(20_000))
    read = []

    def part(offset: int, length: int) -> bytes:
        read.append(length)
        return data[offset : offset + length]

    run = Run("counted", len(data), part)
    key, value = next(iter(numbered(20_000).items()))
    assert read == []
    assert run.get(key) == value
    assert len(read) == 3
    assert read[-1] < len(data) / 100


def test_a_filter_spares_the_look_into_blocks() -> None:
    run, _ = make(numbered(5_000))
    keys = list(numbered(5_000))
    assert all(run.may_hold(mark_of(key)) for key in keys)
    others = [key + b"?" for key in keys]
    assert sum(run.may_hold(mark_of(key)) for key in others) < 0.03 * len(others)


def head(number: int) -> bytes:
    """Of a key that is a number, or now and then a long text, in one column."""
    key = b"i%d" % number if number % 7 else b"s" + b"%d" % number * 90
    length = bytes((len(key),)) if len(key) < 0xFF else b"\xff" + len(key).to_bytes(4, "big")
    return (number % 50).to_bytes(2, "big") + length + key + b"column"


@pytest.mark.row("S-PERF-12")
def test_a_filter_knows_the_heads_of_keys() -> None:
    entries = {head(n) + rest: b"v" for n in range(0, 2_000, 2) for rest in (b"", b"a", b"bb")[n % 3 :]}
    run, data = make(entries)
    assert run.blocks > 1
    assert all(run.may_hold_head(mark_of(head(n))) for n in range(0, 2_000, 2))
    assert sum(run.may_hold_head(mark_of(head(n))) for n in range(1, 2_000, 2)) < 0.06 * 1_000
    keys = sorted(entries)
    parts: list[bytes] = []
    writer = RunWriter(parts.append)
    for start in range(0, len(keys), 5):  # between the entries of one head too
        writer.add(keys[start : start + 5], [b"v"] * len(keys[start : start + 5]))
    writer.finish()
    assert b"".join(parts) == data


def test_a_filter_of_before_knows_no_heads() -> None:
    """Version 3 of the format."""
    _, data = make({head(n) + b"rest": b"v" for n in range(500)})
    offset, length, crc, entries, _, magic = runs._FOOTER.unpack(data[-runs._FOOTER.size :])
    old = Run.of_bytes(data[: -runs._FOOTER.size] + runs._FOOTER.pack(offset, length, crc, entries, 3, magic))
    assert all(old.may_hold_head(mark_of(head(n))) for n in range(500, 600))


def test_a_run_without_a_filter_is_read() -> None:
    """Version 1 of the format."""
    _, data = make(numbered(300))
    offset, length, _, entries, _, magic = runs._FOOTER.unpack(data[-runs._FOOTER.size :])
    *index, _ = runs._unpack_index(data[offset : offset + length])
    old = msgspec.msgpack.encode(index)
    footer = runs._FOOTER.pack(offset, len(old), crc32(old), entries, 1, magic)
    run = Run.of_bytes(data[:offset] + old + footer)
    assert dict(run.scan_all()) == numbered(300)
    key, value = next(iter(numbered(300).items()))
    assert run.may_hold(mark_of(key))
    assert run.may_hold(mark_of(b"another"))
    assert run.get(key) == value


def test_entries_may_come_in_pieces() -> None:
    entries = numbered(1_000)
    keys = sorted(entries)
    parts: list[bytes] = []
    writer = RunWriter(parts.append)
    for start in range(0, 1_000, 77):
        piece = keys[start : start + 77]
        writer.add(piece, [entries[key] for key in piece])
    digest = writer.finish()
    data = b"".join(parts)
    assert (writer.length, writer.entries) == (len(data), 1_000)
    assert dict(Run.of_bytes(data).scan_all()) == entries
    assert (data, digest) == encode_run(keys, [entries[key] for key in keys])


def test_every_damaged_byte_is_found() -> None:
    _, data = make(numbered(300))
    for at in (*range(0, len(data) - 60, 37), *range(len(data) - 60, len(data))):
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        run = Run.of_bytes(bytes(damaged), name="segment-1.run")
        with pytest.raises(StateCorruptionError, match=r"segment-1\.run"):
            run.verify()


def test_a_damaged_block_is_named() -> None:
    _, data = make(numbered(300))
    damaged = bytearray(data)
    damaged[5] ^= 1
    run = Run.of_bytes(bytes(damaged))
    with pytest.raises(StateCorruptionError) as caught:
        list(run.scan_all())
    assert "block 0" in str(caught.value)
    assert run.get(run.last_key) is not None  # the other blocks can still be read


@pytest.mark.parametrize("length", [0, 5, 30, -1, -40])
def test_a_cut_file_is_found(length: int) -> None:
    _, data = make(numbered(300))
    with pytest.raises(StateCorruptionError):
        Run.of_bytes(data[:length]).verify()


def test_end_of_a_prefix() -> None:
    assert prefix_end(b"a") == b"b"
    assert prefix_end(b"a\xff") == b"b"
    assert prefix_end(b"\xff\xff") is None
