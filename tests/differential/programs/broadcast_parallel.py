"""Each of three subtasks sees every broadcast record once (BATCH, where the broadcast side comes first)."""

# order: free

from pyflink.common import Types
from pyflink.datastream import BroadcastProcessFunction, RuntimeExecutionMode
from pyflink.datastream.state import MapStateDescriptor
from timed import environment

WORDS = MapStateDescriptor("words", Types.STRING(), Types.INT())
MORE = MapStateDescriptor("more", Types.INT(), Types.STRING())


class Apply(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        words, more = ctx.get_broadcast_state(WORDS), ctx.get_broadcast_state(MORE)
        yield f"{value}: {sorted(words.items())} {sorted(more.items())}"

    def process_broadcast_element(self, value, ctx):
        words = ctx.get_broadcast_state(WORDS)
        words.put(value, (words.get(value) or 0) + 1)
        ctx.get_broadcast_state(MORE).put(len(value), value)
        yield f"rule {value}"


env = environment(parallelism=3)
env.set_runtime_mode(RuntimeExecutionMode.BATCH)
words = env.from_collection(["one", "three", "one"]).broadcast(WORDS, MORE)
env.from_collection(list(range(7))).rebalance().connect(words).process(Apply()).print()
env.execute()
