"""Every connector keeps the contract that ``firesteel.testing.connectors`` gives to others."""

from __future__ import annotations

import gzip
import io
import os
import socket
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from firesteel.common import Encoder, Row, Types
from firesteel.connectors.collection import CollectionSource
from firesteel.connectors.files import part_store as _part_store
from firesteel.connectors.files.avro_files import AvroFileSource
from firesteel.connectors.files.columnar_files import Columns
from firesteel.connectors.files.columnar_source import ColumnarFileSource
from firesteel.connectors.files.csv_source import CsvFileSource, CsvFormat
from firesteel.connectors.files.json_source import JsonFileSource, JsonFormat
from firesteel.connectors.files.text_source import TextFileSource
from firesteel.connectors.generated.datagen import GeneratedSource
from firesteel.connectors.generated.sequence import SequenceSource
from firesteel.connectors.hybrid.source import SourcesInTurn
from firesteel.connectors.socket.source import SocketTextSource
from firesteel.connectors.spark_sink import ParquetStagingSink
from firesteel.datastream.connectors.file_system import FileSink, PartitionCommit, RollingPolicy
from firesteel.datastream.formats.avro import AvroBulkWriters, AvroSchema
from firesteel.datastream.formats.parquet import ParquetBulkWriters
from firesteel.datastream.functions import SinkFunction
from firesteel.formats.csv_columns import Column
from firesteel.testing.connectors import KillPoint, SinkContract, SinkPromise, SourceContract
from tests.jobmanager.programs.sqlite_sink import SqliteSink, lines_in, staged_in
from tests.waiting import patience

# ---- sources


class TestCollectionSource(SourceContract):
    def produce(self, directory: Path, portion: int) -> list[Any]:
        return [(n, f"name {n}") for n in range(25)]

    def make_source(self, directory: Path) -> CollectionSource:
        return CollectionSource(self.produce(directory, 0))


class TestNumberSequenceSource(SourceContract):
    def produce(self, directory: Path, portion: int) -> list[Any]:
        return list(range(-5, 30))

    def make_source(self, directory: Path) -> SequenceSource:
        return SequenceSource(-5, 29)


class TestDataGeneratorSource(SourceContract):
    def produce(self, directory: Path, portion: int) -> list[Any]:
        return [f"r{n}" for n in range(20)]

    def make_source(self, directory: Path) -> GeneratedSource:
        return GeneratedSource(lambda n: f"r{n}", 20)


@pytest.mark.row("S-CONN-10")
class TestTextFiles(SourceContract):
    """Cut into ranges of bytes, and one that is compressed."""

    def produce(self, directory: Path, portion: int) -> list[Any]:
        (directory / "in").mkdir(exist_ok=True)
        lines = [f"line {n} é" for n in range(30)]
        (directory / "in/a.txt").write_text("\n".join(lines[:20]), encoding="utf-8")
        (directory / "in/b.txt.gz").write_bytes(gzip.compress("\n".join(lines[20:]).encode()))
        return lines

    def make_source(self, directory: Path) -> TextFileSource:
        return TextFileSource(str(directory / "in"), split_bytes=64)


class TestJsonFiles(SourceContract):
    def produce(self, directory: Path, portion: int) -> list[Any]:
        (directory / "in").mkdir(exist_ok=True)
        lines = [f'{{"n": {n}, "text": "é{n}"}}' for n in range(30)]
        (directory / "in/a.json").write_text("\n".join(lines[:20]), encoding="utf-8")
        (directory / "in/b.json.gz").write_bytes(gzip.compress("\n".join(lines[20:]).encode()))
        return [Row(n=n, text=f"é{n}") for n in range(30)]

    def make_source(self, directory: Path) -> JsonFileSource:
        type_ = Types.ROW_NAMED(["n", "text"], [Types.LONG(), Types.STRING()])
        return JsonFileSource((str(directory / "in"),), JsonFormat(type_), split_bytes=128)


class TestAvroFiles(SourceContract):
    def produce(self, directory: Path, portion: int) -> list[Any]:
        (directory / "in").mkdir(exist_ok=True)
        schema = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}
        records = [{"n": n} for n in range(200)]
        with (directory / "in/a.avro").open("wb") as stream:
            fastavro.writer(stream, schema, records, sync_interval=60)
        return records

    def make_source(self, directory: Path) -> AvroFileSource:
        return AvroFileSource((str(directory / "in"),), split_bytes=400)


@pytest.mark.row("S-CONN-24")
class TestWatchedTextFiles(SourceContract):
    def produce(self, directory: Path, portion: int) -> list[Any]:
        (directory / "in").mkdir(exist_ok=True)
        lines = [f"portion {portion} line {n}" for n in range(7)]
        hidden = directory / f"in/.{portion}.txt"
        hidden.write_text("\n".join(lines), encoding="utf-8")
        os.replace(hidden, directory / f"in/{portion}.txt")
        return lines

    def make_source(self, directory: Path) -> TextFileSource:
        return TextFileSource(str(directory / "in"), discovery_interval_ms=10)


