"""Text to data type, in all spellings of Flink (``LogicalTypeParser``).

``parse_type("ROW<a INT NOT NULL, b DECIMAL(10, 2)>")``. What is wrong is said with the column where it
stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.sql import types as t

__all__ = ["TypeTextError", "parse_type"]


class TypeTextError(ProgramError):
    """A text is not a data type. :param position: index of the character that is wrong."""

    def __init__(self, message: str, text: str, position: int, hint: str | None = None) -> None:
        super().__init__(message, detail=f"at column {position + 1} of {text!r}", hint=hint)
        self.position = position


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


_TOKEN: Final = re.compile(
    r"\s*(?:(?P<word>[^\W\d]\w*)|(?P<number>\d+)|`(?P<name>(?:[^`]|``)*)`|'(?P<string>(?:[^']|'')*)'"
    r"|(?P<mark>[<>(),])|(?P<end>$)|(?P<bad>.))",
    re.DOTALL,
)


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    position = 0
    while True:
        match = _TOKEN.match(text, position)
        assert match is not None
        kind = match.lastgroup or "end"
        value = match.group(kind)
        start = match.start(kind)
        if kind == "bad":
            raise TypeTextError(f"A data type cannot have {value!r} in it.", text, start)
        if kind == "name":
            value = value.replace("``", "`")
        elif kind == "string":
            value = value.replace("''", "'")
        found.append(_Token(kind, value, start))
        if kind == "end":
            return found
        position = match.end()


class _Reader:
    """One text, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.index = 0

    # ---- tokens

    @property
    def current(self) -> _Token:
        return self.tokens[self.index]

    def error(self, message: str, token: _Token | None = None, hint: str | None = None) -> TypeTextError:
        return TypeTextError(message, self.text, (token or self.current).position, hint)

    def at(self, *words: str) -> bool:
        """Whether the next tokens are these words or marks."""
        following = self.tokens[self.index : self.index + len(words)]
        return len(following) == len(words) and all(
            token.kind in ("word", "mark") and token.text.upper() == word
            for token, word in zip(following, words, strict=True)
        )

    def take(self, *words: str) -> bool:
        if self.at(*words):
            self.index += len(words)
            return True
        return False

    def expect(self, word: str) -> None:
        if not self.take(word):
            raise self.error(f"{word!r} is expected here, not {self.current.text or 'the end'!r}.")

    def number(self) -> int:
        token = self.current
        if token.kind != "number":
            raise self.error(f"A number is expected here, not {token.text or 'the end'!r}.")
        self.index += 1
        return int(token.text)

    def arguments(self, most: int) -> list[int]:
        """``(1, 2)``, or nothing."""
        if not self.take("("):
            return []
        found = [self.number()]
        while len(found) < most and self.take(","):
            found.append(self.number())
        self.expect(")")
        return found

    # ---- types

    def whole(self) -> t.DataType:
        found = self.type()
        if self.current.kind != "end":
            raise self.error(f"Nothing is expected after the data type, but there is {self.current.text!r}.")
        return found

    def type(self) -> t.DataType:
        found = self.nullability(self.simple())
        while True:
            if self.take("ARRAY"):
                found = self.nullability(t.ArrayType(element_type=found))
            elif self.take("MULTISET"):
                found = self.nullability(t.MultisetType(element_type=found))
            else:
                return found

    def nullability(self, found: t.DataType) -> t.DataType:
        if self.take("NOT", "NULL"):
            return found.not_null()
        if not isinstance(found, t.NullType):
            self.take("NULL")
        return found

    def simple(self) -> t.DataType:
        token = self.current
        read = _READERS.get(token.text.upper()) if token.kind == "word" else None
        if read is None:
            raise self.error(f"There is no data type {token.text!r}.", hint=_near(token.text))
        self.index += 1
        return read(self, token)

    def field(self) -> t.RowField:
        token = self.current
        if token.kind not in ("word", "name"):
            raise self.error(f"A field needs a name, not {token.text or 'the end'!r}.")
        self.index += 1
        data_type = self.type()
        description = None
        if self.current.kind == "string":
            description = self.current.text
            self.index += 1
        return t.RowField(token.text, data_type, description)


def _near(name: str) -> str | None:
    import difflib

    close = difflib.get_close_matches(name.upper(), _READERS, 1)
    return f"did you mean {close[0]}?" if close else None


