"""What a function learns of its task; open comes before the first record, in each subtask."""

# order: free

from pyflink.datastream import FlatMapFunction, KeyedProcessFunction, MapFunction
from timed import environment


class Task(FlatMapFunction):
    def open(self, runtime_context):
        self.context = runtime_context
        self.first = True

    def flat_map(self, value):
        if self.first:
            self.first = False
            context = self.context
            yield (
                context.get_index_of_this_subtask(),
                context.get_number_of_parallel_subtasks(),
                context.get_max_number_of_parallel_subtasks(),
                context.get_attempt_number(),
                context.get_task_name_with_subtasks().rpartition(" (")[2],
            )


class Parameter(MapFunction):
    def open(self, runtime_context):
        self.found = runtime_context.get_job_parameter("no such parameter", "default")

    def map(self, value):
        return value, self.found


class Keyed(KeyedProcessFunction):
    def open(self, runtime_context):
        self.subtasks = runtime_context.get_number_of_parallel_subtasks()

    def process_element(self, value, ctx):
        yield ctx.get_current_key(), self.subtasks


env = environment(parallelism=2)
stream = env.from_collection([1, 2, 3, 4, 5])
stream.rebalance().flat_map(Task()).print("two")
stream.rebalance().flat_map(Task()).set_parallelism(3).set_max_parallelism(7).print("three")
stream.flat_map(Task()).set_parallelism(1).print("one")
stream.map(Parameter()).set_parallelism(1).print("parameter")
stream.key_by(lambda v: v % 2).process(Keyed()).print("keyed")
env.execute()
