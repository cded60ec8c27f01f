"""The files that state is made of: written once, named by their content, read in ranges.

A name is relative to the root; an absolute path or a URI names a file elsewhere (a savepoint, say). Local
directories are used directly, without importing pyarrow; any other file system through ``pyarrow.fs``.
"""

from __future__ import annotations

import io
import mmap
import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol
from uuid import uuid4

from firesteel.common.errors import StateCorruptionError, StorageUnavailableError
from firesteel.state.line import RunRef
from firesteel.state.local_copies import LocalCopies
from firesteel.state.runs import ConvertValues, Run
from firesteel.storage.filesystems import arrow_file_system
from firesteel.storage.private_files import make_directories, private_opener, writing

__all__ = ["MemoryStateFiles", "NewFile", "StateFiles"]

_COPY_BYTES: Final = 1 << 20
_TAKES_ADVICE: Final = hasattr(mmap.mmap, "madvise")  # not on all systems
_INDEX_BYTES: Final = 64 << 10  # at least
_INDEX_SHARE: Final = 32  # of a run with small entries
#: Their PUT is atomic and their rename is a copy, so files are written under their own name at once.
_OBJECT_STORES: Final = frozenset(("s3", "gcs", "abfs"))


class NewFile(Protocol):
    """A file that is being written. It goes when its block ends without ``save``."""

    def write(self, data: bytes, /) -> object: ...

    def save(self, name: str) -> str:
        """Keep it under a content name, whole or not at all. Returns ``name``."""


