"""Where checkpoints are kept."""

from __future__ import annotations

from typing import NoReturn

from firesteel.common._no_effect import tell_no_effect
from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.program.checks import require_int, require_text

__all__ = [
    "CheckpointStorage",
    "CustomCheckpointStorage",
    "FileSystemCheckpointStorage",
    "JobManagerCheckpointStorage",
]


class CheckpointStorage:
    """Base of all checkpoint storages (Flink: ``CheckpointStorage``)."""


class JobManagerCheckpointStorage(CheckpointStorage):
    """Checkpoints in the job manager, for tests: they end with it. Path and size (in bytes) have no effect,
    and a warning says so."""

    DEFAULT_MAX_STATE_SIZE = 5 * 1024 * 1024

    def __init__(self, checkpoint_path: str | None = None, max_state_size: int | None = None) -> None:
        if checkpoint_path is not None:
            tell_no_effect(
                "checkpoint_path of JobManagerCheckpointStorage", "checkpoints end with the process"
            )
        if max_state_size is not None:
            tell_no_effect("max_state_size", "the size of state in memory has no limit of its own")
        self._path = checkpoint_path
        size = self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size
        self._max_state_size = require_int(size, "largest state size", 1)

    def get_checkpoint_path(self) -> str | None:
        return self._path

    def get_max_state_size(self) -> int:
        return self._max_state_size

    def get_savepoint_path(self) -> str | None:
        return None

    def __str__(self) -> str:
        return f"JobManagerCheckpointStorage(max state size {self._max_state_size})"


class FileSystemCheckpointStorage(CheckpointStorage):
    """Checkpoints as files below a directory, local or of a file system that driver and workers reach.

    :param checkpoint_path: the directory as a URI, such as ``file:///var/checkpoints`` or ``s3://bucket/dir``.
    :param file_state_size_threshold: has no effect, as ``write_buffer_size``; a warning says so.
    """

    MAX_FILE_STATE_THRESHOLD = 1024 * 1024
    _DEFAULT_THRESHOLD = 20 * 1024

    def __init__(
        self,
        checkpoint_path: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        path = require_text(checkpoint_path, "checkpoint path")
        if ":" not in path.split("/", 1)[0]:
            raise ProgramError(
                "The checkpoint path has no scheme.",
                detail=f"got {path!r}",
                hint=f"write file://{path} for a local directory" if path.startswith("/") else None,
            )
        threshold = (
            self._DEFAULT_THRESHOLD if file_state_size_threshold in (None, -1) else file_state_size_threshold
        )
        shorter = path.rstrip("/")
        self._path = path if shorter.endswith(":") else shorter  # "file:///" is the root
        self._threshold = require_int(threshold, "file size threshold", 0, self.MAX_FILE_STATE_THRESHOLD)
        buffer = require_int(write_buffer_size, "write buffer size", -1)
        if self._threshold != self._DEFAULT_THRESHOLD:
            tell_no_effect("file_state_size_threshold", "small changes of all subtasks share one file")
        if buffer >= 0:
            tell_no_effect("write_buffer_size", "a state file is written at once")
        self._buffer = max(4096, self._threshold) if buffer < 0 else buffer

    def get_checkpoint_path(self) -> str:
        return self._path

    def get_savepoint_path(self) -> str | None:
        return None

    def get_min_file_size_threshold(self) -> int:
        return self._threshold

    def get_write_buffer_size(self) -> int:
        return self._buffer

    def __str__(self) -> str:
        return f"FileSystemCheckpointStorage({self._path})"


class CustomCheckpointStorage(CheckpointStorage):
    """Flink's storages that are written in Java; there is no JVM of Flink here."""

    def __init__(self, *args: object) -> None:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise UnsupportedFeatureError(
            "A checkpoint storage written in Java cannot be used.",
            hint="use FileSystemCheckpointStorage with a URI that all hosts reach",
        )
