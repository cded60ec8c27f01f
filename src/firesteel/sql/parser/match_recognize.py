"""MATCH_RECOGNIZE: its clauses, and the grammar of row patterns as plain data.

pattern     := sequence ('|' sequence)*
sequence    := quantified+
quantified  := primary ('*' | '+' | '?' | '{' n? (',' m?)? '}') '?'?
primary     := variable | '(' pattern ')' | '{-' pattern '-}' | PERMUTE '(' pattern (',' pattern)* ')'
"""

from __future__ import annotations

from sqlglot import exp

from firesteel.sql.parser.expressions import ExpressionParser
from firesteel.sql.parser.nodes import RowMatch, RowPattern
from firesteel.sql.parser.tokens import Token
from firesteel.sql.row_patterns import (
    Alternatives,
    Excluded,
    Pattern,
    Permutation,
    Quantified,
    Sequence,
    Variable,
)

__all__ = ["MatchParser"]


class MatchParser(ExpressionParser):
    def match_recognize(self, start: Token, table: exp.Expr) -> RowMatch:
        self.expect("MATCH_RECOGNIZE", "(")
        partition = self.comma_list(self.expression) if self.take("PARTITION", "BY") else None
        order = self.order_by() if self.at("ORDER", "BY") else None
        measures = self.comma_list(self._measure) if self.take("MEASURES") else None
        all_rows = self._rows_per_match()
        after = self._after_match()
        self.expect("PATTERN", "(")
        pattern = self._alternatives()
        self.expect(")")
        within = None
        if self.take("WITHIN"):
            within = self.expression()
        subsets = self.comma_list(self._subset) if self.take("SUBSET") else None
        self.expect("DEFINE")
        define = self.comma_list(self._definition)
        self.expect(")")
        return self.node(
            RowMatch,
            start,
            this=table,
            partition=partition,
            order=order,
            measures=measures,
            all_rows=all_rows or None,
            after=after,
            pattern=RowPattern(this=pattern),
            within=within,
            subsets=subsets,
            define=define,
        )

    def _measure(self) -> exp.Expr:
        start = self.token
        this = self.expression()
        self.expect("AS")
        return self.node(exp.Alias, start, this=this, alias=self.identifier())

    def _definition(self) -> exp.Expr:
        start = self.token
        name = self.identifier()
        self.expect("AS")
        return self.node(exp.Alias, start, this=self.expression(), alias=name)

    def _subset(self) -> exp.Expr:
        start = self.token
        name = self.identifier()
        self.expect("=")
        items = self.in_parentheses(lambda: self.comma_list(self.identifier))
        return self.node(exp.Alias, start, this=exp.Tuple(expressions=items), alias=name)

    def _rows_per_match(self) -> bool:
        if self.take("ONE", "ROW", "PER", "MATCH"):
            return False
        return self.take("ALL", "ROWS", "PER", "MATCH")

    def _after_match(self) -> tuple[str, str | None] | None:
        if not self.take("AFTER"):
            return None
        self.expect("MATCH", "SKIP")
        if self.take("TO", "NEXT", "ROW"):
            return "NEXT ROW", None
        if self.take("PAST", "LAST", "ROW"):
            return "PAST LAST ROW", None
        self.expect("TO")
        side = self.take_any("FIRST", "LAST") or "LAST"
        return side, self.name()

    # ---- patterns

    def _alternatives(self) -> Pattern:
        parts = [self._sequence()]
        while self.take("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Alternatives(tuple(parts))

    def _sequence(self) -> Pattern:
        parts = [self._quantified()]
        while self.at_name() or self.at("(") or self.at("{") or self.at("PERMUTE", "("):
            parts.append(self._quantified())
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _quantified(self) -> Pattern:
        part = self._pattern_primary()
        bounds = self._bounds()
        if bounds is None:
            return part
        low, high = bounds
        return Quantified(part, low, high, greedy=not self.take("?"))

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(sign):
                return bounds
        if not self.at("{") or self.ahead().text == "-":
            return None
        self.expect("{")
        low = None if self.at(",") else self.integer()
        high = low
        if self.take(","):
            high = None if self.at("}") else self.integer()
        self.expect("}")
        return low or 0, high

    def _pattern_primary(self) -> Pattern:
        if self.take("("):
            inner = self._alternatives()
            self.expect(")")
            return inner
        if self.take("{", "-"):
            inner = self._alternatives()
            self.expect("-", "}")
            return Excluded(inner)
        if self.at("PERMUTE", "("):
            self.advance(2)
            parts = self.comma_list(self._alternatives)
            self.expect(")")
            return Permutation(tuple(parts))
        return Variable(self.name())
