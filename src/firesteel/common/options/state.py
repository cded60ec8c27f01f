"""Options of state and its backends."""

from __future__ import annotations

from typing import Final

from firesteel.common.options._declare import boolean, integer, memory, paths, text, word

_PREFIX: Final = "state.backend.rocksdb."
_NO_ROCKSDB: Final = "state is not kept in RocksDB"

BACKEND: Final = text(
    "state.backend.type",
    "hashmap",
    "`hashmap` or `rocksdb`: how much of the state is kept in memory (see [state](state.md)).",
    older_names=("state.backend",),
)
ROCKSDB_MEMORY: Final = memory(
    _PREFIX + "memory.fixed-per-slot",
    None,
    "The memory that the state of one subtask may take, for the backend rocksdb; 128 MiB without it.",
)
ROCKSDB_DIRECTORIES: Final = paths(
    _PREFIX + "localdir",
    "Where the local store lies, for the backend rocksdb. Of several directories the first is used.",
)
ROCKSDB_PREDEFINED: Final = word(
    _PREFIX + "predefined-options",
    "DEFAULT",
    ("DEFAULT", "SPINNING_DISK_OPTIMIZED", "SPINNING_DISK_OPTIMIZED_HIGH_MEM", "FLASH_SSD_OPTIMIZED"),
    "Flink: how RocksDB is tuned.",
    no_effect=_NO_ROCKSDB,
)
ROCKSDB_TRANSFER_THREADS: Final = integer(
    _PREFIX + "checkpoint.transfer.thread.num",
    4,
    "Flink: how many threads copy files of RocksDB.",
    no_effect=_NO_ROCKSDB,
)
CHANGELOG: Final = boolean(
    "state.changelog.enabled",
    False,
    "Flink: write changes of state as a log.",
    older_names=("state.backend.changelog.enabled",),
    no_effect="the changes of each epoch are always written as a log",
)
