"""What runs programs: chosen, or registered by the engine."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from firesteel.program import execution
from firesteel.program.execution import get_executor, set_executor
from tests.waiting import patience


def test_the_chosen_executor_runs_programs_until_it_is_given_back() -> None:
    chosen: Any = object()
    before = set_executor(chosen)
    try:
        assert get_executor() is chosen
    finally:
        assert set_executor(before) is chosen


def test_the_executor_of_the_engine_comes_back_when_no_other_is_chosen() -> None:
    from firesteel.jobmanager.executor import executor

    before = set_executor(None)
    try:
        assert get_executor() is executor
        set_executor(None)
        assert get_executor() is executor
    finally:
        set_executor(before)


def test_the_engine_registers_itself_at_the_first_call() -> None:
    code = """
import sys
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.program.execution import get_executor
assert "firesteel.jobmanager.executor" not in sys.modules
print(type(get_executor()).__module__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=patience(60))
    assert done.stdout.strip() == "firesteel.jobmanager.executor", done.stderr


def test_the_engine_and_the_info_command_keep_the_whole_protocol() -> None:
    from firesteel.cli._planning import PlanningExecutor
    from firesteel.jobmanager.executor import Executor

    names = {name for name in vars(execution.Executor) if not name.startswith("_")}
    assert "execute" in names
    for implementation in (Executor, PlanningExecutor):
        assert names <= set(dir(implementation)), implementation
