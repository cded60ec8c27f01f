"""Conditions as text: comparisons on the fields of an event, for patterns that come as data.

The text is Python's syntax, read with ``ast`` and turned into calls of the functions below; nothing of it is
ever executed. A construct that is not in ``_NODES`` is refused, and so is a name that begins with an
underscore. A field that an event does not have is None. An order that is not defined, with None or between
types that do not compare, does not hold; arithmetic on what is not a number gives None.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, TypeAlias

from firesteel.cep.conditions import Condition, ConditionContext, IterativeCondition, SimpleCondition
from firesteel.cep.errors import MalformedPatternError

__all__ = ["ExpressionCondition", "IterativeExpressionCondition", "expression_condition"]

#: The largest text, and how deep it may be nested.
MAX_CHARACTERS: Final = 2_000
MAX_DEPTH: Final = 30

#: The name of the event itself, for those that are no records with fields.
EVENT: Final = "event"

#: An event, and the context of an iterative condition or None -> a value.
_Evaluate: TypeAlias = Callable[[Any, Any], Any]


class ExpressionCondition(SimpleCondition):
    """
    :ivar text: as it was written.
    """

    def __init__(self, text: str, evaluate: _Evaluate) -> None:
        self.text = text
        self._evaluate = evaluate

    def filter(self, value: Any) -> bool:
        return bool(self._evaluate(value, None))


class IterativeExpressionCondition(IterativeCondition):
    """
    :ivar text: as it was written.
    :ivar stages: the stages whose events it asks for.
    """

    def __init__(self, text: str, evaluate: _Evaluate, stages: frozenset[str]) -> None:
        self.text = text
        self.stages = stages
        self._evaluate = evaluate

    def filter(self, value: Any, ctx: ConditionContext) -> bool:
        return bool(self._evaluate(value, ctx))


def expression_condition(text: str) -> Condition:
    """Return the condition that *text* says.

    >>> condition = expression_condition("amount > 5000 and country != 'DE'")
    >>> condition.filter({"amount": 6000, "country": "FR"})
    True
    >>> condition.filter({"country": "FR"})
    False

    :raises MalformedPatternError: it is not understood.
    """
    if len(text) > MAX_CHARACTERS:
        raise MalformedPatternError(
            f"An expression has at most {MAX_CHARACTERS} characters.", detail=f"got {len(text)}"
        )
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _refused(text, str(error) or type(error).__name__) from None
    reader = _Reader(text)
    evaluate = reader.read(tree.body)
    if reader.stages:
        return IterativeExpressionCondition(text, evaluate, frozenset(reader.stages))
    return ExpressionCondition(text, evaluate)


def _refused(text: str, reason: str) -> MalformedPatternError:
    return MalformedPatternError(
        f"The expression {text!r:.200} is not understood.",
        detail=reason,
        hint="compare fields, with and, or, not between: amount > 5000 and country in ['DE', 'FR']",
    )


# ---- reading


class _Reader:
    """
    :ivar stages: those whose events are asked for.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0
        self.stages: set[str] = set()

    def read(self, node: ast.AST) -> _Evaluate:
        reads = _NODES.get(type(node))
        if reads is None:
            raise self.refused(f"{type(node).__name__} is not part of the language")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.refused(f"it is nested more than {MAX_DEPTH} deep")
        evaluate = reads(self, node)
        self._depth -= 1
        return evaluate

    def name(self, name: str) -> str:
        if name.startswith("_"):
            raise self.refused(f"the name {name!r} begins with an underscore")
        return name

    def constant(self, node: ast.AST, what: str) -> Any:
        if not isinstance(node, ast.Constant) or type(node.value) not in _CONSTANTS:
            raise self.refused(f"{what} is a text or a number")
        return node.value

    def refused(self, reason: str) -> MalformedPatternError:
        return _refused(self._text, reason)


_CONSTANTS: Final = (str, int, float, bool, type(None))


def _constant(reader: _Reader, node: ast.Constant) -> _Evaluate:
    value = node.value
    if type(value) not in _CONSTANTS:
        raise reader.refused(f"{value!r:.50} is not a text, a number, True, False or None")
    return lambda event, ctx: value


def _name(reader: _Reader, node: ast.Name) -> _Evaluate:
    name = reader.name(node.id)
    if name == EVENT:
        return lambda event, ctx: event
    return lambda event, ctx: field(event, name)


def _attribute(reader: _Reader, node: ast.Attribute) -> _Evaluate:
    of, name = reader.read(node.value), reader.name(node.attr)
    return lambda event, ctx: field(of(event, ctx), name)


def _subscript(reader: _Reader, node: ast.Subscript) -> _Evaluate:
    of = reader.read(node.value)
    index = node.slice
    sign = 1
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
        index, sign = index.operand, -1
    place = reader.constant(index, "what stands in brackets")
    if sign < 0:
        if type(place) is not int:
            raise reader.refused("only a number may be negative in brackets")
        place = -place
    return lambda event, ctx: _item(of(event, ctx), place)


