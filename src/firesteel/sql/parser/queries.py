"""The productions of queries: SELECT, FROM, joins, table functions, set operations, VALUES, types."""

from __future__ import annotations

from typing import Any, Final

from sqlglot import exp

from firesteel.sql.parser.calls import CallParser
from firesteel.sql.parser.errors import SqlParserError
from firesteel.sql.parser.match_recognize import MatchParser
from firesteel.sql.parser.nodes import TableArgument, TableFunction, TimeTravel, TypeText, UnnestTable
from firesteel.sql.parser.tokens import NAME, NUMBER, SIGN, STRING, WORD, Token, tokenize
from firesteel.sql.parser.words import RESERVED

__all__ = ["QueryParser"]

_SET_OPERATIONS: Final[dict[str, type[exp.SetOperation]]] = {
    "UNION": exp.Union,
    "EXCEPT": exp.Except,
    "MINUS": exp.Except,
    "INTERSECT": exp.Intersect,
}


class QueryParser(MatchParser, CallParser):
    """Adds queries to expressions and calls."""

    def query(self) -> exp.Expr:
        """A query with what may stand around it: WITH, ORDER BY, LIMIT, OFFSET, FETCH."""
        start = self.token
        with_ = self._with() if self.at("WITH") else None
        body = self._set_operation()
        order = self.order_by() if self.at("ORDER", "BY") else None
        limit, offset = self._limits()
        if with_ is None and order is None and limit is None and offset is None:
            return body
        if isinstance(body, exp.Subquery) or body.args.get("order") or body.args.get("limit"):
            body = self.node(exp.Subquery, body, this=body) if not isinstance(body, exp.Subquery) else body
            star = self.node(exp.Star, start)
            body = self.node(exp.Select, start, expressions=[star], from_=body, generated=True)
        for key, value in (("with_", with_), ("order", order), ("limit", limit), ("offset", offset)):
            if value is not None:
                body.set(key, value)
        return body

    def _with(self) -> exp.With:
        start = self.token
        self.expect("WITH")
        recursive = self.take("RECURSIVE") or None
        items = self.comma_list(self._common_table)
        return self.node(exp.With, start, expressions=items, recursive=recursive)

    def _common_table(self) -> exp.CTE:
        start = self.token
        name = self.identifier()
        columns = self.in_parentheses(lambda: self.comma_list(self.identifier)) if self.at("(") else None
        alias = self.node(exp.TableAlias, start, this=name, columns=columns)
        self.expect("AS")
        return self.node(exp.CTE, start, alias=alias, this=self.in_parentheses(self.query))

    def order_by(self) -> exp.Order:
        start = self.token
        self.expect("ORDER", "BY")
        return self.node(exp.Order, start, expressions=self.comma_list(self._ordered))

    def _ordered(self) -> exp.Ordered:
        start = self.token
        this = self.expression()
        descending = self.take_any("ASC", "DESC") == "DESC"
        nulls_first = None
        if self.take("NULLS"):
            nulls_first = self.expect_any("FIRST", "LAST") == "FIRST"
        made = self.node(exp.Ordered, start, this=this, desc=descending)
        if nulls_first is not None:
            made.set("nulls_first", nulls_first)
        return made

    def _limits(self) -> tuple[exp.Expr | None, exp.Expr | None]:
        limit = offset = None
        if self.take("LIMIT") and not self.take("ALL"):
            limit = self._count()
            if self.at(","):
                raise SqlParserError(
                    "SQL parse failed. 'LIMIT start, count' is not allowed under the current "
                    "SQL conformance level",
                    hint="LIMIT count OFFSET start",
                )
        if self.take("OFFSET"):
            offset = self._count()
            self.take_any("ROW", "ROWS")
        if self.take("FETCH"):
            self.expect_any("FIRST", "NEXT")
            limit = self._count()
            self.expect_any("ROW", "ROWS")
            self.expect("ONLY")
        return limit, offset

    def _count(self) -> exp.Expr:
        token = self.token
        if token.kind != NUMBER or not token.text.isdigit():
            self.refuse(expected="an integer")
        self.advance()
        return self.node(exp.Literal, token, this=token.text, is_string=False)

    # ---- set operations

    def _set_operation(self) -> exp.Expr:
        start = self.token
        left = self._intersection()
        while self.at_any("UNION", "EXCEPT", "MINUS"):
            left = self._set(start, left, self._intersection)
        return left

    def _intersection(self) -> exp.Expr:
        start = self.token
        left = self._query_primary()
        while self.at("INTERSECT"):
            left = self._set(start, left, self._query_primary)
        return left

    def _set(self, start: Token, left: exp.Expr, operand: Any) -> exp.Expr:
        cls = _SET_OPERATIONS[self.advance().upper]
        distinct = self.take_any("ALL", "DISTINCT") != "ALL"
        right = operand()
        return self.node(cls, start, this=left, expression=right, distinct=distinct)

    def _query_primary(self) -> exp.Expr:
        start = self.token
        if self.at("SELECT"):
            return self._select()
        if self.take("VALUES"):
            return self.node(exp.Values, start, expressions=self.comma_list(self._row_of_values))
        if self.take("TABLE"):
            star = self.node(exp.Star, start)
            return self.node(exp.Select, start, expressions=[star], from_=self._table_name())
        if self.take("("):
            query = self.query()
            self.expect(")")
            return self.node(exp.Subquery, start, this=query)
        return self.refuse(expected="a query")

    def _row_of_values(self) -> exp.Expr:
        start = self.token
        if self.at("ROW", "("):
            self.advance()
        if self.at("(") and not self.at_query():
            items = self.in_parentheses(lambda: self.comma_list(self._value))
            if self.at_any(",", ")", ";") or self.at_end() or self.token.kind == WORD:
                return self.node(exp.Tuple, start, expressions=items)
            self.refuse()
        return self.node(exp.Tuple, start, expressions=[self.expression()])

    def _value(self) -> exp.Expr:
        if self.at("DEFAULT"):
            self.refuse()
        return self.expression()

    # ---- SELECT

    def _select(self) -> exp.Select:
        start = self.token
        hints = self.hints(start)
        self.expect("SELECT")
        self.take("STREAM")
        distinct = self.take_any("DISTINCT", "ALL") == "DISTINCT" or None
        items = self.comma_list(self._select_item)
        made = self.node(exp.Select, start, expressions=items, distinct=distinct, hints=hints)
        if self.take("FROM"):
            made.set("from_", self._from())
        if self.take("WHERE"):
            made.set("where", self.expression())
        if self.take("GROUP", "BY"):
            if self.take_any("DISTINCT", "ALL") == "DISTINCT":
                made.set("group_distinct", True)
            made.set("group", self.node(exp.Group, start, expressions=self.comma_list(self._group_item)))
        if self.take("HAVING"):
            made.set("having", self.expression())
        if self.take("WINDOW"):
            made.set("windows", self.comma_list(self._named_window))
        if self.take("QUALIFY"):
            made.set("qualify", self.expression())
        made.meta["end"] = self.previous().end
        return made

    def _select_item(self) -> exp.Expr:
        start = self.token
        this = self.expression()
        if self.take("AS"):
            name = self.string_name() if self.token.kind == STRING else self.identifier()
        elif self.at_name():
            name = self.identifier()
        else:
            return this
        return self.node(exp.Alias, start, this=this, alias=name)

    def string_name(self) -> exp.Identifier:
        self.refuse(expected="a name")

    def _group_item(self) -> exp.Expr:
        start = self.token
        if self.take("GROUPING", "SETS"):
            items = self.in_parentheses(lambda: self.comma_list(self._group_item))
            return self.node(exp.GroupingSets, start, expressions=items)
        for word, cls in (("ROLLUP", exp.Rollup), ("CUBE", exp.Cube)):
            if self.at(word, "("):
                self.advance()
                items = self.in_parentheses(lambda: self.comma_list(self._group_item))
                return self.node(cls, start, expressions=items)
        if self.take("(", ")"):
            return self.node(exp.Tuple, start, expressions=[])
        return self.expression()

    def _named_window(self) -> exp.Expr:
        start = self.token
        name = self.identifier()
        self.expect("AS", "(")
        specification = self.window_specification()
        self.expect(")")
        base = specification.pop("alias")
        return self.node(exp.Window, start, this=name, alias=base, **specification)

    # ---- FROM

    def _from(self) -> exp.Expr:
        start = self.token
        left = self._joined()
        while self.take(","):
            right = self._joined()
            left = self.node(exp.Join, start, this=left, expression=right, kind="COMMA")
        return left

    def _joined(self) -> exp.Expr:
        start = self.token
        left = self._relation()
        while True:
            index = self.index
            natural = self.take("NATURAL")
            kind = self._join_kind()
            if kind is None:
                if natural:
                    self.refuse(expected="JOIN")
                self.back_to(index)
                return left
            right = self._relation()
            on = using = None
            if not natural and kind != "CROSS":
                if self.take("ON"):
                    on = self.expression()
                elif self.take("USING"):
                    using = self.in_parentheses(lambda: self.comma_list(self.identifier))
            left = self.node(
                exp.Join,
                start,
                this=left,
                expression=right,
                kind=kind,
                on=on,
                using=using,
                natural=natural or None,
            )

    def _join_kind(self) -> str | None:
        if self.take("CROSS", "JOIN"):
            return "CROSS"
        if self.take("JOIN") or self.take("INNER", "JOIN"):
            return "INNER"
        for side in ("LEFT", "RIGHT", "FULL"):
            if self.take(side, "JOIN") or self.take(side, "OUTER", "JOIN"):
                return side
        return None

    def _relation(self) -> exp.Expr:
        start = self.token
        lateral = self.take("LATERAL")
        made = self._relation_body(start, lateral)
        if self.at("TABLESAMPLE"):
            self._refuse_sample()
        if self.at("MATCH_RECOGNIZE", "("):
            made = self.match_recognize(start, made)
        if self.at_any("PIVOT", "UNPIVOT") and self.ahead().text == "(":
            self.refuse()
        alias = self._table_alias()
        if alias is not None:
            made.set("alias", alias)
        if self.at("MATCH_RECOGNIZE", "("):
            made = self.match_recognize(start, made)
            alias = self._table_alias()
            if alias is not None:
                made.set("alias", alias)
        made.meta["end"] = self.previous().end
        return made

    def _refuse_sample(self) -> None:
        from firesteel.common.errors import UnsupportedFeatureError

        raise UnsupportedFeatureError(
            "TABLESAMPLE is not supported.",
            detail=self.text_from(self.token) or None,
            hint="filter by a condition instead, for example WHERE RAND() < 0.1",
        )

    def _relation_body(self, start: Token, lateral: bool) -> exp.Expr:
        if self.at("TABLE", "("):
            self.advance()
            call = self.in_parentheses(self._table_call)
            return self.node(TableFunction, start, this=call, lateral=lateral or None)
        if self.at("UNNEST", "("):
            self.advance()
            items = self.in_parentheses(lambda: self.comma_list(self.expression))
            ordinality = self.take("WITH", "ORDINALITY") or None
            return self.node(UnnestTable, start, expressions=items, ordinality=ordinality)
        if self.at("("):
            return self._relation_in_parentheses(start, lateral)
        if self.at("VALUES"):
            return self._query_primary()
        if self.ahead().text == "(" and self.ahead().kind == SIGN and self.token.kind in (WORD, NAME):
            return self.node(TableFunction, start, this=self._table_call(), lateral=lateral or None)
        if self.token.kind == WORD and self.token.upper in RESERVED:
            self.refuse(expected="a table")
        return self._table_or_call(start, lateral)

    def _table_or_call(self, start: Token, lateral: bool) -> exp.Expr:
        index = self.index
        while self.token.kind in (WORD, NAME) and self.ahead().text == ".":
            self.advance(2)
        if self.ahead().text == "(" and self.ahead().kind == SIGN and self.token.kind in (WORD, NAME):
            self.back_to(index)
            if self._path_call_ahead():
                return self.node(TableFunction, start, this=self._table_call(), lateral=lateral or None)
        self.back_to(index)
        return self._table_name()

    def _path_call_ahead(self) -> bool:
        offset = 0
        while self.ahead(offset + 1).text == ".":
            offset += 2
        name, parenthesis = self.ahead(offset), self.ahead(offset + 1)
        return (offset > 0 and parenthesis.start == name.end + 1) or (offset > 0 and parenthesis.text == "(")

    def _relation_in_parentheses(self, start: Token, lateral: bool) -> exp.Expr:
        if self.at_query() and self._query_encloses():
            self.expect("(")
            query = self.query()
            self.expect(")")
            return self.node(exp.Subquery, start, this=query, lateral=lateral or None)
        self.expect("(")
        inner = self._joined()
        self.expect(")")
        return self.node(exp.Paren, start, this=inner)

    def _query_encloses(self) -> bool:
        """``((SELECT 1) AS a JOIN b ON ...)`` begins like a query and is none."""
        index = self.index
        self.advance()
        try:
            self.query()
            return self.at(")")
        except Exception:
            return self._first_query_ahead()
        finally:
            self.back_to(index)

    def _first_query_ahead(self) -> bool:
        return self.ahead().text != "("

    def _table_call(self) -> exp.Expr:
        start = self.token
        if self.token.kind == WORD and self.token.upper in RESERVED:
            from firesteel.sql.parser.words import RESERVED_FUNCTIONS

            if self.token.upper not in RESERVED_FUNCTIONS:
                self.refuse()
        path = [self.advance().text]
        while self.take("."):
            path.append(self.advance().text)
        return self.call(start, tuple(path), quoted=start.kind == NAME)

    def _table_name(self) -> exp.Table:
        start = self.token
        parts = [self.identifier()]
        while self.at("."):
            self.advance()
            parts.append(self.identifier())
        hints = self.hints(self.previous())
        made = self.node(exp.Table, start, this=parts[-1], path=parts, hints=hints)
        made.meta["name_end"] = self.previous().end
        if self.at("FOR", "SYSTEM_TIME", "AS", "OF"):
            travel = self.token
            self.advance(4)
            made.set("travel", self.node(TimeTravel, travel, this=self._additive()))
        return made

    def _table_alias(self) -> exp.TableAlias | None:
        start = self.token
        if self.take("AS") or (self.at_name() and not self.at("MATCH_RECOGNIZE", "(")):
            name = self.identifier()
        else:
            return None
        columns = self.in_parentheses(lambda: self.comma_list(self.identifier)) if self.at("(") else None
        return self.node(exp.TableAlias, start, this=name, columns=columns)

    def table_argument(self) -> exp.Expr:
        start = self.token
        if self.take("TABLE"):
            wrapped = self.take("(")
            if wrapped and self.at_query():
                this: exp.Expr = self.query()
            elif wrapped and self.ahead().text == "(":
                this = self.node(TableFunction, start, this=self._table_call())
            else:
                this = self._table_name()
            if wrapped:
                self.expect(")")
        elif self.take("("):
            this = self.query()
            self.expect(")")
        else:
            this = self.query()
        partition = order = None
        if self.take("PARTITION", "BY"):
            partition = self._columns_of_argument()
        if self.at("ORDER", "BY"):
            order = self.order_by() if not self.at("ORDER", "BY", "(") else self._wrapped_order()
        return self.node(TableArgument, start, this=this, partition=partition, order=order)

    def _columns_of_argument(self) -> list[exp.Expr]:
        """``k`` or ``(k, l)``; without parentheses the columns end where another argument begins."""
        if self.take("("):
            items = self.comma_list(self.expression)
            self.expect(")")
            return items
        items = [self.expression()]
        while self.at(",") and self._column_ahead():
            self.advance()
            items.append(self.expression())
        return items

    def _column_ahead(self) -> bool:
        first, second = self.ahead(), self.ahead(2)
        is_name = first.kind == NAME or (first.kind == WORD and first.upper not in RESERVED)
        return is_name and second.text in (",", ")", "ORDER") and first.upper != "DESCRIPTOR"

    def _wrapped_order(self) -> exp.Order:
        start = self.token
        self.advance(2)
        return self.node(
            exp.Order, start, expressions=self.in_parentheses(lambda: self.comma_list(self._ordered))
        )

    # ---- hints

    def hints(self, token: Token) -> list[tuple[str, tuple[Any, ...]]] | None:
        """The hints after *token*: names and arguments."""
        if token.hint is None:
            return None
        return HintParser(token.hint, tokenize(token.hint, self.tokenizer())).hint_list()

    def tokenizer(self) -> Any:
        from firesteel.sql.parser.dialect import FLINK

        return FLINK.tokenizer()

    # ---- types

    def type_text(self) -> TypeText:
        """A data type: how far it goes; ``sql/type_text.py`` reads it."""
        start = self.token
        self._type()
        made = self.node(TypeText, start, this="")
        made.set("this", self.text_from(start))
        return made

    def _type(self) -> None:
        if self.token.kind not in (WORD, NAME):
            self.refuse(expected="a data type")
        word = self.advance().upper
        while self.at(".") and word == "":
            self.advance(2)
        if word == "INTERVAL":
            self._interval_type()
        elif word == "DOUBLE":
            self.take("PRECISION")
        elif word in ("CHAR", "CHARACTER", "BINARY", "NCHAR"):
            self.take_any("VARYING")
        elif word == "ROW" and self.at("("):
            self._row_type_in_parentheses()
            self._after_type(word)
            return
        if self.at("<"):
            self._balanced("<", ">")
        elif self.at("<>"):  # ROW<>
            self.advance()
        elif self.at("("):
            self._balanced("(", ")")
        if word in ("CHAR", "CHARACTER", "BINARY"):
            self.take("VARYING")
        self._after_type(word)

    def _after_type(self, word: str) -> None:
        zoned = self.at_any("WITH", "WITHOUT") and self.ahead().upper in ("TIME", "LOCAL")
        if word in ("TIMESTAMP", "TIME") and zoned:
            self.advance()
            self.take("LOCAL")
            self.expect("TIME", "ZONE")
        while True:
            if self.at("NOT", "NULL"):
                self.advance(2)
            elif self.at_any("NULL", "ARRAY", "MULTISET") and self.ahead().text != "[":
                if self.token.upper == "NULL" and self.ahead().upper == "ON":
                    return
                self.advance()
            else:
                return

    def _interval_type(self) -> None:
        self._unit()
        if self.at("("):
            self._balanced("(", ")")
        if self.take("TO"):
            self._unit()

    def _row_type_in_parentheses(self) -> None:
        self._balanced("(", ")")

    def _balanced(self, opening: str, closing: str) -> None:
        depth = 0
        while True:
            if self.at_end():
                self.refuse(expected=closing)
            text = self.token.text if self.token.kind == SIGN else ""
            if text == opening:
                depth += 1
            elif text == closing:
                depth -= 1
            elif opening == "<" and text in ("<>", ">="):
                depth -= text == ">="
            elif text == ";":
                self.refuse(expected=closing)
            self.advance()
            if depth <= 0:
                return


class HintParser(QueryParser):
    """``OPTIONS('k' = 'v'), STATE_TTL('t' = '1d'), LOOKUP('table' = 'd')``, ``BROADCAST(t)``."""

    def hint_list(self) -> list[tuple[str, tuple[Any, ...]]]:
        items = []
        while not self.at_end():
            items.append(self._one())
            self.take(",")
        return items

    def _one(self) -> tuple[str, tuple[Any, ...]]:
        if self.token.kind not in (WORD, NAME):
            self.refuse(expected="the name of a hint")
        name = self.advance().upper
        arguments: tuple[Any, ...] = ()
        if self.take("("):
            if not self.at(")"):
                arguments = tuple(self.comma_list(self._argument))
            self.expect(")")
        return name, arguments

    def _argument(self) -> Any:
        token = self.advance()
        if token.kind not in (WORD, NAME, STRING, NUMBER):
            self.refuse(token, expected="an argument of a hint")
        key = token.text
        while self.at("."):
            self.advance()
            key += "." + self.advance().text
        if self.take("="):
            return key, self.advance().text
        return key
