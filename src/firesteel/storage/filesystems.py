"""File systems with one small protocol: the local one, and all others through ``pyarrow.fs``.

A path is a plain local path, a ``file:`` URI or a URI that ``pyarrow.fs`` supports (``s3://``, ``gs://``,
``hdfs://`` ...; HDFS also without Hadoop: ``hdfs.py``).
"""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from stat import S_IFBLK, S_IFCHR, S_IFIFO, S_IFLNK, S_IFMT, S_IFSOCK, S_ISDIR
from typing import Any, BinaryIO, Final, Protocol, cast
from urllib.parse import unquote, urlparse

from firesteel.common.errors import ConfigurationError, FiresteelError, StorageUnavailableError
from firesteel.common.masking import remember_address
from firesteel.storage.durable import replace_durably
from firesteel.storage.private_files import make_directories, private_opener, writing

_URI = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+://")
_GLOB = re.compile(r"[*?\[]")
#: They show files that are still being written, and can rename them.
_RENAMING: Final = frozenset({"hdfs", "viewfs"})
_COPY_BYTES: Final = 1 << 20
#: Kinds of files that can be opened but have no end, or do not end at their size.
_SPECIAL: Final = {
    S_IFIFO: "a named pipe",
    S_IFSOCK: "a socket",
    S_IFCHR: "a device",
    S_IFBLK: "a device",
    S_IFLNK: "a link that leads to itself",
}


@dataclass(frozen=True, slots=True)
class FileInfo:
    """``path`` is complete and can be opened as it is. ``size`` is 0 for a directory.

    ``special`` names the kind, such as "a named pipe", if it can be read neither as a file nor as a
    directory.
    """

    path: str
    size: int
    modified_ms: int
    is_dir: bool
    special: str = ""

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2]


class Storage(Protocol):
    """The file system operations that sources and sinks need. ``is_local``: ``os`` accepts its paths."""

    is_local: bool

    def info(self, path: str) -> FileInfo | None: ...

    def list_dir(self, path: str) -> list[FileInfo]:
        """Return the entries of a directory by name; an empty list if it does not exist."""

    def open_input(self, path: str) -> BinaryIO:
        """Open a file as a seekable stream of bytes."""

    def open_output(self, path: str) -> BinaryIO:
        """Create a file; its directory is created if it does not exist."""

    def write_whole(self, path: str, source: BinaryIO) -> None:
        """Create a file with the content of ``source``. It is atomic: no reader ever sees a part of it, not
        even after a power failure. ``source`` must be local: if reading it failed, an upload would end as a
        truncated object."""

    def write(self, path: str, data: bytes) -> None:
        """Create a file with ``data``, as ``write_whole`` does."""

    def delete(self, path: str) -> None:
        """Remove a file. Does nothing if it does not exist."""

    def delete_empty(self, path: str) -> bool:
        """Remove a directory if it is empty; return true if it is gone."""

    def delete_tree(self, path: str) -> None:
        """Remove a directory and everything in it. Only for directories that Firesteel alone writes to."""


def _leads_up(link: str) -> bool:
    """Return true if a link leads to a directory that contains it, which would make following it endless."""
    directory, target = os.path.realpath(os.path.dirname(link)), os.path.realpath(link)
    return os.path.commonpath([directory, target]) == target


def _temporary(path: str) -> str:
    directory, _, name = path.rpartition("/")
    return f"{directory}/.{name}.{uuid.uuid4().hex}"


