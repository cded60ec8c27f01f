"""Clients of the package hdfs-native whose calls come to an end.

The package waits for an answer of a name node without a limit, and goes on waiting when the name node has
died meanwhile. So each call is made in a thread of its own, and a client that has once not answered in time
is not used again: the next call connects anew.
"""

from __future__ import annotations

import errno
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from firesteel.common._requirements import install_command
from firesteel.common.errors import ConfigurationError, StorageUnavailableError
from firesteel.common.options.firesteel import HDFS_TIMEOUT
from firesteel.storage.bounded_calls import Callers, call_limit_s

__all__ = ["HdfsClient", "HdfsClients"]

T = TypeVar("T")

#: How long a name node may take for its first answer, unless less is configured for all of them.
_PATIENCE_S: Final = 10.0
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
#: A connection was refused, has broken, or brought nothing for too long.
_BROKEN: Final = re.compile(r"IO error occurred while communicating with HDFS(?:: (.*))?")


class HdfsClient:
    """A client of hdfs-native, used until a call is not answered in time.

    :param raw: hdfs-native's.
    :param root: its address, for errors.
    :ivar given_up: whether that has happened.
    """

    def __init__(self, raw: Any, root: str) -> None:
        self.given_up = False
        self._why = ""
        self._raw = raw
        self._root = root
        self._callers = Callers("firesteel-hdfs")
        self._begun_s = time.monotonic()
        self._greeting: Future[Any] = self._callers.begin(lambda: raw.get_file_info("/"))

    @property
    def may_answer(self) -> bool:
        """Whether it is worth while to wait for its first answer."""
        if self._greeting.done():
            return self._greeting.exception() is None
        return time.monotonic() - self._begun_s < call_limit_s()

    def await_first_answer(self) -> None:
        """
        :raises StorageUnavailableError: there is none in time, or it is an error.
        """
        limit_s = min(_PATIENCE_S, call_limit_s())
        try:
            error = self._greeting.exception(limit_s)
        except TimeoutError:
            error = TimeoutError(f"no answer within {limit_s:g} s")
        if error is None:
            return
        reason = str(error).partition("\n")[0]
        made = StorageUnavailableError(
            f"The name node of {self._root} cannot be reached: {reason}",
            hint="check its host and the port of its RPC (fs.defaultFS in core-site.xml, often 8020), that "
            "it runs, and that this machine may connect to it",
        )
        made.errno, made.strerror = errno.ETIMEDOUT, f"its name node cannot be reached: {reason}"
        made.undone = True
        raise made from error

    def ask(self, path: str, question: Callable[[Any], T]) -> T:
        """Return the answer to *question*, a call of hdfs-native about *path*.

        :raises StorageUnavailableError: there is none in time, or there was none to an earlier question.
        :raises OSError: HDFS refuses, with the number of that error in a local file system.
        """
        self.check(path)
        answer = self._callers.begin(lambda: question(self._raw))
        limit_s = call_limit_s()
        try:
            answer.exception(limit_s)
        except TimeoutError:
            self._give_up(limit_s)
            raise self._unavailable(path, self._why) from None
        with self._as_errors_of_the_system(path):
            return answer.result()

    def check(self, path: str) -> None:
        """
        :raises StorageUnavailableError: it is not used any more.
        """
        if self.given_up:
            raise self._unavailable(path, self._why)

    def _give_up(self, limit_s: float) -> None:
        """Whoever has files of it open hears so at once."""
        self._why = f"no answer within {limit_s:g} s"
        self.given_up = True
        self._callers.end()

    def _unavailable(self, path: str, why: str) -> StorageUnavailableError:
        made = StorageUnavailableError(
            f"{self._root.removesuffix('/')}{path} cannot be reached: {why}",
            hint="check that the name node and the data nodes run, and that this machine may connect to "
            f"them; {HDFS_TIMEOUT.key} is how long an answer is waited for",
        )
        made.errno, made.strerror = errno.ETIMEDOUT, why
        return made

    @contextmanager
    def _as_errors_of_the_system(self, path: str) -> Iterator[None]:
        """Raise the errors of HDFS, for which the client has a text only, as errors of the system."""
        try:
            yield
        except RuntimeError as error:
            text = str(error).partition("\n")[0]  # the stack of the name node follows
            if (broken := _BROKEN.search(text)) is not None:
                raise self._unavailable(path, broken[1] or text) from error
            found = next(filter(None, (form.search(text) for form in _JAVA_ERRORS)), None)
            number, reason = (_ERRNO.get(found[1]), found[2].replace('\\"', '"')) if found else (None, text)
            raise OSError(number or errno.EIO, reason or text, path) from error


class HdfsClients:
    """The client of a name node or a name service, and the next one when it was given up.

    :param without: why libhdfs is not used.
    """

    def __init__(self, root: str, without: str) -> None:
        self._root = root
        self._without = without
        self._current: HdfsClient | None = None
        self._coming: HdfsClient | None = None  # it has not answered yet

    def current(self) -> HdfsClient:
        """
        :raises ConfigurationError: there can be none.
        :raises StorageUnavailableError: HDFS does not answer.
        """
        client = self._current
        if client is None or client.given_up:
            client = self._current = self._connected()
        return client

    def _connected(self) -> HdfsClient:
        client = self._coming
        if client is None or not client.may_answer:
            # As rarely as may be: each that is never answered keeps its threads.
            client = self._coming = HdfsClient(_raw_client(self._root, self._without), self._root)
        client.await_first_answer()
        self._coming = None
        return client


def _raw_client(root: str, without: str) -> Any:
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
        return Client(root.rstrip("/") if not root.endswith(":///") else None)
    except Exception as error:
        raise ConfigurationError(
            f"{root} cannot be opened.",
            detail=str(error),
            hint="HADOOP_CONF_DIR must name the directory of core-site.xml and hdfs-site.xml, unless an "
            "address has a port (hdfs://namenode:8020)",
        ) from error
