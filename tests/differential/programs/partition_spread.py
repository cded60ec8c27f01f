"""rebalance and rescale spread evenly, broadcast copies to all; what comes to a subtask is counted there."""

# order: free

from pyflink.datastream import FlatMapFunction
from timed import environment


class Counted(FlatMapFunction):
    """The count of each subtask's records, at the last of them."""

    def __init__(self, expected):
        self.expected = expected

    def open(self, runtime_context):
        self.seen = 0

    def flat_map(self, value):
        self.seen += 1
        if self.seen == self.expected:
            yield f"a subtask has had {self.seen}"


env = environment(parallelism=3)
stream = env.from_collection(list(range(12)))
stream.rebalance().flat_map(Counted(4)).print("rebalance")
stream.rescale().flat_map(Counted(4)).print("rescale")
stream.rescale().flat_map(Counted(6)).set_parallelism(2).print("rescale to 2")
stream.broadcast().flat_map(Counted(12)).print("broadcast")
stream.shuffle().map(lambda v: v).set_parallelism(2).print("shuffle")
stream.map(lambda v: v + 0.5).forward().map(lambda v: -v).print("forward")
stream.rebalance().map(lambda v: v * 10).set_parallelism(2).map(lambda v: v + 1).set_parallelism(3).print(
    "2 to 3"
)
env.execute()
