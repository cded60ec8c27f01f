"""A writer that sends batches of records concurrently and retries rejected records (Flink:
``AsyncSinkWriter``)."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from firesteel.common.errors import ConnectorError, ProgramError
from firesteel.common.logs import logger
from firesteel.connectors.aws.client import FLINKS_BACKOFF, errors, failure, is_passing
from firesteel.program.sinks import SinkWriter

log = logger(__name__)

_COMPLAIN_EVERY: Final = 10  # attempts


@dataclass(frozen=True, slots=True)
class Batching:
    """Limits of a writer's buffer and requests (Flink: the settings of ``AsyncSinkBase``).

    :param batch_size: records per request.
    :param in_flight: concurrent requests.
    :param buffered: records buffered or in flight; at this limit ``write`` blocks.
    :param batch_bytes: bytes per request.
    :param record_bytes: bytes per record.
    :param buffered_ms: how long a record may wait for a request to fill, in real time.
    :param fail_on_error: whether a rejected record fails the job; otherwise it is retried until it is
        accepted.
    """

    batch_size: int = 500
    in_flight: int = 50
    buffered: int = 10_000
    batch_bytes: int = 5 << 20
    record_bytes: int = 1 << 20
    fail_on_error: bool = False
    buffered_ms: int = 5_000

    def check(self, most_records: int, most_bytes: int) -> None:
        """:raises ProgramError: the settings contradict each other or exceed the limits of AWS."""
        wrong = {
            f"a batch has at most {most_records} records": self.batch_size > most_records,
            f"a batch has at most {most_bytes} bytes": self.batch_bytes > most_bytes,
            "more records must be buffered than a batch has": self.buffered <= self.batch_size,
            "a batch must be able to hold a record": self.batch_bytes < self.record_bytes,
        }
        for reason, broken in wrong.items():
            if broken:
                raise ProgramError(f"The sink cannot work like this: {reason}.", detail=str(self))


class Entry(NamedTuple):
    """A record in the form of a request, and the bytes it counts for."""

    content: dict[str, Any]
    size: int


class Target(ABC):
    """Sends batches to a service. The methods are called from several threads."""

    name: str
    properties: Mapping[str, str] = field(repr=False)

    @abstractmethod
    def entries(self, values: Sequence[Any]) -> list[Entry]:
        """Return the records in the form in which they are sent."""

    @abstractmethod
    def send(self, batch: Sequence[Entry]) -> list[tuple[int, str]]:
        """Send one request; return the indices of the rejected records, with the reasons."""


class BatchWriter(SinkWriter):
    """At least once: an epoch ends when all records are accepted, and accepted records cannot be
    retracted."""

    def __init__(self, target: Target, batching: Batching) -> None:
        self._target = target
        self._batching = batching
        self._gathered: list[Entry] = []
        self._gathered_bytes = 0
        self._under_way: deque[tuple[int, Future[None]]] = deque()
        self._records_under_way = 0
        self._stopped = threading.Event()
        self._threads = ThreadPoolExecutor(batching.in_flight, thread_name_prefix=target.name)

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        batching = self._batching
        for entry in self._target.entries(values):  # hot
            if entry.size > batching.record_bytes:
                raise ConnectorError(
                    f"A record is too large for {self._target.name}.",
                    detail=f"it has {entry.size} bytes, {batching.record_bytes} are allowed",
                    hint="set_max_record_size_in_bytes(), as far as AWS takes it",
                )
            if self._gathered_bytes + entry.size > batching.batch_bytes:
                self._send()
            self._gathered.append(entry)
            self._gathered_bytes += entry.size
            if len(self._gathered) >= batching.batch_size:
                self._send()

    @property
    def flush_interval_ms(self) -> float | None:
        return self._batching.buffered_ms

    def flush(self, end_of_input: bool) -> None:
        self._send()
        while self._under_way:
            self._wait_for_one()

    def close(self) -> None:
        self._threads.shutdown()

    def abort(self) -> None:
        self._stopped.set()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _send(self) -> None:
        batch, self._gathered, self._gathered_bytes = self._gathered, [], 0
        if not batch:
            return
        most = self._batching.buffered
        while self._under_way and (
            len(self._under_way) >= self._batching.in_flight or self._records_under_way + len(batch) > most
        ):
            self._wait_for_one()
        self._under_way.append((len(batch), self._threads.submit(self._deliver, batch)))
        self._records_under_way += len(batch)

    def _wait_for_one(self) -> None:
        count, sent = self._under_way.popleft()
        self._records_under_way -= count
        sent.result()

    # ---- in a thread

    def _deliver(self, batch: Sequence[Entry]) -> None:
        """Send the batch until all of it is accepted."""
        attempt = 0
        while not self._stopped.is_set():
            batch, reason = self._attempt(batch)
            if not batch:
                return
            if attempt % _COMPLAIN_EVERY == _COMPLAIN_EVERY - 1:
                log.warning("%s does not take %d records: %s", self._target.name, len(batch), reason)
            self._stopped.wait(FLINKS_BACKOFF.pause_s(attempt))
            attempt += 1

    def _attempt(self, batch: Sequence[Entry]) -> tuple[Sequence[Entry], str]:
        """Send one request; return the remaining records, and the reason."""
        what = f"{self._target.name} did not take records"
        try:
            failed = self._target.send(batch)
        except errors() as error:
            if self._batching.fail_on_error or not is_passing(error):
                raise failure(error, what, self._target.properties) from error
            return batch, str(error)
        if failed and self._batching.fail_on_error:
            raise ConnectorError(
                f"{what}.",
                detail=f"{len(failed)} of {len(batch)}, the first: {failed[0][1]}",
                hint="set_fail_on_error(False) sends them again until they are taken",
            )
        return [batch[index] for index, _ in failed], failed[0][1] if failed else ""
