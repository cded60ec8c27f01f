"""Tables of Kafka topics, with a real broker."""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import FiresteelError
from firesteel.common.job_client import JobClient
from firesteel.table import StreamTableEnvironment
from firesteel.util.exceptions import TableException
from tests.runtime.support import environment
from tests.servers.kafka.broker import KafkaBroker
from tests.table.support import batch_tables, changes, files, kept, rows
from tests.table.test_samples import FIRST, LINES, MORE, ORDERS, REST, REVENUE, SECOND
from tests.waiting import until

_NOON = dt.datetime(2020, 1, 1, 12, 0, 1, 120_000)


@pytest.fixture
def t() -> StreamTableEnvironment:
    return StreamTableEnvironment.create(environment(1))


def topic_of(broker: Any, topic: str, connector: str = "kafka", /, **options: str) -> str:
    """The WITH clause of a table; of options, ``__`` is a dot and ``_`` a hyphen. It is read once."""
    given = {"connector": connector, "topic": topic, "properties.bootstrap.servers": broker.address}
    if connector == "kafka":
        given["scan.startup.mode"] = "earliest-offset"
    given["scan.bounded.mode"] = "latest-offset"
    given |= {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    return "WITH (" + ", ".join(f"'{key}' = '{value}'" for key, value in given.items()) + ")"


@pytest.mark.row("S-SQL-27")
def test_a_query_gives_the_rows_of_a_finished_table_on_a_topic(
    t: StreamTableEnvironment, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    """The same text over Parquet files in batch mode, and over a topic that has no end."""
    columns = "order_id BIGINT, customer_id STRING, amount DECIMAL(10,2), event_time TIMESTAMP(3)"
    (tmp_path / "orders.csv").write_text(LINES + MORE)
    t.execute_sql(f"CREATE TABLE written ({columns}) {files(tmp_path / 'orders.csv', 'csv')}")
    t.execute_sql(ORDERS.format(name="lake", options=files(tmp_path / "lake", "parquet")))
    t.execute_sql("INSERT INTO lake SELECT * FROM written").wait()
    with batch_tables() as finished:
        finished.execute_sql(ORDERS.format(name="orders", options=files(tmp_path / "lake", "parquet")))
        wanted = sorted(rows(finished.sql_query(REVENUE)))
    assert wanted == [*FIRST, SECOND, REST]
    topic = topic_of(kafka_broker, kafka_broker.topic(), format="json").replace(
        "'scan.bounded.mode' = 'latest-offset'", "'scan.parallelism' = '1'"
    )
    t.execute_sql(ORDERS.format(name="orders", options=topic))
    t.execute_sql("INSERT INTO orders SELECT * FROM written").wait()
    with t.sql_query(REVENUE).execute().collect() as found:
        given = sorted(tuple(row) for row in itertools.islice(found, 3))
    assert given == wanted[:3], "the window of the newest order is still open"


@pytest.mark.row("S-SQL-07")
@pytest.mark.parametrize("name", ["json", "csv", "avro"])
def test_rows_are_read_as_they_were_written(
    t: StreamTableEnvironment, kafka_broker: KafkaBroker, name: str
) -> None:
    topic = kafka_broker.topic(2)
    t.execute_sql(
        "CREATE TABLE f (a INT, b STRING, c DECIMAL(10, 2), d TIMESTAMP(3), e DOUBLE, g DATE, h BOOLEAN) "
        + topic_of(kafka_broker, topic, format=name)
    )
    t.execute_sql(
        "INSERT INTO f VALUES (1, 'x,\"y', 1.50, TIMESTAMP '2020-01-01 12:00:01.120', 1e10, "
        "DATE '2020-02-03', TRUE), "
        "(2, 'z', -2.25, TIMESTAMP '2020-01-01 12:00:01.120', 0.1, DATE '2020-02-03', FALSE)"
    ).wait()
    day = dt.date(2020, 2, 3)
    first = (1, 'x,"y', Decimal("1.50"), _NOON, 1e10, day, True)
    second = (2, "z", Decimal("-2.25"), _NOON, 0.1, day, False)
    assert kept(t.execute_sql("SELECT * FROM f")) == [first, second]
    assert rows(t.execute_sql("SELECT h, a FROM f WHERE a > 1")) == [(False, 2)]
    assert kept(t.execute_sql("SELECT COUNT(*) FROM f")) == [(2,)]


def test_messages_are_those_of_flink(t: StreamTableEnvironment, kafka_broker: KafkaBroker) -> None:
    topic = kafka_broker.topic()
    options = topic_of(
        kafka_broker,
        topic,
        key__format="json",
        key__fields="k_id;k_n",
        key__fields_prefix="k_",
        value__format="csv",
        value__fields_include="EXCEPT_KEY",
    )
    t.execute_sql(f"CREATE TABLE f (k_id INT, v STRING, k_n STRING, w DOUBLE) {options}")
    t.execute_sql("INSERT INTO f VALUES (1, 'a b', 'x', 0.5), (2, CAST(NULL AS STRING), 'y', 1.0)").wait()
    found = [(m.key(), m.value()) for m in kafka_broker.messages(topic)]
    assert found == [(b'{"id":1,"n":"x"}', b'"a b",0.5'), (b'{"id":2,"n":"y"}', b",1.0")]
    assert kept(t.execute_sql("SELECT k_n, w, k_id FROM f")) == [("x", 0.5, 1), ("y", 1.0, 2)]


def test_metadata_is_read_and_written(t: StreamTableEnvironment, kafka_broker: KafkaBroker) -> None:
    topic = kafka_broker.topic()
    t.execute_sql(
        "CREATE TABLE f (a INT, `at` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', headers MAP<STRING, BYTES> "
        "METADATA, tp STRING METADATA FROM 'topic' VIRTUAL, p BIGINT METADATA FROM 'partition' VIRTUAL, "
        "o BIGINT METADATA FROM 'offset' VIRTUAL, k STRING METADATA FROM 'timestamp-type' VIRTUAL, "
        "e INT METADATA FROM 'leader-epoch' VIRTUAL) " + topic_of(kafka_broker, topic, format="json")
    )
    t.execute_sql(
        "INSERT INTO f SELECT 7, TO_TIMESTAMP_LTZ(1577880000120, 3), MAP['h', ENCODE('x', 'UTF-8')]"
    ).wait()
    (message,) = kafka_broker.messages(topic)
    assert (message.timestamp()[1], message.headers()) == (1577880000120, [("h", b"x")])
    found = rows(
        t.execute_sql("SELECT tp, p, o, k, e, a, headers, `at` = TO_TIMESTAMP_LTZ(1577880000120, 3) FROM f")
    )
    assert found == [(topic, 0, 0, "CreateTime", 0, 7, {"h": b"x"}, True)]


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        (
            "debezium-json",
            [
                '{"before":null,"after":{"id":1,"n":"a"},"op":"c"}',
                '{"before":{"id":1,"n":"a"},"after":{"id":1,"n":"b"},"op":"u"}',
                '{"before":{"id":1,"n":"b"},"after":null,"op":"d"}',
            ],
        ),
        (
            "ogg-json",
            [
                '{"before":null,"after":{"id":1,"n":"a"},"op_type":"I"}',
                '{"before":{"id":1,"n":"a"},"after":{"id":1,"n":"b"},"op_type":"U"}',
                '{"op_type":"T"}',
                '{"before":{"id":1,"n":"b"},"after":null,"op_type":"D"}',
            ],
        ),
        (
            "canal-json",
            [
                '{"data":[{"id":1,"n":"a"}],"old":null,"type":"INSERT"}',
                '{"data":[{"id":1,"n":"b"}],"old":[{"n":"a"}],"type":"UPDATE"}',
                '{"data":[{"id":1,"n":"b"}],"old":null,"type":"DELETE"}',
            ],
        ),
        (
            "maxwell-json",
            [
                '{"data":{"id":1,"n":"a"},"type":"insert"}',
                '{"data":{"id":1,"n":"b"},"old":{"n":"a"},"type":"update"}',
                '{"data":{"id":1,"n":"b"},"type":"delete"}',
            ],
        ),
    ],
)
def test_changes_of_databases(
    t: StreamTableEnvironment, kafka_broker: KafkaBroker, name: str, messages: list[str]
) -> None:
    topic, copy = kafka_broker.topic(), kafka_broker.topic()
    kafka_broker.produce(topic, [message.encode() for message in messages])
    t.execute_sql(f"CREATE TABLE f (id INT, n STRING) {topic_of(kafka_broker, topic, format=name)}")
    t.execute_sql(f"CREATE TABLE g (id INT, n STRING) {topic_of(kafka_broker, copy, format=name)}")
    every = ["+I[1, a]", "-U[1, a]", "+U[1, b]", "-D[1, b]"]
    assert changes(t.execute_sql("SELECT * FROM f")) == every
    t.execute_sql("INSERT INTO g SELECT * FROM f").wait()
    # An update is written as a deletion and an insertion, as Flink does it.
    assert changes(t.execute_sql("SELECT * FROM g")) == ["+I[1, a]", "-D[1, a]", "+I[1, b]", "-D[1, b]"]


