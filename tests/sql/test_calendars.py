"""Dates, months and time zones on columns of integers, against Python's own."""

from __future__ import annotations

import calendar
import datetime as dt
import zoneinfo

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.errors import ConfigurationError
from firesteel.sql import calendars as c

EPOCH = dt.date(1970, 1, 1)
DATES = st.dates(dt.date(1, 1, 1), dt.date(9990, 1, 1))


@given(DATES)
def test_days_are_taken_apart_and_put_together(date: dt.date) -> None:
    days = (date - EPOCH).days
    assert tuple(int(x) for x in c.civil(days)) == (date.year, date.month, date.day)
    assert int(c.days_from(date.year, date.month, date.day)) == days


@given(st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)), st.integers(-1000, 1000))
def test_a_day_that_a_month_has_not_is_its_last(date: dt.date, months: int) -> None:
    found = EPOCH + dt.timedelta(days=int(c.add_months((date - EPOCH).days, months)))
    year, month = divmod(date.year * 12 + date.month - 1 + months, 12)
    day = min(date.day, calendar.monthrange(year, month + 1)[1])
    assert found == dt.date(year, month + 1, day)


ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"]
SECONDS = st.integers(-2_000_000_000, 4_000_000_000)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(ZONES), SECONDS)
def test_local_times_are_those_of_the_zone(zone: str, second: int) -> None:
    found = int(c.to_local(np.array([second * 1000]), 1000, zone)[0])
    away = dt.datetime.fromtimestamp(second, zoneinfo.ZoneInfo(zone)).utcoffset()
    assert away is not None
    assert found == (second + int(away.total_seconds())) * 1000


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(ZONES), SECONDS)
def test_instants_come_back_unless_a_local_time_is_there_twice(zone: str, second: int) -> None:
    local = c.to_local(np.array([second]), 1, zone)
    back = int(c.to_instant(local, 1, zone)[0])
    assert back <= second
    assert int(c.to_local(np.array([back]), 1, zone)[0]) == int(local[0])


def test_gaps_and_overlaps_are_resolved_as_in_java() -> None:
    def instant(text: str) -> str:
        local = int((dt.datetime.fromisoformat(text) - dt.datetime(1970, 1, 1)).total_seconds())
        found = int(c.to_instant(np.array([local]), 1, "Europe/Berlin")[0])
        return dt.datetime.fromtimestamp(found, dt.UTC).strftime("%H:%M")

    assert instant("2024-03-31 01:59") == "00:59"
    assert instant("2024-03-31 02:30") == "01:30"  # not there: moved on by an hour, 03:30
    assert instant("2024-03-31 03:00") == "01:00"
    assert instant("2024-10-27 02:30") == "00:30"  # there twice: the earlier one
    assert instant("2024-10-27 03:00") == "02:00"


@pytest.mark.parametrize(("name", "hours"), [("GMT+08:00", 8), ("+08:00", 8), ("UTC-5", -5), ("Z", 0)])
def test_offsets_are_zones(name: str, hours: int) -> None:
    assert int(c.to_local(np.array([0]), 1, name)[0]) == hours * 3600


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no time zone"):
        c.zone_of("Mars/Olympus")
