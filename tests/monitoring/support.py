"""A job with metrics of all kinds, that goes on until it is told to end."""

from __future__ import annotations

import time
from typing import Any

from firesteel.common.configuration import Configuration
from firesteel.common.job_client import JobClient
from firesteel.common.time import Duration
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy


class Reports(MapFunction):
    """Has a metric of each kind."""

    def open(self, runtime_context: RuntimeContext) -> None:
        group = runtime_context.get_metrics_group()
        self.last = 0
        self.orders = group.counter("orders")
        self.rate = group.add_group("tenant", "acme").meter("orders_rate")
        self.sizes = group.distribution("amount_cents")
        self.cost = group.add_group("cost").histogram("of_one")
        group.gauge("largest", lambda: self.last)
        group.gauge("broken", lambda: 1 // 0)
        group.gauge("now", lambda: time.time_ns())

    def map(self, value: Any) -> Any:
        self.orders.inc()
        self.rate.mark_event()
        self.sizes.update(value[1])
        self.cost.update(float(value[1] % 100))
        self.last = max(self.last, value[1])
        return value


def start(name: str = "orders", parallelism: int = 2, rate: int = 400, **options: str) -> JobClient:
    """The job of the recordings, about."""
    configuration = Configuration()
    for key, value in options.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(100))
    stamped = strategy.with_timestamp_assigner(lambda v, t: time.time_ns() // 1_000_000 - 500)
    source = DataGeneratorSource(lambda index: int(index), None, RateLimiterStrategy.per_second(rate))
    numbers = env.from_source(source, stamped, "numbers")
    pairs = numbers.map(lambda n: (n % 7, int(n))).name("pair")
    totals = pairs.key_by(lambda v: v[0]).map(Reports()).name("running total")
    totals.filter(lambda v: False).name("none").print().name("out")
    return env.execute_async(name)