def test_messages_of_protobuf(t: StreamTableEnvironment, kafka_broker: KafkaBroker) -> None:
    topic = kafka_broker.topic()
    options = {"protobuf__message_class_name": "google.protobuf.duration_pb2.Duration"}
    t.execute_sql(
        "CREATE TABLE f (nanos INT, seconds BIGINT) "
        + topic_of(kafka_broker, topic, format="protobuf", **options)
    )
    t.execute_sql("INSERT INTO f VALUES (1, CAST(7 AS BIGINT)), (2, CAST(NULL AS BIGINT))").wait()
    found = sorted(m.value() for m in kafka_broker.messages(topic))
    assert found == [b"\x08\x07\x10\x01", b"\x10\x02"]
    assert kept(t.execute_sql("SELECT seconds, nanos FROM f")) == [(0, 2), (7, 1)]


_AT = '"ts_ms":5000,"source":{"ts_ms":4000,"db":"shop","schema":"s","table":"o","pos":7,"snapshot":null}'
_DEBEZIUM = f'{{"before":{{"id":1}},"after":{{"id":2}},"op":"u",{_AT}}}'


@pytest.mark.parametrize(
    ("name", "message", "columns", "row"),
    [
        (
            "debezium-json",
            _DEBEZIUM,
            {
                "ingestion-timestamp": "INSTANT",
                "source.timestamp": "INSTANT",
                "source.database": "STRING",
                "source.schema": "STRING",
                "source.table": "STRING",
                "source.properties": "MAP<STRING, STRING>",
                "schema": "STRING",
            },
            (
                *(5, 4, "shop", "s", "o"),
                {"ts_ms": "4000", "db": "shop", "schema": "s", "table": "o", "pos": "7", "snapshot": None},
                None,
            ),
        ),
        (
            "canal-json",
            '{"data":[{"id":2}],"old":[{"id":1}],"type":"UPDATE","database":"shop","table":"o","ts":5000,'
            '"es":4000,"sqlType":{"id":4},"pkNames":["id"]}',
            {
                "database": "STRING",
                "table": "STRING",
                "sql-type": "MAP<STRING, INT>",
                "pk-names": "ARRAY<STRING>",
                "ingestion-timestamp": "INSTANT",
                "event-timestamp": "INSTANT",
            },
            ("shop", "o", {"id": 4}, ["id"], 5, 4),
        ),
        (
            "maxwell-json",
            '{"data":{"id":2},"old":{"id":1},"type":"update","database":"shop","table":"o","ts":5000,'
            '"primary_key_columns":["id"]}',
            {
                "database": "STRING",
                "table": "STRING",
                "primary-key-columns": "ARRAY<STRING>",
                "ingestion-timestamp": "INSTANT",
            },
            ("shop", "o", ["id"], 5),
        ),
        (
            "ogg-json",
            '{"before":{"id":1},"after":{"id":2},"op_type":"U","table":"o","primary_keys":["id"],'
            '"op_ts":"1970-01-01 00:00:04.000000","current_ts":"1970-01-01T00:00:05.000000"}',
            {
                "table": "STRING",
                "primary-keys": "ARRAY<STRING>",
                "ingestion-timestamp": "INSTANT",
                "event-timestamp": "INSTANT",
            },
            ("o", ["id"], 5, 4),
        ),
    ],
)
def test_metadata_of_changes(
    t: StreamTableEnvironment,
    kafka_broker: KafkaBroker,
    name: str,
    message: str,
    columns: dict[str, str],
    row: tuple[Any, ...],
) -> None:
    topic = kafka_broker.topic()
    kafka_broker.produce(topic, [message.encode()])
    declared, asked = ["id INT", "o BIGINT METADATA FROM 'offset' VIRTUAL"], ["id", "o"]
    for number, (key, kind) in enumerate(columns.items()):
        stamp = kind == "INSTANT"
        kind = "TIMESTAMP_LTZ(3)" if stamp else kind
        declared.append(f"m{number} {kind} METADATA FROM 'value.{key}' VIRTUAL")
        asked.append(f"TIMESTAMPDIFF(SECOND, TO_TIMESTAMP_LTZ(0, 3), m{number})" if stamp else f"m{number}")
    t.execute_sql(f"CREATE TABLE f ({', '.join(declared)}) {topic_of(kafka_broker, topic, format=name)}")
    found = rows(t.execute_sql(f"SELECT {', '.join(asked)} FROM f"))
    assert found == [(1, 0, *row), (2, 0, *row)]


