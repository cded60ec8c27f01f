"""Functions of users: what they are told, and which of their methods count."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from firesteel.common.errors import FiresteelError
from firesteel.common.time import Instant
from firesteel.common.typeinfo import Types
from firesteel.common.types import Row
from firesteel.datastream.functions import ProcessFunction
from firesteel.table import DataTypes, Schema
from firesteel.table.expressions import col
from firesteel.table.udf import (
    AggregateFunction,
    FunctionContext,
    ScalarFunction,
    TableAggregateFunction,
    udaf,
    udf,
    udtaf,
    udtf,
)
from tests.table.support import kept, rows, tables


class Total(AggregateFunction):
    """The module of this class has ``table`` in its name, as PyFlink's own has."""

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], value: int) -> None:
        accumulator[0] += value

    def retract(self, accumulator: list[int], value: int) -> None:
        accumulator[0] -= value

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def get_result_type(self) -> Any:
        return DataTypes.BIGINT()

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.BIGINT())


class Told(ScalarFunction):
    def open(self, function_context: FunctionContext) -> None:
        self.said = function_context.get_job_parameter("said", "nothing")
        self.calls = function_context.get_metric_group().counter("calls")

    def eval(self, value: int) -> str:
        self.calls.inc()
        return f"{value}: {self.said}"


def test_an_aggregate_takes_rows_back() -> None:
    with tables() as t:
        t.create_temporary_function("total", udaf(Total()))
        found = t.sql_query(
            "SELECT total(n) FROM (SELECT k, MAX(n) AS n "
            "FROM (VALUES ('a', 1), ('a', 5), ('b', 2)) AS x(k, n) GROUP BY k)"
        )
        assert kept(found) == [(7,)]


def test_functions_know_parameters_and_count() -> None:
    with tables() as t:
        t.get_config().set("pipeline.global-job-parameters", "said:something")
        t.create_temporary_function("told", udf(Told(), result_type=DataTypes.STRING()))
        assert rows(t.sql_query("SELECT told(n) FROM (VALUES 1, 2) AS x(n)")) == [
            ("1: something",),
            ("2: something",),
        ]
        assert rows(t.sql_query("SELECT told(1)"))[0][0].startswith("1: ")


def test_decimals_of_functions_are_rounded_to_even() -> None:
    with tables() as t:
        half = udf(lambda _: Decimal("12.345"), result_type=DataTypes.DECIMAL(10, 2))
        t.create_temporary_function("half", half)
        assert rows(t.sql_query("SELECT half(n) FROM (VALUES 1) AS x(n)")) == [(Decimal("12.34"),)]


class Last(AggregateFunction):
    """The last value, in a list."""

    def create_accumulator(self) -> list[Decimal]:
        return []

    def accumulate(self, accumulator: list[Decimal], value: str) -> None:
        accumulator[:] = [Decimal(value)]

    def get_value(self, accumulator: list[Decimal]) -> Row | None:
        return Row(accumulator[0], accumulator) if accumulator else None


class LastTwice(TableAggregateFunction):
    def create_accumulator(self) -> list[Decimal]:
        return []

    def accumulate(self, accumulator: list[Decimal], value: str) -> None:
        accumulator[:] = [Decimal(value)]

    def emit_value(self, accumulator: list[Decimal]) -> Iterator[Row]:
        yield Row(accumulator[0], 1)
        yield Row(accumulator[0], 2)


def test_decimals_of_aggregate_and_table_functions_are_rounded_to_even_wherever_they_are() -> None:
    odd, even = Decimal("0.14"), Decimal("0.12")
    where = "(VALUES ('0.125'), ('0.135'), ('-0.125')) AS v(s)"
    row = "ROW<a DECIMAL(10, 2), b ARRAY<DECIMAL(10, 2)>>"
    with tables() as t:
        t.create_temporary_function("last", udaf(Last(), result_type=row, accumulator_type="ARRAY<STRING>"))
        found = dict(rows(t.sql_query(f"SELECT s, last(s) FROM {where} GROUP BY s")))
        assert {s: tuple(r) for s, r in found.items()} == {
            "0.125": (even, [even]),
            "0.135": (odd, [odd]),
            "-0.125": (-even, [-even]),
        }
        several = udtf(
            lambda s: [(Decimal(s), {"k": Decimal(s)})],
            result_types=DataTypes.ROW(
                [
                    DataTypes.FIELD("a", DataTypes.DECIMAL(10, 2)),
                    DataTypes.FIELD("m", DataTypes.MAP(DataTypes.STRING(), DataTypes.DECIMAL(10, 2))),
                ]
            ),
        )
        t.create_temporary_function("several", several)
        query = f"SELECT a, m FROM {where}, LATERAL TABLE(several(s)) AS x(a, m)"
        assert rows(t.sql_query(query)) == [(x, {"k": x}) for x in (even, odd, -even)]
        twice = udtaf(
            LastTwice(), result_type="ROW<a DECIMAL(10, 2), b INT>", accumulator_type="ARRAY<STRING>"
        )
        found_twice = (
            t.sql_query("SELECT '0.125' AS s")
            .group_by(col("s"))
            .flat_aggregate(twice(col("s")).alias("a", "b"))
        )
        assert rows(found_twice.select(col("a"), col("b"))) == [(even, 1), (even, 2)]


