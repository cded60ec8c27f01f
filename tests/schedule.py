"""How the tests are shared among worker processes (``make test WORKERS=n``).

A unit is what one worker runs in one go. It is a file, but for those that share what is slow to start, a
Spark session or a server; and all that start clusters are one: two clusters at a time starve on two cores.
"""

from __future__ import annotations

from typing import Final

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

#: The units of several files, and the long ones, by the beginnings of their paths. They are handed out in
#: this order, before all others: what is long must not come last. The first of two that match counts.
UNITS: Final = {
    "clusters": (
        "tests/kills/",
        "tests/spark/test_cluster.py",
        "tests/spark/test_user_code.py",
        "tests/testing/test_mini_cluster.py",
        "tests/servers/kafka/test_kills.py",
    ),
    "spark": ("tests/spark/",),
    "kafka": ("tests/servers/kafka/",),
    "cassandra": ("tests/servers/cassandra/",),
    "session cluster": ("tests/cluster/",),
    "dashboard": ("tests/rest/dashboard/",),
    "aws": ("tests/servers/aws/",),
    "pulsar": ("tests/servers/pulsar/",),
    "hadoop": ("tests/servers/hadoop/",),
    "elasticsearch": ("tests/servers/elasticsearch/",),
    "real time": ("tests/realtime/test_on_spark.py",),
    "flights": ("tests/test_flights.py",),
    "differential": ("tests/differential/test_on_spark.py",),
    "by the clock": ("tests/differential/test_by_the_clock.py",),
    "rabbitmq": ("tests/servers/rabbitmq/",),
    "jdbc": ("tests/servers/jdbc/",),
    "state processor": ("tests/state_processor/",),
    "documentation": ("tests/testing/test_docs.py",),
    "drivers": ("tests/jobmanager/test_killed_drivers.py",),
    "odd inputs": ("tests/odd/",),
    "fault places": ("tests/runtime/test_fault_places.py",),
    "command line": ("tests/cli/test_run.py",),
    "wheel": ("tests/test_wheel.py",),
}
_ORDER: Final = list(UNITS)


def unit_of(path: str) -> str:
    return next((unit for unit, paths in UNITS.items() if path.startswith(paths)), path)


class Units(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid.partition("::")[0])

    def _assign_work_unit(self, node: WorkerController) -> None:
        first = min(self.workqueue, key=_rank)
        self.workqueue.move_to_end(first, last=False)
        super()._assign_work_unit(node)


def _rank(unit: str) -> int:
    return _ORDER.index(unit) if unit in UNITS else len(UNITS)
