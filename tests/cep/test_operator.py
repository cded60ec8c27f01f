"""The pattern operator in a stream: time, keys, late events, timeouts, state, other parallelisms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from firesteel.cep import (
    CEP,
    AfterMatchSkipStrategy,
    Pattern,
    PatternProcessFunction,
    RichIterativeCondition,
    TimedOutPartialMatchHandler,
    WithinType,
)
from firesteel.common import Configuration, Time
from firesteel.common.errors import FiresteelError, ProgramError, StateError
from firesteel.datastream import DataStream, OutputTag
from firesteel.state._column import column_id, column_of
from firesteel.state.catalog import CatalogEntry
from firesteel.state.rows import rows_of
from firesteel.testing import OperatorHarness, StreamRecord

MINUTE = 60_000
LATE, TIMED_OUT = OutputTag("late"), OutputTag("timed out")


@dataclass(frozen=True)
class Payment:
    account: str
    amount: int
    home: bool = True


def fraud() -> Pattern:
    return (
        Pattern.begin("high")
        .where(lambda p: p.amount > 5000)
        .followed_by("foreign")
        .where(lambda p: not p.home)
        .within(Time.minutes(10))
    )


def amounts(match: dict[str, list[Payment]]) -> dict[str, list[int]]:
    return {stage: [payment.amount for payment in events] for stage, events in match.items()}


def by_account(stream: DataStream) -> DataStream:
    return stream.key_by(lambda p: p.account)


def find_fraud(stream: DataStream) -> DataStream:
    found = CEP.pattern(by_account(stream), fraud()).side_output_late_data(LATE)
    return found.select(
        amounts,
        timed_out_partial_matches_tag=TIMED_OUT,
        pattern_timeout_function=lambda match, time: (amounts(match), time),
    )


def fraud_harness(**more: Any) -> OperatorHarness:
    return OperatorHarness(find_fraud, side_outputs=[LATE, TIMED_OUT], **more)


def letters(pattern: Pattern, **more: Any) -> OperatorHarness:
    """A harness for a pattern on (key, letter)."""

    def find(stream: DataStream) -> DataStream:
        found = CEP.pattern(stream.key_by(lambda e: e[0]), pattern)
        return found.select(lambda match: "".join(e[1] for events in match.values() for e in events))

    return OperatorHarness(find, **more)


def is_(letter: str) -> Any:
    return lambda e: e[1][0] == letter


def ab() -> Pattern:
    return Pattern.begin("a").where(is_("a")).followed_by("b").where(is_("b"))


# ---- the samples of the documentation


@pytest.mark.row("S-CEP-01", "S-CEP-02", "S-CEP-04", "S-CEP-10", "S-ECO-03", "S-USE-01", "T20")
def test_each_high_payment_is_matched_with_the_next_foreign_one() -> None:
    harness = fraud_harness()
    for minute, payment in enumerate([(6000, True), (7000, True), (10, False), (20, False)]):
        harness.process_element(Payment("ada", *payment), minute * MINUTE)
    harness.process_watermark(3 * MINUTE)
    found = [event for event in harness.output if isinstance(event, StreamRecord)]
    assert found == [
        StreamRecord({"high": [6000], "foreign": [10]}, 2 * MINUTE),
        StreamRecord({"high": [7000], "foreign": [10]}, 2 * MINUTE),
    ]


@pytest.mark.row("T20")
def test_one_event_does_not_fill_two_stages() -> None:
    harness = fraud_harness()
    harness.process_element(Payment("ada", 6000, home=False), 0)
    harness.process_watermark(MINUTE)
    assert harness.values == []


@pytest.mark.row("S-CEP-07", "S-CEP-09", "T21")
def test_a_match_is_shorter_than_within_and_what_is_not_times_out() -> None:
    harness = fraud_harness()
    harness.process_element(Payment("ada", 6000), 0)
    harness.process_element(Payment("ada", 1, home=False), 599_999)
    harness.process_element(Payment("bob", 8000), 0)
    harness.process_element(Payment("bob", 2, home=False), 600_000)
    harness.process_watermark(700_000)
    assert harness.values == [{"high": [6000], "foreign": [1]}]
    assert harness.side_output(TIMED_OUT) == [StreamRecord(({"high": [8000]}, 600_000), 600_000)]


@pytest.mark.row("T21")
def test_a_timeout_needs_no_further_event() -> None:
    harness = fraud_harness()
    harness.process_element(Payment("ada", 6000), 5)
    harness.process_watermark(600_004)
    assert harness.side_output(TIMED_OUT) == []
    harness.process_watermark(600_005)
    assert harness.side_output(TIMED_OUT) == [StreamRecord(({"high": [6000]}, 600_005), 600_005)]
    assert harness.num_keyed_state_entries() == 0


@pytest.mark.row("S-CEP-12", "T21")
def test_events_are_matched_in_the_order_of_their_timestamps() -> None:
    harness = fraud_harness()
    harness.process_element(Payment("ada", 1, home=False), 5)
    harness.process_element(Payment("ada", 6000), 1)
    assert harness.values == []
    harness.process_watermark(10)
    assert harness.values == [{"high": [6000], "foreign": [1]}]


@pytest.mark.row("S-CEP-11", "T21")
def test_late_events_never_match() -> None:
    harness = fraud_harness()
    harness.process_watermark(10)
    late = Payment("ada", 6000)
    harness.process_element(late, 10)
    harness.process_element(Payment("ada", 1, home=False), 20)
    harness.process_watermark(30)
    assert harness.values == []
    assert harness.side_output(LATE) == [StreamRecord(late, 10)]
    assert harness.accumulators["CepOperator.numLateRecordsDropped"] == 0


def test_late_events_without_a_side_output_are_counted() -> None:
    harness = letters(ab())
    harness.process_watermark(10)
    harness.process_element((1, "a"), 3)
    assert harness.accumulators["CepOperator.numLateRecordsDropped"] == 1


# ---- time


def test_a_comparator_orders_events_of_the_same_time() -> None:
    def find(stream: DataStream) -> DataStream:
        found = CEP.pattern(stream.key_by(lambda e: e[0]), ab(), lambda x, y: (x[1] > y[1]) - (x[1] < y[1]))
        return found.select(lambda match: match["b"][0][1])

    harness = OperatorHarness(find)
    for letter in ("b2", "b1", "a1"):
        harness.process_element((1, letter), 7)
    harness.process_watermark(7)
    assert harness.values == ["b1"]


def test_records_without_timestamps_are_refused_in_event_time() -> None:
    with pytest.raises(ProgramError, match="need to have timestamps"):
        letters(ab()).process_element((1, "a"))


def test_processing_time_matches_at_once() -> None:
    def find(stream: DataStream) -> DataStream:
        found = CEP.pattern(stream.key_by(lambda e: e[0]), ab().within(10)).in_processing_time()
        return found.select(
            lambda match: match["b"][0][1],
            timed_out_partial_matches_tag=TIMED_OUT,
            pattern_timeout_function=lambda match, time: (match["a"][0][1], time),
        )

    harness = OperatorHarness(find, side_outputs=[TIMED_OUT], processing_time=100)
    harness.process_element((1, "a1"))
    harness.process_element((2, "a2"))
    harness.process_element((1, "b1"))
    assert harness.values == ["b1"]
    harness.set_processing_time(110)
    assert harness.side_output(TIMED_OUT) == []
    harness.set_processing_time(111)
    assert harness.side_output(TIMED_OUT) == [StreamRecord(("a2", 110))]
    assert harness.num_keyed_state_entries() == 0


def test_processing_time_with_a_comparator_waits_for_the_end_of_the_millisecond() -> None:
    def find(stream: DataStream) -> DataStream:
        keyed = stream.key_by(lambda e: e[0])
        found = CEP.pattern(keyed, ab(), lambda x, y: (x[1] > y[1]) - (x[1] < y[1])).in_processing_time()
        return found.select(lambda match: match["b"][0][1])

    harness = OperatorHarness(find, processing_time=100)
    harness.process_element((1, "b1"))
    harness.process_element((1, "a1"))
    assert harness.values == []
    harness.set_processing_time(101)
    assert harness.values == ["b1"]


@pytest.mark.row("T21")
def test_not_followed_by_at_the_end_matches_when_the_time_is_over() -> None:
    pattern = Pattern.begin("a").where(is_("a")).not_followed_by("b").where(is_("b")).within(10)
    harness = letters(pattern)
    harness.process_element((1, "a1"), 1)
    harness.process_element((2, "a2"), 2)
    harness.process_element((2, "b2"), 5)
    harness.process_watermark(30)
    assert harness.output[:1] == [StreamRecord("a1", 11)]
    assert harness.values == ["a1"]


@pytest.mark.parametrize("steps", [[100], [11, 100], [1, 5, 11, 12, 100]])
def test_results_do_not_depend_on_how_far_the_watermark_moves_at_once(steps: list[int]) -> None:
    harness = letters(Pattern.begin("a").where(is_("a")).not_followed_by("b").where(is_("b")).within(10))
    for stamp in (1, 2, 2, 30):
        harness.process_element((1, f"a{stamp}"), stamp)
    for watermark in steps:
        harness.process_watermark(watermark)
    records = [event for event in harness.output if isinstance(event, StreamRecord)]
    assert records == [StreamRecord(f"a{t}", t + 10) for t in (1, 2, 2, 30)]


def test_time_between_two_events_times_out_by_the_watermark() -> None:
    harness = letters(ab().within(5, WithinType.PREVIOUS_AND_CURRENT))
    harness.process_element((1, "a1"), 1)
    harness.process_watermark(5)
    assert harness.num_keyed_state_entries() == 1
    harness.process_watermark(6)
    assert harness.num_keyed_state_entries() == 0


@pytest.mark.parametrize("event_time", [True, False])
def test_a_match_may_have_all_the_time_that_there_is(event_time: bool) -> None:
    def find(stream: DataStream) -> DataStream:
        found = CEP.pattern(stream.key_by(lambda e: e[0]), ab().within(2**63 - 1))
        if not event_time:
            found = found.in_processing_time()
        return found.select(lambda match: match["b"][0][1])

    harness = OperatorHarness(find)
    for at, event in enumerate([("k", "a"), ("k", "b")]):
        harness.process_element(event, 2**62 + at)
        harness.process_watermark(2**62 + at)
        harness.snapshot()
    assert harness.values == ["b"]
    with pytest.raises(FiresteelError, match=r"at most 2\*\*63 - 1 milliseconds"):
        ab().within(2**63)


def test_the_end_of_the_input_completes_all() -> None:
    harness = letters(ab())
    harness.process_element((1, "a1"), 1)
    harness.process_element((1, "b1"), 2)
    harness.end_input()
    assert harness.values == ["a1b1"]


# ---- keys


@pytest.mark.row("S-CEP-14")
def test_matches_never_mix_keys_and_a_stream_without_keys_has_one_subtask() -> None:
    harness = letters(ab())
    harness.process_element((1, "a1"), 1)
    harness.process_element((2, "b2"), 2)
    harness.process_watermark(5)
    assert harness.values == []

    def find(stream: DataStream) -> DataStream:
        return CEP.pattern(stream, ab()).select(lambda match: match["a"][0][1] + match["b"][0][1])

    whole = OperatorHarness(find, parallelism=2)
    whole.process_element((1, "a1"), 1)
    whole.process_element((2, "b2"), 2)
    whole.process_watermark(5)
    assert whole.values == ["a1b2"]


@pytest.mark.parametrize("key", ["text", 5, (1, "x"), 2**70, b"bytes", None, 1.5])
def test_keys_of_any_type_wait_and_match(key: Any) -> None:
    harness = letters(ab())
    harness.process_element((key, "a1"), 1)
    harness.process_element((key, "b1"), 10)
    harness.process_watermark(5)
    harness.process_watermark(10)
    assert harness.values == ["a1b1"]
    assert harness.num_keyed_state_entries() == 0


# ---- state


@pytest.mark.row("S-CEP-17")
def test_partial_matches_and_waiting_events_survive_a_restore_and_rescaling() -> None:
    harness = letters(ab(), parallelism=2)
    keys = range(20)
    for key in keys:
        harness.process_element((key, f"a{key}"), 1)
    harness.process_watermark(3)
    for key in keys:
        harness.process_element((key, f"b{key}"), 8)
    for parallelism in (3, 1, 2):
        harness = letters(ab(), parallelism=parallelism, restore=harness.snapshot())
    assert harness.values == []
    harness.process_watermark(8)
    assert sorted(harness.values) == sorted(f"a{key}b{key}" for key in keys)


def test_a_match_goes_on_after_a_restore_at_each_event() -> None:
    pattern = ab().one_or_more().followed_by("c").where(is_("c"))
    harness = letters(pattern, processes=3)
    for stamp, letter in enumerate(["a1", "x1", "b1", "b2", "x2", "c1"]):
        harness = letters(pattern, processes=3, restore=harness.snapshot())
        harness.process_element((1, letter), stamp)
        harness.process_watermark(stamp)
    assert harness.values == ["a1b1b2c1", "a1b1c1"]


def test_state_goes_with_the_last_partial_match() -> None:
    harness = letters(ab().one_or_more().within(100))
    for stamp, letter in enumerate(["a", *(f"b{n}" for n in range(9))]):
        harness.process_element((1, letter), stamp)
        harness.process_watermark(stamp)
    assert harness.num_keyed_state_entries() == 1
    harness.process_watermark(99)
    assert harness.num_keyed_state_entries() == 1
    harness.process_watermark(100)
    assert harness.num_keyed_state_entries() == 0


def test_many_events_of_a_key_come_and_go_in_entries_of_their_own() -> None:
    skipping = Pattern.begin("a", AfterMatchSkipStrategy.skip_past_last_event())
    pattern = skipping.where(is_("a")).one_or_more().consecutive().next("b").where(is_("b"))
    harness = letters(pattern)
    for epoch in range(4):
        with harness.epoch():
            for n in range(30):
                harness.process_element((1, f"a{epoch}.{n} "), epoch * 100 + n)
            harness.process_watermark(epoch * 100 + 50)
        harness = letters(pattern, restore=harness.snapshot())
    harness.process_element((1, "b"), 1000)
    harness.process_watermark(1000)
    assert harness.values == ["".join(f"a{e}.{n} " for e in range(4) for n in range(30)) + "b"]
    assert harness.num_keyed_state_entries() == 0


def test_state_is_read_as_rows() -> None:
    """As the state processor reads it."""
    harness = letters(ab())
    for stamp, letter in ((1, "a1"), (2, "a2"), (9, "b1")):
        harness.process_element(("key", letter), stamp)
    harness.process_watermark(5)
    rows = {}
    for entry, entries in stored(harness).items():
        rows[entry.name] = list(rows_of(entry)(entries))
    (row,) = rows["_cep/matches"]
    assert row.key == "key"
    assert row.value["completed_matches"] == []
    assert row.value["partial_matches"] == [
        {"state": "b", "since": 1, "events": {"a": [("key", "a1")]}},
        {"state": "b", "since": 2, "events": {"a": [("key", "a2")]}},
    ]
    (row,) = rows["_cep/waiting"]
    assert (row.key, row.at, row.value) == ("key", 9, ("key", "b1"))


def stored(harness: OperatorHarness) -> dict[CatalogEntry, list[tuple[bytes, bytes]]]:
    """The entries of each state."""
    found: dict[CatalogEntry, list[tuple[bytes, bytes]]] = {}
    for reader in harness._view()._readers.values():
        entries = sorted(reader._overlay.scan_all(0, 127).items())
        for entry in reader._state.catalog:
            column = column_id(entry.uid, entry.name)
            found[entry] = [(name, value) for name, value in entries if column_of(name) == column]
    return found


def test_a_state_without_a_time_limit_waits_in_a_pattern_that_has_one() -> None:
    limited_b = ab().within(5, WithinType.PREVIOUS_AND_CURRENT)
    harness = letters(limited_b.followed_by("c").where(is_("c")))
    for stamp, letter in ((1, "a"), (3, "b"), (500, "c")):
        harness.process_element((1, letter), stamp)
        harness.process_watermark(stamp)
    assert harness.values == ["abc"]


def test_a_pattern_without_the_states_of_its_partial_matches_is_refused() -> None:
    harness = letters(ab())
    harness.process_element((1, "a1"), 1)
    harness.process_watermark(5)
    other = Pattern.begin("a").where(is_("a")).followed_by("c").where(is_("c"))
    changed = letters(other, restore=harness.snapshot())
    changed.process_element((1, "c1"), 6)
    with pytest.raises(StateError, match="does not exist in the pattern"):
        changed.process_watermark(7)


def test_a_pattern_may_get_more_stages() -> None:
    harness = letters(ab())
    harness.process_element((1, "a1"), 1)
    harness.process_watermark(5)
    longer = letters(ab().followed_by("c").where(is_("c")), restore=harness.snapshot())
    for stamp, letter in ((6, "b1"), (7, "c1")):
        longer.process_element((1, letter), stamp)
    longer.process_watermark(7)
    assert longer.values == ["a1b1c1"]


# ---- limits


def limited(policy: str) -> OperatorHarness:
    configuration = Configuration()
    configuration.set_string("firesteel.cep.max-partial-matches-per-key", "2")
    configuration.set_string("firesteel.cep.too-many-partial-matches", policy)
    return letters(ab(), configuration=configuration)


def test_too_many_partial_matches_fail_the_job() -> None:
    harness = limited("fail")
    for stamp in range(3):
        harness.process_element((1, f"a{stamp}"), stamp)
    with pytest.raises(FiresteelError, match="more than 2 partial matches"):
        harness.process_watermark(5)


def test_or_the_oldest_are_dropped_and_counted() -> None:
    harness = limited("drop-oldest")
    for stamp in range(3):
        harness.process_element((1, f"a{stamp}"), stamp)
    harness.process_element((1, "b"), 4)
    harness.process_watermark(5)
    assert harness.values == ["a1b", "a2b"]
    assert harness.accumulators["CepOperator.numPartialMatchesDropped"] == 1


# ---- functions


class Collects(PatternProcessFunction, TimedOutPartialMatchHandler):
    def open(self, runtime_context: Any) -> None:
        self.where = runtime_context.get_index_of_this_subtask()

    def process_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        yield ctx.timestamp(), self.where
        yield LATE, "beside"
        ctx.output(LATE, ctx.current_processing_time())

    def process_timed_out_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        yield TIMED_OUT, ctx.timestamp()


@pytest.mark.row("S-CEP-10")
def test_a_process_function_has_time_and_side_outputs() -> None:
    def find(stream: DataStream) -> DataStream:
        return CEP.pattern(stream.key_by(lambda e: e[0]), ab().within(10)).process(Collects())

    harness = OperatorHarness(find, side_outputs=[LATE, TIMED_OUT], processing_time=77)
    for stamp, letter in ((1, "a"), (2, "b"), (3, "a")):
        harness.process_element((1, letter), stamp)
    harness.process_watermark(20)
    assert harness.values == [(2, 0)]
    assert [record.value for record in harness.side_output(LATE)] == ["beside", 77]
    assert harness.side_output(TIMED_OUT) == [StreamRecord(13, 13)]


@pytest.mark.row("S-CEP-10")
def test_flat_select_gives_any_number() -> None:
    def find(stream: DataStream) -> DataStream:
        found = CEP.pattern(stream.key_by(lambda e: e[0]), ab())
        return found.flat_select(lambda match: [e[0][1] for e in match.values()])

    harness = OperatorHarness(find)
    for stamp, letter in ((1, "a"), (2, "b")):
        harness.process_element((1, letter), stamp)
    harness.process_watermark(5)
    assert harness.values == ["a", "b"]


def test_functions_of_patterns_have_no_state() -> None:
    class Asks(PatternProcessFunction):
        def open(self, runtime_context: Any) -> None:
            from firesteel.common import Types
            from firesteel.datastream.state import ValueStateDescriptor

            runtime_context.get_state(ValueStateDescriptor("x", Types.INT()))

        def process_match(self, match: Any, ctx: Any) -> None: ...

    with pytest.raises(FiresteelError, match="State is not supported"):
        OperatorHarness(lambda s: CEP.pattern(s.key_by(lambda e: e[0]), ab()).process(Asks()))


class Above(RichIterativeCondition):
    opened = False

    def open(self, runtime_context: Any) -> None:
        self.least = len(runtime_context.get_task_name_with_subtasks()) * 0 + 5

    def filter(self, value: Any, ctx: Any) -> bool:
        return value[1] > self.least + sum(e[1] for e in ctx.get_events_for_pattern("first"))


ASKED: list[Any] = []  # of ``is_end``, which travels by reference


def is_end(event: tuple[str, Any]) -> bool:
    ASKED.append(event)
    return bool(event[1] > 5)


def test_conditions_are_asked_of_no_event_that_no_partial_match_waits_for() -> None:
    """Events of a key are of one kind: ``foreign`` cannot be asked for what begins nothing."""
    ASKED.clear()
    pattern = Pattern.begin("a").where(lambda e: e[1] in ("a", 1)).followed_by("b").where(is_end)
    harness = OperatorHarness(
        lambda s: CEP.pattern(s.key_by(lambda e: e[0]), pattern).select(lambda m: m["b"][0][1])
    )
    for at, event in enumerate(
        [("texts", "x"), ("numbers", 1), ("numbers", 3), ("texts", "y"), ("numbers", 9)]
    ):
        harness.process_element(event, at)
    harness.process_watermark(10)
    assert harness.values == [9]
    assert ASKED == [("numbers", 1), ("numbers", 3), ("numbers", 9)], "each once"
    harness.process_element(("texts", "a"), 11)
    harness.process_element(("texts", "b"), 12)
    with pytest.raises(TypeError, match="not supported between"):
        harness.process_watermark(20)


@pytest.mark.row("S-CEP-03")
def test_rich_conditions_are_opened_and_see_what_is_matched() -> None:
    pattern = Pattern.begin("first").where(lambda e: e[1] < 3).followed_by("then").where(Above())

    def find(stream: DataStream) -> DataStream:
        return CEP.pattern(stream.key_by(lambda e: e[0]), pattern).select(lambda m: m["then"][0][1])

    harness = OperatorHarness(find)
    for stamp, value in enumerate([2, 7, 8]):
        harness.process_element((1, value), stamp)
    harness.process_watermark(10)
    assert harness.values == [8]


def test_a_function_that_changes_an_event_changes_no_other_match() -> None:
    def spoil(match: Any) -> Any:
        event = match["a"][0]
        event.append("seen")
        return list(event)

    def find(stream: DataStream) -> DataStream:
        pattern = (
            Pattern.begin("a").where(lambda e: e[1] == "a").followed_by_any("b").where(lambda e: e[1] == "b")
        )
        return CEP.pattern(stream.key_by(lambda e: e[0]), pattern).select(spoil)

    harness = OperatorHarness(find)
    for stamp, letter in enumerate(["a", "b", "b"]):
        harness.process_element([1, letter], stamp)
    harness.process_watermark(10)
    assert harness.values == [[1, "a", "seen"]] * 2