def test_raw_messages(t: StreamTableEnvironment, kafka_broker: KafkaBroker) -> None:
    topic = kafka_broker.topic()
    kafka_broker.produce(topic, [b"one", "zw\u00f6lf".encode()])
    t.execute_sql(f"CREATE TABLE f (line STRING) {topic_of(kafka_broker, topic, format='raw')}")
    assert rows(t.execute_sql("SELECT UPPER(line) FROM f")) == [("ONE",), ("ZW\u00d6LF",)]


def test_where_it_is_read_from_and_to(t: StreamTableEnvironment, kafka_broker: KafkaBroker) -> None:
    topic = kafka_broker.topic(2)
    for partition in (0, 1):
        for n in range(4):
            kafka_broker.produce(topic, [f"{partition}{n}".encode()], partition, timestamp=1_000 * (n + 1))
    t.execute_sql(f"CREATE TABLE f (v STRING) {topic_of(kafka_broker, topic, format='raw')}")

    def read(**options: str) -> list[str]:
        given = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
        hint = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
        return [row[0] for row in kept(t.execute_sql(f"SELECT v FROM f /*+ OPTIONS({hint}) */"))]

    some = "partition:0,offset:3;partition:1,offset:2"
    assert read(scan__startup__mode="specific-offsets", scan__startup__specific_offsets=some) == [
        "03", "12", "13",
    ]  # fmt: skip
    assert read(scan__startup__mode="timestamp", scan__startup__timestamp_millis="3500") == ["03", "13"]
    assert read(scan__bounded__mode="timestamp", scan__bounded__timestamp_millis="1500") == ["00", "10"]
    assert read(scan__bounded__mode="specific-offsets", scan__bounded__specific_offsets=some) == [
        "00", "01", "02", "10", "11",
    ]  # fmt: skip
    kafka_broker.commit_offset("tables", topic, 0, 3)
    kafka_broker.commit_offset("tables", topic, 1, 4)
    assert read(scan__startup__mode="group-offsets", properties__group__id="tables") == ["03"]
    with pytest.raises(FiresteelError, match="no offset that can be read from"):
        read(scan__startup__mode="group-offsets", properties__group__id="nobody")
    reset = {"properties.auto.offset.reset": "earliest"}
    assert len(read(scan__startup__mode="group-offsets", properties__group__id="none", **reset)) == 8


