"""A place in a list of tokens, and what every production needs: looking, taking, refusing, making nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, TypeVar

from sqlglot import exp

from firesteel.sql.parser.errors import Place, SqlParserError
from firesteel.sql.parser.tokens import END, NAME, NUMBER, SIGN, STRING, UNICODE, WORD, Token
from firesteel.sql.parser.words import RESERVED, SQL92

__all__ = ["Cursor"]

N = TypeVar("N", bound=exp.Expr)
T = TypeVar("T")


class Cursor:
    """Reads one statement of *sql*, from *tokens*."""

    def __init__(self, sql: str, tokens: Sequence[Token]) -> None:
        self.sql = sql
        self.tokens = tokens
        self.index = 0
        self.token: Token = tokens[0]

    # ---- looking

    def ahead(self, count: int = 1) -> Token:
        """The token *count* after the current one; the last one beyond the end."""
        return self.tokens[min(self.index + count, len(self.tokens) - 1)]

    def previous(self) -> Token:
        return self.tokens[max(self.index - 1, 0)]

    def at(self, *words: str) -> bool:
        """Whether these keywords or signs come next."""
        for offset, word in enumerate(words):
            token = self.ahead(offset)
            if token.upper != word or token.kind not in (WORD, SIGN):
                return False
        return True

    def at_any(self, *words: str) -> bool:
        return self.token.upper in words and self.token.kind in (WORD, SIGN)

    def at_end(self) -> bool:
        return self.token.kind == END

    # ---- taking

    def advance(self, count: int = 1) -> Token:
        """Go on; return the token that was current."""
        token = self.token
        self.index = min(self.index + count, len(self.tokens) - 1)
        self.token = self.tokens[self.index]
        return token

    def back_to(self, index: int) -> None:
        self.index = index
        self.token = self.tokens[index]

    def take(self, *words: str) -> bool:
        """Pass these keywords or signs if they come next."""
        if not self.at(*words):
            return False
        self.advance(len(words))
        return True

    def take_any(self, *words: str) -> str | None:
        """Pass one of these if it comes next; return which."""
        return self.advance().upper if self.at_any(*words) else None

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.take(word):
                self.refuse(expected=word)

    def expect_any(self, *words: str) -> str:
        taken = self.take_any(*words)
        if taken is None:
            self.refuse(expected=" or ".join(words))
        return taken

    # ---- refusing

    def refuse(self, token: Token | None = None, *, expected: str | None = None) -> NoReturn:
        """Flink's ``Encountered "x" at line 1, column 2``."""
        token = token or self.token
        place = Place(self.sql, token.start, token.end)
        text = self.sql[token.start : token.end + 1] or token.text
        said = f'Encountered "{text}"'
        if token.kind == WORD and token.text in SQL92 and expected in _PLACES_OF_NAMES:
            said = f"Incorrect syntax near the keyword '{text}'"
        raise SqlParserError.at(
            place,
            f"SQL parse failed. {said} at {place.where}.",
            detail=f"expected {expected} in" if expected else "",
            hint=_hint(token),
        )

    # ---- names

    def at_name(self) -> bool:
        return self.token.kind == NAME or (self.token.kind == WORD and self.token.upper not in RESERVED)

    def name(self) -> str:
        """A name: in backticks, or a word that is not reserved."""
        if not self.at_name():
            self.refuse(expected="a name")
        return self.advance().text

    def identifier(self) -> exp.Identifier:
        start = self.token
        return self.node(exp.Identifier, start, this=self.name(), quoted=True)

    def path(self) -> tuple[str, ...]:
        """A name with what it is in: ``catalog.database.table``."""
        parts = [self.name()]
        while self.at(".") and self.ahead().kind != SIGN:
            self.advance()
            parts.append(self.name())
        return tuple(parts)

    def string(self) -> str:
        if self.token.kind not in (STRING, UNICODE):
            self.refuse(expected="a text in single quotes")
        return self.text_of(self.advance())

    def text_of(self, token: Token, escape: str = "\\") -> str:
        """The value of a literal; ``\\00e9`` in U&'...' is a character."""
        if token.kind != UNICODE:
            return token.text
        try:
            return _unescape(token.text, escape)
        except ValueError as error:
            place = Place(self.sql, token.start, token.end)
            raise SqlParserError.at(place, f"SQL parse failed. {error}") from None

    def integer(self) -> int:
        sign = -1 if self.take("-") else 1
        if self.token.kind != NUMBER or not self.token.text.isdigit():
            self.refuse(expected="an integer")
        return sign * int(self.advance().text)

    # ---- groups

    def comma_list(self, item: Callable[[], T]) -> list[T]:
        """At least one of them."""
        items = [item()]
        while self.take(","):
            items.append(item())
        return items

    def in_parentheses(self, item: Callable[[], T]) -> T:
        self.expect("(")
        result = item()
        self.expect(")")
        return result

    def text_from(self, start: Token) -> str:
        """What is written from *start* to the token before the current one."""
        return self.sql[start.start : self.previous().end + 1]

    # ---- nodes

    def node(self, cls: type[N], start: Token | exp.Expr, /, **args: Any) -> N:
        """A node that knows where it stands: from *start* to the token before the current one."""
        made = cls(**{key: value for key, value in args.items() if value is not None})
        meta = made.meta
        meta["start"] = start.start if isinstance(start, Token) else start.meta["start"]
        meta["end"] = self.previous().end
        return made


def _unescape(text: str, escape: str) -> str:
    out: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character != escape:
            out.append(character)
            position += 1
        elif text[position + 1 : position + 2] == escape:
            out.append(escape)
            position += 2
        else:
            digits = text[position + 1 : position + 5]
            if re.fullmatch("[0-9A-Fa-f]{4}", digits) is None:
                raise ValueError(
                    f"Unicode escape sequence starting at character {position} is not exactly four hex digits"
                )
            out.append(chr(int(digits, 16)))
            position += 5
    # two escapes may be the halves of one character; a half alone is none, and is shown as Java shows it
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\ufffd", "?")


_PLACES_OF_NAMES: Final = ("a name", "an expression", "a table", None)
_QUOTE_IT: Final = "it is a reserved word: put it in backticks where it is a name"


def _hint(token: Token) -> str | None:
    return _QUOTE_IT if token.kind == WORD and token.upper in RESERVED else None
