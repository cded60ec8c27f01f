"""What no JVM could take in one piece is refused: where it would cross an exchange, or leave a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy
import pytest

from firesteel.common.errors import JobExecutionError, RecordTooLargeError
from firesteel.common.types import Row
from firesteel.connectors import CommitRequest, Committer, CommitterContext, Sink, SinkWriter, WriterContext
from firesteel.runtime import routers
from firesteel.runtime.sizes import rough_size

from .support import collect, environment

LIMIT = {"firesteel.exchange.max-record-size": "1 mb", "restart-strategy.type": "none"}


def sized(value: int) -> tuple[str, bytes]:
    return f"key {value}", bytes(2_000_000 if value == 7 else 900_000 if value == 5 else 10)


def size(record: tuple[str, bytes]) -> int:
    return len(record[1])


def test_a_record_above_the_limit_is_refused_with_operator_key_and_size() -> None:
    stream = environment(2, **LIMIT).from_collection(range(10)).map(sized).name("makes it")
    with pytest.raises(JobExecutionError) as failure:
        collect(stream.key_by(lambda v: v[0]).map(size))
    assert failure.value.operator == "makes it"
    assert isinstance(failure.value.__cause__, RecordTooLargeError)
    text = str(failure.value)
    assert "2,000," in text
    assert "'key 7'" in text
    assert "firesteel.exchange.max-record-size" in text
    assert len(text) < 10_000, "the record itself is not shown"


def test_a_record_without_a_key_is_shown_by_its_beginning() -> None:
    stream = environment(2, **LIMIT).from_collection(range(10)).map(sized).rebalance()
    with pytest.raises(JobExecutionError, match=r"a tuple; it begins \('key 7', b'\\x00"):
        collect(stream.map(size))


def test_what_is_below_the_limit_passes_among_others() -> None:
    numbers = [v for v in range(10) if v != 7]
    stream = environment(2, **LIMIT).from_collection(numbers).map(sized).key_by(lambda v: v[0])
    assert sorted(collect(stream.map(size))) == [10] * 8 + [900_000]


def test_a_record_that_stays_in_its_task_may_have_any_size() -> None:
    def bare(value: Any) -> Any:
        return value

    stream = environment(2, **LIMIT).from_collection(range(10)).map(sized).map(bare).map(size)
    assert 2_000_000 in collect(stream)


@pytest.mark.parametrize("with_mark", [False, True])
def test_many_large_records_are_never_encoded_in_one_piece(
    monkeypatch: pytest.MonkeyPatch, with_mark: bool
) -> None:
    """A worker holds a record once, however many stand for it; encoded, each of them takes its size."""
    encoded: list[int] = []
    encode = routers.encode_batch

    def watched(values: list[Any], *rest: Any) -> bytes:
        encoded.append(len(values))
        return encode(values, *rest)

    monkeypatch.setattr(routers, "encode_batch", watched)
    large = bytes(1 << 20)
    stream = environment(1).from_collection(range(100 if with_mark else 600))
    stream = stream.flat_map(lambda n: [(n % 2, large)] * (5 if n == 7 and with_mark else 1))
    assert collect(stream.key_by(lambda v: v[0]).map(size).filter(lambda n: n != 1 << 20)) == []
    assert sum(encoded) >= 100
    assert max(encoded) <= 8


def test_what_many_small_records_take_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[int] = []
    encode = routers.encode_batch
    monkeypatch.setattr(
        routers, "encode_batch", lambda values, *rest: encoded.append(len(values)) or encode(values, *rest)
    )
    collect(environment(1).from_collection(range(5000)).key_by(lambda n: n % 2).map(lambda n: n))
    assert max(encoded) > 500


@dataclass
class Holder:
    data: bytes


class Pair(NamedTuple):
    one: int
    two: str


@pytest.mark.parametrize(
    "value",
    [
        *(b"x" * 10_000, "x" * 10_000, (1, b"x" * 10_000), ["x" * 10_000], {"a": b"x" * 10_000}),
        *(Row(1, "x" * 10_000), Holder(b"x" * 10_000), Pair(1, "x" * 10_000), numpy.zeros(10_000, "i1")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_size_of_a_record_is_guessed(value: Any) -> None:
    assert 10_000 <= rough_size(value) < 11_000


def test_a_guess_is_cheap_and_needs_nothing_of_the_users() -> None:
    class Own:
        __slots__ = ()

        def __len__(self) -> int:
            raise AssertionError

        def __sizeof__(self) -> int:
            raise TypeError

    loop: list[Any] = []
    loop.append(loop)
    assert all(rough_size(value) < 200 for value in (7, None, 1.5, Own(), (Own(),), loop))
    assert rough_size(("x" * 951,) * 1_000_000) < 32 * 1000 + 8_000_100


@dataclass(frozen=True)
class LargeSink(Sink):
    bytes_of_a_committable: int

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return LargeWriter(self.bytes_of_a_committable)

    def create_committer(self, context: CommitterContext) -> Committer:
        return NoCommitter()


class LargeWriter(SinkWriter):
    def __init__(self, size: int) -> None:
        self._size = size

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None: ...

    def prepare_commit(self) -> list[Any]:
        return [b"small", bytes(self._size)]


class NoCommitter(Committer):
    def commit(self, requests: Sequence[CommitRequest]) -> None: ...


def test_a_committable_above_the_limit_is_refused_with_its_sink() -> None:
    env = environment(1, **LIMIT)
    env.from_collection(range(10)).sink_to(LargeSink(2_000_000)).name("stages it")
    with pytest.raises(JobExecutionError) as failure:
        env.execute()
    assert failure.value.operator == "Sink: stages it"
    assert isinstance(failure.value.__cause__, RecordTooLargeError)
    text = str(failure.value)
    assert "the largest part has 2,000," in text
    assert "a committable, b'\\x00" in text
    assert "firesteel.exchange.max-record-size" in text
    assert len(text) < 10_000
    env = environment(1, **LIMIT)
    env.from_collection(range(10)).sink_to(LargeSink(900_000))
    env.execute()
