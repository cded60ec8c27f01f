"""Per-window state belongs to key and window, global state to the key; clear() is called when a window ends."""

from pyflink.common import Time, Types
from pyflink.datastream import ProcessWindowFunction
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows
from timed import bounds, by_first, environment, events, names


class Firings(ProcessWindowFunction):
    def open(self, runtime_context):
        self.mine = ValueStateDescriptor("firings of the window", Types.INT())
        self.all = ValueStateDescriptor("firings of the key", Types.INT())
        self.ended = ListStateDescriptor("ended windows", Types.STRING())

    def process(self, key, context, elements):
        mine, total = context.window_state().get_state(self.mine), context.global_state().get_state(self.all)
        mine.update((mine.value() or 0) + 1)
        total.update((total.value() or 0) + 1)
        ended = list(context.global_state().get_list_state(self.ended).get())
        yield f"{key}> {bounds(context.window())} {names(elements)}: {mine.value()} of {total.value()}, ended {ended}"

    def clear(self, context):
        mine = context.window_state().get_state(self.mine)
        context.global_state().get_list_state(self.ended).add(
            f"{bounds(context.window())} fired {mine.value()}"
        )
        mine.clear()


env = environment()
records = [
    ("k", "a", 1),
    ("j", "b", 2),
    ("k", "c", 12),
    ("k", "d", 3),
    ("j", "e", 4),
    ("k", "f", 13),
    ("k", "g", 5),
]
records += [("k", "h", 16), ("k", "i", 25), ("j", "j", 26), ("k", "l", 11), ("k", "m", 40), ("k", "n", 60)]
windows = events(env, records).key_by(by_first).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
windows.allowed_lateness(5).process(Firings()).print()
env.execute()
