"""Services whose errors pile up, found while it happens.

    python examples/monitoring.py [--seconds 30] [--rate 2000]

Requests are generated; in the middle third one service answers every second request with an error. For each
service and five seconds by the clock (processing time) the share of errors is counted; where it is high an
alert is printed.

    requests -> by service -> five seconds -> share of errors -> alerts
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from dataclasses import dataclass

from firesteel.common import Time, WatermarkStrategy
from firesteel.datastream import (
    AggregateFunction,
    DataStream,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.datastream.window import TumblingProcessingTimeWindows

SERVICES = ("basket", "search", "payment")
LEAST_REQUESTS = 10
TOO_MANY = 0.2


@dataclass(frozen=True)
class Request:
    service: str
    status: int


@dataclass(frozen=True)
class Alert:
    service: str
    requests: int
    errors: int
    until_ms: int


class Errors(AggregateFunction):
    """Requests, and those of them that failed."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Request, accumulator: tuple[int, int]) -> tuple[int, int]:
        requests, errors = accumulator
        return requests + 1, errors + (value.status >= 500)

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Judge(ProcessWindowFunction):
    def process(
        self, key: str, context: ProcessWindowFunction.Context, elements: list[tuple[int, int]]
    ) -> Iterator[Alert]:
        for requests, errors in elements:
            if requests >= LEAST_REQUESTS and errors / requests >= TOO_MANY:
                yield Alert(key, requests, errors, context.window().end)


def alerts(requests: DataStream) -> DataStream:
    windows = requests.key_by(lambda r: r.service).window(TumblingProcessingTimeWindows.of(Time.seconds(5)))
    return windows.aggregate(Errors(), Judge()).uid("alerts")


def request(number: int, count: int) -> Request:
    """The request of a number: the same each time."""
    rng = random.Random(number)
    service = rng.choice(SERVICES)
    broken = service == "payment" and count // 3 <= number < 2 * count // 3
    return Request(service, 503 if rng.random() < (0.5 if broken else 0.01) else 200)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--rate", type=int, default=2_000)
    options = parser.parse_args()
    count = options.seconds * options.rate
    source = DataGeneratorSource(
        lambda number: request(number, count),
        count,
        rate_limiter_strategy=RateLimiterStrategy.per_second(options.rate),
    )
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    requests = env.from_source(source, WatermarkStrategy.no_watermarks(), "requests")
    alerts(requests).print()
    env.execute("monitoring")


if __name__ == "__main__":
    main()
