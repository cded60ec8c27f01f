"""A connector and a format from outside, registered by the modules that they are."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from firesteel.cli._packages import check_packages
from firesteel.common.errors import ConfigurationError, ProgramError, UnsupportedFeatureError
from firesteel.common.types import Row
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.plugins import load_connector, load_format
from firesteel.connectors.registry import CONNECTORS, FORMATS, Connector, Format
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.program.registry import Registry
from firesteel.table import DataTypes, Schema, StreamTableEnvironment, TableDescriptor
from firesteel.util.exceptions import TableException
from tests.extending import counting as our_counting, tally as our_tally
from tests.runtime.support import collect, environment, local_platform


def test_it_is_imported_like_our_own_and_a_job_uses_it() -> None:
    from firesteel.datastream.connectors import counting  # type: ignore[attr-defined]

    assert counting is our_counting is load_connector("counting")
    counting.SUMS.clear()
    with local_platform():
        env = environment(1)
        numbers = env.from_source(counting.counting_source(5), WatermarkStrategy.no_watermarks(), "numbers")
        numbers.sink_to(counting.SumSink())
        env.execute()
    assert sum(counting.SUMS) == 15


def test_a_format_is_imported_like_our_own_and_a_job_uses_it() -> None:
    from firesteel.datastream.formats import tally  # type: ignore[attr-defined]

    assert tally is our_tally is load_format("tally")
    write, read = tally.TallySerializationSchema(), tally.TallyDeserializationSchema()
    with local_platform():
        written = environment(1).from_collection([3, 0, 2]).map(write.serialize)
        assert collect(written.map(read.deserialize)) == [3, 0, 2]


def descriptor(connector: str, **options: str) -> TableDescriptor:
    schema = Schema.new_builder().column("n", DataTypes.BIGINT()).build()
    builder = TableDescriptor.for_connector(connector).schema(schema)
    for key, value in options.items():
        builder.option(key, value)
    return builder.build()


def test_its_tables_become_streams() -> None:
    with local_platform():
        tables = StreamTableEnvironment.create(environment(1))
        tables.create_temporary_table("numbers", descriptor("counting", end="4"))
        assert collect(tables.to_data_stream(tables.from_path("numbers"))) == [Row(n=n) for n in range(1, 5)]
        doubled = tables.sql_query("SELECT n * 2 AS m FROM numbers WHERE n > 2")
        assert collect(tables.to_data_stream(doubled)) == [Row(m=6), Row(m=8)]
        tables.create_temporary_table("others", descriptor("counting"))
        with pytest.raises(TableException, match="end"):
            tables.to_data_stream(tables.from_path("others"))
        with pytest.raises(TableException, match="can only be used as a source"):
            tables.from_path("numbers").execute_insert("numbers")


def test_a_connector_that_is_not_there_is_told_with_those_that_are() -> None:
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment())
    tables.create_temporary_table("numbers", descriptor("datagne"))
    with pytest.raises(
        TableException, match="Could not find any factory for identifier 'datagne'"
    ) as unknown:
        tables.to_data_stream(tables.from_path("numbers"))
    assert "did you mean datagen? available are blackhole, counting, datagen" in str(unknown.value)


def test_a_format_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(ConfigurationError, match="There is no format 'tony'") as caught:
        load_format("tony")
    assert "protobuf, raw, tally" in str(caught.value)
    with pytest.raises(ImportError, match="tony"):
        from firesteel.datastream.formats import tony  # type: ignore[attr-defined]  # noqa: F401


def test_jars_of_what_is_here_are_passed_over() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_jars("file:///flink-sql-connector-counting-1.0.jar", "file:///flink-tally-2.0.jar")
    with pytest.raises(UnsupportedFeatureError):
        env.add_jars("file:///flink-connector-tally-2.0.jar")


@pytest.mark.parametrize(
    ("registry", "record"),
    [
        (CONNECTORS, Connector(name="kafka", module="somewhere")),
        (FORMATS, Format(name="json", module="somewhere")),
    ],
)
def test_names_of_our_own_are_taken(registry: Registry[Any], record: Any) -> None:
    with pytest.raises(ProgramError, match=f"There is a {registry.what} '{record.name}' already"):
        registry.register(record)


def test_a_module_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CONNECTORS, "_homes", dict(CONNECTORS._homes))
    monkeypatch.setattr(CONNECTORS, "_records", dict(CONNECTORS._records))
    CONNECTORS.register(Connector(name="lost", module="tests.extending.no_such_module"))
    with pytest.raises(ConfigurationError, match="The connector 'lost' cannot be loaded") as caught:
        load_connector("lost")
    assert "tests.extending.no_such_module" in str(caught.value)


@pytest.mark.parametrize("registry", [CONNECTORS, FORMATS])
def test_the_records_of_our_own_are_true(registry: Registry[Any]) -> None:
    extras = {f.what.split()[1] for f in check_packages(()) if f.what.startswith("extra ")}
    for record in registry.all():
        assert importlib.import_module(record.module)
        assert record.extra is None or record.extra in extras


def test_the_doctor_says_what_an_extra_is_for() -> None:
    lines = ['confluent-kafka>=2.11; extra == "kafka"', 'boto3; extra == "kinesis"']
    found = [finding.what for finding in check_packages((), lines)]
    assert "extra kafka (connector kafka)" in found
    assert "extra kinesis (connector firehose, connector kinesis, connector sqs)" in found
