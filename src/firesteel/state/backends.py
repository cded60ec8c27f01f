"""The state backends by their Flink names: what each option of theirs does here.

One kind of store stands behind all of them (``backend.py``): sorted files that checkpoints refer to, read in
place, and dictionaries in the worker processes in front. They differ in how much of the state a process may
hold, and in whether a local store takes in what is small and often read. So each restores what another has
written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import lmdb

from firesteel.common.config_options import ConfigOption
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.memory_budget import managed_state
from firesteel.common.options import firesteel as own, python, state
from firesteel.state._core import StateLimits
from firesteel.state._overlay import RECENT_BYTES
from firesteel.state.backend import LARGEST_STORED_BYTES
from firesteel.state.manifest import FORMAT_VERSION

#: The part of the memory of the caches that the newest deltas may take beside them.
_RECENT_SHARE: Final = 4


@dataclass(frozen=True, slots=True)
class Backend:
    """:param cache_bytes: approximately how much memory of a process the state of one subtask may use.
    :param memory_option: Flink's option for it.
    :param directory_option: Flink's option for the location of the local store.
    :param local_store: whether there is one.
    :param ample_bytes: the size of a job's state above which another backend suits it better; None: never.
    """

    name: str
    flink_class: str
    cache_bytes: int
    memory_option: ConfigOption[int | None] | None
    directory_option: ConfigOption[list[str]] | None
    local_store: bool
    ample_bytes: int | None
    suits: str

    @property
    def stores(self) -> tuple[str, ...]:
        """What really keeps the state, whatever the backend is called."""
        runs = f"sorted runs of Firesteel, format {FORMAT_VERSION}"
        return (runs, "LMDB {}.{}.{}".format(*lmdb.version())) if self.local_store else (runs,)


BACKENDS: Final = {
    backend.name: backend
    for backend in (
        Backend(
            name="hashmap",
            flink_class="HashMapStateBackend",
            cache_bytes=512 << 20,
            memory_option=None,
            directory_option=None,
            local_store=False,
            ample_bytes=100 << 20,
            suits="state that fits into the memory of the workers",
        ),
        Backend(
            name="rocksdb",
            flink_class="EmbeddedRocksDBStateBackend",
            cache_bytes=128 << 20,
            memory_option=state.ROCKSDB_MEMORY,
            directory_option=state.ROCKSDB_DIRECTORIES,
            local_store=True,
            ample_bytes=None,
            suits="state that is larger than memory",
        ),
    )
}
DEFAULT: Final = BACKENDS["hashmap"]  # as in Flink
#: Names of Flink 1: where the state of a running job is and where checkpoints go were one choice then.
_OLD_NAMES: Final = {"memory": "hashmap", "jobmanager": "hashmap", "filesystem": "hashmap"}


def backend_of(configuration: Configuration) -> Backend:
    """The backend that is chosen; ConfigurationError when there is none of that name."""
    name = configuration.get(state.BACKEND)
    found = BACKENDS.get(_OLD_NAMES.get(name, name))
    if found is None:
        raise ConfigurationError(
            f"There is no state backend {name!r}",
            detail=f"{state.BACKEND.key} is {name}",
            hint="the backends are: " + ", ".join(BACKENDS),
        )
    return found


def state_limits(configuration: Configuration, *, batch: bool) -> StateLimits:
    """How the state of each subtask works."""
    backend = backend_of(configuration)
    memory, managed = backend.cache_bytes, None
    if backend.memory_option is not None:
        asked = configuration.get(backend.memory_option)
        managed = managed_state(configuration) if asked is None else None
        memory = memory if asked is None else asked
    return StateLimits(
        cache_bytes=memory,
        recent_bytes=min(RECENT_BYTES, memory // _RECENT_SHARE),
        managed=managed,
        local_store=backend.local_store,
        typed_values=configuration.get(python.STATE_CACHE) <= 0,
        batch=batch,
    )


def local_directory(configuration: Configuration) -> str | None:
    """Where the backend's options say that local stores lie; None: they say nothing."""
    option = backend_of(configuration).directory_option
    found = configuration.get(option) if option is not None else []
    return found[0] if found else None


def notices(configuration: Configuration) -> list[str]:
    """One sentence for each option of a backend that has no effect on the one that is chosen."""
    backend = backend_of(configuration)
    name = configuration.get(state.BACKEND)
    found = [f"{state.BACKEND.key} {name} is an old name of {backend.name}"] if name in _OLD_NAMES else []
    for other in BACKENDS.values():
        for unused in _options_of(other):
            if unused not in _options_of(backend) and configuration.contains(unused):
                found.append(f"{unused.key} has no effect: the state backend is {backend.name}")
    option = backend.directory_option
    if option is not None and len(configuration.get(option)) > 1:
        found.append(f"{option.key}: only the first directory is used, all others have no effect")
    return found


def _options_of(backend: Backend) -> list[ConfigOption[Any]]:
    return [option for option in (backend.memory_option, backend.directory_option) if option is not None]


# ---- what the documentation says about them


def _mib(backend: Backend) -> str:
    option = f", `{backend.memory_option.key}`" if backend.memory_option is not None else ""
    return f"{backend.cache_bytes >> 20} MiB{option}"


def _local_files(backend: Backend) -> str:
    if not backend.local_store:
        return "none"
    assert backend.directory_option is not None
    where = f"`{backend.directory_option.key}`, `{own.LOCAL_DIR.key}`"
    return f"a store of what has changed, where entries have up to {LARGEST_STORED_BYTES} bytes ({where})"


_CAPABILITIES: Final[dict[str, Callable[[Backend], str]]] = {
    "Flink's class": lambda backend: f"`{backend.flink_class}`",
    "suits": lambda backend: backend.suits,
    "memory of a process for each subtask": _mib,
    "when the state is larger": lambda _: "the rest is read from the state files",
    "on local disk": _local_files,
    "checkpoints": lambda _: "incremental, always",
    "snapshot format": lambda _: f"version {FORMAT_VERSION}, the same for all: each restores each",
}


def capability_table() -> str:
    """What each backend can do, as a table in Markdown."""
    rows = [("", *(f"`{name}`" for name in BACKENDS)), tuple("---" for _ in range(len(BACKENDS) + 1))]
    rows += [(name, *map(of, BACKENDS.values())) for name, of in _CAPABILITIES.items()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
