"""Declared types of flat_map, process and connected streams."""

from pyflink.common import Row, Types
from pyflink.datastream import CoMapFunction, ProcessFunction
from timed import environment


class Split(ProcessFunction):
    def process_element(self, value, ctx):
        yield value, value / 3
        yield value * 10, 0.1


class Both(CoMapFunction):
    def map1(self, value):
        return Row(value, "first")

    def map2(self, value):
        return Row(int(value), "second")


def shown(value):
    return f"{value!r} {type(value).__name__}"


env = environment()
pair = Types.TUPLE([Types.INT(), Types.FLOAT()])
numbers = env.from_collection([1, 2], Types.INT())
numbers.process(Split(), pair).map(shown).print("process")
numbers.flat_map(lambda v: [v / 10] * v, Types.FLOAT()).map(shown).print("flat_map")
texts = env.from_collection(["7"], Types.STRING())
row = Types.ROW([Types.INT(), Types.STRING()])
one = numbers.filter(lambda v: v == 1)
one.connect(texts).map(Both(), row).map(lambda v: f"{v[1]}> {shown(v)}").print("connected")
env.execute()
