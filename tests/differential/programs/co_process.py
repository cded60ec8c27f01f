"""CoProcessFunction without keys: both inputs, side output, timestamps."""

# order: free

from pyflink.common import Types
from pyflink.datastream import CoProcessFunction, OutputTag
from timed import environment, events

SMALL = OutputTag("small", Types.STRING())


class Both(CoProcessFunction):
    def process_element1(self, value, ctx):
        if value[1] < 2:
            yield SMALL, f"first {value[1]} @{ctx.timestamp()}"
        else:
            yield f"first {value[1]} @{ctx.timestamp()}"

    def process_element2(self, value, ctx):
        yield f"second {value[1]} @{ctx.timestamp()}"
        yield SMALL, f"second {value[1]}"


env = environment()
main = (
    events(env, [("a", 1, 5), ("a", 2, 7)]).connect(events(env, [("b", 0, 6), ("b", 3, 8)])).process(Both())
)
main.print("main")
main.get_side_output(SMALL).print("small")
env.execute()
