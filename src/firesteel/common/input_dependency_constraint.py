"""When a task may be scheduled (Flink: ``InputDependencyConstraint``)."""

from __future__ import annotations

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """ANY: one input is there. ALL: all inputs are."""

    ANY = 0
    ALL = 1
