"""Fixtures for tests of programs; pytest finds them where Firesteel is installed (``docs/testing.md``).

pytest loads this module in each of its runs, so nothing is imported before a test asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from firesteel.datastream import StreamExecutionEnvironment
    from firesteel.testing import ManualClock, MiniCluster, OperatorHarness

_MARK: Final = "firesteel"
_MASTER: Final = "firesteel_master"
_PARALLELISM: Final = 2


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(_MASTER, "Spark master of the fixture firesteel_spark", default="local[2,4]")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{_MARK}(parallelism={_PARALLELISM}, settings={{}}): the environment of the fixture firesteel_env",
    )


@pytest.fixture
def firesteel_clock() -> ManualClock:
    """A clock that moves when the test says so: that of ``firesteel_env``."""
    from firesteel.testing import ManualClock

    return ManualClock()


@pytest.fixture
def firesteel_harness() -> Iterator[Callable[..., OperatorHarness]]:
    """Make harnesses: takes what ``OperatorHarness`` takes. They are closed when the test ends."""
    from firesteel.testing import OperatorHarness

    with ExitStack() as open_harnesses:

        def make(under_test: Any, **options: Any) -> OperatorHarness:
            return open_harnesses.enter_context(OperatorHarness(under_test, **options))

        yield make


@pytest.fixture
def firesteel_cluster() -> Iterator[MiniCluster]:
    """A cluster in this process, without Spark. Programs that make their own environment run on it, too."""
    from firesteel.testing import MiniCluster

    with MiniCluster.in_process() as cluster:
        yield cluster


@pytest.fixture
def firesteel_env(
    request: pytest.FixtureRequest, firesteel_cluster: MiniCluster, firesteel_clock: ManualClock
) -> StreamExecutionEnvironment:
    """An environment on ``firesteel_cluster`` with ``firesteel_clock``, as the mark ``firesteel`` says."""
    from firesteel.common import Configuration

    asked = _asked(request.node.get_closest_marker(_MARK))
    configuration = Configuration.from_dict(asked.get("settings", {}))
    parallelism = asked.get("parallelism", _PARALLELISM)
    return firesteel_cluster.environment(configuration, parallelism=parallelism, clock=firesteel_clock)


def _asked(mark: pytest.Mark | None) -> dict[str, Any]:
    if mark is None:
        return {}
    unknown = sorted(mark.kwargs.keys() - {"parallelism", "settings"})
    if mark.args or unknown:
        raise pytest.UsageError(
            f"The mark {_MARK} takes parallelism= and settings=, not {', '.join(unknown) or mark.args}."
        )
    return dict(mark.kwargs)


@pytest.fixture(scope="session")
def firesteel_spark(request: pytest.FixtureRequest) -> Iterator[MiniCluster]:
    """One cluster on Spark for all tests of a session. Its master is the ini option ``firesteel_master``."""
    from firesteel.testing import MiniCluster

    with MiniCluster(request.config.getini(_MASTER)) as cluster:
        yield cluster
