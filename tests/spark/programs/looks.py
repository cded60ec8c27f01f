"""Says on which addresses the processes of a local session listen while a job runs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import psutil

from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment

LISTENS = "0A"


def listening() -> list[str]:
    """Addresses, in the kernel's hexadecimal notation, of this process's family."""
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    inodes = set()
    for process in family:
        for descriptor in Path(f"/proc/{process.pid}/fd").iterdir():
            try:
                target = os.readlink(descriptor)
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENS and fields[9] in inodes:
                found.append(fields[1].rpartition(":")[0])
    return found


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    results = env.from_sequence(1, 10).map(lambda v: v, Types.LONG()).execute_and_collect()
    next(results)
    print(
        json.dumps({"java": sum("java" in p.name() for p in psutil.Process().children()), "on": listening()})
    )
    results.close()