class TestCsvFiles(SourceContract):
    def produce(self, directory: Path, portion: int) -> list[Any]:
        rows = [(n, f'text "{n}"\nof two lines') for n in range(15)]
        text = "".join(f'{n},"{text.replace(chr(34), chr(34) * 2)}"\n' for n, text in rows)
        (directory / "t.csv").write_text(text, encoding="utf-8")
        return rows

    def make_source(self, directory: Path) -> CsvFileSource:
        columns = (Column("id", Types.INT()), Column("text", Types.STRING()))
        return CsvFileSource(str(directory / "t.csv"), CsvFormat(columns, as_rows=False))


class TestSparkTable(SourceContract):
    def produce(self, directory: Path, portion: int) -> list[Any]:
        (directory / "in").mkdir(exist_ok=True)
        for part in range(2):
            table = pa.table({"n": list(range(part * 10, part * 10 + 10))})
            pq.write_table(table, directory / f"in/{part}.parquet", row_group_size=4)
        return [Row(n=n) for n in range(20)]

    def make_source(self, directory: Path) -> ColumnarFileSource:
        return ColumnarFileSource((str(directory / "in"),), Columns("parquet"))


class TestHybridSource(SourceContract):
    """A file, and then a directory that is watched."""

    def produce(self, directory: Path, portion: int) -> list[Any]:
        (directory / "live").mkdir(exist_ok=True)
        lines = [f"portion {portion} line {n}" for n in range(8)]
        if portion == 0:
            (directory / "old.txt").write_text("\n".join(lines[:5]), encoding="utf-8")
        live = lines[5:] if portion == 0 else lines
        hidden = directory / f"live/.{portion}.txt"
        hidden.write_text("\n".join(live), encoding="utf-8")
        os.replace(hidden, directory / f"live/{portion}.txt")
        return lines

    def make_source(self, directory: Path) -> SourcesInTurn:
        old = TextFileSource(str(directory / "old.txt"))
        return SourcesInTurn((old, TextFileSource(str(directory / "live"), discovery_interval_ms=10)))


