"""Events of an auction house, after the public definition of Nexmark: persons, auctions and bids, 1 : 3 : 46.

Event *i* happens ``i * 1000 / rate`` ms after the start of 2024. The same arguments give the same bytes. Rows
are in the order of their times, so a watermark that is four seconds behind makes no row late.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

TABLES: Final = ("person", "auction", "bid")

_START: Final = np.datetime64("2024-01-01T00:00:00.000", "ms")
# Of each 50 events the first is a person and the next three are auctions.
_ROUND, _PERSONS, _AUCTIONS = 50, 1, 3
_FIRST_ID, _FIRST_CATEGORY, _CATEGORIES = 1000, 10, 5
_ACTIVE_PERSONS, _OPEN_AUCTIONS = 1000, 100
_AHEAD: Final = 10  # ids that nobody has yet, which events name, too
_HOT: Final = 100  # most events are about an id that this divides
_CHANNELS: Final = 10_000
_ROWS_AT_ONCE: Final = 50_000
_STATES: Final = np.array(["AZ", "CA", "ID", "OR", "WA", "WY"])
_CITIES: Final = np.array(
    [
        *("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland"),
        *("Bend", "Redmond", "Seattle", "Kent", "Cheyenne"),
    ]
)
_FIRST_NAMES: Final = np.array(
    ["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"]
)
_LAST_NAMES: Final = np.array(
    ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"]
)
_HOT_CHANNELS: Final = np.array(["Google", "Facebook", "Baidu", "Apple"])

_Array = np.ndarray[Any, Any]


def write_events(folder: Path, events: int, rate: float = 1_000, seed: int = 7) -> None:
    """Write ``person.csv``, ``auction.csv`` and ``bid.csv`` without headers.

    :param rate: events in a second of event time.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    event = np.arange(events, dtype=np.int64)
    place = event % _ROUND
    ms = (event * 1000 / rate).astype(np.int64)
    persons = place < _PERSONS
    auctions = ~persons & (place < _PERSONS + _AUCTIONS)
    bids = place >= _PERSONS + _AUCTIONS
    # In this order: each takes its random numbers where the one before stopped.
    _write(folder / "person.csv", _person_columns(rng, event[persons], ms[persons]))
    _write(folder / "auction.csv", _auction_columns(rng, event[auctions], ms[auctions], rate))
    _write(folder / "bid.csv", _bid_columns(rng, event[bids], ms[bids]))


def _person_columns(rng: np.random.Generator, event: _Array, ms: _Array) -> list[_Array]:
    n = len(event)
    card = np.char.zfill(rng.integers(0, 10_000, size=(n, 4)).astype(str), 4)
    return [
        _last_person(event) + _FIRST_ID,
        _joined(rng.choice(_FIRST_NAMES, n), " ", rng.choice(_LAST_NAMES, n)),
        _joined(_words(rng, n, 7), "@", _words(rng, n, 5), ".com"),
        _joined(card[:, 0], " ", card[:, 1], " ", card[:, 2], " ", card[:, 3]),
        rng.choice(_CITIES, n),
        rng.choice(_STATES, n),
        _times(ms),
        _words(rng, n, 100),
    ]


