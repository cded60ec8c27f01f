"""Which changes each node of a physical plan makes (Flink: ``FlinkChangelogModeInferenceProgram``).

First, from the sources on: which *kinds* of changes there are, and whether each consumer can take them. Then,
from the sinks on: whether updates need their old row (-U); where nobody needs it, it is not made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from firesteel.sql import physical as p
from firesteel.sql.expressions import references
from firesteel.sql.physical import AFTER, ALL, BEFORE_AND_AFTER, DELETE, INSERT, INSERT_ONLY, UPDATE, Physical
from firesteel.sql.planner.conflicts import needs_materialize
from firesteel.sql.planner.errors import cannot_consume, no_plan
from firesteel.sql.upsert_keys import shortest, upsert_keys

__all__ = ["with_changes"]

_WORDS: Final = {INSERT: "insert", UPDATE: "update", DELETE: "delete"}


def with_changes(root: Physical, batch: bool = False) -> Physical:
    """The plan with the traits of all nodes.

    :param batch: nodes give final rows only: those that would give changes have a ``FinalRows`` on them.
    :raises UnsupportedFeatureError: a consumer cannot take the changes of its input.
    """
    known = _Kinds(batch).visit(root, ALL, "The root")
    if isinstance(root, p.Sink):
        done = _Updates().visit(known, None)
    else:
        done = _Updates().first(known, (AFTER, BEFORE_AND_AFTER))
    if done is None:
        raise no_plan(root)
    return done


# ---- kinds


def _maker(node: Physical, kinds: frozenset[str]) -> Physical:
    """What makes changes of such kinds, and does not only hand on those of its input."""
    while type(node) not in _MADE and node.inputs:
        node = next((i for i in node.inputs if i.kinds & kinds), node.inputs[0])
    return node


class _Kinds:
    """Fills in ``kinds``; a node that several others read stays one."""

    def __init__(self, batch: bool) -> None:
        self._batch = batch
        self._done: dict[int, tuple[Physical, Physical]] = {}

    def visit(self, node: Physical, required: frozenset[str], consumer: str) -> Physical:
        found = self._done.get(id(node))
        if found is None:
            found = (node, self._node(node))
            self._done[id(node)] = found
        done = found[1]
        extra = done.kinds - required
        if extra:
            words = " and ".join(word for kind, word in _WORDS.items() if kind in extra)
            raise cannot_consume(consumer, words, _maker(done, extra))
        return done

    def _node(self, node: Physical) -> Physical:
        accepted = _accepted(node)
        name = _consumer_name(node)
        inputs = tuple(self.visit(i, accepted[n], name) for n, i in enumerate(node.inputs))
        kinds = _MADE.get(type(node), _forwarded)(node, tuple(i.kinds for i in inputs))
        if not self._batch or kinds == INSERT_ONLY:
            return replace(node, inputs=inputs, kinds=kinds)
        if isinstance(node, _WAITING) and not getattr(node, "table_function", None):
            return replace(node, inputs=inputs, kinds=INSERT_ONLY)
        changing = replace(node, inputs=inputs, kinds=kinds)
        return p.FinalRows(row=node.row, inputs=(changing,), kinds=INSERT_ONLY)


#: In batch mode their rows leave at the end of the input.
_WAITING: Final = (p.GroupAggregate, p.OverAggregate)


def _consumer_name(node: Physical) -> str:
    if isinstance(node, p.Sink):
        return str(node.target.description)
    return f"StreamPhysical{node.name}"


def _accepted(node: Physical) -> tuple[frozenset[str], ...]:
    """Which kinds each input of a node may have."""
    if isinstance(node, p.Sink):
        return (node.target.kinds,)
    if isinstance(node, p.OverAggregate):
        return (INSERT_ONLY if node.time is not None else ALL,)
    if isinstance(node, _INSERT_ONLY_INPUT):
        return (INSERT_ONLY,) * len(node.inputs)
    return (ALL,) * len(node.inputs)


_INSERT_ONLY_INPUT: Final = (
    p.WindowRank,
    p.WindowDeduplicate,
    p.WindowJoin,
    p.TemporalSort,
    p.Match,
    p.IntervalJoin,
)

Kinds = tuple[frozenset[str], ...]


def _forwarded(node: Physical, inputs: Kinds) -> frozenset[str]:
    return frozenset().union(*inputs)


def _inserts(node: Physical, inputs: Kinds) -> frozenset[str]:
    return INSERT_ONLY


def _everything(node: Physical, inputs: Kinds) -> frozenset[str]:
    return ALL


def _source(node: Any, inputs: Kinds) -> frozenset[str]:
    mode = (
        node.source.changelog_mode
        if isinstance(node, p.TableSourceScan)
        else node.table.stream.changelog_mode
    )
    kinds = {"+I": INSERT, "+U": UPDATE, "-U": UPDATE, "-D": DELETE}
    return frozenset(kinds[kind] for kind in mode)


def _aggregate(node: p.GroupAggregate, inputs: Kinds) -> frozenset[str]:
    if node.table_function:
        return ALL
    return frozenset((INSERT, UPDATE)) if inputs[0] == INSERT_ONLY else ALL


def _rank_kinds(node: p.Rank, inputs: Kinds) -> frozenset[str]:
    from firesteel.sql.planner.ranks import is_deduplication, keeps_inserts_only

    first_row = is_deduplication(node) and inputs[0] == INSERT_ONLY and keeps_inserts_only(node)
    return INSERT_ONLY if first_row else ALL


def _over(node: p.OverAggregate, inputs: Kinds) -> frozenset[str]:
    return INSERT_ONLY if node.time is not None else ALL


def _only_inserts_or_all(node: Physical, inputs: Kinds) -> frozenset[str]:
    return INSERT_ONLY if inputs[0] == INSERT_ONLY else ALL


def _join(node: p.Join, inputs: Kinds) -> frozenset[str]:
    appends = all(kinds == INSERT_ONLY for kinds in inputs)
    return INSERT_ONLY if appends and node.kind in ("INNER", "SEMI") else ALL


def _left(node: Physical, inputs: Kinds) -> frozenset[str]:
    return inputs[0]


def _process_table(node: p.ProcessTable, inputs: Kinds) -> frozenset[str]:
    from firesteel.sql.planner.process_tables import kinds_of

    return kinds_of(node, inputs)


_MADE: Final[dict[type[Physical], Callable[[Any, Kinds], frozenset[str]]]] = {
    p.TableSourceScan: _source,
    p.DataStreamScan: _source,
    p.Values: _inserts,
    p.ChangelogNormalize: _everything,
    p.GroupAggregate: _aggregate,
    p.WindowAggregate: _inserts,
    p.GroupWindowAggregate: _inserts,
    p.OverAggregate: _over,
    p.Rank: _rank_kinds,
    p.SortLimit: _everything,
    p.Limit: _only_inserts_or_all,
    p.WindowRank: _inserts,
    p.WindowDeduplicate: _inserts,
    p.WindowJoin: _inserts,
    p.IntervalJoin: _inserts,
    p.TemporalSort: _inserts,
    p.Match: _inserts,
    p.Join: _join,
    p.TemporalJoin: _left,
    p.LookupJoin: _left,
    p.ProcessTable: _process_table,
}


# ---- updates


class _Updates:
    """Fills in ``update``: what is required of a node is what it makes, if it and its inputs can."""

    def __init__(self) -> None:
        self._done: dict[tuple[int, str | None], tuple[Physical, Physical | None]] = {}
        self._shared: dict[int, Physical] = {}

    def first(self, node: Physical, alternatives: tuple[str, ...]) -> Physical | None:
        for required in alternatives:
            found = self.visit(node, _where(node, required))
            if found is not None:
                return found
        return None

    def visit(self, node: Physical, required: str | None) -> Physical | None:
        key = (id(node), required)
        if key not in self._done:
            self._done[key] = (node, self._node(node, required))
        return self._done[key][1]

    def _node(self, node: Physical, required: str | None) -> Physical | None:
        special = _SPECIAL.get(type(node))
        if special is not None:
            return special(self, node, required)
        if type(node) in _OLD_ROWS:
            return self.made(node, [BEFORE_AND_AFTER] * len(node.inputs), required)
        return self.made(node, [required] * len(node.inputs), required)

    def made(
        self, node: Physical, wanted: list[str | None], update: str | None, **changed: Any
    ) -> Physical | None:
        """*node* on inputs that make what is *wanted* of each."""
        inputs = []
        for child, required in zip(node.inputs, wanted, strict=True):
            done = self.visit(child, _where(child, required))
            if done is None:
                return None
            inputs.append(done)
        return replace(node, inputs=tuple(inputs), update=_where(node, update), **changed)


def _where(node: Physical, required: str | None) -> str | None:
    """What can be required of a node: nothing where it makes no updates."""
    return required if UPDATE in node.kinds else None


#: They keep rows, and take them back by -U; whether they say it on is for their consumers to say.
_OLD_ROWS: Final = (
    p.GroupAggregate,
    p.WindowAggregate,
    p.GroupWindowAggregate,
    p.OverAggregate,
    p.Limit,
    p.Sort,
    p.FinalRows,
)

_Rule = Callable[[_Updates, Any, str | None], Physical | None]


def _sink(run: _Updates, node: p.Sink, required: str | None) -> Physical | None:
    wants = node.target.update
    materialize = needs_materialize(node)
    choices: tuple[str | None, ...] = (AFTER, BEFORE_AND_AFTER)
    if wants is None:
        choices = (None,)
    elif wants == BEFORE_AND_AFTER or materialize:
        choices = (BEFORE_AND_AFTER,)
    key = shortest(upsert_keys(node.input)) or ()
    for choice in choices:
        made = run.made(node, [choice], None, materialize=materialize, input_key=key)
        if made is not None:
            return made
    return None


def _calc(run: _Updates, node: p.Calc, required: str | None) -> Physical | None:
    if required == AFTER and _filters_updates(node):
        return None  # the old row may pass where the new one does not
    return run.made(node, [required], required)


def _filters_updates(node: Any) -> bool:
    if node.condition is None or UPDATE not in node.input.kinds:
        return False
    read = references(node.condition)
    return not any(read <= key for key in upsert_keys(node.input))


def _join_updates(run: _Updates, node: p.Join, required: str | None) -> Physical | None:
    if required != AFTER:
        return run.made(node, [BEFORE_AND_AFTER, BEFORE_AND_AFTER], required)
    keys = (node.keys.left, node.keys.right)
    for child, columns in zip(node.inputs, keys, strict=True):
        contained = any(set(columns) <= key for key in upsert_keys(child))
        if UPDATE in child.kinds and not contained:
            return None  # an update may change the join key: its old row has to go first
    return run.made(node, [AFTER, AFTER], required)


def _temporal(run: _Updates, node: p.TemporalJoin, required: str | None) -> Physical | None:
    left = BEFORE_AND_AFTER if required == BEFORE_AND_AFTER else AFTER
    for right in (AFTER, BEFORE_AND_AFTER):
        made = run.made(node, [left, right], required)
        if made is not None:
            return made
    return None


def _normalize(run: _Updates, node: p.ChangelogNormalize, required: str | None) -> Physical | None:
    return run.made(node, [AFTER], required)


def _rank(run: _Updates, node: Any, required: str | None) -> Physical | None:
    for strategy, key in _strategies(node):
        wanted = {"AppendFast": None, "UpdateFast": AFTER, "Retract": BEFORE_AND_AFTER}[strategy]
        made = run.made(node, [wanted], required, strategy=strategy, key=key)
        if made is not None:
            return made
    return None


def _strategies(node: Any) -> list[tuple[str, tuple[int, ...]]]:
    """How the best rows can be kept, the cheapest way first (Flink: ``RankProcessStrategy``)."""
    child = node.input
    if child.kinds == INSERT_ONLY:
        return [("AppendFast", ())]
    partition = set(getattr(node, "partition", ()))
    retract: list[tuple[str, tuple[int, ...]]] = [("Retract", ())]
    if DELETE in child.kinds or not _is_monotonic(node):
        return retract
    keys = [key for key in upsert_keys(child) if partition <= key]
    found = shortest(frozenset(keys))
    return retract if found is None else [("UpdateFast", found), *retract]


def _is_monotonic(node: Any) -> bool:
    """Each update brings a row nearer to the top, so that rows outside need not be kept."""
    from firesteel.sql.monotonicity import direction

    orders = [direction(node.input, term.index) for term in node.order]
    if not orders or any(found is None for found in orders):
        return False
    return all(
        found == "constant" or found == ("decreasing" if term.ascending else "increasing")
        for found, term in zip(orders, node.order, strict=True)
    )


def _process(run: _Updates, node: p.ProcessTable, required: str | None) -> Physical | None:
    from firesteel.sql.planner.process_tables import needs_old_rows

    choices = (BEFORE_AND_AFTER,) if needs_old_rows(node) else (AFTER, BEFORE_AND_AFTER)
    for choice in choices:
        made = run.made(node, [choice] * len(node.inputs), required)
        if made is not None:
            return made
    return None


def _source_with(run: _Updates, node: Any, required: str | None) -> Physical | None:
    mode = (
        node.source.changelog_mode
        if isinstance(node, p.TableSourceScan)
        else node.table.stream.changelog_mode
    )
    has = None if UPDATE not in node.kinds else BEFORE_AND_AFTER if "-U" in mode else AFTER
    done: Physical = replace(node, update=has)
    if has == BEFORE_AND_AFTER and required == AFTER:
        return p.DropUpdateBefore(row=node.row, inputs=(done,), kinds=node.kinds, update=AFTER)
    if has == AFTER and required == BEFORE_AND_AFTER:
        return None
    return done


def _lookup(run: _Updates, node: p.LookupJoin, required: str | None) -> Physical | None:
    if required == AFTER and node.rest is not None and UPDATE in node.input.kinds:
        return None
    return run.made(node, [required], required)


_SPECIAL: Final[dict[type[Physical], _Rule]] = {
    p.Sink: _sink,
    p.Calc: _calc,
    p.Join: _join_updates,
    p.TemporalJoin: _temporal,
    p.LookupJoin: _lookup,
    p.ChangelogNormalize: _normalize,
    p.ProcessTable: _process,
    p.Rank: _rank,
    p.SortLimit: _rank,
    p.TableSourceScan: _source_with,
    p.DataStreamScan: _source_with,
}


def row_kinds(node: Physical, batch: bool) -> frozenset[str]:
    """Which kinds of rows a plan without traits makes, before anybody says what it needs of them: ``{"+I",
    "+U", ...}``."""
    known = _Kinds(batch).visit(node, ALL, "The root")
    rows = {INSERT: ("+I",), UPDATE: ("-U", "+U"), DELETE: ("-D",)}
    return frozenset(row for kind in known.kinds for row in rows[kind])
