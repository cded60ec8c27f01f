"""Encodings, sizes and kinds of files, their names, and disks that misbehave."""

from __future__ import annotations

import gzip
import os
import socket
from pathlib import Path
from typing import Any

from firesteel.common import Encoder, WatermarkStrategy
from firesteel.datastream import DataStream
from firesteel.datastream.connectors.file_system import (
    FileSink,
    FileSource,
    OutputFileConfig,
    StreamFormat,
)
from firesteel.datastream.formats.csv import CsvReaderFormat, CsvSchema
from firesteel.table.types import DataTypes

from .core import Case, Here, area

CASES: list[Case] = []
case = area("files", CASES)


def lines(here: Here, *paths: Any, charset: str = "UTF-8") -> DataStream:
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(charset), *paths).build()
    return here.env(2).from_source(source, WatermarkStrategy.no_watermarks(), "lines")


CONTENTS: list[tuple[str, bytes, str]] = [
    ("a file of no bytes", b"", "UTF-8"),
    ("a file of a byte order mark and nothing else", b"\xef\xbb\xbf", "UTF-8"),
    ("a byte order mark before the first line", b"\xef\xbb\xbfa\nb\n", "UTF-8"),
    ("a UTF-16 file with its mark", "a\nb\n".encode("utf-16"), "UTF-16"),
    ("a UTF-16 file read as UTF-8", "a\nb\n".encode("utf-16"), "UTF-8"),
    ("a UTF-16LE file without a mark", "a\u0a0ab\nc".encode("utf-16-le"), "UTF-16LE"),
    ("Latin-1 read as UTF-8", "\u00e9t\u00e9\n".encode("latin-1"), "UTF-8"),
    ("Latin-1", "\u00e9t\u00e9\n".encode("latin-1"), "ISO-8859-1"),
    ("lines that end with CR and LF", b"a\r\nb\r\n", "UTF-8"),
    ("lines that end with CR alone", b"a\rb\r", "UTF-8"),
    ("CR, LF and both in one file", b"a\rb\nc\r\nd\n\re", "UTF-8"),
    ("a last line without an end", b"a\nb", "UTF-8"),
    ("nothing but ends of lines", b"\n\n\n", "UTF-8"),
    (
        "form feeds, vertical tabs and U+2028 inside of lines",
        "a\x0bb\x0cc\x1cd\u2028e\x85f\n".encode(),
        "UTF-8",
    ),
    ("a NUL in a line", b"a\0b\n", "UTF-8"),
    ("half of a character at the end", b"a\n\xc3", "UTF-8"),
    ("an encoding that there is not", b"a\n", "UTF-99"),
    ("an encoding whose name is empty", b"a\n", ""),
    ("an encoding that is no text, rot13", b"a\n", "rot13"),
]
for _words, _content, _charset in CONTENTS:
    case(_words)(lambda here, c=_content, e=_charset: lines(here, here.file("in.txt", c), charset=e))


@case("one line of 10 MB among others")
def _(here: Here) -> Any:
    content = b"a\n" + b"x" * 10_000_000 + b"\nb\n"
    return lines(here, here.file("in.txt", content)).map(len)


@case("100,000 lines of nothing")
def _(here: Here) -> Any:
    found = list(lines(here, here.file("in.txt", b"\n" * 100_000)).execute_and_collect())
    return len(found), set(found)


NAMES = [
    "with spaces and  two.txt",
    "with\nnewline.txt",
    "with%20percent.txt",
    "with#hash?question.txt",
    "with[brackets]*.txt",
    "with'quotes\".txt",
    "mit \u00fcmlaut \U0001f600.txt",
    "back\\slash.txt",
    "-starts-with-dash",
    "with:colon,comma;semicolon",
    "a" * 255,
]
for _name in NAMES:
    _shown_name = _name.replace("\n", "\\n") if len(_name) < 50 else "255 letters"
    case(f"a file with the name {_shown_name}")(lambda here, name=_name: lines(here, here.file(name, b"a\n")))
    case(f"a directory with the name {_shown_name}")(
        lambda here, name=_name: lines(here, str(Path(here.file(f"{name}/in.txt", b"a\n")).parent))
    )


def made(here: Here, make: Any) -> str:
    path = here.path / "in.txt"
    make(path)
    return str(path)


def looped(path: Path) -> None:
    path.symlink_to(path.with_name("other"))
    path.with_name("other").symlink_to(path)


def served(path: Path) -> None:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.close()


