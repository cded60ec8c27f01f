"""Retries after an exception or a result that a predicate refuses, up to a number of attempts."""

import asyncio

from pyflink.common import Time
from pyflink.datastream import AsyncDataStream, AsyncFunction
from pyflink.datastream.async_retry_strategies import (
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
)
from timed import environment


class Flaky(AsyncFunction):
    """Record n needs n failures before it succeeds; every second failure is an exception."""

    def open(self, runtime_context):
        self.calls = {}

    async def async_invoke(self, value):
        self.calls[value] = calls = self.calls.get(value, 0) + 1
        await asyncio.sleep(0)
        if calls > value:
            return [f"{value} after {calls} calls"]
        if calls % 2:
            return []
        raise ValueError(f"call {calls}")


def empty(result):
    return not result


def any_error(error):
    return isinstance(error, ValueError)


env = environment()
stream = env.from_collection([0, 1, 2, 3])
fixed = FixedDelayRetryStrategy(3, 5, empty, any_error)
AsyncDataStream.ordered_wait_with_retry(stream, Flaky(), Time.seconds(30), fixed).print("fixed")
backoff = ExponentialBackoffDelayRetryStrategy(4, 2, 20, 2.0, empty, any_error)
AsyncDataStream.unordered_wait_with_retry(stream, Flaky(), Time.seconds(30), backoff).map(
    lambda v: f"{v[0]}> {v}"
).print("backoff")
few = env.from_collection([0, 1, 3, 5]).filter(lambda v: v % 2)
given_up = FixedDelayRetryStrategy(2, 5, empty, any_error)
AsyncDataStream.ordered_wait_with_retry(few, Flaky(), Time.seconds(30), given_up).print("given up")
env.execute()
