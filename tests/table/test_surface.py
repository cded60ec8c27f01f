"""What PyFlink 2.3 has in ``pyflink.table`` is here, under the same names."""

from __future__ import annotations

import functools
import importlib
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

SURFACE: dict[str, Any] = json.loads(
    (Path(__file__).parent / "data" / "surface.json").read_text(encoding="utf-8")
)
#: What there is not, and why. The list may only become shorter.
MISSING: dict[str, str] = {}
#: Methods that cannot be called as in PyFlink, and why.
OTHERWISE = {"Expression.__neg__": "an operator has no further arguments"}


@functools.cache
def _module(name: str) -> Any:
    return importlib.import_module(f"firesteel.{name}")


@pytest.mark.row("S-SQL-02")
@pytest.mark.parametrize("module", SURFACE["names"])
def test_a_module_has_its_names(module: str) -> None:
    found = _module(module)
    assert [name for name in SURFACE["names"][module] if not hasattr(found, name)] == []


def _class(place: str) -> tuple[str, type]:
    module, _, name = place.partition(":")
    return name, functools.reduce(getattr, name.split("."), _module(module))


@pytest.mark.row("S-SQL-02")
@pytest.mark.parametrize("place", SURFACE["members"])
def test_a_class_has_its_members(place: str) -> None:
    name, found = _class(place)
    absent = {f"{name}.{member}" for member in SURFACE["members"][place] if not hasattr(found, member)}
    assert absent == {what for what in MISSING if what.rpartition(".")[0] == name}


@pytest.mark.row("S-SQL-02")
@pytest.mark.parametrize("place", SURFACE["members"])
def test_members_take_the_arguments_that_they_take_in_pyflink(place: str) -> None:
    name, found = _class(place)
    wrong = set()
    for member, given in SURFACE["members"][place].items():
        if given is not None and hasattr(found, member) and not _takes(found, member, given):
            wrong.add(f"{name}.{member}")
    assert wrong == {what for what in OTHERWISE if what.rpartition(".")[0] == name}


def _takes(owner: type, member: str, parameters: str) -> bool:
    """Whether calls with all arguments, by position and by name, and with the needed ones, are legal."""
    static, made = inspect.getattr_static(owner, member), getattr(owner, member)
    if isinstance(static, property) or not callable(made):
        return True
    every = [part for part in parameters.split(", ") if part]
    named = [part for part in every if not part.startswith("*")]
    several = ["more"] if any(part.startswith("*") and not part.startswith("**") for part in every) else []
    bound = [] if isinstance(static, staticmethod | classmethod) or inspect.isclass(made) else ["self"]
    needed = [part for part in named if not part.endswith("=")]
    try:
        signature = inspect.signature(made)
        signature.bind(*bound, *named, *several)
        signature.bind(*bound, *needed)
        signature.bind(*bound, **{part.rstrip("="): part for part in named})
    except TypeError:
        return False
    return True
