"""Where the state of a running job is kept."""

from __future__ import annotations

import os
from enum import Enum
from typing import Final
from urllib.parse import unquote, urlsplit

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.common.logs import logger
from firesteel.common.options import checkpointing, state
from firesteel.program.checks import WrongArgumentError, require_int, require_text

__all__ = [
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "HashMapStateBackend",
    "PredefinedOptions",
    "StateBackend",
]


_log = logger(__name__)

_TRANSFER_THREADS: Final = 4  # Flink's default


class StateBackend:
    """Base of all state backends (Flink: ``StateBackend``).

    Behind Flink's two names stands one kind of store; they differ in how much of the state a worker holds in
    memory (``firesteel.state.backends``). Checkpoints of either are incremental, and each restores what the
    other has written.
    """

    def settings(self) -> dict[str, str]:
        """The choice as Flink's options."""
        raise NotImplementedError


class HashMapStateBackend(StateBackend):
    """Flink's backend for state that fits into memory."""

    def settings(self) -> dict[str, str]:
        return {state.BACKEND.key: "hashmap"}

    def __str__(self) -> str:
        return "HashMapStateBackend"


class PredefinedOptions(Enum):
    """Flink's option sets for RocksDB."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class EmbeddedRocksDBStateBackend(StateBackend):
    """Flink's backend for state that is larger than memory.

    What tunes RocksDB itself is kept and given back; there is no RocksDB that it could tune, and when the job
    begins a warning says so.
    """

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        if enable_incremental_checkpointing not in (None, True, False):
            raise WrongArgumentError(
                "enable_incremental_checkpointing is True, False or None.",
                detail=f"got {enable_incremental_checkpointing!r}",
            )
        self._incremental = enable_incremental_checkpointing
        self._paths: list[str] | None = None
        self._predefined = PredefinedOptions.DEFAULT
        self._transfer_threads = _TRANSFER_THREADS

    def set_db_storage_paths(self, *paths: str) -> None:
        """Directories for local state, as paths or as ``file:`` URIs; without any the default is used."""
        self._paths = [_local_path(path) for path in paths] or None

    def get_db_storage_paths(self) -> list[str] | None:
        return None if self._paths is None else list(self._paths)

    def is_incremental_checkpoints_enabled(self) -> bool:
        return bool(self._incremental)

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        self._predefined = PredefinedOptions(options)

    def get_predefined_options(self) -> PredefinedOptions:
        return self._predefined

    def set_options(self, options_factory_class_name: str) -> None:
        raise UnsupportedFeatureError(
            "RocksDB options cannot be set by a Java class.",
            detail=f"got {options_factory_class_name!r}",
            hint="leave it out: state is not kept in RocksDB",
        )

    def get_options(self) -> str | None:
        """The Java class of the options: there is none."""
        return None

    def get_number_of_transfer_threads(self) -> int:
        return self._transfer_threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        self._transfer_threads = require_int(number_of_transfering_threads, "number of transfer threads", 1)

    def settings(self) -> dict[str, str]:
        chosen = {
            state.BACKEND.key: "rocksdb",
            checkpointing.INCREMENTAL.key: str(bool(self._incremental)).lower(),
        }
        if self._paths is not None:
            chosen[state.ROCKSDB_DIRECTORIES.key] = ",".join(self._paths)
        if self._predefined is not PredefinedOptions.DEFAULT:
            chosen[state.ROCKSDB_PREDEFINED.key] = self._predefined.name
        if self._transfer_threads != _TRANSFER_THREADS:
            chosen[state.ROCKSDB_TRANSFER_THREADS.key] = str(self._transfer_threads)
        return chosen

    @classmethod
    def from_settings(cls, configuration: Configuration) -> EmbeddedRocksDBStateBackend:
        """The backend that the options describe."""
        incremental = None
        if configuration.contains(checkpointing.INCREMENTAL):
            incremental = configuration.get(checkpointing.INCREMENTAL)
        backend = cls(incremental)
        backend.set_db_storage_paths(*configuration.get(state.ROCKSDB_DIRECTORIES))
        backend.set_predefined_options(configuration.get_member(state.ROCKSDB_PREDEFINED, PredefinedOptions))
        backend.set_number_of_transfer_threads(configuration.get(state.ROCKSDB_TRANSFER_THREADS))
        return backend

    def __str__(self) -> str:
        return "EmbeddedRocksDBStateBackend"


def _local_path(path: str) -> str:
    """The directory that a storage path names: the option for it takes paths, with colons between them."""
    require_text(path, "storage path")
    if ":/" in path:
        uri = urlsplit(path)
        if uri.scheme != "file":
            raise ProgramError(
                "Local state lies on the disk of the host.",
                detail=f"the storage path is {path!r}",
                hint="give a path, or a URI that begins with file:/",
            )
        if uri.netloc not in ("", "localhost"):
            _log.warning("%r of the storage path %s has no effect: it stands for a host", uri.netloc, path)
        path = unquote(uri.path) or "/"
    return os.path.normpath(path)


class CustomStateBackend(StateBackend):
    """Flink's backends that are written in Java; there is no JVM of Flink here."""

    def __init__(self, *args: object) -> None:
        raise UnsupportedFeatureError(
            "A state backend written in Java cannot be used.",
            hint="use HashMapStateBackend or EmbeddedRocksDBStateBackend",
        )
