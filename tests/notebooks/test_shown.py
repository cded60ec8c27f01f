"""What notebooks show of objects: true, escaped, bounded; and showing starts and takes nothing."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from firesteel.cep import Pattern
from firesteel.common import Row, Types, WatermarkStrategy, html
from firesteel.common.errors import JobExecutionError
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.datastream import CoMapFunction, DataStream, OutputTag, StreamExecutionEnvironment
from firesteel.program.execution import set_executor
from firesteel.table import DataTypes, EnvironmentSettings, StreamTableEnvironment, TableEnvironment
from firesteel.testing import MiniCluster, ScriptedSource, StreamRecord
from tests.table.support import tables
from tests.waiting import patience

EVIL = "<script>alert('x')</script><img src=x onerror=alert(1)>\"&"
LARGEST = 100_000  # characters of any piece without a picture


class Page(HTMLParser):
    """What a browser would see: the tags, the attributes, the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.cells: list[str] = []
        self.text = ""
        self.images: list[str] = []
        self.in_cell = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag in ("td", "th"):
            self.in_cell = True
            self.cells.append("")
        if tag == "img":
            address = dict(attrs)["src"] or ""
            assert address.startswith("data:image/svg+xml;charset=utf-8,")
            self.images.append(unquote(address.partition(",")[2]))

    def handle_endtag(self, tag: str) -> None:
        self.in_cell = self.in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.in_cell:
            self.cells[-1] += data


def shown(value: Any) -> Page:
    """The page of an object; only harmless tags and attributes are in it."""
    made = value._repr_html_()
    page = Page(made)
    assert page.tags <= {
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "img",
        "pre",
        "details",
        "summary",
    }
    assert page.attributes <= {"class", "style", "alt", "src"}
    assert len(re.sub(r'src="[^"]*"', "", made)) < LARGEST
    for image in page.images:
        drawn = ElementTree.fromstring(image)
        assert {element.tag.rpartition("}")[2] for element in drawn.iter()} <= {
            *("svg", "title", "style", "defs", "marker", "path", "rect", "text", "g"),
        }
    return page


def texts(image: str) -> list[str]:
    return [e.text or "" for e in ElementTree.fromstring(image).iter("{http://www.w3.org/2000/svg}text")]


@pytest.fixture
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster.in_process() as running:
        yield running


@pytest.fixture
def env() -> Iterator[StreamExecutionEnvironment]:
    """An environment on the executor that would start Spark; it must not."""
    previous = set_executor(None)
    before = "pyspark" in sys.modules and sys.modules["pyspark"].SparkContext._gateway
    yield StreamExecutionEnvironment.get_execution_environment()
    set_executor(previous)
    assert ("pyspark" in sys.modules and sys.modules["pyspark"].SparkContext._gateway) is before


def program(env: StreamExecutionEnvironment) -> DataStream:
    numbers = env.from_collection([1, 2, 3], Types.INT())
    keyed = numbers.map(lambda n: n + 1, Types.INT()).name("add one").key_by(lambda n: n % 2, Types.INT())
    return keyed.reduce(max).name("largest").uid("largest")


def test_a_stream_shows_its_type_and_the_graph_that_leads_to_it(
    env: StreamExecutionEnvironment,
) -> None:
    stream = program(env)
    stream.map(str).name("not before it").print()
    page = shown(stream)
    assert page.text.startswith("DataStream")
    assert page.cells == ["name", "largest", "uid", "largest", "type", str(Types.INT())]
    drawn = texts(page.images[0])
    assert [text for text in drawn if text in ("add one", "largest", "hash")] == [
        "hash",
        "add one",
        "largest",
    ]
    assert "not before it" not in drawn


def test_a_source_and_a_keyed_stream_are_shown(env: StreamExecutionEnvironment) -> None:
    source = env.from_collection(["a"], Types.STRING())
    assert "Source: Collection Source" in "".join(texts(shown(source).images[0]))
    page = shown(source.key_by(len, Types.INT()))
    assert page.text.startswith("KeyedStream")
    assert page.cells[-2:] == ["key type", str(Types.INT())]


def test_showing_adds_nothing_to_the_program(env: StreamExecutionEnvironment) -> None:
    stream = program(env)
    stream.print()
    late = stream.get_side_output(OutputTag("late"))
    before = env.get_execution_plan()
    for value in (stream, late, env.get_stream_graph()):
        shown(value)
    assert env.get_execution_plan() == before


