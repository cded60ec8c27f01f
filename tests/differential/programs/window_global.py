"""GlobalWindows never fire by themselves; CountTrigger fires and keeps, PurgingTrigger drops what it fired."""

from pyflink.datastream import ProcessWindowFunction
from pyflink.datastream.window import CountTrigger, GlobalWindows, PurgingTrigger
from timed import by_first, environment


class Whole(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield f"{key}> {context.window()} {context.window().max_timestamp()} {[e[1] for e in elements]}"


env = environment()
records = [("a", 1), ("a", 2), ("b", 3), ("a", 4), ("b", 5), ("a", 6), ("a", 7), ("b", 8), ("b", 9)]
keyed = env.from_collection(records).key_by(by_first)
keyed.window(GlobalWindows.create()).process(Whole()).print("never")
keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(2)).process(Whole()).print("keep")
keyed.window(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(2))).process(Whole()).print(
    "purge"
)
env.execute()
