"""Timers and watermarks below zero."""

from pyflink.datastream import KeyedProcessFunction
from timed import Stamped, by_first, environment, events


class Below(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[-1] + 5)
        ctx.timer_service().register_event_time_timer(-value[-1])

    def on_timer(self, timestamp, ctx):
        yield f"timer {timestamp}"


env = environment()
records = [("k", -100), ("k", -60), ("k", -61), ("k", -20), ("k", -1), ("k", 0), ("k", 45), ("k", 70)]
events(env, records).key_by(by_first).process(Below()).process(Stamped()).print()
env.execute()
