"""Packages: what is needed, what is loaded without need, and what an error says about one that is missing."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest

from firesteel.common._requirements import Requirement, declared, install_command, parse
from firesteel.common.errors import ConfigurationError
from firesteel.common.extras import extra
from tests.waiting import patience

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment
import firesteel.cli, firesteel.spark.engine, firesteel.testing
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection(["a"], Types.STRING()).key_by(lambda w: w).map(str.upper).print()
env.get_execution_plan()
print("pandas" in sys.modules)
"""


def test_building_a_program_loads_no_pandas() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=patience(120)
    )
    assert done.stdout.splitlines()[-1:] == ["False"], done.stderr


def test_what_pyspark_asks_for_at_run_time_is_declared() -> None:
    """PySpark names the versions in its extra ``sql``, and checks them when an epoch is planned."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ours = [r for line in project["dependencies"] if (r := parse(line)) is not None]
    for line in requires("pyspark") or []:
        theirs = parse(line)
        if theirs is not None and theirs.extra == "sql":
            own = [r for r in ours if r.package == theirs.package]
            assert own, theirs.package
            assert all(_oldest(r) >= _oldest(theirs) for r in own), theirs.package
    pandas = [r for r in ours if r.package == "pandas"]
    assert len(pandas) == 2
    assert all(r.bounds.endswith("<3") for r in pandas)  # PySpark 4.3 warns of it at each start


def test_what_is_for_another_python_is_not_asked_for() -> None:
    lines = ("a>=1; python_version < '3.9'", 'a>=2; python_version >= "3.9"', "b>=3; extra == 'x'")
    assert [(r.package, r.bounds) for r in declared(lines)] == [("a", ">=2"), ("b", ">=3")]


def _oldest(requirement: Requirement) -> tuple[int, ...]:
    (oldest,) = re.findall(r">=([\d.]+)", requirement.bounds)
    return (*map(int, oldest.split(".")), 0)[:2]


def test_a_missing_package_is_named_with_its_version() -> None:
    assert install_command("no-such-extra", "spam") == "pip install 'spam'"
    assert install_command("redis", "redis") == "pip install 'redis>=5'"
    assert install_command("jdbc", "psycopg") == "pip install 'psycopg[binary]>=3.2'"
    with pytest.raises(ConfigurationError) as caught:
        extra("no_such_module", "KafkaSource", "kafka", "confluent-kafka")
    assert "pip install 'confluent-kafka>=2.11'" in str(caught.value)
