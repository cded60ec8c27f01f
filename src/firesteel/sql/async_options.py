"""How asynchronous scalar functions are called: ``table.exec.async-scalar.*``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from firesteel.common.configuration import Configuration
from firesteel.common.options import table as options
from firesteel.sql.functions.registry import FunctionDefinition, FunctionKind

__all__ = ["AsyncScalarOptions", "with_options"]


@dataclass(frozen=True, slots=True)
class AsyncScalarOptions:
    """:param capacity: how many calls may be under way.
    :param timeout_ms: of a call with all its retries.
    :param retries: how often a call that failed is tried again.
    """

    capacity: int = 10
    timeout_ms: int = 180_000
    retries: int = 3
    delay_ms: int = 100

    @classmethod
    def of(cls, configuration: Configuration) -> AsyncScalarOptions:
        again = configuration.get(options.ASYNC_SCALAR_RETRY) != "NO_RETRY"
        return cls(
            capacity=configuration.get(options.ASYNC_SCALAR_CAPACITY),
            timeout_ms=configuration.get(options.ASYNC_SCALAR_TIMEOUT),
            retries=configuration.get(options.ASYNC_SCALAR_ATTEMPTS) if again else 0,
            delay_ms=configuration.get(options.ASYNC_SCALAR_DELAY),
        )


@runtime_checkable
class _AsyncCall(Protocol):
    """How an asynchronous function is called (``table/_function_calls.py``)."""

    def with_options(self, options: AsyncScalarOptions) -> Callable[..., Any]: ...


def with_options(definition: FunctionDefinition, configuration: Configuration) -> FunctionDefinition:
    """The function as a program calls it: an asynchronous one with the options of the program."""
    if getattr(definition, "kind", None) is not FunctionKind.ASYNC_SCALAR:
        return definition
    call = definition.columns
    assert isinstance(call, _AsyncCall)
    return replace(definition, columns=call.with_options(AsyncScalarOptions.of(configuration)))
