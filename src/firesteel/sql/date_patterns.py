"""Date and time patterns of Java (``yyyy-MM-dd HH:mm:ss.SSS``): formatting and parsing.

``pattern(text)`` splits a pattern into fields. A pattern of fields of fixed width formats whole columns at
once.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.sql import calendars as c
from firesteel.sql.cast_to_text import digits, fixed_width

__all__ = ["Pattern", "PatternError", "format_column", "pattern"]

_EPOCH: Final = datetime.date(1970, 1, 1).toordinal()
_NANOS: Final = 1_000_000_000
_MONTHS: Final = tuple(calendar.month_name)
_DAYS: Final = tuple(calendar.day_name)


class PatternError(ValueError):
    """A pattern has a letter that means nothing."""


@dataclass(frozen=True, slots=True)
class Field:
    """*count* times a letter, or a text as it is (letter ``'``)."""

    letter: str
    count: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """A local time taken apart."""

    year: int
    month: int
    day: int
    seconds: int
    nanos: int
    days: int
    offset: int = 0
    zone: str = "UTC"


_TOKEN: Final = re.compile(r"'((?:[^']|'')*)'|([a-zA-Z])\2*|([^a-zA-Z']+)")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern. ``fraction``: how many digits of the second it has."""

    fields: tuple[Field, ...]
    text: str

    @property
    def fraction(self) -> int:
        return sum(f.count for f in self.fields if f.letter == "S")

    # ---- formatting

    def format(self, nanos: int, offset: int = 0, zone: str = "UTC") -> str:
        """The text of a local time, in nanoseconds since 1970."""
        seconds, rest = divmod(nanos, _NANOS)
        days, of_day = divmod(seconds, 86_400)
        year, month, day = (int(x) for x in c.civil(days))
        moment = Moment(year, month, day, of_day, rest, days, offset, zone)
        return "".join(f.text if f.letter == "'" else _SHOW[f.letter](f.count, moment) for f in self.fields)

    # ---- parsing

    def parse(self, text: str, lenient: bool = False) -> int | None:
        """Nanoseconds since 1970 of a local time; None: the text does not have this form.

        :param lenient: as ``SimpleDateFormat``: numbers of any width, and values out of range move on; text
            after it does not matter.
        """
        expression, fields = _parser(self, lenient)
        match = expression.match(text) if lenient else expression.fullmatch(text)
        if match is None:
            return None
        found = {
            f.letter: _READ.get(f.letter, _number)(group, f.count, lenient)
            for f, group in zip(fields, match.groups(), strict=True)
        }
        return _assembled(found, lenient)


@lru_cache(maxsize=512)
def pattern(text: str) -> Pattern:
    """:raises PatternError: it is none."""
    fields: list[Field] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise PatternError(f"Pattern ends with an incomplete string literal: {text}")
        quoted, letter, literal = match.groups()
        if letter is not None:
            if letter not in _SHOW:
                raise PatternError(f"Unknown pattern letter: {letter}")
            fields.append(Field(letter, match.end() - match.start()))
        else:
            shown = literal if quoted is None else quoted.replace("''", "'") or "'"
            fields.append(Field("'", 0, shown))
        position = match.end()
    return Pattern(tuple(fields), text)


def _padded(value: int, width: int) -> str:
    return f"{value:0{width}}"


def _year(count: int, m: Moment) -> str:
    return _padded(m.year % 100, 2) if count == 2 else _padded(m.year, count)


_NAME_LENGTHS: Final = {3: 3, 5: 1}  # of other counts names are whole


def _month(count: int, m: Moment) -> str:
    return _MONTHS[m.month][: _NAME_LENGTHS.get(count)] if count >= 3 else _padded(m.month, count)


_QUARTERS: Final = ("1st", "2nd", "3rd", "4th")


def _quarter(count: int, m: Moment) -> str:
    quarter = (m.month + 2) // 3
    names = {3: f"Q{quarter}", 4: f"{_QUARTERS[quarter - 1]} quarter"}
    return names.get(count) or _padded(quarter, 1 if count == 5 else count)


def _weekday(count: int, m: Moment) -> str:
    return _DAYS[(m.days + 3) % 7][: _NAME_LENGTHS.get(max(count, 3))]


def _weekday_number(count: int, m: Moment) -> str:
    return _weekday(count, m) if count >= 3 else _padded((m.days + 4) % 7 + 1, count)


def _first_week(year: int) -> int:
    """The Sunday with which the first week of a year begins: that of the first of January."""
    first = int(c.days_from(year, 1, 1))
    return first - (first + 4) % 7


def _week_year(m: Moment) -> int:
    return m.year + (m.days >= _first_week(m.year + 1))


def _year_of_week(count: int, m: Moment) -> str:
    year = _week_year(m)
    return _padded(year % 100, 2) if count == 2 else _padded(year, count)


def _week_of_year(count: int, m: Moment) -> str:
    return _padded((m.days - _first_week(_week_year(m))) // 7 + 1, count)


def _week_of_month(count: int, m: Moment) -> str:
    first = m.days - m.day + 1
    return _padded((m.days - first + (first + 4) % 7) // 7 + 1, count)


def _era(count: int, m: Moment) -> str:
    if count == 4:
        return "Anno Domini" if m.year > 0 else "Before Christ"
    return ("AD" if m.year > 0 else "BC")[: 1 if count == 5 else 2]


def _fraction(count: int, m: Moment) -> str:
    return f"{m.nanos:09}"[:count].ljust(count, "0")


def _offset(count: int, m: Moment, colon: bool, zulu: bool) -> str:
    if zulu and m.offset == 0:
        return "Z"
    sign = "-" if m.offset < 0 else "+"
    hours, minutes = divmod(abs(m.offset) // 60, 60)
    if zulu and count == 1 and not minutes:
        return f"{sign}{hours:02}"
    return f"{sign}{hours:02}{':' if colon else ''}{minutes:02}"


_Show = Callable[[int, Moment], str]
_SHOW: Final[dict[str, _Show]] = {
    "G": _era,
    "y": _year,
    "u": _year,
    "Y": _year_of_week,
    "w": _week_of_year,
    "W": _week_of_month,
    "F": lambda n, m: _padded((m.day - 1) % 7 + 1, n),
    "M": _month,
    "L": _month,
    "d": lambda n, m: _padded(m.day, n),
    "D": lambda n, m: _padded(m.days - int(c.days_from(m.year, 1, 1)) + 1, n),
    "Q": _quarter,
    "q": _quarter,
    "E": _weekday,
    "e": _weekday_number,
    "c": _weekday_number,
    "a": lambda n, m: "AM" if m.seconds < 43_200 else "PM",
    "H": lambda n, m: _padded(m.seconds // 3600, n),
    "k": lambda n, m: _padded(m.seconds // 3600 or 24, n),
    "K": lambda n, m: _padded(m.seconds // 3600 % 12, n),
    "h": lambda n, m: _padded(m.seconds // 3600 % 12 or 12, n),
    "m": lambda n, m: _padded(m.seconds // 60 % 60, n),
    "s": lambda n, m: _padded(m.seconds % 60, n),
    "S": _fraction,
    "n": lambda n, m: _padded(m.nanos, n),
    "A": lambda n, m: _padded(m.seconds * 1000 + m.nanos // 1_000_000, n),
    "N": lambda n, m: _padded(m.seconds * _NANOS + m.nanos, n),
    "z": lambda n, m: m.zone,
    "V": lambda n, m: m.zone,
    "Z": lambda n, m: _offset(n, m, colon=n >= 5, zulu=False),
    "x": lambda n, m: _offset(n, m, colon=n in (3, 5), zulu=False),
    "X": lambda n, m: _offset(n, m, colon=n in (3, 5), zulu=True),
}


# ---- whole columns


def _fraction_digits(count: int) -> Callable[[dict[str, Any]], list[Any]]:
    return lambda parts: digits(parts["nanos"] // 10 ** (9 - count), count)


_WIDE: Final[dict[tuple[str, int], Callable[[dict[str, Any]], list[Any]]]] = {
    **dict.fromkeys((("y", 4), ("u", 4)), lambda p: digits(p["year"], 4)),
    **dict.fromkeys((("y", 2), ("u", 2)), lambda p: digits(p["year"], 2)),
    ("M", 2): lambda p: digits(p["month"], 2),
    ("d", 2): lambda p: digits(p["day"], 2),
    ("H", 2): lambda p: digits(p["seconds"] // 3600, 2),
    ("h", 2): lambda p: digits((p["seconds"] // 3600 + 11) % 12 + 1, 2),
    ("m", 2): lambda p: digits(p["seconds"] // 60 % 60, 2),
    ("s", 2): lambda p: digits(p["seconds"] % 60, 2),
    **{("S", n): _fraction_digits(n) for n in range(1, 10)},
}


#: For how many seconds what letters show stays the same; of those that are not here it changes more often.
_SHOWN_S: Final = {"y": 86_400, "u": 86_400, "M": 86_400, "d": 86_400, "H": 3600, "h": 3600, "m": 60, "s": 1}
_OFTEN: Final = 8  # a text that occurs so often is not made for each row


def format_column(shown: Pattern, local: Any, unit: int, offsets: Any = None, zone: str = "UTC") -> pa.Array:
    """The texts of local times, counts of *unit* per second. :param offsets: of each, in seconds."""
    plain = all((f.letter, f.count) in _WIDE or (f.letter == "'" and f.text.isascii()) for f in shown.fields)
    if not plain or not len(local):
        scale = _NANOS // unit
        away = np.zeros(len(local), np.int64) if offsets is None else offsets
        texts = [shown.format(int(x) * scale, int(o), zone) for x, o in zip(local, away, strict=True)]
        return pa.array(texts, pa.string())
    step = min((_SHOWN_S.get(f.letter, 0) for f in shown.fields if f.letter != "'"), default=0) * unit
    if step:
        # Texts are the same for a second, a day ...: where there are few of them, each is made once.
        coarse = np.floor_divide(local, step)
        low, high = int(coarse.min()), int(coarse.max())
        if (high - low + 1) * _OFTEN <= len(local) and low * step >= -(2**63):
            each = format_column(shown, np.arange(low, high + 1) * step, unit)
            return each.take(pa.array(coarse - low))
    seconds = np.floor_divide(local, unit)
    days = np.floor_divide(seconds, 86_400)
    year, month, day = c.civil(days)
    parts = {
        "year": year,
        "month": month,
        "day": day,
        "seconds": seconds - days * 86_400,
        "nanos": (local - seconds * unit) * (_NANOS // unit),
    }
    made: list[Any] = []
    for f in shown.fields:
        made += list(f.text) if f.letter == "'" else _WIDE[f.letter, f.count](parts)
    return fixed_width(made, len(local))


# ---- parsing

_NAMES: Final = {
    "a": r"(?i:am|pm)",
    "E": r"[A-Za-z]+",
    "G": r"AD|BC",
    "z": r"[A-Za-z_/+:\-0-9]+",
    "V": r"[A-Za-z_/+:\-0-9]+",
    "Z": r"[+-]\d{2}:?\d{2}|GMT",
    "X": r"Z|[+-]\d{2}(?::?\d{2})?",
    "x": r"[+-]\d{2}(?::?\d{2})?",
}


@lru_cache(maxsize=512)
def _parser(shown: Pattern, lenient: bool) -> tuple[re.Pattern[str], list[Field]]:
    parts: list[str] = []
    fields: list[Field] = []
    for i, f in enumerate(shown.fields):
        if f.letter == "'":
            parts.append(re.escape(f.text))
            continue
        following = shown.fields[i + 1] if i + 1 < len(shown.fields) else None
        adjacent = following is not None and following.letter != "'" and following.letter not in _NAMES
        fields.append(f)
        parts.append(f"({_accepted(f, adjacent, lenient)})")
    return re.compile("".join(parts)), fields


def _accepted(f: Field, adjacent: bool, lenient: bool) -> str:
    if f.letter in _NAMES:
        return _NAMES[f.letter]
    if f.letter in "ML" and f.count >= 3:
        return r"[A-Za-z]+"
    if f.letter == "S":
        return rf"\d{{{f.count}}}" if not lenient else r"\d+"
    if adjacent:
        return rf"\d{{{f.count}}}"
    if lenient:
        return r"\s*-?\d+" if f.letter in "yu" else r"\s*\d+"
    if f.letter in "yu":
        return r"\d{2}" if f.count == 2 else rf"[+-]?\d{{{f.count},9}}"
    return r"\d{1,19}" if f.count == 1 else rf"\d{{{f.count}}}"


def _number(text: str, count: int, lenient: bool) -> int:
    return int(text)


def _read_year(text: str, count: int, lenient: bool) -> int:
    year = int(text)
    return year + 2000 if count == 2 and 0 <= year < 100 and len(text.strip()) == 2 else year


def _read_month(text: str, count: int, lenient: bool) -> int:
    if count < 3:
        return int(text)
    names = [name.lower() if count > 3 else name[:3].lower() for name in _MONTHS]
    word = text.lower()
    return names.index(word) if word in names[1:] else -1


def _read_fraction(text: str, count: int, lenient: bool) -> int:
    if lenient:  # SimpleDateFormat: a number of milliseconds
        return int(text) * 1_000_000
    return int(text.ljust(9, "0")[:9])


def _read_offset(text: str, count: int, lenient: bool) -> int:
    found = c.find_zone(text if text != "Z" else "UTC")
    delta = None if found is None else found.utcoffset(datetime.datetime(2000, 1, 1))
    return 0 if delta is None else int(delta.total_seconds())


_READ: Final[dict[str, Callable[[str, int, bool], Any]]] = {
    "y": _read_year,
    "u": _read_year,
    "M": _read_month,
    "L": _read_month,
    "S": _read_fraction,
    "a": lambda text, count, lenient: text.lower() == "pm",
    "E": lambda text, count, lenient: 0,
    "G": lambda text, count, lenient: text == "AD",
    **dict.fromkeys("zVZXx", _read_offset),
}


def _hour(found: dict[str, Any]) -> int | None:
    if "H" in found:
        return int(found["H"])
    if "k" in found:
        return int(found["k"]) % 24
    for letter in "hK":
        if letter in found:
            return int(found[letter]) % 12 + (12 if found.get("a") else 0)
    return 0


def _assembled(found: dict[str, Any], lenient: bool) -> int | None:
    year = found.get("y", found.get("u", 1970))
    month = found.get("M", found.get("L", 1))
    day, hour = found.get("d", 1), _hour(found)
    minute, second, nanos = found.get("m", 0), found.get("s", 0), found.get("S", 0)
    assert hour is not None
    away = next((found[x] for x in "ZXxzV" if x in found), 0)
    if not lenient:
        inside = 1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 60
        if not inside or not 1 <= year <= 9999:
            return None
        day = min(day, calendar.monthrange(year, month)[1])
    elif not month > 0:
        return None
    days = int(c.days_from(year, month, 1)) + day - 1
    if "D" in found:
        days = int(c.days_from(year, 1, 1)) + int(found["D"]) - 1
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second - away
    return int(seconds) * _NANOS + int(nanos)
