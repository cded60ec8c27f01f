"""A job of many subtasks, with its metrics and without: what they cost in CPU.

    python many_subtasks.py --parallelism 500               # 1,000 subtasks
    python many_subtasks.py --parallelism 500 --spark       # on Spark, which takes ten times as long

Epochs with and without metrics alternate in one run, so a machine that is slow for a while is slow for both.
With them, tasks report, views are made, and all metrics are read once in ``--read-every`` epochs, as a
reporter does. Without them tasks report nothing and views count records alone.

By default the tasks run in this process: what Spark takes for each task, some milliseconds, is missing then,
so the share of metrics is larger than it is on Spark. Prints one line of JSON: the throughput with metrics as
a part of that without, by the CPU time of epochs, and microseconds of metrics for each task and epoch.
"""

import argparse
import json
import time
from dataclasses import replace
from statistics import median

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
    """Takes the reports of tasks away, or lets them through; and adds up the CPU time of epochs for both."""

    def __init__(self, read_every):
        self.on = True
        self.read_every = read_every
        self.spent = {True: [], False: []}
        self.begun = None

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
            self.on = mover._course.epoch % 2 == 0
            begun = time.process_time()
            run_epoch(mover, *arguments)
            self.spent[self.on].append(time.process_time() - begun)

        ledger.Ledger.report, epoch_mover.EpochMover._run_epoch = told, epoch
        if spark:
            from firesteel.spark import engine

            run = engine.run_epoch
            engine.run_epoch = lambda s, levels, widths, reports: run(
                s, levels, widths, reports if self.on else None
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--parallelism", type=int, default=500)
    parser.add_argument("--epochs", type=int, default=16)
    parser.add_argument("--records", type=int, default=2_000_000, help="in each epoch")
    parser.add_argument("--read-every", type=int, default=4, help="epochs with metrics")
    parser.add_argument("--spark", action="store_true")
    arguments = parser.parse_args()
    if not arguments.spark:
        from firesteel.jobmanager.executor import Executor
        from firesteel.program.execution import set_executor
        from firesteel.testing.local_platform import LocalPlatform

        set_executor(Executor(LocalPlatform))
    switch = Switch(arguments.read_every)
    switch.install(arguments.spark)
    configuration = Configuration()
    per_split = arguments.records // arguments.parallelism
    configuration.set_string("firesteel.epoch.max-records", str(per_split))
    configuration.set_string("firesteel.epoch.time-limit", "false")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(arguments.parallelism)
    env.set_max_parallelism(1024)
    last = arguments.parallelism * per_split * (arguments.epochs + 1) - 1
    numbers = env.from_source(NumberSequenceSource(0, last), WatermarkStrategy.no_watermarks(), "numbers")
    pairs = numbers.map(lambda n: (n, 1)).rescale().map(lambda v: v[0])
    pairs.map(Counted()).filter(lambda n: False).print()
    env.execute("many subtasks")
    with_, without = (median(switch.spent[on][2:-1]) for on in (True, False))  # the first open everything
    subtasks = 2 * arguments.parallelism
    print(
        json.dumps(
            {
                "epochs": arguments.epochs,
                "throughput": without / with_,
                "with_s": with_,
                "without_s": without,
                "microseconds_each": (with_ - without) / subtasks * 1e6,
                "subtasks": subtasks,
            }
        )
    )


if __name__ == "__main__":
    main()
