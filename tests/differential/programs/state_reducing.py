"""ReducingState and AggregatingState: None when empty; the first value is not reduced; results of another type."""

from pyflink.common import Types
from pyflink.datastream import AggregateFunction, KeyedProcessFunction
from pyflink.datastream.state import AggregatingStateDescriptor, ReducingStateDescriptor
from timed import by_first, environment


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Both(KeyedProcessFunction):
    def open(self, runtime_context):
        joined = ReducingStateDescriptor("joined", lambda a, b: f"({a}{b})", Types.STRING())
        mean = AggregatingStateDescriptor("mean", Mean(), Types.TUPLE([Types.LONG(), Types.LONG()]))
        self.joined = runtime_context.get_reducing_state(joined)
        self.mean = runtime_context.get_aggregating_state(mean)

    def process_element(self, value, ctx):
        before = self.joined.get(), self.mean.get()
        if value[1] is None:
            self.joined.clear()
            self.mean.clear()
        else:
            self.joined.add(str(value[1]))
            self.mean.add(value[1])
        yield f"{value[0]}> {before} {value[1]} {self.joined.get()} {self.mean.get()}"


env = environment()
records = [
    ("a", 1),
    ("a", 2),
    ("b", 5),
    ("a", 3),
    ("a", None),
    ("b", 0),
    ("a", 4),
    ("a", None),
    ("b", 7),
    ("a", 9),
]
env.from_collection(records).key_by(by_first).process(Both()).print()
env.execute()
