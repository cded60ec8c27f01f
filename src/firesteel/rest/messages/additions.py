"""What Flink's API does not have: ``/firesteel/v1``."""

from __future__ import annotations

from typing import Any

from firesteel.rest.messages.base import Id, Message


class Epoch(Message, frozen=True):
    """``attempts``: how often it was tried; ``records``: what its sources read.

    :param overhead_ms: what it cost beside the work on records; null: it is not known.
    :param stages: of Spark, from the sources on. In real time there are none: one job of Spark runs all.
    :param links: the pages of these stages, where Spark has any.
    """

    epoch: int
    started_ms: int
    elapsed_ms: float
    records: int
    attempts: int
    overhead_ms: float | None = None
    stages: list[int] = []
    links: list[str] = []


class Lag(Message, frozen=True):
    """Records of a source that were not read yet, by split."""

    source: str
    splits: dict[str, int]


class SlotTask(Message, frozen=True):
    """A subtask in a slot. ``execution_id``: of its attempt."""

    vertex_id: Id
    name: str
    subtask: int
    attempt: int
    execution_id: str


class Slot(Message, frozen=True):
    """A slot that a job takes, with the tasks in it."""

    job_id: Id
    slot_sharing_group: str
    tasks: list[SlotTask]


class Slots(Message, frozen=True):
    """The slots of a task manager that jobs take."""

    slots: list[Slot]


class StateBackend(Message, frozen=True):
    """Where the state of a job is. ``flink_class``: of the backend of that name in Flink.

    :param stores: the engines that really keep it.
    :param memory_bytes: about how much of a process the state of a subtask may take; of managed memory: about
        how much of an executor the states of all subtasks may take.
    """

    backend: str
    flink_class: str
    stores: list[str]
    memory_bytes: int


class JobState(Message, frozen=True):
    """A state of a job.

    :param operator: the uid that the program gave its operator; null: it gave none.
    :param key: the declared type of its keys, ``type``: its own; null: any object, or it has no keys.
    """

    operator: str | None
    operator_id: Id
    operator_name: str
    name: str
    kind: str
    key: str | None = None
    type: str | None = None
    has_ttl: bool = False


class JobStates(Message, frozen=True):
    """``epoch``: the newest committed one, as of which they are."""

    epoch: int
    states: list[JobState]


class KeyState(Message, frozen=True):
    """What a state holds for a key as of an epoch; null: nothing. A list stands for a tuple, a list of pairs
    for a map with other keys than texts, a text for what JSON has no form for."""

    epoch: int
    value: Any


class Epochs(Message, frozen=True):
    """``epochs``: the newest, oldest first; ``epoch``: the newest committed one."""

    jid: Id
    epoch: int
    records_read: int
    epochs: list[Epoch]
    lag: list[Lag]