class StateFiles:
    """The state directory of a job.

    :param root: a local directory, or a URI that ``pyarrow.fs`` knows (``s3://``, ``gs://``, ``hdfs://``).
    :param copies: of runs that are not on this host; None: none are kept, and a remote run that is read is
        read into memory.
    """

    def __init__(self, root: str | os.PathLike[str], copies: LocalCopies | None = None) -> None:
        self.root = os.fspath(root).removeprefix("file://").rstrip("/") or "/"
        self._copies = copies
        self._remote = "://" in self.root

    def __reduce__(self) -> tuple[Any, ...]:  # open handles are not pickled
        return type(self), (self.root, self._copies)

    # ---- names

    def path_of(self, name: str) -> str:
        if name.startswith("/") or "://" in name:
            return name.removeprefix("file://")
        return f"{self.root}/{name}"

    def _file_system(self, path: str) -> tuple[Any, str]:
        """The pyarrow file system of a URI, and the path in it."""
        return arrow_file_system(path)

    # ---- writing

    def write_once(self, name: str, data: bytes) -> str:
        """Write a file unless it is there: a content name means the same content. Returns ``name``."""
        path = self.path_of(name)
        with writing(path):
            if "://" in path:
                self._write_remote(path, (data,))
            elif not os.path.exists(path):
                _write_local(path, data)
        return name

    def overwrite(self, name: str, data: bytes) -> None:
        """Write a small file that is written again and again, as cheaply as it can be done. Who reads may
        find a part of the old content and a part of the new; on a remote file system, for a moment, none."""
        path = self.path_of(name)
        with writing(path):
            if "://" in path:
                self.delete(name)
                self._write_remote(path, (data,))
            else:
                file = private_opener(path, os.O_WRONLY | os.O_CREAT)
                try:
                    os.pwrite(file, data, 0)
                finally:
                    os.close(file)

    @contextmanager
    def create(self, directory: str) -> Iterator[NewFile]:
        """A file in a directory that gets its name when its content is known."""
        path = self.path_of(directory)
        remote = "://" in path
        # What goes to another file system is collected here: its name must be known when it is begun.
        temporary = self._new_file() if remote else os.path.join(path, f"{uuid4().hex}.tmp")
        with writing(path):
            try:
                if not remote:
                    make_directories(path)
                with open(temporary, "wb", opener=private_opener) as out:
                    yield _LocalFile(self, temporary, out)
            finally:
                with suppress(NotADirectoryError):
                    Path(temporary).unlink(missing_ok=True)

    def _new_file(self) -> str:
        with suppress(OSError):
            if self._copies is not None:
                return self._copies.new_file()
        return os.path.join(tempfile.gettempdir(), f"{uuid4().hex}.tmp")

    def _write_remote(self, path: str, data: Iterable[bytes]) -> None:
        fs, inner = self._file_system(path)
        if fs.get_file_info(inner).is_file:
            return
        in_place = fs.type_name in _OBJECT_STORES
        target = inner if in_place else f"{inner}.{uuid4().hex}.tmp"
        if not in_place:
            fs.create_dir(inner.rpartition("/")[0], recursive=True)
        with fs.open_output_stream(target) as out:
            for part in data:
                out.write(part)
        if not in_place:
            fs.move(target, inner)

    def take_in(self, temporary: str, name: str) -> None:
        """Make a complete local file the file ``name``, unless that is there."""
        path = self.path_of(name)
        if "://" in path:
            with open(temporary, "rb") as file:
                self._write_remote(path, iter(partial(file.read, _COPY_BYTES), b""))
            if self._copies is not None:
                self._copies.take(name, temporary, self._names_in)
        elif not os.path.exists(path):
            os.replace(temporary, path)

    def delete(self, name: str) -> None:
        """Delete a file; nothing happens when it is not there."""
        path = self.path_of(name)
        if "://" in path:
            fs, inner = self._file_system(path)
            if fs.get_file_info(inner).is_file:
                fs.delete_file(inner)
        else:
            Path(path).unlink(missing_ok=True)

    # ---- reading

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """``length`` bytes from ``offset`` on; to the end when None. Raises StateCorruptionError when the
        file is missing, StorageUnavailableError when that is not known."""
        path = self.path_of(name)
        try:
            if "://" in path:
                fs, inner = self._file_system(path)
                with fs.open_input_file(inner) as file:
                    wanted = file.size() - offset if length is None else length
                    return bytes(file.read_at(wanted, offset))
            with open(path, "rb") as file:
                file.seek(offset)
                return file.read(-1 if length is None else length)
        except StorageUnavailableError:
            raise  # it says nothing of the file
        except OSError as error:
            raise _unreadable(path, error) from error

    def read_new(self, name: str) -> bytes | None:
        """A whole file that may not be there yet (None), for those who look for it again and again."""
        path = self.path_of(name)
        if "://" not in path and not os.path.exists(path):  # much cheaper than an error
            return None
        try:
            return self.read(name)
        except StateCorruptionError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise

    def open_mmap(self, name: str) -> memoryview:
        """The local file as memory."""
        path = self.path_of(name)
        try:
            with open(path, "rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise _unreadable(path, error) from error
        except ValueError as error:  # an empty file cannot be mapped
            raise StateCorruptionError(f"The state file {path} is empty.") from error
        if _TAKES_ADVICE:
            mapped.madvise(mmap.MADV_RANDOM)  # a run says what it reads
        return memoryview(mapped)

    def open_run(self, ref: RunRef, convert: ConvertValues | None = None) -> Run:
        """Open a run. Nothing is read before it is needed; remote runs are then read whole, once for each
        host that keeps copies.

        :param convert: what is done to the values of a block as it is read.
        """
        name = ref.path if ref.offset == 0 else f"{ref.path} at {ref.offset}"
        base = 0 if "://" in self.path_of(ref.path) else ref.offset  # a copy has nothing but the run
        content = _Content(partial(self._view, ref), base)
        return Run(name, ref.length, content.read, ref.digest, convert, content.will_read)

    def will_open(self, refs: Iterable[RunRef]) -> None:
        """Have the ends of local runs, where their indexes are, fetched from the disk all at the same time:
        met one by one they cost the time of an access each."""
        if not hasattr(os, "posix_fadvise"):
            return
        for ref in refs:
            size = min(ref.length, max(_INDEX_BYTES, ref.length // _INDEX_SHARE))
            end = ref.offset + ref.length
            with suppress(OSError), open(self.path_of(ref.path), "rb") as file:  # the read says what is wrong
                os.posix_fadvise(file.fileno(), end - size, size, os.POSIX_FADV_WILLNEED)

    def _view(self, ref: RunRef) -> memoryview:
        if "://" in self.path_of(ref.path):
            fetch = partial(self.read, ref.path, ref.offset, ref.length)
            if self._copies is None:
                return memoryview(fetch())
            return self._copies.view(ref, fetch, self._names_in)
        return self.open_mmap(ref.path)[ref.offset : ref.offset + ref.length]

    def _names_in(self, directory: str) -> Iterator[str]:
        """The names of the files of a remote directory.

        :raises OSError: it cannot be listed.
        """
        from pyarrow.fs import FileSelector

        fs, inner = self._file_system(self.path_of(directory))
        found = fs.get_file_info(FileSelector(inner, allow_not_found=True))
        return (info.base_name for info in found if info.is_file)

    def list(self, prefix: str = "") -> list[str]:
        """The names of all files below the root that begin with ``prefix``, sorted."""
        if self._remote:
            from pyarrow.fs import FileSelector

            fs, inner = self._file_system(self.root)
            found = fs.get_file_info(FileSelector(inner, recursive=True, allow_not_found=True))
            names = [info.path[len(inner) :].lstrip("/") for info in found if info.is_file]
        else:
            base = Path(self.root)
            names = [str(path.relative_to(base)) for path in base.rglob("*") if path.is_file()]
        return sorted(name for name in names if name.startswith(prefix) and not name.endswith(".tmp"))


class _Content:
    """The bytes of a run, opened when they are needed.

    Of a file that is mapped the very pages are asked for that will be read. Left to itself a system reads
    around a page that is missing, by its setting up to 8 MB, where a look-up needs 32 kB.
    """

    __slots__ = ("_base", "_map", "_open", "_view")

    def __init__(self, open_view: Callable[[], memoryview], base: int) -> None:
        self._open = open_view
        self._base = base  # where the run begins in its file
        self._view: memoryview | None = None
        self._map: mmap.mmap | None = None

    def read(self, offset: int, length: int) -> memoryview:
        return self._opened()[offset : offset + length]

    def _opened(self) -> memoryview:
        if self._view is None:
            self._view = self._open()
            under = self._view.obj
            self._map = under if isinstance(under, mmap.mmap) else None
        return self._view

    def will_read(self, offset: int, length: int) -> None:
        """Have the bytes fetched while other things are done."""
        self._opened()
        if self._map is None or not _TAKES_ADVICE:
            return
        start = self._base + offset
        first = start - start % mmap.PAGESIZE
        if start < len(self._map):  # a damaged run may name any place
            with suppress(OSError):  # it is only advice
                self._map.madvise(mmap.MADV_WILLNEED, first, min(start + length, len(self._map)) - first)


class _LocalFile:
    def __init__(self, files: StateFiles, temporary: str, out: BinaryIO) -> None:
        self._files = files
        self._temporary = temporary
        self._out = out
        self.write = out.write

    def save(self, name: str) -> str:
        self._out.close()
        self._files.take_in(self._temporary, name)
        return name


def _unreadable(path: str, error: OSError) -> StateCorruptionError:
    """No file, no right to it, a directory in its place, links that lead nowhere, a disk that is broken."""
    if isinstance(error, FileNotFoundError):
        return _missing(path)
    return StateCorruptionError(
        f"The state file {path} cannot be read: {error.strerror or error}.",
        hint="make it readable, or restore the job from another checkpoint or savepoint",
    )


def _missing(path: str) -> StateCorruptionError:
    return StateCorruptionError(
        f"The state file {path} is missing.", hint="restore the job from another checkpoint or savepoint"
    )


def _write_local(path: str, data: bytes) -> None:
    """Whole or absent: readers never see a part of a file."""
    temporary = f"{path}.{uuid4().hex}.tmp"
    make_directories(os.path.dirname(path))
    try:
        with open(temporary, "wb", opener=private_opener) as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


class MemoryStateFiles(StateFiles):
    """The twin for tests: the same contract, nothing on disk."""

    def __init__(self) -> None:
        super().__init__("/memory")
        self.content: dict[str, bytes] = {}
        self.bytes_read = 0
        self._lock = threading.Lock()

    def write_once(self, name: str, data: bytes) -> str:
        with self._lock:
            self.content.setdefault(name, data)
        return name

    def overwrite(self, name: str, data: bytes) -> None:
        with self._lock:
            self.content[name] = data

    @contextmanager
    def create(self, directory: str) -> Iterator[NewFile]:
        yield _MemoryFile(self)

    def delete(self, name: str) -> None:
        self.content.pop(name, None)

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        try:
            data = self.content[name]
        except KeyError:
            raise _missing(name) from None
        part = data[offset : None if length is None else offset + length]
        self.bytes_read += len(part)
        return part

    def open_mmap(self, name: str) -> memoryview:
        return memoryview(self.read(name))

    def _view(self, ref: RunRef) -> memoryview:
        return memoryview(self.read(ref.path, ref.offset, ref.length))

    def list(self, prefix: str = "") -> list[str]:
        return sorted(name for name in self.content if name.startswith(prefix))


class _MemoryFile:
    def __init__(self, files: MemoryStateFiles) -> None:
        self._files = files
        self._out = io.BytesIO()
        self.write = self._out.write

    def save(self, name: str) -> str:
        return self._files.write_once(name, self._out.getvalue())
