"""Where the classes are now that pickles of earlier releases name.

A pickle names a class by its module. Objects of users are pickled still, so a name of ours that was ever in
one is here for good once its class has moved.
"""

from __future__ import annotations

import importlib
import io
import pickle
from typing import Any, Final

#: The first name of a module -> its name now.
MODULES: Final[dict[str, str]] = {
    "firesteel.connectors._sink_api": "firesteel.program.sinks",
    "firesteel.connectors.bad_records": "firesteel.program.bad_records",
    "firesteel.connectors.base": "firesteel.program.sources",
    "firesteel.datastream._aggregates": "firesteel.program.functions.aggregates",
    "firesteel.datastream._async_functions": "firesteel.program.functions.asynchronous",
    "firesteel.datastream._call_site": "firesteel.program.call_site",
    "firesteel.datastream._checks": "firesteel.program.checks",
    "firesteel.datastream._evictors": "firesteel.program.windows.evictors",
    "firesteel.datastream._function_classes": "firesteel.program.functions.base",
    "firesteel.datastream._join_functions": "firesteel.program.functions.join",
    "firesteel.datastream._legacy_connectors": "firesteel.program.functions.legacy_connectors",
    "firesteel.datastream._operators": "firesteel.program.operators",
    "firesteel.datastream._process_functions": "firesteel.program.functions.process",
    "firesteel.datastream._python_settings": "firesteel.program.python_settings",
    "firesteel.datastream._salted_stages": "firesteel.program.functions.salted",
    "firesteel.datastream._sink_wrappers": "firesteel.program.sink_wrappers",
    "firesteel.datastream._state_descriptors": "firesteel.program.state.descriptors",
    "firesteel.datastream._state_futures": "firesteel.program.state.futures",
    "firesteel.datastream._state_kinds": "firesteel.program.state.kinds",
    "firesteel.datastream._state_ttl": "firesteel.program.state.ttl",
    "firesteel.datastream._stateful_triggers": "firesteel.program.windows.stateful_triggers",
    "firesteel.datastream._transformations": "firesteel.program.transformations",
    "firesteel.datastream._triggers": "firesteel.program.windows.triggers",
    "firesteel.datastream._two_phase_commit": "firesteel.program.functions.two_phase_commit",
    "firesteel.datastream._window_assigner_base": "firesteel.program.windows.assigner",
    "firesteel.datastream._window_assigners": "firesteel.program.windows.assigners",
    "firesteel.datastream._window_functions": "firesteel.program.functions.window",
    "firesteel.datastream._windows": "firesteel.program.windows.windows",
    "firesteel.datastream.async_retry_predicates": "firesteel.program.functions.retry_predicates",
    "firesteel.datastream.async_retry_strategies": "firesteel.program.functions.retry_strategies",
    "firesteel.datastream.checkpoint_config": "firesteel.program.checkpoint_config",
    "firesteel.datastream.checkpointing_mode": "firesteel.program.checkpointing_mode",
    "firesteel.datastream.execution_mode": "firesteel.program.execution_mode",
    "firesteel.datastream.externalized_checkpoint_retention": "firesteel.program.retention",
    "firesteel.datastream.output_tag": "firesteel.program.output_tag",
    "firesteel.datastream.time_domain": "firesteel.program.time_domain",
    "firesteel.datastream.timerservice": "firesteel.program.timerservice",
}
#: The module now, and the first name of a class in it -> the class's name now.
NAMES: Final[dict[tuple[str, str], str]] = {
    ("firesteel.jobmanager.sources", "_SplitProgress"): "SplitProgress",
}
_FIRST: Final = {now: first for first, now in MODULES.items()}


def lasting(module_name: str) -> str:
    """The first name of a module of ours: that is the one in the bytes of keys, which must never change."""
    return _FIRST.get(module_name, module_name)


def present(module_name: str, global_name: str) -> tuple[str, str]:
    """Module and name now of what was stored under these."""
    module_name = MODULES.get(module_name, module_name)
    return module_name, NAMES.get((module_name, global_name), global_name)


def loads(data: bytes) -> Any:
    """Unpickle, whatever release has written it."""
    try:
        return pickle.loads(data)
    except (ImportError, AttributeError):  # of a class that is elsewhere now, or not there at all
        return _Unpickler(io.BytesIO(data)).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        return find(module_name, global_name)


def find(module_name: str, global_name: str) -> Any:
    """The class or function that was stored under these names.

    :raises ImportError, AttributeError: there is none.
    """
    module_name, global_name = present(module_name, global_name)
    found: Any = importlib.import_module(module_name)
    for part in global_name.split("."):
        found = getattr(found, part)
    return found
