"""Expressions over the columns of a table (PyFlink: ``pyflink.table.expression``)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Generic, TypeVar

from firesteel.common.errors import ProgramError
from firesteel.table import _tree as tree
from firesteel.table._symbols import (
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)
from firesteel.table.types import DataType, DataTypes

__all__ = [
    "Expression",
    "JsonExistsOnError",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
    "TimeIntervalUnit",
    "TimePointUnit",
]


_TEXT: Final = DataTypes.STRING()
T = TypeVar("T")


def tree_of(value: Any) -> tree.Tree:
    """The tree of an expression, or of a constant."""
    if isinstance(value, Expression):
        return value._tree
    if isinstance(value, Enum):
        return tree.Mark(value.name)
    return tree.Value(value)


class Expression(Generic[T]):
    """A column, a constant, or what a function makes of them. Operators of Python are those of SQL."""

    __slots__ = ("_tree",)

    def __init__(self, expression: tree.Tree) -> None:
        self._tree = expression

    def _call(self, function: str, *arguments: Any) -> Expression[Any]:
        return Expression(tree.FunctionCall(function, (self._tree, *map(tree_of, arguments))))

    def _optional(self, function: str, *arguments: Any) -> Expression[Any]:
        """Without the arguments at the end that are None."""
        given = list(arguments)
        while given and given[-1] is None:
            given.pop()
        return self._call(function, *given)

    def __abs__(self) -> Expression[T]:
        return self._call("ABS")

    def __eq__(self, other: object) -> Expression[bool]:  # type: ignore[override]  # as PyFlink's
        return self._call("EQUALS", other)

    def __ne__(self, other: object) -> Expression[bool]:  # type: ignore[override]  # as PyFlink's
        return self._call("NOT_EQUALS", other)

    def __lt__(self, other: Any) -> Expression[bool]:
        return self._call("LESS_THAN", other)

    def __gt__(self, other: Any) -> Expression[bool]:
        return self._call("GREATER_THAN", other)

    def __le__(self, other: Any) -> Expression[bool]:
        return self._call("LESS_THAN_OR_EQUAL", other)

    def __ge__(self, other: Any) -> Expression[bool]:
        return self._call("GREATER_THAN_OR_EQUAL", other)

    def __and__(self, other: Any) -> Expression[bool]:
        return self._call("AND", other)

    def __or__(self, other: Any) -> Expression[bool]:
        return self._call("OR", other)

    def __invert__(self) -> Expression[bool]:
        return self._call("IS_NOT_TRUE")

    def __rand__(self, other: Any) -> Expression[bool]:
        return self._call("AND", other)

    def __ror__(self, other: Any) -> Expression[bool]:
        return self._call("OR", other)

    def __add__(self, other: Any) -> Expression[Any]:
        return self._call("PLUS", other)

    def __sub__(self, other: Any) -> Expression[Any]:
        return self._call("MINUS", other)

    def __mul__(self, other: Any) -> Expression[Any]:
        return self._call("TIMES", other)

    def __truediv__(self, other: Any) -> Expression[Any]:
        return self._call("DIVIDE", other)

    def __mod__(self, other: Any) -> Expression[Any]:
        return self._call("MOD", other)

    def __pow__(self, other: Any) -> Expression[Any]:
        return self._call("POWER", other)

    def __neg__(self) -> Expression[Any]:
        return self._call("MINUS_PREFIX")

    def __radd__(self, other: Any) -> Expression[Any]:
        return Expression(tree_of(other))._call("PLUS", self)

    def __rsub__(self, other: Any) -> Expression[Any]:
        return Expression(tree_of(other))._call("MINUS", self)

    def __rmul__(self, other: Any) -> Expression[Any]:
        return self._call("TIMES", other)

    def __rtruediv__(self, other: Any) -> Expression[Any]:
        return Expression(tree_of(other))._call("DIVIDE", self)

    def __rmod__(self, other: Any) -> Expression[Any]:
        return Expression(tree_of(other))._call("MOD", self)

    def __rpow__(self, other: Any) -> Expression[Any]:
        return Expression(tree_of(other))._call("POWER", self)

    def __getattr__(self, name: str) -> Expression[Any]:
        """A field of a row: ``col('r').x``."""
        if name.startswith("_"):
            raise AttributeError(f"An expression has no attribute {name!r}.")
        return self.get(name)

    def __getitem__(self, index: Any) -> Expression[Any]:
        return self.at(index)

    def __bool__(self) -> bool:
        raise ProgramError(
            "An expression is neither true nor false before the table is computed.",
            hint="use & | ~ in place of and, or, not, and in_() in place of in",
        )

    __hash__ = object.__hash__

    def __str__(self) -> str:
        from firesteel.table._show import show

        return show(self._tree)

    def __repr__(self) -> str:
        return str(self)

    # ---- numbers

    @property
    def exp(self) -> Expression[float]:
        """e to this power."""
        return self._call("EXP")

    @property
    def log10(self) -> Expression[float]:
        """The logarithm of base 10."""
        return self._call("LOG10")

    @property
    def log2(self) -> Expression[float]:
        """The logarithm of base 2."""
        return self._call("LOG2")

    @property
    def ln(self) -> Expression[float]:
        """The natural logarithm."""
        return self._call("LN")

    def log(self, base: Any = None) -> Expression[float]:
        """The natural logarithm, or that of a base."""
        return self._call("LN") if base is None else Expression(tree_of(base))._call("LOG", self)

    @property
    def cosh(self) -> Expression[float]:
        """The hyperbolic cosine."""
        return self._call("COSH")

    @property
    def sinh(self) -> Expression[float]:
        """The hyperbolic sine."""
        return self._call("SINH")

    @property
    def sin(self) -> Expression[float]:
        """The sine."""
        return self._call("SIN")

    @property
    def cos(self) -> Expression[float]:
        """The cosine."""
        return self._call("COS")

    @property
    def tan(self) -> Expression[float]:
        """The tangent."""
        return self._call("TAN")

    @property
    def cot(self) -> Expression[float]:
        """The cotangent."""
        return self._call("COT")

    @property
    def asin(self) -> Expression[float]:
        """The arc sine."""
        return self._call("ASIN")

    @property
    def acos(self) -> Expression[float]:
        """The arc cosine."""
        return self._call("ACOS")

    @property
    def atan(self) -> Expression[float]:
        """The arc tangent."""
        return self._call("ATAN")

    @property
    def tanh(self) -> Expression[float]:
        """The hyperbolic tangent."""
        return self._call("TANH")

    @property
    def degrees(self) -> Expression[float]:
        """Radians as degrees."""
        return self._call("DEGREES")

    @property
    def radians(self) -> Expression[float]:
        """Degrees as radians."""
        return self._call("RADIANS")

    @property
    def sqrt(self) -> Expression[float]:
        """The square root."""
        return self._call("SQRT")

    @property
    def abs(self) -> Expression[T]:
        """Without its sign."""
        return self._call("ABS")

    @property
    def sign(self) -> Expression[T]:
        """-1, 0 or 1."""
        return self._call("SIGN")

    def round(self, places: Any) -> Expression[T]:
        """Rounded to a number of places behind the point."""
        return self._call("ROUND", places)

    def truncate(self, n: Any = 0) -> Expression[T]:
        """Cut behind a number of places."""
        return self._call("TRUNCATE", n)

    @property
    def bin(self) -> Expression[str]:
        """An integer in binary digits."""
        return self._call("BIN")

    @property
    def hex(self) -> Expression[str]:
        """A number or text in hexadecimal digits."""
        return self._call("HEX")

    @property
    def unhex(self) -> Expression[bytes]:
        """The bytes of hexadecimal digits."""
        return self._call("UNHEX")

    # ---- conditions

    def between(self, lower_bound: Any, upper_bound: Any) -> Expression[bool]:
        """Whether it lies between two bounds, or is one of them."""
        return self._call("BETWEEN", lower_bound, upper_bound)

    def not_between(self, lower_bound: Any, upper_bound: Any) -> Expression[bool]:
        """Whether it lies outside of two bounds."""
        return self._call("NOT_BETWEEN", lower_bound, upper_bound)

    def then(self, if_true: Any, if_false: Any) -> Expression[Any]:
        """One value where this is true, else the other one."""
        return self._call("IF_THEN_ELSE", if_true, if_false)

    def if_null(self, null_replacement: Any) -> Expression[Any]:
        """This, or where it is NULL another value."""
        return self._call("IFNULL", null_replacement)

    @property
    def is_null(self) -> Expression[bool]:
        return self._call("IS_NULL")

    @property
    def is_not_null(self) -> Expression[bool]:
        return self._call("IS_NOT_NULL")

    @property
    def is_true(self) -> Expression[bool]:
        return self._call("IS_TRUE")

    @property
    def is_false(self) -> Expression[bool]:
        return self._call("IS_FALSE")

    @property
    def is_not_true(self) -> Expression[bool]:
        """Whether it is false or NULL."""
        return self._call("IS_NOT_TRUE")

    @property
    def is_not_false(self) -> Expression[bool]:
        """Whether it is true or NULL."""
        return self._call("IS_NOT_FALSE")

    def in_(self, first_element_or_table: Any, *remaining_elements: Any) -> Expression[bool]:
        """Whether it is one of some values, or in the only column of a table."""
        from firesteel.table.table import Table

        if isinstance(first_element_or_table, Table):
            if remaining_elements:
                raise ProgramError("in_() takes a table, or values, not both.")
            return Expression(tree.InTable(self._tree, first_element_or_table))
        return self._call("IN", first_element_or_table, *remaining_elements)

    # ---- aggregates

    @property
    def distinct(self) -> Expression[Any]:
        """Of an aggregate: equal values count once."""
        found = self._tree
        if not isinstance(found, tree.FunctionCall) or found.distinct:
            from firesteel.table._resolver import distinct_alone

            raise distinct_alone(found)
        return Expression(tree.FunctionCall(found.function, found.arguments, distinct=True))

    @property
    def sum(self) -> Expression[Any]:
        """The sum; NULL of no values."""
        return self._call("SUM")

    @property
    def sum0(self) -> Expression[Any]:
        """The sum; 0 of no values."""
        return self._call("SUM0")

    @property
    def min(self) -> Expression[Any]:
        """The smallest value."""
        return self._call("MIN")

    @property
    def max(self) -> Expression[Any]:
        """The greatest value."""
        return self._call("MAX")

    @property
    def count(self) -> Expression[int]:
        """The number of values that are not NULL."""
        return self._call("COUNT")

    @property
    def avg(self) -> Expression[Any]:
        """The average, of the type of the values."""
        return self._call("AVG")

    @property
    def first_value(self) -> Expression[Any]:
        """The first value."""
        return self._call("FIRST_VALUE")

    @property
    def last_value(self) -> Expression[Any]:
        """The last value."""
        return self._call("LAST_VALUE")

    def list_agg(self, separator: Any = None) -> Expression[str]:
        """The texts in a row, with a separator (a comma) between them."""
        return self._optional("LISTAGG", separator)

    @property
    def stddev_pop(self) -> Expression[float]:
        """The standard deviation of a population."""
        return self._call("STDDEV_POP")

    @property
    def stddev_samp(self) -> Expression[float]:
        """The standard deviation of a sample."""
        return self._call("STDDEV_SAMP")

    @property
    def var_pop(self) -> Expression[float]:
        """The variance of a population."""
        return self._call("VAR_POP")

    @property
    def var_samp(self) -> Expression[float]:
        """The variance of a sample."""
        return self._call("VAR_SAMP")

    @property
    def collect(self) -> Expression[Any]:
        """The values as a multiset."""
        return self._call("COLLECT")

    @property
    def array_agg(self) -> Expression[Any]:
        """The values as an array."""
        return self._call("ARRAY_AGG")

    def percentile(self, percentage: Any, frequency: Any = None) -> Expression[Any]:
        """The value below which a part of all values lies."""
        return self._optional("PERCENTILE", percentage, frequency)

    # ---- names, types, order

    def alias(self, name: str, *extra_names: str) -> Expression[T]:
        """The same under another name; a table function has one name for each of its columns."""
        for each in (name, *extra_names):
            if not isinstance(each, str):
                raise ProgramError("An alias is a text.", detail=f"got {each!r}")
        return Expression(tree.Alias(self._tree, (name, *extra_names)))

    def as_argument(self, name: str) -> Expression[T]:
        """The argument of a name in the call of a function."""
        return Expression(tree.Argument(self._tree, name))

    def cast(self, data_type: DataType) -> Expression[Any]:
        """As another type; fails where that cannot be."""
        from firesteel.table._conversions import logical_type

        return Expression(tree.TypedCall("CAST", self._tree, logical_type(data_type)))

    def try_cast(self, data_type: DataType) -> Expression[Any]:
        """As another type; NULL where that cannot be."""
        from firesteel.table._conversions import logical_type

        return Expression(tree.TypedCall("TRY_CAST", self._tree, logical_type(data_type)))

    @property
    def asc(self) -> Expression[T]:
        """For ``order_by``: the smallest first."""
        return Expression(tree.Ordered(self._tree, True))

    @property
    def desc(self) -> Expression[T]:
        """For ``order_by``: the greatest first."""
        return Expression(tree.Ordered(self._tree, False))

    # ---- windows

    @property
    def start(self) -> Expression[Any]:
        """The start of a window."""
        return Expression(tree.WindowProperty(self._tree, "start"))

    @property
    def end(self) -> Expression[Any]:
        """The end of a window; not in it."""
        return Expression(tree.WindowProperty(self._tree, "end"))

    @property
    def rowtime(self) -> Expression[Any]:
        """A column as event time, or the time attribute of a window."""
        return Expression(tree.WindowProperty(self._tree, "rowtime"))

    @property
    def proctime(self) -> Expression[Any]:
        """A column as processing time, or that of a window."""
        return Expression(tree.WindowProperty(self._tree, "proctime"))

    def over(self, alias: Any) -> Expression[T]:
        """An aggregate over an over-window of that name."""
        return Expression(tree.OverRef(self._tree, tree_of(alias)))

    # ---- texts

    def concat(self, other: Any) -> Expression[str]:
        """Followed by another text."""
        return self._call("CONCAT", other)

    def starts_with(self, start_expr: Any) -> Expression[bool]:
        return self._call("STARTSWITH", start_expr)

    def ends_with(self, end_expr: Any) -> Expression[bool]:
        return self._call("ENDSWITH", end_expr)

    def substring(self, begin_index: Any, length: Any = None) -> Expression[str]:
        """From a position, counted from 1, to the end or for a number of characters."""
        return self._optional("SUBSTRING", begin_index, length)

    def substr(self, begin_index: Any, length: Any = None) -> Expression[str]:
        """As ``substring``."""
        return self._optional("SUBSTRING", begin_index, length)

    def trim_leading(self, character: Any = None) -> Expression[str]:
        """Without spaces, or another character, at the start."""
        return self._trimmed("LEADING", character)

    def trim_trailing(self, character: Any = None) -> Expression[str]:
        """Without spaces, or another character, at the end."""
        return self._trimmed("TRAILING", character)

    def trim(self, character: Any = None) -> Expression[str]:
        """Without spaces, or another character, at both ends."""
        return self._trimmed("BOTH", character)

    def _trimmed(self, where: str, character: Any) -> Expression[str]:
        character = tree.Value(" ") if character is None else tree_of(character)
        return Expression(tree.FunctionCall("TRIM", (tree.Mark(where), character, self._tree)))

    def replace(self, search: Any = None, replacement: Any = None) -> Expression[str]:
        """With another text in place of each occurrence of one."""
        return self._call("REPLACE", search, replacement)

    def translate(self, from_str: Any, to_str: Any) -> Expression[str]:
        """Each character of one text replaced by that of another at its place."""
        return self._call("TRANSLATE", from_str, to_str)

    @property
    def char_length(self) -> Expression[int]:
        """The number of characters."""
        return self._call("CHAR_LENGTH")

    @property
    def upper_case(self) -> Expression[str]:
        return self._call("UPPER")

    @property
    def lower_case(self) -> Expression[str]:
        return self._call("LOWER")

    @property
    def init_cap(self) -> Expression[str]:
        """Each word with a capital."""
        return self._call("INITCAP")

    def like(self, pattern: Any = None, escape: Any = None) -> Expression[bool]:
        """Whether it fits a pattern of % and _."""
        return self._optional("LIKE", pattern, escape)

    def similar(self, pattern: Any = None) -> Expression[bool]:
        """Whether it fits a regular expression of SQL."""
        return self._call("SIMILAR", pattern)

    def position(self, haystack: Any = None) -> Expression[int]:
        """Where this text is in another one, counted from 1; 0: nowhere."""
        return self._call("POSITION", haystack)

    def lpad(self, length: Any, pad: Any) -> Expression[str]:
        """Filled up on the left."""
        return self._call("LPAD", length, pad)

    def rpad(self, length: Any, pad: Any) -> Expression[str]:
        """Filled up on the right."""
        return self._call("RPAD", length, pad)

    def overlay(self, new_string: Any, starting: Any, length: Any = None) -> Expression[str]:
        """With a part replaced."""
        return self._optional("OVERLAY", new_string, starting, length)

    def regexp(self, regex: Any) -> Expression[bool]:
        """Whether a part of it fits a regular expression."""
        return self._call("REGEXP", regex)

    def regexp_count(self, regex: Any) -> Expression[int]:
        """How often a regular expression fits."""
        return self._call("REGEXP_COUNT", regex)

    def regexp_replace(self, regex: Any, replacement: Any) -> Expression[str]:
        """With each part that fits a regular expression replaced."""
        return self._call("REGEXP_REPLACE", regex, replacement)

    def regexp_extract(self, regex: Any, extract_index: Any = None) -> Expression[str]:
        """What a regular expression, or one of its groups, fits."""
        return self._optional("REGEXP_EXTRACT", regex, extract_index)

    def regexp_extract_all(self, regex: Any, extract_index: Any = None) -> Expression[Any]:
        """All that a regular expression, or one of its groups, fits."""
        return self._optional("REGEXP_EXTRACT_ALL", regex, extract_index)

    def regexp_instr(self, regex: Any) -> Expression[int]:
        """Where a regular expression fits first, counted from 1; 0: nowhere."""
        return self._call("REGEXP_INSTR", regex)

    def regexp_substr(self, regex: Any) -> Expression[str]:
        """The first part that fits a regular expression."""
        return self._call("REGEXP_SUBSTR", regex)

    @property
    def from_base64(self) -> Expression[str]:
        return self._call("FROM_BASE64")

    @property
    def to_base64(self) -> Expression[str]:
        return self._call("TO_BASE64")

    @property
    def ascii(self) -> Expression[int]:
        """The number of the first character."""
        return self._call("ASCII")

    @property
    def chr(self) -> Expression[str]:
        """The character of a number."""
        return self._call("CHR")

    def decode(self, charset: Any) -> Expression[str]:
        """The text of bytes in a character set."""
        return self._call("DECODE", charset)

    def encode(self, charset: Any) -> Expression[bytes]:
        """The bytes of a text in a character set."""
        return self._call("ENCODE", charset)

    def left(self, length: Any) -> Expression[str]:
        """The first characters."""
        return self._call("LEFT", length)

    def right(self, length: Any) -> Expression[str]:
        """The last characters."""
        return self._call("RIGHT", length)

    def instr(self, s: Any) -> Expression[int]:
        """Where a text is in this one, counted from 1; 0: nowhere."""
        return self._call("INSTR", s)

    def locate(self, s: Any, pos: Any = None) -> Expression[int]:
        """Where this text is in another one, from a position on."""
        return self._optional("LOCATE", s, pos)

    def url_decode(self) -> Expression[str]:
        return self._call("URL_DECODE")

    def url_encode(self) -> Expression[str]:
        return self._call("URL_ENCODE")

    def inet_aton(self) -> Expression[int]:
        """The number of an IPv4 address."""
        return self._call("INET_ATON")

    def inet_ntoa(self) -> Expression[str]:
        """The IPv4 address of a number."""
        return self._call("INET_NTOA")

    def parse_url(self, part_to_extract: Any, key: Any = None) -> Expression[str]:
        """A part of a URL."""
        return self._optional("PARSE_URL", part_to_extract, key)

    def printf(self, *obj: Any) -> Expression[str]:
        """This format with values in it."""
        return self._call("PRINTF", *obj)

    def ltrim(self, trim_str: Any = None) -> Expression[str]:
        """Without spaces, or other characters, on the left."""
        return self._optional("LTRIM", trim_str)

    def rtrim(self, trim_str: Any = None) -> Expression[str]:
        """Without spaces, or other characters, on the right."""
        return self._optional("RTRIM", trim_str)

    def btrim(self, trim_str: Any = None) -> Expression[str]:
        """Without spaces, or other characters, on both sides."""
        return self._optional("BTRIM", trim_str)

    def repeat(self, n: Any) -> Expression[str]:
        """A number of times in a row."""
        return self._call("REPEAT", n)

    @property
    def reverse(self) -> Expression[str]:
        """From its end to its start."""
        return self._call("REVERSE")

    def split_index(self, separator: Any, index: Any) -> Expression[str]:
        """The part of a number, counted from 0, between separators."""
        return self._call("SPLIT_INDEX", separator, index)

    def split(self, delimiter: Any) -> Expression[Any]:
        """The parts between delimiters."""
        return self._call("SPLIT", delimiter)

    def str_to_map(self, list_delimiter: Any = None, key_value_delimiter: Any = None) -> Expression[Any]:
        """A map of texts."""
        if list_delimiter is None or key_value_delimiter is None:
            return self._call("STR_TO_MAP")
        return self._call("STR_TO_MAP", list_delimiter, key_value_delimiter)

    def elt(self, expr: Any, *exprs: Any) -> Expression[Any]:
        """Of some values the one of this number, counted from 1."""
        return self._call("ELT", expr, *exprs)

    # ---- times

    @property
    def to_date(self) -> Expression[Any]:
        return Expression(tree.FunctionCall("TO_DATE", (self._tree,)))

    @property
    def to_time(self) -> Expression[Any]:
        from firesteel.sql.types import TimeType

        return Expression(tree.TypedCall("CAST", self._tree, TimeType(0)))

    @property
    def to_timestamp(self) -> Expression[Any]:
        from firesteel.sql.types import TimestampType

        return Expression(tree.TypedCall("CAST", self._tree, TimestampType(3)))

    def extract(self, time_interval_unit: TimeIntervalUnit) -> Expression[int]:
        """A part of a time."""
        return Expression(tree.FunctionCall("EXTRACT", (tree_of(time_interval_unit), self._tree)))

    def floor(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression[Any]:
        """The next whole number, or unit of time, below."""
        return self._optional("FLOOR", time_interval_unit)

    def ceil(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression[Any]:
        """The next whole number, or unit of time, above."""
        return self._optional("CEIL", time_interval_unit)

    def _months(self, factor: int) -> Expression[Any]:
        return self._interval("MONTH", factor)

    def _interval(self, unit: str, factor: int) -> Expression[Any]:
        return Expression(tree.FunctionCall("$INTERVAL", (self._tree, tree.Mark(unit), tree.Value(factor))))

    @property
    def year(self) -> Expression[Any]:
        """A number of years."""
        return self._months(12)

    @property
    def years(self) -> Expression[Any]:
        """A number of years."""
        return self._months(12)

    @property
    def quarter(self) -> Expression[Any]:
        """A number of quarters."""
        return self._months(3)

    @property
    def quarters(self) -> Expression[Any]:
        """A number of quarters."""
        return self._months(3)

    @property
    def month(self) -> Expression[Any]:
        """A number of months."""
        return self._months(1)

    @property
    def months(self) -> Expression[Any]:
        """A number of months."""
        return self._months(1)

    @property
    def week(self) -> Expression[Any]:
        """A number of weeks."""
        return self._interval("MILLISECOND", 604_800_000)

    @property
    def weeks(self) -> Expression[Any]:
        """A number of weeks."""
        return self.week

    @property
    def day(self) -> Expression[Any]:
        """A number of days."""
        return self._interval("MILLISECOND", 86_400_000)

    @property
    def days(self) -> Expression[Any]:
        """A number of days."""
        return self.day

    @property
    def hour(self) -> Expression[Any]:
        """A number of hours."""
        return self._interval("MILLISECOND", 3_600_000)

    @property
    def hours(self) -> Expression[Any]:
        """A number of hours."""
        return self.hour

    @property
    def minute(self) -> Expression[Any]:
        """A number of minutes."""
        return self._interval("MILLISECOND", 60_000)

    @property
    def minutes(self) -> Expression[Any]:
        """A number of minutes."""
        return self.minute

    @property
    def second(self) -> Expression[Any]:
        """A number of seconds."""
        return self._interval("MILLISECOND", 1000)

    @property
    def seconds(self) -> Expression[Any]:
        """A number of seconds."""
        return self.second

    @property
    def milli(self) -> Expression[Any]:
        """A number of milliseconds."""
        return self._interval("MILLISECOND", 1)

    @property
    def millis(self) -> Expression[Any]:
        """A number of milliseconds."""
        return self.milli

    # ---- rows, arrays, maps

    def get(self, name_or_index: Any) -> Expression[Any]:
        """A field of a row, by its name or its number."""
        return Expression(tree.FunctionCall("GET", (self._tree, tree.Mark(name_or_index))))

    @property
    def flatten(self) -> Expression[Any]:
        """Each field of a row as a column."""
        return Expression(tree.FunctionCall("$FLATTEN", (self._tree,)))

    def at(self, index: Any) -> Expression[Any]:
        """The element of an array, counted from 1, or of a map."""
        return self._call("AT", index)

    @property
    def cardinality(self) -> Expression[int]:
        """The number of elements."""
        return self._call("CARDINALITY")

    @property
    def element(self) -> Expression[Any]:
        """The only element of an array."""
        return self._call("ELEMENT")

    def array_append(self, addition: Any) -> Expression[Any]:
        """With one more element at the end."""
        return self._call("ARRAY_APPEND", addition)

    def array_contains(self, needle: Any) -> Expression[bool]:
        """Whether an element is in it."""
        return self._call("ARRAY_CONTAINS", needle)

    def array_distinct(self) -> Expression[Any]:
        """Each element once."""
        return self._call("ARRAY_DISTINCT")

    def array_position(self, needle: Any) -> Expression[int]:
        """Where an element is, counted from 1; 0: nowhere."""
        return self._call("ARRAY_POSITION", needle)

    def array_prepend(self, addition: Any) -> Expression[Any]:
        """With one more element at the start."""
        return self._call("ARRAY_PREPEND", addition)

    def array_remove(self, needle: Any) -> Expression[Any]:
        """Without an element."""
        return self._call("ARRAY_REMOVE", needle)

    def array_reverse(self) -> Expression[Any]:
        """From its end to its start."""
        return self._call("ARRAY_REVERSE")

    def array_slice(self, start_offset: Any, end_offset: Any = None) -> Expression[Any]:
        """From one element to another."""
        return self._optional("ARRAY_SLICE", start_offset, end_offset)

    def array_sort(self, ascending_order: Any = None, null_first: Any = None) -> Expression[Any]:
        """In order."""
        return self._optional("ARRAY_SORT", ascending_order, null_first)

    def array_union(self, array: Any) -> Expression[Any]:
        """The elements of two arrays, each once."""
        return self._call("ARRAY_UNION", array)

    def array_concat(self, *arrays: Any) -> Expression[Any]:
        """Followed by other arrays."""
        return self._call("ARRAY_CONCAT", *arrays)

    def array_max(self) -> Expression[Any]:
        """The greatest element."""
        return self._call("ARRAY_MAX")

    def array_join(self, delimiter: Any, null_replacement: Any = None) -> Expression[str]:
        """The elements as one text."""
        return self._optional("ARRAY_JOIN", delimiter, null_replacement)

    def array_min(self) -> Expression[Any]:
        """The smallest element."""
        return self._call("ARRAY_MIN")

    def array_except(self, array: Any) -> Expression[Any]:
        """Without the elements of another array."""
        return self._call("ARRAY_EXCEPT", array)

    def array_intersect(self, array: Any) -> Expression[Any]:
        """The elements that another array has, too."""
        return self._call("ARRAY_INTERSECT", array)

    @property
    def map_keys(self) -> Expression[Any]:
        """The keys of a map."""
        return self._call("MAP_KEYS")

    def map_union(self, *maps: Any) -> Expression[Any]:
        """With the entries of other maps."""
        return self._call("MAP_UNION", *maps)

    @property
    def map_values(self) -> Expression[Any]:
        """The values of a map."""
        return self._call("MAP_VALUES")

    @property
    def map_entries(self) -> Expression[Any]:
        """The entries of a map as rows."""
        return self._call("MAP_ENTRIES")

    # ---- hashes

    @property
    def md5(self) -> Expression[str]:
        return self._call("MD5")

    @property
    def sha1(self) -> Expression[str]:
        return self._call("SHA1")

    @property
    def sha224(self) -> Expression[str]:
        return self._call("SHA224")

    @property
    def sha256(self) -> Expression[str]:
        return self._call("SHA256")

    @property
    def sha384(self) -> Expression[str]:
        return self._call("SHA384")

    @property
    def sha512(self) -> Expression[str]:
        return self._call("SHA512")

    def sha2(self, hash_length: Any) -> Expression[str]:
        """A hash of 224, 256, 384 or 512 bits."""
        return self._call("SHA2", hash_length)

    # ---- JSON

    def is_json(self, json_type: JsonType | None = None) -> Expression[bool]:
        """Whether a text is JSON."""
        return self._optional("IS_JSON", json_type)

    def json_exists(self, path: str, on_error: JsonExistsOnError | None = None) -> Expression[bool]:
        """Whether a path leads to something."""
        clauses = {} if on_error is None else {"ON ERROR": tree.Mark(on_error.name)}
        return self._with_clauses("JSON_EXISTS", path, clauses)

    def json_value(
        self,
        path: str,
        returning_type: DataType = _TEXT,
        on_empty: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_empty: Any = None,
        on_error: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_error: Any = None,
    ) -> Expression[Any]:
        """The scalar that a path leads to."""
        from firesteel.table._conversions import logical_type

        clauses: dict[str, tree.Tree] = {"RETURNING": tree.Mark(logical_type(returning_type))}
        for clause, chosen, default in (
            ("ON EMPTY", on_empty, default_on_empty),
            ("ON ERROR", on_error, default_on_error),
        ):
            if chosen is JsonValueOnEmptyOrError.DEFAULT:
                clauses[clause] = tree_of(default)
            elif chosen is not JsonValueOnEmptyOrError.NULL:
                clauses[clause] = tree.Mark(chosen.name)
        return self._with_clauses("JSON_VALUE", path, clauses)

    def json_query(
        self,
        path: str,
        wrapping_behavior: JsonQueryWrapper = JsonQueryWrapper.WITHOUT_ARRAY,
        on_empty: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
        on_error: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
    ) -> Expression[str]:
        """The JSON that a path leads to, as text."""
        clauses: dict[str, tree.Tree] = {}
        if wrapping_behavior is not JsonQueryWrapper.WITHOUT_ARRAY:
            clauses["WRAPPER"] = tree.Mark(wrapping_behavior.name.removesuffix("_ARRAY"))
        for clause, chosen in (("ON EMPTY", on_empty), ("ON ERROR", on_error)):
            if chosen is not JsonQueryOnEmptyOrError.NULL:
                clauses[clause] = tree.Mark(chosen.name.replace("_", " "))
        return self._with_clauses("JSON_QUERY", path, clauses)

    def _with_clauses(self, function: str, path: str, clauses: Mapping[str, tree.Tree]) -> Expression[Any]:
        """A function of JSON: its clauses are pairs of a keyword and what it is."""
        pairs = [part for name, value in clauses.items() for part in (tree.Mark(name), value)]
        return Expression(tree.FunctionCall(function, (self._tree, tree_of(path), *pairs)))

    def json_quote(self) -> Expression[str]:
        """A text as JSON."""
        return self._call("JSON_QUOTE")

    def json_unquote(self) -> Expression[str]:
        """The text of a JSON text."""
        return self._call("JSON_UNQUOTE")

    def object_update(self, *kv: Any) -> Expression[Any]:
        """A structured object with other fields."""
        return self._call("OBJECT_UPDATE", *kv)

    # ---- bitmaps

    def bitmap_and(self, bitmap2: Any) -> Expression[Any]:
        return self._call("BITMAP_AND", bitmap2)

    def bitmap_andnot(self, bitmap2: Any) -> Expression[Any]:
        return self._call("BITMAP_ANDNOT", bitmap2)

    def bitmap_and_agg(self) -> Expression[Any]:
        return self._call("BITMAP_AND_AGG")

    def bitmap_and_cardinality_agg(self) -> Expression[Any]:
        return self._call("BITMAP_AND_CARDINALITY_AGG")

    def bitmap_build(self) -> Expression[Any]:
        return self._call("BITMAP_BUILD")

    def bitmap_build_agg(self) -> Expression[Any]:
        return self._call("BITMAP_BUILD_AGG")

    def bitmap_build_cardinality_agg(self) -> Expression[Any]:
        return self._call("BITMAP_BUILD_CARDINALITY_AGG")

    def bitmap_cardinality(self) -> Expression[Any]:
        return self._call("BITMAP_CARDINALITY")

    def bitmap_from_bytes(self) -> Expression[Any]:
        return self._call("BITMAP_FROM_BYTES")

    def bitmap_or(self, bitmap2: Any) -> Expression[Any]:
        return self._call("BITMAP_OR", bitmap2)

    def bitmap_or_agg(self) -> Expression[Any]:
        return self._call("BITMAP_OR_AGG")

    def bitmap_or_cardinality_agg(self) -> Expression[Any]:
        return self._call("BITMAP_OR_CARDINALITY_AGG")

    def bitmap_to_array(self) -> Expression[Any]:
        return self._call("BITMAP_TO_ARRAY")

    def bitmap_to_bytes(self) -> Expression[Any]:
        return self._call("BITMAP_TO_BYTES")

    def bitmap_to_string(self) -> Expression[Any]:
        return self._call("BITMAP_TO_STRING")

    def bitmap_xor(self, bitmap2: Any) -> Expression[Any]:
        return self._call("BITMAP_XOR", bitmap2)

    def bitmap_xor_agg(self) -> Expression[Any]:
        return self._call("BITMAP_XOR_AGG")

    def bitmap_xor_cardinality_agg(self) -> Expression[Any]:
        return self._call("BITMAP_XOR_CARDINALITY_AGG")
