"""Makes memory scarce: takes away what is free, so that a job and the page cache have so much and no more.

    python starved.py BYTES PID

Holds memory so that what is available, and what the process PID and all below it hold, make BYTES together.
It follows what others take and give back, is the first to go when memory runs out, and ends with PID. Where a
control group may be made its limit does the same better.
"""

import mmap
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

_PIECE = 64 << 20
_EVERY_S = 0.3


def start(leave, pid):
    """Begin to do so for a process."""
    subprocess.Popen([sys.executable, __file__, str(leave), str(pid)])


def hold(leave, pid):
    held = []
    while psutil.pid_exists(pid):
        too_much = psutil.virtual_memory().available + anonymous_bytes(pid) - leave
        for _ in range(int(too_much // _PIECE)):
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
            held.append(mmap.mmap(-1, _PIECE, flags=flags))
        for _ in range(min(len(held), int(-too_much // _PIECE))):
            held.pop().close()
        time.sleep(_EVERY_S)


def anonymous_bytes(pid):
    """What a process and all below it hold that is no page of a file; this one does not count."""
    total = 0
    family = []
    with suppress(psutil.Error):
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    for process in family:
        if process.pid == psutil.Process().pid:
            continue
        with suppress(OSError, StopIteration):
            status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            line = next(line for line in status if line.startswith("RssAnon:"))
            total += int(line.split()[1]) * 1024
    return total


if __name__ == "__main__":
    Path("/proc/self/oom_score_adj").write_text("1000")
    hold(int(sys.argv[1]), int(sys.argv[2]))
