"""From MATCH_RECOGNIZE to transformations: rows become events of the engine of patterns, matches become rows.

Calc (what single rows have to give) -> ToRows -> MatchPattern -> ToColumns -> Calc (measures)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.program.transformations import (
    OneInputTransformation,
    Partitioning,
    PartitionKind,
    PartitionTransformation,
    Transformation,
)
from firesteel.sql import physical as p, types as t
from firesteel.sql.expressions import AggregateCall, Expression, InputRef, identity, shift, substitute
from firesteel.sql.match_recognize import (
    AggregateValue,
    MatchExpression,
    MatchSpecification,
    RowValue,
    SpecialValue,
    cep_pattern,
)
from firesteel.sql.operators import specs
from firesteel.sql.types import RowType, is_rowtime

if TYPE_CHECKING:
    from firesteel.sql.translate.translator import Translator

__all__ = ["match"]


def match(run: Translator, node: p.Match) -> Transformation:
    """The transformations of a MATCH_RECOGNIZE."""
    return _Matching(run, node).transformation()


class _Matching:
    def __init__(self, run: Translator, node: p.Match) -> None:
        self._run = run
        self._node = node
        self._specification: MatchSpecification = node.specification
        child = node.input
        self._child = child.input if isinstance(child, p.Exchange) else child
        self._row = self._child.row
        #: What an event has: the columns of the input, then what single rows have to give.
        self._columns: list[Expression] = list(identity(self._row))

    def transformation(self) -> Transformation:
        from firesteel.cep.compiler import compiled
        from firesteel.cep.spec import MatchPattern
        from firesteel.sql.operators.match import Measures, PartitionKey, TieBreaker

        specification, run = self._specification, self._run
        time = specification.order[0].index
        pattern = cep_pattern(specification, self._condition)
        values: list[Any] = []
        types: list[t.DataType] = []
        measures = [self._measure(m, values, types) for m in specification.measures]
        events = self._events()
        by_time = is_rowtime(self._row.types[time])
        rows = run.one(
            self._node,
            specs.ToRows(input=events, kinds=False, rowtime=time if by_time else None),
            row=events,
            source=self._calc(events),
            name="MatchInput",
        )
        rows.output_type = None
        rest = tuple((o.index, o.ascending) for o in specification.order[1:])
        function = Measures(specification.partition, specification.variables, values)
        comparator = TieBreaker(rest) if rest else None
        spec = MatchPattern(compiled(pattern), function=function, event_time=by_time, comparator=comparator)
        matches = self._matches(rows, spec, PartitionKey(specification.partition))
        gathered = RowType.of(
            [f"g{i}" for i in range(len(specification.partition) + len(types))],
            [*(self._row.types[i] for i in specification.partition), *types],
        )
        columns = run.one(
            self._node, specs.ToColumns(output=gathered), row=gathered, source=matches, name="MatchOutput"
        )
        keys = len(specification.partition)
        projection: tuple[Expression, ...] = tuple(InputRef(i, gathered.types[i]) for i in range(keys))
        projection += tuple(shift(m, lambda i: i + keys) for m in measures)
        calc = specs.Calc(
            input=gathered,
            output=self._node.row,
            projection=projection,
            functions=run.functions(expressions=projection),
        )
        return run.one(self._node, calc, source=columns, name="MatchMeasures")

    def _matches(self, rows: Transformation, spec: Any, key: Any) -> Transformation:
        partition = self._specification.partition
        edge = PartitionTransformation(
            name="Exchange", input=rows, partitioning=Partitioning(PartitionKind.HASH, key)
        )
        made = OneInputTransformation(
            name=self._node.name, input=edge, operator=spec, output_type=None, key_selector=key
        )
        return self._run.add(made, self._node, not partition)

    # ---- what single rows have to give

    def _calc(self, events: RowType) -> Transformation:
        projection = tuple(self._columns)
        calc = specs.Calc(
            input=self._row,
            output=events,
            projection=projection,
            functions=self._run.functions(expressions=projection),
        )
        return self._run.one(
            self._node,
            calc,
            row=events,
            source=self._run.translate(self._child),
            name="MatchColumns",
        )

    def _events(self) -> RowType:
        return RowType.of([f"e{i}" for i in range(len(self._columns))], [e.type for e in self._columns])

    def _column(self, expression: Expression) -> int:
        """The column of an event that has an expression over the input's row."""
        if isinstance(expression, InputRef):
            return expression.index
        if expression not in self._columns:
            self._columns.append(expression)
        return self._columns.index(expression)

    # ---- conditions and measures

    def _condition(self, variable: str) -> Any:
        from firesteel.sql.operators.match import HasColumn, Holds

        defined = self._specification.define[variable]
        alone = self._of_the_row_alone(variable, defined)
        if alone is not None:
            return HasColumn(self._column(alone))
        values = [(self._gathered(v), self._type(v)) for v in defined.values]
        return Holds(
            variable,
            self._specification.variables,
            defined.expression,
            values,
            self._run.functions(expressions=(defined.expression,)),
            self._run.zone,
        )

    def _of_the_row_alone(self, variable: str, defined: MatchExpression) -> Expression | None:
        """The condition over the input's columns; None: it looks at other rows, too."""
        own = {variable, "*"}
        for value in defined.values:
            is_row = isinstance(value, RowValue) and value.variable in own and value.last and not value.offset
            if not is_row:
                return None
        values: Any = defined.values
        return substitute(defined.expression, [v.expression for v in values])

    def _measure(self, measure: MatchExpression, values: list[Any], types: list[t.DataType]) -> Expression:
        """The expression of a measure over all gathered values, to which its own are added."""
        start = len(values)
        for value in measure.values:
            values.append(self._gathered(value))
            types.append(self._type(value))
        return shift(measure.expression, lambda i: i + start)

    def _type(self, value: Any) -> t.DataType:
        kind: t.DataType = value.expression.type if isinstance(value, RowValue) else value.type
        return kind.with_nullability(True)

    def _variables(self, name: str) -> tuple[str, ...]:
        return () if name == "*" else tuple(self._specification.subsets.get(name, (name,)))

    def _gathered(self, value: Any) -> Any:
        from firesteel.sql.operators.match import AggregateOf, RowOf, Special

        match value:
            case RowValue(variable, last, offset, expression):
                return RowOf(self._variables(variable), self._column(expression), last, offset)
            case AggregateValue(variable, function, arguments, kind, distinct, literals):
                columns = tuple(map(self._column, arguments))
                call = AggregateCall(function, tuple(range(len(columns))), kind, distinct, literals=literals)
                types = tuple(a.type for a in arguments)
                functions = self._run.functions(calls=(call,))
                return AggregateOf(self._variables(variable), columns, types, call, functions)
            case SpecialValue(kind="MATCH_ROWTIME"):
                return Special((), self._specification.order[0].index)
            case _:
                return Special(())
