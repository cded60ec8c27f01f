"""Functions and classes of the script, of modules beside it and of added files reach the workers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.spark.support import PROGRAMS, firesteel, run

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    "master", ["local[2,4]", pytest.param("local-cluster[2,1,1024]", marks=pytest.mark.cluster)]
)
@pytest.mark.row("S-API-11")
def test_classes_of_the_script_and_of_modules(tmp_path: Path, master: str) -> None:
    library = tmp_path / "elsewhere"
    library.mkdir()
    (library / "added_module.py").write_text("def double(x):\n    return 2 * x\n")
    options = ["--master", master, "-p", "2", "-D", "firesteel.epoch.max-records=50"]
    script = PROGRAMS / "app" / "classes.py"
    done = run(firesteel("run", *options, script, library / "added_module.py", "--word"), tmp_path)
    assert done.code == 0, done.err
    found = json.loads(done.lines[-1])
    assert found == {
        "totals": {
            "EVEN": [60, sum(range(0, 1200, 20)), 3, 120],
            "ODD": [60, sum(range(10, 1200, 20)), 3, 120],
        },
        "readings": {"s0": 135.0, "s1": 145.0, "s2": 155.0},
        "parallelism": 2,
        "epoch": "50",
        "word": "--word",
    }
