"""Jobs of a shop, for the pages: some run, one is behind, one fails again and again, others have ended.

They really run, on the engine without Spark. ``python -m tests.rest.dashboard.shop PORT`` serves them until
it is interrupted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from firesteel.common.accumulators import IntCounter
from firesteel.common.configuration import Configuration
from firesteel.common.time import Time
from firesteel.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from firesteel.connectors.generated.datagen import GeneratedSource
from firesteel.datastream import MapFunction, RuntimeContext, RuntimeExecutionMode
from firesteel.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.jobmanager.executor import Executor
from firesteel.program.execution import get_executor
from firesteel.program.sources import EnumeratorContext, ReadRange, Split, SplitEnumerator
from firesteel.rest.local import LocalCluster
from firesteel.rest.server import RestServer
from firesteel.rest.settings import RestSettings
from firesteel.table import StreamTableEnvironment
from firesteel.testing import MiniCluster
from tests.waiting import patience, until

#: A name that is markup, and what it would do if a page took it for that.
HOSTILE = '<img src=x onerror="window.broken=1"><script>window.broken=2</script>'
SETTINGS = (
    ("execution.checkpointing.dir", "file:///var/firesteel/checkpoints"),
    ("parallelism.default", "4"),
    ("rest.port", "8081"),
    ("s3.secret-key", "******"),
    ("state.backend.type", "rocksdb"),
)


class Clicks(GeneratedSource):
    """Knows how many records were not read yet, as a Kafka topic does."""

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        made = super().create_enumerator(context)
        left: dict[str, int] = {}
        plan = made.plan

        def counted(split: Split, position: Any, *limits: int) -> ReadRange | None:
            left[split.id] = split.payload.count - (position or 0)
            return plan(split, position, *limits)

        made.plan = counted  # type: ignore[method-assign]
        made.pending_records = lambda: left  # type: ignore[method-assign]
        return made


class OrderTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(time.time() * 1000) - 1_500 - value[0] % 7 * 100


class Counts(MapFunction):
    """Counts what it sees."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.orders, self.large = IntCounter(), IntCounter()
        runtime_context.add_accumulator("orders", self.orders)
        runtime_context.add_accumulator("large orders", self.large)

    def map(self, value: Any) -> Any:
        self.orders.add(1)
        self.large.add(int(value[2] > 90))
        return value


class Price(MapFunction):
    """Fails at one of its records."""

    def map(self, value: Any) -> Any:
        return price_of({"id": value, "items": None if value == 137 else [value]})


def price_of(order: dict[str, Any]) -> int:
    return sum(order["items"])


def statements(cluster: MiniCluster, directory: Path) -> str:
    """A job of two INSERTs."""
    tables = StreamTableEnvironment.create(cluster.environment(settings(directory)))
    tables.execute_sql(
        "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '5')"
    )
    for name in ("kept", "small"):
        tables.execute_sql(f"CREATE TABLE {name} (n BIGINT) WITH ('connector' = 'blackhole')")
    both = tables.create_statement_set()
    both.add_insert_sql("INSERT INTO kept SELECT n FROM numbers WHERE n > 1")
    both.add_insert_sql("INSERT INTO small SELECT n FROM numbers WHERE n <= 1")
    client = both.execute().get_job_client()
    assert client is not None
    return str(client.get_job_id())


@dataclass(frozen=True)
class Shop:
    """The ids of the jobs by name, and where they are served."""

    server: RestServer
    cluster: LocalCluster
    ids: dict[str, str]
    directory: Path
    mini: MiniCluster

    @contextmanager
    def job(self, start: Callable[[MiniCluster, Path], str]) -> Iterator[str]:
        """One more job, which ends with the block if it has not ended before."""
        job_id = start(self.mini, self.directory)
        try:
            yield job_id
        finally:
            for job in executor().running_jobs:
                if str(job.job_id) == job_id:
                    job.cancel().result(patience(20))


def settings(directory: Path, **more: str) -> Configuration:
    found = Configuration()
    for key, value in {
        "execution.checkpointing.interval": "500 ms",
        "execution.checkpointing.dir": f"file://{directory}/checkpoints",
        "execution.checkpointing.savepoint-dir": f"file://{directory}/savepoints",
        **more,
    }.items():
        found.set_string(key, value)
    return found


def _order(index: int) -> tuple[int, str, int]:
    # Half of all orders are of one customer: a key that is hot.
    return index, "c0" if index % 2 else f"c{index % 40}", index * 37 % 100


