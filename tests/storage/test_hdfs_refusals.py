"""``hdfs://`` without a client, without an address, and with one at which nobody answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from firesteel.common.errors import ConfigurationError, StorageError
from firesteel.storage import hdfs_client
from firesteel.storage.filesystems import _arrow_root, resolve


@pytest.fixture(autouse=True)
def no_hadoop(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("HADOOP_CONF_DIR", "HADOOP_HOME", "ARROW_LIBHDFS_DIR", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    _arrow_root.cache_clear()
    yield
    _arrow_root.cache_clear()


def refused(uri: str, kind: type[Exception]) -> str:
    storage, path = resolve(uri)
    with pytest.raises(kind) as error:
        storage.info(path)
    return str(error.value)


def test_without_a_client_both_ways_to_one_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    said = refused("hdfs://namenode:8020/x", ConfigurationError)
    assert "hdfs://namenode:8020 needs a client for HDFS" in said
    assert "hdfs-native" in said
    assert "ARROW_LIBHDFS_DIR" in said
    assert said.count("\n") <= 3, "not all places where pyarrow has looked"


def test_a_name_node_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdfs_client, "_PATIENCE_S", 1.0)
    said = refused("hdfs://127.0.0.1:1/x", StorageError)
    assert "The name node of hdfs://127.0.0.1:1 cannot be reached" in said
    assert "fs.defaultFS" in said


def test_no_default_file_system() -> None:
    assert "HADOOP_CONF_DIR must name" in refused("hdfs:///x", ConfigurationError)


def test_a_user_in_the_address() -> None:
    assert "HADOOP_USER_NAME" in refused("hdfs://anna@127.0.0.1:1/x", ConfigurationError)
