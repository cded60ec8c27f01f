"""Timers of a key fire in the order of their time, one for each time; deleted ones do not fire."""

from pyflink.datastream import KeyedProcessFunction
from timed import by_first, environment, events


class Timers(KeyedProcessFunction):
    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        for at in value[1]:
            timers.register_event_time_timer(at)
        for at in value[2]:
            timers.delete_event_time_timer(at)
        yield f"{ctx.get_current_key()}> set {value[1]} delete {value[2]}"

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()}> timer {timestamp}"


env = environment()
records = [
    ("a", [30, 10, 20, 10], [], 1),
    ("b", [20, 15], [], 2),
    ("a", [20, 25], [30, 99], 3),
    ("c", [12], [12], 4),
]
records += [
    ("a", [28], [], 16),
    ("b", [17, 15, 18], [18], 17),
    ("a", [26], [25], 22),
    ("c", [40], [], 90),
    ("c", [], [40], 91),
]
events(env, records).key_by(by_first).process(Timers()).print()
env.execute()
