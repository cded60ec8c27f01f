"""Source of generated records (Flink: ``DataGeneratorSource``; not in PyFlink)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.generated import datagen
from firesteel.program.checks import (
    WrongArgumentError,
    check_picklable,
    require_callable,
    to_type_information,
)
from firesteel.program.connector_wrappers import SourceWrapper
from firesteel.program.functions.base import Function

LONG_MAX = 2**63 - 1


class GeneratorFunction(Function, ABC):
    """Generates the record for an index. It must always return the same record for the same index."""

    @abstractmethod
    def map(self, value: int) -> Any: ...


@dataclass(frozen=True, slots=True)
class RateLimiterStrategy:
    """Limits the rate of all subtasks together. ``records_per_second`` None means no limit."""

    records_per_second: float | None = None

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        if isinstance(records_per_second, bool) or not isinstance(records_per_second, (int, float)):
            raise WrongArgumentError("A rate is a number.", detail=f"got {records_per_second!r}")
        return RateLimiterStrategy(records_per_second)

    @staticmethod
    def per_checkpoint(records_per_checkpoint: int) -> RateLimiterStrategy:
        raise UnsupportedFeatureError(
            "A rate for each checkpoint is not available.",
            operator="DataGeneratorSource",
            hint="use RateLimiterStrategy.per_second()",
        )

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """No limit."""
        return RateLimiterStrategy()


class DataGeneratorSource(SourceWrapper):
    """Emits ``generator_function(index)`` for the indexes from 0 to ``count`` - 1, read in parallel.

    :param count: the number of records; with ``2**63 - 1`` or None the source is unbounded.
    :param type_info: the type of the records; None means any Python object.
    """

    def __init__(
        self,
        generator_function: Callable[[int], Any] | GeneratorFunction,
        count: int | None = None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
        type_info: TypeInformation | None = None,
    ) -> None:
        require_callable(generator_function, GeneratorFunction, "DataGeneratorSource")
        check_picklable(generator_function, "DataGeneratorSource")
        strategy = RateLimiterStrategy() if rate_limiter_strategy is None else rate_limiter_strategy
        if not isinstance(strategy, RateLimiterStrategy):
            raise WrongArgumentError("Not a RateLimiterStrategy.", detail=f"got {strategy!r}")
        function = (
            generator_function.map
            if isinstance(generator_function, GeneratorFunction)
            else generator_function
        )
        count = None if count is not None and count >= LONG_MAX else count
        super().__init__(datagen.GeneratedSource(function, count, strategy.records_per_second))
        self.produced_type = to_type_information(type_info, "type_info of DataGeneratorSource")
