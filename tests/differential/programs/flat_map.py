"""flat_map emits what it yields or returns; filter takes what is true."""

from pyflink.common import Types
from pyflink.datastream import FilterFunction, FlatMapFunction, MapFunction
from timed import environment


class Words(FlatMapFunction):
    def flat_map(self, value):
        yield from enumerate(value.split())


class Longer(FilterFunction):
    def open(self, runtime_context):
        self.length = 3

    def filter(self, value):
        return len(value) > self.length


class Length(MapFunction):
    def map(self, value):
        return len(value)


env = environment()
lines = env.from_collection(["to be or not", "", "  that is  ", "question"])
lines.flat_map(Words(), Types.TUPLE([Types.INT(), Types.STRING()])).print("words")
lines.flat_map(lambda v: [v.upper()] if v else ()).print("some")
lines.flat_map(lambda v: (c for c in v if c in "aeiou"), Types.STRING()).print("vowels")
lines.filter(Longer()).map(lambda v: repr(v)).print("longer")
lines.filter(lambda v: v.strip()).map(lambda v: repr(v)).print("not blank")
lines.map(Length()).print("length")
env.execute()
