"""BATCH: the broadcast side is read first, so every record sees all rules."""

from pyflink.common import Types
from pyflink.datastream import BroadcastProcessFunction, RuntimeExecutionMode
from pyflink.datastream.state import MapStateDescriptor
from timed import environment, events

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Apply(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        found = sorted(rules.items())
        yield f"{value} {rules.get(value[0])} {rules.contains(value[0])} {found}"

    def process_broadcast_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        if value[1] is None:
            rules.remove(value[0])
        else:
            rules.put(value[0], value[1])
        yield f"rule {value} {sorted(rules.keys())} {sorted(rules.values())}"


env = environment()
env.set_runtime_mode(RuntimeExecutionMode.BATCH)
rules = events(env, [("a", 1, 1), ("b", 2, 2), ("a", 3, 3), ("b", None, 4), ("d", 5, 5)]).broadcast(RULES)
events(env, [("a", 1), ("b", 2), ("c", 3), ("d", 9)]).connect(rules).process(Apply()).print()
env.execute()
