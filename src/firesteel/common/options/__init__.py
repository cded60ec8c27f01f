"""Every configuration key that Firesteel reads, one module for each area.

A key stands once, here; all other modules read it through its ``ConfigOption``. From these tables come
``docs/configuration.md``, ``firesteel config`` and the checks of a job's configuration (``checks.py``). The
keys of Flink that Firesteel does not read are data: ``flink_keys.txt`` (``flink_keys.py``).
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

from firesteel.common.config_options import ConfigOption
from firesteel.common.options import (
    autoscaler,
    checkpointing,
    cluster,
    execution,
    firesteel,
    high_availability,
    history,
    metrics,
    pipeline,
    python,
    recovery,
    rest,
    restart,
    scaling,
    state,
    table,
    task_memory,
)

__all__ = ["AREAS", "OLDER_NAMES", "OPTIONS", "PRESENT_NAMES"]

AREAS: Final[dict[str, ModuleType]] = {
    "Pipeline": pipeline,
    "Execution": execution,
    "Checkpoints": checkpointing,
    "Recovery": recovery,
    "State": state,
    "Memory": task_memory,
    "Restarts": restart,
    "Python": python,
    "Tables": table,
    "REST API": rest,
    "High availability": high_availability,
    "History server": history,
    "Metrics": metrics,
    "Scaling": scaling,
    "Autoscaler": autoscaler,
    "Session cluster": cluster,
    "Firesteel": firesteel,
}
OPTIONS: Final[dict[str, ConfigOption[Any]]] = {
    option.key: option
    for area in AREAS.values()
    for option in vars(area).values()
    if isinstance(option, ConfigOption)
}
# Present name -> older names, the most recent first.
OLDER_NAMES: Final = {key: option.older_names for key, option in OPTIONS.items() if option.older_names}
# Older name -> present names: one older name may have become two.
PRESENT_NAMES: Final[dict[str, list[str]]] = {}
for _key, _names in OLDER_NAMES.items():
    for _name in _names:
        PRESENT_NAMES.setdefault(_name, []).append(_key)
