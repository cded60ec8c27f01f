"""What the models of single columns share: epochs in three processes, any of which may lose what it did."""

from __future__ import annotations

import copy
import shutil
import tempfile
from abc import abstractmethod
from typing import Any

from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from firesteel.state.backend import OperatorState, StateLimits, SubtaskState
from firesteel.state.files import MemoryStateFiles
from firesteel.state.reader import StateReader
from tests.budget import examples

from .support import GROUPS, Driver
from .test_model import COLD, LARGE, SMALL, TINY

LIMITS = st.sampled_from([TINY, SMALL, LARGE, COLD])


class ColumnMachine(RuleBasedStateMachine):
    """``model``: by encoded key what the column should have; ``now``: the time by which it ends."""

    def start_at(self, now: int, limits: StateLimits, local: bool) -> None:
        self.local = tempfile.mkdtemp() if local else None
        self.driver = Driver(MemoryStateFiles(), limits, self.local)
        self.processes = [self.driver.process() for _ in range(3)]
        self.committed: tuple[dict[bytes, list[Any]], int] = {}, now
        self.begin(0)

    def begin(self, number: int) -> None:
        self.state: SubtaskState = self.processes[number]
        self.state.begin(self.driver.line, 0)
        self.model, self.now = copy.deepcopy(self.committed)
        self.take_column(self.state.operator("op"))

    @abstractmethod
    def take_column(self, operator: OperatorState) -> None:
        """An epoch has begun."""

    @abstractmethod
    def move_on(self, step: int) -> None:
        """Let time pass."""

    @rule(number=st.integers(0, 2), new=st.booleans())
    def commit(self, number: int, new: bool) -> None:
        self.driver.commit(self.state.finish())
        self.committed = self.model, self.now
        if new:
            self.processes[number].close()
            self.processes[number] = self.driver.process()
        self.begin(number)

    @rule(number=st.integers(0, 2), how=st.sampled_from(["left", "finished", "abandoned"]))
    def lose_epoch(self, number: int, how: str) -> None:
        if how == "finished":
            self.state.finish()
        elif how == "abandoned":
            self.state.abandon()
        self.begin(number)

    def teardown(self) -> None:
        if not hasattr(self, "driver"):
            return
        self.move_on(1000)
        self.driver.commit(self.state.finish())
        reader = StateReader(self.driver.line, self.driver.files, max_parallelism=128, key_groups=GROUPS)
        assert reader.count_entries() == 0, "what nobody can find must not stay"
        assert reader.timers() == []
        for process in self.processes:
            process.close()
        if self.local:
            shutil.rmtree(self.local, ignore_errors=True)


def as_test(machine: type[ColumnMachine]) -> Any:
    machine.TestCase.settings = settings(
        max_examples=examples(100),
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    return machine.TestCase
