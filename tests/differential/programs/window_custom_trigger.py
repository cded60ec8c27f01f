"""A trigger with state and timers of its own: early firing, firing at the end, purge without firing."""

from pyflink.common import Time, Types
from pyflink.datastream import Trigger, TriggerResult
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows
from timed import Contents, by_first, environment, events

COUNT = ValueStateDescriptor("count", Types.INT())


class EarlyAndEnd(Trigger):
    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer(window.max_timestamp())
        if element[1] == "purge":
            return TriggerResult.PURGE
        if element[1] == "early":
            ctx.register_event_time_timer(timestamp + 2)
        count = ctx.get_partitioned_state(COUNT)
        count.update((count.value() or 0) + 1)
        return TriggerResult.FIRE_AND_PURGE if count.value() == 4 else TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        raise AssertionError("not a merging window")

    def clear(self, window, ctx):
        ctx.delete_event_time_timer(window.max_timestamp())
        ctx.get_partitioned_state(COUNT).clear()


env = environment()
records = [
    ("k", "a", 1),
    ("k", "early", 3),
    ("j", "b", 4),
    ("k", "c", 6),
    ("k", "d", 7),
    ("k", "e", 8),
    ("k", "f", 12),
]
records += [
    ("k", "purge", 13),
    ("k", "g", 14),
    ("j", "early", 15),
    ("j", "h", 16),
    ("j", "purge", 19),
    ("k", "i", 40),
]
windows = events(env, records).key_by(by_first).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
windows.trigger(EarlyAndEnd()).process(Contents()).print()
env.execute()
