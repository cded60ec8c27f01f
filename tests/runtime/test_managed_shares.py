"""The states of all subtasks share the managed memory of an executor, whatever process works for them."""

from __future__ import annotations

import pytest

from firesteel.common import Configuration
from firesteel.runtime import worker
from firesteel.state.backend import SubtaskState
from firesteel.state.backends import state_limits
from firesteel.state.files import StateFiles
from tests.runtime.support import collect, environment

MIB = 1 << 20
SETTINGS = {
    "state.backend.type": "rocksdb",
    "taskmanager.memory.flink.size": "1g",
    "taskmanager.memory.managed.size": "64m",
    "taskmanager.numberOfTaskSlots": "2",
}


def shares(monkeypatch: pytest.MonkeyPatch, **settings: str) -> set[int]:
    """What states were given while a job with two subtasks ran in one process."""
    given: list[int] = []
    limit = SubtaskState.limit_memory

    def noted(state: SubtaskState, share: int) -> None:
        given.append(share)
        limit(state, share)

    monkeypatch.setattr(SubtaskState, "limit_memory", noted)
    worker.forget_everything()
    env = environment(2, epoch_records=10, **settings)
    stream = env.from_collection([(n % 7, n) for n in range(100)])
    assert len(collect(stream.key_by(lambda v: v[0]).reduce(lambda a, b: (a[0], a[1] + b[1])))) == 100
    return set(given)


@pytest.mark.row("S-SLOT-18", "S-MEM-02", "S-BACK-20")
def test_each_process_may_have_all_subtasks_where_spark_chooses_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_processes", None)
    assert shares(monkeypatch, **SETTINGS) == {32 * MIB, 16 * MIB}, "one is open, then two"


@pytest.mark.parametrize(("processes", "mebibytes"), [(1, {64, 32}), (4, {16, 8})])
def test_processes_with_subtasks_of_their_own_share_it(
    processes: int, mebibytes: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_processes", None)
    worker.keep_subtasks(processes, [])
    assert shares(monkeypatch, **SETTINGS) == {m * MIB for m in mebibytes}


def test_a_larger_share_gives_back_what_a_smaller_one_has_taken() -> None:
    limits = state_limits(Configuration.from_dict(dict(SETTINGS)), batch=False)
    state = SubtaskState(
        job_id="job",
        attempt=1,
        vertex_id="v",
        subtask=0,
        max_parallelism=128,
        key_groups=range(128),
        files=StateFiles(""),
        limits=limits,
    )
    state.limit_memory(MIB)
    assert state.limits.changes_bytes == MIB // 5
    state.limit_memory(64 * MIB)
    assert state.limits == limits.within(64 * MIB)
    assert state.limits.changes_bytes == 64 * MIB // 5


def test_what_is_set_for_each_subtask_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    fixed = {"state.backend.rocksdb.memory.fixed-per-slot": "20m"}
    assert shares(monkeypatch, **SETTINGS, **fixed) == set()
    assert shares(monkeypatch, **SETTINGS, **{"state.backend.rocksdb.memory.managed": "false"}) == set()
