"""Names of the nodes of plans, of which the uids of their operators are made: what a node reads, not where it
stands.

A source is called by its table, any other node by a digest of its kind and of what it reads. Nodes without
state are passed over there, and the order of INSERTs, of the branches of a UNION and of the inputs of a
regular join does not count, so state is found again when these change. Nodes that are alike in that are told
apart by the table that their rows go to, then by the texts of all nodes below them, at last by the text of
their whole statement and by number: a node of such a name is found again only while that text stays.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from firesteel.common.masking import is_secret
from firesteel.sql import physical as p
from firesteel.sql.plan_text import describe

__all__ = ["NodeNames"]

#: Nodes that keep nothing: what is above them is called by what is below them.
_STATELESS: Final = (
    p.Calc,
    p.Correlate,
    p.DropUpdateBefore,
    p.Exchange,
    p.Expand,
    p.LocalGroupAggregate,
    p.LookupJoin,
    p.MiniBatchAssigner,
    p.Union,
    p.WatermarkAssigner,
)

_Way = Callable[[p.Physical], str]


class NodeNames:
    """Gives each node a name that no other node of its kind has.

    :param roots: all plans that are translated together.
    """

    def __init__(self, roots: Sequence[p.Physical]) -> None:
        self._roots: dict[int, list[p.Physical]] = defaultdict(list)  # of each node
        self._names: dict[int, str] = {}
        self._read: dict[int, str] = {}
        self._texts: dict[int, str] = {}
        nodes: dict[int, p.Physical] = {}
        for root in roots:
            for node in p.walk(root):
                nodes[id(node)] = node
                self._roots[id(node)].append(root)
        sinks: list[p.Physical] = [node for node in nodes.values() if isinstance(node, p.Sink)]
        # What is read stands on the level below; sinks of one table may stand at any height.
        others = [node for node in nodes.values() if not isinstance(node, p.Sink)]
        levels = [*_levels(others), sinks]
        for level in levels:
            alike: dict[tuple[str, str], list[p.Physical]] = defaultdict(list)
            for node in level:
                alike[node.name, self._first_name(node)].append(node)
            for (_, name), group in alike.items():
                self._tell_apart(group, name, (self._into, self._text, self._statement))

    def of(self, node: p.Physical) -> str:
        """Return the name of a node."""
        return self._names[id(node)]

    def is_turned(self, node: p.Join) -> bool:
        """Whether the inputs of a join stand the other way round than in its name."""
        return self._what_is_read(node.left) > self._what_is_read(node.right)

    def _tell_apart(self, alike: list[p.Physical], name: str, ways: Sequence[_Way]) -> None:
        if len(alike) == 1:
            self._names[id(alike[0])] = name
            return
        if not ways:
            for number, node in enumerate(alike, 1):
                self._names[id(node)] = f"{name}-{number}"
            return
        groups: dict[str, list[p.Physical]] = defaultdict(list)
        for node in alike:
            groups[ways[0](node)].append(node)
        for more, group in groups.items():
            self._tell_apart(group, f"{name}-{more}" if more else name, ways[1:])

    # ---- by what is read

    def _first_name(self, node: p.Physical) -> str:
        match node:
            case p.TableSourceScan() | p.DataStreamScan():
                return _name_of(node.table)
            case p.Values():
                return "values"
            case p.Sink():
                return _name_of(node.target.table)
        read = [self._what_is_read(i) for i in node.inputs]
        if len(set(read)) < len(read):  # a table joined with itself: filters and projections tell the sides
            read = [self._text(i) for i in node.inputs]
        elif isinstance(node, p.Join):
            read.sort()
        return _digest(*read)

    def _what_is_read(self, node: p.Physical) -> str:
        found = self._read.get(id(node))
        if found is None:
            if not isinstance(node, _STATELESS):
                found = f"{node.name} {self._names[id(node)]}"
            elif isinstance(node, p.Union):
                found = _digest(*sorted(map(self._what_is_read, node.inputs)))
            else:
                found = self._what_is_read(node.input)
            self._read[id(node)] = found
        return found

    # ---- ways to tell apart what reads the same

    def _into(self, node: p.Physical) -> str:
        targets = [root.target.table for root in self._roots[id(node)] if isinstance(root, p.Sink)]
        named = {_name_of(table) for table in targets if table is not None and table.path is not None}
        return "-".join(f"into-{name}" for name in sorted(named))

    def _text(self, node: p.Physical) -> str:
        """A digest of the texts of a node and of all below it."""
        found = self._texts.get(id(node))
        if found is None:
            below = [self._text(i) for i in node.inputs]
            match node:
                case p.TableSourceScan() | p.DataStreamScan():
                    found = _digest(describe(node), _content(node.table))
                case p.Sink():
                    found = _digest(*below)
                case p.Union():
                    found = _digest(node.name, *sorted(below))
                case _:
                    found = _digest(describe(node), *below)
            self._texts[id(node)] = found
        return found

    def _statement(self, node: p.Physical) -> str:
        roots = (root.input if isinstance(root, p.Sink) else root for root in self._roots[id(node)])
        return _digest(*map(self._text, roots))


def _levels(nodes: Iterable[p.Physical]) -> list[list[p.Physical]]:
    """The nodes, each on a level above those of which its name is made. :param nodes: inputs first."""
    heights: dict[int, int] = {}
    levels: dict[int, list[p.Physical]] = defaultdict(list)
    for node in nodes:
        below = max((heights[id(i)] for i in node.inputs), default=-1)
        levels[below + 1].append(node)
        heights[id(node)] = below if isinstance(node, _STATELESS) else below + 1
    return [levels[height] for height in sorted(levels)]


def _name_of(table: Any) -> str:
    return "anonymous" if table is None or table.path is None else str(table.path.summary())


def _content(table: Any) -> str:
    """What tables differ in whose texts are the same: tables without a name, or with other hints."""
    if table.stream is not None:
        return str(table.stream.identity)
    return repr(sorted((key, value) for key, value in table.options.items() if not is_secret(key)))


def _digest(*parts: str) -> str:
    data = "\0".join(parts).encode(errors="backslashreplace")
    return hashlib.blake2b(data, digest_size=4).hexdigest()
