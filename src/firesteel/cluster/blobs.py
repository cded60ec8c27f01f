"""Files by their content: the name of each is the SHA-256 of what is in it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import secrets
import time
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from firesteel.common.errors import PathNotFoundError, StateCorruptionError
from firesteel.storage.durable import sync_file, sync_names
from firesteel.storage.private_files import make_directories, private_opener, writing

_DIGEST: Final = re.compile("[0-9a-f]{64}")
_COMING: Final = ".coming-"  # of files that are not whole yet
#: A blob that no job refers to stays for so long: its client may hand in the job that does.
UNUSED_S: Final = 3_600.0


class BlobStore:
    """Several processes may read of one directory; one writes."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        make_directories(str(directory))

    def path(self, digest: str) -> Path:
        """Where the blob is; it need not be there."""
        if _DIGEST.fullmatch(digest) is None:
            raise PathNotFoundError(f"{digest!r} is not the digest of a blob")
        return self._directory / digest

    def has(self, digest: str) -> bool:
        """Whether it is there; it stays then for a while."""
        with suppress(OSError):
            os.utime(self.path(digest))
            return True
        return False

    def put(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        with writing(str(self._directory)):
            if not self.has(digest):
                coming = self._coming()
                with open(coming, "xb", opener=private_opener) as file:
                    file.write(data)
                self._keep(coming, digest)
        return digest

    async def receive(self, parts: AsyncIterator[bytes], digest: str | None = None) -> tuple[str, int]:
        """Keep what comes; its digest and size. Whatever goes wrong, nothing of it is left.

        :param digest: what it should be.
        :raises StateCorruptionError: it is not.
        """
        async with self.coming(parts) as (coming, found, size):
            if digest is not None and found != digest:
                raise StateCorruptionError(
                    "What came is not what was announced.",
                    detail=f"its SHA-256 is {found}, not {digest}",
                    hint="send it again",
                )
            with writing(str(self._directory)):
                await asyncio.to_thread(self._keep, coming, found)
        return found, size

    @asynccontextmanager
    async def coming(self, parts: AsyncIterator[bytes]) -> AsyncIterator[tuple[Path, str, int]]:
        """A file with what comes, its digest and size. Nobody else has it, though the same may come several
        times at once. Unless it is moved, it is removed in the end."""
        coming = self._coming()
        found, size = hashlib.sha256(), 0
        try:
            with writing(str(self._directory)):
                file = open(coming, "xb", opener=private_opener)  # noqa: SIM115 - closed below
            with file:
                async for part in parts:
                    with writing(str(self._directory)):
                        file.write(part)
                    found.update(part)
                    size += len(part)
            yield coming, found.hexdigest(), size
        finally:
            coming.unlink(missing_ok=True)

    def read(self, digest: str) -> bytes:
        """The content, checked.

        :raises StateCorruptionError: it has changed. :raises PathNotFoundError: there is none.
        """
        path = self.path(digest)
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise PathNotFoundError(f"The blob {digest} is not there.", detail=str(path)) from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise StateCorruptionError(
                f"The blob {digest} is damaged.", detail=str(path), hint="hand the program in again"
            )
        return data

    def sweep(self, used: Collection[str], older_than_s: float = UNUSED_S) -> int:
        """Remove what no job refers to; how many files."""
        removed = 0
        oldest = time.time() - older_than_s
        for path in list(self._files()):
            with suppress(OSError):
                if path.name not in used and path.stat().st_mtime < oldest:
                    path.unlink()
                    removed += 1
        return removed

    def _files(self) -> Iterator[Path]:
        return self._directory.iterdir()

    def _coming(self) -> Path:
        return self._directory / f"{_COMING}{secrets.token_hex(8)}"

    def _keep(self, coming: Path, digest: str) -> None:
        target = self.path(digest)
        sync_file(str(coming))
        os.replace(coming, target)
        sync_names((str(target),), str(self._directory))
