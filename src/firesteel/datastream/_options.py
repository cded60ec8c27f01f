"""The configuration keys that the environment and its checkpoint settings write and read: Flink's."""

from __future__ import annotations

import os
from enum import Enum
from typing import Final, TypeVar

from firesteel.common.configuration import Configuration

PARALLELISM: Final = "parallelism.default"
MAX_PARALLELISM: Final = "pipeline.max-parallelism"
RUNTIME_MODE: Final = "execution.runtime-mode"
BUFFER_TIMEOUT: Final = "execution.buffer-timeout.interval"
BUFFER_TIMEOUT_ENABLED: Final = "execution.buffer-timeout.enabled"
CHAINING: Final = "pipeline.operator-chaining.enabled"
CHAINING_MAX_PARALLELISM: Final = "pipeline.operator-chaining.chain-operators-with-different-max-parallelism"
JOB_NAME: Final = "pipeline.name"
CACHED_FILES: Final = "pipeline.cached-files"
CHANGELOG: Final = "state.changelog.enabled"
STATE_BACKEND: Final = "state.backend.type"
ROCKSDB_MEMORY: Final = "state.backend.rocksdb.memory.fixed-per-slot"
ROCKSDB_DIRECTORIES: Final = "state.backend.rocksdb.localdir"
ROCKSDB_PREDEFINED: Final = "state.backend.rocksdb.predefined-options"
ROCKSDB_TRANSFER_THREADS: Final = "state.backend.rocksdb.checkpoint.transfer.thread.num"
INCREMENTAL: Final = "execution.checkpointing.incremental"
CHECKPOINT_STORAGE: Final = "execution.checkpointing.storage"
CHECKPOINT_DIR: Final = "execution.checkpointing.dir"
SAVEPOINT_DIR: Final = "execution.checkpointing.savepoint-dir"
PYTHON_FILES: Final = "python.files"
PYTHON_ARCHIVES: Final = "python.archives"
PYTHON_REQUIREMENTS: Final = "python.requirements"
PYTHON_EXECUTABLE: Final = "python.executable"
PYTHON_CHAINING: Final = (
    "python.operator-chaining.enabled"  # false: declared types hold between functions too
)
PYTHON_STATE_CACHE: Final = "python.state.cache-size"  # 0: declared types hold for what state gives back
RESTART_STRATEGY: Final = "restart-strategy.type"
MAX_RECORD_SIZE: Final = "firesteel.exchange.max-record-size"  # ours: of one record, serialised
MAX_RECORD_BYTES: Final = 64 << 20  # its default: a JVM with Spark's default of 1 GB takes that

_E = TypeVar("_E", bound=Enum)


def directories(configuration: Configuration, key: str) -> list[str]:
    """The directories that an option lists as Flink does: by commas or as in PATH."""
    listed = configuration.get_string(key, "").replace(os.pathsep, ",").split(",")
    return [path.strip() for path in listed if path.strip()]


def get_member(configuration: Configuration, key: str, default: _E) -> _E:
    """The member of an enum that an option names."""
    words = dict(type(default).__members__)
    words |= {name.replace("_", "-"): member for name, member in words.items()}
    return words[configuration.get_enum(key, default.name, words)]
