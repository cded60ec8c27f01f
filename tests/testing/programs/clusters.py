"""A mini cluster from its start to its end, twice: prints what happened, as JSON; arguments are masters."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import psutil

from firesteel.common import WatermarkStrategy
from firesteel.common.errors import ProgramError
from firesteel.datastream import KeyedProcessFunction, RuntimeContext
from firesteel.testing import CollectingSink, MiniCluster, ScriptedSource, StreamRecord
from tests.testing.functions import COUNT


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


def below() -> list[str]:
    """The processes that this one has started, directly or not."""
    return [" ".join(p.cmdline())[:100] for p in psutil.Process().children(recursive=True)]


def use(master: str) -> dict[str, Any]:
    """A job loses its Python workers between two epochs."""
    with MiniCluster(master, conf={"spark.app.name": f"test of {master}"}) as cluster:
        env = cluster.environment(parallelism=2)
        env.set_execution_mode("epochs")
        source, sink = ScriptedSource([], bounded=False), CollectingSink()
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "script")
        stream.key_by(lambda v: v % 5).process(Count()).sink_to(sink)
        client = env.execute_async()
        source.send(*(StreamRecord(n) for n in range(10)))
        before = sorted(sink.wait_for(10))
        workers = cluster.python_workers()
        killed = cluster.kill_python_worker()
        source.send(*(StreamRecord(n) for n in range(10, 20)))
        source.end()
        client.get_job_execution_result().result()
        try:
            MiniCluster().start()
            second = "started"
        except ProgramError as e:
            second = e.message
        return {
            "master": cluster.spark.sparkContext.master,
            "app": cluster.spark.sparkContext.appName,
            "before": before,
            "after": sorted(sink.values),
            "was a worker": killed in workers and not psutil.pid_exists(killed),
            "second": second,
        }


if __name__ == "__main__":
    outcome = []
    for argument in sys.argv[1:]:
        done = use(argument)
        outcome.append(done | {"left": below()})
    print(json.dumps(outcome))
