"""Functions whose arguments have a syntax of their own: CAST, EXTRACT, TRIM, the JSON functions and
others."""

from __future__ import annotations

from typing import Any, Final

from sqlglot import exp

from firesteel.sql.parser.expressions import _CALLS, ExpressionParser
from firesteel.sql.parser.nodes import Descriptor, JsonCall, Symbol
from firesteel.sql.parser.tokens import WORD, Token

__all__ = ["CallParser"]

_EXTRACT_UNITS: Final = frozenset(
    (
        *("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND"),
        *("MICROSECOND", "NANOSECOND", "EPOCH", "CENTURY", "DECADE", "MILLENNIUM"),
        *("DOW", "DOY", "ISODOW", "ISOYEAR"),
    )
)
_TIME_UNITS: Final[dict[str, str]] = {
    **{
        unit: unit
        for unit in (
            *("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"),
            *("MILLISECOND", "MICROSECOND", "NANOSECOND", "CENTURY", "DECADE", "MILLENNIUM", "EPOCH"),
        )
    },
    **{
        f"SQL_TSI_{unit}": unit
        for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MICROSECOND")
    },
    "FRAC_SECOND": "MICROSECOND",
    "SQL_TSI_FRAC_SECOND": "NANOSECOND",
}


class CallParser(ExpressionParser):
    """Adds the calls to the expressions."""

    def _symbol(self, word: str | None = None) -> Symbol:
        token = self.previous() if word is not None else self.advance()
        return self.node(Symbol, token, this=word or token.upper)

    def _named(self, start: Token, name: str, *arguments: exp.Expr) -> exp.Expr:
        return self.node(exp.Anonymous, start, this=name, expressions=list(arguments))

    def cast(self, start: Token, name: str) -> exp.Expr:
        self.expect("(")
        operand = self.expression()
        self.expect("AS")
        target = self.type_text()
        self.expect(")")
        return self.node(exp.TryCast if name == "TRY_CAST" else exp.Cast, start, this=operand, to=target)

    def extract(self, start: Token, name: str) -> exp.Expr:
        self.expect("(")
        if self.token.kind != WORD or self.token.upper not in _EXTRACT_UNITS:
            self.refuse(expected="a unit of time")
        unit = self._symbol()
        self.expect("FROM")
        operand = self.expression()
        self.expect(")")
        return self._named(start, name, unit, operand)

    def trim(self, start: Token, name: str) -> exp.Expr:
        self.expect("(")
        side = self.take_any("BOTH", "LEADING", "TRAILING") or "BOTH"
        symbol = self._symbol(side)
        blank = self.node(exp.Literal, start, this=" ", is_string=True)
        if self.take("FROM"):
            characters: exp.Expr = blank
            text = self.expression()
        else:
            text = self.expression()
            characters = blank
            if self.take("FROM"):
                characters, text = text, self.expression()
            elif self.at(","):
                self.refuse(expected=")")
        self.expect(")")
        return self._named(start, name, symbol, characters, text)

    def substring(self, start: Token, name: str) -> exp.Expr:
        self.expect("(")
        arguments = [self.expression()]
        if self.take_any("FROM", ","):
            arguments.append(self.expression())
            if self.take_any("FOR", ","):
                arguments.append(self.expression())
        self.expect(")")
        return self._named(start, name, *arguments)

    def position(self, start: Token, name: str) -> exp.Expr:
        self.expect("(")
        arguments = [self._additive()]
        self.expect("IN")
        arguments.append(self.expression())
        if self.take("FROM"):
            arguments.append(self.expression())
        self.expect(")")
        return self._named(start, name, *arguments)

    def overlay(self, start: Token, name: str) -> exp.Expr:
        self.expect("(")
        arguments = [self.expression()]
        self.expect("PLACING")
        arguments.append(self.expression())
        self.expect("FROM")
        arguments.append(self.expression())
        if self.take("FOR"):
            arguments.append(self.expression())
        self.expect(")")
        return self._named(start, name, *arguments)

    def ceil(self, start: Token, name: str) -> exp.Expr:
        self.expect("(")
        arguments = [self.expression()]
        if self.take("TO"):
            arguments.append(self._time_unit())
        elif self.take(","):
            arguments.append(self.expression())
        self.expect(")")
        return self._named(start, "CEIL" if name == "CEILING" else name, *arguments)

    def _time_unit(self) -> Symbol:
        if self.token.kind != WORD or self.token.upper not in _TIME_UNITS:
            self.refuse(expected="a unit of time")
        token = self.advance()
        return self.node(Symbol, token, this=_TIME_UNITS[token.upper])

    def timestamp_arithmetic(self, start: Token, name: str) -> exp.Expr:
        self.expect("(")
        unit = self._time_unit()
        self.expect(",")
        first = self.expression()
        self.expect(",")
        second = self.expression()
        self.expect(")")
        return self._named(start, name, unit, first, second)

    def descriptor(self, start: Token, name: str) -> exp.Expr:
        self.expect("(")
        names = [] if self.at(")") else self.comma_list(self._descriptor_column)
        self.expect(")")
        return self.node(Descriptor, start, expressions=names)

    def _descriptor_column(self) -> exp.Identifier:
        name = self.identifier()
        if self.at_name():  # a type may follow in some functions
            self.type_text()
        return name

    def grouping(self, start: Token, name: str) -> exp.Expr:
        self.expect("(")
        arguments = self.comma_list(self.expression)
        self.expect(")")
        return self._named(start, name, *arguments)

    # ---- JSON

    def json_exists(self, start: Token, name: str) -> exp.Expr:
        self.expect("(")
        arguments = [self.expression()]
        self.expect(",")
        arguments.append(self.expression())
        options: list[tuple[str, Any]] = []
        word = self.take_any("TRUE", "FALSE", "UNKNOWN", "ERROR")
        if word is not None:
            self.expect("ON", "ERROR")
            options.append(("ON ERROR", word))
        self.expect(")")
        return self._json(start, name, arguments, options)

    def _json(self, start: Token, name: str, arguments: list[exp.Expr], options: list[Any]) -> exp.Expr:
        return self.node(JsonCall, start, this=name, expressions=arguments, options=tuple(options))

    def json_value(self, start: Token, name: str) -> exp.Expr:
        self.expect("(")
        arguments = [self.expression()]
        self.expect(",")
        arguments.append(self.expression())
        options: list[tuple[str, Any]] = []
        if self.take("RETURNING"):
            options.append(("RETURNING", self.type_text()))
        while self.at_any("NULL", "ERROR", "DEFAULT"):
            word = self.advance().upper
            default = self.expression() if word == "DEFAULT" else None
            self.expect("ON")
            event = self.expect_any("EMPTY", "ERROR")
            options.append((f"ON {event}", word if default is None else default))
        self.expect(")")
        return self._json(start, name, arguments, options)

    def json_query(self, start: Token, name: str) -> exp.Expr:
        self.expect("(")
        arguments = [self.expression()]
        self.expect(",")
        arguments.append(self.expression())
        options: list[tuple[str, Any]] = []
        if self.take("RETURNING"):
            options.append(("RETURNING", self.type_text()))
        if self.at_any("WITH", "WITHOUT"):
            options.append(("WRAPPER", self._wrapper()))
        while self.at_any("NULL", "ERROR", "EMPTY"):
            word = self.advance().upper
            if word == "EMPTY":
                word = f"EMPTY {self.expect_any('ARRAY', 'OBJECT')}"
            self.expect("ON")
            options.append((f"ON {self.expect_any('EMPTY', 'ERROR')}", word))
        self.expect(")")
        return self._json(start, name, arguments, options)

    def _wrapper(self) -> str:
        if self.advance().upper == "WITHOUT":
            self.take("ARRAY")
            self.expect("WRAPPER")
            return "WITHOUT"
        kind = self.take_any("CONDITIONAL", "UNCONDITIONAL") or "UNCONDITIONAL"
        self.take("ARRAY")
        self.expect("WRAPPER")
        return kind

    def json_object(self, start: Token, name: str) -> exp.Expr:
        self.expect("(")
        arguments: list[exp.Expr] = []
        nulls = "NULL"
        if not self.at(")") and not self._at_on_null():
            for pair in self.comma_list(self._json_pair):
                arguments += pair
        if self._at_on_null():
            nulls = self._on_null()
        self.expect(")")
        return self._json(start, name, arguments, [("ON NULL", nulls)])

    def _json_pair(self) -> list[exp.Expr]:
        if self.at("KEY") and self.ahead().text not in ("VALUE", ":", ","):
            self.advance()
        key = self._additive()
        if not self.take(":"):
            self.expect("VALUE")
        return [key, self._json_item()]

    def _json_item(self) -> exp.Expr:
        return self.expression()

    def _at_on_null(self) -> bool:
        return self.at("NULL", "ON", "NULL") or self.at("ABSENT", "ON", "NULL")

    def _on_null(self) -> str:
        return self.advance(3).upper

    def json_array(self, start: Token, name: str) -> exp.Expr:
        self.expect("(")
        arguments: list[exp.Expr] = []
        nulls = "ABSENT"
        if not self.at(")") and not self._at_on_null():
            arguments = self.comma_list(self._json_item)
        if self._at_on_null():
            nulls = self._on_null()
        self.expect(")")
        return self._json(start, name, arguments, [("ON NULL", nulls)])

    def json_array_aggregate(self, start: Token, name: str) -> exp.Expr:
        self.expect("(")
        arguments = [self.expression()]
        if self.at("ORDER", "BY"):
            self.refuse(expected=")")
        nulls = self._on_null() if self._at_on_null() else "ABSENT"
        self.expect(")")
        return self._json(start, name, arguments, [("ON NULL", nulls)])


_CALLS.update(
    {
        "CAST": CallParser.cast,
        "TRY_CAST": CallParser.cast,
        "EXTRACT": CallParser.extract,
        "TRIM": CallParser.trim,
        "SUBSTRING": CallParser.substring,
        "POSITION": CallParser.position,
        "OVERLAY": CallParser.overlay,
        "CEIL": CallParser.ceil,
        "CEILING": CallParser.ceil,
        "FLOOR": CallParser.ceil,
        "TIMESTAMPADD": CallParser.timestamp_arithmetic,
        "TIMESTAMPDIFF": CallParser.timestamp_arithmetic,
        "DESCRIPTOR": CallParser.descriptor,
        "GROUPING": CallParser.grouping,
        "GROUPING_ID": CallParser.grouping,
        "JSON_EXISTS": CallParser.json_exists,
        "JSON_VALUE": CallParser.json_value,
        "JSON_QUERY": CallParser.json_query,
        "JSON_OBJECT": CallParser.json_object,
        "JSON_OBJECTAGG": CallParser.json_object,
        "JSON_ARRAY": CallParser.json_array,
        "JSON_ARRAYAGG": CallParser.json_array_aggregate,
    }
)
