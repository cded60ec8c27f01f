"""Live sales: a server that sends them, and a job that sums them up every two seconds.

    python examples/sales.py serve [--port 9181] [--sales 1000]
    firesteel run examples/sales.py [--port 9181] [--output data/profitPerMonthWindowed]

The server sends lines ``date,month,category,product,profit`` to whoever connects. The job keeps, for each
month and window of two seconds by the clock, the profit and how many sales there were, and writes them as
lines of text. A socket cannot be read again, so it is for trying out.

    socket -> parse -> by month -> two seconds -> profit and count -> file
"""

from __future__ import annotations

import argparse
import calendar
import random
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from firesteel.common import Encoder, Time, Types
from firesteel.datastream import DataStream, StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSink
from firesteel.datastream.window import TumblingProcessingTimeWindows

PORT = 9181
PRODUCTS = {"Bat": "Cricket", "Ball": "Cricket", "Laptop": "Computer", "Mouse": "Computer"}


@dataclass(frozen=True)
class Sales:
    month: str
    profit: int
    count: int = 1

    @staticmethod
    def parse(line: str) -> Sales:
        _, month, _, _, profit = line.split(",")
        return Sales(month, int(profit))

    def add(self, other: Sales) -> Sales:
        return replace(self, profit=self.profit + other.profit, count=self.count + other.count)


def lines(count: int, seed: int = 1) -> Iterator[str]:
    """What the server sends."""
    rng = random.Random(seed)
    for _ in range(count):
        month, product = rng.randrange(1, 13), rng.choice(list(PRODUCTS))
        day = f"{rng.randrange(1, 29):02}-{month:02}-2018"
        yield f"{day},{calendar.month_name[month]},{PRODUCTS[product]},{product},{rng.randrange(10, 100)}"


def serve(server: socket.socket, count: int, pause_s: float) -> None:
    """Send the sales to one client, then hang up."""
    client, _ = server.accept()
    with client:
        for line in lines(count):
            client.sendall(f"{line}\n".encode())
            time.sleep(pause_s)


def profits(sales: DataStream) -> DataStream:
    by_month = sales.map(Sales.parse).key_by(lambda sale: sale.month)
    windows = by_month.window(TumblingProcessingTimeWindows.of(Time.seconds(2)))
    return windows.reduce(Sales.add).uid("profits")


def as_text(sales: Sales) -> str:
    return f"({sales.month},{sales.profit},{sales.count})"


def run(port: int, output: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    found = profits(env.socket_text_stream("localhost", port))
    sink = FileSink.for_row_format(output, Encoder.simple_string_encoder()).build()
    found.map(as_text, Types.STRING()).sink_to(sink)
    env.execute("profit per month")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", nargs="?", choices=["serve", "run"], default="run")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--sales", type=int, default=1_000)
    parser.add_argument("--output", default="data/profitPerMonthWindowed")
    options = parser.parse_args(arguments)
    if options.what == "run":
        run(options.port, options.output)
        return
    with socket.create_server(("localhost", options.port)) as server:
        serve(server, options.sales, 0.01)


if __name__ == "__main__":
    main(sys.argv[1:])
