"""The lease in a real ZooKeeper."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient

from firesteel.jobmanager.leadership import Candidate, Lease, LeaseUnavailableError
from firesteel.jobmanager.leadership.zookeeper import ZooKeeperLease, flink_connection_info
from tests.servers.zookeeper.server import ZooKeeperServer
from tests.waiting import until

LEASE_S = 3_600  # none runs out while a machine stands still


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    found = ZooKeeperServer(tmp_path_factory.mktemp("zookeeper")).start()
    try:
        yield found
    finally:
        found.stop()


def lease_at(server: ZooKeeperServer, cluster: str, timeout_s: float = 60) -> ZooKeeperLease:
    return ZooKeeperLease(server.address, "/flink", cluster, timeout_s)


@pytest.mark.row("S-LIB-06")
def test_two_candidates(server: ZooKeeperServer) -> None:
    first = Candidate(lease_at(server, "/two"), "a", "http://a:1", LEASE_S)
    second = Candidate(lease_at(server, "/two"), "b", "http://b:1", LEASE_S)
    first.step()
    second.step()
    assert (first.confirm(), second.is_leader) == (1, False)
    assert second.leader is not None
    assert second.leader.address == "http://a:1"
    first.give_up()
    second.step()
    assert second.confirm() == 2
    for candidate in (first, second):
        candidate.store.close()


@pytest.mark.row("S-HA-05")
def test_it_keeps_who_leads_and_nothing_of_jobs(server: ZooKeeperServer) -> None:
    """All that a leader writes there, and what clients of Flink read: jobs and their state are files."""
    candidate = Candidate(lease_at(server, "small"), "a", "http://a:1", LEASE_S)
    candidate.step()
    client = KazooClient(server.address)
    client.start()
    try:
        stored = stored_below(client, "/flink/small")
    finally:
        client.stop()
        client.close()
        candidate.store.close()
    assert 2 <= len([path for path, data in stored.items() if data]) <= 3, stored.keys()
    assert sum(map(len, stored.values())) < 1000


def stored_below(client: KazooClient, path: str) -> dict[str, bytes]:
    found = {path: client.get(path)[0]}
    for child in client.get_children(path):
        found |= stored_below(client, f"{path}/{child}")
    return found


@pytest.mark.row("S-HA-10", "S-LIB-06")
def test_of_two_that_replace_one_version_one_succeeds(server: ZooKeeperServer) -> None:
    one, other = lease_at(server, "cas"), lease_at(server, "cas")
    _, missing = one.read()
    assert one.replace(Lease("a", "", 1, 0), missing)
    assert not other.replace(Lease("b", "", 1, 0), missing)
    _, version = other.read()
    assert other.replace(Lease("b", "", 2, 0), version)
    assert not one.replace(Lease("a", "", 1, 1), version)
    one.close()
    other.close()


def test_a_server_that_hangs_or_dies_is_unavailable_and_is_found_again(server: ZooKeeperServer) -> None:
    store = lease_at(server, "away", timeout_s=3)
    candidate = Candidate(store, "a", "http://a", LEASE_S)
    candidate.step()
    server.pause()
    with pytest.raises(LeaseUnavailableError, match="does not answer"):
        store.read()
    assert candidate.confirm() == 1  # a disconnection alone ends nothing
    server.resume()

    def answers() -> bool:
        try:
            return store.read()[0] is not None
        except LeaseUnavailableError:
            return False

    until(answers, "it is not found again")
    server.stop()
    with pytest.raises(LeaseUnavailableError, match="does not answer"):
        store.read()
    server.start()
    until(answers, "it is not found after its restart")
    candidate.step()
    assert candidate.confirm() == 1
    store.close()


def test_a_server_that_is_not_there_is_said_not_to_answer() -> None:
    store = ZooKeeperLease("127.0.0.1:1", "/flink", "none", 0.5)
    with pytest.raises(LeaseUnavailableError, match="does not answer"):
        store.read()
    store.close()


# Written by Java's ObjectOutputStream: writeUTF of the address, writeObject of the UUID.
_WRITTEN_BY_JAVA = (
    "aced000577170015687474703a2f2f3132372e302e302e313a383038317372000e6a6176612e7574696c2e5555"
    "4944bc9903f7986d852f0200024a000c6c65617374536967426974734a000b6d6f737453696742697473787078"
    "695a4b3c2d1e0ff0e1d2c3b4a59687"
)


def test_the_address_is_written_as_java_writes_it() -> None:
    session = uuid.UUID("f0e1d2c3-b4a5-9687-7869-5a4b3c2d1e0f")
    assert flink_connection_info("http://127.0.0.1:8081", session).hex() == _WRITTEN_BY_JAVA
