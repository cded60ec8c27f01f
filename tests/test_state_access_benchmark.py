"""The program of the benchmark of state backends, in small."""

from __future__ import annotations

import pytest

from benchmarks.environments import OURS, Environments
from benchmarks.measure import System, execute
from firesteel.state.backends import BACKENDS

SMALL = ("--records", "4000", "--keys", "4000", "--memory", "64kb")


@pytest.mark.row("S-BACK-12", "S-BACK-18")
def test_the_cost_of_an_access_is_measured_for_each_backend() -> None:
    """Where the state of the backend rocksdb does not fit into its memory, it is read more slowly."""
    system = System("state backends", OURS, "state_access.py", arguments=SMALL)
    *lines, ratios = execute(system, Environments({}), []).lines
    costs = {line["backend"]: line for line in lines}
    assert list(costs) == list(BACKENDS)
    for kind in ("get", "put"):
        assert all(0 < cost[f"{kind}_us"] < 10_000 for cost in costs.values())
        ratio = costs["rocksdb"][f"{kind}_us"] / costs["hashmap"][f"{kind}_us"]
        assert ratios[f"{kind}_ratio"] == pytest.approx(ratio)
    assert ratios["get_ratio"] > 1
