"""An event-time and a processing-time timer with the same number are two timers; deleting one leaves the other (BATCH)."""

# order: free

from pyflink.datastream import KeyedProcessFunction, RuntimeExecutionMode
from timed import by_first, environment, events


class Same(KeyedProcessFunction):
    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        for _ in range(2):
            timers.register_event_time_timer(5)
            timers.register_processing_time_timer(5)
            timers.register_processing_time_timer(6)
        timers.register_event_time_timer(8)
        timers.delete_event_time_timer(6)
        timers.delete_processing_time_timer(8)
        timers.register_processing_time_timer(7)
        timers.delete_processing_time_timer(7)

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()} {ctx.time_domain().name} {timestamp}"


env = environment()
env.set_runtime_mode(RuntimeExecutionMode.BATCH)
events(env, [("b", 1), ("a", 2), ("a", 3)]).key_by(by_first).process(Same()).print()
env.execute()
