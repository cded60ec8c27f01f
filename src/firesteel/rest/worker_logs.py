"""The logs of executors: what Spark's workers serve of them, mirrored as far as somebody has looked at it."""

from __future__ import annotations

import asyncio
import re
import threading
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import urlsplit, urlunsplit

from firesteel.common.logs import logger
from firesteel.metrics.machines import Machines, WorkerInfo
from firesteel.rest.cluster import Log
from firesteel.rest.errors import RestError, not_found
from firesteel.storage.private_files import private_opener
from firesteel.storage.process_directory import new_directory

log = logger(__name__)

_TIMEOUT_S: Final = 5.0
_PIECE: Final = 1 << 20  # bytes of one request
_MOST: Final = 64 << 20  # bytes of a log that are mirrored; the beginning of a longer one
_PAGE: Final = "/logPage/"  # where Spark's workers show a log; below /log/ it is text
_HEAD: Final = re.compile(rb"==== Bytes (\d+)-(\d+) of (\d+) of [^\n]* ====\n")


class WorkerLogs:
    """Any thread may ask; one thread at a time fetches a log. All methods block."""

    def __init__(self) -> None:
        self._mirrors: dict[tuple[str, str], _Mirror] = {}
        self._lock = threading.Lock()

    def all(self, worker: WorkerInfo) -> tuple[Log, ...]:
        """The logs of an executor that can be read now."""
        found = []
        for name, _ in worker.logs:
            try:
                file = self.read(worker, name)
            except RestError as e:
                log.info("a log of an executor cannot be read log=%s: %s", name, e)
                continue
            if file is not None:
                facts = file.stat()
                found.append(Log(name, facts.st_size, facts.st_mtime_ns // 1_000_000))
        return tuple(found)

    def read(self, worker: WorkerInfo, name: str) -> Path | None:
        """A file with all of a log that is there now; None: the executor has no such log.

        :raises RestError: it is served by others than Spark's workers, or they do not answer.
        """
        url = dict(worker.logs).get(name)
        if url is None:
            return None
        key = (worker.id, name)
        with self._lock:
            mirror = self._mirrors.get(key)
            if mirror is None:
                mirror = self._mirrors[key] = _Mirror(_as_text(url), new_directory() / "log")
        return mirror.fetched()


class OwnLogs(Protocol):
    """The logs of the driver."""

    def all(self) -> tuple[Log, ...]: ...

    def read(self, name: str) -> Path | str | None: ...


class LogsOfAll:
    """The logs of the driver, and those of the executors: what ``Cluster`` says of logs."""

    def __init__(self, own: OwnLogs, machines: Callable[[], Awaitable[Machines]]) -> None:
        self._own = own
        self._machines = machines
        self._of_workers = WorkerLogs()

    async def all(self, worker_id: str | None) -> tuple[Log, ...]:
        worker = await self._worker(worker_id)
        if worker_id is None or (worker is not None and worker.in_driver):
            return self._own.all()
        return () if worker is None else await asyncio.to_thread(self._of_workers.all, worker)

    async def read(self, worker_id: str | None, name: str) -> Path | str | None:
        worker = await self._worker(worker_id)
        if worker_id is None or (worker is not None and worker.in_driver):
            return self._own.read(name)
        return None if worker is None else await asyncio.to_thread(self._of_workers.read, worker, name)

    async def _worker(self, worker_id: str | None) -> WorkerInfo | None:
        return None if worker_id is None else (await self._machines()).worker(worker_id)


class _Mirror:
    """A copy of a log that grows."""

    def __init__(self, url: str, file: Path) -> None:
        self._url = url
        self._file = file
        self._lock = threading.Lock()

    def fetched(self) -> Path:
        with self._lock, open(self._file, "ab", opener=private_opener) as copy:
            while (begin := copy.tell()) < _MOST:
                piece, size = self._piece(begin)
                copy.write(piece)
                if not piece or begin + len(piece) >= size:
                    break
        return self._file

    def _piece(self, begin: int) -> tuple[bytes, int]:
        """Bytes of the log, and how many there are in all."""
        url = f"{self._url}&offset={begin}&byteLength={_PIECE}"
        try:
            with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
                body: bytes = answer.read(_PIECE + 4096)
        except (OSError, ValueError) as e:
            raise RestError(502, f"The worker of Spark that has the log does not answer: {e}") from e
        head = _HEAD.match(body)
        if head is None:
            raise RestError(502, f"The worker of Spark has no such log: {body[:200]!r}")
        first, size = int(head[1]), int(head[3])
        # Spark moves an offset behind the end to the end, and a log that was rolled over begins anew.
        return (body[head.end() :], size) if first == begin else (b"", size)


def _as_text(url: str) -> str:
    """Where a worker of Spark serves a log as text.

    :raises RestError: 404: whoever serves it is not one.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.path.endswith(_PAGE):
        raise not_found(f"The resource manager keeps this log, and shows it at {url}")
    return urlunsplit(parts._replace(path=parts.path.removesuffix(_PAGE) + "/log/"))
