"""MapState: put, get, contains, remove, clear, is_empty and the views, which are compared sorted."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import MapStateDescriptor
from timed import by_first, environment


class Maps(KeyedProcessFunction):
    def open(self, runtime_context):
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", Types.STRING(), Types.INT()))

    def process_element(self, value, ctx):
        key, action, *arguments = value
        result = getattr(self.map, action)(*arguments)
        if action in ("keys", "values", "items"):
            result = sorted(result)
        yield f"{key}> {action} {arguments} = {result} {sorted(self.map.items())} empty {self.map.is_empty()}"


env = environment()
records = [
    ("a", "is_empty"),
    ("a", "get", "x"),
    ("a", "put", "x", 1),
    ("b", "put", "x", 10),
    ("a", "put", "y", 2),
]
records += [
    ("a", "get", "x"),
    ("a", "contains", "x"),
    ("a", "contains", "z"),
    ("a", "put", "x", 3),
    ("b", "items"),
]
records += [("a", "keys"), ("a", "values"), ("a", "remove", "x"), ("a", "contains", "x"), ("a", "get", "x")]
records += [
    ("a", "remove", "nothing"),
    ("b", "clear"),
    ("b", "is_empty"),
    ("a", "put", "", 0),
    ("a", "get", ""),
]
records += [
    ("a", "remove", "y"),
    ("a", "contains", ""),
    ("a", "clear"),
    ("a", "is_empty"),
    ("a", "put", "x", 4),
    ("b", "put", "q", 5),
]
env.from_collection(records).key_by(by_first).process(Maps()).print()
env.execute()
