"""A union has the records of all its inputs, and timers fire whichever of them ends first."""

# order: free

from pyflink.datastream import KeyedProcessFunction
from timed import by_first, environment, events


class AtTimer(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[-1] + 1)
        yield f"{value}"

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()} timer {timestamp}"


env = environment()
timed = events(env, [("a", 1), ("a", 7), ("b", 3), ("a", 50)])
never = env.from_collection([("c", 4), ("c", 9)])
timed.union(never).key_by(by_first).process(AtTimer()).print()
env.execute()
