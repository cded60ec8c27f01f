"""State and timers of several keys together: a count that is emitted when a key was quiet for 10 ms."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import ReducingStateDescriptor, ValueStateDescriptor
from timed import Stamped, by_first, environment, events


class Quiet(KeyedProcessFunction):
    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))
        total = ReducingStateDescriptor("total", lambda a, b: a + b, Types.LONG())
        self.total = runtime_context.get_reducing_state(total)

    def process_element(self, value, ctx):
        if self.last.value() is not None:
            ctx.timer_service().delete_event_time_timer(self.last.value() + 10)
        self.last.update(ctx.timestamp())
        self.total.add(value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.total.get(), self.last.value(), timestamp
        self.total.clear()
        self.last.clear()


env = environment()
records = [
    ("a", 1, 0),
    ("b", 2, 5),
    ("a", 3, 9),
    ("b", 4, 16),
    ("a", 5, 18),
    ("c", 6, 30),
    ("b", 7, 31),
    ("a", 8, 45),
]
events(env, records).key_by(by_first).process(Quiet()).process(Stamped()).print()
env.execute()
