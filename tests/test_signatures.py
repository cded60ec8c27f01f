"""Public methods take their arguments by PyFlink's names, so that programs may write them as keywords.

``tests/data/pyflink_signatures.json`` holds the names as ``inspect.signature`` gives them for apache-flink
2.3.0, by module and class; constructors are left out, because many of PyFlink's take Java objects.
"""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path

SIGNATURES = json.loads((Path(__file__).parent / "data/pyflink_signatures.json").read_text())


def test_parameters_have_the_names_of_pyflink() -> None:
    wrong, compared = [], 0
    for place, methods in SIGNATURES.items():
        module, _, name = place.partition(":")
        try:
            cls = getattr(importlib.import_module(f"firesteel.{module}"), name, None)
        except ModuleNotFoundError:
            continue  # a module that is not offered
        for method, theirs in methods.items():
            found = None if cls is None else inspect.getattr_static(cls, method, None)
            plain = found.__func__ if isinstance(found, staticmethod | classmethod) else found
            if not inspect.isfunction(plain):
                continue
            ours = list(inspect.signature(plain).parameters)[0 if isinstance(found, staticmethod) else 1 :]
            compared += 1
            if ours[: len(theirs)] != theirs:
                wrong.append(f"{place}.{method}: {ours}, PyFlink: {theirs}")
    assert compared > 1000
    assert wrong == []
