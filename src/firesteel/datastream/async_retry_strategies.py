"""When an async function asks again (PyFlink: ``pyflink.datastream.async_retry_strategies``)."""

from __future__ import annotations

from firesteel.program.functions.retry_strategies import (
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
    RetryPredicate,
)

__all__ = [
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "RetryPredicate",
]
