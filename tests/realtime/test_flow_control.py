"""How far a task may be ahead of those that it sends to, and how much it takes at once."""

from __future__ import annotations

import pytest

from firesteel.runtime.flow_control import Pieces, Progress, SentWindow, Totals


class Receivers:
    """Process so many records a second, whatever there is; say so at every look."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.now_s = 100.0
        self.sent = 0
        self.received = 0.0

    def pass_time(self, seconds: float) -> None:
        self.now_s += seconds
        self.received = min(float(self.sent), self.received + self.rate * seconds)

    def said(self) -> list[Totals | None]:
        half = int(self.received) // 2  # two receivers; channel 9 is of another sender
        return [{7: half, 9: 1_000_000}, {7: int(self.received) - half}]


def run(rate: float, seconds: float) -> Receivers:
    receivers = Receivers(rate)
    window = SentWindow({7}, receivers.said, 0.02, lambda: receivers.now_s)
    for _ in range(int(seconds / 0.005)):
        receivers.sent += min(1_000_000, window.room(receivers.sent))
        receivers.pass_time(0.005)
    return receivers


@pytest.mark.parametrize("rate", [100.0, 2_000.0, 50_000.0, 400_000.0])
@pytest.mark.row("S-NET-06", "S-NET-07")
def test_what_is_on_the_way_is_processed_in_some_tenths_of_a_second(rate: float) -> None:
    receivers = run(rate, 20.0)
    on_the_way = receivers.sent - receivers.received
    assert on_the_way <= max(8, rate * 0.8)
    assert receivers.received >= 0.9 * rate * 20.0 - 0.5 * rate, "nobody had to wait for long"


def test_receivers_that_stand_still_get_a_few_records() -> None:
    receivers = run(0.0, 10.0)
    assert receivers.sent == 8


@pytest.mark.row("S-NET-08", "S-NET-09")
def test_receivers_that_become_slow_get_less() -> None:
    receivers = Receivers(50_000.0)
    window = SentWindow({7}, receivers.said, 0.02, lambda: receivers.now_s)
    for step in range(20_000):
        if step == 2_000:
            receivers.rate = 500.0
        receivers.sent += window.room(receivers.sent)
        receivers.pass_time(0.005)
    assert receivers.sent - receivers.received <= 400


def test_a_sender_that_had_nothing_to_send_is_not_taken_for_a_slow_receiver() -> None:
    receivers = Receivers(50_000.0)
    window = SentWindow({7}, receivers.said, 0.02, lambda: receivers.now_s)
    for _ in range(1_000):
        receivers.sent += window.room(receivers.sent)
        receivers.pass_time(0.005)
    before = receivers.received
    receivers.pass_time(60.0)
    for _ in range(1_000):
        receivers.sent += window.room(receivers.sent)
        receivers.pass_time(0.005)
    assert receivers.received - before >= 0.8 * 50_000 * 5


def test_pieces_are_as_long_as_they_should_be() -> None:
    pieces = Pieces()
    assert pieces.records == 1, "nothing is known of the first one"
    for wanted in (4, 16, 64, 256, 1_000, 1_000):
        pieces.worked(pieces.records, pieces.records * 1e-6)
        assert pieces.records == wanted
    pieces.worked(1_000, 1_000 * 0.005)
    assert pieces.records == 10
    pieces.worked(0, 5.0)
    assert pieces.records == 10


def test_records_behind_a_slow_one_come_one_by_one_for_a_while() -> None:
    """Though some that are quick are between them."""
    pieces = Pieces()
    pieces.worked(1, 1.0)
    for _ in range(20):
        assert pieces.records == 1
        pieces.worked(1, 1e-6)
    for _ in range(80):
        pieces.worked(pieces.records, pieces.records * 1e-6)
    assert pieces.records == 1_000


def test_the_first_records_come_one_by_one_however_quick_they_are() -> None:
    pieces = Pieces(most=10_000, singly=3)
    for _ in range(3):
        assert pieces.come_singly
        assert pieces.records == 1
        pieces.worked(1, 1e-9)
    assert not pieces.come_singly
    for wanted in (4, 16, 64):
        assert pieces.records == wanted
        pieces.worked(pieces.records, 1e-9)


def test_progress_is_said_now_and_then_and_in_the_end() -> None:
    said: list[int] = []
    now_s, received = 10.0, 0
    progress = Progress(lambda: {7: received}, lambda totals: said.append(totals[7]), 0.02, lambda: now_s)
    assert not progress.is_due()
    received = 5
    progress.made()
    assert not progress.is_due()
    received = 6
    progress.made()
    assert progress.is_due(), "there is something to say later"
    now_s = 10.03
    assert not progress.is_due()
    assert not progress.is_due()
    assert said == [5, 6]
