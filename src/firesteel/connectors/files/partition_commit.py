"""Decides when a bucket of a file sink is a complete partition, and notifies consumers (Flink: *FileSystem
SQL Connector, Partition Commit*)."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from firesteel.common.errors import ConfigurationError
from firesteel.connectors.files.rolling import strftime_pattern
from firesteel.storage.filesystems import join, resolve

_TRIGGERS: Final = ("process-time", "partition-time")
_KEY: Final = re.compile(r"\$(\w+)")


@dataclass(frozen=True, slots=True)
class PartitionContext:
    """A complete partition: its path, and the values in the path (``dt=2020-01-01``)."""

    path: str
    values: dict[str, str]


@dataclass(frozen=True, slots=True)
class PartitionCommit:
    """When partitions are complete, and what happens then.

    :param trigger: ``"process-time"``: a partition is complete ``delay_ms`` after its first file.
        ``"partition-time"``: a partition is complete when the watermark is ``delay_ms`` past its time.
    :param success_file: name of the empty file to write into it; None for no file.
    :param callback: called on the driver with a ``PartitionContext``. It may be called again for a partition
        after a failure, or if records arrive for it after it was complete.
    :param timestamp_pattern: how the time of a partition is composed, such as ``$dt $hour:00:00``; None: the
        value of its first key.
    :param timestamp_formatter: the format of that time, a pattern of Java's DateTimeFormatter.
    :param time_zone: of the times of partitions (Flink: ``watermark-time-zone``).
    """

    trigger: Literal["process-time", "partition-time"] = "process-time"
    delay_ms: int = 0
    success_file: str | None = "_SUCCESS"
    callback: Callable[[PartitionContext], Any] | None = None
    timestamp_pattern: str | None = None
    timestamp_formatter: str = "yyyy-MM-dd HH:mm:ss"
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        if self.trigger not in _TRIGGERS:
            raise ConfigurationError(
                f"a partition has no trigger {self.trigger!r}", hint=f"one of {', '.join(_TRIGGERS)}"
            )
        if self.delay_ms < 0:
            raise ConfigurationError(f"the delay of a partition's commit is below 0 ms: {self.delay_ms}")
        if self.success_file is None and self.callback is None:
            raise ConfigurationError(
                "a partition's commit would do nothing", hint="give a success_file or a callback"
            )
        if self.success_file is not None and (not self.success_file or "/" in self.success_file):
            raise ConfigurationError(f"not the name of a success file: {self.success_file!r}")
        strftime_pattern(self.timestamp_formatter)
        try:
            zoneinfo.ZoneInfo(self.time_zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
            raise ConfigurationError(f"unknown time zone: {self.time_zone!r}") from error

    def time_of(self, bucket: str) -> int:
        """Return when a partition begins, in epoch milliseconds."""
        values = partition_values(bucket)
        if not values:
            raise ConfigurationError(
                f"the bucket {bucket!r} is not a partition: it has no keys",
                hint="let the bucket assigner give paths such as dt=2020-01-01/hour=12",
            )
        text = self._text_of(values, bucket)
        moment = _moment(text, self.timestamp_formatter, bucket)
        return round(moment.replace(tzinfo=zoneinfo.ZoneInfo(self.time_zone)).timestamp() * 1000)

    def _text_of(self, values: dict[str, str], bucket: str) -> str:
        if self.timestamp_pattern is None:
            return next(iter(values.values()))
        try:
            return _KEY.sub(lambda match: values[match[1]], self.timestamp_pattern)
        except KeyError as error:
            raise ConfigurationError(
                f"the partition {bucket!r} has no key {error}",
                detail=f"the timestamp pattern is {self.timestamp_pattern!r}",
            ) from error

    def commit(self, base: str, bucket: str) -> None:
        path = join(base, bucket)
        if self.success_file is not None:
            storage, inner = resolve(join(path, self.success_file))
            storage.write(inner, b"")
        if self.callback is not None:
            self.callback(PartitionContext(path, partition_values(bucket)))


class PartitionWatch:
    """Tracks the watermarks of the sink's subtasks to decide which partitions are complete."""

    def __init__(self, config: PartitionCommit) -> None:
        self._config = config
        self._watermarks: dict[int, int] = {}
        self._subtasks = 1

    @property
    def _watermark(self) -> float:
        if len(self._watermarks) < self._subtasks:
            return float("-inf")
        return min(self._watermarks.values())

    def observe(self, subtask: int, subtasks: int, watermark: int) -> None:
        """Record the watermark of a subtask at the time it staged what is being committed."""
        if subtasks != self._subtasks:
            self._watermarks, self._subtasks = {}, subtasks
        self._watermarks[subtask] = watermark

    def is_due(self, bucket: str, since_ms: int, now_ms: int) -> bool:
        config = self._config
        if config.trigger == "process-time":
            return now_ms >= since_ms + config.delay_ms
        return self._watermark >= config.time_of(bucket) + config.delay_ms

    def commit(self, base: str, bucket: str) -> None:
        self._config.commit(base, bucket)


def partition_values(bucket: str) -> dict[str, str]:
    """Return the keys and values of a path such as ``dt=2020-01-01/hour=12``."""
    pairs = (part.partition("=") for part in bucket.split("/") if "=" in part)
    return {key: value for key, _, value in pairs}


def _moment(text: str, formatter: str, bucket: str) -> datetime.datetime:
    for pattern in (strftime_pattern(formatter), "%Y-%m-%d"):  # Flink accepts a date too
        try:
            return datetime.datetime.strptime(text, pattern)
        except ValueError:
            continue
    raise ConfigurationError(
        f"the partition {bucket!r} has no time",
        detail=f"{text!r} is not {formatter!r}",
        hint="set timestamp_pattern and timestamp_formatter",
    )
