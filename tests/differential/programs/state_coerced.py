"""What typed states make of values of another kind, and of the keys of maps.

Without the caches, in which PyFlink keeps what was put into state as it is.
"""

from pyflink.common import Configuration, Row, Types
from pyflink.datastream import AggregateFunction, KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from timed import by_first

VALUES = {
    "int": (Types.INT(), [3.7, -3.7, True, 5]),
    "long": (Types.LONG(), [3.7, True, 2**62]),
    "double": (Types.DOUBLE(), [1, True, 0.5]),
    "boolean": (Types.BOOLEAN(), [2, 0, True]),
    "tuple": (Types.TUPLE([Types.STRING(), Types.FLOAT()]), [("a", 1), ("b", 0.1, "more")]),
    "nested": (Types.TUPLE([Types.TUPLE([Types.INT(), Types.FLOAT()]), Types.LONG()]), [((1.5, 0.1), True)]),
    "row": (Types.ROW_NAMED(["x", "y"], [Types.FLOAT(), Types.STRING()]), [Row(0.1, None), Row(y="b", x=2)]),
}


class Sum(AggregateFunction):
    def create_accumulator(self):
        return 0.0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class Coerced(KeyedProcessFunction):
    def open(self, context):
        self.value, self.list, self.map = {}, {}, {}
        for name, (of, _) in VALUES.items():
            self.value[name] = context.get_state(ValueStateDescriptor(f"value {name}", of))
            self.list[name] = context.get_list_state(ListStateDescriptor(f"list {name}", of))
            self.map[name] = context.get_map_state(MapStateDescriptor(f"map {name}", Types.STRING(), of))
        self.keys = context.get_map_state(MapStateDescriptor("keys", Types.FLOAT(), Types.INT()))
        self.total = context.get_reducing_state(
            ReducingStateDescriptor("total", lambda a, b: a + b, Types.FLOAT())
        )
        self.sum = context.get_aggregating_state(
            AggregatingStateDescriptor("sum", Sum(), Types.TUPLE([Types.FLOAT(), Types.INT()]))
        )

    def process_element(self, value, ctx):
        _, name = value
        for content in VALUES[name][1]:
            self.value[name].update(content)
            yield f"{name}> value {self.value[name].value()!r}"
            self.map[name].put("key", content)
            yield f"{name}> entry {self.map[name].get('key')!r}"
        self.list[name].update(VALUES[name][1])
        self.list[name].add(VALUES[name][1][0])
        yield f"{name}> list {list(self.list[name].get())!r}"
        self.total.add(0.1)
        self.sum.add(0.1)
        yield f"total> {self.total.get()!r} {self.sum.get()!r}"
        self.keys.put(0.1, 3.7)
        yield f"keys> {self.keys.get(0.1)} {self.keys.contains(0.10000000149011612)} {list(self.keys.items())}"
        self.keys.put(1, None)
        self.keys.remove(0.10000000149011612)
        yield f"keys> {list(self.keys.keys())} {list(self.keys.values())} {self.keys.is_empty()}"


configuration = Configuration()
for cache in ("python.state.cache-size", "python.map-state.read-cache-size"):
    configuration.set_integer(cache, 0)
configuration.set_integer("python.map-state.write-cache-size", 1)
env = StreamExecutionEnvironment.get_execution_environment(configuration)
env.set_parallelism(1)
env.from_collection([("k", name) for name in VALUES]).key_by(by_first).process(Coerced()).print()
env.execute()
