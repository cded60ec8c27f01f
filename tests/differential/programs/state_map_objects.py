"""MapState with keys and values of any kind."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import MapStateDescriptor
from timed import by_first, environment


class Maps(KeyedProcessFunction):
    def open(self, runtime_context):
        pickled = Types.PICKLED_BYTE_ARRAY()
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", pickled, pickled))

    def process_element(self, value, ctx):
        _, name, content = value
        before = self.map.get(name)
        self.map.put(name, content)
        yield f"{name!r}: {before!r} -> {self.map.get(name)!r} {self.map.contains(name)} {len(list(self.map.keys()))}"


env = environment()
records = [
    ("a", (1, "x"), [1]),
    ("a", 1, "one"),
    ("a", "1", "text"),
    ("a", 1.5, {"k": (1,)}),
    ("a", None, "none"),
]
records += [
    ("a", (1, "x"), [1, 2]),
    ("a", b"1", False),
    ("a", b"1", 7),
    ("a", frozenset({2}), 0),
    ("a", -1, "minus"),
]
env.from_collection(records).key_by(by_first).process(Maps()).print()
env.execute()