class LineServer:
    """Sends to who is connected, or to the next who connects."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._connection: socket.socket | None = None
        self._waiting = b""
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._drop()
                connection.sendall(self._waiting)
                self._connection, self._waiting = connection, b""

    def send(self, lines: list[str]) -> None:
        data = "".join(f"{line}\n" for line in lines).encode()
        with self._lock:
            if self._connection is not None and _has_hung_up(self._connection):
                self._drop()
            if self._connection is None:
                self._waiting += data
            else:
                self._connection.sendall(data)

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(patience(5))
        self._drop()


def _has_hung_up(connection: socket.socket) -> bool:
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False


@pytest.mark.row("S-CONN-11")
class TestSocket(SourceContract):
    can_be_read_again = False
    server: LineServer

    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        self.server = LineServer()
        yield
        self.server.close()

    def produce(self, directory: Path, portion: int) -> list[Any]:
        lines = [f"portion {portion} line {n}" for n in range(5)]
        self.server.send(lines)
        return lines

    def make_source(self, directory: Path) -> SocketTextSource:
        return SocketTextSource("127.0.0.1", self.server.port, max_retries=-1, retry_interval_ms=10)


# ---- sinks


def lines_below(directory: Path) -> list[Any]:
    """What is in the files of a directory that do not begin with a dot."""
    files = (path for path in directory.rglob("*") if path.is_file())
    shown = [p for p in files if not any(part[0] == "." for part in p.relative_to(directory).parts)]
    return [line for path in shown for line in path.read_text(encoding="utf-8").splitlines()]


class TestFileSink(SinkContract):
    type_info = Types.STRING()

    def make_sink(self, directory: Path) -> Any:
        builder = FileSink.for_row_format(str(directory / "out"), Encoder.simple_string_encoder())
        return builder.with_rolling_policy(RollingPolicy.default_rolling_policy(60)).build()

    def read(self, directory: Path) -> list[Any]:
        return lines_below(directory / "out")

    def kill_points(self) -> Mapping[str, KillPoint]:
        return {
            "before its journal": KillPoint(_part_store.PartStore, "store", True),
            "after its journal": KillPoint(_part_store.PartStore, "store", False),
            "before a file appears": KillPoint(_part_store.LocalParts, "publish", True),
        }


class TestFileSinkRollingOnCheckpoint(TestFileSink):
    def make_sink(self, directory: Path) -> Any:
        builder = FileSink.for_row_format(str(directory / "out"), Encoder.simple_string_encoder())
        return builder.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build()

    def kill_points(self) -> Mapping[str, KillPoint]:
        return {}


class TestParquetFileSink(SinkContract):
    """A bulk format, with partitions that are complete."""

    type_info = Types.ROW_NAMED(["n"], [Types.LONG()])

    def record(self, number: int) -> Any:
        return Row(n=number)

    def make_sink(self, directory: Path) -> Any:
        writers = ParquetBulkWriters.for_row_type(self.type_info)
        builder = FileSink.for_bulk_format(str(directory / "out"), writers)
        return builder.with_partition_commit(PartitionCommit()).build()

    def read(self, directory: Path) -> list[Any]:
        files = [path for path in (directory / "out").rglob("part-*") if path.name[0] != "."]
        return [Row(n=n) for path in files for n in pq.ParquetFile(path).read()["n"].to_pylist()]

    def kill_points(self) -> Mapping[str, KillPoint]:
        return {
            "before its journal": KillPoint(_part_store.PartStore, "store", True),
            "after its journal": KillPoint(_part_store.PartStore, "store", False),
            "before a file appears": KillPoint(_part_store.LocalParts, "publish", True),
            "before a partition is complete": KillPoint(PartitionCommit, "commit", True),
        }


class TestAvroFileSink(SinkContract):
    schema = '{"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}'

    def record(self, number: int) -> Any:
        return {"n": number}

    def make_sink(self, directory: Path) -> Any:
        writers = AvroBulkWriters.for_generic_record(AvroSchema.parse_string(self.schema))
        return FileSink.for_bulk_format(str(directory / "out"), writers).build()

    def read(self, directory: Path) -> list[Any]:
        files = [path for path in (directory / "out").rglob("part-*") if path.name[0] != "."]
        return [record for path in files for record in fastavro.reader(io.BytesIO(path.read_bytes()))]


class TestParquetStagingSink(SinkContract):
    test_a_job_whose_drivers_are_killed = None  # type: ignore[assignment]  # to_spark() ends with its driver

    type_info = Types.TUPLE([Types.INT(), Types.STRING()])

    def record(self, number: int) -> Any:
        return number, f"text {number}"

    def make_sink(self, directory: Path) -> ParquetStagingSink:
        return ParquetStagingSink(str(directory / "out"), self.type_info)

    def read(self, directory: Path) -> list[Any]:
        files = [path for path in (directory / "out").glob("*.parquet") if path.name[0] != "."]
        return [tuple(row.values()) for path in files for row in pq.read_table(path).to_pylist()]


class TestTwoPhaseCommitSinkFunction(SinkContract):
    def make_sink(self, directory: Path) -> SqliteSink:
        return SqliteSink(str(directory / "t.db"), "t")

    def read(self, directory: Path) -> list[Any]:
        return lines_in(str(directory / "t.db"), "t")

    def kill_points(self) -> Mapping[str, KillPoint]:
        return {
            "in its transaction": KillPoint(SqliteSink, "before_each_commit", True),
            "between two transactions": KillPoint(SqliteSink, "commit", False),
            "in its recovery": KillPoint(SqliteSink, "finish_recovering_context", True, 1),
        }

    def test_a_job_whose_drivers_are_killed(self, tmp_path: Path) -> None:
        """Nothing is left that is staged."""
        super().test_a_job_whose_drivers_are_killed(tmp_path)
        assert staged_in(str(tmp_path / "content/t.db"), "t") == 0


class Append(SinkFunction):
    """A line of a file for each record."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def open(self) -> None:
        self.file = self.path.open("a", encoding="utf-8")

    def invoke(self, value: Any, context: Any) -> None:
        self.file.write(f"{value}\n")

    def close(self) -> None:
        self.file.close()


class TestSinkFunction(SinkContract):
    promise = SinkPromise.AT_LEAST_ONCE

    def make_sink(self, directory: Path) -> Append:
        return Append(directory / "lines")

    def read(self, directory: Path) -> list[Any]:
        return (directory / "lines").read_text(encoding="utf-8").splitlines()


class Upsert(SinkFunction):
    """A row of a table for each key."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def open(self) -> None:
        self.db = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        self.db.execute("CREATE TABLE IF NOT EXISTS t (key INT PRIMARY KEY, value TEXT)")

    def invoke(self, value: Any, context: Any) -> None:
        self.db.execute("INSERT OR REPLACE INTO t VALUES (?, ?)", value)

    def close(self) -> None:
        self.db.close()


class TestUpsert(SinkContract):
    promise = SinkPromise.UPSERT

    def record(self, number: int) -> Any:
        return number, f"text {number}"

    def make_sink(self, directory: Path) -> Upsert:
        return Upsert(directory / "t.db")

    def read(self, directory: Path) -> list[Any]:
        with closing(sqlite3.connect(directory / "t.db")) as db:
            return db.execute("SELECT key, value FROM t").fetchall()