PLACES: list[tuple[str, Any]] = [
    ("a path that is not there", lambda here: str(here.path / "none.txt")),
    ("an empty directory", lambda here: str(here.path)),
    ("an empty text as the path", lambda here: ""),
    ("a path that is None", lambda here: None),
    ("a path that is bytes", lambda here: b"/tmp"),
    ("a path that is a Path", lambda here: Path(here.file("in.txt", b"a\n"))),
    ("a path with a NUL", lambda here: "/tmp/a\0b"),
    ("a path of 5,000 letters", lambda here: "/tmp/" + "a" * 5000),
    ("a path of an unknown scheme", lambda here: "gopher://host/file"),
    ("a path with file: and one slash", lambda here: "file:" + here.file("in.txt", b"a\n")),
    ("a path with file: and three slashes", lambda here: "file://" + here.file("in.txt", b"a\n")),
    ("a path with file: and a host", lambda here: "file://host" + here.file("in.txt", b"a\n")),
    ("a path with ~", lambda here: "~/none-of-this-name"),
    ("a link to a file", lambda here: made(here, lambda p: p.symlink_to(here.file("real.txt", b"a\n")))),
    ("links that go round in a circle", lambda here: made(here, looped)),
    ("a link to nothing", lambda here: made(here, lambda p: p.symlink_to("nothing"))),
    (
        "a directory with a link to nothing in it",
        lambda here: (made(here, lambda p: p.symlink_to("nothing")), str(here.path))[1],
    ),
    (
        "a directory with a link to itself in it",
        lambda here: (
            here.file("a.txt", b"a\n"),
            made(here, lambda p: p.symlink_to(here.path)),
            str(here.path),
        )[2],
    ),
    ("a named pipe that nobody writes", lambda here: made(here, os.mkfifo)),
    ("a directory with a named pipe in it", lambda here: str(Path(made(here, os.mkfifo)).parent)),
    ("a pattern that matches a named pipe", lambda here: made(here, os.mkfifo)[:-1] + "*"),
    ("a socket", lambda here: made(here, served)),
    ("/dev/null", lambda here: "/dev/null"),
    ("/dev/zero", lambda here: "/dev/zero"),
    ("a file of /proc, whose size is 0", lambda here: "/proc/self/stat"),
    ("a file below a file", lambda here: here.file("in.txt", b"a\n") + "/below.txt"),
    (
        "hidden files beside others",
        lambda here: (
            here.file(".hidden", b"h\n"),
            here.file("_success", b"s\n"),
            here.file("a.txt", b"a\n"),
            str(here.path),
        )[3],
    ),
    ("a .gz file that is not compressed", lambda here: here.file("in.gz", b"a\n")),
    (
        "a compressed file without .gz in its name",
        lambda here: here.file("in.txt", gzip.compress(b"a\n", mtime=0)),
    ),
    (
        "two streams in one .gz file",
        lambda here: here.file("in.gz", gzip.compress(b"a\n") + gzip.compress(b"b\n")),
    ),
    ("rubbish behind a .gz stream", lambda here: here.file("in.gz", gzip.compress(b"a\n") + b"rubbish")),
    ("the same file twice", lambda here: here.file("in.txt", b"a\n")),
]
for _words, _place in PLACES:

    def _read(here: Here, place: Any = _place, twice: bool = _words == "the same file twice") -> Any:
        path = place(here)
        return lines(here, path, path) if twice else lines(here, path)

    case(_words)(_read)


class Shrinking:
    """Changes the file when the first record comes out of it."""

    def __init__(self, path: str, change: str) -> None:
        self.path, self.change, self.done = path, change, False

    def __call__(self, value: str) -> str:
        if not self.done:
            self.done = True
            if self.change == "removed":
                os.unlink(self.path)
            elif self.change == "cut":
                os.truncate(self.path, 10)
            else:
                with open(self.path, "ab") as file:
                    file.write(b"more\n" * 10)
        return value[:1]


for _change in ("removed", "cut", "grown"):

    def _changed(here: Here, change: str = _change) -> Any:
        path = here.file("in.txt", b"line\n" * 100_000)
        source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), path).build()
        env = here.env(1, **{"firesteel.epoch.max-records": "1000"})
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
        return len(list(stream.map(Shrinking(path, change)).execute_and_collect()))

    case(f"a file that is {_change} while it is read")(_changed)


def csv(here: Here, content: bytes) -> DataStream:
    schema = CsvSchema.builder().add_number_column("n", DataTypes.INT()).add_string_column("s").build()
    path = here.file("in.csv", content)
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), path).build()
    return here.env().from_source(source, WatermarkStrategy.no_watermarks(), "csv")


