"""JSON paths of SQL/JSON as Flink reads them: ``lax $.a.b[0]``, ``strict $..c``, ``$.a[?(@.b > 1)]``.

Without ``lax`` or ``strict`` a path is strict. A path is definite if it can mean one value at most; an
indefinite one gives a list.
"""

from __future__ import annotations

import decimal
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

__all__ = ["JsonPath", "JsonPathError", "PathNotFoundError", "json_path"]


class JsonPathError(ValueError):
    """A text is no JSON path."""


class PathNotFoundError(ValueError):
    """A definite path leads to nothing."""


Step = Callable[[Any], Iterator[Any]]


@dataclass(frozen=True, slots=True)
class JsonPath:
    strict: bool
    definite: bool
    steps: tuple[Step, ...]
    text: str
    #: names and places only; None: there are other steps
    plain: tuple[str | int, ...] | None = None

    def find(self, document: Any) -> Any:
        """What a plain path leads to; None: nothing, or JSON's null."""
        assert self.plain is not None
        try:
            for part in self.plain:
                document = document[part]
        except (KeyError, IndexError, TypeError):
            return None
        return document

    def read(self, document: Any) -> Any:
        """The value, or a list of values of an indefinite path.

        :raises PathNotFoundError: it is strict and leads to nothing.
        """
        found = [document]
        for step in self.steps:
            found = [value for item in found for value in step(item)]
        if not self.definite:
            return found
        if found:
            return found[0]
        if self.strict:
            raise PathNotFoundError(f"No results for path: {self.text}")
        return None


_MODE: Final = re.compile(r"\s*(?:(lax|strict)\s+)?(\$.*)", re.IGNORECASE | re.DOTALL)
_NAME: Final = re.compile(r"\.([\w\-$@]+(?:\(\))?|\*)")
_QUOTED: Final = re.compile(
    r"\[\s*((?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?:\s*,\s*(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"))*)\s*\]"
)
_INDEX: Final = re.compile(r"\[\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*\]")
_SLICE: Final = re.compile(r"\[\s*(-?\d+)?\s*:\s*(-?\d+)?\s*\]")
_STAR: Final = re.compile(r"\[\s*\*\s*\]")
_FILTER: Final = re.compile(r"\[\s*\?\s*\(")


@lru_cache(maxsize=1024)
def json_path(text: str) -> JsonPath:
    """:raises JsonPathError: it is none."""
    match = _MODE.fullmatch(text)
    if match is None:
        raise JsonPathError(
            f"Illegal jsonpath spec '{text}', format of the spec should be: '<lax|strict> ${{expr}}'"
        )
    mode, path = match.groups()
    definite, steps = _steps(path.rstrip())
    return JsonPath((mode or "strict").lower() == "strict", definite, steps, path, _plain(path.rstrip()))


_PLAIN: Final = re.compile(r"\$((?:\.[A-Za-z_]\w*|\[\d+\])*)")


def _plain(path: str) -> tuple[str | int, ...] | None:
    match = _PLAIN.fullmatch(path)
    if match is None:
        return None
    parts = re.findall(r"\.(\w+)|\[(\d+)\]", match[1])
    return tuple(name if name else int(number) for name, number in parts)


def _steps(path: str) -> tuple[bool, tuple[Step, ...]]:
    steps: list[Step] = []
    definite = True
    position = 1
    while position < len(path):
        if path.startswith("..", position):
            steps.append(_descend)
            definite = False
            position += 1 if path[position + 2 : position + 3] != "[" else 2
            continue
        if path.startswith(".[", position):
            position += 1
        step, single, position = _step(path, position)
        steps.append(step)
        definite = definite and single
    return definite, tuple(steps)


