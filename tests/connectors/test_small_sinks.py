from __future__ import annotations

import datetime
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from firesteel.common import Row
from firesteel.common.errors import ConfigurationError, FiresteelError, ProgramError, TypeMismatchError
from firesteel.common.time import Instant
from firesteel.common.typeinfo import Types
from firesteel.connectors.base import CommitterContext
from firesteel.connectors.collect import CollectSink
from firesteel.connectors.files.columnar_files import Columns
from firesteel.connectors.files.columnar_source import ColumnarFileSource
from firesteel.connectors.print_sink import PrintSink
from firesteel.connectors.spark_sink import ParquetStagingSink
from firesteel.testing.connectors import SinkRun, check_sink, check_source
from firesteel.testing.connectors._reading import shipped

NO_CONTEXT = CommitterContext("job", "sink", lambda: 0)


def test_print_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []

    def visible() -> list[str]:
        lines.extend(capsys.readouterr().out.splitlines())
        return lines

    check_sink(SinkRun(PrintSink(Types.STRING()), tmp_path), visible, list("abcdef"))


@pytest.mark.parametrize(
    ("identifier", "parallelism", "expected"),
    [("", 1, "7\n"), ("", 2, "2> 7\n"), ("out", 1, "out> 7\n"), ("out", 2, "out:2> 7\n")],
)
@pytest.mark.row("S-OPS-17")
def test_print_prefixes_as_flink(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], identifier: str, parallelism: int, expected: str
) -> None:
    run = SinkRun(PrintSink(Types.INT(), identifier), tmp_path, parallelism)
    run.commit(run.stage(1, [7], subtask=parallelism - 1))
    assert capsys.readouterr().out == expected


def test_print_types_stderr_and_large_epochs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = SinkRun(PrintSink(Types.TUPLE([Types.INT(), Types.BOOLEAN()]), to_stderr=True), tmp_path)
    staged = run.stage(1, [(i, True) for i in range(20_000)])
    assert staged[0].payload.data is None, "large output is staged in a file"
    run.commit(staged)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[-1] == "(19999,true)"
    assert len(captured.err.splitlines()) == 20_000
    run.commit(run.stage(2, []))
    assert capsys.readouterr().err == ""


def test_committables_depend_on_the_records_alone(tmp_path: Path) -> None:
    for sink in (PrintSink(Types.INT()), CollectSink()):
        if isinstance(sink, CollectSink):
            sink.attach(print)
        run = SinkRun(sink, tmp_path)
        values = list(range(50_000))
        assert [c.payload for c in run.stage(1, values)] == [c.payload for c in run.stage(1, values)]


def test_collect_contract(tmp_path: Path) -> None:
    class Local:
        """Plain pickle cannot take it."""

        def __init__(self, x: int) -> None:
            self.x = x

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Local) and self.x == other.x

        __hash__ = None  # type: ignore[assignment]

    every: list[list[Any]] = [
        [1, "a", None, (2,), 3.0, b"x"],
        [Local(i) for i in range(6)],
        ["y" * 40_000] * 6,
    ]
    for records in every:
        got: list[Any] = []
        sink = CollectSink()
        sink.attach(got.extend)
        run = SinkRun(sink, tmp_path)
        staged = run.stage(1, records[:3])
        run.stage(1, records[:3])
        assert got == []
        run.commit(staged)
        run.commit(staged)
        run.commit(run.stage(2, records[3:]))
        assert got == records
        sink.detach()


def test_collect_needs_a_consumer() -> None:
    sink = CollectSink()
    with pytest.raises(ProgramError, match="Nobody"):
        sink.create_committer(NO_CONTEXT)
    sink.attach(print)
    assert shipped(sink).create_committer(NO_CONTEXT) is not None
    sink.detach()


def table_of(path: str, zone: str = "UTC") -> ColumnarFileSource:
    return ColumnarFileSource((path,), Columns("parquet"), zone)


def test_parquet_round_trip(tmp_path: Path) -> None:
    names = ["i", "s", "f", "b", "d", "t", "l", "m", "r", "x", "big", "dec", "at"]
    type_ = Types.ROW_NAMED(
        names,
        [
            Types.INT(),
            Types.STRING(),
            Types.DOUBLE(),
            Types.BOOLEAN(),
            Types.SQL_DATE(),
            Types.SQL_TIMESTAMP(),
            Types.LIST(Types.LONG()),
            Types.MAP(Types.STRING(), Types.INT()),
            Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.BIG_INT(),
            Types.BIG_DEC(),
            Types.INSTANT(),
        ],
    )
    when = datetime.datetime(2024, 5, 6, 7, 8, 9)
    inner = Row(a=1, b="x")
    full = Row(1, "é", 0.5, True, when.date(), when, [1, 2], {"k": 3}, inner, b"\0z", 10**25, Decimal("1.5"))
    full._values.append(Instant.of_epoch_milli(1500))
    empty = Row(*[None] * len(names))
    run = SinkRun(ParquetStagingSink(str(tmp_path / "out"), type_), tmp_path)
    staged = run.stage(1, [full, empty])
    unwanted = run.stage(1, [full, empty])
    half = run.writer(1)
    half.write_batch([full] * 20_000, None)
    half.abort()
    files = os.listdir(tmp_path / "out")
    assert len(files) == 1, "one name for one content; an aborted attempt leaves nothing"
    assert [name for name in files if not name.startswith(".")] == []
    run.commit(staged)
    run.commit(staged)
    assert staged[0].payload == unwanted[0].payload, "acks of two attempts must not differ"

    (rows,) = check_source(table_of(str(tmp_path / "out")), tmp_path)
    assert rows[0].as_dict() | {"dec": None} == dict(zip(names, full, strict=True)) | {
        "at": datetime.datetime(1970, 1, 1, 0, 0, 1, 500_000),
        "big": Decimal(10**25),
        "dec": None,
    }
    assert rows[0]["dec"] == Decimal("1.5")
    assert list(rows[1]) == [None] * len(names)
    os.remove(tmp_path / "out" / Path(staged[0].payload).name.removeprefix("."))
    with pytest.raises(FiresteelError, match="gone"):
        run.commit(staged)


