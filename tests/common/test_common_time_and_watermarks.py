import datetime
import itertools
import pickle
import threading
import time

import pytest

from firesteel.common import Duration, Instant, Time, WatermarkGenerator, WatermarkStrategy
from firesteel.common.clock import ManualClock, SystemClock
from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.common.time import as_millis
from firesteel.common.watermark_strategy import (
    AssignerWithPeriodicWatermarksWrapper,
    TimestampAssigner,
    WatermarkAlignment,
)
from tests.waiting import patience


class Assigner(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[0]


class Generator(WatermarkGenerator):
    def on_event(self, event, event_timestamp, output):
        output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output):
        pass


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (Duration.of_seconds(20), "PT20S"),
        (Duration.of_millis(1500), "PT1.5S"),
        (Duration.of_days(2), "PT48H"),
        (Duration.of_nanos(5), "PT0.000000005S"),
        (Duration.of_minutes(90), "PT1H30M"),
        (Duration.of_millis(-1500), "PT-1.5S"),
        (Duration.of_seconds(0), "PT0S"),
        (Duration.of_hours(25), "PT25H"),
    ],
)
def test_duration_text_as_java(duration, text):
    assert str(duration) == text


def test_durations_and_times_are_values():
    assert Duration.of_minutes(1) == Duration.of_millis(60_000) != Duration.of_millis(1)
    assert Time.minutes(1) == Time.seconds(60) != Time.hours(1)
    assert Time.days(1).to_milliseconds() == 86_400_000
    assert str(Time.seconds(5)) == "5000 ms"
    with pytest.raises(ProgramError):
        Duration.of_seconds(1.5)


def test_as_millis():
    lengths = (Duration.of_seconds(1), Time.seconds(1), datetime.timedelta(seconds=1), 1000)
    assert [as_millis(length, "x") for length in lengths] == [1000] * 4
    with pytest.raises(ProgramError, match="idle_timeout"):
        as_millis("1 s", "idle_timeout")


def test_instant():
    assert Instant.of_epoch_milli(1005) == Instant(1, 5_000_000)
    assert Instant.of_epoch_milli(-1) == Instant(-1, 999_000_000)
    assert Instant(-1, 999_000_000).to_epoch_milli() == -1
    assert repr(Instant(1, 5)) == "Instant<1, 5>"
    assert pickle.loads(pickle.dumps(Instant(1, 5))) == Instant(1, 5)


def test_strategies_are_plain_data():
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10))
    assert (bounded.generator_factory, bounded.max_out_of_orderness_ms) == ("bounded", 10_000)
    assert WatermarkStrategy.for_monotonous_timestamps().generator_factory == "monotonous"
    assert WatermarkStrategy.no_watermarks().generator_factory == "none"
    assert (bounded.timestamp_assigner, bounded.idle_timeout_ms, bounded.alignment) == (None, None, None)
    assert isinstance(WatermarkStrategy.for_generator(Generator).generator_factory(), Generator)


def test_with_methods_keep_what_was_set_before():
    assigner = Assigner()
    base = WatermarkStrategy.for_monotonous_timestamps()
    assert base.with_timestamp_assigner(assigner) is base  # PyFlink changes it in place
    full = base.with_idleness(Duration.of_seconds(30)).with_watermark_alignment("g", Duration.of_seconds(20))
    assert full.timestamp_assigner is assigner
    assert full.idle_timeout_ms == 30_000
    assert full.alignment == WatermarkAlignment("g", 20_000)
    assert (base.idle_timeout_ms, base.alignment) == (None, None)
    other = full.with_watermark_alignment("g", Duration.of_seconds(1), Duration.of_millis(5))
    assert other.alignment == WatermarkAlignment("g", 1000)
    assert pickle.loads(pickle.dumps(full)).idle_timeout_ms == 30_000


def test_assigner_from_a_function():
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(
        lambda value, timestamp: value + timestamp
    )
    assert strategy.timestamp_assigner.extract_timestamp(1, 2) == 3


def test_bad_strategies():
    strategy = WatermarkStrategy.no_watermarks()
    for call in (
        lambda: WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(-1)),
        lambda: strategy.with_idleness(Duration.of_seconds(0)),
        lambda: strategy.with_watermark_alignment("g", Duration.of_seconds(-1)),
        lambda: strategy.with_watermark_alignment("g", Duration.of_seconds(1), Duration.of_seconds(0)),
        lambda: strategy.with_timestamp_assigner(5),
        lambda: WatermarkStrategy.for_generator(5),
    ):
        with pytest.raises(ProgramError):
            call()
    with pytest.raises(UnsupportedFeatureError):
        AssignerWithPeriodicWatermarksWrapper(None)


def test_manual_clock_stands_still():
    clock = ManualClock(1000)
    assert (clock.now_ms(), clock.monotonic_s()) == (1000, 0.0)
    clock.advance(1500)
    assert (clock.now_ms(), clock.monotonic_s()) == (2500, 1.5)
    clock.advance_to(2000)
    assert clock.now_ms() == 2500
    clock.advance_to(3000)
    assert clock.now_ms() == 3000
    assert clock.wait_until(3000)
    with pytest.raises(ValueError, match="-1"):
        clock.advance(-1)


def test_manual_clock_wakes_waiters_in_time():
    clock = ManualClock()
    woken = []

    def wait(ms):
        assert clock.wait_until(ms)
        woken.append(ms)

    threads = [threading.Thread(target=wait, args=(ms,)) for ms in (100, 200)]
    for thread in threads:
        thread.start()
    assert clock.await_waiters(2, patience(5))
    clock.advance(150)
    threads[0].join(patience(5))
    assert (woken, clock.waiters) == ([100], 1)
    clock.advance(50)
    threads[1].join(patience(5))
    assert woken == [100, 200]
    assert not clock.await_waiters(1, timeout_s=0.01)


def test_manual_clock_sleep_and_interrupt():
    clock, interrupt, results = ManualClock(), threading.Event(), []
    sleeper = threading.Thread(target=lambda: (clock.sleep(0.5), results.append("slept")))
    waiter = threading.Thread(target=lambda: results.append(clock.wait_until(10_000, interrupt)))
    sleeper.start()
    waiter.start()
    assert clock.await_waiters(2, patience(5))
    interrupt.set()
    waiter.join(patience(5))
    assert results == [False]
    clock.advance(500)
    sleeper.join(patience(5))
    assert results == [False, "slept"]


def test_system_clock():
    clock, interrupt = SystemClock(), threading.Event()
    earliest, now, latest = time.time_ns() // 1_000_000, clock.now_ms(), time.time_ns() // 1_000_000
    assert earliest <= now <= latest
    before = clock.monotonic_s()
    assert clock.wait_until(clock.now_ms() + 20)
    clock.sleep(0.001)
    assert clock.monotonic_s() - before >= 0.015
    interrupt.set()
    assert not clock.wait_until(clock.now_ms() + 60_000, interrupt)


def test_a_clock_that_is_set_back_does_not_make_a_wait_longer(monkeypatch):
    clock, real = SystemClock(), time.time
    begun_s = clock.monotonic_s()
    target_ms = clock.now_ms() + 300
    looks = itertools.count()

    def hour_ago():
        return real() - (3_600 if next(looks) > 2 else 0)

    monkeypatch.setattr("firesteel.common.clock.time.time", hour_ago)
    monkeypatch.setattr("firesteel.common.clock.SystemClock._LONGEST_WAIT_S", 0.05)
    assert clock.wait_until(target_ms)
    assert 0.25 <= clock.monotonic_s() - begun_s < 60
