"""What a program says of a table that Spark writes (``DataStream.write_spark``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class SparkTarget:
    """Where ``ds.write_spark()`` writes to. ``format``: a data source of Spark, or a function that is called
    with each batch."""

    format: str | Callable[[Any, SparkBatch], Any]
    path: str | None = None
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    at_least_once: bool = False


@dataclass(frozen=True, slots=True)
class SparkBatch:
    """Some records that become visible together. ``app`` and ``version`` name them for all time: ``version``
    rises by one from batch to batch of one ``app``, which is a run of a job. ``recovered``: the job goes on
    from a checkpoint, so the batch may have been written before."""

    app: str
    version: int
    recovered: bool = False

    @property
    def id(self) -> str:
        return f"{self.app}-{self.version}"