def orders(mini: MiniCluster, directory: Path, name: str, rate: int = 400) -> str:
    """Revenue of customers in windows, joined by nothing: three levels, event time, state."""
    env = mini.environment(settings(directory), parallelism=4)
    source = DataGeneratorSource(_order, None, RateLimiterStrategy.per_second(rate))
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(OrderTime())
    made = (
        env.from_source(source, times, "orders").uid("orders").map(Counts()).name("count them").uid("count")
    )
    totals = made.key_by(lambda o: o[1]).window(TumblingEventTimeWindows.of(Time.seconds(2)))
    revenue = (
        totals.reduce(lambda a, b: (a[0], a[1], a[2] + b[2])).name("revenue of customers").uid("revenue")
    )
    revenue.filter(lambda o: o[2] > 10**9).name("alerts only").print().name("alerts")
    large = made.filter(lambda o: o[2] > 90).name("large orders")
    large.key_by(lambda o: o[2]).map(lambda o: o).name("by value").filter(lambda o: False).print().name(
        "audit"
    )
    return str(env.execute_async(name).get_job_id())


def parsed(click: tuple[int, str, int]) -> tuple[int, int]:
    return click[2], 1


def parsed_slowly(click: tuple[int, str, int]) -> tuple[int, int]:
    """As `parsed`, with something to see in it."""
    return click[2], len({checksum(click[1], number) for number in range(20)})


def checksum(text: str, seed: int) -> int:
    return sum(ord(letter) * seed for letter in text * 20)


def behind(mini: MiniCluster, directory: Path, name: str, rate: float | None = 1_000) -> str:
    """A source with far more records than there is time for.

    :param rate: None: as many as there is time for.
    """
    env = mini.environment(settings(directory), parallelism=2)
    source = Clicks(_order, 3_000_000, rate)
    clicks = env.from_source(source, WatermarkStrategy.no_watermarks(), "clicks of 2025").uid("clicks")
    counted = (
        clicks.map(parsed if rate else parsed_slowly)
        .name("parse")
        .key_by(lambda v: v[0])
        .sum(1)
        .name("clicks of pages")
    )
    counted.filter(lambda v: False).print().name("archive")
    return str(env.execute_async(name).get_job_id())


def failing(mini: MiniCluster, directory: Path, name: str, attempts: int, delay: str) -> str:
    restarts = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": str(attempts),
        "restart-strategy.fixed-delay.delay": delay,
    }
    env = mini.environment(settings(directory, **restarts), parallelism=1)
    env.from_collection(range(200)).map(Price()).name("price").uid("price").print().name("out")
    return str(env.execute_async(name).get_job_id())


def words(mini: MiniCluster, name: str, *, batch: bool = False) -> str:
    env = mini.environment()
    if batch:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    counted = env.from_collection(["a", "b", "a"] * 400).map(lambda w: (w, 1)).name("pair")
    counted.key_by(lambda v: v[0]).sum(1).name("count").filter(lambda v: False).print().name("out")
    return str(env.execute(name).get_job_id())


def start(mini: MiniCluster, directory: Path) -> dict[str, str]:
    """All jobs, as soon as they are what they should be."""
    jobs = {"orders": orders(mini, directory, "orders")}
    jobs["finished"] = words(mini, "daily word count", batch=True)
    jobs["failed"] = failing(mini, directory, "prices", 1, "0 ms")
    jobs["restarting"] = failing(mini, directory, "prices, again and again", 1_000_000, "1 h")
    jobs["hostile"] = words(mini, HOSTILE)
    jobs["behind"] = behind(mini, directory, "backfill of clicks")
    jobs["cancelled"] = orders(mini, directory, "orders of last year", 50)
    return jobs


@contextmanager
def shop(server_settings: RestSettings | None = None) -> Iterator[Shop]:
    """The jobs, served."""
    with TemporaryDirectory() as text, MiniCluster.in_process() as mini:
        directory = Path(text)
        cluster = LocalCluster(executor(), SETTINGS)
        try:
            with RestServer(cluster, server_settings or RestSettings(ports=(0,))) as server:
                ids = start(mini, directory)
                until(lambda: _status(cluster, ids["failed"]) == "FAILED", seconds=60)
                until(lambda: _status(cluster, ids["restarting"]) == "RESTARTING", seconds=60)
                until(
                    lambda: (view := cluster.job(ids["orders"])) and view.checkpoints.completed > 2,
                    seconds=60,
                )
                until(
                    lambda: (view := cluster.job(ids["cancelled"])) and view.checkpoints.completed, seconds=60
                )
                for job in executor().running_jobs:
                    if str(job.job_id) == ids["cancelled"]:
                        job.cancel().result(patience(20))
                yield Shop(server, cluster, ids, directory, mini)
                for job in executor().running_jobs:
                    job.cancel().result(patience(20))
        finally:
            cluster.close()


def executor() -> Executor:
    found = get_executor()
    assert isinstance(found, Executor)
    return found


def _checkpoints(cluster: LocalCluster, job_id: str) -> int:
    view = cluster.job(job_id)
    return 0 if view is None else view.checkpoints.completed


def _status(cluster: LocalCluster, job_id: str) -> str | None:
    view = cluster.job(job_id)
    return None if view is None else view.status.name


if __name__ == "__main__":
    with shop(RestSettings(ports=(int(sys.argv[1]),))) as found:
        print(found.server.url, found.ids, flush=True)
        while True:
            time.sleep(60)