def test_each_partition_has_its_own_watermark(t: StreamTableEnvironment, kafka_broker: KafkaBroker) -> None:
    """One that is behind has no late rows for it."""
    topic = kafka_broker.topic(2)
    fast = [f'{{"s":{second},"p":"fast"}}'.encode() for second in range(1_000, 4_000)]
    slow = [f'{{"s":{second},"p":"slow"}}'.encode() for second in range(3_000)]
    kafka_broker.produce(topic, fast, 0)
    kafka_broker.produce(topic, slow, 1)
    options = topic_of(kafka_broker, topic, format="json", scan__watermark__emit__strategy="on-event")
    t.execute_sql(
        "CREATE TABLE f (s BIGINT, p STRING, `at` AS TO_TIMESTAMP_LTZ(s, 0), WATERMARK FOR `at` AS `at`) "
        + options
    )
    assert "watermark=[" in t.explain_sql("SELECT `at` FROM f")
    windows = "TUMBLE(TABLE f, DESCRIPTOR(`at`), INTERVAL '1000' SECOND(4))"
    query = f"SELECT COUNT(*) FROM {windows} GROUP BY window_start, window_end"
    counts = [row[0] for row in rows(t.execute_sql(query))]
    assert sum(counts) == 6_000


@pytest.mark.row("S-SQL-38")
def test_a_table_of_upserts(t: StreamTableEnvironment, kafka_broker: KafkaBroker) -> None:
    source, topic = kafka_broker.topic(), kafka_broker.topic()
    kafka_broker.produce(source, [b"a,1", b"b,1", b"a,2", b"b,-1"])
    t.execute_sql(f"CREATE TABLE f (w STRING, n INT) {topic_of(kafka_broker, source, format='csv')}")
    options = topic_of(kafka_broker, topic, "upsert-kafka", key__format="json", value__format="json")
    t.execute_sql(f"CREATE TABLE g (w STRING, n INT, PRIMARY KEY (w) NOT ENFORCED) {options}")
    t.execute_sql("INSERT INTO g SELECT * FROM (SELECT w, SUM(n) AS n FROM f GROUP BY w) WHERE n > 0").wait()
    found = [(m.key(), m.value()) for m in kafka_broker.messages(topic)]
    assert sorted(found, key=lambda message: message[0]) == [  # only the order of a key's messages is known
        (b'{"w":"a"}', b'{"w":"a","n":1}'),
        (b'{"w":"a"}', None),  # the old row passes the filter; that the new one does is not known yet
        (b'{"w":"a"}', b'{"w":"a","n":3}'),
        (b'{"w":"b"}', b'{"w":"b","n":1}'),
        (b'{"w":"b"}', None),
    ]
    found = changes(t.execute_sql("SELECT n, w FROM g"))
    assert [c for c in found if "a]" in c] == ["+I[1, a]", "-D[1, a]", "+I[3, a]"]
    assert [c for c in found if "b]" in c] == ["+I[1, b]", "-D[1, b]"]
    assert kept(t.execute_sql("SELECT COUNT(*), SUM(n) FROM g")) == [(1, 3)]


