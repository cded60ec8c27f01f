"""Sessions handed in, and batch tables of Spark as sources and results."""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from firesteel.common import Row, Types
from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import KeyedProcessFunction, RuntimeContext
from firesteel.datastream.connectors import DataGeneratorSource
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.table import StreamTableEnvironment
from tests.spark.conftest import MakeEnvironment
from tests.spark.support import python, run

pytestmark = pytest.mark.spark

SCHEMA = (
    "id int, name string, ratio double, big bigint, yes boolean, price decimal(10,2), day date, "
    "at timestamp, raw binary, parts array<int>, "
    "counts map<string,bigint>, place struct<x:double,label:string>"
)

TYPES = [
    Types.INT(),
    Types.STRING(),
    Types.DOUBLE(),
    Types.LONG(),
    Types.BOOLEAN(),
    Types.BIG_DEC(),
    Types.SQL_DATE(),
    Types.SQL_TIMESTAMP(),
    Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Types.BASIC_ARRAY(Types.INT()),
    Types.MAP(Types.STRING(), Types.LONG()),
    Types.ROW_NAMED(["x", "label"], [Types.DOUBLE(), Types.STRING()]),
]


def table() -> list[tuple[Any, ...]]:
    return [
        (
            i,
            None if i == 3 else f"n{i % 4}",
            i / 4,
            2**40 + i,
            i % 2 == 0,
            Decimal(i) + Decimal("0.25"),
            dt.date(2024, 2, 28) + dt.timedelta(days=i),
            dt.datetime(2024, 1, 1, 12, 30, 15, 123000) + dt.timedelta(hours=i),
            bytes([i, 255]),
            [i, i + 1],
            {"a": i},
            (i / 2, "here"),
        )
        for i in range(20)
    ]