def _checked(reader: _Reader, token: _Token, value: int, low: int, high: int, what: str) -> int:
    if not low <= value <= high:
        raise reader.error(f"{what} must be between {low} and {high} (both inclusive), not {value}.", token)
    return value


def _char(reader: _Reader, token: _Token) -> t.DataType:
    if reader.take("VARYING"):
        return _varchar(reader, token)
    return _sized(reader, token, t.CharType, 1)


def _sized(reader: _Reader, token: _Token, kind: Callable[..., t.DataType], default: int) -> t.DataType:
    sizes = reader.arguments(1)
    length = _checked(reader, token, sizes[0], 1, t.MAX_LENGTH, "The length") if sizes else default
    return kind(length=length)


def _varchar(reader: _Reader, token: _Token) -> t.DataType:
    return _sized(reader, token, t.VarCharType, t.MAX_LENGTH)  # SQL's VARCHAR is STRING


def _binary(reader: _Reader, token: _Token) -> t.DataType:
    if reader.take("VARYING"):
        return _varbinary(reader, token)
    return _sized(reader, token, t.BinaryType, 1)


def _varbinary(reader: _Reader, token: _Token) -> t.DataType:
    return _sized(reader, token, t.VarBinaryType, t.MAX_LENGTH)


def _decimal(reader: _Reader, token: _Token) -> t.DataType:
    sizes = reader.arguments(2)
    precision = _checked(reader, token, sizes[0], 1, 38, "The precision of DECIMAL") if sizes else 10
    scale = sizes[1] if len(sizes) > 1 else 0
    _checked(reader, token, scale, 0, precision, "The scale of DECIMAL")
    return t.DecimalType(precision=precision, scale=scale)


def _double(reader: _Reader, _: _Token) -> t.DataType:
    reader.take("PRECISION")
    return t.DoubleType()


def _precision(reader: _Reader, token: _Token, default: int, what: str) -> int:
    sizes = reader.arguments(1)
    return _checked(reader, token, sizes[0], 0, 9, f"The precision of {what}") if sizes else default


def _time(reader: _Reader, token: _Token) -> t.DataType:
    precision = _precision(reader, token, 0, "TIME")
    if reader.take("WITHOUT"):
        reader.expect("TIME")
        reader.expect("ZONE")
    return t.TimeType(precision=precision)


def _timestamp(reader: _Reader, token: _Token) -> t.DataType:
    precision = _precision(reader, token, 6, "TIMESTAMP")
    if reader.take("WITHOUT", "TIME", "ZONE"):
        return t.TimestampType(precision=precision)
    if reader.take("WITH", "LOCAL", "TIME", "ZONE"):
        return t.LocalZonedTimestampType(precision=precision)
    if reader.at("WITH"):
        raise UnsupportedFeatureError(
            "TIMESTAMP WITH TIME ZONE is not a type of tables.", hint="use TIMESTAMP_LTZ, an instant"
        )
    return t.TimestampType(precision=precision)


def _timestamp_ltz(reader: _Reader, token: _Token) -> t.DataType:
    return t.LocalZonedTimestampType(precision=_precision(reader, token, 6, "TIMESTAMP_LTZ"))


_UNITS: Final = ("DAY", "HOUR", "MINUTE", "SECOND")


def _interval(reader: _Reader, _: _Token) -> t.DataType:
    token = reader.current
    unit = token.text.upper()
    reader.index += 1
    if unit in ("YEAR", "MONTH"):
        sizes = reader.arguments(1)
        if unit == "YEAR" and reader.take("TO"):
            reader.expect("MONTH")
            unit = "YEAR_TO_MONTH"
        return t.YearMonthIntervalType(resolution=unit, precision=sizes[0] if sizes else 2)
    if unit not in _UNITS:
        raise reader.error(
            f"An interval is of YEAR, MONTH, DAY, HOUR, MINUTE or SECOND, not of {unit}.", token
        )
    return _day_time(reader, unit, reader.arguments(2 if unit == "SECOND" else 1))


