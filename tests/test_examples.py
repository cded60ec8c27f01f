"""The example programs of the domains: what they find is what was put into their data.

Those of patterns are in ``cep/test_jobs.py``, the main job in ``test_flights.py``.
"""

from __future__ import annotations

import socket
import threading
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from examples import access_log, etl, features, greenhouse, monitoring, orders, sales, unpaid
from firesteel.common import Configuration, Types
from firesteel.testing import CollectingSink, MiniCluster, OperatorHarness
from tests.jobmanager.checkpoint_support import submit
from tests.runtime.support import SteppedClock
from tests.waiting import patience


def collect(stream: Any) -> list[Any]:
    with stream.execute_and_collect() as results:
        return list(results)


@pytest.mark.row("S-USE-03")
def test_a_service_that_fails_is_reported_within_five_seconds() -> None:
    harness = OperatorHarness(monitoring.alerts)
    harness.set_processing_time(1_000)
    for number in range(20):
        harness.process_element(monitoring.Request("search", 500 if number % 10 == 0 else 200))
        harness.process_element(monitoring.Request("payment", 503 if number % 2 else 200))
    harness.process_element(monitoring.Request("basket", 500))  # one request says nothing
    harness.set_processing_time(4_998)
    assert harness.values == []
    harness.set_processing_time(5_000)
    assert harness.values == [monitoring.Alert("payment", 20, 10, 5_000)]


