"""Patterns whose partial matches are open while the job is stopped and goes on with another parallelism."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from firesteel.cep import CEP, Pattern, PatternProcessFunction, TimedOutPartialMatchHandler
from firesteel.common import Types
from firesteel.datastream import OutputTag, StreamExecutionEnvironment
from firesteel.jobmanager.checkpoints.storage import read_manifest
from firesteel.state._overlay import Overlay
from firesteel.state.catalog import of_entries
from firesteel.state.files import StateFiles
from firesteel.state.line import OPERATOR_GROUP
from firesteel.state.rows import StoredRow, of_column, rows_of
from firesteel.testing.collecting_sink import CollectingSink
from tests.jobmanager.test_savepoints import Job
from tests.runtime.support import At, LiveSource, feed, feeds, local_platform, punctuated

DATA: Final = Path(__file__).parents[1] / "data"
#: Made by ``first_step`` when a key still stored its partial matches as lists, with the names of its stages.
OF_LISTS: Final = DATA / "matches-as-lists-savepoint"

KEYS: Final = tuple(f"k{n}" for n in range(12))
LONG: Final = KEYS[0]  # has so many events that they are stored in entries of their own
NEVER: Final = KEYS[1]  # its match times out
MANY: Final = 20
WITHIN: Final = 10_000
TIMED_OUT: Final = OutputTag("timed out", Types.STRING())

Event = tuple[str, str, int]  # key, letter, number


@pytest.fixture(autouse=True)
def _platform() -> Iterator[None]:
    feeds.clear()
    with local_platform():
        yield


class Lines(PatternProcessFunction, TimedOutPartialMatchHandler):
    def __init__(self, title: str) -> None:
        self.title = title

    def process_match(self, match: dict[str, list[Event]], ctx: Any) -> Any:
        yield line(self.title, match["a"][0][0], *(e[1:] for es in match.values() for e in es))

    def process_timed_out_match(self, match: dict[str, list[Event]], ctx: Any) -> Any:
        events = (e[1:] for es in match.values() for e in es)
        yield TIMED_OUT, line(f"{self.title}, timed out at {ctx.timestamp()}", match["a"][0][0], *events)


def line(title: str, key: str, *events: tuple[str, int]) -> str:
    return f"{title} {key}: {' '.join(f'{letter}{number}' for letter, number in events)}"


def fixed() -> Pattern:
    def is_(letter: str) -> Any:
        return lambda event: event[1] == letter

    loop = Pattern.begin("a").where(is_("a")).followed_by("b").where(is_("b")).one_or_more()
    return loop.followed_by("c").where(is_("c")).within(WITHIN)


GIVEN: Final = {
    "id": "given",
    "version": 1,
    "within": f"{WITHIN} ms",
    "pattern": [
        {"name": "a", "where": "event[1] == 'a'"},
        {"name": "c", "where": "event[1] == 'c'", "contiguity": "followed_by"},
    ],
}


def build(env: StreamExecutionEnvironment, sink: CollectingSink) -> None:
    events = env.from_source(LiveSource("events", 2), punctuated(), "events").uid("events")
    keyed = events.map(lambda r: r.value).key_by(lambda event: event[0])
    patterns = env.from_source(LiveSource("patterns"), punctuated(), "patterns").uid("patterns")
    for title, found in (
        ("fixed", CEP.pattern(keyed, fixed())),
        ("given", CEP.dynamic_patterns(keyed, patterns.map(lambda r: r.value))),
    ):
        matches = found.process(Lines(title), Types.STRING()).uid(title)
        matches.union(matches.get_side_output(TIMED_OUT)).sink_to(sink)


def split_of(key: str) -> int:
    return int(key[1:]) % 2


def give(job: Job | None, at: int, letter: str, keys: tuple[str, ...] = KEYS, times: int = 1) -> None:
    """Events of each key at *at*, *at* + 1 ..., and time comes to the last one; without a job, they are there
    before one begins."""
    for split in (0, 1):
        records = [
            At(at + n, (key, letter, at + n)) for n in range(times) for key in keys if split_of(key) == split
        ]
        records.append(At(at + times, ("-", "-", 0), at + times - 1))
        feed("events", *((record, record.ts) for record in records), split=split)
    if job is not None:
        job.clock.tick()


def first_step(directory: Path) -> str:
    """A savepoint of parallelism 2: each key has an "a", one of them also many a "b"."""
    job = Job(build, 2)
    job.give("patterns", At(0, json.dumps(GIVEN)))
    give(job, 1, "a")
    give(job, 10, "b", (LONG,), MANY)
    assert job.sink.values == []
    return job.stop(directory)


def found_in_the_end() -> Counter[str]:
    """The loop of a match waits for more events, until its time is over."""
    lines = []
    at = 1 + WITHIN
    for key in KEYS:
        bs = [("b", 10 + n) for n in range(MANY)] if key == LONG else []
        bs.append(("b", 100))
        lines.append(line(f"fixed, timed out at {at}", key, ("a", 1), *bs))
        if key == NEVER:
            lines.append(line(f"given, timed out at {at}", key, ("a", 1)))
        else:
            lines += [line("fixed", key, ("a", 1), *bs[:n], ("c", 200)) for n in range(1, len(bs) + 1)]
            lines.append(line("given", key, ("a", 1), ("c", 200)))
    return Counter(lines)


def go_on(path: str, directory: Path, *, from_checkpoints: bool = False) -> Counter[str]:
    """From parallelism 2 to 3, then to 1; return what is found."""
    options = {}
    if from_checkpoints:
        options = {
            "execution.checkpointing.interval": "10 s",
            "execution.checkpointing.dir": str(directory / "checkpoints"),
            "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        }
    job = Job(build, 3, begin=path, **options)
    give(job, 100, "b")
    assert job.sink.values == []
    if from_checkpoints:
        job.clock.tick(10_000)
        job.end()
        path = job.running.view.checkpoints.retained[-1]
    else:
        path = job.stop(directory)
    job = Job(build, 1, begin=path)
    give(job, 200, "c", tuple(key for key in KEYS if key != NEVER))
    give(job, 3 * WITHIN, "x", ())
    found = Counter(job.sink.values)
    job.end()
    return found


@pytest.mark.row("S-CEP-17")
@pytest.mark.parametrize("from_checkpoints", [False, True])
def test_open_matches_go_from_2_to_3_to_1(tmp_path: Path, from_checkpoints: bool) -> None:
    path = first_step(tmp_path)
    assert go_on(path, tmp_path, from_checkpoints=from_checkpoints) == found_in_the_end()


def test_matches_that_were_stored_as_lists_go_on(tmp_path: Path) -> None:
    first_step(tmp_path)  # its events are there again, and are not read again
    assert go_on(str(OF_LISTS), tmp_path) == found_in_the_end()


@pytest.mark.parametrize("stored", ["as lists", "packed"])
def test_open_matches_are_read_as_rows(stored: str, tmp_path: Path) -> None:
    path = str(OF_LISTS) if stored == "as lists" else first_step(tmp_path)
    for name, state in ("fixed", "_cep/matches"), ("given", "_cep/pattern-matches"):
        found = {}
        for row in rows(path, state):
            value = row.value[0] if name == "given" else row.value
            assert value["completed_matches"] == []
            found[row.key] = [(m["state"], m["since"], m["events"]) for m in value["partial_matches"]]
        assert set(found) == set(KEYS)
        first = {"a": [(NEVER, "a", 1)]}
        assert found[NEVER] == [("c" if name == "given" else "b:1", 1, first)]
        if name == "fixed":
            longest = max(found[LONG], key=lambda match: len(match[2].get("b", ())))
            assert longest[2]["b"] == [(LONG, "b", 10 + n) for n in range(MANY)]


def rows(path: str, state: str) -> list[StoredRow]:
    """The rows of a state, of all subtasks."""
    manifest = read_manifest(path)
    found: list[StoredRow] = []
    for vertex in manifest.vertices:
        for line in vertex.lines:
            overlay = Overlay(StateFiles("/"))
            overlay.move_to(line)
            entries = overlay.scan_all(0, OPERATOR_GROUP)
            for column, entry in of_entries(entries).items():
                if entry.name == state:
                    found += rows_of(entry)(of_column([(list(entries), list(entries.values()))], column))
            overlay.close()
    return found