def test_a_program_that_cannot_work_is_shown_with_the_reason(env: StreamExecutionEnvironment) -> None:
    one = env.from_collection([1]).map(str).set_parallelism(1)
    page = shown(one.forward().map(str).set_parallelism(2))
    assert not page.images
    assert "forward" in page.text.lower()


def test_the_graph_of_a_job_names_edges_vertices_and_parallelism(
    env: StreamExecutionEnvironment,
) -> None:
    program(env).print()
    page = shown(env.get_stream_graph())
    assert page.cells[:4] == ["mode", "STREAMING", "vertices", "3"]
    drawn = texts(page.images[0])
    assert "hash" in drawn
    assert "Sink: Print to Std. Out" in drawn


def test_a_large_graph_is_cut(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1], Types.INT())
    for _ in range(200):
        stream = stream.key_by(lambda n: n, Types.INT()).map(lambda n: n, Types.INT())
    (image,) = shown(stream).images
    assert len(image) < 100_000
    assert "and 141 more vertices" in texts(image)


def test_boxes_of_a_graph_do_not_lie_on_each_other(env: StreamExecutionEnvironment) -> None:
    one, two = (env.from_collection([1], Types.INT()).rebalance().map(abs) for _ in range(2))
    both = one.union(two).key_by(abs).map(abs)
    (image,) = shown(both.connect(one).map(Both())).images
    boxes = [
        tuple(float(e.attrib[name]) for name in ("x", "y", "width", "height"))
        for e in ElementTree.fromstring(image).iter("{http://www.w3.org/2000/svg}rect")
    ]
    assert len(boxes) == 6
    for i, (x, y, w, h) in enumerate(boxes):
        for x2, y2, w2, h2 in boxes[:i]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y


class Both(CoMapFunction):
    def map1(self, value: int) -> int:
        return value

    def map2(self, value: int) -> int:
        return value


# ---- records


@dataclass(frozen=True)
class Reading:
    sensor: str
    degrees: float


class Pair(NamedTuple):
    left: int
    right: str


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        ([1, "a"], ["record", "1", "'a'"]),
        ([Reading("s", 1.5)], ["sensor", "degrees", "s", "1.5"]),
        ([Pair(1, "x")], ["left", "right", "1", "x"]),
        ([Row(id=1, name=None)], ["id", "name", "1", "None"]),
        ([Row(1, 2)], ["record", "<Row(1, 2)>"]),
        ([Reading("s", 1.5), 7], ["record", "Reading(sensor='s', degrees=1.5)", "7"]),
    ],
)
def test_records_have_columns_where_all_have_the_same_names(values: list[Any], cells: list[str]) -> None:
    assert Page(html.records(values)).cells == cells


def test_records_are_shown_and_still_there_to_be_read(cluster: MiniCluster) -> None:
    env = cluster.environment(parallelism=1)
    records = env.from_collection(list(range(30)), Types.INT()).execute_and_collect()
    page = shown(records)
    assert page.cells == ["record", *map(str, range(20))]
    assert "The first 20 records; there are more." in page.text
    assert list(records) == list(range(30))
    assert "No record is left to be read." in shown(records).text


def test_an_endless_job_is_not_waited_for_without_end(
    cluster: MiniCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "WAIT_S", 0.3)
    env = cluster.environment(parallelism=1)
    source = ScriptedSource([StreamRecord(1, 0), StreamRecord(2, 0)], bounded=False)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "endless")
    with stream.execute_and_collect() as records:
        assert next(records) == 1
        page = shown(records)
        assert page.cells == ["record", "2"]
        assert "1 record so far: the job is running." in page.text


