"""The productions of expressions, by precedence as Calcite has it.

OR < AND < NOT < IS < comparisons < BETWEEN, IN, LIKE < + - < * / % || < signs < calls, fields, elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp

from firesteel.sql.parser.cursor import Cursor
from firesteel.sql.parser.nodes import (
    Collection,
    DateTimeDifference,
    IntervalLiteral,
    NamedArgument,
    Symbol,
    TypedLiteral,
    TypeText,
)
from firesteel.sql.parser.tokens import END, HEX, NAME, NUMBER, SIGN, STRING, UNICODE, WORD, Token
from firesteel.sql.parser.words import NAMES_AFTER_ALL, NO_PARENTHESES, RESERVED, RESERVED_FUNCTIONS

__all__ = ["ExpressionParser"]

_COMPARISONS: Final[dict[str, type[exp.Binary]]] = {
    "=": exp.EQ,
    "<>": exp.NEQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}
_ADDITIVE: Final[dict[str, type[exp.Binary]]] = {"+": exp.Add, "-": exp.Sub}
_MULTIPLICATIVE: Final[dict[str, type[exp.Binary]]] = {
    "*": exp.Mul,
    "/": exp.Div,
    "%": exp.Mod,
    "||": exp.DPipe,
}
_UNITS: Final = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
_QUERY_STARTS: Final = ("SELECT", "WITH", "VALUES", "TABLE")


#: words after a difference in parentheses
_DIFFERENCES: Final = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")


class ExpressionParser(Cursor):
    def expression(self) -> exp.Expr:
        start = self.token
        left = self._conjunction()
        while self.take("OR"):
            left = self.node(exp.Or, start, this=left, expression=self._conjunction())
        return left

    def _conjunction(self) -> exp.Expr:
        start = self.token
        left = self._negation()
        while self.take("AND"):
            left = self.node(exp.And, start, this=left, expression=self._negation())
        return left

    def _negation(self) -> exp.Expr:
        start = self.token
        if self.take("NOT"):
            return self.node(exp.Not, start, this=self._negation())
        return self._is()

    # ---- predicates

    def _is(self) -> exp.Expr:
        start = self.token
        left = self._comparison()
        while self.take("IS"):
            negated = self.take("NOT")
            left = self._is_what(start, left)
            if negated:
                left = self.node(exp.Not, start, this=left)
        return left

    def _is_what(self, start: Token, left: exp.Expr) -> exp.Expr:
        if self.take("DISTINCT", "FROM"):
            return self.node(exp.NullSafeNEQ, start, this=left, expression=self._comparison())
        if self.take("JSON"):
            kind = self.take_any("VALUE", "OBJECT", "ARRAY", "SCALAR") or "VALUE"
            symbol = self.node(Symbol, self.previous(), this=kind)
            return self.node(exp.Anonymous, start, this="IS_JSON", expressions=[left, symbol])
        word = self.expect_any("NULL", "TRUE", "FALSE", "UNKNOWN")
        return self.node(exp.Is, start, this=left, expression=self.node(exp.Var, self.previous(), this=word))

    def _comparison(self) -> exp.Expr:
        start = self.token
        left = self._range()
        while self.token.kind == SIGN and self.token.text in _COMPARISONS:
            cls = _COMPARISONS[self.advance().text]
            quantifier = self.token
            if self.at_any("ANY", "SOME", "ALL") and self.ahead().text == "(":
                self.advance()
                query = self.in_parentheses(self.query)
                right: exp.Expr = self.node(
                    exp.All if quantifier.upper == "ALL" else exp.Any, quantifier, this=query
                )
            else:
                right = self._range()
            left = self.node(cls, start, this=left, expression=right)
        return left

    def _range(self) -> exp.Expr:
        start = self.token
        left = self._additive()
        while True:
            index = self.index
            negated = self.take("NOT")
            made = self._range_predicate(start, left)
            if made is None:
                self.back_to(index)
                return left
            left = self.node(exp.Not, start, this=made) if negated else made

    def _range_predicate(self, start: Token, left: exp.Expr) -> exp.Expr | None:
        if self.take("BETWEEN"):
            symmetric = self.take_any("SYMMETRIC", "ASYMMETRIC") == "SYMMETRIC"
            low = self._additive()
            self.expect("AND")
            high = self._additive()
            return self.node(exp.Between, start, this=left, low=low, high=high, symmetric=symmetric or None)
        if self.take("IN"):
            return self._in(start, left)
        for words, cls in ((("LIKE",), exp.Like), (("SIMILAR", "TO"), exp.SimilarTo)):
            if self.take(*words):
                made: exp.Expr = self.node(cls, start, this=left, expression=self._additive())
                if self.take("ESCAPE"):
                    made = self.node(exp.Escape, start, this=made, expression=self._additive())
                return made
        for word in ("OVERLAPS", "CONTAINS", "PRECEDES", "SUCCEEDS"):
            if word == "OVERLAPS" and self.take(word):
                return self.node(exp.Overlaps, start, this=left, expression=self._additive())
        return None

    def _in(self, start: Token, left: exp.Expr) -> exp.Expr:
        self.expect("(")
        if self.at_query():
            query = self.query()
            self.expect(")")
            return self.node(exp.In, start, this=left, query=query)
        values = self.comma_list(self.expression)
        self.expect(")")
        return self.node(exp.In, start, this=left, expressions=values)

    # ---- arithmetic

    def _additive(self) -> exp.Expr:
        return self._binary(_ADDITIVE, self._multiplicative)

    def _multiplicative(self) -> exp.Expr:
        return self._binary(_MULTIPLICATIVE, self._signed)

    def _binary(self, table: dict[str, type[exp.Binary]], operand: Callable[[], exp.Expr]) -> exp.Expr:
        start = self.token
        left = operand()
        while self.token.kind == SIGN and self.token.text in table:
            cls = table[self.advance().text]
            left = self.node(cls, start, this=left, expression=operand())
        return left

    def _signed(self) -> exp.Expr:
        start = self.token
        if self.take("-"):
            operand = self._signed()
            if self.previous().kind == NUMBER and _is_plain_number(operand):
                return self.node(exp.Literal, start, this=f"-{operand.this}", is_string=False)
            return self.node(exp.Neg, start, this=operand)
        if self.take("+"):
            return self._signed()
        return self._postfix()

    # ---- fields and elements

    def _postfix(self) -> exp.Expr:
        start = self.token
        this = self._primary()
        while True:
            if self.take("["):
                index = self.expression()
                self.expect("]")
                this = self.node(exp.Bracket, start, this=this, expressions=[index])
            elif self.at(".") and self.ahead().text == "*" and not isinstance(this, exp.Literal):
                self.advance(2)
                this = self.node(exp.Dot, start, this=this, expression=self.node(exp.Star, self.previous()))
            elif self.at(".") and self.ahead().kind in (WORD, NAME):
                self.advance()
                this = self.node(exp.Dot, start, this=this, expression=self.identifier())
            else:
                return this

    # ---- primaries

    def _primary(self) -> exp.Expr:
        token = self.token
        if token.kind == WORD:
            return self._word()
        if token.kind == NAME:
            return self._column_or_call()
        if token.kind in (STRING, UNICODE):
            return self._text()
        if token.kind == NUMBER:
            self.advance()
            return self.node(exp.Literal, token, this=token.text, is_string=False)
        if token.kind == HEX:
            if len(token.text) % 2 or any(c not in "0123456789abcdefABCDEF" for c in token.text):
                self.refuse(expected="an even number of hexadecimal digits")
            self.advance()
            return self.node(exp.HexString, token, this=token.text)
        if self.at("("):
            return self._parenthesis()
        if self.at("*"):
            self.advance()
            return self.node(exp.Star, token)
        if self.at(".") and self.ahead().kind == NUMBER and self.ahead().start == token.end + 1:
            self.advance()
            digits = self.advance()
            return self.node(exp.Literal, token, this=f".{digits.text}", is_string=False)
        return self.refuse(expected="an expression")

    def _text(self) -> exp.Expr:
        token = self.advance()
        escape = self.string() if token.kind == UNICODE and self.take("UESCAPE") else "\\"
        parts = [self.text_of(token, escape)]
        while self.token.kind == STRING:
            if "\n" not in self.sql[self.previous().end : self.token.start]:
                self.refuse(expected="a new line before the rest of a text")
            parts.append(self.advance().text)
        return self.node(exp.Literal, token, this="".join(parts), is_string=True)

    def _parenthesis(self) -> exp.Expr:
        start = self.token
        self.expect("(")
        if self.at_query():
            query = self.query()
            self.expect(")")
            return self.node(exp.Subquery, start, this=query)
        items = self.comma_list(self.expression)
        self.expect(")")
        if len(items) == 1:
            if isinstance(items[0], exp.Sub) and self.at_any(*_DIFFERENCES):
                return self._difference(start, items[0])
            return self.node(exp.Paren, start, this=items[0])
        return self.node(exp.Tuple, start, expressions=items)

    def _difference(self, start: Token, minus: exp.Sub) -> exp.Expr:
        """``(a - b) DAY TO SECOND``: the interval between two points of time."""
        token = self.token
        unit, precision, fraction = self._interval_unit()
        kind = self.node(
            IntervalLiteral,
            token,
            this=self.node(exp.Null, token),
            unit=unit,
            precision=precision,
            fraction=fraction,
        )
        return self.node(DateTimeDifference, start, this=minus.this, expression=minus.expression, kind=kind)

    def at_query(self) -> bool:
        """Whether a query begins here, after any number of parentheses."""
        offset = 0
        while self.ahead(offset).text == "(" and self.ahead(offset).kind == SIGN:
            offset += 1
        token = self.ahead(offset)
        if token.kind != WORD or token.upper not in _QUERY_STARTS:
            return False
        if token.upper in ("SELECT", "WITH"):
            return not offset or self._is_query_in_parentheses()
        if token.upper == "VALUES":
            return True
        return self.ahead(offset + 1).text != "("  # TABLE t

    def _is_query_in_parentheses(self) -> bool:
        """``((SELECT 1) + 2)`` is an expression, ``((SELECT 1) UNION SELECT 2)`` a query."""
        depth = 0
        offset = 0
        while True:
            token = self.ahead(offset)
            if token.kind == END:
                return True
            if token.kind == SIGN and token.text == "(":
                depth += 1
            elif token.kind == SIGN and token.text == ")":
                depth -= 1
                if depth == 0:
                    following = self.ahead(offset + 1)
                    return following.kind in (END, WORD, NAME) or following.text in (")", ",", ";")
            offset += 1

    def _word(self) -> exp.Expr:
        token = self.token
        special = _SPECIAL.get(token.upper)
        if special is not None:
            made = special(self)
            if made is not None:
                return made
        if token.upper in NO_PARENTHESES and self.ahead().text != "(":
            self.advance()
            return self.node(exp.Anonymous, token, this=token.upper, expressions=[], bare=True)
        is_call = self.ahead().text == "(" and self.ahead().kind == SIGN
        if token.upper in NAMES_AFTER_ALL and not is_call:
            name = self.node(exp.Identifier, token, this=self.advance().text, quoted=True)
            return self.node(exp.Column, token, this=name, path=[name])
        if token.upper in RESERVED and not (is_call and token.upper in RESERVED_FUNCTIONS):
            self.refuse()
        return self._column_or_call()

    def _column_or_call(self) -> exp.Expr:
        """``a``, ``t.a``, ``t.*``, ``f(x)``, ``catalog.database.f(x)``. Fields of rows are told from tables
        by the binder: the whole path is one Column."""
        start = self.token
        if self.ahead().text == "(" and self.ahead().kind == SIGN:
            return self.call(start, (self.advance().text,), quoted=start.kind == NAME)
        parts = [self.identifier()]
        while self.at(".") and self.ahead().kind in (WORD, NAME):
            self.advance()
            if self.ahead().text == "(" and self.ahead().kind == SIGN:
                name = self.advance()
                return self.call(start, (*(p.this for p in parts), name.text), quoted=True)
            field = (
                self.token
            )  # after a dot any word is a name, as in Flink's ``t.value``? no: reserved words are not
            if field.kind == WORD and field.upper in RESERVED:
                self.refuse()
            parts.append(self.identifier())
        if self.at(".") and self.ahead().text == "*":
            self.advance(2)
            return self.node(exp.Column, start, this=self.node(exp.Star, self.previous()), path=parts)
        return self.node(exp.Column, start, this=parts[-1], path=parts)

    # ---- calls

    def call(self, start: Token, path: tuple[str, ...], quoted: bool = False) -> exp.Expr:
        """A call; the name is passed, the parenthesis comes next."""
        upper = path[0].upper() if len(path) == 1 and not quoted else ""
        special = _CALLS.get(upper)
        if special is not None:
            return self.after_call(start, special(self, start, upper))
        name = path[0].upper() if len(path) == 1 else path[-1]
        self.expect("(")
        distinct = None
        arguments: list[exp.Expr] = []
        order = None
        if not self.take(")"):
            distinct = self.take_any("DISTINCT", "ALL") == "DISTINCT" or None
            arguments = self.comma_list(self.argument)
            if self.at("ORDER", "BY"):
                order = self.order_by()
            nulls = self._null_treatment()
            self.expect(")")
        else:
            nulls = None
        made = self.node(
            exp.Anonymous,
            start,
            this=name,
            expressions=arguments,
            distinct=distinct,
            order=order,
            nulls=nulls,
        )
        made.meta["name_end"] = self.previous().end
        made.meta["written"] = ".".join(path)
        if len(path) > 1:
            made.set("path", list(path))
        return self.after_call(start, made)

    def _null_treatment(self) -> str | None:
        if self.at_any("IGNORE", "RESPECT") and self.ahead().upper == "NULLS":
            return self.advance(2).upper
        return None

    def argument(self) -> exp.Expr:
        """One argument of a call: ``name => value``, a table, a descriptor, DEFAULT or an expression."""
        start = self.token
        if start.kind in (WORD, NAME) and self.ahead().text == "=>":
            name = self.advance().text
            self.advance()
            return self.node(NamedArgument, start, this=name, expression=self.argument())
        if self.at("DEFAULT") and self.ahead().text in (",", ")"):
            self.advance()
            return self.node(exp.Var, start, this="DEFAULT")
        if self.at_query() or (self.at("TABLE") and self.ahead().text != "("):
            return self.table_argument()
        if self.at("TABLE", "("):
            return self.table_argument()
        return self.expression()

    def after_call(self, start: Token, made: exp.Expr) -> exp.Expr:
        """WITHIN GROUP, FILTER, null treatment and OVER."""
        while True:
            if self.take("WITHIN", "GROUP"):
                order = self.in_parentheses(self.order_by)
                made = self.node(exp.WithinGroup, start, this=made, expression=order)
            elif self.at("FILTER", "("):
                self.advance()
                condition = self.in_parentheses(self._where)
                made = self.node(exp.Filter, start, this=made, expression=condition)
            elif self.at("IGNORE", "NULLS") or self.at("RESPECT", "NULLS"):
                made.set("nulls", self.advance(2).upper)
            elif self.take("OVER"):
                made = self._over(start, made)
            else:
                return made

    def _where(self) -> exp.Expr:
        self.expect("WHERE")
        return self.expression()

    def _over(self, start: Token, function: exp.Expr) -> exp.Expr:
        if self.at_name():
            return self.node(exp.Window, start, this=function, alias=self.identifier())
        self.expect("(")
        specification = self.window_specification()
        self.expect(")")
        return self.node(exp.Window, start, this=function, **specification)

    def window_specification(self) -> dict[str, Any]:
        """What stands between the parentheses of OVER."""
        base = self.identifier() if self.at_name() and not self.at_any("PARTITION", "ORDER") else None
        partition = None
        if self.take("PARTITION", "BY"):
            partition = self.comma_list(self.expression)
        order = self.order_by() if self.at("ORDER", "BY") else None
        frame = None
        if self.at_any("ROWS", "RANGE"):
            frame = self._frame()
        return {"alias": base, "partition_by": partition, "order": order, "spec": frame}

    def _frame(self) -> exp.Expr:
        start = self.token
        kind = self.advance().upper
        if self.take("BETWEEN"):
            low, low_side = self._bound()
            self.expect("AND")
            high, high_side = self._bound()
        else:
            low, low_side = self._bound()
            high, high_side = "CURRENT ROW", None
        return self.node(
            exp.WindowSpec, start, kind=kind, start=low, start_side=low_side, end=high, end_side=high_side
        )

    def _bound(self) -> tuple[exp.Expr | str, str | None]:
        if self.take("CURRENT", "ROW"):
            return "CURRENT ROW", None
        if self.take("UNBOUNDED"):
            return "UNBOUNDED", self.expect_any("PRECEDING", "FOLLOWING")
        value = self._additive()
        return value, self.expect_any("PRECEDING", "FOLLOWING")

    # ---- what queries.py provides

    def query(self) -> exp.Expr:
        raise NotImplementedError

    def order_by(self) -> exp.Expr:
        raise NotImplementedError

    def table_argument(self) -> exp.Expr:
        raise NotImplementedError

    def type_text(self) -> TypeText:
        raise NotImplementedError

    # ---- words that begin something of their own

    def _boolean(self) -> exp.Expr:
        token = self.advance()
        if token.upper == "UNKNOWN":
            return self.node(exp.Null, token, boolean=True)
        return self.node(exp.Boolean, token, this=token.upper == "TRUE")

    def _null(self) -> exp.Expr:
        return self.node(exp.Null, self.advance())

    def _case(self) -> exp.Expr:
        start = self.advance()
        operand = None if self.at("WHEN") else self.expression()
        branches = []
        while self.at("WHEN"):
            when = self.advance()
            conditions = self.comma_list(self.expression) if operand is not None else [self.expression()]
            self.expect("THEN")
            result = self.expression()
            branches += [self.node(exp.If, when, this=c, true=result.copy()) for c in conditions]
        if not branches:
            self.refuse(expected="WHEN")
        default = self.expression() if self.take("ELSE") else None
        self.expect("END")
        return self.node(exp.Case, start, this=operand, ifs=branches, default=default)

    def _interval(self) -> exp.Expr | None:
        following = self.ahead()
        if following.kind not in (STRING, NUMBER, WORD, NAME) and following.text not in ("-", "+", "("):
            return None
        start = self.advance()
        negative = self.take("-")
        if not negative:
            self.take("+")
        if self.token.kind == STRING:
            this: exp.Expr = self._text()
        else:
            this = self._postfix()
        unit, precision, fraction = self._interval_unit()
        return self.node(
            IntervalLiteral,
            start,
            this=this,
            unit=unit,
            negative=negative or None,
            precision=precision,
            fraction=fraction,
        )

    def _interval_unit(self) -> tuple[str, int | None, int | None]:
        first = self._unit()
        precision = fraction = None
        if self.take("("):
            precision = self.integer()
            if self.take(","):
                fraction = self.integer()
            self.expect(")")
        if not self.take("TO"):
            return first, precision, fraction
        last = self._unit()
        if self.take("("):
            fraction = self.integer()
            self.expect(")")
        return f"{first}_TO_{last}", precision, fraction

    def _unit(self) -> str:
        plural = {f"{unit}S": unit for unit in _UNITS}
        word = self.token.upper
        if self.token.kind == WORD and word in plural:
            self.advance()
            return plural[word]
        return self.expect_any(*_UNITS)

    def _typed_literal(self) -> exp.Expr | None:
        """``DATE '2020-01-01'``; DATE is a function or a name otherwise."""
        token = self.token
        words = ("WITH", "LOCAL", "TIME", "ZONE") if token.upper == "TIMESTAMP" else ()
        zoned = bool(words) and all(self.ahead(i).upper == word for i, word in enumerate(words, 1))
        if self.ahead(len(words) + 1 if zoned else 1).kind != STRING:
            return None
        self.advance()
        if zoned:
            self.take(*words)
        kind = "TIMESTAMP WITH LOCAL TIME ZONE" if zoned else token.upper
        return self.node(TypedLiteral, token, kind=kind, this=self.advance().text)

    def _collection(self) -> exp.Expr | None:
        if self.ahead().text != "[" or self.ahead().kind != SIGN:
            if self.token.upper == "ARRAY" and self.ahead().text == "(":
                start = self.advance()
                query = self.in_parentheses(self.query)
                return self.node(Collection, start, kind="ARRAY QUERY", expressions=[query])
            return None
        start = self.advance()
        self.advance()
        items = [] if self.at("]") else self.comma_list(self.expression)
        self.expect("]")
        return self.node(Collection, start, kind=start.upper, expressions=items)

    def _row(self) -> exp.Expr | None:
        if self.ahead().text != "(":
            return None
        start = self.advance(2)
        items = [] if self.at(")") else self.comma_list(self.expression)
        self.expect(")")
        return self.node(Collection, start, kind="ROW", expressions=items)

    def _exists(self) -> exp.Expr | None:
        if self.ahead().text != "(":
            return None
        start = self.advance()
        return self.node(exp.Exists, start, this=self.in_parentheses(self.query))

    def _running(self) -> exp.Expr | None:
        """``RUNNING LAST(A.x)``, ``FINAL LAST(A.x)`` in MEASURES."""
        if self.ahead().kind not in (WORD, NAME) or self.ahead(2).text != "(":
            return None
        start = self.advance()
        return self.node(exp.Anonymous, start, this=start.upper, expressions=[self._postfix()])


def _is_plain_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and not node.this.startswith("-")


_SPECIAL: Final[dict[str, Callable[[ExpressionParser], exp.Expr | None]]] = {
    "TRUE": ExpressionParser._boolean,
    "FALSE": ExpressionParser._boolean,
    "UNKNOWN": ExpressionParser._boolean,
    "NULL": ExpressionParser._null,
    "CASE": ExpressionParser._case,
    "INTERVAL": ExpressionParser._interval,
    "DATE": ExpressionParser._typed_literal,
    "TIME": ExpressionParser._typed_literal,
    "TIMESTAMP": ExpressionParser._typed_literal,
    "TIMESTAMP_LTZ": ExpressionParser._typed_literal,
    "ARRAY": ExpressionParser._collection,
    "MAP": ExpressionParser._collection,
    "MULTISET": ExpressionParser._collection,
    "ROW": ExpressionParser._row,
    "EXISTS": ExpressionParser._exists,
    "RUNNING": ExpressionParser._running,
    "FINAL": ExpressionParser._running,
}

#: Functions with a syntax of their own; ``calls.py`` fills it.
_CALLS: Final[dict[str, Callable[[Any, Token, str], exp.Expr]]] = {}
