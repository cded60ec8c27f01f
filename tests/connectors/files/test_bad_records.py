"""What becomes of records that a source cannot read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import BadRecordError, JobExecutionError, ProgramError
from firesteel.common.serialization import DeserializationSchema, SimpleStringSchema
from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from firesteel.connectors.bad_records import BadRecord, bad_record, message_decoder
from firesteel.connectors.files.csv_source import CsvFileSource, CsvFormat
from firesteel.datastream import DataStream, StreamExecutionEnvironment
from firesteel.datastream.bad_records import BAD_RECORDS
from firesteel.datastream.connectors.file_system import FileSource
from firesteel.datastream.formats.csv import CsvReaderFormat, CsvSchema, CsvSchemaBuilder
from firesteel.datastream.window import EventTimeSessionWindows
from firesteel.formats.csv_columns import Column
from tests.runtime.support import collect, environment, local_platform


class LineAsTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


NO_WATERMARKS = WatermarkStrategy.no_watermarks()


def orders(env: StreamExecutionEnvironment, folder: Path, *lines: str, **options: Any) -> DataStream:
    (folder / "orders.csv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    builder: CsvSchemaBuilder = CsvSchema.builder()
    schema = builder.add_number_column("id", Types.INT()).add_string_column("name").build()
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), str(folder))
    return env.from_source(source.build(), NO_WATERMARKS, "orders")


@pytest.mark.row("S-CONN-21")
def test_a_bad_record_fails_the_job_and_says_where(tmp_path: Path) -> None:
    with local_platform(), pytest.raises(JobExecutionError) as caught:
        collect(orders(environment(), tmp_path, "1,a", "x,b", "3,c"))
    assert isinstance(caught.value.__cause__, BadRecordError)
    text = str(caught.value.__cause__)
    assert f"path {tmp_path}/orders.csv, line 2" in text
    assert "column 'id', value 'x'" in text
    assert "BAD_RECORDS" in text


@pytest.mark.parametrize("epoch_records", [1, 2, 100])
@pytest.mark.row("S-CONN-21")
def test_bad_records_go_to_their_side_output(tmp_path: Path, epoch_records: int) -> None:
    """None of the records around them is lost, whatever the epochs, and the metric counts them."""
    with local_platform():
        env = environment(epoch_records=epoch_records)
        stream = orders(env, tmp_path, "1,a", "x,b", '3,"c"d', "4,d", "5")
        bad = stream.get_side_output(BAD_RECORDS).map(lambda bad: (bad.place["line"], bad.payload))
        good = stream.map(lambda row: (row.id, row.name))
        assert sorted(collect(good.union(bad))) == [
            (1, "a"),
            (2, b"x,b"),
            (3, b'3,"c"d'),
            (4, "d"),
            (5, b"5"),
        ]


@pytest.mark.row("S-CONN-21")
def test_bad_records_are_counted(tmp_path: Path) -> None:
    with local_platform():
        env = environment()
        orders(env, tmp_path, "1,a", "x,b", "3", "z,d,e").get_side_output(BAD_RECORDS).print()
        columns = (Column("id", Types.INT()), Column("name", Types.STRING()))
        lenient = CsvFileSource(str(tmp_path), CsvFormat(columns, ignore_parse_errors=True))
        env.from_source(lenient, NO_WATERMARKS, "lenient").print()
        counted = env.execute().get_all_accumulator_results()
        assert counted == {"Source: orders.numRecordsInErrors": 3, "Source: lenient.numRecordsInErrors": 3}


def test_the_end_of_the_input_reaches_the_side_output(tmp_path: Path) -> None:
    """A window at its end fires by the watermark that comes last."""
    with local_platform():
        bad = orders(environment(), tmp_path, "1,a", "x,b", "y,c").get_side_output(BAD_RECORDS)
        lines = bad.map(lambda record: record.place["line"])
        strategy = NO_WATERMARKS.with_timestamp_assigner(LineAsTime())
        stamped = lines.assign_timestamps_and_watermarks(strategy)
        windows = stamped.window_all(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))
        assert collect(windows.reduce(lambda a, b: a + b)) == [5]


def test_only_a_source_has_bad_records(tmp_path: Path) -> None:
    with local_platform():
        stream = orders(environment(), tmp_path, "1,a").map(lambda row: row.id)
        with pytest.raises(ProgramError, match="belongs to a source"):
            stream.get_side_output(BAD_RECORDS)


class Numbers(DeserializationSchema):
    """Leaves empty messages out."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def deserialize(self, message: bytes) -> Any:
        self.calls.append(message)
        return int(message) if message else None


