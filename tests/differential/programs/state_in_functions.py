"""map, flat_map and filter on a keyed stream have state of the key."""

from pyflink.common import Types
from pyflink.datastream import FilterFunction, FlatMapFunction, MapFunction
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from timed import by_first, environment


class Numbered(MapFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def map(self, value):
        self.count.update((self.count.value() or 0) + 1)
        return f"{value[0]}> {self.count.value()} {value[1]}"


class Pairs(FlatMapFunction):
    def open(self, runtime_context):
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.STRING()))

    def flat_map(self, value):
        waiting = list(self.waiting.get())
        self.waiting.add(value[1])
        for other in waiting:
            yield f"{value[0]}> {other}{value[1]}"
        if len(waiting) == 2:
            self.waiting.clear()


class Distinct(FilterFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.STRING(), Types.BOOLEAN()))

    def filter(self, value):
        new = not self.seen.contains(value[1])
        self.seen.put(value[1], True)
        return new


env = environment()
records = [("a", "x"), ("b", "x"), ("a", "y"), ("a", "x"), ("b", "z"), ("a", "z"), ("b", "x"), ("a", "w")]
keyed = env.from_collection(records).key_by(by_first)
keyed.map(Numbered()).print("map")
keyed.flat_map(Pairs()).print("flat_map")
keyed.filter(Distinct()).map(lambda v: f"{v[0]}> {v[1]}").print("filter")
env.execute()
