"""The layer of OVER: window functions inside the expressions of a SELECT.

A reference to one of them is numbered from ``OVER`` until ``node`` says where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn

from sqlglot import exp

from firesteel.sql import types as t
from firesteel.sql.binder.aggregates import OVER, Columns, PendingCall, Term, aggregate_of, pending_call
from firesteel.sql.binder.expressions import ExpressionBinder
from firesteel.sql.expressions import Expression, InputRef, Literal, Ordering, identity, shift
from firesteel.sql.logical import Node, Over, OverCall
from firesteel.sql.parser.errors import Place

__all__ = ["OVER", "SelectBinder"]


@dataclass(frozen=True, slots=True)
class PendingOver:
    call: PendingCall
    partition: tuple[Expression, ...]
    order: tuple[Term, ...]
    rows: bool
    preceding: int | None
    following: int | None
    place: Place | None = field(default=None, compare=False)


class SelectBinder(ExpressionBinder):
    """Sees what *base* sees, and binds OVER.

    :param windows: WINDOW name AS (...).
    """

    def __init__(self, base: ExpressionBinder, windows: Mapping[str, exp.Expr]) -> None:
        super().__init__(base.binder, base.scope, "the SELECT list")
        self.base = base
        self.windows = windows
        self.overs: list[PendingOver] = []

    def own(self, node: exp.Expr) -> Expression | None:
        if isinstance(node, exp.Window):
            return self._over(node)
        return self.base.own(node)

    def sub_scope(self) -> Any:
        return self.base.sub_scope()

    # ---- one window

    def _over(self, node: exp.Window) -> Expression:
        call = aggregate_of(self.binder, node.this)
        if call is None:
            self._refuse_function(node)
        frame = self._specification(node)
        pending = pending_call(self.base, node.this, call, grouped=True, over=True)
        if pending.function in _NULL_WITHOUT_ROWS:  # though a frame has one at least, here as in Flink
            pending = replace(pending, type=pending.type.with_nullability(True))
        partition = tuple(self.base.bind(p) for p in frame.get("partition_by") or ())
        order = frame.get("order")
        terms = tuple(
            Term(
                self.base.bind(o.this),
                not o.args.get("desc"),
                bool(o.args.get("nulls_first", not o.args.get("desc"))),
            )
            for o in (order.expressions if order else ())
        )
        rows, preceding, following = self._frame(node, frame.get("spec"), terms, pending.function)
        place = self.binder.place(order.expressions[0] if order else node)
        made = PendingOver(pending, partition, terms, rows, preceding, following, place)
        if made not in self.overs:
            self.overs.append(made)
        return InputRef(OVER + self.overs.index(made), pending.type)

    def _refuse_function(self, node: exp.Window) -> NoReturn:
        inner = node.this
        name = inner.this if isinstance(inner, exp.Anonymous) else ""
        if isinstance(inner, exp.Anonymous) and self.binder.catalog.find_function((name,)) is None:
            self.bind(inner)  # which refuses it
        self.refuse(node, "OVER must be applied to aggregate function")

    def _specification(self, node: exp.Expr) -> dict[str, Any]:
        alias = node.args.get("alias")
        found = {k: node.args.get(k) for k in ("partition_by", "order", "spec")}
        if alias is None:
            return found
        base = self.windows.get(alias.this)
        if base is None:
            self.refuse(alias, f"Window '{alias.this}' not found")
        inherited = self._specification(base)
        return {k: v if v is not None else inherited[k] for k, v in found.items()}

    def _frame(
        self, node: exp.Expr, spec: exp.Expr | None, order: tuple[Term, ...], function: str
    ) -> tuple[bool, int | None, int | None]:
        """Whether it counts rows, how far back (None: all), how far on (0: this row; None: all)."""
        if function in _WITHOUT_FRAME:
            if spec is not None:
                self.refuse(
                    spec,
                    "ROW/RANGE not allowed with RANK, DENSE_RANK, ROW_NUMBER, "
                    "PERCENTILE_CONT/DISC or LAG/LEAD functions",
                )
            if not order and function not in ("ROW_NUMBER",):
                self.refuse(
                    node, "RANK or DENSE_RANK functions require ORDER BY clause in window specification"
                )
            return function == "ROW_NUMBER", None, 0
        if spec is None:
            return False, None, 0 if order else None
        rows = spec.args["kind"] == "ROWS"
        if not order and not rows:
            self.refuse(spec, "Window specification must contain an ORDER BY clause")
        back = self._bound(spec, "start", rows, -1)
        on = self._bound(spec, "end", rows, 1)
        return rows, back, on

    def _bound(self, spec: exp.Expr, side: str, rows: bool, direction: int) -> int | None:
        value, which = spec.args[side], spec.args.get(f"{side}_side")
        if value == "CURRENT ROW":
            return 0
        sign = 1 if (which == "FOLLOWING") == (direction > 0) else -1
        if value == "UNBOUNDED":
            if sign < 0:
                self.refuse(
                    spec,
                    f"UNBOUNDED {which} cannot be specified for the "
                    f"{'lower' if direction < 0 else 'upper'} frame boundary",
                )
            return None
        from firesteel.sql.rules.constants import folded

        bound = folded(self.base.bind(value))
        if not isinstance(bound, Literal):
            self.refuse(spec, "The bound of a window must be constant")
        if rows and not isinstance(bound.type, t.IntType | t.BigIntType | t.SmallIntType | t.TinyIntType):
            self.refuse(spec, "Numeric literal is expected where ROWS counts rows")
        return sign * int(bound.value)

    # ---- the node

    def node(self, source: Node) -> tuple[Node, Callable[[int], int]]:
        """The plan with the windows, over the finished *source*; references to the base are those of its
        output."""
        if not self.overs:
            return source, lambda index: index
        columns = Columns(list(identity(source.row)))

        def place(expression: Expression) -> int:
            return columns.place(expression)

        calls = tuple(self._placed(p, place, i) for i, p in enumerate(self.overs))
        project = columns.over(source)
        width = len(project.row.fields)
        names = t.unique([*project.row.names, *(f"w{i}$o0" for i in range(len(calls)))])
        types = [*project.row.types, *(c.call.type for c in calls)]
        made = Over(row=t.RowType.of(names, types), input=project, calls=calls)
        return made, lambda index: width + index - OVER if index >= OVER else index

    @staticmethod
    def _placed(pending: PendingOver, place: Callable[[Expression], int], number: int) -> OverCall:
        return OverCall(
            call=pending.call.placed(place, f"w{number}$o0"),
            partition=tuple(place(p) for p in pending.partition),
            order=tuple(Ordering(place(o.expression), o.ascending, o.nulls_first) for o in pending.order),
            rows=pending.rows,
            preceding=pending.preceding,
            following=pending.following,
            place=pending.place,
        )

    def moved(self, position: Callable[[int], int]) -> None:
        """References of the pending windows to the base, now that its output is known."""
        self.overs = [_moved(p, position) for p in self.overs]


def _moved(pending: PendingOver, position: Callable[[int], int]) -> PendingOver:
    def move(e: Expression) -> Expression:
        return shift(e, position)

    def terms(order: tuple[Term, ...]) -> tuple[Term, ...]:
        return tuple(replace(o, expression=move(o.expression)) for o in order)

    call = replace(
        pending.call,
        arguments=tuple(move(a) for a in pending.call.arguments),
        filter=None if pending.call.filter is None else move(pending.call.filter),
        order=terms(pending.call.order),
    )
    partition = tuple(move(p) for p in pending.partition)
    return replace(pending, call=call, partition=partition, order=terms(pending.order))


_NULL_WITHOUT_ROWS: Final = frozenset({"SUM", "AVG"})
_WITHOUT_FRAME: Final = frozenset(
    {"ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LAG", "LEAD"}
)