def _day_time(reader: _Reader, unit: str, sizes: list[int]) -> t.DataType:
    if unit == "SECOND":
        fraction = sizes[-1] if sizes else 6
        return t.DayTimeIntervalType(resolution="SECOND", fractional_precision=fraction)
    day = sizes[0] if sizes else 2
    if not reader.take("TO"):
        return t.DayTimeIntervalType(resolution=unit, day_precision=day)
    token = reader.current
    last = token.text.upper()
    if last not in _UNITS[_UNITS.index(unit) + 1 :]:
        raise reader.error(f"{unit} TO {last or 'the end'} is not an interval.", token)
    reader.index += 1
    fraction = (reader.arguments(1) or [6])[0]
    return t.DayTimeIntervalType(
        resolution=f"{unit}_TO_{last}", day_precision=day, fractional_precision=fraction
    )


def _elements(reader: _Reader, count: int) -> list[t.DataType]:
    reader.expect("<")
    found = [reader.type()]
    while len(found) < count:
        reader.expect(",")
        found.append(reader.type())
    reader.expect(">")
    return found


def _array(reader: _Reader, _: _Token) -> t.DataType:
    return t.ArrayType(element_type=_elements(reader, 1)[0])


def _multiset(reader: _Reader, _: _Token) -> t.DataType:
    return t.MultisetType(element_type=_elements(reader, 1)[0])


def _map(reader: _Reader, _: _Token) -> t.DataType:
    key, value = _elements(reader, 2)
    return t.MapType(key_type=key, value_type=value)


def _row(reader: _Reader, _: _Token) -> t.DataType:
    closing = ">" if reader.take("<") else ")"
    if closing == ")":
        reader.expect("(")
    fields: list[t.RowField] = []
    while not reader.at(closing):
        if fields:
            reader.expect(",")
        name = reader.current
        fields.append(reader.field())
        if name.text in (f.name for f in fields[:-1]):
            raise reader.error(f"Field names must be unique; {name.text!r} is there twice.", name)
    reader.expect(closing)
    return t.RowType(fields=tuple(fields))


def _refused(what: str, hint: str) -> Callable[[_Reader, _Token], t.DataType]:
    def refuse(reader: _Reader, token: _Token) -> t.DataType:
        raise UnsupportedFeatureError(
            f"{what} is not a type of tables here.",
            detail=f"at column {token.position + 1} of {reader.text!r}",
            hint=hint,
        )

    return refuse


def _plain(made: t.DataType) -> Callable[[_Reader, _Token], t.DataType]:
    return lambda _reader, _token: made


_READERS: Final[dict[str, Callable[[_Reader, _Token], t.DataType]]] = {
    "CHAR": _char,
    "CHARACTER": _char,
    "VARCHAR": _varchar,
    "STRING": _plain(t.VarCharType()),
    "BOOLEAN": _plain(t.BooleanType()),
    "BINARY": _binary,
    "VARBINARY": _varbinary,
    "BYTES": _plain(t.VarBinaryType()),
    "DECIMAL": _decimal,
    "DEC": _decimal,
    "NUMERIC": _decimal,
    "TINYINT": _plain(t.TinyIntType()),
    "SMALLINT": _plain(t.SmallIntType()),
    "INT": _plain(t.IntType()),
    "INTEGER": _plain(t.IntType()),
    "BIGINT": _plain(t.BigIntType()),
    "FLOAT": _plain(t.FloatType()),
    "REAL": _plain(t.FloatType()),
    "DOUBLE": _double,
    "DATE": _plain(t.DateType()),
    "TIME": _time,
    "TIMESTAMP": _timestamp,
    "TIMESTAMP_LTZ": _timestamp_ltz,
    "INTERVAL": _interval,
    "ARRAY": _array,
    "MULTISET": _multiset,
    "MAP": _map,
    "ROW": _row,
    "NULL": _plain(t.NullType()),
    "VARIANT": _plain(t.VariantType()),
    "BITMAP": _plain(t.BitmapType()),
    "RAW": _refused("RAW", "declare a ROW, or BYTES and serialize the objects yourself"),
    "STRUCTURED": _refused("STRUCTURED", "declare a ROW with the same fields"),
}


@lru_cache(maxsize=4096)
def parse_type(text: str) -> t.DataType:
    """Return the data type that *text* spells.

    :raises TypeTextError: it spells none.
    :raises UnsupportedFeatureError: Flink has the type, Firesteel does not.
    """
    return _Reader(text).whole()
