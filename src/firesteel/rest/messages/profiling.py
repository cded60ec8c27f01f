"""Profiles of processes, as Flink's profiler has them."""

from __future__ import annotations

from typing import Literal

from firesteel.rest.messages.base import Message

ProfilingMode = Literal["CPU", "WALL", "ITIMER", "LOCK", "ALLOC"]


class ProfilingRequest(Message, frozen=True):
    """``duration``: in seconds."""

    mode: ProfilingMode
    duration: int


class Profiling(Message, frozen=True, rename="camel"):
    """A profile that is being taken, was taken, or could not be.

    :param output_file: its name under ``.../profiler/``.
    :param profiling_mode: ``mode``, once more.
    """

    status: Literal["RUNNING", "FINISHED", "FAILED"]
    mode: ProfilingMode
    trigger_time: int
    finished_time: int | None
    duration: int
    message: str | None
    output_file: str | None
    profiling_mode: ProfilingMode


class ProfilingList(Message, frozen=True, rename="camel"):
    """The newest first."""

    profiling_list: list[Profiling]