def test_of_upserts_that_come_together_the_last_one_is_written(
    t: StreamTableEnvironment, kafka_broker: KafkaBroker
) -> None:
    source, topic = kafka_broker.topic(), kafka_broker.topic()
    kafka_broker.produce(source, [b"a,1", b"b,1", b"a,2", b"a,3"])
    t.execute_sql(f"CREATE TABLE f (w STRING, n INT) {topic_of(kafka_broker, source, format='csv')}")
    buffered = {"sink__buffer_flush__max_rows": "100", "sink__buffer_flush__interval": "1s"}
    options = topic_of(
        kafka_broker, topic, "upsert-kafka", key__format="raw", value__format="json", **buffered
    )
    t.execute_sql(f"CREATE TABLE g (w STRING, n INT, PRIMARY KEY (w) NOT ENFORCED) {options}")
    t.execute_sql("INSERT INTO g SELECT w, SUM(n) FROM f GROUP BY w").wait()
    found = [m.value() for m in kafka_broker.messages(topic)]
    assert found == [b'{"w":"b","n":1}', b'{"w":"a","n":6}']


def test_exactly_once(kafka_broker: KafkaBroker) -> None:
    topic = kafka_broker.topic()
    env = environment(1)
    env.enable_checkpointing(200)
    t = StreamTableEnvironment.create(env)
    options = {"sink__delivery_guarantee": "exactly-once", "sink__transactional_id_prefix": "tables"}
    t.execute_sql(f"CREATE TABLE f (a INT) {topic_of(kafka_broker, topic, format='json', **options)}")
    t.execute_sql("INSERT INTO f VALUES (1), (2)").wait()
    assert sorted(kafka_broker.values(topic)) == ['{"a":1}', '{"a":2}']


