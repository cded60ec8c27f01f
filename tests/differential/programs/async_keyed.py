"""An async function behind key_by() gets the key and the record."""

from pyflink.common import Time, Types
from pyflink.datastream import AsyncDataStream, AsyncFunction
from timed import by_first, environment


class Show(AsyncFunction):
    async def async_invoke(self, value):
        return [f"{value[0]}> {value!r} {value.as_dict()}"]


env = environment()
records = [("a", 1, 0.1), ("b", 2, 0.5), ("a", 3, 0.25)]
of = Types.TUPLE([Types.STRING(), Types.INT(), Types.FLOAT()])
for name, stream in {
    "typed": env.from_collection(records, of).key_by(by_first, Types.STRING()),
    "float": env.from_collection(records, of).key_by(lambda v: v[2], Types.FLOAT()),
    "untyped": env.from_collection(records).key_by(by_first),
    "tuple": env.from_collection(records).key_by(lambda v: (v[0], v[1] % 2)),
}.items():
    AsyncDataStream.ordered_wait(stream, Show(), Time.seconds(20), 2, Types.STRING()).print(name)
env.execute()
