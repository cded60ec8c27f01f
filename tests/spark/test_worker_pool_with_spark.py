"""Which processes of an executor run the subtasks of a job, epoch after epoch."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator

import pytest

from firesteel.common import Types
from firesteel.datastream import KeyedProcessFunction, MapFunction, RuntimeContext
from firesteel.program.execution import get_executor
from tests.spark.conftest import MakeEnvironment

pytestmark = pytest.mark.spark

SUBTASKS = 3
EPOCHS = 40
PER_SUBTASK = 30  # records of an epoch
# A subtask does not wait for a process that has said all of its task and that the machine has not let go on
# since. Where no subtask stays, each of them is soon in two processes at least.
CHANCE = 2

Place = tuple[int, int]  # a subtask and the process that runs it


class Begins(MapFunction):
    """Runs in the task of its source."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.place = runtime_context.get_index_of_this_subtask(), os.getpid()

    def map(self, value: int) -> tuple[int, Place]:
        return value, self.place


class Ends(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(
        self, value: tuple[int, Place], ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[Place, Place]]:
        yield value[1], (self.subtask, os.getpid())


def test_a_subtask_of_all_levels_stays_with_one_process_in_all_epochs(environment: MakeEnvironment) -> None:
    env = environment(SUBTASKS, epoch_records=PER_SUBTASK)
    stream = env.from_sequence(0, EPOCHS * SUBTASKS * PER_SUBTASK - 1).map(
        Begins(), Types.PICKLED_BYTE_ARRAY()
    )
    results = stream.key_by(lambda v: v[0] % 100).process(Ends()).execute_and_collect()
    (job,) = get_executor().running_jobs
    processes: dict[int, set[int]] = defaultdict(set)
    for begin, end in results:
        for subtask, process in (begin, end):
            processes[subtask].add(process)
    assert job.view.epoch >= EPOCHS
    assert processes.keys() == set(range(SUBTASKS))
    moves = sum(len(found) - 1 for found in processes.values())
    assert moves <= CHANCE, f"the processes of each subtask: {dict(processes)}"
