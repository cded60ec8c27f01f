"""Each option that Flink's table connectors and formats have is honoured, or refused with the reason; none is
taken and forgotten."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from docs.make_sql_options import PAGE
from firesteel.sql.connectors.factory import TABLE_CONNECTORS, TableConnector, load_all
from firesteel.sql.connectors.formats.registry import TABLE_FORMATS, TableFormat, format_options
from firesteel.sql.connectors.options import Option, TableOptions
from firesteel.table import StreamTableEnvironment
from firesteel.util.exceptions import TableException
from tests.sql.functions.evaluating import DATA
from tests.table.support import tables

load_all()
format_options("format", {"format": "json"})  # has the records of formats loaded


def _flinks() -> Iterator[tuple[str, str, str]]:
    for line in (DATA / "flink_options.txt").read_text().splitlines():
        if not line.startswith("#"):
            owner, _, keys = line.partition(": ")
            for key in keys.split():
                yield (*owner.split(), key)  # type: ignore[misc]


FLINK: Final = list(_flinks())


def _options(kind: str, name: str) -> tuple[list[Option], tuple[str, ...]]:
    record: Any = (TABLE_CONNECTORS if kind == "connector" else TABLE_FORMATS).find(name)
    assert record is not None, f"there is no {kind} {name}"
    if isinstance(record, TableConnector):
        return [*record.every_option, *(Option(key) for key in record.formats)], record.wildcards
    assert isinstance(record, TableFormat)
    return list(record.options), record.wildcards


@pytest.mark.parametrize(("kind", "name", "key"), FLINK, ids=[" ".join(entry[1:]) for entry in FLINK])
@pytest.mark.row("S-SQL-07")
def test_an_option_of_flink_is_known(kind: str, name: str, key: str) -> None:
    options, wildcards = _options(kind, name)
    known = {option.key: option for option in options}
    required = {option.key: "x" for option in options if option.required}
    if key not in known and key.startswith(wildcards or ("\0",)):
        return
    if key == "property-version":
        return
    assert key in known, "an option of Flink that is neither honoured nor refused with a reason"
    reason = known[key].refused
    if reason:
        with pytest.raises(TableException) as caught:
            TableOptions.checked(name, "t", {**required, key: "what Flink would do"}, options, wildcards)
        assert f"The option '{key}' is not supported." in str(caught.value)
        assert reason in str(caught.value)
        for word in known[key].words:
            TableOptions.checked(name, "t", {**required, key: word}, options, wildcards)
    if key not in required and not key.startswith(wildcards or ("\0",)):
        wrong = key[:-2] + key[-1:]
        with pytest.raises(TableException) as caught:
            TableOptions.checked(name, "t", {**required, wrong: "x"}, options, wildcards)
        said = str(caught.value)
        assert f"Unsupported options: {wrong} of table t" in said
        assert "did you mean" in said
        assert all(option.key in said for option in options if not option.refused or option.words)


def test_the_page_is_current() -> None:
    """In an interpreter of its own: in this one other tests may have added a connector."""
    code = "import sys; from docs.make_sql_options import page; sys.stdout.buffer.write(page().encode())"
    made = subprocess.run([sys.executable, "-c", code], cwd=PAGE.parents[2], capture_output=True, check=True)
    assert PAGE.read_text(encoding="utf-8") == made.stdout.decode(), "run docs/make_sql_options.py"


# ---- what is taken is read

_KAFKA = {"topic": "x", "properties.bootstrap.servers": "127.0.0.1:1"}
_FORMATS = {"key.format": "raw", "value.format": "json"}
_PARTIAL = {"lookup.cache": "PARTIAL"}
_MONGO = {"uri": "mongodb://127.0.0.1:1", "database": "d", "collection": "c"}
_SEARCH = {"hosts": "http://127.0.0.1:1", "index": "i"}
_KEY = ", PRIMARY KEY (a) NOT ENFORCED"
#: Name of a connector -> the tables whose sources and sinks together read all options: their options, and
#: what stands behind the columns.
TABLES: Final[dict[str, list[tuple[dict[str, str], str]]]] = {
    "filesystem": [
        (
            {"path": "/nowhere", "format": "csv", "sink.partition-commit.policy.kind": "success-file"},
            ") PARTITIONED BY (b",
        )
    ],
    "kafka": [
        (_KAFKA | {"format": "json"}, ""),
        (_KAFKA | _FORMATS | {"key.fields": "a", "scan.startup.mode": "timestamp",
                              "scan.startup.timestamp-millis": "1"}, ""),
        (_KAFKA | {"format": "json", "scan.startup.mode": "specific-offsets",
                   "scan.startup.specific-offsets": "partition:0,offset:1", "scan.bounded.mode": "timestamp",
                   "scan.bounded.timestamp-millis": "1"}, ""),
        (_KAFKA | {"format": "json", "scan.bounded.mode": "specific-offsets",
                   "scan.bounded.specific-offsets": "partition:0,offset:1"}, ""),
    ],
    "elasticsearch-6": [
        (_SEARCH | {"document-type": "t", "sink.bulk-flush.backoff.strategy": "CONSTANT"}, _KEY)
    ],
    "elasticsearch-7": [(_SEARCH | {"sink.bulk-flush.backoff.strategy": "CONSTANT"}, _KEY)],
    "elasticsearch-8": [(_SEARCH | {"sink.bulk-flush.backoff.strategy": "CONSTANT"}, _KEY)],
    "mongodb": [
        (_MONGO, ""),
        (_MONGO | _PARTIAL, ""),
        (_MONGO | {"lookup.cache": "FULL", "lookup.full-cache.periodic-reload.interval": "1 h"}, ""),
        (_MONGO | {"lookup.cache": "FULL", "lookup.full-cache.reload-strategy": "TIMED",
                   "lookup.full-cache.timed-reload.iso-time": "10:15"}, ""),
    ],
    "datagen": [({}, "")],
    "print": [({}, "")],
    "blackhole": [({}, "")],
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_no_option_is_taken_and_forgotten(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken by hand: an option is added to a record."""
    looked_at: set[str] = set()
    check: Any = TableOptions.checked.__func__  # type: ignore[attr-defined]
    read: Callable[[TableOptions, str], Any] = TableOptions.__getitem__

    def checked(*arguments: Any, **more: Any) -> TableOptions:
        before = set(looked_at)
        made: TableOptions = check(*arguments, **more)  # reads each to see whether it can be read
        looked_at.intersection_update(before)
        return made

    def getitem(options: TableOptions, key: str) -> Any:
        looked_at.add(key)
        return read(options, key)

    monkeypatch.setattr(TableOptions, "checked", classmethod(checked))
    monkeypatch.setattr(TableOptions, "__getitem__", getitem)
    record = TABLE_CONNECTORS.find(name)
    assert record is not None
    for given, behind in TABLES[name]:
        with tables() as t:
            _use(t, record, given, behind)
    wanted = {option.key for option in _options("connector", name)[0] if not option.refused}
    assert wanted - looked_at == set()


