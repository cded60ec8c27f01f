"""What a planner knows beside the query: settings, functions, connectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from firesteel.common.config_options import ConfigOption
from firesteel.common.configuration import Configuration
from firesteel.common.options import table as options
from firesteel.sql.functions import load_all
from firesteel.sql.functions.registry import FUNCTIONS, FunctionDefinition

__all__ = ["PlannerContext"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlannerContext:
    """:param functions: those of users by the name that the plan has for them.
    :param scan: a ResolvedTable -> what reads it. :param lookup: a ResolvedTable, the columns asked and those
        wanted -> what looks rows up, or None."""

    configuration: Configuration
    batch: bool = False
    functions: Mapping[str, FunctionDefinition] = field(default_factory=dict)
    scan: Callable[[Any], Any] | None = None
    lookup: Callable[[Any, tuple[int, ...], tuple[int, ...]], Any] | None = None

    def get(self, option: ConfigOption[T]) -> T:
        return self.configuration.get(option)

    def function(self, name: str) -> FunctionDefinition | None:
        found = self.functions.get(name)
        if found is None:
            load_all()
            found = FUNCTIONS.find(name)
        return found

    def is_once_only(self, name: str) -> bool:
        """Whether a call must not be made twice for one row: it is the user's, or gives another value each
        time."""
        if name in self.functions:
            return True
        definition = self.function(name)
        return definition is not None and not definition.deterministic

    @property
    def mini_batch(self) -> bool:
        return not self.batch and bool(self.get(options.MINI_BATCH))

    @property
    def ttl_ms(self) -> int:
        return 0 if self.batch else int(self.get(options.STATE_TTL) or 0)
