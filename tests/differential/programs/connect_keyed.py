"""Two keyed inputs share the state of the key; what is shown waits for both, at a timer."""

from pyflink.common import Types
from pyflink.datastream import KeyedCoProcessFunction
from pyflink.datastream.state import ListStateDescriptor
from timed import by_first, environment, events


class Joined(KeyedCoProcessFunction):
    def open(self, runtime_context):
        self.left = runtime_context.get_list_state(ListStateDescriptor("left", Types.INT()))
        self.right = runtime_context.get_list_state(ListStateDescriptor("right", Types.STRING()))

    def process_element1(self, value, ctx):
        self.left.add(value[1])
        ctx.timer_service().register_event_time_timer(value[-1] // 10 * 10 + 9)

    def process_element2(self, value, ctx):
        self.right.add(value[1])
        ctx.timer_service().register_event_time_timer(value[-1] // 10 * 10 + 9)

    def on_timer(self, timestamp, ctx):
        if timestamp == 29:
            left, right = sorted(self.left.get()), sorted(self.right.get())
            yield ctx.get_current_key(), timestamp, ctx.time_domain().name, left, right


env = environment()
left = events(env, [("a", 1, 1), ("b", 2, 5), ("a", 3, 12), ("c", 4, 22), ("a", 5, 28)])
right = events(env, [("a", "p", 3), ("b", "q", 21), ("a", "r", 25), ("d", "s", 20)])
left.key_by(by_first).connect(right.key_by(by_first)).process(Joined()).map(
    lambda v: f"{v[0]}> {v[1:]}"
).print()
env.execute()
