from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.jobmanager.leadership import Lease, LeaseUnavailableError
from firesteel.jobmanager.leadership.directory import DirectoryLease
from firesteel.jobmanager.leadership.stores import election_of, store_of


@pytest.mark.row("S-HA-10", "S-LIB-06")
def test_of_many_that_replace_one_version_one_succeeds(tmp_path: Path) -> None:
    won: list[int] = []
    place = str(tmp_path / "a" / "b")
    _, version = DirectoryLease(place).read()
    together = threading.Barrier(8)

    def replace(number: int) -> None:
        store = DirectoryLease(place)
        together.wait()
        if store.replace(Lease(str(number), "", 1, 0), version):
            won.append(number)

    threads = [threading.Thread(target=replace, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lease, _ = DirectoryLease(place).read()
    assert lease is not None
    assert [int(lease.holder)] == won
    assert oct((tmp_path / "a" / "b").stat().st_mode)[-3:] == "700"


def test_what_is_no_lease_is_said(tmp_path: Path) -> None:
    (tmp_path / "leader.json").write_text("{}")
    with pytest.raises(LeaseUnavailableError, match="is not a lease"):
        DirectoryLease(str(tmp_path)).read()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"high-availability.type": "directory"}, "needs high-availability.storageDir"),
        (
            {"high-availability.type": "directory", "high-availability.storageDir": "s3://bucket/ha"},
            "needs a file system with locks",
        ),
        (
            {"high-availability.type": "zookeeper", "high-availability.storageDir": "/tmp/ha"},
            "needs high-availability.zookeeper.quorum",
        ),
        (
            {
                "high-availability.type": "kubernetes",
                "high-availability.storageDir": "/tmp/ha",
                "high-availability.cluster-id": "my_cluster",
            },
            "cannot be that of an object of Kubernetes",
        ),
    ],
)
def test_settings_that_do_not_fit(settings: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        store_of(Configuration.from_dict(settings))


def test_without_high_availability_there_is_no_election() -> None:
    assert election_of(Configuration(), "http://a", print, print) is None


@pytest.mark.row("S-HA-12")
def test_zookeeper_needs_its_client_when_it_is_chosen_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("kazoo", "kazoo.client", "kazoo.exceptions", "kazoo.handlers.threading"):
        monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "firesteel.jobmanager.leadership.zookeeper", raising=False)
    assert election_of(Configuration(), "http://a", print, print) is None
    settings = {
        "high-availability.type": "zookeeper",
        "high-availability.storageDir": "/tmp/ha",
        "high-availability.zookeeper.quorum": "localhost:2181",
    }
    with pytest.raises(
        ConfigurationError, match=r"needs the package kazoo(.|\n)*hint: pip install"
    ) as raised:
        store_of(Configuration.from_dict(settings))
    assert "ZooKeeper" in str(raised.value)
