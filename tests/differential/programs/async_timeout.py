"""A call that takes too long: timeout() gives the result in its place."""

import asyncio

from pyflink.common import Time
from pyflink.datastream import AsyncDataStream, AsyncFunction
from timed import environment


class Hangs(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(60 if value % 2 else 0)
        return [f"{value} answered"]

    def timeout(self, value):
        return [f"{value} timed out", "sorry"] if value != 3 else []


env = environment()
stream = env.from_collection([0, 1, 2, 3, 4, 5])
AsyncDataStream.ordered_wait(stream, Hangs(), Time.milliseconds(300)).print()
env.execute()