def test_lists_of_a_stream_are_arrays() -> None:
    from firesteel.common.typeinfo import Types
    from tests.table.support import stream_of

    with tables() as t:
        stream = stream_of(t, [[1, 2], [3]], Types.BASIC_ARRAY(Types.INT()))
        assert rows(t.from_data_stream(stream)) == [([1, 2],), ([3],)]


def test_columns_that_a_stream_does_not_have_are_told() -> None:
    from firesteel.common.typeinfo import Types
    from tests.table.support import stream_of

    with tables() as t:
        stream = stream_of(t, [Row(1, "a")], Types.ROW_NAMED(["id", "n"], [Types.INT(), Types.STRING()]))
        table = t.from_data_stream(stream, Schema.new_builder().column("x", "STRING").build())
        with pytest.raises(FiresteelError, match="Unable to find a field named 'x'"):
            table.execute()


def test_maps_of_a_stream_are_maps() -> None:
    from firesteel.common.typeinfo import Types
    from tests.table.support import stream_of

    with tables() as t:
        stream = stream_of(t, [{"a": 1}, {"b": 2, "f0": 3}], Types.MAP(Types.STRING(), Types.INT()))
        assert rows(t.from_data_stream(stream)) == [({"a": 1},), ({"b": 2, "f0": 3},)]


def test_a_stream_has_the_columns_of_its_schema_by_place() -> None:
    with tables() as t:
        query = t.sql_query("SELECT 1 AS a, CAST(2 AS BIGINT) AS b")
        swapped = Schema.new_builder().column("b", "BIGINT").column("a", "BIGINT").build()
        placed = Schema.new_builder().column("x", "BIGINT").column("b", "BIGINT").build()
        narrow = Schema.new_builder().column("a", "INT").column("b", "INT").build()
        fewer = Schema.new_builder().column("a", "INT").build()
        with t.to_changelog_stream(query, swapped).execute_and_collect() as found:
            assert list(found) == [Row(b=1, a=2)]
        with t.to_changelog_stream(query, placed).execute_and_collect() as found:
            assert list(found) == [Row(x=1, b=2)]
        for wrong in (narrow, fewer):
            with pytest.raises(FiresteelError, match="do not match"):
                t.to_changelog_stream(query, wrong)


class Stamped(ProcessFunction):
    def process_element(self, value: Row, ctx: ProcessFunction.Context) -> Iterator[tuple[Row, int | None]]:
        yield value, ctx.timestamp()


def test_the_rowtime_of_a_schema_is_the_timestamp_of_the_records_and_no_field() -> None:
    with tables() as t:
        query = t.sql_query("SELECT 1 AS a, TO_TIMESTAMP_LTZ(7, 3) AS ts")
        schema = (
            Schema.new_builder().column("x", "INT").column_by_metadata("ts", "TIMESTAMP_LTZ(3)", "rowtime")
        )
        only = Schema.new_builder().column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
        for declared, wanted in ((schema.build(), Row(x=1)), (only.build(), Row(a=1))):
            stream = t.to_changelog_stream(query, declared)
            with stream.process(Stamped()).execute_and_collect() as found:
                assert list(found) == [(wanted, 7)]
        empty = t.sql_query("SELECT 1 AS a, CAST(NULL AS TIMESTAMP_LTZ(3)) AS ts")
        with pytest.raises(FiresteelError, match="NOT NULL"):
            list(t.to_changelog_stream(empty, schema.build()).execute_and_collect())


def test_the_rowtime_and_proctime_of_a_stream_are_named_by_expressions() -> None:
    with tables() as t:
        stream = t._session.environment.from_collection(
            [Row(1, "a")], Types.ROW_NAMED(["id", "n"], [Types.INT(), Types.STRING()])
        )
        made = t.from_data_stream(stream, col("n"), col("id"), col("rt").rowtime, col("pt").proctime)
        assert str(made.get_resolved_schema()).splitlines()[1:-1] == [
            "  `n` STRING,",
            "  `id` INT,",
            "  `rt` TIMESTAMP(3) *ROWTIME*,",
            "  `pt` TIMESTAMP_LTZ(3) NOT NULL *PROCTIME*",
        ]


class Dice(ScalarFunction):
    def eval(self) -> int:
        return 4

    def is_deterministic(self) -> bool:
        return False


def test_what_is_declared_of_a_function_and_what_its_object_says_agree() -> None:
    assert not udf(Dice(), result_type=DataTypes.INT()).is_deterministic
    assert udf(lambda: 4, result_type=DataTypes.INT()).is_deterministic
    with pytest.raises(ValueError, match="Inconsistent deterministic: True and False; Dice says False"):
        udf(Dice(), result_type=DataTypes.INT(), deterministic=True)