class ManyNumbers(Numbers):
    def deserialize_many(self, message: bytes | None) -> list[int]:
        return [int(part) for part in (message or b"").split()]


class NumbersInBatches(Numbers):
    def deserialize_batch(self, messages: Sequence[bytes]) -> list[Any]:
        self.calls.append("batch")
        self.ignored += 5
        return [int(message) if message else None for message in messages]


@pytest.mark.row("S-CONN-20")
def test_each_message_is_deserialized_once() -> None:
    schema = Numbers()
    decoded = message_decoder(schema)([b"1", b"x", b"", b"4"])
    assert decoded.values == [1, 4]
    assert decoded.origins == [0, 3]
    assert [index for index, _ in decoded.bad] == [1]
    assert schema.calls == [b"1", b"x", b"", b"4"]
    assert message_decoder(schema)([b"1", b"2"]).origins is None


def test_a_message_of_many_elements() -> None:
    decoded = message_decoder(ManyNumbers())([b"1 2", b"", b"3 x", b"4"])
    assert (decoded.values, decoded.origins) == ([1, 2, 4], [0, 0, 3])
    assert [index for index, _ in decoded.bad] == [2]


@pytest.mark.row("S-CONN-20")
def test_a_batch_that_fails_is_read_one_by_one() -> None:
    schema = NumbersInBatches()
    assert message_decoder(schema)([b"1", b"2"]) == ([1, 2], None, [], 5)
    assert message_decoder(schema)([b"1", b"", b"3"]) == ([1, 3], [0, 2], [], 5)
    assert schema.calls == ["batch", "batch"]
    decoded = message_decoder(schema)([b"1", b"x"])
    assert decoded.values == [1]
    assert decoded.ignored == 0  # what the failed batch counted does not count
    assert isinstance(decoded.bad[0][1], ValueError)


def test_a_class_that_reads_single_messages_in_another_way_is_asked_for_each() -> None:
    class Negative(NumbersInBatches):
        def deserialize(self, message: bytes) -> int:
            return -int(message)

    class Twice(NumbersInBatches):
        def deserialize_many(self, message: bytes | None) -> list[int]:
            return [int(message or 0)] * 2

    assert message_decoder(Negative())([b"1", b"2"]).values == [-1, -2]
    assert message_decoder(Twice())([b"1", b"2"]).values == [1, 1, 2, 2]


@pytest.mark.parametrize("schema_class", [Numbers, ManyNumbers, NumbersInBatches])
def test_a_system_that_cannot_be_reached_is_no_bad_record(schema_class: Any) -> None:
    class Unreachable(schema_class):  # type: ignore[misc]
        def _fail(self, _: Any) -> Any:
            raise ConnectionRefusedError("registry")

        deserialize = _fail
        if schema_class is not Numbers:
            deserialize_many = deserialize_batch = _fail

    with pytest.raises(ConnectionRefusedError):
        message_decoder(Unreachable())([b"1"])


def test_a_message_without_a_value() -> None:
    [(index, error)] = message_decoder(SimpleStringSchema())([None]).bad
    bad = bad_record({"topic": "orders", "partition": 3, "offset": 7}, None, error)
    assert index == 0
    assert repr(bad).startswith("BadRecord(topic orders, partition 3, offset 7: the message has no value")


def test_long_payloads_are_cut_in_the_error() -> None:
    error = BadRecord({"path": "a"}, b"\xff" + b"x" * 10_000, "no").as_error("orders")
    assert "\\xff" in str(error)
    assert len(str(error)) < 1_000