class LocalStorage:
    """The local file system.

    :param private: whether new files and directories are accessible to their owner only; otherwise the
        umask applies.
    """

    is_local = True

    def __init__(self, *, private: bool = False) -> None:
        self._private = private

    def info(self, path: str) -> FileInfo | None:
        try:
            found = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:  # ValueError: a NUL, or a character not in the encoding
            number = error.errno if isinstance(error, OSError) else errno.ENAMETOOLONG
            if number == errno.ENAMETOOLONG:
                raise ConfigurationError(f"not a path: {path!r}", detail=str(error)) from error
            if number != errno.ELOOP:
                raise
            found = os.lstat(path)  # circular links exist but cannot be opened
        is_dir = S_ISDIR(found.st_mode)
        size = 0 if is_dir else found.st_size
        special = _SPECIAL.get(S_IFMT(found.st_mode), "")
        if is_dir and os.path.islink(path) and _leads_up(path):
            special = "a link to a directory that it is in"
        return FileInfo(path, size, found.st_mtime_ns // 1_000_000, is_dir, special)

    def list_dir(self, path: str) -> list[FileInfo]:
        try:
            names = sorted(os.listdir(path))
        except (FileNotFoundError, NotADirectoryError):
            return []
        infos = (self.info(os.path.join(path, name)) for name in names)
        return [info for info in infos if info is not None]  # a file may disappear meanwhile

    def open_input(self, path: str) -> BinaryIO:
        return open(path, "rb", buffering=0)  # callers read in large blocks

    def open_output(self, path: str) -> BinaryIO:
        with writing(path):
            if self._private:
                make_directories(os.path.dirname(path))
                return open(path, "wb", opener=private_opener)
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            return open(path, "wb")

    def write_whole(self, path: str, source: BinaryIO) -> None:
        temporary = _temporary(path)
        with writing(path):
            try:
                with self.open_output(temporary) as out:
                    shutil.copyfileobj(source, out, _COPY_BYTES)
                replace_durably(temporary, path)
            except BaseException:  # e.g. on a full disk, a partial file must not stay
                with suppress(NotADirectoryError):
                    self.delete(temporary)
                raise

    def write(self, path: str, data: bytes) -> None:
        self.write_whole(path, io.BytesIO(data))

    def delete(self, path: str) -> None:
        try:
            os.remove(path)
        except FileNotFoundError:
            return

    def delete_empty(self, path: str) -> bool:
        try:
            os.rmdir(path)
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EBUSY):
                return False  # links and mount points stay too
            raise
        return True

    def delete_tree(self, path: str) -> None:
        shutil.rmtree(path, ignore_errors=True)


class ArrowStorage:
    """An object store or HDFS. In an object store a file appears when its stream is closed."""

    is_local = False

    def info(self, path: str) -> FileInfo | None:
        filesystem, inner = arrow_file_system(path)
        return self._info(filesystem.get_file_info(inner), path)

    def list_dir(self, path: str) -> list[FileInfo]:
        from pyarrow.fs import FileSelector

        filesystem, inner = arrow_file_system(path)
        try:
            entries = filesystem.get_file_info(FileSelector(inner, allow_not_found=True))
        except NotADirectoryError:
            return []
        infos = (self._info(entry, join(path, entry.base_name)) for entry in entries)
        return sorted((info for info in infos if info is not None), key=lambda info: info.path)

    @staticmethod
    def _info(entry: Any, path: str) -> FileInfo | None:
        from pyarrow.fs import FileType

        if entry.type == FileType.NotFound:
            return None
        is_dir = entry.type == FileType.Directory
        return FileInfo(path, 0 if is_dir else entry.size, (entry.mtime_ns or 0) // 1_000_000, is_dir)

    def open_input(self, path: str) -> BinaryIO:
        filesystem, inner = arrow_file_system(path)
        return cast(BinaryIO, filesystem.open_input_file(inner))

    def open_output(self, path: str) -> BinaryIO:
        filesystem, inner = arrow_file_system(path)
        parent = inner.rpartition("/")[0]
        if parent:
            filesystem.create_dir(parent, recursive=True)
        return cast(BinaryIO, filesystem.open_output_stream(inner))

    def write_whole(self, path: str, source: BinaryIO) -> None:
        if path.partition("://")[0] not in _RENAMING:
            self._copy(source, path)
            return
        temporary = _temporary(path)
        filesystem, inner = arrow_file_system(path)
        try:
            try:
                self._copy(source, temporary)
            except StorageUnavailableError as error:
                error.undone = True  # there is no file of the name ``path``
                raise
            filesystem.move(arrow_file_system(temporary)[1], inner)
        except BaseException:
            with suppress(OSError):
                self.delete(temporary)
            raise

    def _copy(self, source: BinaryIO, path: str) -> None:
        with self.open_output(path) as out:
            shutil.copyfileobj(source, out, _COPY_BYTES)

    def write(self, path: str, data: bytes) -> None:
        self.write_whole(path, io.BytesIO(data))

    def delete(self, path: str) -> None:
        filesystem, inner = arrow_file_system(path)
        try:
            filesystem.delete_file(inner)
        except FileNotFoundError:
            return

    def delete_empty(self, path: str) -> bool:
        if self.list_dir(path):
            return False
        self.delete_tree(path)
        return True

    def delete_tree(self, path: str) -> None:
        filesystem, inner = arrow_file_system(path)
        try:
            filesystem.delete_dir(inner)
        except FileNotFoundError:
            return


@lru_cache(maxsize=64)
def _arrow_root(root: str) -> tuple[Any, str]:
    try:
        if root.partition("://")[0] in _RENAMING:
            from firesteel.storage.hdfs import open_hdfs

            return open_hdfs(root), ""
        from pyarrow.fs import FileSystem  # costs 100 ms: only for what is not local

        filesystem, inner = FileSystem.from_uri(root)
    except FiresteelError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"cannot open the file system of {root}",
            detail=str(error),
            hint="give a local path or a URI that pyarrow.fs knows: s3://, gs://, hdfs://, abfs://",
        ) from None  # its text contains the whole address
    return filesystem, inner.rstrip("/")


