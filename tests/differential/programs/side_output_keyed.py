"""Side outputs of a KeyedProcessFunction, from process_element and from on_timer."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, OutputTag
from timed import Stamped, by_first, environment, events

TIMERS = OutputTag("timers", Types.TUPLE([Types.STRING(), Types.LONG()]))
SEEN = OutputTag("seen", Types.INT())


class Split(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[-1] + 5)
        yield SEEN, value[1]
        if value[1] == 3:
            yield value

    def on_timer(self, timestamp, ctx):
        yield TIMERS, (ctx.get_current_key(), timestamp)


env = environment()
records = [("a", 1, 1), ("a", 2, 4), ("b", 3, 5), ("a", 4, 20), ("b", 5, 40)]
main = events(env, records).key_by(by_first).process(Split())
main.process(Stamped()).print("main")
main.get_side_output(TIMERS).process(Stamped()).print("timers")
main.get_side_output(SEEN).process(Stamped()).print("seen")
env.execute()
