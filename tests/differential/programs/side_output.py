"""Side outputs of process functions: several tags, with a type or without; what nobody takes is dropped."""

from pyflink.common import Types
from pyflink.datastream import OutputTag, ProcessFunction
from timed import Stamped, environment, events

ODD = OutputTag("odd", Types.STRING())
LARGE = OutputTag("large")
UNUSED = OutputTag("unused", Types.INT())


class Split(ProcessFunction):
    def process_element(self, value, ctx):
        number = value[1]
        if number % 2:
            yield ODD, f"odd {number}"
        if number > 3:
            yield LARGE, ("large", number)
            yield LARGE, ("larger", number + 1)
        yield UNUSED, number
        yield value[0], number


env = environment()
main = events(env, [("k", n, n * 10) for n in range(1, 6)]).process(Split())
main.process(Stamped()).print("main")
main.get_side_output(ODD).process(Stamped()).print("odd")
main.get_side_output(LARGE).process(Stamped()).print("large")
main.get_side_output(OutputTag("odd", Types.STRING())).map(lambda v: v.upper()).print("again")
env.execute()
