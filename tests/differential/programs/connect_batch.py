"""BATCH with two keyed inputs: a key's records of both inputs come together, in the order of their time."""

from pyflink.common import Types
from pyflink.datastream import KeyedCoProcessFunction, RuntimeExecutionMode
from pyflink.datastream.state import ValueStateDescriptor
from timed import Stamped, by_first, environment, events


class Trace(KeyedCoProcessFunction):
    def open(self, runtime_context):
        self.trace = runtime_context.get_state(ValueStateDescriptor("trace", Types.STRING()))

    def process_element1(self, value, ctx):
        self.trace.update(f"{self.trace.value() or ''} {value[1]}")
        ctx.timer_service().register_event_time_timer(100)

    def process_element2(self, value, ctx):
        self.trace.update(f"{self.trace.value() or ''} {value[1].upper()}")
        ctx.timer_service().register_event_time_timer(100)

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()}> {self.trace.value()}"


env = environment()
env.set_runtime_mode(RuntimeExecutionMode.BATCH)
left = events(env, [("b", "p", 9), ("a", "q", 2), ("b", "r", 1), ("c", "s", 7)])
right = events(env, [("a", "t", 1), ("b", "u", 4), ("a", "v", 6), ("d", "w", 3)])
left.key_by(by_first).connect(right.key_by(by_first)).process(Trace()).process(Stamped()).print()
env.execute()
