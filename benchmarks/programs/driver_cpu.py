"""What the driver computes for each subtask and epoch, in jobs of more and more subtasks.

    python driver_cpu.py --subtasks 64 256 1024

A keyed count of two levels, each with half of the subtasks, and a checkpoint after each epoch. The tasks run
in this process, so that it takes no cluster to have a thousand of them; what they compute does not count.
What counts is the thread of the job between two epochs (the plan of the next one, the commit, views, the
checkpoint), and to pack what is sent to the tasks and to unpack what they answer. What Spark's own JVM takes
is not in it.

Prints one line of JSON for each number of subtasks.
"""

import argparse
import json
import pickle
import tempfile
import time
from statistics import median

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors import NumberSequenceSource
from firesteel.jobmanager.executor import Executor
from firesteel.program.execution import set_executor
from firesteel.runtime.shipped_level import pack_level
from firesteel.testing.local_platform import LocalEngine, LocalPlatform

WARM_UP = 5


class Measured(LocalEngine):
    """:ivar spent_s: in the driver, for each epoch."""

    def __init__(self):
        super().__init__()
        self.spent_s = []
        self.since_s = None

    def run(self, levels, parallelism):
        before_s = 0.0 if self.since_s is None else time.thread_time() - self.since_s
        begun_s = time.thread_time()
        for level in levels:
            pack_level(level)
        before_s += time.thread_time() - begun_s
        answers = super().run(levels, parallelism)
        packed = [pickle.dumps(answer, 5) for answer in answers]
        begun_s = time.thread_time()
        for answer in packed:
            pickle.loads(answer)
        self.spent_s.append(before_s + time.thread_time() - begun_s)
        self.since_s = time.thread_time()
        return answers


def spent_s(subtasks, epochs, root):
    """In the driver, in the middle epoch of so many."""
    engine = Measured()
    platform = LocalPlatform(lambda: engine)
    executor = Executor(lambda: platform)
    set_executor(executor)
    configuration = Configuration()
    for key, value in {
        "execution.mode": "epochs",
        "execution.checkpointing.interval": "10 ms",
        "execution.checkpointing.dir": root,
        "firesteel.epoch.max-records": "10",
    }.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    parallelism = subtasks // 2
    env.set_parallelism(parallelism)
    env.set_max_parallelism(max(128, parallelism))
    numbers = NumberSequenceSource(0, 10 * parallelism * epochs - 1)
    counts = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    counts.map(lambda n: (n % 1000, 1)).key_by(lambda v: v[0]).reduce(
        lambda a, b: (a[0], a[1] + b[1])
    ).filter(lambda v: False).print()
    env.execute("driver")
    return engine.spent_s[WARM_UP:-2]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--subtasks", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--epochs", type=int, default=30)
    options = parser.parse_args()
    for subtasks in options.subtasks:
        with tempfile.TemporaryDirectory() as root:
            seconds = spent_s(subtasks, options.epochs, root)
        each_ms = 1000 * median(seconds) / subtasks
        found = {"subtasks": subtasks, "epochs": len(seconds), "ms_for_each_subtask": each_ms}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
