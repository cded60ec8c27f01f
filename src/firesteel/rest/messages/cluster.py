"""The cluster as a whole: overview, configuration, logs, threads, kept data sets."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from firesteel.rest.messages.base import Id, Message


class ClusterOverview(Message, frozen=True, rename="kebab"):
    taskmanagers: int
    slots_total: int
    slots_available: int
    jobs_running: int
    jobs_finished: int
    jobs_cancelled: int
    jobs_failed: int
    flink_version: str
    flink_commit: str


class Features(Message, frozen=True, rename="kebab"):
    web_submit: bool
    web_cancel: bool
    web_rescale: bool
    web_history: bool


class DashboardConfiguration(Message, frozen=True, rename="kebab"):
    """``refresh_interval``: milliseconds between two polls of a page; ``timezone_offset``: milliseconds."""

    refresh_interval: int
    timezone_name: str
    timezone_offset: int
    flink_version: str
    flink_revision: str
    features: Features


class ConfigEntry(Message, frozen=True):
    key: str
    value: str


class Jvm(Message, frozen=True):
    version: str
    arch: str
    options: list[str]


class Python(Message, frozen=True):
    """Ours: Flink has no such part."""

    version: str
    executable: str
    packages: dict[str, str]


class Environment(Message, frozen=True):
    jvm: Jvm
    classpath: list[str]
    python: Python | UnsetType = UNSET


class LogFile(Message, frozen=True):
    """``mtime``: milliseconds since the epoch."""

    name: str
    size: int
    mtime: int


class LogFiles(Message, frozen=True):
    logs: list[LogFile]


class LogUrl(Message, frozen=True):
    url: str


class ThreadInfo(Message, frozen=True, rename="camel"):
    thread_name: str
    stringified_thread_info: str


class ThreadDump(Message, frozen=True, rename="camel"):
    thread_infos: list[ThreadInfo]


class DataSet(Message, frozen=True, rename="camel"):
    id: Id
    is_complete: bool


class DataSets(Message, frozen=True, rename="camel"):
    data_sets: list[DataSet]
