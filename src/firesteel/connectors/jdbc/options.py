"""Connection, batching and exactly-once options."""

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
    """:param batch_size: number of rows sent at once; 0: all rows of an epoch.
    :param batch_interval_ms: how long a row may wait for its batch to fill in real time; 0: until its epoch
        ends, as it does in epochs.
    :param max_retries: how often a failed batch is retried.
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
    """:param marker_table: ``schema.table`` or ``table``; created if it does not exist.
    :param retention_ms: maximum age of a checkpoint that a job may be restored from and commit again.
    """

    marker_table: str = "firesteel_commits"
    retention_ms: int = 7 * 24 * 3_600_000
