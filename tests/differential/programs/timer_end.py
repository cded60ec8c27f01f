"""At the end of the input the watermark is MAX: all event-time timers fire, those of processing time do not."""

from pyflink.datastream import KeyedProcessFunction
from timed import Stamped, by_first, environment, events

MAX = 2**63 - 1


class End(KeyedProcessFunction):
    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        timers.register_event_time_timer(MAX)
        timers.register_event_time_timer(MAX - 1)
        timers.register_event_time_timer(value[-1] + 1000)
        timers.register_processing_time_timer(timers.current_processing_time() + 3_600_000)

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()}> {ctx.time_domain().name} timer {timestamp}"


env = environment()
events(env, [("a", 1), ("b", 2), ("a", 3)]).key_by(by_first).process(End()).process(Stamped()).print()
env.execute()