def test_a_job_that_fails_says_so_and_raises_when_it_is_read(cluster: MiniCluster) -> None:
    env = cluster.environment(parallelism=1)
    records = env.from_collection([1, 0], Types.INT()).map(lambda n: 1 // n).execute_and_collect()
    assert "then the job failed: " in shown(records).text
    with pytest.raises(JobExecutionError):
        list(records)


def test_results_of_jobs_are_shown() -> None:
    result = JobExecutionResult(JobID(), 12, {"lines": 3, EVIL: EVIL})
    page = shown(result)
    assert page.cells[:4] == ["job id", str(result.get_job_id()), "runtime", "12 ms"]
    assert page.cells[-2:] == ["lines", "3"]
    assert EVIL in page.cells


def test_a_job_that_runs_is_shown_with_its_status(cluster: MiniCluster) -> None:
    env = cluster.environment()
    env.from_collection([1]).map(str).print()
    client = env.execute_async()
    client.get_job_execution_result().result(patience(20))
    assert shown(client).cells == ["job id", str(client.get_job_id()), "status", "FINISHED"]


def test_a_status_that_nobody_knows_does_not_raise() -> None:
    class Unreachable:
        job_id = JobID()

        def get_job_status(self) -> Any:
            raise ConnectionError(EVIL)

    assert EVIL in shown(JobClient(Unreachable())).text  # type: ignore[arg-type]


# ---- tables


def test_a_collection_shows_its_first_rows() -> None:
    with tables() as t:
        page = shown(t.from_elements([(n, f"n{n}") for n in range(25)], ["id", "name"]))
    assert page.cells[:4] == ["id", "name", "0", "n0"]
    assert len(page.cells) == 2 + 2 * 20
    assert "The first 20 rows; there are more." in page.text


def test_a_query_shows_its_columns_and_plan_and_runs_nothing() -> None:
    previous = set_executor(None)  # the engine's, which would start Spark
    try:
        t = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        table = t.sql_query("SELECT a, COUNT(*) AS n FROM (VALUES ('x'), ('y')) AS v(a) GROUP BY a")
        before = t.list_temporary_views()
        page = shown(table)
        assert t.list_temporary_views() == before
    finally:
        set_executor(previous)
    assert page.cells[:6] == ["column", "type", "a", "CHAR(1)", "n", "BIGINT"]
    assert "GroupAggregate" in page.text


def test_a_result_shows_its_changes_and_keeps_them() -> None:
    with tables() as t:
        result = t.execute_sql("SELECT a, COUNT(*) AS n FROM (VALUES ('x'), ('x')) AS v(a) GROUP BY a")
        page = shown(result)
        assert page.cells[:3] == ["op", "a", "n"]
        assert page.cells[-3:] == ["+U", "x", "2"]
        with result.collect() as rows:
            read = [str(row) for row in rows]
        assert len(read) == len(page.cells) // 3 - 1
        assert "No row is left to be read." in shown(result).text


def test_waiting_for_the_first_row_takes_nothing_away() -> None:
    with tables() as t:
        result = t.execute_sql("SELECT * FROM (VALUES (1), (2)) AS v(a)")
        result.wait()
        with result.collect() as rows:
            assert [row[0] for row in rows] == [1, 2]


def test_results_that_are_there_at_once_are_shown() -> None:
    with tables() as t:
        t.create_temporary_view("numbers", t.from_elements([(1,)], ["n"]))
        assert shown(t.execute_sql("SHOW VIEWS")).cells == ["view name", "numbers"]
        assert "== Abstract Syntax Tree ==" in shown(t.execute_sql("EXPLAIN SELECT * FROM numbers")).text


# ---- what must not happen


def test_values_and_names_are_text_wherever_they_stand(cluster: MiniCluster) -> None:
    env = cluster.environment(parallelism=1)
    stream = env.from_collection([EVIL], Types.STRING()).map(str, Types.STRING()).name(EVIL)
    assert EVIL in shown(stream).cells
    assert repr(EVIL) in shown(stream.execute_and_collect()).cells
    assert EVIL in Page(html.records([Reading(EVIL, 1.0), Reading("", 0.0)])).cells
    page = shown(Pattern.begin(EVIL).where(lambda e: True))
    assert EVIL in page.text
    assert EVIL in texts(page.images[0])
    t = StreamTableEnvironment.create(env)
    row = DataTypes.ROW([DataTypes.FIELD(EVIL, DataTypes.STRING())])
    table = t.from_elements([(EVIL,)], row)
    assert shown(table).cells == [EVIL, EVIL]
    assert shown(table.execute()).cells == ["op", EVIL, "+I", EVIL]


class Rude:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "value", ["x" * 1_000_000, list(range(1_000_000)), {n: n for n in range(100_000)}, Rude(), b"\0" * 10**6]
)
def test_what_is_large_or_rude_is_shown_short(value: Any) -> None:
    assert len(html.records([value] * 100)) < 20_000
    assert len(html.table([f"c{n}" for n in range(1_000)], [[value] * 1_000] * 1_000)) < 300_000


def test_secrets_of_connectors_are_not_shown() -> None:
    page = Page(html.facts(("source", "jdbc:postgresql://db/shop?user=me&password=hunter2")))
    assert "hunter2" not in page.text


def test_a_pattern_that_cannot_be_matched_is_shown_with_the_reason() -> None:
    page = shown(Pattern.begin("a").not_followed_by("b"))
    assert not page.images
    assert "There is no picture" in page.text


def test_no_thread_is_left_by_showing(cluster: MiniCluster) -> None:
    before = threading.active_count()
    shown(program(cluster.environment()))
    assert threading.active_count() == before
