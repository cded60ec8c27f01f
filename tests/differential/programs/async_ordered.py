"""ordered_wait emits in the order of the input, whatever completes first; no, one or many results for a record."""

import asyncio

from pyflink.common import Time, Types
from pyflink.datastream import AsyncDataStream, AsyncFunction
from timed import Stamped, environment, events


class Slow(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(0.02 * (5 - value[1]))
        return [(value[0], value[1] * 10 + i) for i in range(value[1] % 3)]


env = environment()
stream = events(env, [("k", n, n * 5) for n in range(1, 6)])
pair = Types.TUPLE([Types.STRING(), Types.INT()])
AsyncDataStream.ordered_wait(stream, Slow(), Time.seconds(20), 2, pair).process(Stamped()).print()
env.execute()
