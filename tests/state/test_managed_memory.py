"""Managed memory bounds what a process holds of its state, as the system counts it: without mapped files,
whose pages the system takes back when it wants them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import patience

MIB = 1 << 20
BOUND = 16 * MIB
#: What the process may take beside that: buffers, and what this allocator cannot give back.
SLACK = 6 * MIB

GROWING = """
import json, sys
from firesteel.common.configuration import Configuration
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.common.typeinfo import Types
from firesteel.state.backends import state_limits
from firesteel.state.files import StateFiles
from tests.state.support import Driver, use

directory, settings = sys.argv[1], json.loads(sys.argv[2])
limits = state_limits(Configuration.from_dict(settings), batch=False)
if limits.managed is not None:
    limits = limits.within(limits.managed.share(1, 1))
driver = Driver(StateFiles(directory), limits, directory)
state = driver.process()
payload = ValueStateDescriptor("payload", Types.STRING())
def write(epoch):
    def work(operator):
        for number in range(5_000):
            written = f"{epoch}-{number}-" * 120
            use(operator, f"{epoch}-{number}").get_state(payload).update(written)
            sizes.append(len(written))
            if number % 10 == 0 and epoch != "first":
                use(operator, f"{epoch // 2}-{number}").get_state(payload).value()
    return work
sizes = []
driver.run(state, write("first"))
def anonymous():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon"))
before = anonymous()
most, sizes = 0, []
for epoch in range(20):
    driver.run(state, write(epoch))
    most = max(most, anonymous() - before)
read = driver.run(state, lambda operator: use(operator, "3-77").get_state(payload).value())
print(json.dumps({"grown": most, "read": read[:5], "state": sum(sizes)}))
"""


def grown(directory: Path, **settings: str) -> int:
    """Return by how many bytes the memory of a process grows that writes 100,000 values of about 1 kB, five
    times the bound, and reads some of them again."""
    said = json.dumps({"state.backend.type": "rocksdb", **settings})
    done = subprocess.run(
        [sys.executable, "-c", GROWING, str(directory), said],
        capture_output=True,
        text=True,
        timeout=patience(120),
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["read"] == "3-77-", "what is not in memory is read from the files"
    assert found["state"] > 5 * BOUND
    return int(found["grown"])


@pytest.mark.row("S-SLOT-18", "S-MEM-02", "S-CFG-11", "S-BACK-07")
def test_the_memory_of_a_process_stays_within_its_managed_memory(tmp_path: Path) -> None:
    """Broken by hand: the newest deltas are held in memory whatever the bound is."""
    sizes = {"taskmanager.memory.flink.size": "1g", "taskmanager.memory.managed.size": f"{BOUND // MIB}m"}
    assert grown(tmp_path / "bound", **sizes) < BOUND + SLACK
    free = grown(tmp_path / "free", **sizes, **{"state.backend.rocksdb.memory.managed": "false"})
    assert free > BOUND + SLACK, "the state is larger than the bound, so the bound is what keeps it small"
