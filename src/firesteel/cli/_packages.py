"""Which of the packages that Firesteel names are there, in a version that it takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Final

from firesteel.cli._findings import Finding, fail, note, ok

_REQUIREMENT: Final = re.compile(r"^([\w.-]+)\s*(?:\[[^\]]*\])?\s*([^;]*?)\s*(?:;\s*(.*))?$")
_BOUND: Final = re.compile(r"(>=|<=|==|!=|<|>|~=)\s*([\w.*]+)")
_EXTRA: Final = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
_OURS: Final = frozenset({"dev", "examples"})  # for the work on Firesteel itself


@dataclass(frozen=True, slots=True)
class Requirement:
    """``extra`` None: nothing works without it."""

    package: str
    bounds: str
    extra: str | None

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
    package, bounds, marker = found.groups()
    extra = _EXTRA.search(marker or "")
    return Requirement(package, bounds, None if extra is None else extra[1])


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
    parts = [int(n) for n in re.match(r"[\d.]*", text)[0].split(".") if n]  # type: ignore[index]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def check_packages(wanted_extras: Sequence[str], lines: Sequence[str] | None = None) -> Iterator[Finding]:
    """:param wanted_extras: those that must be there.
    :param lines: the requirements; None: those that firesteel was installed with.
    """
    found = [parse(line) for line in (requires("firesteel") or [] if lines is None else lines)]
    requirements = [requirement for requirement in found if requirement is not None]
    missing = [c for r in requirements if r.extra is None and (c := r.complaint()) is not None]
    for complaint in missing:
        yield fail(complaint, "pip install --upgrade firesteel")
    if not missing:
        yield ok("the packages that Firesteel needs are installed")
    extras = {r.extra for r in requirements if r.extra is not None} - _OURS
    for extra in sorted(set(wanted_extras) - extras):
        yield fail(f"Firesteel has no extra {extra!r}", f"one of: {', '.join(sorted(extras)) or 'none'}")
    for extra in sorted(extras):
        complaints = [c for r in requirements if r.extra == extra and (c := r.complaint()) is not None]
        report = fail if extra in wanted_extras else note
        if complaints:
            what = f"extra {extra}: {', '.join(complaints)}"
            yield report(what, f'pip install "firesteel[{extra}]", here and where the workers run')
        else:
            yield ok(f"extra {extra}")
