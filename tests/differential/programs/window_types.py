"""Windows over a typed stream: contents are values of the type, results are coerced to theirs."""

from pyflink.common import Row, Time, Types
from pyflink.datastream import ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows
from timed import environment, events


class Summary(ProcessWindowFunction):
    def process(self, key, context, elements):
        elements = list(elements)
        kinds = sorted({type(e).__name__ for e in elements})
        yield Row(key, context.window().end, sum(e.price for e in elements), ",".join(kinds))


env = environment()
row = Types.ROW_NAMED(["name", "price", "ts"], [Types.STRING(), Types.FLOAT(), Types.LONG()])
result = Types.ROW_NAMED(
    ["name", "end", "sum", "kinds"], [Types.STRING(), Types.LONG(), Types.DOUBLE(), Types.STRING()]
)
records = [Row("a", 0.1, 1), Row("a", 0.2, 4), Row("a", 0.3, 12), Row("a", 1.7, 13)]
keyed = events(env, records, type_info=row).key_by(lambda r: r.name, Types.STRING())
ten = TumblingEventTimeWindows.of(Time.milliseconds(10))
keyed.window(ten).process(Summary(), result).print("process")
keyed.window(ten).reduce(lambda x, y: Row(x.name, x.price + y.price, y.ts)).print("reduce")
env.execute()
