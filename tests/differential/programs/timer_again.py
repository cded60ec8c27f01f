"""on_timer may register and delete timers: those that are due fire in the same advance, in order."""

from pyflink.datastream import KeyedProcessFunction
from timed import Stamped, by_first, environment, events


class Again(KeyedProcessFunction):
    def process_element(self, value, ctx):
        for at in value[1]:
            ctx.timer_service().register_event_time_timer(at)

    def on_timer(self, timestamp, ctx):
        timers = ctx.timer_service()
        yield f"timer {timestamp} at W{timers.current_watermark()}"
        if timestamp == 10:
            timers.register_event_time_timer(20)
            timers.register_event_time_timer(500)
            timers.delete_event_time_timer(40)
        if timestamp == 30:
            timers.register_event_time_timer(10)
            timers.register_event_time_timer(29)


env = environment()
records = [("k", [10, 30, 40, 50], 1), ("k", [], 101), ("k", [], 102), ("k", [], 103)]
events(env, records).key_by(by_first).process(Again()).process(Stamped()).print()
env.execute()