def test_requests_are_the_same_each_time_and_fail_in_the_middle_third() -> None:
    made = [monitoring.request(number, 3_000) for number in range(3_000)]
    assert made == [monitoring.request(number, 3_000) for number in range(3_000)]
    failed = Counter((n // 1_000, r.service) for n, r in enumerate(made) if r.status >= 500)
    assert failed[1, "payment"] > 100 > 10 * max(failed[0, "payment"], failed[1, "search"])


@pytest.mark.row("S-USE-05")
def test_averages_do_not_depend_on_the_order_of_arrival() -> None:
    taken, _ = greenhouse.generated(6_000)
    with MiniCluster.in_process() as cluster:
        in_order = collect(greenhouse.averages(cluster.environment().from_collection(taken)))
        shuffled = greenhouse.arrived(taken, [])
        assert shuffled != taken
        out_of_order = collect(greenhouse.averages(cluster.environment().from_collection(shuffled)))
    assert sorted(map(str, in_order)) == sorted(map(str, out_of_order))
    assert len(in_order) == 20 * 20  # beds, minutes


@pytest.mark.row("S-USE-05")
def test_readings_that_a_gateway_has_held_are_late() -> None:
    taken, held = greenhouse.generated(6_000)
    late = CollectingSink()
    with MiniCluster.in_process() as cluster:
        env = cluster.environment()
        found = greenhouse.averages(env.from_collection(greenhouse.arrived(taken, held)))
        found.get_side_output(greenhouse.LATE).sink_to(late)
        env.execute()
    assert len(held) == 6
    assert set(late.values) == set(held)


@pytest.mark.row("S-USE-06")
def test_orders_are_added_up_by_customer_and_five_minutes() -> None:
    made = orders.generated(6_000)
    expected: dict[tuple[int, int], list[orders.Order]] = defaultdict(list)
    for order in made:
        expected[order.customer, order.time // (5 * orders.MINUTE)].append(order)
    with MiniCluster.in_process() as cluster:
        found = collect(orders.totals(cluster.environment(parallelism=4).from_collection(made)))
    assert len(found) == len(expected)
    for total in found:
        parts = expected[total.customer, total.time // (5 * orders.MINUTE)]
        assert (total.cents, total.orders) == (sum(part.cents for part in parts), len(parts))
        assert total.region == orders.REGIONS[total.customer % 4]


@pytest.mark.row("S-USE-06")
def test_totals_are_those_that_a_hand_computes() -> None:
    minute = orders.MINUTE
    made = [
        orders.Order(7, 1_000, 0),
        orders.Order(9, 50, 2 * minute),
        orders.Order(7, 250, 5 * minute),  # in the next window
        orders.Order(7, 500, 5 * minute - 1),
        orders.Order(7, 50, 9 * minute),
    ]
    with MiniCluster.in_process() as cluster:
        found = collect(orders.totals(cluster.environment(parallelism=1).from_collection(made)))
    assert sorted((t.time, t.customer, t.region, t.orders, t.cents) for t in found) == [
        (2 * minute, 9, "east", 1, 50),
        (5 * minute - 1, 7, "west", 2, 1_500),
        (9 * minute, 7, "west", 2, 300),
    ]


@pytest.mark.row("S-USE-08", "S-ARCH-10")
def test_an_order_that_nobody_pays_is_reminded_of_and_then_cancelled() -> None:
    made = unpaid.generated(2_000)
    paid = {event.order: event.time for event in made if event.kind == "paid"}
    asked = {event.order: event.time for event in made if event.kind == "placed"}
    waited = {order: paid.get(order, 1 << 60) - time for order, time in asked.items()}
    tags = {tag: CollectingSink() for tag in (unpaid.REMINDERS, unpaid.CANCELLED, unpaid.FOR_PEOPLE)}
    shipped = CollectingSink()
    with MiniCluster.in_process() as cluster:
        env = cluster.environment()
        found = unpaid.answers(env.from_collection(made))
        found.sink_to(shipped)
        for tag, sink in tags.items():
            found.get_side_output(tag).sink_to(sink)
        env.execute()
    thirty, sixty = unpaid.PATIENCE, 2 * unpaid.PATIENCE
    assert set(shipped.values) == {order for order, time in waited.items() if time <= sixty}
    assert set(tags[unpaid.REMINDERS].values) == {o for o, time in waited.items() if time > thirty}
    assert set(tags[unpaid.CANCELLED].values) == {o for o, time in waited.items() if time > sixty}
    assert {e.order for e in tags[unpaid.FOR_PEOPLE].values} == {2_000} | {
        order for order, time in waited.items() if sixty < time < 1 << 59
    }


FAILED: list[str] = []


def fails_once(line: str) -> str:
    """The till is on fire, once."""
    if line.startswith("7,") and not FAILED:
        FAILED.append(line)
        raise ValueError("the till is on fire")
    return line


@pytest.mark.row("S-USE-09", "S-ARCH-10")
def test_customers_are_loaded_once_over_a_restart(tmp_path: Path) -> None:
    FAILED.clear()
    settings = {
        "execution.checkpointing.interval": "10 ms",
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "1 ms",
        "firesteel.epoch.max-records": "3",
    }
    good = [f"{n},  ann  {'x' * (n % 2)}, {'Germany' if n % 2 else 'fr'}, 2024-01-0{n}" for n in range(1, 9)]
    bad = ["9,,de,2024-01-01", "x,bob,de,2024-01-01", "10,bob,xx,2024-01-01", "11,bob,de,yesterday", "12,bob"]
    lines = [*good[:4], *good[:4], *bad, *good[2:], *good]
    with MiniCluster.in_process() as cluster:
        env = cluster.environment(Configuration.from_dict(settings), parallelism=1)
        stream = env.from_collection(lines, Types.STRING())
        etl.load(stream.map(fails_once, Types.STRING()), str(tmp_path / "out"))
        env.execute()
    assert FAILED
    assert texts(tmp_path / "out" / "customers") == sorted(
        f"{n},Ann{' X' if n % 2 else ''},{'DE' if n % 2 else 'FR'},2024-01-0{n}" for n in range(1, 9)
    )
    assert [line.partition(":")[0] for line in texts(tmp_path / "out" / "rejected")] == sorted(
        ["no name", "no id", "no country", "no day", "2 fields"]
    )


def texts(directory: Path) -> list[str]:
    return sorted(line for part in directory.rglob("part-*") for line in part.read_text().splitlines())


@pytest.mark.row("S-USE-02")
def test_features_are_those_of_all_views_so_far() -> None:
    made = features.generated(3_000)
    with MiniCluster.in_process() as cluster:
        found = collect(features.features(cluster.environment().from_collection(made)))
    assert len(found) == len(made)
    newest = {row.visitor: row for row in found}
    for visitor, row in newest.items():
        views = [view for view in made if view.visitor == visitor]
        pauses = [later.time - view.time for view, later in pairwise(views)]
        assert row.visits == 1 + sum(pause >= features.SILENCE for pause in pauses)
        assert row.recent == tuple(view.kind for view in views[-3:])
        kinds = Counter(view.kind for view in views)
        assert row.shares == {k: round(n / len(views), 3) for k, n in sorted(kinds.items())}


@pytest.mark.row("S-USE-11", "S-CLI-07")
def test_sales_come_by_a_socket_and_go_into_a_file(tmp_path: Path) -> None:
    clock, sink = SteppedClock(), CollectingSink()
    with socket.create_server(("localhost", 0)) as server, MiniCluster.in_process() as cluster:
        serving = threading.Thread(target=sales.serve, args=(server, 200, 0))
        serving.start()
        env = cluster.environment(parallelism=1, clock=clock)
        lines = env.socket_text_stream("localhost", server.getsockname()[1], max_retry=1)  # then it is silent
        sales.profits(lines).sink_to(sink)
        job = submit(env)
        serving.join()
        while sum(sale.count for sale in sink.values) < 200:
            clock.tick(2_000)
        job.cancel()
        assert job.wait(patience(10))
    results = sink.values
    expected: Counter[str] = Counter()
    for line in sales.lines(200):
        sale = sales.Sales.parse(line)
        expected[sale.month] += sale.profit
    summed: Counter[str] = Counter()
    for sale in results:
        summed[sale.month] += sale.profit
    assert summed == expected
    assert sales.as_text(replace(results[0], month="May", profit=7, count=2)) == "(May,7,2)"


@pytest.mark.row("S-USE-10", "S-ARCH-10")
def test_the_changes_of_a_report_lead_to_the_report() -> None:
    made = access_log.generated(1_000)
    expected: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for line in made:
        for _, page, status, size in access_log.parse(line):
            figures = expected[page]
            figures[0], figures[1], figures[2] = (
                figures[0] + 1,
                figures[1] + (status >= 400),
                figures[2] + size,
            )
    with MiniCluster.in_process() as cluster:
        env = cluster.environment()
        found = access_log.applied(collect(access_log.report(env, env.from_collection(made, Types.STRING()))))
    assert found == {page: tuple(figures) for page, figures in expected.items()}
    assert set(found) == {"/", "/shop", "/help"}
