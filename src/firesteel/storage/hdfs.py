"""HDFS as a file system of ``pyarrow.fs``, with an installed Hadoop or without.

Where pyarrow finds Hadoop's library ``libhdfs``, that is the client. Else it is the package hdfs-native,
which speaks the protocol of name nodes and data nodes itself and needs no Java.
"""

from __future__ import annotations

import errno
import os
import queue
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from pyarrow import PythonFile
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileSystemHandler, FileType, PyFileSystem

from firesteel.common._requirements import install_command
from firesteel.common.errors import ConfigurationError, StorageError

__all__ = ["NativeHdfs", "open_hdfs"]

#: How long a name node may take for its first answer: the client itself waits without an end.
_PATIENCE_S: Final = 10.0
#: What pyarrow says when there is no libhdfs, or no Java that it could run in.
_NO_LIBHDFS: Final = re.compile(r"(?:Unable|attempt) to load lib(?:hdfs|jvm)")
_IN_A_HADOOP: Final = (
    "or, where Hadoop is installed, set ARROW_LIBHDFS_DIR to the directory of libhdfs.so and CLASSPATH to "
    "what `hadoop classpath --glob` prints"
)
#: Java's exceptions, as the client names them in its errors.
_ERRNO: Final = {
    "java.io.FileNotFoundException": errno.ENOENT,
    "org.apache.hadoop.fs.FileAlreadyExistsException": errno.EEXIST,
    "org.apache.hadoop.fs.ParentNotDirectoryException": errno.ENOTDIR,
    "org.apache.hadoop.fs.PathIsNotDirectoryException": errno.ENOTDIR,
    "org.apache.hadoop.fs.PathIsNotEmptyDirectoryException": errno.ENOTEMPTY,
    "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException": errno.EDQUOT,
    "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException": errno.EDQUOT,
    "org.apache.hadoop.hdfs.server.namenode.SafeModeException": errno.EROFS,
    "org.apache.hadoop.security.AccessControlException": errno.EACCES,
}
#: For users, and as Rust shows its own values, which some calls do: in quotes, with escapes.
_JAVA_ERRORS: Final = (
    re.compile(r"RPC error: ([\w.$]+) ?(.*)"),
    re.compile(r'RPCError\("([\w.$]+)", "((?:[^"\\]|\\[^n])*)'),
)


def open_hdfs(root: str) -> FileSystem:
    """Return the file system of a name node or a name service.

    :param root: ``hdfs://host:port``, ``hdfs://service``, ``hdfs:///`` (the default of Hadoop's settings), or
        the same with ``viewfs``.
    :raises ConfigurationError: there is no client.
    :raises StorageError: it does not answer.
    """
    try:
        return FileSystem.from_uri(root)[0]
    except OSError as error:
        if not _NO_LIBHDFS.search(str(error)):
            raise
        without = str(error).partition("\n")[0]  # all places where it has looked follow
    return PyFileSystem(NativeHdfs(_connected(root, without)))


def _connected(root: str, without: str) -> Any:
    """Return a client of hdfs-native that a name node has answered.

    :param without: why libhdfs is not used.
    """
    try:
        from hdfs_native import Client
    except ImportError as error:
        raise ConfigurationError(
            f"{root} needs a client for HDFS, and there is none.",
            detail=f"{error}; pyarrow: {without}",
            hint=f"{install_command('hdfs', 'hdfs-native')}, here and where Spark's workers run; "
            + _IN_A_HADOOP,
        ) from None
    if "@" in root:
        raise ConfigurationError(
            f"The client hdfs-native takes no user from an address: {root}",
            hint="leave the user away and set HADOOP_USER_NAME, here and where Spark's workers run",
        )
    try:
        client = Client(root.rstrip("/") if not root.endswith(":///") else None)
    except Exception as error:
        raise ConfigurationError(
            f"{root} cannot be opened.",
            detail=str(error),
            hint="HADOOP_CONF_DIR must name the directory of core-site.xml and hdfs-site.xml, unless an "
            "address has a port (hdfs://namenode:8020)",
        ) from error
    _await_answer(client, root)
    return client


