"""When a reader closes the files that it has opened."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from firesteel.connectors._open_files import OpenFiles
from firesteel.connectors.base import Chunk, ReadRange, Split


class File:
    def __init__(self, split: Split) -> None:
        self.name = split.id
        self.closed = False

    def close(self) -> None:
        self.closed = True


class Reader:
    """Reads ``records`` of each file, two in a chunk."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.opened: list[File] = []
        self.error = error
        self.files = OpenFiles(self._open)

    def _open(self, split: Split) -> File:
        self.opened.append(File(split))
        return self.opened[-1]

    def read(self, name: str, records: int = 4, of: int = 8) -> Iterator[Chunk]:
        def chunks(file: File, range_: ReadRange) -> Iterator[Chunk]:
            for position in range(2, records + 1, 2):
                yield Chunk([1, 2], None, position, position >= of)
            if self.error is not None:
                raise self.error

        return self.files.read(ReadRange(Split(name), None, records, 1 << 20), chunks)

    @property
    def unclosed(self) -> list[str]:
        return [file.name for file in self.opened if not file.closed]


def test_a_file_stays_open_for_the_next_range() -> None:
    reader = Reader()
    assert len(list(reader.read("a"))) == 2
    list(reader.read("a"))
    assert reader.unclosed == ["a"]
    assert len(reader.opened) == 1
    reader.files.close()
    assert reader.unclosed == []


def test_a_file_that_was_read_to_its_end_is_closed() -> None:
    """A source that watches a directory reads thousands, and may be idle after each."""
    reader = Reader()
    list(reader.read("a", 8))
    assert reader.unclosed == []


def test_a_file_is_closed_at_its_end_also_when_nobody_asks_for_more() -> None:
    reader = Reader()
    chunks = reader.read("a", 8)
    for _ in range(4):
        next(chunks)
    chunks.close()  # type: ignore[attr-defined]
    assert reader.unclosed == []
    chunks = reader.read("b")
    next(chunks)
    chunks.close()  # type: ignore[attr-defined]
    assert reader.unclosed == ["b"], "the range is given up, and its file not read to the end"


@pytest.mark.parametrize("error", [OSError("x"), KeyboardInterrupt(), SystemExit()], ids=repr)
def test_a_file_is_closed_when_reading_fails(error: BaseException) -> None:
    reader = Reader(error)
    with pytest.raises(type(error)):
        list(reader.read("a"))
    assert reader.unclosed == []


def test_only_some_files_stay_open() -> None:
    reader = Reader()
    for number in range(40):
        list(reader.read(str(number)))
    assert len(reader.unclosed) == 16
    assert reader.unclosed[-1] == "39"


def test_a_range_that_ends_after_the_reader_was_closed_closes_its_file() -> None:
    reader = Reader()
    chunks = reader.read("a")
    next(chunks)
    reader.files.close()
    list(chunks)
    assert reader.unclosed == []