def _auction_columns(rng: np.random.Generator, event: _Array, ms: _Array, rate: float) -> list[_Array]:
    n = len(event)
    hot = rng.integers(0, 4, n) > 0
    seller = np.where(hot, _last_person(event) // _HOT * _HOT, _some_person(rng, event)) + _FIRST_ID
    first_bid = _prices(rng, n)
    half_life = int(_OPEN_AUCTIONS * _ROUND / _AUCTIONS * 1000 / rate)
    expires = ms + 1 + (rng.random(n) * max(half_life * 2, 1)).astype(np.int64)
    return [
        _last_auction(event) + _FIRST_ID,
        _words(rng, n, 12),
        _words(rng, n, 60),
        first_bid,
        first_bid + _prices(rng, n),
        _times(ms),
        _times(expires),
        seller,
        _FIRST_CATEGORY + rng.integers(0, _CATEGORIES, n),
        _words(rng, n, 300),
    ]


def _bid_columns(rng: np.random.Generator, event: _Array, ms: _Array) -> list[_Array]:
    n = len(event)
    last = _last_auction(event)
    oldest = np.maximum(last - _OPEN_AUCTIONS, 0)
    hot_auction = rng.integers(0, 2, n) > 0
    cold = oldest + (rng.random(n) * (last - oldest + 1 + _AHEAD)).astype(np.int64)
    auction = np.where(hot_auction, last // _HOT * _HOT, cold) + _FIRST_ID
    hot_bidder = rng.integers(0, 4, n) > 0
    bidder = np.where(hot_bidder, _last_person(event) // _HOT * _HOT + 1, _some_person(rng, event))
    cold_urls, hot_urls = _urls(rng)
    channel = rng.integers(0, _CHANNELS, n)
    hot = rng.integers(0, 4, n)
    is_hot = rng.integers(0, 2, n) > 0
    return [
        auction,
        bidder + _FIRST_ID,
        _prices(rng, n),
        np.where(is_hot, _HOT_CHANNELS[hot], np.char.add("channel-", channel.astype(str))),
        np.where(is_hot, hot_urls[hot], cold_urls[channel]),
        _times(ms),
        _words(rng, n, 40),
    ]


def _urls(rng: np.random.Generator) -> tuple[_Array, _Array]:
    """Those of channels, of which nine in ten have the id of the channel, and those of hot ones."""
    folders = [_words(rng, _CHANNELS + len(_HOT_CHANNELS), 5) for _ in range(3)]
    urls = _joined(
        "https://www.nexmark.com/", folders[0], "/", folders[1], "/", folders[2], "/item.htm?query=1"
    )
    ids = (np.arange(_CHANNELS) * 2654435761) % (1 << 31)
    cold = urls[:_CHANNELS]
    with_id = rng.integers(0, 10, _CHANNELS) > 0
    return np.where(with_id, _joined(cold, "&channel_id=", ids.astype(str)), cold), urls[_CHANNELS:]


def _last_person(event: _Array) -> _Array:
    """The newest person when that event happens, counted from 0."""
    return (event // _ROUND) * _PERSONS + np.minimum(event % _ROUND, _PERSONS - 1)


def _last_auction(event: _Array) -> _Array:
    turn, place = event // _ROUND, event % _ROUND
    newest = np.minimum(place - _PERSONS, _AUCTIONS - 1)
    return np.where(place < _PERSONS, turn * _AUCTIONS - 1, turn * _AUCTIONS + newest)


def _some_person(rng: np.random.Generator, event: _Array) -> _Array:
    known = _last_person(event) + 1
    active = np.minimum(known, _ACTIVE_PERSONS)
    return known - active + (rng.random(len(event)) * (active + _AHEAD)).astype(np.int64)


def _prices(rng: np.random.Generator, n: int) -> _Array:
    return np.rint(10.0 ** (rng.random(n) * 6) * 100).astype(np.int64)


def _words(rng: np.random.Generator, n: int, length: int) -> _Array:
    letters = rng.integers(ord("a"), ord("z") + 1, size=(n, length), dtype=np.uint8)
    return letters.view(f"S{length}").ravel().astype(f"U{length}")


def _times(ms: _Array) -> _Array:
    instants = _START + ms.astype("timedelta64[ms]")
    return np.char.replace(np.datetime_as_string(instants, unit="ms"), "T", " ")


def _joined(first: Any, *more: Any) -> _Array:
    for part in more:
        first = np.char.add(first, part)
    return first


def _write(path: Path, columns: list[_Array]) -> None:
    with path.open("w", encoding="ascii", newline="") as file:
        for start in range(0, len(columns[0]), _ROWS_AT_ONCE):
            texts = [column[start : start + _ROWS_AT_ONCE].astype(str).tolist() for column in columns]
            file.writelines(",".join(row) + "\n" for row in zip(*texts, strict=True))