def _await_answer(client: Any, root: str) -> None:
    answers: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()

    def ask() -> None:
        try:
            client.get_file_info("/")
            answers.put(None)
        except Exception as error:
            answers.put(error)

    threading.Thread(target=ask, name="firesteel-hdfs", daemon=True).start()
    try:
        error = answers.get(timeout=_PATIENCE_S)
    except queue.Empty:
        error = TimeoutError(f"no answer within {_PATIENCE_S:.0f} s")
    if error is None:
        return
    reason = str(error).partition("\n")[0]
    made = StorageError(
        f"The name node of {root} cannot be reached: {reason}",
        hint="check its host and the port of its RPC (fs.defaultFS in core-site.xml, often 8020), that it "
        "runs, and that this machine may connect to it",
    )
    made.strerror = f"its name node cannot be reached: {reason}"
    raise made from error


class NativeHdfs(FileSystemHandler):
    """A client of hdfs-native for ``PyFileSystem``, whose methods have their contracts in pyarrow.

    Renaming replaces a file in one step of the name node: a reader finds the old one or the new one.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def get_type_name(self) -> str:
        return "hdfs"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: Sequence[str]) -> list[FileInfo]:
        return [self._info(path) for path in paths]

    def _info(self, path: str) -> FileInfo:
        try:
            with _java_errors(path):
                return _info_of(self._client.get_file_info(path), path)
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
        found = []
        with suppress(FileNotFoundError), _java_errors(directory):  # it may have gone meanwhile
            found = list(self._client.list_status(directory, False))
        for status in found:
            yield _info_of(status, status.path)
            if recursive and status.isdir:
                yield from self._below(status.path, recursive)

    def create_dir(self, path: str, recursive: bool) -> None:
        with _java_errors(path):
            self._client.mkdirs(path, create_parent=recursive)

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
        with _java_errors(path):
            if not self._client.delete(path, recursive):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    def move(self, src: str, dest: str) -> None:
        with _java_errors(dest):
            self._client.rename(src, dest, overwrite=True)

    def copy_file(self, src: str, dest: str) -> None:
        raise NotImplementedError("HDFS has no operation that copies a file")

    def open_input_stream(self, path: str) -> PythonFile:
        return self.open_input_file(path)

    def open_input_file(self, path: str) -> PythonFile:
        with _java_errors(path):
            return PythonFile(_Input(self._client.read(path), path), mode="r")

    def open_output_stream(self, path: str, metadata: object) -> PythonFile:
        from hdfs_native import WriteOptions

        with _java_errors(path):
            file = self._client.create(path, WriteOptions(overwrite=True))
        return PythonFile(_Output(file, path), mode="w")

    def open_append_stream(self, path: str, metadata: object) -> PythonFile:
        with _java_errors(path):
            return PythonFile(_Output(self._client.append(path), path), mode="w")


class _Input:
    """An open file, as ``PythonFile`` reads it."""

    def __init__(self, file: Any, path: str) -> None:
        self._file = file
        self._path = path
        self.closed = False
        self.tell = file.tell

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._file.seek(offset, whence)
        return int(self._file.tell())

    def read(self, size: int = -1) -> bytes:
        with _java_errors(self._path):
            return bytes(self._file.read(size))

    def close(self) -> None:
        self.closed = True


class _Output:
    """A file that is being written, as ``PythonFile`` writes it. It is complete when it is closed."""

    def __init__(self, file: Any, path: str) -> None:
        self._file = file
        self._path = path
        self.closed = False

    def write(self, data: bytes) -> int:
        with _java_errors(self._path):
            return int(self._file.write(data))

    def flush(self) -> None:
        """Nothing: what was written is on its way to the data nodes."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            with _java_errors(self._path):
                self._file.close()


def _info_of(status: Any, path: str) -> FileInfo:
    mtime_ns = status.modification_time * 1_000_000
    if status.isdir:
        return FileInfo(path, FileType.Directory, mtime_ns=mtime_ns)
    return FileInfo(path, FileType.File, mtime_ns=mtime_ns, size=status.length)


@contextmanager
def _java_errors(path: str) -> Iterator[None]:
    """Raise the errors of name nodes, for which the client has a text only, as errors of the system."""
    try:
        yield
    except RuntimeError as error:
        text = str(error).partition("\n")[0]  # the stack of the name node follows
        found = next(filter(None, (form.search(text) for form in _JAVA_ERRORS)), None)
        number, reason = (_ERRNO.get(found[1]), found[2].replace('\\"', '"')) if found else (None, text)
        raise OSError(number or errno.EIO, reason or text, path) from error
