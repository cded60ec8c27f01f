"""The relational methods of tables."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import pytest

from firesteel.common import Row, RowKind
from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import Types
from firesteel.jobmanager.executor import Executor
from firesteel.table import (
    ChangelogMode,
    DataTypes,
    Schema,
    StreamTableEnvironment,
    Table,
)
from firesteel.table.expressions import (
    UNBOUNDED_RANGE,
    call,
    col,
    concat,
    descriptor,
    if_then_else,
    lit,
    map_,
    row_interval,
    with_columns,
)
from firesteel.table.udf import TableAggregateFunction, udaf, udf, udtaf, udtf
from firesteel.table.window import Over, Session, Slide, Tumble
from firesteel.util.exceptions import TableException
from tests.table.support import changes, kept, rows, stream_of, tables


def people(t: StreamTableEnvironment) -> Table:
    return t.from_elements([(1, "ann", 20), (2, "bob", 30), (3, "ann", 5)], ["id", "name", "n"])


def test_columns_are_chosen_made_renamed_and_dropped() -> None:
    with tables() as t:
        table = people(t)
        assert rows(table.select(col("name").upper_case, (col("n") * 2).alias("m"))) == [
            ("ANN", 40),
            ("BOB", 60),
            ("ANN", 10),
        ]
        assert rows(table.where((col("n") > 5) & (col("name") != "bob")).select(col("id"))) == [(1,)]
        assert table.add_columns(concat(col("name"), "!").alias("x")).get_schema().get_field_names() == [
            "id",
            "name",
            "n",
            "x",
        ]
        assert table.add_or_replace_columns((col("n") + 1).alias("n")).get_schema().get_field_names() == [
            "id",
            "name",
            "n",
        ]
        assert table.rename_columns(col("n").alias("m")).drop_columns(
            col("id")
        ).get_schema().get_field_names() == [
            "name",
            "m",
        ]
        assert rows(table.select(with_columns(2, 3)).alias("a", "b").filter(col("b") == 30)) == [("bob", 30)]
        assert rows(table.select(if_then_else(col("n") > 10, "much", "little"))) == [
            ("much",),
            ("much",),
            ("little",),
        ]


@pytest.mark.row("S-SQL-11", "S-SQL-16", "S-SQL-19")
def test_groups_change_as_their_rows_come() -> None:
    with tables() as t:
        grouped = (
            people(t).group_by(col("name")).select(col("name"), col("n").sum, col("id").count.alias("c"))
        )
        assert changes(grouped) == ["+I[ann, 20, 1]", "+I[bob, 30, 1]", "-U[ann, 20, 1]", "+U[ann, 25, 2]"]
        assert kept(people(t).select(col("n").max, col("n").avg)) == [(30, 18)]
        assert kept(people(t).select(col("name")).distinct()) == [("ann",), ("bob",)]


@pytest.mark.row("S-SQL-18")
def test_joins_find_columns_of_both_sides() -> None:
    with tables() as t:
        other = t.from_elements([("ann", "x"), ("cid", "y")], ["who", "what"])
        on = col("name") == col("who")
        table = people(t)
        assert kept(table.join(other).where(on).select(col("id"), col("what"))) == [(1, "x"), (3, "x")]
        left = table.left_outer_join(other, on).select(col("id"), col("what"))
        assert kept(left) == [(1, "x"), (2, None), (3, "x")]
        right = table.right_outer_join(other, on).select(col("id"), col("what"))
        assert kept(right) == [(1, "x"), (3, "x"), (None, "y")]
        full = table.full_outer_join(other, on).select(col("id"), col("what"))
        assert len(kept(full)) == 4
        with pytest.raises(Exception, match="name"):
            table.join(people(t)).where(col("id") == 1)


def test_set_operations() -> None:
    with tables() as t:
        a = t.from_elements([(1,), (2,), (2,)], ["x"])
        b = t.from_elements([(2,), (3,)], ["x"])
        assert kept(a.union_all(b)) == [(1,), (2,), (2,), (2,), (3,)]
        assert kept(a.union(b)) == [(1,), (2,), (3,)]
        assert kept(a.intersect(b)) == [(2,)]
        assert kept(a.minus(b)) == [(1,)]
        assert kept(a.where(col("x").in_(b))) == [(2,), (2,)]


def test_order_needs_a_limit_when_streaming() -> None:
    with tables() as t:
        assert kept(people(t).order_by(col("n").desc).fetch(2).select(col("n"))) == [(20,), (30,)]
        with pytest.raises(TableException, match="Sort on a non-time-attribute field is not supported"):
            people(t).order_by(col("n").desc).execute()


def timed(t: StreamTableEnvironment) -> Table:
    """Rows at seconds 1, 3, 6, 11 and 30."""
    at = [1, 3, 6, 11, 30]
    stream = stream_of(
        t,
        [(dt.datetime(2020, 1, 1, 0, 0, s), "ab"[i % 2], i) for i, s in enumerate(at)],
        Types.ROW_NAMED(["ts", "k", "n"], [Types.SQL_TIMESTAMP(), Types.STRING(), Types.INT()]),
    )
    schema = (
        Schema.new_builder()
        .column("ts", DataTypes.TIMESTAMP(3))
        .column("k", DataTypes.STRING())
        .column("n", DataTypes.INT())
        .watermark("ts", "ts - INTERVAL '1' SECOND")
        .build()
    )
    return t.from_data_stream(stream, schema)


def seconds(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    start = dt.datetime(2020, 1, 1)
    return sorted(
        tuple(int((v - start).total_seconds()) if isinstance(v, dt.datetime) else v for v in row)
        for row in found
    )


@pytest.mark.row("S-SQL-08")
def test_windows_of_groups() -> None:
    with tables() as t:
        w = col("w")
        table = timed(t)
        tumble = table.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w")).group_by(w)
        found = seconds(rows(tumble.select(w.start, w.end, col("n").sum)))
        assert found == [(0, 10, 3), (10, 20, 3), (30, 40, 4)]
        slide = table.window(
            Slide.over(lit(10).seconds).every(lit(5).seconds).on(col("ts")).alias("w")
        ).group_by(w)
        assert seconds(rows(slide.select(w.start, col("n").count)))[:3] == [(-5, 2), (0, 3), (5, 2)]
        session = table.window(Session.with_gap(lit(6).seconds).on(col("ts")).alias("w")).group_by(
            w, col("k")
        )
        found = seconds(rows(session.select(col("k"), w.start, w.end, col("n").count)))
        assert found == [("a", 1, 12, 2), ("a", 30, 36, 1), ("b", 3, 9, 1), ("b", 11, 17, 1)]


@pytest.mark.row("S-SQL-31")
def test_over_windows() -> None:
    with tables() as t:
        whole = Over.partition_by(col("k")).order_by(col("ts")).preceding(UNBOUNDED_RANGE).alias("w")
        made = timed(t).over_window(whole).select(col("n"), col("n").sum.over(col("w")))
        assert sorted(rows(made)) == [(0, 0), (1, 1), (2, 2), (3, 4), (4, 6)]
        two = Over.partition_by(col("k")).order_by(col("ts")).preceding(row_interval(1)).alias("w")
        made = timed(t).over_window(two).select(col("n"), col("n").min.over(col("w")))
        assert sorted(rows(made)) == [(0, 0), (1, 1), (2, 0), (3, 1), (4, 2)]


@udf(result_type=DataTypes.INT())
def plus_one(n: int) -> int:
    return n + 1


@udf(result_type=DataTypes.BIGINT(), func_type="pandas")
def doubled(n: Any) -> Any:
    return n * 2


@udtf(result_types=[DataTypes.STRING(), DataTypes.INT()])
def letters(text: str) -> Any:
    for i, letter in enumerate(text):
        yield letter, i


@udaf(result_type=DataTypes.BIGINT(), func_type="pandas")
def spread(n: Any) -> Any:
    return n.max() - n.min()


class Top2(TableAggregateFunction):
    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], n: int) -> None:
        accumulator.append(n)
        accumulator.sort(reverse=True)
        del accumulator[2:]

    def emit_value(self, accumulator: list[int]) -> Any:
        for n in accumulator:
            yield Row(n)

    def get_result_type(self) -> Any:
        return DataTypes.ROW([DataTypes.FIELD("n", DataTypes.BIGINT())])

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.BIGINT())


@pytest.mark.row("S-SQL-32")
def test_functions_in_python() -> None:
    with tables() as t:
        table = people(t)
        assert rows(table.select(plus_one(col("id").cast(DataTypes.INT())), doubled(col("n")))) == [
            (2, 40),
            (3, 60),
            (4, 10),
        ]
        lateral = table.where(col("id") == 2).join_lateral(letters(col("name")).alias("l", "i"))
        assert rows(lateral.select(col("l"), col("i"))) == [("b", 0), ("o", 1), ("b", 2)]
        assert kept(table.group_by(col("name")).select(col("name"), spread(col("n")))) == [
            ("ann", 15),
            ("bob", 0),
        ]
        top = udtaf(Top2())
        found = (
            table.group_by(col("name"))
            .flat_aggregate(top(col("n")).alias("best"))
            .select(col("name"), col("best"))
        )
        assert kept(found) == [("ann", 20), ("ann", 5), ("bob", 30)]
        t.create_temporary_function("plus_one", plus_one)
        assert rows(t.sql_query("SELECT plus_one(41)")) == [(42,)]
        assert rows(table.select(call("plus_one", 1)).fetch(1)) == [(2,)]


@pytest.mark.row("S-SQL-17", "S-SQL-34")
@pytest.mark.row("S-ARCH-08")
def test_streams_of_changes_come_and_go() -> None:
    with tables() as t:
        given = [
            Row.of_kind(RowKind.INSERT, "a", 1),
            Row.of_kind(RowKind.UPDATE_BEFORE, "a", 1),
            Row.of_kind(RowKind.UPDATE_AFTER, "a", 2),
            Row.of_kind(RowKind.DELETE, "a", 2),
        ]
        types = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.INT()])
        stream = stream_of(t, given, types)
        table = t.from_changelog_stream(stream)
        with t.to_changelog_stream(table.select(col("n"))).execute_and_collect() as out:
            assert [(str(r.get_row_kind()), r[0]) for r in out] == [
                ("+I", 1),
                ("-U", 1),
                ("+U", 2),
                ("-D", 2),
            ]
        with pytest.raises(TableException, match="doesn't support consuming update and delete changes"):
            t.to_data_stream(table)
        keyed = Schema.new_builder().column("k", DataTypes.STRING().not_null()).column("n", DataTypes.INT())
        upserts = t.from_changelog_stream(
            stream_of(t, [given[0], given[2], given[3]], types),
            keyed.primary_key("k").build(),
            ChangelogMode.upsert(),
        )
        assert changes(upserts) == ["+I[a, 1]", "-U[a, 1]", "+U[a, 2]", "-D[a, 2]"]


def test_retract_streams_tell_new_from_old_by_a_flag() -> None:
    with tables() as t:
        counted = people(t).group_by(col("name")).select(col("name"), col("id").count)
        stream = t.to_retract_stream(counted, Types.ROW([Types.STRING(), Types.LONG()]))
        with stream.execute_and_collect() as found:
            assert [(flag, tuple(row)) for flag, row in found] == [
                (True, ("ann", 1)),
                (True, ("bob", 1)),
                (False, ("ann", 1)),
                (True, ("ann", 2)),
            ]


def test_data_frames_come_and_go() -> None:
    with tables() as t:
        frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"]})
        table = t.from_pandas(frame, ["n", "s"])
        made = table.where(col("n") > 1).to_pandas()
        assert made.to_dict("list") == {"n": [2, 3], "s": [None, "z"]}
        counted = t.sql_query(f"SELECT s, COUNT(*) AS c FROM {table} GROUP BY s").to_pandas()
        assert sorted(counted["c"]) == [1, 1, 1]


def test_the_frame_of_pandas_has_units_and_zones_of_the_columns() -> None:
    with tables() as t:
        t.get_config().set("table.local-time-zone", "America/New_York")
        query = (
            "SELECT CAST(TIMESTAMP '2020-01-02 03:04:05.123' AS TIMESTAMP(0)) AS s,"
            " CAST(TIMESTAMP '2020-01-02 03:04:05.123' AS TIMESTAMP(6)) AS us,"
            " TO_TIMESTAMP_LTZ(1577934245123, 3) AS ltz,"
            " CAST(TO_TIMESTAMP_LTZ(1577934245123, 3) AS TIMESTAMP_LTZ(0)) AS ltz0"
        )
        made = t.sql_query(query).to_pandas()
        assert [str(d) for d in made.dtypes] == [
            "datetime64[s]",
            "datetime64[us]",
            "datetime64[ms, America/New_York]",
            "datetime64[s, America/New_York]",
        ]
        assert made["ltz"][0].isoformat(timespec="milliseconds") == "2020-01-01T22:04:05.123-05:00"
        assert made["ltz"][0] == pd.Timestamp(1577934245123, unit="ms", tz="UTC")


def test_a_wrong_column_is_named_with_those_that_there_are() -> None:
    with tables() as t, pytest.raises(Exception, match=r"nam.*\n?.*(id|name|n)"):
        people(t).select(col("nam"))


def test_changes_of_a_table_as_rows_and_back() -> None:
    with tables() as t:
        counted = people(t).group_by(col("name")).select(col("name"), col("id").count.alias("n"))
        assert rows(counted.to_changelog())[:3] == [
            ("INSERT", "ann", 1),
            ("INSERT", "bob", 1),
            ("UPDATE_BEFORE", "ann", 1),
        ]
        codes = map_("INSERT, UPDATE_AFTER", "set", "DELETE", "gone").as_argument("op_mapping")
        coded = counted.to_changelog(descriptor("what").as_argument("op"), codes)
        assert rows(coded) == [("set", "ann", 1), ("set", "bob", 1), ("set", "ann", 2)]
        given = t.from_elements([("c", "a", 1), ("r", "b", 2), ("d", "a", 1)], ["code", "k", "n"])
        kinds = map_("c, r", "INSERT", "d", "DELETE").as_argument("op_mapping")
        assert kept(given.from_changelog(descriptor("code").as_argument("op"), kinds)) == [("b", 2)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([descriptor("a", "b").as_argument("op")], "must contain exactly one column name"),
        ([map_("INSERT", col("n")).as_argument("op_mapping")], "constant map of texts"),
        (
            [map_("INSERT, DELETE", "A", "DELETE", "B").as_argument("op_mapping")],
            "Duplicate change operation",
        ),
        ([map_("MERGE", "A").as_argument("op_mapping")], "Unknown change operation: 'MERGE'"),
        ([descriptor("a").as_argument("on_time")], "'on_time' of TO_CHANGELOG is unknown"),
    ],
)
def test_arguments_of_changelogs_are_checked_at_once(arguments: list[Any], message: str) -> None:
    with tables() as t, pytest.raises(ProgramError, match=message):
        people(t).to_changelog(*arguments)


def test_elements_are_verified_unless_one_says_otherwise() -> None:
    schema = DataTypes.ROW(
        [DataTypes.FIELD("n", DataTypes.BIGINT()), DataTypes.FIELD("d", DataTypes.DOUBLE())]
    )
    with tables() as t:
        with pytest.raises(TypeError, match="The field 'd' of Element 0 cannot take a value of type int"):
            t.from_elements([(1, 2)], schema)
        assert rows(t.from_elements([(1, 2)], schema, verify_schema=False)) == [(1, 2.0)]
        for elements, kind, message in (
            ([(1,)], schema, "1 values for 2 fields"),
            ([1, 300], DataTypes.TINYINT(), "Element 1 is out of range"),
            (["abc"], DataTypes.VARCHAR(2), "at most the length 2"),
            ([[1, None]], DataTypes.ARRAY(DataTypes.INT(False)), "An element of Element 0 is NOT NULL"),
        ):
            with pytest.raises(ValueError, match=message):
                t.from_elements(elements, kind)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("table.exec.emit.early-fire.enabled", "true"),
        ("table.exec.emit.late-fire.enabled", "true"),
        ("table.exec.emit.allow-lateness", "1 h"),
    ],
)
def test_old_windows_that_are_to_fire_more_than_once_are_refused_when_they_are_planned(
    key: str, value: str
) -> None:
    query = (
        "SELECT COUNT(*) FROM (SELECT n, PROCTIME() AS p FROM (VALUES (1)) AS v(n)) "
        "GROUP BY TUMBLE(p, INTERVAL '1' HOUR)"
    )
    with tables() as t:
        t.sql_query(query).explain()
        t.get_config().set(key, value)
        with pytest.raises(TableException, match=f"{key} cannot be obeyed"):
            t.sql_query(query).explain()


@pytest.mark.row("S-SQL-13", "S-PERF-04", "S-CFG-18")
def test_distinct_aggregates_may_be_spread_over_buckets() -> None:
    query = (
        "SELECT name, COUNT(DISTINCT n), SUM(DISTINCT n) FILTER (WHERE n > 5), COUNT(DISTINCT id), MAX(n), "
        "COUNT(*) FROM (SELECT * FROM people UNION ALL SELECT * FROM people) GROUP BY name"
    )
    with tables(2) as t:
        t.create_temporary_view("people", people(t))
        assert "Expand(" not in t.sql_query(query).explain()
        t.get_config().set("table.optimizer.distinct-agg.split.enabled", "true")
        assert "Expand(" in t.sql_query(query).explain()
        assert kept(t.sql_query(query)) == [("ann", 2, 20, 2, 20, 4), ("bob", 1, 30, 1, 30, 2)]


def test_what_ran_before_in_a_session_changes_no_uid(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that is stopped with a savepoint goes on by the same statement, in its session or another."""
    submitted: list[list[str | None]] = []
    with tables() as t:
        submit = Executor.submit

        def spied(self: Executor, env: Any, transformations: Any, *more: Any, **options: Any) -> Any:
            submitted.append([transformation.uid for transformation in transformations])
            return submit(self, env, transformations, *more, **options)

        monkeypatch.setattr(Executor, "submit", spied)
        t.execute_sql("CREATE TABLE s (k BIGINT, n BIGINT) WITH ('connector' = 'blackhole')")
        insert = "INSERT INTO s SELECT k, COUNT(*) FROM (VALUES (1), (2)) AS v(k) GROUP BY k"
        t.execute_sql(insert).wait()
        rows(t.execute_sql("SELECT 1"))
        t.execute_sql(insert).wait()
        first, _, again = submitted
        assert first == again
        assert any("groupaggregate" in (uid or "") for uid in first)
        for _ in range(2):  # two plans of one program have uids of their own
            t.to_changelog_stream(
                t.sql_query("SELECT k, COUNT(*) FROM (VALUES (1)) AS v(k) GROUP BY k")
            ).print()
        program = t._session.environment.transformations
        uids = [made.uid for made in program if made.uid is not None]
        assert len(uids) == len(set(uids)) == 6  # of each: the source, the aggregate, what makes rows