class Numbered(KeyedProcessFunction):
    """The row as it came, after the number of rows of its key so far."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, row: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield Row(count, *row)


@pytest.mark.row("S-CONN-18")
def test_a_table_goes_through_a_keyed_stream_and_comes_back(
    environment: MakeEnvironment, spark_session: SparkSession
) -> None:
    frame = spark_session.createDataFrame(table(), SCHEMA)
    env = environment(2)
    stream = env.from_spark(frame)
    out_type = Types.ROW_NAMED(["count", *frame.columns], [Types.LONG(), *TYPES])
    result = stream.key_by(lambda row: row.id % 3).process(Numbered(), out_type).to_spark()

    # A declared BigDecimal has 38 digits, and a Timestamp of Flink's has no zone.
    changed = {"price": "decimal(38,18)", "at": "timestamp_ntz"}
    expected_types = [("count", "bigint"), *((name, changed.get(name, kind)) for name, kind in frame.dtypes)]
    assert result.dtypes == expected_types
    rows = sorted((tuple(row) for row in result.collect()), key=lambda row: row[1])
    assert [row[1:] for row in rows] == [tuple(row) for row in frame.sort("id").collect()]
    for key in range(3):
        assert sorted(row[0] for row in rows if row[1] % 3 == key) == list(range(1, len(rows[key::3]) + 1))


@pytest.mark.row("S-CONN-18")
def test_a_frame_is_a_table_of_sql(environment: MakeEnvironment, spark_session: SparkSession) -> None:
    tables = StreamTableEnvironment.create(environment(2))
    tables.get_config().set_local_timezone(spark_session.conf.get("spark.sql.session.timeZone") or "UTC")
    frame = spark_session.createDataFrame(table(), SCHEMA)
    tables.create_temporary_view(
        "frame", tables.from_spark(frame.withColumn("wall", frame.at.cast("timestamp_ntz")))
    )
    kinds = {row[0]: row[1] for row in tables.execute_sql("DESCRIBE frame").collect()}
    assert [kinds[name] for name in ("id", "price", "at", "wall", "parts", "place")] == [
        *("INT", "DECIMAL(10, 2)", "TIMESTAMP_LTZ(6)", "TIMESTAMP(6)", "ARRAY<INT>"),
        "ROW<`x` DOUBLE, `label` STRING>",
    ]
    query = "SELECT name, COUNT(*), SUM(price) FROM frame WHERE id < 10 GROUP BY name"
    last = {row[0]: tuple(row)[1:] for row in tables.execute_sql(query).collect()}
    assert last[None] == (1, Decimal("3.25"))
    assert last["n1"] == (3, Decimal("15.75"))
    [one] = (
        tables.sql_query("SELECT `at`, wall, parts, counts, place.label, `raw` FROM frame WHERE id = 5")
        .execute()
        .collect()
    )
    at = dt.datetime(2024, 1, 1, 17, 30, 15, 123000)
    assert tuple(one)[1:] == (at, [5, 6], {"a": 5}, "here", bytes([5, 255]))
    assert one[0].to_epoch_milli() == round(at.timestamp() * 1000)
    nothing = tables.from_spark(spark_session.createDataFrame([], "id int, name string"))
    assert list(nothing.execute().collect()) == []


def test_a_table_without_rows(environment: MakeEnvironment, spark_session: SparkSession) -> None:
    env = environment(2)
    stream = env.from_spark(spark_session.createDataFrame([], "id int, name string"))
    kept = stream.map(lambda row: row, Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()]))
    result = kept.to_spark()
    assert (result.count(), result.columns) == (0, ["id", "name"])


def test_a_result_is_an_ordinary_table(environment: MakeEnvironment, spark_session: SparkSession) -> None:
    env = environment(2)
    squares = env.from_sequence(1, 100).map(
        lambda v: Row(v % 10, v * v), Types.ROW_NAMED(["digit", "square"], [Types.INT(), Types.LONG()])
    )
    frame = squares.to_spark()
    assert frame.dtypes == [("digit", "int"), ("square", "bigint")]
    found = dict(frame.groupBy("digit").sum("square").collect())
    assert found == {d: sum(v * v for v in range(1, 101) if v % 10 == d) for d in range(10)}


def test_to_spark_wants_a_type(environment: MakeEnvironment) -> None:
    with pytest.raises(ProgramError, match="needs the type") as refused:
        environment().from_collection([1]).map(lambda v: v).name("untyped").to_spark()
    assert refused.value.operator == "untyped"


def test_to_spark_wants_an_end(environment: MakeEnvironment) -> None:
    source = DataGeneratorSource(lambda i: i, type_info=Types.LONG())
    stream = environment().from_source(source, WatermarkStrategy.no_watermarks(), "endless")
    with pytest.raises(UnsupportedFeatureError, match="bounded"):
        stream.to_spark()


def test_from_spark_takes_no_streaming_table(
    environment: MakeEnvironment, spark_session: SparkSession
) -> None:
    frame = spark_session.readStream.format("rate").load()
    with pytest.raises(UnsupportedFeatureError, match="streaming"):
        environment().from_spark(frame)


def test_a_session_handed_in_without_our_settings(tmp_path: Path) -> None:
    # Such a session takes its workers' Python from the environment.
    done = run(python("plain_session.py"), tmp_path, {"PYSPARK_PYTHON": sys.executable})
    assert done.code == 0, done.err
    outcome = json.loads(done.lines[-1])
    sums = sorted([0, 2, 6, 12, 20, 1, 4, 9, 16, 25])
    assert outcome["found"] == [sums, sums]
    (warning,) = outcome["warnings"]  # one for the session, not one for each job
    assert "spark.python.unix.domain.socket.enabled" in warning
    assert "40 ms" in warning
    assert outcome["adaptive"] == "true", "the user's session keeps its settings"
    assert outcome["still"] == 3, "the user's session is not stopped with the job"


@pytest.mark.row("S-SPARK-10")
def test_a_job_without_end_runs_in_real_time_behind_one_that_ends(tmp_path: Path) -> None:
    done = run(python("both_kinds.py"), tmp_path)
    assert done.code == 0, done.err
    outcome = json.loads(done.lines[-1])
    assert outcome["ended"] == [2, 4]
    assert len(set(outcome["first"])) == 50
    assert "in epochs, not in real time" not in done.err