def test_a_message_that_cannot_be_read(t: StreamTableEnvironment, kafka_broker: KafkaBroker) -> None:
    topic = kafka_broker.topic()
    kafka_broker.produce(topic, [b'{"a":1}', b"nothing", b'{"a":3}'])
    t.execute_sql(f"CREATE TABLE f (a INT) {topic_of(kafka_broker, topic, format='json')}")
    with pytest.raises(FiresteelError, match="offset 1"):
        rows(t.execute_sql("SELECT * FROM f"))
    ignoring = "/*+ OPTIONS('json.ignore-parse-errors' = 'true') */"
    assert rows(t.execute_sql(f"SELECT * FROM f {ignoring}")) == [(1,), (3,)]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("a INT", {"format": "json", "topic_pattern": "x"}, "topic-pattern"),
        ("a INT", {}, "value.format"),
        ("a INT", {"format": "parquet"}, "not one of messages"),
        ("a INT", {"format": "json", "key__fields": "a"}, "key.fields"),
        ("a INT", {"format": "json", "key__format": "json"}, "key.format"),
        (
            "a INT",
            {"format": "json", "key__format": "json", "key__fields": "b"},
            "Could not find the field 'b'",
        ),
        ("a INT", {"format": "json", "scan__startup__mode": "timestamp"}, "scan.startup.mode"),
        ("a INT", {"format": "json", "scan__startup__mode": "now"}, "earliest-offset"),
        ("a INT", {"format": "json", "scan__bounded__mode": "specific-offsets"}, "scan.bounded.mode"),
        ("a INT, b INT", {"format": "raw"}, "single physical column"),
        ("a INT, PRIMARY KEY (a) NOT ENFORCED", {"format": "json"}, "PRIMARY KEY"),
        ("a INT, m STRING METADATA FROM 'nothing'", {"format": "json"}, "Invalid metadata key 'nothing'"),
        (
            "a INT, m STRING METADATA FROM 'value.nothing'",
            {"format": "maxwell-json"},
            "value.primary-key-columns",
        ),
        ("a INT", {"format": "json", "scan__watermark__idle_timeout": "1s"}, "no watermark"),
        ("a INT", {"format": "json", "json__nothing": "1"}, "json.nothing"),
    ],
)
def test_wrong_options_of_sources(
    t: StreamTableEnvironment, columns: str, options: dict[str, Any], message: str
) -> None:
    given = topic_of(KafkaBroker.__new__(KafkaBroker), "x", **options) if False else _offline(**options)
    t.execute_sql(f"CREATE TABLE f ({columns}) {given}")
    with pytest.raises((TableException, FiresteelError)) as caught:
        t.execute_sql("SELECT * FROM f")
    assert message in str(caught.value)


def _offline(connector: str = "kafka", /, **options: str) -> str:
    """The WITH clause of a table of a broker that is not there."""

    class Nowhere:
        address = "127.0.0.1:1"

    return topic_of(Nowhere(), "x", connector, **options)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("a INT", {"format": "json", "sink__partitioner": "com.Mine"}, "sink.partitioner"),
        ("a INT", {"format": "json", "topic": "x;y"}, "one topic"),
        (
            "a INT",
            {"format": "json", "sink__delivery_guarantee": "exactly-once"},
            "sink.transactional-id-prefix",
        ),
        ("a INT, o BIGINT METADATA FROM 'offset'", {"format": "json"}, "for writing"),
        ("a INT", {"key__format": "raw", "value__format": "raw", "connector": "upsert-kafka"}, "PRIMARY KEY"),
    ],
)
def test_wrong_options_of_sinks(
    t: StreamTableEnvironment, columns: str, options: dict[str, Any], message: str
) -> None:
    given = dict(options)
    connector = given.pop("connector", "kafka")
    t.execute_sql(f"CREATE TABLE f ({columns}) {_offline(connector, **given)}")
    nulls = ", CAST(1 AS BIGINT)" if "METADATA" in columns else ""
    with pytest.raises((TableException, FiresteelError)) as caught:
        t.execute_sql(f"INSERT INTO f SELECT 1{nulls}")
    assert message in str(caught.value)


