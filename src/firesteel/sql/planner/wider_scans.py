"""A table of which several parts of a job read other columns is read once, with all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from firesteel.sql import physical as p
from firesteel.sql.expressions import Expression, InputRef, shift
from firesteel.sql.planner.sources import pushed_texts

__all__ = ["with_wider_scans"]


def with_wider_scans(plans: Sequence[p.Physical]) -> list[p.Physical]:
    """The same plans, of one job, with all traits."""
    groups: dict[Any, dict[int, p.TableSourceScan]] = defaultdict(dict)
    for plan in plans:
        for node in p.walk(plan):
            if isinstance(node, p.TableSourceScan) and node.is_insert_only:
                groups[_what_is_read(node)][id(node)] = node
    instead: dict[int, p.Physical] = {}
    for scans in groups.values():
        instead |= _of_wider_scan(list(scans.values()))
    selections = {id(node) for node in instead.values() if isinstance(node, p.Calc)}

    def changed(node: p.Physical) -> p.Physical:
        if isinstance(node, p.Calc) and id(node.input) in selections:
            return _without_selection(node)
        return instead.get(id(node), node)

    return p.rewritten(plans, changed)


def _what_is_read(scan: p.TableSourceScan) -> Any:
    """Beside the columns."""
    return (
        scan.table.path,
        tuple(sorted(scan.table.options.items())),
        scan.hints,
        tuple(shift(e, scan.columns.__getitem__) for e in scan.predicates),
        None if scan.watermark is None else shift(scan.watermark, scan.columns.__getitem__),
        _others(scan),
    )


def _others(scan: p.TableSourceScan) -> tuple[str, ...]:
    """What was pushed into a scan beside what ``pushed_texts`` says: its watermark."""
    return tuple(text for text in scan.pushed if not text.startswith(("filter=", "project=", "metadata=")))


def _of_wider_scan(scans: Sequence[p.TableSourceScan]) -> dict[int, p.Physical]:
    """For the id of each scan what reads its columns from one for all of them; nothing where none is
    needed, or where they take a column for different things (a time attribute for one of them only)."""
    every = {scan.columns for scan in scans}
    fields = {(c, f) for scan in scans for c, f in zip(scan.columns, scan.row.fields, strict=True)}
    field_of = dict(fields)
    if len(every) == 1 or len(field_of) < len(fields):
        return {}
    largest = max(every, key=len)
    columns = largest if len(largest) == len(field_of) else tuple(sorted(field_of))
    first = scans[0]

    def moved(expression: Expression) -> Expression:
        return shift(expression, lambda i: columns.index(first.columns[i]))

    row = replace(first.row, fields=tuple(field_of[c] for c in columns))
    predicates = tuple(map(moved, first.predicates))
    scan = replace(
        first,
        row=row,
        columns=columns,
        predicates=predicates,
        watermark=None if first.watermark is None else moved(first.watermark),
        pushed=(*pushed_texts(columns, first.table, first.source, predicates, row), *_others(first)),
    )
    return {id(narrow): _selected(narrow, scan) for narrow in scans}


def _selected(narrow: p.TableSourceScan, scan: p.TableSourceScan) -> p.Physical:
    if narrow.columns == scan.columns:
        return scan
    places = [scan.columns.index(c) for c in narrow.columns]
    types = scan.row.types
    return p.Calc(
        row=narrow.row,
        inputs=(scan,),
        kinds=narrow.kinds,
        update=narrow.update,
        expressions=tuple(InputRef(place, types[place]) for place in places),
    )


def _without_selection(calc: p.Calc) -> p.Calc:
    """A calculation over the wider scan itself."""
    selection = calc.input
    assert isinstance(selection, p.Calc)
    places = [e.index for e in selection.expressions if isinstance(e, InputRef)]
    expressions = tuple(shift(e, places.__getitem__) for e in calc.expressions)
    condition = None if calc.condition is None else shift(calc.condition, places.__getitem__)
    return replace(calc, inputs=selection.inputs, expressions=expressions, condition=condition)
