"""Every public method and property of PyFlink's DataStream API is here, or is known not to be.

``tests/data/pyflink_methods.json`` has them by module and class, of apache-flink 2.3.0, those that a class
inherits among them.
"""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

METHODS: dict[str, list[str]] = json.loads(
    (Path(__file__).parent.parent / "data/pyflink_methods.json").read_text()
)

#: They give the Java object behind an object of PyFlink's: there is none.
REFUSED = {
    *("get_java_function", "get_java_memory_size", "get_java_object", "get_java_output_tag"),
    *("get_java_slot_sharing_group", "get_java_type_info"),
}
#: PyFlink's own plumbing, whose one public class nobody uses by itself.
INTERNAL = {"datastream.utils"}


def _class(place: str) -> Any:
    module, _, name = place.partition(":")
    found = importlib.import_module(f"firesteel.{module}")
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.row("S-API-10")
def test_each_is_here_or_refused() -> None:
    missing: set[str] = set()
    for place, names in METHODS.items():
        if place.partition(":")[0] not in INTERNAL:
            cls = _class(place)
            gone = [name for name in names if inspect.getattr_static(cls, name, None) is None]
            missing.update(gone)
            assert set(gone) <= REFUSED, f"{place} has no {sorted(set(gone) - REFUSED)}"
    assert missing == REFUSED, "what is listed as refused is not here"
    assert sum(map(len, METHODS.values())) > 1_100
