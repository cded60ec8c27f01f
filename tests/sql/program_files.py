"""Recorded programs of SQL: sources, statements, and the changes that Flink 2.3 gives.

A program is a line of ``data/programs.jsonl``. Its sources become streams of changes with the declared
schema; ``INSERT INTO sink query`` becomes the query with the sink's columns and key, so casts, constraints
and what makes upserts unambiguous are those of a sink.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from firesteel.common import Configuration, Row, RowKind
from firesteel.common.time import Instant
from firesteel.common.typeinfo import Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.sql import types as t
from firesteel.sql.parser.statement_parser import parse_statement
from firesteel.sql.schema import ColumnKind
from firesteel.sql.type_text import parse_type
from firesteel.table import ChangelogMode, Schema, StreamTableEnvironment
from firesteel.table._conversions import type_info_of
from tests.sql.program_functions import function_named

NO_SETTINGS: Final[Mapping[str, str]] = MappingProxyType({})
PROGRAMS = Path(__file__).parent / "data" / "programs.jsonl"
_KINDS = {"+I": RowKind.INSERT, "-U": RowKind.UPDATE_BEFORE, "+U": RowKind.UPDATE_AFTER, "-D": RowKind.DELETE}
_TEXTS = {kind: text for text, kind in _KINDS.items()}
_INSERT = re.compile(
    r"\s*INSERT\s+INTO\s+(?P<sink>[`\w.$]+)(?:\s*/\*\+.*?\*/)?\s*(?P<columns>\((?:\s*`?\w+`?\s*,?)+\))?\s*(?P<query>.*)",
    re.IGNORECASE | re.DOTALL,
)
_LENGTH = re.compile(r"\b(?:VAR)?CHAR\b(\s*\(\s*\d+\s*\))?", re.IGNORECASE)
_BYTES = re.compile(r"\b(?:VAR)?BINARY\b(\s*\(\s*\d+\s*\))?", re.IGNORECASE)


def programs() -> list[dict[str, Any]]:
    return [json.loads(line) for line in PROGRAMS.read_text(encoding="utf-8").splitlines()]


class Run:
    """What a program gives here: ``changes`` by sink, as (kind, values as text). ``tables``: where it runs.

    :param settings: of the environment, beside those that all programs have.
    """

    def __init__(self, program: dict[str, Any], settings: Mapping[str, str] = NO_SETTINGS) -> None:
        self._program = program
        usual = {"parallelism.default": "1", "pipeline.auto-watermark-interval": "0 ms"}
        self._env = StreamExecutionEnvironment.get_execution_environment(
            Configuration.from_dict({**usual, **settings})
        )
        self._env.set_parallelism(1)
        self.tables = StreamTableEnvironment.create(self._env)
        config = self.tables.get_config()
        config.set("table.local-time-zone", "UTC")
        if program["compare"] != "failure" and "table.exec.sink.require-on-conflict" not in program["config"]:
            config.set("table.exec.sink.require-on-conflict", "false")
        for key, value in program["config"].items():
            if key != "table.optimizer.delta-join.strategy":  # asks for an operator, not for a result
                config.set(key, value)
        for function in program["functions"]:
            self.tables.create_temporary_function(function["name"], function_named(function["like"]))
        for source in program["sources"]:
            self._add_source(source)
        for statement in program["setup_sql"]:
            self.tables.execute_sql(re.sub(r"(?i)^\s*CREATE\s+VIEW", "CREATE TEMPORARY VIEW", statement))
        self._sinks = {sink["name"]: sink for sink in program["sinks"]}
        self.changes: dict[str, list[tuple[str, tuple[str, ...]]]] = defaultdict(list)

    def _add_source(self, source: dict[str, Any]) -> None:
        declared = _declared(source["schema"])
        physical = [c for c in declared.columns if c.kind is ColumnKind.PHYSICAL]
        kinds = [parse_type(c.data_type) for c in physical]
        names = [c.name for c in physical]
        rows = []
        for change, given in [*source["rows"], *source.get("rows_after_savepoint", [])]:
            fields = [given.get(n) for n in names] if isinstance(given, dict) else given[: len(names)]
            values = [_value(v, kind) for v, kind in zip(fields, kinds, strict=True)]
            rows.append(Row.of_kind(_KINDS[change], *values))
        stream = self._env.from_collection(rows, Types.ROW_NAMED(names, [type_info_of(k) for k in kinds]))
        schema = _schema(declared, lambda text: text)
        mode = {part.strip() for part in source["changelog_mode"].split(",")}
        if mode == {"I"} and all(row.get_row_kind() is RowKind.INSERT for row in rows):
            table = self.tables.from_data_stream(stream, schema)
        elif mode == {"I"}:
            table = self.tables.from_changelog_stream(stream, schema)
        else:
            upsert = "UB" not in mode
            kind = ChangelogMode.upsert() if upsert else ChangelogMode.all()
            table = self.tables.from_changelog_stream(stream, schema, kind)
        self.tables.create_temporary_view(source["name"], table)

    def insert(self, sql: str) -> None:
        """Run an INSERT, and note what its sink is given."""
        found = _INSERT.match(sql)
        assert found is not None, sql
        name = found["sink"].split(".")[-1].strip("`")
        sink = self._sinks[name]
        declared = _declared(sink["schema"])
        table = self.tables.sql_query(found["query"].rstrip().rstrip(";"))
        columns = table.get_schema().get_field_names()
        wanted = [c.name for c in declared.columns]
        if found["columns"]:
            given = [part.strip().strip("`") for part in found["columns"].strip("() \n").split(",")]
            by_name = dict(zip(given, columns, strict=True))
            chosen = [
                f"`{by_name[c.name]}` AS `{c.name}`"
                if c.name in by_name
                else f"CAST(NULL AS {c.data_type.removesuffix(' NOT NULL')}) AS `{c.name}`"
                for c in declared.columns
            ]
        else:
            chosen = [f"`{a}` AS `{b}`" for a, b in zip(columns, wanted, strict=True)]
        view = f"query_{len(self.changes)}_{abs(hash(sql))}"
        self.tables.create_temporary_view(view, table)
        table = self.tables.sql_query(f"SELECT {', '.join(chosen)} FROM {view}")
        # A sink takes texts of any length, unless it is told otherwise.
        schema = _schema(declared, lambda text: _BYTES.sub("BYTES", _LENGTH.sub("STRING", text)))
        stream = self.tables.to_changelog_stream(table, schema, _mode(sink, declared))
        kinds = [parse_type(c.data_type) for c in declared.columns]
        with stream.execute_and_collect() as rows:
            for row in rows:
                shown = tuple(_shown(v, kind) for v, kind in zip(list(row), kinds, strict=True))
                self.changes[name].append((_TEXTS[row.get_row_kind()], shown))

    def execute(self, sql: str) -> None:
        if _INSERT.match(sql):
            self.insert(sql)
        else:
            with self.tables.execute_sql(sql).collect() as rows:
                list(rows)

    def key_of(self, sink: str) -> tuple[int, ...]:
        """The columns of the primary key of a sink."""
        declared = _declared(self._sinks[sink]["schema"])
        names = [c.name for c in declared.columns]
        return tuple(names.index(k) for k in (declared.primary_key.columns if declared.primary_key else ()))


def _mode(sink: dict[str, Any], declared: Any) -> ChangelogMode:
    enforced = sink.get("options", {}).get("sink-changelog-mode-enforced")
    if enforced is None:
        return ChangelogMode.upsert() if declared.primary_key else ChangelogMode.all()
    kinds = {part.strip() for part in enforced.split(",")}
    if kinds == {"I"}:
        return ChangelogMode.insert_only()
    return ChangelogMode.all() if "UB" in kinds else ChangelogMode.upsert()


def _declared(schema: Sequence[str]) -> Any:
    found: Any = parse_statement(f"CREATE TABLE t ({', '.join(schema)})")
    declared = found.schema
    keys = declared.primary_key.columns if declared.primary_key else ()
    columns = tuple(
        replace(c, data_type=f"{c.data_type} NOT NULL")
        if c.name in keys and c.data_type and not c.data_type.upper().endswith("NOT NULL")
        else c
        for c in declared.columns
    )
    return replace(declared, columns=columns)


def _schema(declared: Any, shaped: Callable[[str], str]) -> Schema:
    builder = Schema.new_builder()
    for column in declared.columns:
        if column.kind is ColumnKind.PHYSICAL:
            builder = builder.column(column.name, shaped(column.data_type))
        else:
            builder = builder.column_by_expression(column.name, column.expression)
    for watermark in declared.watermarks:
        builder = builder.watermark(watermark.column, watermark.expression)
    if declared.primary_key:
        builder = builder.primary_key(*declared.primary_key.columns)
    return builder.build()


# ---- values


def _time(text: str) -> dt.time:
    return dt.time.fromisoformat(text if text.count(":") > 1 else f"{text}:00")


def _moment(text: str) -> dt.datetime:
    day, time = re.split(r"[T ]", text.rstrip("Z"))
    return dt.datetime.combine(dt.date.fromisoformat(day), _time(time[:15]))


def _value(given: Any, kind: t.DataType) -> Any:
    """A value of the recording as Python has it."""
    if given is None:
        return None
    if isinstance(given, dict):
        tag = next(tag for tag in given if tag != "k")  # the kind of a row within a row says nothing
        inner = given[tag]
        match tag:
            case "$dec":
                return Decimal(inner)
            case "$ts":
                given = _moment(inner)
            case "$instant":
                moment = _moment(inner).replace(tzinfo=dt.UTC)
                return Instant.of_epoch_milli(round(moment.timestamp() * 1000))
            case "$date":
                return dt.date.fromisoformat(inner)
            case "$time":
                return _time(inner)
            case "$bytes":
                return bytes.fromhex(inner)
            case "$double":
                return float(inner.replace("Infinity", "inf"))
            case "$map":
                assert isinstance(kind, t.MapType)
                return {_value(k, kind.key_type): _value(v, kind.value_type) for k, v in inner}
            case _:
                assert isinstance(kind, t.RowType)
                fields = inner if tag == "f" else [inner.get(n) for n in kind.names]
                return Row(*(_value(v, f) for v, f in zip(fields, kind.types, strict=True)))
    if isinstance(kind, t.ArrayType):
        return [_value(v, kind.element_type) for v in given]
    if isinstance(kind, t.DoubleType | t.FloatType):
        return float(given)
    return Decimal(str(given)) if isinstance(kind, t.DecimalType) else given


def _clock(time: dt.time) -> str:
    text = f"{time.hour:02}:{time.minute:02}"
    if time.second or time.microsecond:
        text += f":{time.second:02}"
    if time.microsecond:
        digits = f"{time.microsecond:06}"
        text += "." + (digits[:3] if digits.endswith("000") else digits)
    return text


def _number(value: float) -> str:
    """As Java writes a double."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value and not 1e-3 <= abs(value) < 1e7:
        sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
        assert isinstance(exponent, int)
        text = "".join(map(str, digits))
        return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{exponent + len(text) - 1}"
    return repr(float(value))


