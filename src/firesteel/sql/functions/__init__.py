"""The functions of SQL: what there is to know of each, and what computes it.

``find(sql_name)`` and ``named(name)`` load the modules of this package with the first call.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Final

from firesteel.sql.functions.registry import FUNCTIONS, FunctionDefinition

__all__ = ["find", "load_all", "named", "sql_names"]

_MODULES: Final = (
    "arithmetic",
    "comparison",
    "logic",
    "casting",
    "text",
    "text_search",
    "math",
    "temporal_fields",
    "temporal_arithmetic",
    "temporal_text",
    "temporal_steps",
    "patterns",
    "collections",
    "arrays",
    "maps",
    "json",
    "json_making",
    "bitmap",
    "encodings",
    "formatting",
    "clock",
    "aggregates",
)


@cache
def _by_sql_name() -> dict[str, FunctionDefinition]:
    for module in _MODULES:
        importlib.import_module(f"{__name__}.{module}")
    return {sql: d for d in FUNCTIONS.all() for sql in d.sql_names}


def load_all() -> None:
    """Import every module that registers functions."""
    _by_sql_name()


def find(sql_name: str) -> FunctionDefinition | None:
    """The built-in function that SQL calls so, in any case; None: there is none."""
    return _by_sql_name().get(sql_name.upper())


def named(name: str) -> FunctionDefinition:
    """The built-in function of that name in plans (``Call.function``)."""
    load_all()
    return FUNCTIONS.named(name)


def sql_names() -> list[str]:
    """All names that SQL knows, in order; for hints about misspelt ones."""
    return sorted(_by_sql_name())
