"""The binder of one statement: what its parts share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from sqlglot import exp

from firesteel.sql.binder.errors import near, place_in, refuse
from firesteel.sql.binder.scope import Scope
from firesteel.sql.catalog_manager import CatalogManager
from firesteel.sql.functions.registry import FUNCTIONS, FunctionDefinition
from firesteel.sql.logical import Node
from firesteel.sql.parser.errors import Place
from firesteel.sql.parser.statements import Query
from firesteel.sql.types import RowType

__all__ = ["Binder", "CommonTable", "Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What of the configuration changes the meaning of a statement."""

    streaming: bool = True
    time_zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class CommonTable:
    """WITH name AS (...): its plan and the names of its columns."""

    name: str
    plan: Node
    row: RowType


@dataclass(slots=True)
class Binder:
    """:param sql: the text, for the places in messages.
    :ivar functions: the functions of the user that the plan calls, by the names under which it has them.
    :ivar common: tables of WITH. :ivar views: the views that are being bound, outermost first.
    :ivar named: where in ``sql`` objects of catalogs are named, and their full names (``expanded``).
    """

    catalog: CatalogManager
    sql: str = ""
    settings: Settings = field(default_factory=Settings)
    functions: dict[str, FunctionDefinition] = field(default_factory=dict)
    common: Mapping[str, CommonTable] = field(default_factory=dict)
    views: tuple[str, ...] = ()
    named: list[tuple[int, int, str]] = field(default_factory=list)

    def refuse(self, node: exp.Expr | None, message: str, hint: str | None = None) -> NoReturn:
        refuse(self.sql, node, message, hint)

    def place(self, node: exp.Expr | None) -> Place | None:
        """Return where *node* stands, for those who may refuse it later."""
        return place_in(self.sql, node)

    # ---- functions

    def function(self, path: Sequence[str]) -> FunctionDefinition | None:
        """What a call means; a function of the user is noted."""
        found = self.catalog.find_function(path)
        if found is not None and FUNCTIONS.find(found.name) is not found:
            return self.noted(found)
        return found

    def noted(self, definition: FunctionDefinition) -> FunctionDefinition:
        """A function of the user, under a name that no other function of the plan has."""
        from dataclasses import replace

        for name, known in self.functions.items():
            if known is definition or (known.name == name and _same(known, definition)):
                return known
        name = definition.name
        number = 0
        while name in self.functions or FUNCTIONS.find(name) is not None:
            number += 1
            name = f"{definition.name}${number}"
        if name != definition.name:
            definition = replace(definition, name=name)
        self.functions[name] = definition
        return definition

    def near_function(self, name: str) -> str | None:
        return near(name, self.catalog.function_names())

    def expanded(self, query: Query) -> str:
        """The text of a query that has been bound, with the full names of tables; what a view keeps: it means
        the same whatever the current database is."""
        made, position = [], query.start
        end = query.start + len(query.text)
        for first, last, name in sorted(set(self.named)):
            if position <= first and last < end:
                made += [self.sql[position:first], name]
                position = last + 1
        return "".join([*made, self.sql[position:end]])

    # ---- nested binding

    def inside(self, **changes: Any) -> Binder:
        """A binder for a part with other common tables or another text; functions are noted together."""
        from dataclasses import replace

        return replace(self, **changes)

    def bind_query(self, tree: exp.Expr, outer: Scope | None = None) -> Node:
        """The plan of a query."""
        from firesteel.sql.binder.queries import bind_query

        return bind_query(self, tree, outer)


def _same(a: FunctionDefinition, b: FunctionDefinition) -> bool:
    return (a.value, a.columns, a.aggregate, a.rule) == (b.value, b.columns, b.aggregate, b.rule)
