"""Async functions on streams."""

from __future__ import annotations

from typing import Any, NoReturn

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.common.time import Time
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream._async_functions import AsyncFunction, AsyncRetryStrategy
from firesteel.datastream._data_stream import DataStream

__all__ = ["AsyncDataStream"]


class AsyncDataStream:
    """Flink's operators for requests that overlap. They are not available and every method says so."""

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> NoReturn:
        _refuse("unordered_wait")

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> NoReturn:
        _refuse("unordered_wait_with_retry")

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> NoReturn:
        _refuse("ordered_wait")

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> NoReturn:
        _refuse("ordered_wait_with_retry")


def _refuse(method: str) -> NoReturn:
    raise UnsupportedFeatureError(
        "Async functions are not available.",
        operator=f"AsyncDataStream.{method}",
        hint="send the request in a MapFunction, make the client in open(), and set a higher parallelism",
    )
