"""Nodes of our own in sqlglot trees: what only Flink has."""

from __future__ import annotations

from sqlglot import exp

__all__ = [
    "Collection",
    "DateTimeDifference",
    "Descriptor",
    "JsonCall",
    "NamedArgument",
    "RowPattern",
    "Symbol",
    "TableArgument",
    "TableFunction",
    "TimeTravel",
    "TypeText",
    "TypedLiteral",
]


class TypeText(exp.Expression):
    """A data type as written: ``this`` is its text."""

    arg_types = {"this": True}


class Symbol(exp.Expression):
    """A keyword as an argument, such as the unit of TIMESTAMPDIFF."""

    arg_types = {"this": True}


class TypedLiteral(exp.Expression):
    """``DATE '...'``, ``TIME '...'``, ``TIMESTAMP '...'``: ``kind`` and ``this``, the text."""

    arg_types = {"this": True, "kind": True}


class IntervalLiteral(exp.Expression):
    """``INTERVAL '1 10:00' DAY TO MINUTE``: ``this`` is the text with its sign or an expression, ``unit``
    such as ``DAY_TO_MINUTE``, ``precision`` of the first unit, ``fraction`` of seconds."""

    arg_types = {"this": True, "unit": True, "negative": False, "precision": False, "fraction": False}


class DateTimeDifference(exp.Expression):
    """``(a - b) DAY``: ``kind`` is an ``IntervalLiteral`` whose value does not matter."""

    arg_types = {"this": True, "expression": True, "kind": True}


class Collection(exp.Expression):
    """``ARRAY[...]``, ``MAP[...]``, ``MULTISET[...]``, ``ROW(...)``: ``kind`` and ``expressions``."""

    arg_types = {"kind": True, "expressions": False}


class Descriptor(exp.Expression):
    """``DESCRIPTOR(a, b)``: ``expressions`` are identifiers."""

    arg_types = {"expressions": False}


class NamedArgument(exp.Expression):
    """``name => value``."""

    arg_types = {"this": True, "expression": True}


class TableArgument(exp.Expression):
    """``TABLE t PARTITION BY k ORDER BY o``: ``this`` is a Table or a query."""

    arg_types = {"this": True, "partition": False, "order": False}


class TableFunction(exp.Expression):
    """A call that gives rows, in FROM: ``this`` is the call, ``lateral`` whether it says LATERAL."""

    arg_types = {"this": True, "lateral": False, "alias": False, "match": False}


class UnnestTable(exp.Expression):
    """UNNEST(``expressions``) [WITH ORDINALITY], in FROM."""

    arg_types = {"expressions": True, "ordinality": False, "alias": False, "match": False}


class TimeTravel(exp.Expression):
    """``FOR SYSTEM_TIME AS OF`` of a table: ``this`` is the period."""

    arg_types = {"this": True}


class JsonCall(exp.Expression):
    """JSON_VALUE, JSON_QUERY, JSON_EXISTS, JSON_OBJECT and their like, with their clauses as ``options``, a
    tuple of pairs."""

    arg_types = {"this": True, "expressions": False, "options": False}


class RowPattern(exp.Expression):
    """The pattern of MATCH_RECOGNIZE: ``this`` is plain data (``match_recognize.py``)."""

    arg_types = {"this": True}


class RowMatch(exp.Expression):
    """MATCH_RECOGNIZE."""

    arg_types = {
        "this": True,
        "partition": False,
        "order": False,
        "measures": False,
        "all_rows": False,
        "after": False,
        "pattern": True,
        "within": False,
        "subsets": False,
        "define": True,
        "alias": False,
    }
