"""The state backends: what each name and option does, and what has no effect (BACK)."""

from __future__ import annotations

import pytest

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.options import state as keys
from firesteel.common.options.checks import notices as key_notices
from firesteel.datastream.state_backend import EmbeddedRocksDBStateBackend, PredefinedOptions
from firesteel.state.backends import (
    BACKENDS,
    backend_of,
    capability_table,
    local_directory,
    notices,
    state_limits,
)


def configured(**options: str) -> Configuration:
    return Configuration.from_dict({getattr(keys, name).key: value for name, value in options.items()})


@pytest.mark.parametrize(
    ("chosen", "backend"),
    [(None, "hashmap"), ("hashmap", "hashmap"), ("rocksdb", "rocksdb"), ("filesystem", "hashmap")],
)
@pytest.mark.row("S-BACK-03", "S-BACK-04", "S-CFG-03")
def test_names(chosen: str | None, backend: str) -> None:
    configuration = Configuration() if chosen is None else configured(BACKEND=chosen)
    assert backend_of(configuration) is BACKENDS[backend]
    assert [n for n in notices(configuration) if "old name" in n] == (
        ["state.backend.type filesystem is an old name of hashmap"] if chosen == "filesystem" else []
    )


@pytest.mark.row("S-BACK-08")
def test_a_name_that_there_is_not() -> None:
    with pytest.raises(ConfigurationError, match="hashmap, rocksdb"):
        backend_of(configured(BACKEND="forst"))


@pytest.mark.row("S-BACK-20")
def test_the_memory_of_rocksdb_is_that_of_its_cache() -> None:
    chosen = configured(BACKEND="rocksdb", ROCKSDB_MEMORY="20 mb")
    limits = state_limits(chosen, batch=False)
    assert limits.cache_bytes == 20 << 20
    assert limits.fitted(1000).cache_entries < limits.fitted(10).cache_entries <= 20 * (1 << 20) // 150
    assert notices(chosen) == []
    assert state_limits(configured(BACKEND="rocksdb"), batch=False).cache_bytes == 128 << 20


@pytest.mark.row("S-BACK-10", "S-BACK-06", "S-BACK-07")
def test_hashmap_has_nothing_on_local_disk() -> None:
    assert not state_limits(configured(BACKEND="hashmap"), batch=False).local_store
    assert state_limits(configured(BACKEND="rocksdb"), batch=False).local_store


@pytest.mark.row("S-BACK-19")
def test_options_of_the_class_become_options_of_the_job() -> None:
    backend = EmbeddedRocksDBStateBackend(True)
    backend.set_db_storage_paths("/one", "/two")
    backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    backend.set_number_of_transfer_threads(7)
    configuration = Configuration.from_dict(backend.settings())
    assert local_directory(configuration) == "/one"
    said = notices(configuration) + key_notices(configuration)
    assert all("no effect" in text for text in said)
    for option in (keys.ROCKSDB_TRANSFER_THREADS, keys.ROCKSDB_PREDEFINED, keys.ROCKSDB_DIRECTORIES):
        assert sum(option.key in text for text in said) == 1, option.key
    again = EmbeddedRocksDBStateBackend.from_settings(configuration)
    assert again.settings() == backend.settings()


@pytest.mark.row("S-BACK-19")
def test_an_option_of_the_other_backend_is_said_to_have_no_effect() -> None:
    said = notices(configured(BACKEND="hashmap", ROCKSDB_MEMORY="1 gb", ROCKSDB_DIRECTORIES="/one"))
    assert said == [
        f"{option.key} has no effect: the state backend is hashmap"
        for option in (keys.ROCKSDB_MEMORY, keys.ROCKSDB_DIRECTORIES)
    ]
    assert local_directory(configured(ROCKSDB_DIRECTORIES="/one")) is None


def test_the_table_says_what_the_backends_do() -> None:
    lines = capability_table().splitlines()
    assert lines[0] == "|  | `hashmap` | `rocksdb` |"
    for backend in BACKENDS.values():
        column = [line.split(" | ")[1 + list(BACKENDS).index(backend.name)] for line in lines]
        assert any(f"{backend.cache_bytes >> 20} MiB" in cell for cell in column)
        assert any(cell.startswith("a store") for cell in column) == backend.local_store
