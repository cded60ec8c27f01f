"""The cases of all areas."""

from __future__ import annotations

from . import (
    files,
    functions,
    keys,
    options,
    outputs,
    outside,
    patterns,
    processes,
    programs,
    savepoints,
    states,
    surroundings,
    times,
    types,
    windows,
)

_AREAS = (
    *(types, keys, times, windows, patterns, functions),
    *(states, savepoints, outside, files, outputs, programs, surroundings, options, processes),
)
CASES = [case for module in _AREAS for case in module.CASES]