@pytest.mark.parametrize(
    ("type_", "records", "columns"),
    [
        (Types.TUPLE([Types.INT(), Types.STRING()]), [(1, "a"), (2, "b")], {"f0": [1, 2], "f1": ["a", "b"]}),
        (Types.LONG(), [1, 2], {"value": [1, 2]}),
    ],
)
def test_parquet_columns(tmp_path: Path, type_: Any, records: list[Any], columns: dict[str, Any]) -> None:
    run = SinkRun(ParquetStagingSink(str(tmp_path / "out"), type_), tmp_path)
    run.commit(run.stage(1, records))
    assert pq.read_table(tmp_path / "out").to_pydict() == columns
    assert run.stage(2, []) == []
    writer = run.writer(3)
    writer.write_batch(["x", "y"] if type_ == Types.LONG() else [("x", 1)], None)
    with pytest.raises(TypeMismatchError, match="does not fit"):
        writer.prepare_commit()
    writer.abort()
    assert len(os.listdir(tmp_path / "out")) == 1


def test_parquet_refuses() -> None:
    with pytest.raises(ProgramError, match="declared type"):
        ParquetStagingSink("x", None)  # type: ignore[arg-type]
    with pytest.raises(FiresteelError, match="column type"):
        ParquetStagingSink("x", Types.ROW([Types.PICKLED_BYTE_ARRAY()]))
    assert ParquetStagingSink("x", Types.INT()).schema().names == ["value"]


def test_spark_table_positions_time_zone_and_files(tmp_path: Path) -> None:
    import pyarrow as pa

    noon = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
    table = pa.table({"n": list(range(10)), "at": pa.array([noon] * 10, pa.timestamp("us", "UTC"))})
    directory = tmp_path / "table"
    directory.mkdir()
    pq.write_table(table, directory / "part-0.parquet", row_group_size=4)
    pq.write_table(table.slice(0, 0), directory / "part-1.parquet")
    (directory / "_SUCCESS").write_text("")
    (directory / ".hidden.parquet").write_text("")
    source = table_of(str(directory), "Europe/Berlin")
    first, second = check_source(source, tmp_path, 2)
    assert [row["n"] for row in first] == list(range(10))
    assert first[0].at == datetime.datetime(2024, 1, 1, 13)
    assert second == []
    with pytest.raises(ConfigurationError):
        table_of(str(directory), "Nowhere/No")


def test_spark_tables_of_several_files_are_read_in_turns(tmp_path: Path) -> None:
    import pyarrow as pa

    (tmp_path / "table").mkdir()
    for n in range(3):
        rows = pa.table({"n": list(range(n * 10_000, n * 10_000 + 9_000))})
        pq.write_table(rows, tmp_path / f"table/part-{n}.parquet", row_group_size=2_000)
    found = check_source(table_of(str(tmp_path / "table")), tmp_path)
    assert [[row["n"] for row in rows] for rows in found] == [
        list(range(n * 10_000, n * 10_000 + 9_000)) for n in range(3)
    ]


@pytest.mark.parametrize("scheme", ["s3", "hdfs"])
def test_parquet_in_other_file_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

    from firesteel.storage import filesystems as _storage

    (tmp_path / "out").mkdir()
    remote = SubTreeFileSystem(str(tmp_path / "out"), LocalFileSystem())
    monkeypatch.setattr(_storage, "_arrow_root", lambda root: (remote, ""))
    run = SinkRun(ParquetStagingSink(f"{scheme}://bucket/t", Types.LONG()), tmp_path)
    staged = run.stage(1, [1, 2, 3])
    assert [name for name in os.listdir(tmp_path / "out/t") if not name.startswith(".")] == []
    run.commit(staged)
    run.commit(staged)
    assert os.listdir(tmp_path / "out/t") == [Path(staged[0].payload).name.removeprefix(".")]
    rows = check_source(table_of(f"{scheme}://bucket/t"), tmp_path)[0]
    assert [row["value"] for row in rows] == [1, 2, 3]
