"""The autoscaler on simulated loads: what it decides, when it settles, and that it works lag off."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.job_status import JobStatus
from firesteel.graph.execution_graph import ExecutionState
from firesteel.jobmanager.advice import Slots
from firesteel.jobmanager.autoscaler import Autoscaler, WatchOptions, autoscaler_options, loads
from firesteel.jobmanager.autoscaling import AutoscalerOptions, Load, decide, target_rates, together
from firesteel.jobmanager.checkpoints.options import CheckpointOptions
from firesteel.jobmanager.checkpoints.statistics import CheckpointsView
from firesteel.jobmanager.events import Journal
from firesteel.jobmanager.job_view import (
    AttemptView,
    EdgeInfo,
    JobInfo,
    JobView,
    OperatorInfo,
    SubtaskView,
    VertexInfo,
    VertexView,
)
from firesteel.jobmanager.options import job_options
from firesteel.jobmanager.rescale_view import Bounds
from tests.jobmanager.rescale_support import running, wide_platform
from tests.jobmanager.test_rescaling import summed
from tests.runtime.support import environment, feed
from tests.waiting import until


def chain(rate: float = 100.0, *, busy: float, lag: float = 0.0, parallelism: int = 2) -> dict[str, Load]:
    return {
        "source": Load((), parallelism, rate, busy, arriving=rate, lag=lag),
        "work": Load(("source",), parallelism, 2 * rate, busy),
    }


OPTIONS = AutoscalerOptions()


@pytest.mark.parametrize(
    ("busy", "lag", "wanted"),
    [
        (0.7, 0, {}),  # as it should be
        (0.99, 0, {}),  # near enough
        (0.42, 0, {}),
        (0.2, 0, {"source": 1, "work": 1}),  # 0.2 / 0.7 of two
        (1.0, 180_000, {"source": 6, "work": 6}),  # twice as many, in half an hour, with room to spare
        (1.0, 18_000, {"source": 4, "work": 4}),
    ],
)
def test_what_is_decided(busy: float, lag: float, wanted: dict[str, int]) -> None:
    assert decide(chain(busy=busy, lag=lag), OPTIONS) == wanted


def test_rates_follow_the_edges() -> None:
    found = {
        "a": Load((), 1, 100, 0.5, arriving=100, lag=36_000),
        "b": Load((), 1, 50, 0.5, arriving=50),
        "join": Load(("a", "b"), 1, 150, 0.5),
        "few": Load(("join",), 1, 15, 0.1),
        "silent": Load(("few",), 1, 0, 0.0),
    }
    assert target_rates(found, OPTIONS) == {"a": 120.0, "b": 50.0, "join": 170.0, "few": 17.0, "silent": 0.0}
    assert target_rates(found, AutoscalerOptions(catch_up_s=0))["a"] == 100.0
    assert "silent" not in decide(found, OPTIONS), "nothing is known of what it could do"


def test_there_are_limits() -> None:
    high = chain(busy=1.0, lag=1e9, parallelism=4)
    assert decide(high, AutoscalerOptions(max_parallelism=7)) == {"source": 7, "work": 7}
    assert decide(high, AutoscalerOptions(scale_up_factor=0.5)) == {"source": 6, "work": 6}
    low = chain(busy=0.01, parallelism=10)
    assert decide(low, OPTIONS) == {"source": 4, "work": 4}, "at most 60 % less"
    assert decide(low, AutoscalerOptions(min_parallelism=8)) == {"source": 8, "work": 8}
    room = {"source": Load((), 2, 100, 1.0, 100, 1e9, may_have=3)}
    assert decide(room, OPTIONS) == {"source": 3}, "it has three splits"


def test_vertices_of_a_group_have_one_parallelism() -> None:
    assert together({"a": 2, "b": 5, "c": 1}, [["a", "b"], ["c"]]) == {"a": 5, "b": 5, "c": 1}


# ---- a simulated job


@dataclass
class Simulation:
    """A source and a slow operator behind it, second by second. Of the operator, a subtask does so many
    records a second; the source hands on a hundred times as many.

    :param arriving: records by the second.
    """

    arriving: Callable[[int], float]
    each: float
    parallelism: dict[str, int] = field(default_factory=lambda: {"source": 1, "work": 1})
    second: int = 0
    lag: float = 0.0
    records: float = 0.0
    busy_ms: dict[str, float] = field(default_factory=lambda: {"source": 0.0, "work": 0.0})

    def run(self, seconds: int) -> None:
        for _ in range(seconds):
            self.second += 1
            self.lag += self.arriving(self.second)
            could = {
                "source": self.parallelism["source"] * self.each * 100,
                "work": self.parallelism["work"] * self.each,
            }
            done = min(self.lag, *could.values())
            self.lag -= done
            self.records += done
            for vertex, rate in could.items():
                self.busy_ms[vertex] += done / rate * 1000

    @property
    def view(self) -> JobView:
        state = ExecutionState.RUNNING
        vertices = []
        for level, name in enumerate(("source", "work")):
            number = self.parallelism[name]
            inputs = (EdgeInfo("source", 0, "HASH", "pipelined_bounded"),) if level else ()
            operator = OperatorInfo(name, name, name, None, kind="" if level else "source")
            info = VertexInfo(name, name, number, 64, "default", level, (operator,), inputs)
            attempt = AttemptView(0, name, state, ((state, 0),))
            subtasks = [
                SubtaskView(
                    i,
                    attempt,
                    records_in=int(self.records / number),
                    operators=((0, 0),),
                    busy_ms=self.busy_ms[name],
                )
                for i in range(number)
            ]
            vertices.append(VertexView(info, tuple(subtasks)))
        splits = tuple((f"s{i}", int(self.lag / 64)) for i in range(64))
        return JobView(
            version=self.second,
            published_ms=self.second * 1000,
            info=JobInfo("j", "j", False, tuple(v.info for v in vertices), (), CheckpointOptions(), ""),
            status=JobStatus.RUNNING,
            timestamps=((JobStatus.RUNNING, 0),),
            started_ms=0,
            ended_ms=None,
            attempt=0,
            restarts=0,
            vertices=tuple(vertices),
            checkpoints=CheckpointsView(),
            journal=Journal(),
            epoch=1,
            lag=(("source", splits),),
        )


def scaled(simulation: Simulation, rounds: int, rules: AutoscalerOptions = OPTIONS) -> list[int]:
    """The parallelism of the slow operator after each window of five minutes."""
    found = []
    for _ in range(rounds):
        first = simulation.view
        simulation.run(300)
        measured = loads(first, simulation.view, one_after_another=False, slots=64)
        simulation.parallelism |= decide(measured, rules)
        found.append(simulation.parallelism["work"])
    return found


@pytest.mark.parametrize("rate", [50, 330, 1_700, 5_000])
def test_a_steady_load_gets_what_it_needs_and_keeps_it(rate: int) -> None:
    simulation = Simulation(lambda _: rate, each=100)
    found = scaled(simulation, 16)
    assert len(set(found[-6:])) == 1, f"it goes up and down: {found}"
    assert rate / 100 / found[-1] <= 1.0, "it can do what arrives"
    assert found[-1] <= max(1, math.ceil(rate / 100 / 0.4)), "and does not take far more"
    assert simulation.lag < rate


def test_lag_is_worked_off_in_time_and_then_given_back() -> None:
    simulation = Simulation(lambda second: 2_000 if second < 1_800 else 200, each=100)
    simulation.lag = 1_000_000
    peak = 0
    for _ in range(14):  # 70 minutes
        peak = max(peak, *scaled(simulation, 1))
    assert simulation.lag < 2_000
    assert peak >= 26, "2,000 a second and a million in half an hour, at 100 a subtask"
    assert scaled(simulation, 6)[-1] <= 5


def test_a_load_that_swings_is_followed() -> None:
    def daily(second: int) -> float:
        return 1_000 + 900 * math.sin(second / 43_200 * 2 * math.pi)

    simulation = Simulation(daily, each=100)
    found = scaled(simulation, 288)  # two days of twelve hours
    assert max(found) in range(19, 36)
    assert min(found[4:]) <= 3
    assert simulation.lag < 2_000
    changes = sum(a != b for a, b in pairwise(found))
    assert changes <= 30, "not in every window"


def test_in_epochs_all_levels_share_the_time() -> None:
    simulation = Simulation(lambda _: 60, each=100)
    first = simulation.view
    simulation.run(100)
    found = loads(first, simulation.view, one_after_another=True, slots=8)
    assert found["source"].utilisation == found["work"].utilisation
    assert found["work"].utilisation == pytest.approx((0.6 + 0.006) / 0.7)
    apart = loads(first, simulation.view, one_after_another=False, slots=8)
    assert apart["work"].utilisation == pytest.approx(0.6)
    assert apart["work"].may_have == 8


# ---- when it looks


def configuration(**options: str) -> Configuration:
    found = Configuration()
    for key, value in options.items():
        found.set_string(f"job.autoscaler.{key}", value)
    return found


def test_it_is_off_unless_told() -> None:
    assert autoscaler_options(Configuration()) is None
    found = autoscaler_options(configuration(enabled="true"))
    assert found == WatchOptions(AutoscalerOptions())
    changed = configuration(
        **{
            "enabled": "true",
            "target.utilization": "0.6",
            "target.utilization.boundary": "0.1",
            "catch-up.duration": "10 min",
            "vertex.exclude.ids": "a;b",
        }
    )
    found = autoscaler_options(changed)
    assert found is not None
    assert (found.rules.target, found.rules.lowest, found.rules.highest) == pytest.approx((0.6, 0.5, 0.7))
    assert (found.rules.catch_up_s, found.excluded) == (600.0, frozenset("ab"))
    with pytest.raises(ConfigurationError, match=r"utilization.target"):
        autoscaler_options(configuration(**{"enabled": "true", "utilization.target": "7"}))


def test_nothing_is_measured_while_the_job_settles() -> None:
    watch = WatchOptions(AutoscalerOptions(), settle_ms=60_000, window_ms=300_000, scale_down_ms=900_000)
    simulation = Simulation(lambda _: 500, each=100)
    scaler = Autoscaler(watch, Slots(lambda: 64), one_after_another=False)
    advised = []
    graph = _Graph(simulation)
    wanted = {"source": Bounds(1, 1), "work": Bounds(1, 1)}
    for _ in range(4_000):
        simulation.run(1)
        now_ms = simulation.second * 1000
        advice = scaler.advice(graph, simulation, wanted, now_ms)  # type: ignore[arg-type]
        if advice is not None:
            assert advice.wanted is not None
            wanted = dict(advice.wanted)
            simulation.parallelism = {vertex: bounds.upper for vertex, bounds in wanted.items()}
            advised.append((simulation.second, simulation.parallelism["work"]))
            scaler.changed(now_ms)
    first, *later = advised
    assert first[0] >= 360, "a minute, and a window of five"
    assert first[1] > 5
    assert all(b[0] - a[0] >= 360 for a, b in pairwise(advised))
    assert all(second - first[0] >= 900 for second, number in later if number < first[1])


class _Vertex:
    def __init__(self, id: str, parallelism: int) -> None:
        self.id = self.name = id
        self.parallelism = parallelism


class _Graph:
    """As much of a graph as the autoscaler looks at."""

    edges = ()

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    @property
    def vertices(self) -> list[_Vertex]:
        return [_Vertex(id, number) for id, number in self._simulation.parallelism.items()]

    def vertex(self, id: str) -> _Vertex:
        return _Vertex(id, self._simulation.parallelism[id])


@pytest.mark.parametrize("acts", ["true", "false"])
def test_a_job_follows_its_advice_or_only_says_it(acts: str, caplog: pytest.LogCaptureFixture) -> None:
    with wide_platform() as platform, caplog.at_level("INFO", "firesteel"):
        platform.slots = 2
        options = configuration(
            **{
                "enabled": "true",
                "scaling.enabled": acts,
                "stabilization.interval": "1 ms",
                "metrics.window": "300 ms",
                "scale-down.interval": "0",
            }
        )
        assert job_options(options, bounded=False, batch=False).autoscaler is not None
        env = environment(2, **options.to_dict())
        summed(env, "t", splits=2)  # one record every now and then: one subtask is enough
        client = env.execute_async()
        job = running()

        def widths() -> set[int]:
            feed("t", ("a", 0))
            return {len(vertex.subtasks) for vertex in job.view.vertices}

        if acts == "true":
            until(lambda: widths() == {1})
        else:
            until(lambda: widths() and "would change the parallelism" in caplog.text)
            assert not job.view.rescales.changes
        client.cancel().result()
