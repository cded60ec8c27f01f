"""The cases of all areas."""

from __future__ import annotations

from . import (
    files,
    functions,
    keys,
    options,
    outside,
    patterns,
    processes,
    programs,
    states,
    times,
    types,
    windows,
)

_AREAS = (
    *(types, keys, times, windows, patterns, functions),
    *(states, outside, files, programs, options, processes),
)
CASES = [case for module in _AREAS for case in module.CASES]