def _use(t: StreamTableEnvironment, connector: TableConnector, given: dict[str, str], behind: str) -> None:
    """Plan jobs that read, write and look up a table, without running any."""
    options = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    watermark = ", ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, WATERMARK FOR ts AS ts"
    watermark = watermark if connector.watermarks else ""
    t.execute_sql(
        f"CREATE TABLE used (a STRING, b STRING{watermark}{behind}) "
        f"WITH ('connector' = '{connector.name}'{', ' if options else ''}{options})"
    )
    t.execute_sql("CREATE TABLE given (a STRING, b STRING, p AS PROCTIME()) WITH ('connector' = 'datagen')")
    if connector.scan is not None:
        t.to_changelog_stream(t.sql_query("SELECT * FROM used"))
    if connector.lookup is not None:
        joined = "SELECT u.* FROM given AS g JOIN used FOR SYSTEM_TIME AS OF g.p AS u ON g.a = u.a"
        t.to_changelog_stream(t.sql_query(joined))
    if connector.sink is not None:
        inserts = t.create_statement_set()
        rows = "SELECT a, MAX(b) FROM given GROUP BY a" if behind == _KEY else "SELECT a, b FROM given"
        inserts.add_insert_sql(f"INSERT INTO used (a, b) {rows}")
        inserts.attach_as_datastream()