def _shown(value: Any, kind: t.DataType) -> str:
    """A value as Java's ``Row.toString`` shows it."""
    match value, kind:
        case None, _:
            return "null"
        case bool(), _:
            return "true" if value else "false"
        case float(), _:
            return _number(value)
        case dt.datetime(), _:
            return f"{value.date().isoformat()}T{_clock(value.time())}"
        case Instant(), _:
            moment = dt.datetime.fromtimestamp(value.to_epoch_milli() / 1000, dt.UTC)
            digits = f".{moment.microsecond // 1000:03}" if moment.microsecond else ""
            return f"{moment:%Y-%m-%dT%H:%M:%S}{digits}Z"
        case dt.time(), _:
            return _clock(value)
        case bytes(), _:
            return f"[{', '.join(str(b - 256 if b > 127 else b) for b in value)}]"
        case _, t.ArrayType(element_type=element):
            return f"[{', '.join(_shown(v, element) for v in value)}]"
        case dict(), t.MapType(key_type=key, value_type=inner):
            return f"{{{', '.join(f'{_shown(k, key)}={_shown(v, inner)}' for k, v in value.items())}}}"
        case _, t.RowType(fields=fields):
            parts = (_shown(v, f.data_type) for v, f in zip(list(value), fields, strict=True))
            return f"+I[{', '.join(parts)}]"
        case Decimal(), _:
            return format(value, "f")
    return str(value)


