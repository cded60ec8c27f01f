from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import ConfigurationError, FiresteelError
from firesteel.connectors.base import ReadRange, Split, SplitEnumerator
from firesteel.connectors.socket.source import SocketTextSource
from firesteel.testing.connectors import chunks_of, read_split
from firesteel.testing.connectors._reading import BYTES, MANY, same, shipped
from tests.waiting import patience, until

from ..support import context


@contextmanager
def server(*sessions: Callable[[socket.socket], None]) -> Iterator[int]:
    """Serves one connection after the other, then closes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for session in sessions:
            connection, _ = listener.accept()
            with connection:
                session(connection)
        listener.close()

    port = listener.getsockname()[1]
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield port
    thread.join(timeout=patience(5))
    listener.close()


SPLIT = Split("socket")


def sends(*parts: bytes) -> Callable[[socket.socket], None]:
    def session(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)

    return session


def opened(source: SocketTextSource, tmp_path: Path) -> SplitEnumerator:
    enumerator = source.create_enumerator(context(tmp_path))
    enumerator.open()
    assert [split.id for split in enumerator.discover(0)] == [SPLIT.id]
    assert enumerator.finished
    return enumerator


def plan_until(enumerator: SplitEnumerator, position: Any, enough: Callable[[ReadRange], bool]) -> ReadRange:
    def planned() -> ReadRange | None:
        range_ = enumerator.plan(SPLIT, position, MANY, BYTES, 0)
        return range_ if range_ is not None and enough(range_) else None

    found = until(planned, "nothing arrived")
    assert found is not None
    return found


def final(range_: ReadRange) -> bool:
    return bool(range_.stop.final)


def test_all_of_a_connection(tmp_path: Path) -> None:
    with server(sends(b"a\r\nb\n\n", "é".encode()[:1], "é".encode()[1:] + b"\nlast")) as port:
        source = SocketTextSource("127.0.0.1", port)
        enumerator = opened(source, tmp_path)
        range_ = plan_until(enumerator, None, final)
        expected = ["a", "b", "", "é", "last"]
        assert read_split(source, SPLIT, stop=range_.stop)[0] == expected
        for limit in (1, 2, 7):
            values, positions = read_split(source, SPLIT, max_records=limit, stop=range_.stop)
            assert same(values, expected)
            for count, position in positions:
                assert read_split(source, SPLIT, position, stop=range_.stop)[0] == expected[count:]
        assert read_split(source, SPLIT, max_bytes=1, stop=range_.stop)[0] == expected
        enumerator.close()


def test_only_whole_records_are_read_before_the_end(tmp_path: Path) -> None:
    go_on = threading.Event()

    def session(connection: socket.socket) -> None:
        connection.sendall(b"one|two|thr")
        go_on.wait(patience(5))
        connection.sendall(b"ee|")

    with server(session) as port:
        source = SocketTextSource("127.0.0.1", port, "|")
        enumerator = opened(source, tmp_path)
        first = plan_until(enumerator, None, lambda r: True)
        (chunk,) = chunks_of(source, first)
        assert chunk.values == ["one", "two"]
        assert not chunk.end
        assert enumerator.plan(SPLIT, chunk.position, MANY, BYTES, 0) is None
        go_on.set()
        last = plan_until(enumerator, chunk.position, final)
        chunks = chunks_of(source, last)
        assert [v for c in chunks for v in c.values] == ["three"]
        assert chunks[-1].end
        assert [c.values for c in chunks_of(source, first)] == [["one", "two"]], "the first range again"
        enumerator.close()


def test_restore_reads_the_log_and_connects_again(tmp_path: Path) -> None:
    stay = threading.Event()

    def session(connection: socket.socket) -> None:
        connection.sendall(b"a\nb\n")
        stay.wait(patience(5))

    with server(session, sends(b"c\n")) as port:
        source = SocketTextSource("127.0.0.1", port)
        enumerator = opened(source, tmp_path)
        state = shipped(enumerator.snapshot())
        plan_until(enumerator, None, lambda r: True)  # logged after the snapshot
        enumerator.close()
        stay.set()
        restored = source.create_enumerator(context(tmp_path))
        restored.restore(state)
        restored.open()
        assert restored.discover(0) == []
        range_ = plan_until(restored, None, final)
        assert read_split(source, SPLIT, stop=range_.stop)[0] == ["a", "b", "c"]
        restored.close()


def test_reconnects(tmp_path: Path) -> None:
    with server(sends(b"a\n"), sends(b"b\n")) as port:
        source = SocketTextSource("127.0.0.1", port, max_retries=1, retry_interval_ms=1)
        enumerator = opened(source, tmp_path)
        range_ = plan_until(enumerator, None, final)
        assert read_split(source, SPLIT, stop=range_.stop)[0] == ["a", "b"]
        enumerator.close()


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with server() as port:
        pass
    with pytest.raises(FiresteelError, match="no connection"):
        opened(SocketTextSource("127.0.0.1", port), tmp_path)


def test_a_server_that_does_not_come_back(tmp_path: Path) -> None:
    with server(sends(b"a\n")) as port:
        enumerator = opened(SocketTextSource("127.0.0.1", port, max_retries=2, retry_interval_ms=1), tmp_path)
    with pytest.raises(FiresteelError, match="no connection"):
        plan_until(enumerator, None, final)
    enumerator.close()


@pytest.mark.parametrize("bad", [{"host": ""}, {"port": 0}, {"delimiter": ""}, {"max_retries": -2}])
def test_bad_options(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        SocketTextSource(**{"host": "h", "port": 1, **bad})