CSV: list[tuple[str, bytes]] = [
    ("a CSV file of no bytes", b""),
    ("a CSV file with a byte order mark", b"\xef\xbb\xbf1,a\n"),
    ("a CSV row with a newline in quotes", b'1,"a\nb"\n2,c\n'),
    ("a CSV row whose quotes never end", b'1,"a\n2,b\n'),
    ("a CSV row with a field too many", b"1,a,b\n"),
    ("a CSV row with a field too few", b"1\n"),
    ("a CSV number that is a text", b"x,a\n"),
    ("a CSV number beyond its type", b"2147483648,a\n"),
    ("a CSV number with spaces, a plus or an underscore", b" 1 ,a\n+2,b\n1_0,c\n"),
    ("a CSV number in Arabic digits", "\u0661,a\n".encode()),
    ("an empty line in a CSV file", b"1,a\n\n2,b\n"),
    ("a CSV file of empty fields", b",\n,\n"),
    ("a NUL in a CSV field", b"1,a\0b\n"),
]
for _words, _content in CSV:
    case(_words)(lambda here, c=_content: csv(here, c))


def written(here: Here, where: Any, *records: Any, config: Any = None) -> Any:
    env = here.env()
    builder = FileSink.for_row_format(str(where), Encoder.simple_string_encoder("UTF-8"))
    if config is not None:
        builder = builder.with_output_file_config(config)
    env.from_collection(list(records)).sink_to(builder.build())
    env.execute()
    found = [p for p in Path(where).rglob("*") if p.is_file()]
    return [p.read_text() for p in found]


OUT: list[tuple[str, Any]] = [
    ("an output directory that is a file", lambda here: here.file("out", b"mine")),
    ("an output directory below a file", lambda here: here.file("out", b"mine") + "/below"),
    ("an output directory with odd letters in its name", lambda here: here.path / "o ut%20#?\u00fc"),
    ("an output directory with a newline in its name", lambda here: here.path / "o\nut"),
    ("an output directory that is a link", lambda here: linked(here)),
    ("an output directory that is a link to nothing", lambda here: dangling(here)),
    ("an output directory in /proc", lambda here: "/proc/odd"),
    ("an output directory with a name that is too long", lambda here: here.path / ("o" * 300)),
]
for _words, _where in OUT:
    case(_words)(lambda here, where=_where: written(here, where(here), "a"))


def linked(here: Here) -> Path:
    (here.path / "real").mkdir()
    (here.path / "link").symlink_to(here.path / "real")
    return here.path / "link"


def dangling(here: Here) -> Path:
    (here.path / "link").symlink_to(here.path / "nothing")
    return here.path / "link"


@case("text with newlines, a NUL and half of a surrogate pair into a text file")
def _(here: Here) -> Any:
    return written(here, here.path / "out", "a\nb", "\0", "\ud800")


@case("a file prefix with a slash")
def _(here: Here) -> Any:
    config = OutputFileConfig.builder().with_part_prefix("../up").with_part_suffix(".txt").build()
    return written(here, here.path / "out", "a", config=config)


@case("records that are no text into a text file")
def _(here: Here) -> Any:
    return written(here, here.path / "out", b"a", None, 1.5, ("t", [1]))


@case("a job that reads the directory that it writes")
def _(here: Here) -> Any:
    here.file("a.txt", b"a\nb\n")
    env = here.env()
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(here.path)).build()
    sink = FileSink.for_row_format(str(here.path), Encoder.simple_string_encoder()).build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").sink_to(sink)
    env.execute()
    return sorted(p.read_text() for p in here.path.rglob("*") if p.is_file())


CHECKPOINTS: list[tuple[str, Any]] = [
    ("a checkpoint directory that is a file", lambda here: here.file("cp", b"mine")),
    ("a checkpoint directory below a file", lambda here: here.file("cp", b"mine") + "/below"),
    ("a checkpoint directory in /proc", lambda here: "/proc/odd"),
    ("a checkpoint directory with odd letters in its name", lambda here: str(here.path / "c p%20#?\u00fc")),
    ("a checkpoint directory as a file: address with %20", lambda here: f"file://{here.path}/c%20p"),
    ("a checkpoint directory without a leading slash", lambda here: os.path.relpath(here.path / "cp")),
    ("a checkpoint directory of an unknown scheme", lambda here: "gopher://host/cp"),
    ("an empty text as the checkpoint directory", lambda here: ""),
]
for _words, _where in CHECKPOINTS:

    def _kept(here: Here, where: Any = _where) -> Any:
        env = here.env(**{"execution.checkpointing.dir": where(here)})
        env.enable_checkpointing(10)
        return env.from_collection([1, 2]).key_by(lambda v: v).reduce(max)

    case(_words)(_kept)


@case("checkpoints in the directory of the output")
def _(here: Here) -> Any:
    env = here.env(**{"execution.checkpointing.dir": str(here.path / "out")})
    env.enable_checkpointing(10)
    env.from_collection(["a"]).sink_to(
        FileSink.for_row_format(str(here.path / "out"), Encoder.simple_string_encoder()).build()
    )
    env.execute()
    return [p.read_text() for p in (here.path / "out").glob("*/part-*")]
