"""A timer at or below the watermark fires with the next watermark, even one that is deleted and set again."""

from pyflink.datastream import KeyedProcessFunction
from timed import Stamped, by_first, environment, events


class Late(KeyedProcessFunction):
    def process_element(self, value, ctx):
        for at in value[1]:
            ctx.timer_service().register_event_time_timer(at)
        yield f"{value} at W{ctx.timer_service().current_watermark()}" if value[1] else f"{value}"

    def on_timer(self, timestamp, ctx):
        yield f"timer {timestamp} at W{ctx.timer_service().current_watermark()}"


env = environment()
records = [
    ("k", [], 10),
    ("k", [5, 9, 3], 11),
    ("k", [], 12),
    ("k", [11], 12),
    ("k", [], 5),
    ("k", [], 13),
    ("k", [12, 13, 2], 13),
]
events(env, records).key_by(by_first).process(Late()).process(Stamped()).print()
env.execute()