# ---- what counts


def written(changes: Sequence[tuple[str, tuple[str, ...]]]) -> list[str]:
    return [f"{kind}[{', '.join(row)}]" for kind, row in changes]


def by_key(
    changes: Sequence[tuple[str, tuple[str, ...]]], key: Sequence[int]
) -> dict[tuple[str, ...], list[str]]:
    """The changes of each key, in their order."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for kind, row in changes:
        found[tuple(row[i] for i in key)].append(f"{kind}[{', '.join(row)}]")
    return dict(found)


def final_table(changes: Sequence[tuple[str, tuple[str, ...]]], key: Sequence[int]) -> list[str]:
    """The rows that are left."""
    if key:
        table: dict[tuple[str, ...], tuple[str, ...]] = {}
        for kind, row in changes:
            name = tuple(row[i] for i in key)
            if kind in ("+I", "+U"):
                table[name] = row
            elif kind == "-D":
                table.pop(name, None)
        rows = list(table.values())
    else:
        rows = []
        for kind, row in changes:
            if kind in ("+I", "+U"):
                rows.append(row)
            elif row in rows:
                rows.remove(row)
            else:
                rows.append(("a retraction of what was not there", *row))
    return sorted(written([("+I", row) for row in rows]))


def insertions(program: dict[str, Any]) -> Iterator[str]:
    """The statements of a program that are SQL; where there are none, what its tables are in SQL."""
    statements = [r["sql"] for r in program["run"] if r["kind"] == "SQL"]
    api = [r["as_sql"] for r in program["run"] if r["kind"] == "TABLE_API"]
    yield from api or statements
