"""Checks which of Firesteel's dependencies are installed in a supported version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from firesteel.cli._findings import Finding, fail, note, ok
from firesteel.common._requirements import declared

_OURS: Final = frozenset({"dev", "examples"})  # for developing Firesteel itself


def check_packages(wanted_extras: Sequence[str], lines: Sequence[str] | None = None) -> Iterator[Finding]:
    """:param wanted_extras: extras that must be installed.
    :param lines: the requirements; None: those of the installed firesteel.
    """
    requirements = declared(lines)
    missing = [(r, c) for r in requirements if r.extra is None and (c := r.complaint()) is not None]
    for requirement, complaint in missing:
        yield fail(complaint, f"pip install '{requirement.specifier}'")
    if not missing:
        yield ok("the packages that Firesteel needs are installed")
    extras = {r.extra for r in requirements if r.extra is not None} - _OURS
    for extra in sorted(set(wanted_extras) - extras):
        yield fail(f"Firesteel has no extra {extra!r}", f"one of: {', '.join(sorted(extras)) or 'none'}")
    for extra in sorted(extras):
        broken = [(r, c) for r in requirements if r.extra == extra and (c := r.complaint()) is not None]
        report = fail if extra in wanted_extras else note
        users = "" if missing else _users_of(extra)
        if broken:
            packages = " ".join(f"'{requirement.specifier}'" for requirement, _ in broken)
            what = f"extra {extra}{users}: {', '.join(complaint for _, complaint in broken)}"
            yield report(what, f"pip install {packages}, here and where the workers run")
        else:
            yield ok(f"extra {extra}{users}")


def _users_of(extra: str) -> str:
    """Return what needs an extra, in brackets for display after its name. Call it only if Firesteel's own
    dependencies are installed."""
    from firesteel.connectors.registry import CONNECTORS, FORMATS

    users = [f"connector {record.name}" for record in CONNECTORS.all() if record.extra == extra]
    users += [f"format {record.name}" for record in FORMATS.all() if record.extra == extra]
    return f" ({', '.join(users)})" if users else ""
