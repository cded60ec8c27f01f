"""What a dispatcher runs its jobs on."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from firesteel.common.configuration import Configuration
from firesteel.metrics.machines import Machines


class Engine(Protocol):
    """Owned by the dispatcher; the processes of jobs share it. May be called by any thread."""

    #: ``module:name`` of what makes the platform of a job, called with its id and the paths of its modules.
    platform: str

    def start(self) -> None:
        """Start it, anew if it has died."""

    def variables(self) -> dict[str, str]:
        """What the process of a job must have in its environment."""

    def manner_of_death(self) -> str | None:
        """How it has died, as the rest of a sentence; None while it lives."""

    @property
    def log(self) -> Path | None:
        """The file of its own log."""

    def machines(self) -> Machines: ...

    def end_job(self, job_id: str) -> None:
        """Nothing of a job whose process has gone runs on."""

    def stop(self) -> None: ...


def spark(configuration: Configuration) -> Engine:
    """Spark, with the settings of a cluster."""
    from firesteel.spark.shared import OwnedSpark

    return OwnedSpark(configuration)
