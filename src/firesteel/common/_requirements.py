"""The packages that Firesteel names in its metadata, for all of it and for its extras."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Final

_REQUIREMENT: Final = re.compile(r"^([\w.-]+)\s*(\[[^\]]*\])?\s*([^;]*?)\s*(?:;\s*(.*))?$")
_BOUND: Final = re.compile(r"(>=|<=|==|!=|<|>|~=)\s*([\w.*]+)")
_EXTRA: Final = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")


@dataclass(frozen=True, slots=True)
class Requirement:
    """``extra`` None: nothing works without it; ``parts``: the extras of the package itself, in brackets."""

    package: str
    bounds: str
    extra: str | None
    parts: str = ""

    @property
    def specifier(self) -> str:
        """The argument of ``pip install``."""
        return self.package + self.parts + self.bounds.replace(" ", "").strip("()")

    def complaint(self) -> str | None:
        """What is wrong with what is installed; None: nothing."""
        try:
            there = version(self.package)
        except PackageNotFoundError:
            return f"{self.package} is not installed"
        if not satisfies(there, self.bounds):
            return f"{self.package} {there} is installed, {self.bounds} is needed"
        return None


def parse(line: str) -> Requirement | None:
    """A line of a package's metadata (``Requires-Dist``)."""
    found = _REQUIREMENT.match(line)
    if found is None:
        return None
    package, parts, bounds, marker = found.groups()
    extra = _EXTRA.search(marker or "")
    return Requirement(package, bounds, None if extra is None else extra[1], parts or "")


_PYTHON: Final = re.compile(r"""python_version\s*([<>=!~]+)\s*["']([\d.]+)["']""")
_COMPARED: Final[dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]]] = {
    ">=": lambda there, bound: there >= bound,
    "<=": lambda there, bound: there <= bound,
    "<": lambda there, bound: there < bound,
    ">": lambda there, bound: there > bound,
    "!=": lambda there, bound: there != bound,
    "==": lambda there, bound: there[: len(bound)] == bound,
    "~=": lambda there, bound: there >= bound and there[: len(bound) - 1] == bound[:-1],
}


def satisfies(there: str, bounds: str) -> bool:
    """Whether a version is within bounds such as ``>=4.3,<4.4``; by its numbers alone."""
    numbers = _numbers(there)
    return all(_COMPARED[operator](numbers, _numbers(bound)) for operator, bound in _BOUND.findall(bounds))


def _numbers(text: str) -> tuple[int, ...]:
    """``3.2.0rc1`` is as good as ``3.2.0``; zeros at the end do not count."""
    parts = [int(n) for n in re.split(r"[^\d.]", text, maxsplit=1)[0].split(".") if n]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def declared(lines: Sequence[str] | None = None) -> list[Requirement]:
    """The requirements in *lines* of metadata that are for this Python; None: those that firesteel was
    installed with."""
    if lines is None:
        try:
            lines = requires("firesteel") or []
        except PackageNotFoundError:  # a bare source tree on the path
            lines = []
    here = [line for line in lines if _is_for_this_python(line)]
    return [found for line in here if (found := parse(line)) is not None]


def _is_for_this_python(line: str) -> bool:
    this = ".".join(map(str, sys.version_info[:2]))
    return all(satisfies(this, operator + version) for operator, version in _PYTHON.findall(line))


def install_command(extra: str, otherwise: str) -> str:
    """The command that installs the packages of an extra by their own names.

    The name firesteel itself is not registered, so ``pip install 'firesteel[...]'`` may find nothing.

    :param otherwise: the package to name where nothing says what the extra needs.
    """
    found = [r for r in declared() if r.extra == extra]
    words = [r.specifier for r in found] or [otherwise]
    return "pip install " + " ".join(f"'{word}'" for word in words)