def arrow_file_system(path: str) -> tuple[Any, str]:
    """Return the ``pyarrow.fs`` file system of a URI and the path in it. There is one file system object per
    bucket or host."""
    scheme, _, rest = path.partition("://")
    host, _, inner = rest.partition("/")
    filesystem, root = _arrow_root(f"{scheme}://{host}/" if not host else f"{scheme}://{host}")
    # HDFS takes a path without a slash for one below the user's home.
    return filesystem, f"{root}/{inner}" if root or not host or scheme in _RENAMING else inner


_LOCAL = LocalStorage()
PRIVATE = LocalStorage(private=True)
_ARROW = ArrowStorage()


def resolve(path: str) -> tuple[Storage, str]:
    """Return the storage of a path, and the path as that storage takes it: absolute if it is local."""
    if path.startswith("file:"):
        parsed = urlparse(path)
        if parsed.netloc not in ("", "localhost"):
            raise ConfigurationError(
                f"not a local path: {path}", hint="write file:///path, with three slashes"
            )
        return _LOCAL, os.path.abspath(unquote(parsed.path))
    if _URI.match(path):
        if "@" in path or "=" in path:
            remember_address(path)
        return _ARROW, path
    return _LOCAL, os.path.abspath(os.path.expanduser(path))


def resolve_private(path: str) -> tuple[Storage, str]:
    """As ``resolve``, for a job's own files: if they are local, only their owner can read them."""
    storage, inner = resolve(path)
    return (PRIVATE if storage.is_local else storage), inner


def join(base: str, *names: str) -> str:
    return "/".join((base.rstrip("/"), *(name for name in names if name)))


def is_hidden(name: str) -> bool:
    """Return true for names that file sources skip and sinks use for unfinished files (Flink's default
    filter)."""
    return name.startswith((".", "_"))


def walk(storage: Storage, path: str) -> Iterator[FileInfo]:
    """Yield the files below a directory in order of their paths, without hidden ones."""
    for info in storage.list_dir(path):
        if is_hidden(info.name):
            continue
        if info.is_dir and not info.special:
            yield from walk(storage, info.path)
        else:
            yield info


def has_glob(path: str) -> bool:
    return _GLOB.search(path) is not None


def expand(storage: Storage, pattern: str) -> list[FileInfo]:
    """Expand a path: return the path itself if it exists, else the matches of its ``*``, ``?``, ``[]``,
    ``**``."""
    info = storage.info(pattern)
    if info is not None:
        return [info]
    parts = pattern.split("/")
    first = next((i for i, part in enumerate(parts) if has_glob(part)), None)
    if first is None:
        return []
    return list(_match(storage, "/".join(parts[:first]) or "/", parts[first:]))


def _match(storage: Storage, directory: str, parts: list[str]) -> Iterator[FileInfo]:
    part, rest = parts[0], parts[1:]
    if part == "**":
        yield from _match(storage, directory, rest or ["*"])
    for info in storage.list_dir(directory):
        if is_hidden(info.name) and part[0] not in "._":
            continue
        if part == "**":
            if info.is_dir and not info.special:
                yield from _match(storage, info.path, parts)
        elif fnmatchcase(info.name, part):
            if not rest:
                yield info
            elif info.is_dir:
                yield from _match(storage, info.path, rest)
