"""Physical plans as texts (Flink: ``FlinkRelOptUtil.toString``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from firesteel.sql import physical as p
from firesteel.sql.expression_text import (
    aggregate_text,
    column_names,
    expression_text,
    infix_text,
    ordering_text,
)
from firesteel.sql.expressions import AggregateCall, Expression, InputRef

__all__ = ["changelog_mode", "describe", "draw", "execution_texts", "plan_text"]

Text = Callable[[Expression, Callable[[int], str]], str]


def plan_text(root: p.Physical, changelog: bool = False) -> str:
    """The tree of a plan."""
    return draw(root, lambda node: describe(node, changelog=changelog), lambda node: node.inputs)


def execution_texts(roots: Sequence[p.Physical]) -> list[str]:
    """The trees of the plans of one job, with expressions as they are computed. What several nodes read is
    shown once, with a number that is named in the other places."""
    nodes = {id(node): node for root in roots for node in p.walk(root)}
    readers = Counter(id(child) for node in nodes.values() for child in node.inputs)
    numbers: dict[int, int] = {}
    shown: set[int] = set()

    def line(node: p.Physical) -> str:
        number = "" if readers[id(node)] < 2 else numbers.setdefault(id(node), len(numbers) + 1)
        if id(node) in shown:
            return f"Reused(reference_id=[{number}])"
        return describe(node, infix_text) + (f"(reuse_id=[{number}])" if number else "")

    def below(node: p.Physical) -> Sequence[p.Physical]:
        inputs = () if id(node) in shown else node.inputs
        if readers[id(node)] > 1:
            shown.add(id(node))
        return inputs

    return [draw(root, line, below) for root in roots]


def draw(root: Any, line: Callable[[Any], str], children: Callable[[Any], Sequence[Any]]) -> str:
    lines: list[str] = []

    def visit(node: Any, first: str, rest: str) -> None:
        lines.append(first + line(node))
        below = list(children(node))
        for i, child in enumerate(below):
            last = i == len(below) - 1
            visit(child, rest + ("+- " if last else ":- "), rest + ("   " if last else ":  "))

    visit(root, "", "")
    return "\n".join(lines)


def describe(node: p.Physical, text: Text = expression_text, changelog: bool = False) -> str:
    """One node with what it does: ``GroupAggregate(groupBy=[a], select=[a, COUNT(*) AS n])``."""
    details = _DETAILS.get(type(node))
    parts = [(k, v) for k, v in (details(node, text) if details is not None else []) if v is not None]
    if changelog:
        parts.append(("changelogMode", changelog_mode(node)))
    return f"{node.name}({', '.join(f'{k}=[{v}]' for k, v in parts)})"


def changelog_mode(node: p.Physical) -> str:
    """``I,UB,UA,D``."""
    if isinstance(node, p.Sink):
        return "NONE"
    update = {p.AFTER: ["UA"], p.BEFORE_AND_AFTER: ["UB", "UA"], None: []}[node.update]
    kinds = ["I"] if p.INSERT in node.kinds else []
    kinds += update if p.UPDATE in node.kinds else []
    kinds += ["D"] if p.DELETE in node.kinds else []
    return ",".join(kinds)


Parts = list[tuple[str, str | None]]


def _names(row: Any) -> str:
    return ", ".join(row.names)


def _by(columns: Sequence[int], node: p.Physical) -> str | None:
    names = node.row.names
    return ", ".join(names[c] for c in columns) or None


def _projection(
    expressions: Sequence[Expression], names: Sequence[str], of: Sequence[str], text: Text
) -> str:
    name = column_names(of)
    shown = []
    for expression, called in zip(expressions, names, strict=True):
        written = text(expression, name)
        plain = isinstance(expression, InputRef) and written == called
        shown.append(written if plain else f"{written} AS {called}")
    return ", ".join(shown)


def _calc(node: p.Calc, text: Text) -> Parts:
    of = node.input.row.names
    condition = None if node.condition is None else text(node.condition, column_names(of))
    return [("select", _projection(node.expressions, node.row.names, of, text)), ("where", condition)]


def _scan(node: Any, text: Text) -> Parts:
    path = node.table.path
    where = node.table.name if path is None else ", ".join(path.parts)
    shown = f"[{where}{''.join(', ' + pushed for pushed in getattr(node, 'pushed', ()))}]"
    return [("table", shown), ("fields", _names(node.row))]


def _values(node: p.Values, text: Text) -> Parts:
    rows = ", ".join("{ " + ", ".join(text(literal, str) for literal in row) + " }" for row in node.rows)
    return [("tuples", f"[{rows}]")]


def _watermark(node: p.WatermarkAssigner, text: Text) -> Parts:
    names = node.input.row.names
    return [("rowtime", names[node.column]), ("watermark", text(node.expression, column_names(names)))]


def _mini_batch(node: p.MiniBatchAssigner, text: Text) -> Parts:
    return [("interval", f"{node.interval_ms}ms"), ("mode", "RowTime" if node.rowtime else "ProcTime")]


def _exchange(node: p.Exchange, text: Text) -> Parts:
    if node.keys is None:
        return [("distribution", "broadcast")]
    keys = _by(node.keys, node)
    return [("distribution", "single" if keys is None else f"hash[{keys}]")]


def _calls(
    calls: Sequence[AggregateCall], names: Sequence[str], node: p.Physical, retract: bool
) -> list[str]:
    name = column_names(node.row.names)
    return [
        f"{aggregate_text(call, name, retract)} AS {called}"
        for call, called in zip(calls, names, strict=True)
    ]


def _group_aggregate(node: p.GroupAggregate, text: Text) -> Parts:
    keys = len(node.group)
    retract = bool(node.input.kinds) and not node.input.is_insert_only
    shown = [*node.row.names[:keys]]
    if node.table_function:
        name = column_names(node.input.row.names)
        shown += [aggregate_text(call, name) for call in node.calls]
    else:
        shown += _calls(node.calls, node.row.names[keys:], node.input, retract)
    return [("groupBy", _by(node.group, node.input)), ("select", ", ".join(shown))]


#: What accumulators of aggregates are called; one of rows that are taken back counts them, too.
_ACCUMULATORS: Final[dict[str, tuple[str, ...]]] = {
    "AVG": ("sum", "count"),
    "SUM0": ("sum",),
    "LISTAGG": ("accDelimiter", "concatAcc"),
    "SINGLE_VALUE": ("value", "count"),
}
_COUNTED: Final = frozenset(("SUM", "SUM0", "$SUM0"))


def _parts_of(calls: Sequence[AggregateCall], retract: bool) -> list[str]:
    """What the first phase of an aggregate calls its parts of each call."""
    shown, number = [], 0
    for call in calls:
        function = call.function.upper()
        names = _ACCUMULATORS.get(function, (function.lower().lstrip("$").replace("sum0", "sum"),))
        if function == "COUNT" and not call.arguments:
            names = ("count1",)
        elif function == "SUM" and retract:
            names = ("sum", "count")
        numbered = [f"{name}${number + i}" for i, name in enumerate(names)]
        number += len(names)
        shown.append(numbered[0] if len(numbered) == 1 else f"({', '.join(numbered)})")
    return shown


def _distinct_columns(calls: Sequence[AggregateCall]) -> list[tuple[int, ...]]:
    return list(dict.fromkeys(call.arguments for call in calls if call.distinct))


def _two_phase_text(call: AggregateCall, shown: str, calls: Sequence[AggregateCall], retract: bool) -> str:
    """A call with *shown* for its arguments."""
    function = aggregate_text(call, str, retract).split("(")[0]
    number = _distinct_columns(calls).index(call.arguments) if call.distinct else None
    return f"{function}({'' if number is None else f'distinct${number} '}{shown})"


def _local_group_aggregate(node: p.LocalGroupAggregate, text: Text) -> Parts:
    names = node.input.row.names
    name = column_names(names)
    retract = not node.input.is_insert_only
    parts = _parts_of(node.calls, retract)
    shown = [names[k] for k in node.group]
    for call, part in zip(node.calls, parts, strict=True):
        arguments = ", ".join(names[i] for i in call.arguments) or "*"
        filtered = "" if call.filter is None else f" FILTER {name(call.filter)}"
        shown.append(f"{_two_phase_text(call, arguments, node.calls, retract)}{filtered} AS {part}")
    if retract and not any(part.startswith("count1$") for part in parts):
        number = sum(part.count("$") for part in parts)
        shown.append(f"COUNT_RETRACT(*) AS count1${number}")
    shown += [
        f"DISTINCT({', '.join(names[i] for i in columns)}) AS distinct${i}"
        for i, columns in enumerate(_distinct_columns(node.calls))
    ]
    return [("groupBy", _by(node.group, node.input)), ("select", ", ".join(shown))]


def _global_group_aggregate(node: p.GlobalGroupAggregate, text: Text) -> Parts:
    local, names = node.local, node.row.names
    retract = not local.input.is_insert_only
    keys = len(local.group)
    calls = zip(local.calls, _parts_of(local.calls, retract), names[keys:], strict=True)
    shown = [
        f"{_two_phase_text(call, part, local.calls, retract)} AS {called}" for call, part, called in calls
    ]
    return [
        ("groupBy", ", ".join(names[:keys]) or None),
        ("select", ", ".join([*names[:keys], *shown])),
    ]


def duration(ms: int) -> str:
    """As windows show their sizes: ``1 min``, ``5 s``."""
    for size, unit in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s")):
        if ms and ms % size == 0:
            return f"{ms // size} {unit}"
    return f"{ms} ms"


def _window(window: p.WindowSpec, node: p.Physical) -> str:
    names = node.row.names
    where = (
        [
            f"win_start=[{names[window.start]}]" if window.start is not None else "",
            f"win_end=[{names[window.end]}]" if window.end is not None else "",
        ]
        if window.attached
        else [f"time_col=[{names[window.time or 0]}]"]
    )
    parts = [part for part in where if part]
    size, slide = duration(window.size), duration(window.slide)
    parts += {
        "TUMBLE": [f"size=[{size}]"],
        "HOP": [f"size=[{size}]", f"slide=[{slide}]"],
        "CUMULATE": [f"max_size=[{size}]", f"step=[{slide}]"],
        "SESSION": [f"gap=[{size}]"],
    }[window.kind]
    if window.offset:
        parts.append(f"offset=[{duration(window.offset)}]")
    if window.kind == "SESSION" and window.partition:
        parts.append(f"partition keys=[{', '.join(names[c] for c in window.partition)}]")
    return f"{window.kind}({', '.join(parts)})"


def _window_table(node: p.WindowTableFunction, text: Text) -> Parts:
    return [("window", _window(node.window, node.input))]


def _window_aggregate(node: p.WindowAggregate, text: Text) -> Parts:
    keys, names = len(node.group), node.row.names
    first = keys + len(node.calls)
    shown = [*names[:keys], *_calls(node.calls, names[keys:first], node.input, False)]
    word = {"start": "start", "end": "end", "time": "rowtime"}
    shown += [f"{word[prop]}('w$) AS {names[first + i]}" for i, prop in enumerate(node.properties)]
    return [
        ("groupBy", _by(node.group, node.input)),
        ("window", _window(node.window, node.input)),
        ("select", ", ".join(shown)),
    ]


def _group_window(node: p.GroupWindowAggregate, text: Text) -> Parts:
    keys, names = len(node.group), node.row.names
    first = keys + len(node.calls)
    window = node.window
    time = node.input.row.names[window.time]
    kind = {"TUMBLE": "Tumbling", "HOP": "Sliding", "SESSION": "Session"}.get(
        window.kind.removeprefix("COUNT_"), ""
    )
    sizes = f"{window.size}, {window.slide}" if window.slide else f"{window.size}"
    shown = [*names[:keys], *_calls(node.calls, names[keys:first], node.input, False)]
    shown += [f"{prop}('w$) AS {names[first + i]}" for i, prop in enumerate(node.properties)]
    return [
        ("groupBy", _by(node.group, node.input)),
        ("window", f"{kind}GroupWindow('w$, {time}, {sizes})"),
        ("properties", ", ".join(names[first:]) or None),
        ("select", ", ".join(shown)),
    ]


def _over(node: p.OverAggregate, text: Text) -> Parts:
    call, name = node.calls[0], column_names(node.input.row.names)
    width = len(node.input.row.fields)
    calls = [over.call for over in node.calls]
    before = "UNBOUNDED" if call.preceding is None else str(call.preceding)
    start = "CURRENT ROW" if call.preceding == 0 else f"{before} PRECEDING"
    end = "CURRENT ROW" if call.following == 0 else f"{call.following} FOLLOWING"
    frame = f" {'ROWS' if call.rows else 'RANGE'} BETWEEN {start} AND {end}"
    shown = [*node.input.row.names, *_calls(calls, node.row.names[width:], node.input, False)]
    return [
        ("partitionBy", _by(call.partition, node.input)),
        ("orderBy", ordering_text(call.order, name)),
        ("window", frame),
        ("select", ", ".join(shown)),
    ]


def _strategy(node: Any) -> str:
    if node.strategy == "UpdateFast":
        return f"UpdateFastStrategy[{','.join(map(str, node.key))}]"
    return f"{node.strategy}Strategy"


def _rank(node: p.Rank, text: Text) -> Parts:
    end = node.end if node.end_column is None else node.input.row.names[node.end_column]
    return [
        ("strategy", _strategy(node)),
        ("rankType", node.function),
        ("rankRange", f"rankStart={node.start}, rankEnd={end}"),
        ("partitionBy", _by(node.partition, node.input) or ""),
        ("orderBy", ordering_text(node.order, column_names(node.input.row.names))),
        ("select", _names(node.row)),
    ]


def _deduplicate(node: p.Deduplicate, text: Text) -> Parts:
    return [
        ("keep", "LastRow" if node.keep_last else "FirstRow"),
        ("key", _by(node.key, node.input) or ""),
        ("order", "ROWTIME" if node.rowtime else "PROCTIME"),
        ("outputInsertOnly", str(node.insert_only).lower()),
    ]


def _window_rank(node: p.WindowRank, text: Text) -> Parts:
    return [
        ("window", _window(node.window, node.input)),
        ("rankType", "ROW_NUMBER"),
        ("rankRange", f"rankStart={node.start}, rankEnd={node.end}"),
        ("partitionBy", _by(node.partition, node.input) or ""),
        ("orderBy", ordering_text(node.order, column_names(node.input.row.names))),
        ("select", _names(node.row)),
    ]


def _window_deduplicate(node: p.WindowDeduplicate, text: Text) -> Parts:
    return [
        ("window", _window(node.window, node.input)),
        ("keep", "LastRow" if node.keep_last else "FirstRow"),
        ("partitionKeys", _by(node.partition, node.input) or ""),
        ("orderKey", node.input.row.names[node.time]),
        ("order", "ROWTIME" if node.rowtime else "PROCTIME"),
    ]


def _sort(node: Any, text: Text) -> Parts:
    return [("orderBy", ordering_text(node.order, column_names(node.input.row.names)))]


def _sort_limit(node: p.SortLimit, text: Text) -> Parts:
    return [
        *_sort(node, text),
        ("offset", str(node.offset)),
        ("fetch", str(node.fetch)),
        ("strategy", _strategy(node)),
    ]


def _limit(node: p.Limit, text: Text) -> Parts:
    return [("offset", str(node.offset)), ("fetch", "unlimited" if node.fetch is None else str(node.fetch))]


_KINDS: Final = {
    "INNER": "InnerJoin",
    "LEFT": "LeftOuterJoin",
    "RIGHT": "RightOuterJoin",
    "FULL": "FullOuterJoin",
    "SEMI": "LeftSemiJoin",
    "ANTI": "LeftAntiJoin",
}


def _joined(node: Any) -> list[str]:
    """Names of the columns of both sides; those on the right that are taken get a number."""
    names = list(node.left.row.names)
    for name in node.right.row.names:
        made, n = name, 0
        while made in names:
            made, n = f"{name}{n}", n + 1
        names.append(made)
    return names


def _where(node: Any, text: Text) -> str:
    return "true" if node.condition is None else text(node.condition, column_names(_joined(node)))


def _selected(node: Any) -> str:
    names = _joined(node)
    return ", ".join(names[: len(node.left.row.fields)] if node.kind in ("SEMI", "ANTI") else names)


def _join(node: p.Join, text: Text) -> Parts:
    return [
        ("joinType", _KINDS[node.kind]),
        ("where", _where(node, text)),
        ("select", _selected(node)),
        ("leftInputSpec", str(node.left_spec)),
        ("rightInputSpec", str(node.right_spec)),
        ("miniBatch", "true" if node.mini_batch else None),
    ]


def _interval_join(node: p.IntervalJoin, text: Text) -> Parts:
    bounds = (
        f"isRowTime={str(node.rowtime).lower()}, leftLowerBound={node.lower}, leftUpperBound={node.upper}, "
        f"leftTimeIndex={node.left_time}, rightTimeIndex={node.right_time}"
    )
    return [
        ("joinType", _KINDS[node.kind]),
        ("windowBounds", bounds),
        ("where", _where(node, text)),
        ("select", _selected(node)),
    ]


def _temporal_join(node: p.TemporalJoin, text: Text) -> Parts:
    return [("joinType", _KINDS[node.kind]), ("where", _where(node, text)), ("select", _selected(node))]


def _lookup_join(node: p.LookupJoin, text: Text) -> Parts:
    name = column_names(node.input.row.names)
    table = node.table.name
    keys = ", ".join(f"{node.right_row.names[c]}={text(e, name)}" for c, e in node.lookup)
    return [
        ("table", table),
        ("joinType", _KINDS[node.kind]),
        ("lookup", keys),
        ("select", _names(node.row)),
    ]


def _window_join(node: p.WindowJoin, text: Text) -> Parts:
    return [
        ("leftWindow", _window(node.left_window, node.left)),
        ("rightWindow", _window(node.right_window, node.right)),
        ("joinType", _KINDS[node.kind]),
        ("where", _where(node, text)),
        ("select", _selected(node)),
    ]


def _correlate(node: p.Correlate, text: Text) -> Parts:
    name = column_names(node.input.row.names)
    call = f"{node.function}({', '.join(text(a, name) for a in node.arguments)})"
    return [
        ("invocation", call),
        ("correlate", f"table({call})"),
        ("select", ",".join(node.row.names)),
        ("joinType", node.kind),
    ]


def _expand(node: p.Expand, text: Text) -> Parts:
    names = node.input.row.names
    copies = [_projection(copy, node.row.names, names, text) for copy in node.projects]
    return [("projects", ", ".join("{" + copy + "}" for copy in copies))]


def _union(node: p.Union, text: Text) -> Parts:
    return [("all", "true"), ("union", _names(node.row))]


def _normalize(node: p.ChangelogNormalize, text: Text) -> Parts:
    name = column_names(node.row.names)
    condition = None if node.condition is None else text(node.condition, name)
    return [("key", _by(node.key, node)), ("condition", condition)]


def _process_table(node: p.ProcessTable, text: Text) -> Parts:
    return [("invocation", f"{node.function}()"), ("select", _names(node.row))]


def _match(node: p.Match, text: Text) -> Parts:
    return [("partitionBy", _by(node.partition, node.input)), ("select", _names(node.row))]


def _sink(node: p.Sink, text: Text) -> Parts:
    return [
        ("table", node.target.name),
        ("fields", _names(node.input.row)),
        ("upsertMaterialize", "true" if node.materialize else None),
        ("conflictStrategy", node.conflict),
    ]


_DETAILS: Final[dict[type[p.Physical], Callable[[Any, Text], Parts]]] = {
    p.TableSourceScan: _scan,
    p.DataStreamScan: _scan,
    p.Values: _values,
    p.WatermarkAssigner: _watermark,
    p.MiniBatchAssigner: _mini_batch,
    p.Calc: _calc,
    p.Correlate: _correlate,
    p.Expand: _expand,
    p.Union: _union,
    p.Exchange: _exchange,
    p.ChangelogNormalize: _normalize,
    p.ProcessTable: _process_table,
    p.GroupAggregate: _group_aggregate,
    p.LocalGroupAggregate: _local_group_aggregate,
    p.GlobalGroupAggregate: _global_group_aggregate,
    p.WindowTableFunction: _window_table,
    p.WindowAggregate: _window_aggregate,
    p.GroupWindowAggregate: _group_window,
    p.OverAggregate: _over,
    p.Rank: _rank,
    p.Deduplicate: _deduplicate,
    p.WindowRank: _window_rank,
    p.WindowDeduplicate: _window_deduplicate,
    p.Sort: _sort,
    p.TemporalSort: _sort,
    p.SortLimit: _sort_limit,
    p.Limit: _limit,
    p.Join: _join,
    p.IntervalJoin: _interval_join,
    p.TemporalJoin: _temporal_join,
    p.LookupJoin: _lookup_join,
    p.WindowJoin: _window_join,
    p.Match: _match,
    p.Sink: _sink,
}
