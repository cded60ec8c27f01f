"""What on_timer sees: key, time, domain, state of the key; its results have the time of the timer."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, TimeDomain
from pyflink.datastream.state import ListStateDescriptor
from timed import Stamped, by_first, environment, events


class Context(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))

    def process_element(self, value, ctx):
        self.seen.add(value[1])
        ctx.timer_service().register_event_time_timer(value[-1] // 10 * 10 + 9)

    def on_timer(self, timestamp, ctx):
        domain = "event" if ctx.time_domain() == TimeDomain.EVENT_TIME else "processing"
        yield ctx.get_current_key(), timestamp, ctx.timestamp(), domain, list(self.seen.get())
        self.seen.clear()
        self.seen.add(-timestamp)


env = environment()
records = [("a", 1, 1), ("b", 2, 3), ("a", 3, 8), ("b", 4, 12), ("a", 5, 14), ("a", 6, 33), ("b", 7, 35)]
events(env, records).key_by(by_first).process(Context()).process(Stamped()).print()
env.execute()
