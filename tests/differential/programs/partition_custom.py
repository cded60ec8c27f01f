"""partition_custom chooses the subtask: it gets the key and the number of subtasks behind it."""

# order: free

from pyflink.datastream import KeySelector, MapFunction, Partitioner
from timed import environment


class Where(MapFunction):
    def open(self, runtime_context):
        self.here = f"{runtime_context.get_index_of_this_subtask()}/{runtime_context.get_number_of_parallel_subtasks()}"

    def map(self, value):
        return f"{value} at {self.here}"


class Last(Partitioner):
    def partition(self, key, num_partitions):
        return num_partitions - 1 if key == "z" else len(key) % num_partitions


class Text(KeySelector):
    def get_key(self, value):
        return value[1]


env = environment(parallelism=3)
stream = env.from_collection([(1, "a"), (2, "bb"), (3, "ccc"), (4, "z"), (5, "dddd"), (6, "")])
stream.partition_custom(Last(), Text()).map(Where()).print("classes")
stream.partition_custom(lambda key, n: key % n, lambda v: v[0]).map(Where()).print("functions")
stream.partition_custom(lambda key, n: 0, lambda v: v[0]).map(Where()).set_parallelism(2).print("one")
env.execute()
