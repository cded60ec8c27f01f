"""A job of many subtasks, with its metrics and without: what they cost.

    python many_subtasks.py --parallelism 500 --epochs 6            # 1,000 subtasks
    python many_subtasks.py --parallelism 500 --epochs 6 --without

With them, tasks report, views are made, a reporter reads all metrics each second and writes them to a file.
``--without`` takes the reports away and shows the driver none of them; nobody reads metrics.

Prints one line of JSON: records in each second, the median seconds of an epoch.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
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


def take_reports_away():
    from firesteel.jobmanager import ledger
    from firesteel.jobmanager.spent import EpochWork
    from firesteel.spark import engine

    run, report = engine.run_epoch, ledger.Ledger.report
    engine.run_epoch = lambda session, levels, widths, reports: run(session, levels, widths)
    ledger.Ledger.report = lambda self, acks, of_epoch, work: report(self, acks, of_epoch, EpochWork())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--parallelism", type=int, default=500)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--records", type=int, default=400_000, help="in each epoch")
    parser.add_argument("--without", action="store_true")
    arguments = parser.parse_args()
    configuration = Configuration()
    per_split = arguments.records // arguments.parallelism
    configuration.set_string("firesteel.epoch.max-records", str(per_split))
    configuration.set_string("firesteel.epoch.time-limit", "false")
    with tempfile.TemporaryDirectory() as directory:
        if arguments.without:
            take_reports_away()
        else:
            prefix = "metrics.reporter.file."
            configuration.set_string(prefix + "factory.class", "json-lines")
            configuration.set_string(prefix + "path", str(Path(directory) / "metrics.jsonl"))
            configuration.set_string(prefix + "interval", "10 s")
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(arguments.parallelism)
        env.set_max_parallelism(1024)
        last = arguments.parallelism * per_split * (arguments.epochs + 1) - 1
        numbers = env.from_source(NumberSequenceSource(0, last), WatermarkStrategy.no_watermarks(), "numbers")
        numbers.map(lambda n: (n, 1)).rebalance().map(lambda v: v[0]).map(Counted()).filter(lambda n: False).print()
        client = env.execute_async("many subtasks")
        (job,) = get_executor().running_jobs
        client.get_job_execution_result().result()
    epochs = [report.elapsed_ms / 1000 for report in job.view.reports[1:-1]]  # the first opens everything
    if not arguments.without:
        assert all(subtask.busy_ms for vertex in job.view.vertices for subtask in vertex.subtasks)
    seconds = median(epochs)
    print(json.dumps({"rate": arguments.records / seconds, "median": seconds, "epochs": len(epochs), "at": time.time()}))


if __name__ == "__main__":
    main()