def test_columns_without_a_name_are_called_by_their_place() -> None:
    with tables() as t:
        table = people(t).select(
            col("id"),
            col("n") + 1,
            col("id").cast(DataTypes.STRING()),
            (col("n") + 1).cast(DataTypes.BIGINT()),
        )
        assert table.get_schema().get_field_names() == ["id", "_c1", "id-STRING", "_c3"]
        grouped = people(t).group_by(col("name")).select(col("name"), col("n").sum + 1, col("n").max)
        assert grouped.get_schema().get_field_names() == ["name", "_c1", "EXPR$1"]


def test_null_is_the_greatest_value_of_an_order() -> None:
    with tables() as t:
        table = t.sql_query("SELECT * FROM (VALUES (1, 10), (2, 20), (3, CAST(NULL AS INT))) AS t(id, n)")
        assert kept(table.order_by(col("n").asc).fetch(2).select(col("id"))) == [(1,), (2,)]
        assert kept(table.order_by(col("n").desc).fetch(2).select(col("id"))) == [(2,), (3,)]


def test_texts_are_added_and_elements_are_found() -> None:
    with tables() as t:
        table = people(t).where(col("id") == 1)
        assert rows(table.select(col("name") + "-" + col("id"), map_("k", col("n")).at("k"))) == [
            ("ann-1", 20)
        ]
