"""What all tests share."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from firesteel.common import masking
from firesteel.program import operator_kinds
from firesteel.state import kinds as state_kinds
from tests.budget import FACTOR
from tests.jvms import for_short_lives

# How fast a machine makes examples is no property of the code, and chance must not decide about a change: a
# test has the same examples in each run. Others are looked for where there is time for it (``make soak``).
settings.register_profile(
    "tests", suppress_health_check=[HealthCheck.too_slow], deadline=None, derandomize=FACTOR == 1
)
settings.load_profile("tests")


def pytest_configure() -> None:
    # Under nohup, or in the background of a script, programs that tests start would ignore them, too.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionfinish() -> None:
    """What was measured is written here: pytest-xdist kills a worker that takes ten seconds to leave, and
    coverage would write only then."""
    if "coverage" in sys.modules and (measuring := sys.modules["coverage"].Coverage.current()) is not None:
        measuring.save()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from tests.schedule import Units

    return Units(config, log)


@pytest.fixture(scope="session", autouse=True)
def jvms_are_for_short_lives() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in for_short_lives().items():
            patch.setenv(name, value)
        patch.delenv("SPARK_CONF_DIR", raising=False)
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


@pytest.fixture(autouse=True)
def scripts_register_for_themselves() -> Iterator[None]:
    """A program that is run in this process as ``__main__`` would leave its kinds to all tests after it."""
    yield
    for registry in (operator_kinds.KINDS, state_kinds.KINDS):
        for added in registry.added():
            if added.module == "__main__":
                del registry._homes[added.name]
                registry._records.pop(added.name, None)


@pytest.fixture(autouse=True)
def secrets_are_forgotten() -> Iterator[None]:
    """What one test has for a password is a word like others in the next."""
    yield
    masking.forget()
