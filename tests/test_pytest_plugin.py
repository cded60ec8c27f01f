"""The pytest plugin, in runs of pytest of its own."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import firesteel.datastream
import firesteel.testing  # noqa: F401  a run in this process forgets what it has imported itself

pytest_plugins = ("pytester",)

NAME = "firesteel.pytest_plugin"
PROGRAM = """
    import pytest
    from firesteel.datastream import KeyedProcessFunction
    from firesteel.testing import CollectingSink


    class Later(KeyedProcessFunction):
        def process_element(self, value, ctx):
            ctx.timer_service().register_processing_time_timer(1_000)

        def on_timer(self, timestamp, ctx):
            yield ctx.get_current_key(), timestamp


    def test_harness(firesteel_harness):
        harness = firesteel_harness(Later(), key_by=lambda value: value, processing_time=0)
        harness.process_element("a")
        harness.set_processing_time(1_000)
        assert harness.values == [("a", 1_000)]


    def test_environment(firesteel_env, firesteel_clock):
        assert firesteel_env.get_parallelism() == 2
        firesteel_clock.advance(7)
        assert firesteel_clock.now_ms() == 7
        sink = CollectingSink()
        firesteel_env.from_sequence(1, 4).map(lambda n: n * n).sink_to(sink)
        firesteel_env.execute()
        assert sorted(sink.values) == [1, 4, 9, 16]


    @pytest.mark.firesteel(parallelism=3, settings={"pipeline.max-parallelism": "12"})
    def test_mark(firesteel_env):
        assert firesteel_env.get_parallelism() == 3
        assert firesteel_env.get_max_parallelism() == 12


    def test_programs_run_on_the_cluster(firesteel_cluster):
        from firesteel.datastream import StreamExecutionEnvironment

        env = StreamExecutionEnvironment.get_execution_environment()
        with env.from_collection([1]).execute_and_collect() as results:
            assert list(results) == [1]
"""


@pytest.mark.row("S-TEST-09")
def test_the_fixtures(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PROGRAM)
    pytester.runpytest_inprocess("-p", NAME, "--strict-markers").assert_outcomes(passed=4)


def test_harnesses_are_closed_when_their_test_ends(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from firesteel.datastream import MapFunction

        CLOSED = []


        class Closes(MapFunction):
            def map(self, value):
                return value

            def close(self):
                CLOSED.append(True)


        def test_one(firesteel_harness):
            firesteel_harness(Closes()).process_element(1)
            assert CLOSED == []


        def test_two():
            assert CLOSED
        """
    )
    pytester.runpytest_inprocess("-p", NAME).assert_outcomes(passed=2)


def test_a_mark_with_a_misspelt_argument_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest


        @pytest.mark.firesteel(paralelism=3)
        def test_it(firesteel_env): ...
        """
    )
    result = pytester.runpytest_inprocess("-p", NAME)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*takes parallelism= and settings=, not paralelism*"])


def test_pytest_finds_it_and_it_costs_nothing_until_it_is_used(pytester: pytest.Pytester) -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["entry-points"]["pytest11"] == {NAME: NAME}
    pytester.makepyfile(
        """
        import sys


        def test_it():
            assert "firesteel.pytest_plugin" in sys.modules
            assert "firesteel.testing" not in sys.modules
            assert "pyarrow" not in sys.modules
        """
    )
    pytester.runpytest_subprocess("-p", NAME).assert_outcomes(passed=1)
