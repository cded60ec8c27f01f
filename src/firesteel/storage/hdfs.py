"""HDFS as a file system of ``pyarrow.fs``, with an installed Hadoop or without.

Where pyarrow finds Hadoop's library ``libhdfs``, that is the client. Else it is the package hdfs-native,
which speaks the protocol of name nodes and data nodes itself and needs no Java (``hdfs_client.py``).
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from pyarrow import PythonFile
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileSystemHandler, FileType, PyFileSystem

from firesteel.storage.hdfs_client import HdfsClient, HdfsClients

__all__ = ["NativeHdfs", "open_hdfs"]

#: What pyarrow says when there is no libhdfs, or no Java that it could run in.
_NO_LIBHDFS: Final = re.compile(r"(?:Unable|attempt) to load lib(?:hdfs|jvm)")
#: What one call reads or writes at most, or lists: its time is limited.
_PIECE_BYTES: Final = 16 << 20
_PIECE_ENTRIES: Final = 10_000


def open_hdfs(root: str) -> FileSystem:
    """Return the file system of a name node or a name service.

    :param root: ``hdfs://host:port``, ``hdfs://service``, ``hdfs:///`` (the default of Hadoop's settings), or
        the same with ``viewfs``.
    :raises ConfigurationError: there is no client.
    :raises StorageUnavailableError: it does not answer.
    """
    try:
        return FileSystem.from_uri(root)[0]
    except OSError as error:
        if not _NO_LIBHDFS.search(str(error)):
            raise
        without = str(error).partition("\n")[0]  # all places where it has looked follow
    clients = HdfsClients(root, without)
    clients.current()
    return PyFileSystem(NativeHdfs(clients))


class NativeHdfs(FileSystemHandler):
    """HDFS by hdfs-native for ``PyFileSystem``, whose methods have their contracts in pyarrow.

    Renaming replaces a file in one step of the name node: a reader finds the old one or the new one.
    """

    def __init__(self, clients: HdfsClients) -> None:
        self._clients = clients

    def get_type_name(self) -> str:
        return "hdfs"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: Sequence[str]) -> list[FileInfo]:
        return [self._info(path) for path in paths]

    def _info(self, path: str) -> FileInfo:
        try:
            status = self._clients.current().ask(path, lambda raw: raw.get_file_info(path))
            return _info_of(status, path)
        except (FileNotFoundError, NotADirectoryError):  # the latter: something above it is a file
            return FileInfo(path, FileType.NotFound)

    def get_file_info_selector(self, selector: FileSelector) -> list[FileInfo]:
        base = selector.base_dir
        info = self._info(base)
        if info.type == FileType.File:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), base)
        if info.type == FileType.NotFound and not selector.allow_not_found:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), base)
        return list(self._below(base, selector.recursive))

    def _below(self, directory: str, recursive: bool) -> Iterator[FileInfo]:
        for status in self._entries(directory):
            yield _info_of(status, status.path)
            if recursive and status.isdir:
                yield from self._below(status.path, recursive)

    def _entries(self, directory: str) -> list[Any]:
        client, found = self._clients.current(), []
        with suppress(FileNotFoundError):  # it may have gone meanwhile
            entries = client.ask(directory, lambda raw: raw.list_status(directory, False))
            while piece := client.ask(directory, lambda raw: list(islice(entries, _PIECE_ENTRIES))):
                found += piece
        return found

    def create_dir(self, path: str, recursive: bool) -> None:
        self._clients.current().ask(path, lambda raw: raw.mkdirs(path, create_parent=recursive))

    def delete_dir(self, path: str) -> None:
        if self._info(path).type == FileType.File:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        self._delete(path, recursive=True)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        for info in self.get_file_info_selector(FileSelector(path, allow_not_found=missing_dir_ok)):
            self._delete(info.path, recursive=True)

    def delete_root_dir_contents(self) -> None:
        self.delete_dir_contents("/")

    def delete_file(self, path: str) -> None:
        if self._info(path).type == FileType.Directory:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        self._delete(path, recursive=False)

    def _delete(self, path: str, *, recursive: bool) -> None:
        if not self._clients.current().ask(path, lambda raw: raw.delete(path, recursive)):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    def move(self, src: str, dest: str) -> None:
        self._clients.current().ask(dest, lambda raw: raw.rename(src, dest, overwrite=True))

    def copy_file(self, src: str, dest: str) -> None:
        raise NotImplementedError("HDFS has no operation that copies a file")

    def open_input_stream(self, path: str) -> PythonFile:
        return self.open_input_file(path)

    def open_input_file(self, path: str) -> PythonFile:
        client = self._clients.current()
        file = client.ask(path, lambda raw: raw.read(path))
        return PythonFile(_Input(client, file, path), mode="r")

    def open_output_stream(self, path: str, metadata: object) -> PythonFile:
        from hdfs_native import WriteOptions

        client = self._clients.current()
        file = client.ask(path, lambda raw: raw.create(path, WriteOptions(overwrite=True)))
        return PythonFile(_Output(client, file, path), mode="w")

    def open_append_stream(self, path: str, metadata: object) -> PythonFile:
        client = self._clients.current()
        file = client.ask(path, lambda raw: raw.append(path))
        return PythonFile(_Output(client, file, path), mode="w")


class _Input:
    """An open file, as ``PythonFile`` reads it."""

    def __init__(self, client: HdfsClient, file: Any, path: str) -> None:
        self._client = client
        self._file = file
        self._path = path
        self.closed = False

    def tell(self) -> int:
        self._client.check(self._path)
        return int(self._file.tell())

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._client.check(self._path)
        self._file.seek(offset, whence)
        return int(self._file.tell())

    def read(self, size: int = -1) -> bytes:
        if 0 <= size <= _PIECE_BYTES:
            return self._read(size)
        left = self._client.ask(self._path, lambda raw: len(self._file) - self._file.tell())
        left = left if size < 0 else min(left, size)
        pieces = [self._read(min(left - at, _PIECE_BYTES)) for at in range(0, left, _PIECE_BYTES)]
        return b"".join(pieces)

    def _read(self, size: int) -> bytes:
        return self._client.ask(self._path, lambda raw: bytes(self._file.read(size)))

    def close(self) -> None:
        self.closed = True


class _Output:
    """A file that is being written, as ``PythonFile`` writes it. It is complete when it is closed."""

    def __init__(self, client: HdfsClient, file: Any, path: str) -> None:
        self._client = client
        self._file = file
        self._close = file.close
        # Python closes files that are dropped, which may wait for ever; and this one is not complete then.
        file.close = _do_nothing
        self._path = path
        self.closed = False

    def write(self, data: bytes) -> int:
        if len(data) <= _PIECE_BYTES:
            return self._write(data)
        pieces = (data[at : at + _PIECE_BYTES] for at in range(0, len(data), _PIECE_BYTES))
        return sum(map(self._write, pieces))

    def _write(self, data: bytes) -> int:
        return self._client.ask(self._path, lambda raw: int(self._file.write(data)))

    def flush(self) -> None:
        """Nothing: what was written is on its way to the data nodes."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._client.ask(self._path, lambda raw: self._close())


def _do_nothing() -> None: ...


def _info_of(status: Any, path: str) -> FileInfo:
    mtime_ns = status.modification_time * 1_000_000
    if status.isdir:
        return FileInfo(path, FileType.Directory, mtime_ns=mtime_ns)
    return FileInfo(path, FileType.File, mtime_ns=mtime_ns, size=status.length)
