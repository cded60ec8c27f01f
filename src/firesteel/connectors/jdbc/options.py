"""How to reach a database, and how often it is written to."""

from __future__ import annotations

from dataclasses import dataclass, field

from firesteel.common.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """:param url: ``jdbc:postgresql://host:port/database`` or ``jdbc:sqlite:/path``."""

    url: str = field(repr=False)
    driver: str | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """:param batch_size: rows that are sent at once; 0: those of an epoch.
    :param batch_interval_ms: a row is sent when it has waited so long: at the end of its epoch at the latest.
    :param max_retries: how often a batch is tried again that the database could not take.
    """

    batch_size: int = 5000
    batch_interval_ms: int = 0
    max_retries: int = 3

    def __post_init__(self) -> None:
        for name in ("batch_size", "batch_interval_ms", "max_retries"):
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                raise ConfigurationError(
                    f"{name} of a JDBC sink is an integer of at least 0.", detail=f"got {value!r}"
                )


@dataclass(frozen=True, slots=True)
class ExactlyOnceOptions:
    """:param marker_table: made when it is not there; ``schema.table`` or ``table``.
    :param retention_ms: how old a checkpoint may be that a job goes back to and commits again.
    """

    marker_table: str = "firesteel_commits"
    retention_ms: int = 7 * 24 * 3_600_000
