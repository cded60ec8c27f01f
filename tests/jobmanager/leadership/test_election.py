"""The rules of the election, on clocks that the tests move."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, strategies as st

from firesteel.common.clock import ManualClock
from firesteel.jobmanager.leadership import Candidate, Election, LeadershipLostError
from firesteel.jobmanager.leadership.lease import MemoryLease
from tests.waiting import patience

DURATION_S = 3.0


class Skewed:
    """A clock that goes at *rate* times the speed of another one."""

    def __init__(self, clock: ManualClock, rate: float) -> None:
        self._clock, self._rate = clock, rate

    def monotonic_s(self) -> float:
        return self._clock.monotonic_s() * self._rate

    def __getattr__(self, name: str) -> object:
        return getattr(self._clock, name)


def candidates(
    store: MemoryLease, clock: ManualClock, rates: tuple[float, ...] = (1.0, 1.0)
) -> list[Candidate]:
    return [
        Candidate(store, f"c{i}", f"http://c{i}", DURATION_S, Skewed(clock, rate))  # type: ignore[arg-type]
        for i, rate in enumerate(rates)
    ]


def advance(clock: ManualClock, seconds: float) -> None:
    clock.advance(round(seconds * 1000))


def test_the_first_leads_and_the_second_takes_over_when_it_is_silent() -> None:
    store, clock = MemoryLease(), ManualClock()
    first, second = candidates(store, clock)
    first.step()
    second.step()
    assert (first.confirm(), second.is_leader) == (1, False)
    assert second.leader is not None
    assert second.leader.address == "http://c0"
    advance(clock, 2)
    second.step()
    assert not second.is_leader
    advance(clock, 1.5)
    second.step()
    assert (second.confirm(), first.is_leader) == (2, False)
    with pytest.raises(LeadershipLostError, match="does not lead"):
        first.confirm()
    first.step()  # it finds out, and stands by
    assert first.token is None
    assert first.leader is not None
    assert first.leader.address == "http://c1"


def test_a_leader_that_gives_up_is_followed_at_once() -> None:
    store, clock = MemoryLease(), ManualClock()
    first, second = candidates(store, clock)
    first.step()
    second.step()
    first.give_up()
    second.step()
    assert second.confirm() == 2


def test_a_store_that_is_away_for_a_moment_changes_nothing_and_for_longer_ends_the_term() -> None:
    store, clock = MemoryLease(), ManualClock()
    (first,) = candidates(store, clock, (1.0,))
    first.step()
    store.is_away = True
    advance(clock, 1)
    first.step()
    assert first.confirm() == 1
    store.is_away = False
    first.step()
    store.is_away = True
    advance(clock, DURATION_S)
    first.step()
    assert first.token is None
    store.is_away = False
    first.step()  # nobody else has taken it: a new term with a number of its own
    assert first.confirm() == 2


def test_a_pause_beyond_the_lease_ends_the_term_before_anything_is_asked() -> None:
    store, clock = MemoryLease(), ManualClock()
    (first,) = candidates(store, clock, (1.0,))
    first.step()
    advance(clock, DURATION_S * 0.95)
    with pytest.raises(LeadershipLostError):
        first.confirm()


@pytest.mark.row("S-LIB-06")
@given(
    rates=st.tuples(*[st.floats(0.97, 1.03)] * 3),
    moves=st.lists(
        st.tuples(
            st.sampled_from(["step", "step", "step", "away", "back", "pause", "give up"]),
            st.integers(0, 2),
            st.floats(0.01, 1.5),
        ),
        max_size=120,
    ),
)
def test_never_do_two_lead_and_each_term_has_a_higher_number(
    rates: tuple[float, ...], moves: list[tuple[str, int, float]]
) -> None:
    store, clock = MemoryLease(), ManualClock()
    found = candidates(store, clock, rates)
    tokens: list[tuple[int, str]] = []
    for what, who, seconds in moves:
        candidate = found[who]
        match what:
            case "step":
                candidate.step()
            case "away" | "back":
                store.is_away = what == "away"
            case "give up":
                candidate.give_up()
        advance(clock, seconds if what == "pause" else seconds / 5)
        leading = [c for c in found if c.is_leader]
        assert len(leading) <= 1
        for leader in leading:
            if not tokens or tokens[-1] != (leader.confirm(), leader.holder):
                tokens.append((leader.confirm(), leader.holder))
    numbers = [number for number, _ in tokens]
    assert numbers == sorted(set(numbers))
    store.is_away = False
    for _ in range(20):  # whatever happened, somebody leads in the end
        advance(clock, DURATION_S / 6)
        for candidate in found:
            candidate.step()
    assert sum(c.is_leader for c in found) == 1


def test_a_thread_tells_when_it_begins_and_ends_to_lead() -> None:
    store = MemoryLease()
    begun, ended = threading.Event(), threading.Event()
    terms: list[int] = []

    def granted(token: int) -> None:
        terms.append(token)
        begun.set()

    election = Election(Candidate(store, "a", "http://a", 0.6), granted, ended.set)
    election.start()
    assert begun.wait(patience(10))
    assert election.candidate.confirm() == terms[0] == 1
    store.is_away = True
    assert ended.wait(patience(10))
    begun.clear()
    store.is_away = False
    assert begun.wait(patience(10))
    assert terms[1] > terms[0]
    ended.clear()
    election.stop()
    assert ended.is_set()
    lease, _ = store.read()
    assert lease is not None
    assert lease.holder == ""
