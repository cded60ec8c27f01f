"""Answers about the state of a job that runs. Made where the job is."""

from __future__ import annotations

from collections.abc import Callable

from firesteel.jobmanager.committed import CommittedCut
from firesteel.rest.messages.additions import JobState, JobStates, KeyState
from firesteel.state_processor import StateInfo
from firesteel.state_processor.running import look_at_key, look_at_states


def job_states(cut: CommittedCut) -> JobStates:
    epoch, states = look_at_states(cut)
    return JobStates(epoch, list(map(job_state, states)))


def job_state(info: StateInfo) -> JobState:
    return JobState(
        operator=info.uid,
        operator_id=info.operator_id,
        operator_name=info.operator,
        name=info.name,
        kind=info.kind,
        key=None if info.key_type is None else repr(info.key_type),
        type=None if info.type_info is None else repr(info.type_info),
        has_ttl=info.has_ttl,
    )


def key_state(operator: str, state: str, key: str) -> Callable[[CommittedCut], KeyState]:
    look = look_at_key(operator, state, key)

    def answer(cut: CommittedCut) -> KeyState:
        epoch, value = look(cut)
        return KeyState(epoch, value)

    return answer
