"""Which methods of the public surface are setters, what a call has changed, and whether that is read."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import sys
import types
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import firesteel

ROOT = Path(firesteel.__file__).parent
PUBLIC = ("firesteel.common", "firesteel.datastream", "firesteel.table")
_VERB = re.compile(
    r"(set|enable|disable|with|use|ignore|force|register|configure|start_new|add_(?:jars|classpaths|python|source))(_|$)"
)


def public_classes() -> list[type]:
    """Every class that a public module of the API names, with the classes inside of it and its builders."""
    found: dict[type, None] = {}
    for module in pkgutil.walk_packages(firesteel.__path__, "firesteel."):
        hidden = any(part.startswith("_") for part in module.name.split("."))
        if not hidden and module.name.startswith(PUBLIC):
            for value in _offered(importlib.import_module(module.name)):
                _take(value, found)
    return sorted(found, key=lambda cls: (cls.__module__, cls.__qualname__))


def _offered(module: types.ModuleType) -> Iterator[Any]:
    for name in getattr(module, "__all__", ()):
        yield getattr(module, name)


def _take(value: Any, found: dict[type, None]) -> None:
    if isinstance(value, type) and value.__module__.startswith("firesteel.") and value not in found:
        found[value] = None
        for name, inner in vars(value).items():
            if not name.startswith("_"):
                _take(inner, found)
        for name, other in vars(sys.modules[value.__module__]).items():
            if name.endswith("Builder") and not name.startswith("_"):
                _take(other, found)


def setters_of(cls: type, public: set[type]) -> list[str]:
    """The setters of a class, without those that it has from another public one.

    A setter is named by one of the usual verbs, or returns the object that it was called on, or belongs to a
    builder and neither builds nor reads.
    """
    found = []
    for name in dir(cls):
        raw = inspect.getattr_static(cls, name)
        if name.startswith("_") or not inspect.isfunction(raw):
            continue
        owner = next(base for base in cls.__mro__ if name in vars(base))
        if owner is not cls and owner in public:
            continue
        returned = str(raw.__annotations__.get("return")).rpartition(".")[2].partition("[")[0]
        builder = "Builder" in cls.__name__ and not re.match(r"build$|get_|size$", name)
        if _VERB.match(name) or returned in ("Self", cls.__name__) or builder:
            found.append(name)
    return found


def differences(one: Any, other: Any, name: str = "") -> set[str]:
    """The names of the fields in which two objects differ, as deep inside as can be told."""
    if one is other:
        return set()
    if type(one) is not type(other) or isinstance(one, (Enum, type, types.FunctionType)):
        return {name}
    if isinstance(one, types.MethodType):
        return differences(one.__self__, other.__self__, name)
    parts, others = _parts(one, name), _parts(other, name)
    if parts is None or others is None:
        return {name} if one != other else set()
    if parts.keys() != others.keys():
        return {name}
    return set().union(*(differences(part, others[key][0], of) for key, (part, of) in parts.items()), set())


def _parts(value: Any, name: str) -> dict[Any, tuple[Any, str]] | None:
    """What an object consists of, each part with the name of the field that it is in; None: no parts."""
    if isinstance(value, Mapping):
        return {key: (part, name) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        fields = getattr(value, "_fields", (name,) * len(value))
        return dict(enumerate(zip(value, fields, strict=True)))
    if not type(value).__module__.startswith(("firesteel", "tests")):
        return None
    if type(value).__reduce__ is not object.__reduce__:  # it knows what it is made of
        return _parts(value.__reduce__()[1], name)
    names = [n for cls in type(value).__mro__ for n in _slots(cls)] + list(getattr(value, "__dict__", ()))
    return {n: (getattr(value, n), n) for n in names if hasattr(value, n)}


def _slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


@cache
def read_names() -> frozenset[str]:
    """The fields that the product's code reads to do something with them.

    Comparisons and texts of an object do not count. What a getter reads counts where the getter is read, and
    a field that is only copied to one of the same name does not count as read.
    """
    reads: dict[str, set[str]] = {}  # name of a getter, or "" -> what is read there
    for path in ROOT.rglob("*.py"):
        _read_in(ast.parse(path.read_text()), "", reads)
    known = set(reads.get("", ()))
    todo = list(known)
    while todo:
        for name in reads.pop(todo.pop(), set()) - known:
            known.add(name)
            todo.append(name)
    return frozenset(known)


def _read_in(node: ast.AST, where: str, reads: dict[str, set[str]]) -> None:
    for child in ast.iter_child_nodes(node):
        here = where
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            here = _getter(child, where)
            if here is None:
                continue
        elif isinstance(child, ast.keyword) and child.arg:
            _read_in_copy(child, where, reads)
            continue
        elif isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Load):
            reads.setdefault(where, set()).add(child.attr)
        _read_in(child, here, reads)


def _read_in_copy(keyword: ast.keyword, where: str, reads: dict[str, set[str]]) -> None:
    found: dict[str, set[str]] = {}
    _read_in(keyword, where, found)
    for place, names in found.items():
        reads.setdefault(place, set()).update(names - {keyword.arg, f"_{keyword.arg}"})


def _getter(function: ast.FunctionDef | ast.AsyncFunctionDef, where: str) -> str | None:
    """The name under which the reads of a function count: "" for always; None: never."""
    if function.name in ("__eq__", "__hash__", "__repr__", "__str__", "_key"):
        return None
    decorators = {ast.unparse(decorator) for decorator in function.decorator_list}
    if decorators & {"property", "cached_property"} or re.match(r"get_|is_|has_", function.name):
        return function.name
    return where


def fields_nobody_reads(names: set[str]) -> set[str]:
    return {name for name in names if name not in read_names()}