def _sequence(reader: _Reader, node: ast.List | ast.Tuple) -> _Evaluate:
    items = tuple(reader.constant(item, "an item of a list") for item in node.elts)
    return lambda event, ctx: items


def _bool_op(reader: _Reader, node: ast.BoolOp) -> _Evaluate:
    parts = list(map(reader.read, node.values))
    if isinstance(node.op, ast.And):
        return lambda event, ctx: all(part(event, ctx) for part in parts)
    return lambda event, ctx: any(part(event, ctx) for part in parts)


def _unary_op(reader: _Reader, node: ast.UnaryOp) -> _Evaluate:
    operand = reader.read(node.operand)
    match node.op:
        case ast.Not():
            return lambda event, ctx: not operand(event, ctx)
        case ast.USub():
            return lambda event, ctx: _number(operator.sub, 0, operand(event, ctx))
    raise reader.refused(f"{type(node.op).__name__} is not part of the language")


_ARITHMETIC: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}


def _bin_op(reader: _Reader, node: ast.BinOp) -> _Evaluate:
    apply = _ARITHMETIC.get(type(node.op))
    if apply is None:
        raise reader.refused(f"{type(node.op).__name__} is not part of the language")
    left, right = reader.read(node.left), reader.read(node.right)
    return lambda event, ctx: _number(apply, left(event, ctx), right(event, ctx))


_COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, among: item in among,
    ast.NotIn: lambda item, among: item not in among,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


def _compare(reader: _Reader, node: ast.Compare) -> _Evaluate:
    sides = [node.left, *node.comparators]
    for op, side in zip(node.ops, sides[1:], strict=True):
        if isinstance(op, ast.Is | ast.IsNot) and not (isinstance(side, ast.Constant) and side.value is None):
            raise reader.refused("after 'is' and 'is not' comes None")
    values = list(map(reader.read, sides))
    compares = [_COMPARISONS[type(op)] for op in node.ops]
    if len(compares) == 1:
        (compare,), (left, right) = compares, values
        return lambda event, ctx: _holds(compare, left(event, ctx), right(event, ctx))

    def chained(event: Any, ctx: Any) -> bool:
        before = values[0](event, ctx)
        for compare, value in zip(compares, values[1:], strict=True):
            after = value(event, ctx)
            if not _holds(compare, before, after):
                return False
            before = after
        return True

    return chained


def _call(reader: _Reader, node: ast.Call) -> _Evaluate:
    function = node.func.id if isinstance(node.func, ast.Name) else ""
    if len(node.args) != 1 or node.keywords or function not in (*_FUNCTIONS, *_OF_STAGES):
        raise reader.refused(f"there are {', '.join((*_FUNCTIONS, *_OF_STAGES))}, each of one argument")
    if function in _FUNCTIONS:
        apply, argument = _FUNCTIONS[function], reader.read(node.args[0])
        return lambda event, ctx: apply(argument(event, ctx))
    stage = reader.constant(node.args[0], f"the stage that {function}() is of")
    if type(stage) is not str:
        raise reader.refused(f"{function}() takes the name of a stage")
    reader.stages.add(stage)
    of = _OF_STAGES[function]
    return lambda event, ctx: of(list(ctx.get_events_for_pattern(stage)))


_NODES: Final[dict[type[ast.AST], Callable[[_Reader, Any], _Evaluate]]] = {
    ast.Attribute: _attribute,
    ast.BinOp: _bin_op,
    ast.BoolOp: _bool_op,
    ast.Call: _call,
    ast.Compare: _compare,
    ast.Constant: _constant,
    ast.List: _sequence,
    ast.Name: _name,
    ast.Subscript: _subscript,
    ast.Tuple: _sequence,
    ast.UnaryOp: _unary_op,
}


# ---- evaluating


def field(value: Any, name: str) -> Any:
    """The field *name* of a mapping, a row or an object; None: there is none."""
    found = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return None if callable(found) else found


def _item(value: Any, place: Any) -> Any:
    try:
        return value[place]
    except (LookupError, TypeError):
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _number(apply: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    if not (_is_number(left) and _is_number(right)):
        return None
    try:
        return apply(left, right)
    except (ArithmeticError, TypeError):
        return None


def _holds(compare: Callable[[Any, Any], Any], left: Any, right: Any) -> bool:
    try:
        return bool(compare(left, right))
    except TypeError:
        return False


def _length(value: Any) -> int | None:
    return len(value) if isinstance(value, str | bytes | list | tuple | Mapping) else None


def _absolute(value: Any) -> Any:
    return abs(value) if _is_number(value) else None


_FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "abs": _absolute,
    "len": _length,
    "lower": lambda value: value.lower() if isinstance(value, str) else None,
}
_OF_STAGES: Final[dict[str, Callable[[list[Any]], Any]]] = {
    "first": lambda events: events[0] if events else None,
    "last": lambda events: events[-1] if events else None,
    "count": len,
}