def _step(path: str, position: int) -> tuple[Step, bool, int]:
    if match := _NAME.match(path, position):
        if match[1] == "*":
            return _all, False, match.end()
        if match[1].endswith("()"):
            return _function(match[1]), True, match.end()
        return _member((match[1],)), True, match.end()
    if match := _QUOTED.match(path, position):
        names = tuple(_unquoted(q) for q in re.findall(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", match[1]))
        return _member(names), len(names) == 1, match.end()
    if match := _INDEX.match(path, position):
        numbers = tuple(int(n) for n in match[1].split(","))
        return _item(numbers), len(numbers) == 1, match.end()
    if match := _SLICE.match(path, position):
        bounds = tuple(None if g is None else int(g) for g in match.groups())
        return _slice(bounds[0], bounds[1]), False, match.end()
    if match := _STAR.match(path, position):
        return _all, False, match.end()
    if match := _FILTER.match(path, position):
        end = _closing(path, match.end())
        return _filtered(path[match.end() : end]), False, path.index("]", end) + 1
    raise JsonPathError(f"Illegal jsonpath '{path}' at {position}")


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def _closing(path: str, start: int) -> int:
    depth = 1
    quote = ""
    for i in range(start, len(path)):
        character = path[i]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "()":
            depth += 1 if character == "(" else -1
            if depth == 0:
                return i
    raise JsonPathError(f"Illegal jsonpath '{path}': a parenthesis is not closed")


def _member(names: tuple[str, ...]) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict):
            if len(names) > 1:
                yield {n: value[n] for n in names if n in value}
            elif names[0] in value:
                yield value[names[0]]

    return step


def _item(numbers: tuple[int, ...]) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            for number in numbers:
                if -len(value) <= number < len(value):
                    yield value[number]

    return step


def _slice(start: int | None, end: int | None) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from value[start:end]

    return step


def _all(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _descend(value: Any) -> Iterator[Any]:
    """The value and everything in it."""
    yield value
    for child in _all(value):
        yield from _descend(child)


_FUNCTIONS: Final[dict[str, Callable[[list[Any]], Any]]] = {
    "length()": len,
    "size()": len,
    "min()": min,
    "max()": max,
    "sum()": sum,
}


def _function(name: str) -> Step:
    if name not in _FUNCTIONS:
        raise JsonPathError(f"Function with name: {name} does not exist.")

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield _FUNCTIONS[name](value)

    return step


# ---- filters

_COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TERM: Final = re.compile(
    r"\s*(!?)\s*(@[^\s=!<>&|]*)\s*(?:(==|!=|<=|>=|<|>|=~)\s*('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|/(?:[^/\\]|\\.)*/i?|"
    r"-?[\d.]+(?:[eE][+-]?\d+)?|true|false|null|@[^\s=!<>&|]*))?\s*(&&|\|\|)?"
)
Test = Callable[[Any], bool]


def _filtered(text: str) -> Step:
    test = _test(text)

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from (item for item in value if test(item))
        elif isinstance(value, dict) and test(value):
            yield value

    return step


def _test(text: str) -> Test:
    groups: list[list[Test]] = [[]]
    position = 0
    while position < len(text):
        match = _TERM.match(text, position)
        if match is None or match.end() == position:
            raise JsonPathError(f"Could not parse the filter '{text}'")
        groups[-1].append(_term(*match.groups()[:4]))
        if match[5] == "||":
            groups.append([])
        position = match.end()
    return lambda item: any(all(t(item) for t in group) for group in groups)


def _term(negated: str, path: str, sign: str | None, literal: str | None) -> Test:
    left = json_path("lax $" + path[1:])
    if sign is None or literal is None:
        return lambda item: _exists(left, item) != bool(negated)
    if sign == "=~":
        flags = re.IGNORECASE if literal.endswith("i") else 0
        expression = re.compile(literal.strip("i").strip("/"), flags)
        return lambda item: (
            isinstance(left.read(item), str) and expression.fullmatch(left.read(item)) is not None
        )
    right = json_path("lax $" + literal[1:]) if literal.startswith("@") else None
    value = None if right is not None else _literal(literal)
    compare = _COMPARE[sign]

    def test(item: Any) -> bool:
        try:
            return bool(compare(left.read(item), value if right is None else right.read(item)))
        except TypeError:
            return False

    return test


def _exists(path: JsonPath, item: Any) -> bool:
    found = [item]
    for step in path.steps:
        found = [value for one in found for value in step(one)]
    return bool(found)


def _literal(text: str) -> Any:
    if text[0] in "'\"":
        return _unquoted(text)
    if text in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text]
    return int(text) if re.fullmatch(r"-?\d+", text) else decimal.Decimal(text)
