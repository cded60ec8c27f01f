"""What typed states give back: numbers take the width of their type, rows their names, dates stay dates.

Without the cache, in which PyFlink keeps what was put into state as it is.
"""

import datetime
import decimal

from pyflink.common import Configuration, Row, Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from timed import by_first

TYPES = {
    "float": Types.FLOAT(),
    "double": Types.DOUBLE(),
    "decimal": Types.BIG_DEC(),
    "date": Types.SQL_DATE(),
    "time": Types.SQL_TIME(),
    "timestamp": Types.SQL_TIMESTAMP(),
    "list": Types.LIST(Types.FLOAT()),
    "map": Types.MAP(Types.STRING(), Types.LIST(Types.INT())),
    "tuple": Types.TUPLE([Types.STRING(), Types.TUPLE([Types.INT(), Types.BOOLEAN()])]),
    "row": Types.ROW_NAMED(["n", "list"], [Types.INT(), Types.LIST(Types.STRING())]),
    "bytes": Types.PRIMITIVE_ARRAY(Types.BYTE()),
}


class Typed(KeyedProcessFunction):
    def open(self, runtime_context):
        self.value, self.list, self.map = {}, {}, {}
        for name, of in TYPES.items():
            self.value[name] = runtime_context.get_state(ValueStateDescriptor(f"value {name}", of))
            self.list[name] = runtime_context.get_list_state(ListStateDescriptor(f"list {name}", of))
            self.map[name] = runtime_context.get_map_state(
                MapStateDescriptor(f"map {name}", Types.STRING(), of)
            )

    def process_element(self, value, ctx):
        _, name, content = value
        self.value[name].update(content)
        self.list[name].add(content)
        self.map[name].put("key", content)
        ctx.timer_service().register_event_time_timer(2**63 - 1)

    def on_timer(self, timestamp, ctx):
        for name in TYPES:
            value, contents, entry = (
                self.value[name].value(),
                list(self.list[name].get()),
                self.map[name].get("key"),
            )
            yield f"{name}> {value!r} {contents!r} {entry!r} {type(value).__name__}"


configuration = Configuration()
configuration.set_integer("python.state.cache-size", 0)
env = StreamExecutionEnvironment.get_execution_environment(configuration)
env.set_parallelism(1)
records = [
    ("k", "float", 0.1),
    ("k", "double", 0.1),
    ("k", "decimal", decimal.Decimal("12345678901234567890.123")),
    ("k", "date", datetime.date(2024, 2, 29)),
    ("k", "time", datetime.time(23, 59, 58, 123000)),
    ("k", "timestamp", datetime.datetime(2024, 2, 29, 23, 59, 59, 123456)),
    ("k", "list", [0.5, 0.1]),
    ("k", "map", {"a": [1, 2], "b": []}),
    ("k", "tuple", ("x", (1, True))),
    ("k", "row", Row(7, ["p", "q"])),
    ("k", "bytes", b"ab\x00"),
]
env.from_collection(records).key_by(by_first).process(Typed()).print()
env.execute()
