"""How asynchronous scalar functions are called: ``table.exec.async-scalar.*``."""

from __future__ import annotations

from dataclasses import dataclass, replace

from firesteel.common.configuration import Configuration
from firesteel.common.options import table as options
from firesteel.sql.functions.registry import FunctionDefinition, FunctionKind

__all__ = ["AsyncScalarOptions", "with_options"]


@dataclass(frozen=True, slots=True)
class AsyncScalarOptions:
    """:param capacity: how many calls may be under way. :param attempts: how often a call is tried."""

    capacity: int = 10
    timeout_ms: int = 180_000
    attempts: int = 3
    delay_ms: int = 100

    @classmethod
    def of(cls, configuration: Configuration) -> AsyncScalarOptions:
        retries = configuration.get(options.ASYNC_SCALAR_RETRY) != "NO_RETRY"
        return cls(
            capacity=configuration.get(options.ASYNC_SCALAR_CAPACITY),
            timeout_ms=configuration.get(options.ASYNC_SCALAR_TIMEOUT),
            attempts=configuration.get(options.ASYNC_SCALAR_ATTEMPTS) if retries else 1,
            delay_ms=configuration.get(options.ASYNC_SCALAR_DELAY),
        )


def with_options(definition: FunctionDefinition, configuration: Configuration) -> FunctionDefinition:
    """The function as a program calls it: an asynchronous one with the options of the program."""
    if getattr(definition, "kind", None) is not FunctionKind.ASYNC_SCALAR:
        return definition
    call = definition.columns
    assert call is not None
    return replace(definition, columns=call.with_options(AsyncScalarOptions.of(configuration)))  # type: ignore[attr-defined]
