"""What all tests share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# How fast a machine makes examples is no property of the code.
settings.register_profile("tests", suppress_health_check=[HealthCheck.too_slow], deadline=None)
settings.load_profile("tests")

# A JVM of a test lives for seconds: compiling for speed and collecting in parallel are half of its CPU time.
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from tests.schedule import Units

    return Units(config, log)


@pytest.fixture(scope="session", autouse=True)
def jvms_are_for_short_lives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Those of drivers, also of the programs that tests start, and those of their executors."""
    conf = tmp_path_factory.mktemp("spark-conf")
    (conf / "spark-defaults.conf").write_text(f"spark.executor.extraJavaOptions {QUICK_JVM}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_SUBMIT_OPTS", f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} {QUICK_JVM}".strip())
        patch.setenv("SPARK_CONF_DIR", str(conf))
        yield


@pytest.fixture(scope="session", autouse=True)
def temporary_files_are_pytests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests, examples of the documentation and the programs they start leave behind goes with pytest's
    own directories: a day of tests has put a thousand directories beside them."""
    directory = str(tmp_path_factory.mktemp("tmp"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", directory)
        patch.setattr(tempfile, "tempdir", directory)
        yield
