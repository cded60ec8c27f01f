"""BATCH: a key's timers fire when its last record has been read, those of event time in order, then the others."""

from pyflink.datastream import KeyedProcessFunction, RuntimeExecutionMode
from timed import Stamped, by_first, environment, events


class Both(KeyedProcessFunction):
    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        timers.register_event_time_timer(value[-1] + 100)
        timers.register_event_time_timer(value[-1])
        timers.register_processing_time_timer(value[-1])
        yield f"{ctx.get_current_key()}> {value}"

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()}> {ctx.time_domain().name} timer {timestamp}"


env = environment()
env.set_runtime_mode(RuntimeExecutionMode.BATCH)
records = [("b", 1, 9), ("a", 2, 7), ("b", 3, 3), ("a", 4, 5), ("c", 5, 1), ("b", 6, 3)]
events(env, records).key_by(by_first).process(Both()).process(Stamped()).print()
env.execute()
