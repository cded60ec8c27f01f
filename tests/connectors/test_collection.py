from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings, strategies as st

from firesteel.connectors.base import Boundedness
from firesteel.connectors.collection import CollectionSource
from firesteel.testing.connectors import check_source, read_split

from .support import discovered


@dataclass
class Point:
    x: int


def test_contract_small(tmp_path: Path) -> None:
    assert check_source(CollectionSource(list("abcdefghij")), tmp_path) == [list("abcdefghij")]


def test_contract_in_a_file_of_several_blocks(tmp_path: Path) -> None:
    records = [(i, f"name {i}" * 3, i / 3) for i in range(4500)]
    source = CollectionSource(records)
    split = discovered(source, tmp_path)[0]
    assert split.payload.path is not None
    assert len(os.listdir(tmp_path / "work")) == 1
    for limit in (700, 1000, 1001, 10**6):
        assert read_split(source, split, max_records=limit)[0] == records
    assert read_split(source, split, position=2500)[0] == records[2500:]


def test_the_file_is_named_by_its_content(tmp_path: Path) -> None:
    records = ["x" * 200 + str(i) for i in range(2000)]
    one = discovered(CollectionSource(records), tmp_path)[0].payload.path
    again = discovered(CollectionSource(list(records)), tmp_path)[0].payload.path
    other = discovered(CollectionSource(records[1:]), tmp_path)[0].payload.path
    assert one == again != other


def test_reading_a_part_reads_only_its_block(tmp_path: Path) -> None:
    records = ["x" * 200 + str(i) for i in range(5000)]
    source = CollectionSource(records)
    split = discovered(source, tmp_path)[0]
    path = Path(split.payload.path)
    data = bytearray(path.read_bytes())
    data[:100] = b"\0" * 100  # the first block is damaged
    path.write_bytes(data)
    assert read_split(source, split, position=4990)[0] == records[4990:]


def test_empty_collection_has_an_end(tmp_path: Path) -> None:
    assert check_source(CollectionSource([]), tmp_path) == [[]]


def test_classes_that_plain_pickle_cannot_take(tmp_path: Path) -> None:
    @dataclass
    class Local:
        x: int

    values = check_source(CollectionSource([Local(1), Local(2)]), tmp_path)[0]
    assert [value.x for value in values] == [1, 2]
    assert check_source(CollectionSource([Point(3)]), tmp_path)[0] == [Point(3)]


def test_large_records_make_small_blocks(tmp_path: Path) -> None:
    records = [bytes([i]) * 100_000 for i in range(100)]
    split = discovered(CollectionSource(records), tmp_path)[0]
    assert split.payload.block_records < 100
    assert read_split(CollectionSource(records), split)[0] == records


def test_properties() -> None:
    source = CollectionSource([1])
    assert source.boundedness is Boundedness.BOUNDED
    assert source.max_parallelism == 1


@settings(max_examples=25, deadline=None)
@given(st.lists(st.one_of(st.integers(), st.text(), st.none(), st.floats(allow_nan=False))))
def test_any_records_come_back(tmp_path_factory, records) -> None:  # type: ignore[no-untyped-def]
    tmp_path = tmp_path_factory.mktemp("c")
    assert check_source(CollectionSource(records), tmp_path) == [records]
