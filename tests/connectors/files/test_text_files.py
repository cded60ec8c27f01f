from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.errors import ConfigurationError, FiresteelError, PathNotFoundError
from firesteel.connectors.base import Boundedness, ReadRange
from firesteel.connectors.files.decompress import DECOMPRESSORS
from firesteel.connectors.files.errors import FileReadError
from firesteel.connectors.files.text_source import TextFileSource
from firesteel.storage.filesystems import LocalStorage
from firesteel.testing.connectors import check_source, chunks_of, read_split
from firesteel.testing.connectors._reading import BYTES, shipped

from ..support import context, discovered

# What Flink 2.3 reads from these bytes.
BYTES_OF_FLINK = b"a\nb\r\nc\rd\x0be\x85\xc2\x85f\xe2\x80\xa8g\n\nlast"
LINES_OF_FLINK = ["a", "b", "c", "d\x0be\ufffd\x85f\u2028g", "", "last"]


def write(path: Path, data: bytes | str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def java_lines(text: str) -> list[str]:
    """BufferedReader.readLine, character by character."""
    lines, line, i = [], "", 0
    while i < len(text):
        if text[i] in "\r\n":
            lines.append(line)
            line = ""
            i += 2 if text[i : i + 2] == "\r\n" else 1
        else:
            line += text[i]
            i += 1
    return [*lines, line] if line else lines


def test_lines_as_flink(tmp_path: Path) -> None:
    path = write(tmp_path / "t.txt", BYTES_OF_FLINK)
    assert check_source(TextFileSource(path), tmp_path) == [LINES_OF_FLINK]


@pytest.mark.parametrize("data", [b"", b"\n", b"\r", b"\r\n", b"a", b"a\r", b"\n\na", b"a\r\r\nb\n\r"])
def test_ends_of_files(tmp_path: Path, data: bytes) -> None:
    path = write(tmp_path / "t.txt", data)
    assert check_source(TextFileSource(path), tmp_path) == [java_lines(data.decode())]


@settings(max_examples=60, deadline=None)
@given(
    st.text(st.sampled_from("ab\u00e9\u4e2d\n\r"), max_size=60),
    st.sampled_from(["utf-8", "latin-1", "utf-16", "gbk", "utf-16-le"]),
    st.sampled_from([None, 1, 3, 10]),
)
def test_any_text(tmp_path_factory, text: str, encoding: str, split_bytes: int | None) -> None:  # type: ignore[no-untyped-def]
    tmp_path = tmp_path_factory.mktemp("t")
    data = text.encode(encoding, "replace")
    path = write(tmp_path / "t.txt", data)
    source = TextFileSource(path, encoding, split_bytes=split_bytes)
    found = [line for lines in check_source(source, tmp_path) for line in lines]
    assert found == java_lines(data.decode(encoding))


def test_large_files_in_blocks_and_ranges(tmp_path: Path) -> None:
    lines = [f"line {i} " + "é" * (i % 50) for i in range(20_000)]
    lines[5000] = "x" * 400_000  # longer than a block
    path = write(tmp_path / "t.txt", "\n".join(lines))
    source = TextFileSource(path)
    split = discovered(source, tmp_path)[0]
    for limit in (999, 4096, 10**6):
        assert read_split(source, split, max_records=limit)[0] == lines
    assert read_split(source, split, max_bytes=100_000)[0] == lines
    ranges = TextFileSource(path, split_bytes=100_000)
    splits = discovered(ranges, tmp_path, 4)
    assert len(splits) == -(-os.path.getsize(path) // 100_000)
    assert [line for s in splits for line in read_split(ranges, s)[0]] == lines


def test_byte_limit_is_about_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "t.txt", "0123456789\n" * 100_000)
    source = TextFileSource(path)
    split = discovered(source, tmp_path)[0]
    chunks = chunks_of(source, ReadRange(split, None, 10**6, 11_000))
    assert 900 <= sum(len(chunk.values) for chunk in chunks) <= 1000


def _zst(data: bytes) -> bytes:
    compressed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return compressed


COMPRESS = {
    "gz": gzip.compress,
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "deflate": zlib.compress,
    "zst": _zst,
}


@pytest.mark.parametrize(("extension", "compress"), COMPRESS.items())
def test_compressed_by_extension(tmp_path: Path, extension: str, compress) -> None:  # type: ignore[no-untyped-def]
    path = write(tmp_path / f"t.{extension}", compress(BYTES_OF_FLINK))
    source = TextFileSource(path, split_bytes=3)
    assert check_source(source, tmp_path) == [LINES_OF_FLINK]


@pytest.mark.parametrize(("extension", "compress"), COMPRESS.items())
@pytest.mark.parametrize("kept", [0.02, 0.5, 0.999])
def test_truncated_files_are_errors_that_name_them(  # type: ignore[no-untyped-def]
    tmp_path: Path, extension: str, compress, kept: float
) -> None:
    content = "".join(f"line {i} {i * 7919 % 1009}\n" for i in range(200_000)).encode()
    data = compress(content)
    path = write(tmp_path / f"t.{extension}", data[: min(len(data) - 1, int(len(data) * kept))])
    source = TextFileSource(path)
    with pytest.raises(FileReadError) as raised:
        read_split(source, discovered(source, tmp_path)[0])
    assert raised.value.message == f"cannot read {path}"
    assert "after byte" in str(raised.value.detail)


@pytest.mark.parametrize(("extension", "compress"), COMPRESS.items())
def test_corrupt_files_are_errors_that_name_them(tmp_path: Path, extension: str, compress) -> None:  # type: ignore[no-untyped-def]
    damaged = compress(os.urandom(5000))[:-6] + b"\x55" * 6
    for data in (b"no compressed data at all", damaged)[: 1 if extension == "zst" else 2]:  # it has no sum
        path = write(tmp_path / f"t.{extension}", data)
        source = TextFileSource(path)
        with pytest.raises(FileReadError, match=f"cannot read {path}"):
            read_split(source, discovered(source, tmp_path)[0])


#: extension -> lines of: no bytes; two streams; zeros after a stream; a stray byte after it. None: an error.
AFTER_THE_FIRST_STREAM = {
    "gz": (None, ["a", "b"], ["a"], ["a"]),
    "bz2": (None, ["a", "b"], ["a"], ["a"]),
    "xz": (None, ["a", "b"], ["a"], None),
    "deflate": (None, ["a"], ["a"], ["a"]),
    "zst": ([], ["a", "b"], None, None),
}


@pytest.mark.parametrize(("extension", "expected"), AFTER_THE_FIRST_STREAM.items())
def test_what_follows_the_first_compressed_stream(tmp_path: Path, extension: str, expected) -> None:  # type: ignore[no-untyped-def]
    first, second = COMPRESS[extension](b"a\n"), COMPRESS[extension](b"b\n")
    for data, lines in zip((b"", first + second, first + bytes(8), first + b"x"), expected, strict=True):
        path = write(tmp_path / f"t.{extension}", data)
        source = TextFileSource(path)
        if lines is None:
            with pytest.raises(FileReadError, match=f"cannot read {path}"):
                read_split(source, discovered(source, tmp_path)[0])
        else:
            assert read_split(source, discovered(source, tmp_path)[0])[0] == lines


@pytest.mark.parametrize("extension", ["gz", "bz2", "xz"])
def test_a_second_stream_is_found_whatever_the_blocks_are(tmp_path: Path, extension: str) -> None:
    first = COMPRESS[extension](os.urandom(300_000).hex().encode() + b"\n")
    second = COMPRESS[extension](b"end\n")
    for cut in range(1, 8):  # the first block of the file ends within the magic bytes of the second stream
        block = len(first) + cut
        stored = Blocks(first + second, block)
        assert b"".join(DECOMPRESSORS[extension](stored)).endswith(b"\nend\n")
        with pytest.raises(EOFError, match="truncated"):
            list(DECOMPRESSORS[extension](Blocks((first + second)[:block], block)))


class Blocks(io.BytesIO):
    """A stream whose reads return at most ``size`` bytes."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self._most = size

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self._most)


def test_compressed_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "t.gz", gzip.compress("".join(f"{i}\n" for i in range(200_000)).encode()))
    source = TextFileSource(path)
    split = discovered(source, tmp_path)[0]
    opened: list[str] = []
    real = LocalStorage.open_input
    monkeypatch.setattr(LocalStorage, "open_input", lambda self, p: (opened.append(p), real(self, p))[1])
    reader = source.create_reader()
    position, values, end = None, [], False
    while not end:
        for chunk in reader.read(ReadRange(split, position, 10_000, BYTES)):
            values += chunk.values
            position, end = chunk.position, chunk.end
    assert values == [str(i) for i in range(200_000)]
    assert len(opened) == 1
    reader.close()


def test_directories_globs_and_hidden_files(tmp_path: Path) -> None:
    for name in ("in/b.txt", "in/a.txt", "in/sub/c.txt", "in/_d.txt", "in/.e.txt", "in/_f/g.txt", "in/h.log"):
        write(tmp_path / name, name + "\n")
    root = str(tmp_path / "in")

    def found(*paths: str) -> list[str]:
        return [os.path.relpath(s.id, root) for s in discovered(TextFileSource(paths), tmp_path)]

    assert found(root) == ["a.txt", "b.txt", "h.log", "sub/c.txt"]
    assert found(f"file://{root}") == ["a.txt", "b.txt", "h.log", "sub/c.txt"]
    assert found(f"{root}/*.txt") == ["a.txt", "b.txt"]
    assert found(f"{root}/[b]*") == ["b.txt"]
    assert found(f"{root}/**/*.txt") == ["a.txt", "b.txt", "sub/c.txt"]
    assert found(f"{root}/s?b") == ["sub/c.txt"]
    assert found(f"{root}/_d.txt", f"{root}/a.txt") == ["_d.txt", "a.txt"]
    assert found(root, f"{root}/a.txt").count("a.txt") == 1


def test_a_name_with_pattern_characters(tmp_path: Path) -> None:
    path = write(tmp_path / "a[1].txt", "x\n")
    assert [s.id for s in discovered(TextFileSource(path), tmp_path)] == [path]


def test_missing_paths(tmp_path: Path) -> None:
    with pytest.raises(PathNotFoundError, match="does not exist"):
        TextFileSource(str(tmp_path / "no.txt")).validate()
    with pytest.raises(PathNotFoundError, match="no file matches"):
        TextFileSource(str(tmp_path / "*.txt")).validate()
    with pytest.raises(PathNotFoundError):
        TextFileSource(str(tmp_path / "no"), discovery_interval_ms=10).validate()
    TextFileSource(str(tmp_path / "*.txt"), discovery_interval_ms=10).validate()


@pytest.mark.parametrize(
    "bad",
    [
        {"paths": ()},
        {"paths": ("",)},
        {"encoding": "no-such"},
        {"discovery_interval_ms": 0},
        {"split_bytes": 0},
    ],
)
def test_bad_options(bad: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        TextFileSource(**{"paths": ("x",), **bad})  # type: ignore[arg-type]


@pytest.mark.row("S-CONN-24")
def test_watched_directory(tmp_path: Path) -> None:
    root = tmp_path / "in"
    old, new = write(root / "z.txt", "1\n"), write(root / "a.txt", "2\n")
    os.utime(old, (1000, 1000))
    os.utime(new, (2000, 2000))
    source = TextFileSource(str(root), discovery_interval_ms=100)
    assert source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    enumerator = source.create_enumerator(context(tmp_path))
    enumerator.open()
    assert [split.id for split in enumerator.discover(1000)] == [old, new]
    third = write(root / "b.txt", "3\n")
    assert enumerator.discover(1099) == []
    assert enumerator.next_data_ms(1099) == 1100
    assert [split.id for split in enumerator.discover(1100)] == [third]
    write(root / "a.txt", "changed\n")
    assert enumerator.discover(1200) == []
    assert not enumerator.finished
    state = shipped(enumerator.snapshot())
    restored = source.create_enumerator(context(tmp_path))
    restored.restore(state)
    restored.open()
    fourth = write(root / "c.txt", "4\n")
    assert [split.id for split in restored.discover(0)] == [fourth]


def test_appending_later_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "t.txt", "a\nb")
    source = TextFileSource(path)
    split = discovered(source, tmp_path)[0]
    write(tmp_path / "t.txt", "a\nbc\nd\n")
    assert read_split(source, split)[0] == ["a", "b"]


def test_a_file_that_shrinks_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "t.txt", "a\nb\nc\n")
    source = TextFileSource(path)
    split = discovered(source, tmp_path)[0]
    write(tmp_path / "t.txt", "a\n")
    with pytest.raises(FiresteelError, match="became shorter"):
        read_split(source, split)


def test_other_file_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

    from firesteel.storage import filesystems as _storage

    write(tmp_path / "bucket/in/a.txt", "1\n2\n")
    write(tmp_path / "bucket/in/sub/b.txt", "3\n")
    write(tmp_path / "bucket/in/_c.txt", "4\n")
    remote = SubTreeFileSystem(str(tmp_path / "bucket"), LocalFileSystem())
    monkeypatch.setattr(_storage, "_arrow_root", lambda root: (remote, ""))
    source = TextFileSource("s3://bucket/in")
    source.validate()
    splits = discovered(source, tmp_path)
    assert [s.id for s in splits] == ["s3://bucket/in/a.txt", "s3://bucket/in/sub/b.txt"]
    reader = source.create_reader()
    assert [c.values for s in splits for c in reader.read(ReadRange(s, None, 9, BYTES))] == [
        ["1", "2"],
        ["3"],
    ]
    reader.close()
    assert len(discovered(TextFileSource("s3://bucket/*/a.txt"), tmp_path)) == 1
    with pytest.raises(PathNotFoundError):
        TextFileSource("s3://bucket/none").validate()


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_files_of_many_blocks_are_read_in_turns(tmp_path: Path, suffix: str) -> None:
    lines = [[f"{n}-{i:08d}" for i in range(30_000)] for n in range(3)]
    for n, texts in enumerate(lines):
        data = "\n".join(texts).encode()
        write(tmp_path / f"in/{n}.txt{suffix}", gzip.compress(data, 1) if suffix else data)
    assert check_source(TextFileSource(str(tmp_path / "in")), tmp_path) == lines
