"""unordered_wait emits all results, in any order."""

# order: free

import asyncio

from pyflink.common import Time
from pyflink.datastream import AsyncDataStream, AsyncFunction
from timed import environment


class Slow(AsyncFunction):
    def open(self, runtime_context):
        self.factor = 3

    async def async_invoke(self, value):
        await asyncio.sleep(0.01 * (value % 4))
        return [value * self.factor]


env = environment()
stream = env.from_collection(list(range(12)))
AsyncDataStream.unordered_wait(stream, Slow(), Time.seconds(20)).print()
env.execute()
