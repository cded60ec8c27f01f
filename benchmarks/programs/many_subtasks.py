"""A job of many subtasks, with its metrics and without: what they cost in CPU.

    python many_subtasks.py --parallelism 500               # 1,000 subtasks
    python many_subtasks.py --parallelism 500 --spark       # on Spark, which takes ten times as long

Metrics cost something for each task and epoch and nothing for each record. Epochs of many records differ from
one another by more than that, so it is measured in two jobs:

- Short epochs, with and without metrics in turn, so a machine that is slow for a while is slow for both. With
  them, tasks report, views are made, and all metrics are read once in ``--read-every`` epochs, as a reporter
  does. Without them tasks report nothing and views count records alone. The middle one of the differences
  between neighbours is the cost; ``--nothing`` has metrics on both sides, and shows how far to trust it.
- Long epochs without metrics: what that cost is a part of.

By default the tasks run in this process: what Spark takes for each task, some milliseconds, is missing then,
so the share of metrics is larger than it is on Spark. Prints one line of JSON: the throughput with metrics as
a part of that without, by the CPU time of epochs, and microseconds of metrics for each task and epoch.
"""

import argparse
import json
import time
from dataclasses import replace
from statistics import median, quantiles

from firesteel.common import Configuration, WatermarkStrategy
from firesteel.datastream import MapFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.program.execution import get_executor


class Counted(MapFunction):
    """As a user's function has them: a counter and a distribution."""

    def open(self, runtime_context):
        group = runtime_context.get_metrics_group()
        self.seen = group.counter("seen")
        self.values = group.distribution("values")

    def map(self, value):
        self.seen.inc()
        self.values.update(value % 1000)
        return value


class Switch:
    """Takes the reports of tasks away, or lets them through; and keeps the CPU time of each epoch.

    :param is_on: whether an epoch, by its number, has metrics.
    """

    def __init__(self, read_every):
        self.is_on = None
        self.on = True
        self.read_every = read_every
        self.spent = []

    def begin(self, is_on):
        self.is_on, self.spent = is_on, []

    def install(self, spark):
        from firesteel.jobmanager import epoch_mover, ledger
        from firesteel.jobmanager.spent import EpochWork
        from firesteel.runtime import task
        from firesteel.testing import local_platform

        run_level, report = task.run_level, ledger.Ledger.report
        run_epoch = epoch_mover.EpochMover._run_epoch

        def level(descriptor, subtask, rows, beside=None):
            return run_level(descriptor, subtask, rows, beside if self.on else None)

        def told(mover, acks, of_epoch, work):
            if not self.on:
                acks = [replace(ack, metrics={}) for ack in acks]
            report(mover, acks, of_epoch, work if self.on else EpochWork())
            if self.on and of_epoch.epoch // 2 % self.read_every == 0:
                self.read()

        def epoch(mover, *arguments):
            self.on = self.is_on(mover._course.epoch)
            begun = time.process_time()
            run_epoch(mover, *arguments)
            self.spent.append(time.process_time() - begun)

        ledger.Ledger.report, epoch_mover.EpochMover._run_epoch = told, epoch
        if spark:
            from firesteel.spark.epoch import Epochs

            run = Epochs.run
            Epochs.run = lambda epochs, levels, widths, reports: run(
                epochs, levels, widths, reports if self.on else None
            )
        else:
            local_platform.run_level = level

    def read(self):
        from firesteel.metrics.machines import Machines
        from firesteel.monitoring.rates import Rates
        from firesteel.monitoring.samples import samples

        (job,) = get_executor().running_jobs
        for _ in samples([job.view], Machines(), Rates(), time.time_ns() // 1_000_000):
            pass


def run(parallelism, records, epochs):
    """Run a job with so many records in each of its epochs."""
    configuration = Configuration()
    per_split = records // parallelism
    configuration.set_string("firesteel.epoch.max-records", str(per_split))
    configuration.set_string("firesteel.epoch.time-limit", "false")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    env.set_max_parallelism(1024)
    last = parallelism * per_split * epochs - 1
    numbers = env.from_source(NumberSequenceSource(0, last), WatermarkStrategy.no_watermarks(), "numbers")
    pairs = numbers.map(lambda n: (n, 1)).rescale().map(lambda v: v[0])
    pairs.map(Counted()).filter(lambda n: False).print()
    env.execute("many subtasks")


def differences(spent):
    """How much more each epoch of even number took than those beside it; not the first, which open all."""
    return [spent[i] - (spent[i - 1] + spent[i + 1]) / 2 for i in range(4, len(spent) - 2, 2)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--parallelism", type=int, default=500)
    parser.add_argument("--pairs", type=int, default=40, help="of short epochs")
    parser.add_argument("--short", type=int, default=50_000, help="records of a short epoch")
    parser.add_argument("--records", type=int, default=2_000_000, help="of a long epoch")
    parser.add_argument("--long-epochs", type=int, default=6)
    parser.add_argument("--read-every", type=int, default=4, help="epochs with metrics")
    parser.add_argument("--nothing", action="store_true", help="metrics on both sides")
    parser.add_argument("--spark", action="store_true")
    arguments = parser.parse_args()
    if not arguments.spark:
        from firesteel.jobmanager.executor import Executor
        from firesteel.program.execution import set_executor
        from firesteel.testing.local_platform import LocalPlatform

        set_executor(Executor(LocalPlatform))
    switch = Switch(arguments.read_every)
    switch.install(arguments.spark)
    switch.begin(lambda epoch: arguments.nothing or epoch % 2 == 0)
    run(arguments.parallelism, arguments.short, 2 * arguments.pairs + 6)
    found = differences(switch.spent)
    low, middle, high = quantiles(found, n=4)
    switch.begin(lambda epoch: False)
    run(arguments.parallelism, arguments.records, arguments.long_epochs)
    without_s = median(switch.spent[2:-1])
    subtasks = 2 * arguments.parallelism
    print(
        json.dumps(
            {
                "epochs": len(switch.spent) + 2 * len(found),
                "throughput": without_s / (without_s + middle),
                "without_s": without_s,
                "microseconds_each": middle / subtasks * 1e6,
                "quartiles": [low / subtasks * 1e6, high / subtasks * 1e6],
                "pairs": len(found),
                "subtasks": subtasks,
            }
        )
    )


if __name__ == "__main__":
    main()
