"""How the tests are shared among worker processes (``make test WORKERS=n``).

A unit is what one worker runs in one go. It is a file, but for those that share what is slow to start, a
Spark session or a server; and all that start clusters are one: two clusters at a time starve on two cores.

Tests of servers and of Spark wait for processes half of their time, all others take a processor. So while
there are both, two workers are at the former, and the third uses the time that those leave.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

#: The units that wait for servers or for Spark, by the beginnings of their paths. They are handed out in this
#: order, before all others: what is long must not come last. The first of two that match counts.
WAITING: Final = {
    "clusters": (
        "tests/kills/",
        "tests/spark/test_cluster.py",
        "tests/spark/test_user_code.py",
        "tests/testing/test_mini_cluster.py",
        "tests/servers/kafka/test_kills.py",
    ),
    "session cluster": ("tests/cluster/",),
    "kafka": ("tests/servers/kafka/",),
    "docker": ("tests/servers/docker/",),
    "spark": ("tests/spark/",),
    "dashboard": ("tests/rest/dashboard/",),
    "hadoop": ("tests/servers/hadoop/",),
    "aws": ("tests/servers/aws/",),
    "wheel": ("tests/test_wheel.py",),
    "documentation": ("tests/testing/test_docs.py",),
    "flights": ("tests/test_flights.py",),
    "command line": ("tests/cli/test_run.py", "tests/cli/test_rest.py"),
    "real time": ("tests/realtime/test_on_spark.py",),
    "rabbitmq": ("tests/servers/rabbitmq/",),
    "by the clock": ("tests/differential/test_by_the_clock.py",),
    "state processor": ("tests/state_processor/",),
    "differential": ("tests/differential/test_on_spark.py",),
    "jdbc": ("tests/servers/jdbc/",),
    "pulsar": ("tests/servers/pulsar/",),
    "SQL client": ("tests/sql_client/test_on_spark.py",),
    "cassandra": ("tests/servers/cassandra/",),
    "elasticsearch": ("tests/servers/elasticsearch/",),
    "notebooks": ("tests/notebooks/",),
}
#: The long ones among the others, in the same way.
WORKING: Final = {
    "drivers": ("tests/jobmanager/test_killed_drivers.py",),
    "odd inputs": ("tests/odd/",),
    "fault places": ("tests/runtime/test_fault_places.py",),
}
UNITS: Final = WAITING | WORKING
_ORDER: Final = list(UNITS)
#: How many workers are at units that wait while there are others.
AT_A_TIME: Final = 2


def unit_of(path: str) -> str:
    return next((unit for unit, paths in UNITS.items() if path.startswith(paths)), path)


def next_of(units: Iterable[str], waiting: int) -> str:
    """Return which of *units* is handed out next.

    :param waiting: how many other workers are at units that wait.
    """
    return min(units, key=lambda unit: (unit in WAITING and waiting >= AT_A_TIME, _rank(unit)))


def _is_waiting(work: dict[str, dict[str, bool]]) -> bool:
    """Whether of the units of a worker one that waits is not done."""
    return any(unit in WAITING and not all(done.values()) for unit, done in work.items())


def _rank(unit: str) -> int:
    return _ORDER.index(unit) if unit in UNITS else len(UNITS)


class Units(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid.partition("::")[0])

    def _assign_work_unit(self, node: WorkerController) -> None:
        others = (work for other, work in self.assigned_work.items() if other is not node)
        self.workqueue.move_to_end(next_of(self.workqueue, sum(map(_is_waiting, others))), last=False)
        super()._assign_work_unit(node)