def test_an_updating_query_does_not_fit_json(t: StreamTableEnvironment) -> None:
    t.execute_sql(f"CREATE TABLE f (a BIGINT) {_offline(format='json')}")
    with pytest.raises(TableException, match="doesn't support consuming update"):
        t.execute_sql("INSERT INTO f SELECT COUNT(*) FROM (VALUES (1), (2)) AS v(a)")


@pytest.mark.row("S-SQL-07", "S-SQL-38", "S-SAVE-05", "S-SAVE-06")
@pytest.mark.parametrize("turned", [False, True], ids=["same order", "other order"])
def test_inserts_go_on_from_a_savepoint(kafka_broker: KafkaBroker, tmp_path: Path, turned: bool) -> None:
    """Rows come before the savepoint, while it is taken, while no job runs, and after. Each is copied once
    and counted once: the upserts of a word have its counts one after the other.

    Broken by hand: the second job begins without the savepoint; ``NodeNames`` numbers nodes.
    """
    words, copies, sums = kafka_broker.topic(2), kafka_broker.topic(2), kafka_broker.topic()
    written: list[tuple[str, int]] = []

    def write(count: int) -> None:
        rows_ = [(random.choice("abcde"), n) for n in range(len(written), len(written) + count)]
        for partition in (0, 1):
            mine = [f"{w},{n}".encode() for w, n in rows_ if n % 2 == partition]
            kafka_broker.produce(words, mine, partition)
        written.extend(rows_)

    def start(savepoint: str | None) -> JobClient:
        begin = {} if savepoint is None else {"execution.state-recovery.path": savepoint}
        env = environment(2, **{"execution.checkpointing.interval": "100 ms"}, **begin)
        t = StreamTableEnvironment.create(env)
        unbounded = {"scan__bounded__mode": "unbounded", "format": "csv"}
        once = {"sink__delivery_guarantee": "exactly-once", "sink__transactional_id_prefix": copies}
        t.execute_sql(f"CREATE TABLE words (w STRING, n INT) {topic_of(kafka_broker, words, **unbounded)}")
        t.execute_sql(
            f"CREATE TABLE copies (w STRING, n INT) {topic_of(kafka_broker, copies, format='csv', **once)}"
        )
        upserts = topic_of(kafka_broker, sums, "upsert-kafka", key__format="raw", value__format="csv")
        t.execute_sql(
            f"CREATE TABLE sums (w STRING, c BIGINT, s BIGINT, PRIMARY KEY (w) NOT ENFORCED) {upserts}"
        )
        inserts = [
            "INSERT INTO copies SELECT w, n FROM words",
            "INSERT INTO sums SELECT w, COUNT(*), SUM(n) FROM words GROUP BY w",
        ]
        together = t.create_statement_set()
        for insert in reversed(inserts) if turned and savepoint is not None else inserts:
            together.add_insert_sql(insert)
        client: JobClient = together.execute().get_job_client()
        return client

    def copied() -> list[tuple[str, int]]:
        return [(w, int(n)) for w, n in (line.split(",") for line in kafka_broker.values(copies))]

    def counted() -> list[tuple[str, int, int]]:
        found = (line.split(",") for line in kafka_broker.values(sums))
        return [(w, int(c), int(s)) for w, c, s in found]

    def is_done() -> bool:
        totals = {w: c for w, c, _ in counted()}
        return len(copied()) >= len(written) and sum(totals.values()) == len(written)

    write(50)
    client = start(None)
    until(is_done, "the first rows are not written", 60, look_s=0.5)
    write(40)
    savepoint = client.stop_with_savepoint(False, str(tmp_path)).result()
    write(20)
    client = start(savepoint)
    write(20)
    until(is_done, "the last rows are not written", 60, look_s=0.5)
    client.stop_with_savepoint(False, str(tmp_path)).result()
    assert sorted(copied()) == sorted(written)
    counts, total = Counter[str](), Counter[str]()
    for w, n in written:
        counts[w] += 1
        total[w] += n
    last = {w: (c, s) for w, c, s in counted()}
    assert last == {w: (counts[w], total[w]) for w in counts}
    for w in counts:
        assert [c for v, c, _ in counted() if v == w] == list(range(1, counts[w] + 1))