def test_an_aggregate_of_pandas_gives_no_maps() -> None:
    with pytest.raises(TypeError, match="Pandas UDAF doesn't support DataType type MAP"):
        udaf(lambda v: {}, result_type=DataTypes.MAP(DataTypes.INT(), DataTypes.INT()), func_type="pandas")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (
            lambda heights: heights.max(),
            "must be pandas.Series or pandas.DataFrame, got <class 'numpy.int64'>",
        ),
        (lambda heights: heights[1:], "The result length '[0-9]' of Pandas UDF '<lambda>' is not equal"),
        (lambda heights: heights.to_frame(), "returned a pandas.DataFrame, and its result type is BIGINT"),
    ],
)
def test_a_function_of_pandas_gives_one_value_for_each_row(function: Any, said: str) -> None:
    wrong = udf(function, result_type=DataTypes.BIGINT(), func_type="pandas")
    with tables() as t:
        heights = t.from_elements([(180,), (165,), (172,)], ["height"])
        with pytest.raises(FiresteelError, match=said):
            rows(heights.select(wrong(heights.height)))


def test_fields_of_a_row_are_columns_of_the_frame_that_a_function_gets() -> None:
    size = DataTypes.ROW([DataTypes.FIELD("w", DataTypes.INT()), DataTypes.FIELD("h", DataTypes.INT())])
    schema = DataTypes.ROW([DataTypes.FIELD("name", DataTypes.STRING()), DataTypes.FIELD("size", size)])
    result = DataTypes.ROW(
        [DataTypes.FIELD("name", DataTypes.STRING()), DataTypes.FIELD("area", DataTypes.INT())]
    )

    def areas(frame: Any) -> Any:
        return frame.assign(area=frame.w * frame.h)[["name", "area"]]

    with tables() as t:
        doors = t.from_elements([("door", Row(2, 3)), ("gate", Row(4, 5))], schema)
        assert rows(doors.map(udf(areas, result_type=result, func_type="pandas"))) == [
            ("door", 6),
            ("gate", 20),
        ]


_NOON = Instant.of_epoch_milli(1_593_600_000_000)  # 2020-07-01T10:40:00Z
_SEEN = "2020-07-01T12:40:00+02:00"


def _stamped(t: Any) -> Any:
    t.get_config().set_local_timezone("Europe/Berlin")
    fields = [DataTypes.FIELD("at", DataTypes.TIMESTAMP_LTZ(3)), DataTypes.FIELD("n", DataTypes.INT())]
    inner = DataTypes.FIELD("r", DataTypes.ARRAY(DataTypes.ROW(fields)))
    return t.from_elements([(_NOON, 1, [Row(_NOON, 2)])], DataTypes.ROW([*fields, inner]))


@pytest.mark.row("S-SQL-02")
def test_functions_get_instants_as_datetimes_of_the_zone_of_the_session() -> None:
    show = udf(lambda at: at.isoformat(), result_type=DataTypes.STRING())
    inside = udf(lambda found: found[0].at.isoformat(), result_type=DataTypes.STRING())
    later = udf(lambda at: at + timedelta(hours=1), result_type=DataTypes.TIMESTAMP_LTZ(3))
    with tables() as t:
        stamped = _stamped(t)
        found = rows(stamped.select(show(stamped.at), inside(stamped.r), later(stamped.at)))
        assert found == [(_SEEN, _SEEN, Instant.of_epoch_milli(1_593_603_600_000))]


def test_table_functions_and_aggregates_get_them_so_too() -> None:
    class Last(Total):
        def create_accumulator(self) -> list[Any]:
            return [None]

        def accumulate(self, accumulator: list[Any], value: Any) -> None:
            accumulator[0] = value.isoformat()

        def get_result_type(self) -> Any:
            return DataTypes.STRING()

    say = udtf(lambda at: [at.isoformat()], result_types=[DataTypes.STRING()])
    with tables() as t:
        stamped = _stamped(t)
        assert rows(stamped.join_lateral(say(stamped.at).alias("said")).select(col("said"))) == [(_SEEN,)]
        assert rows(stamped.select(udaf(Last())(stamped.at))) == [(_SEEN,)]


def test_functions_of_pandas_get_them_with_the_zone() -> None:
    show = udf(lambda at: at.map(str), result_type=DataTypes.STRING(), func_type="pandas")
    with tables() as t:
        stamped = _stamped(t)
        assert rows(stamped.select(show(stamped.at))) == [("2020-07-01 12:40:00+02:00",)]


def test_an_asynchronous_function_that_takes_too_long_is_named_with_its_row() -> None:
    async def wait(n: int) -> int:
        await asyncio.sleep(60)
        return n

    with tables() as t:
        t.get_config().set("table.exec.async-scalar.timeout", "50 ms")
        numbers = t.from_elements([(7,)], ["n"])
        with pytest.raises(FiresteelError, match=r"Async function call has timed out for input: \[7\]"):
            rows(numbers.select(udf(wait, result_type=DataTypes.BIGINT())(numbers.n)))
