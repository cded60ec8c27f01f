"""How the JVM of a session of ours is started, and what it lets others see."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.spark.support import python, run

# 127.0.0.1, ::1 and ::ffff:127.0.0.1 as the kernel writes them.
LOOPBACK = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}


@pytest.mark.spark
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/net")
def test_a_local_job_listens_on_the_loopback_address_only_and_says_nothing(tmp_path: Path) -> None:
    done = run(python("looks.py"), tmp_path)
    assert done.code == 0, done.err
    seen = json.loads(done.lines[-1])
    assert seen["java"] == 1
    assert len(seen["on"]) >= 2, "Spark's driver and its block manager"
    assert set(seen["on"]) <= LOOPBACK
    assert done.err == "", "nothing of Java's or Spark's"
