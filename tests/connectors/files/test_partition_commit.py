"""Partitions of a file sink: when they are complete, and who hears of it."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Duration
from firesteel.common.errors import ConfigurationError, FiresteelError
from firesteel.common.serialization import Encoder
from firesteel.common.typeinfo import Types
from firesteel.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from firesteel.connectors import Committable
from firesteel.connectors.files.partition_commit import PartitionCommit
from firesteel.connectors.files.rolling import CustomBuckets, Rolling
from firesteel.connectors.files.sink import RowFileSink
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import BucketAssigner, FileSink
from firesteel.testing import MiniCluster
from firesteel.testing.connectors import SinkRun

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
NEVER = Rolling(1 << 40, 1 << 40, 1 << 40)


def day_of(value: Any, context: Any) -> str:
    return f"day={value[:10]}"


def sink_to(base: Path, commit: PartitionCommit, policy: Rolling = NEVER) -> RowFileSink:
    return RowFileSink(
        str(base),
        Encoder.simple_string_encoder(),
        Types.STRING(),
        rolling_policy=policy,
        bucket_assigner=CustomBuckets(day_of),
        partition_commit=commit,
    )


def complete(base: Path) -> list[str]:
    return sorted(path.parent.name for path in base.glob("*/_SUCCESS"))


def lines(base: Path, bucket: str) -> list[str]:
    files = (base / bucket).glob("part-*")
    return sorted(line for path in files for line in path.read_text().splitlines())


def test_by_the_clock_a_partition_is_complete_after_its_delay(tmp_path: Path) -> None:
    base = tmp_path / "out"
    run = SinkRun(sink_to(base, PartitionCommit(delay_ms=HOUR_MS)), tmp_path)
    run.at(0).commit(run.stage(1, ["2020-01-01 a"]))
    run.at(HOUR_MS - 1).commit(run.stage(2, ["2020-01-02 b"]))
    assert complete(base) == []
    run.at(HOUR_MS).commit([])
    assert complete(base) == ["day=2020-01-01"]
    assert lines(base, "day=2020-01-01") == ["2020-01-01 a"], "its open file is shown before the success file"
    assert lines(base, "day=2020-01-02") == []
    run.restart()
    run.at(2 * HOUR_MS - 1).commit([])
    assert complete(base) == ["day=2020-01-01", "day=2020-01-02"], "pending partitions are remembered"
    (base / "day=2020-01-01" / "_SUCCESS").unlink()
    run.commit(run.stage(3, ["2020-01-01 late"]))
    assert complete(base) == ["day=2020-01-02"]
    run.finish()
    assert complete(base) == ["day=2020-01-01", "day=2020-01-02"], "the end of the input completes all"


def staged_at(run: SinkRun, epoch: int, watermarks: list[int | None], values: list[str]) -> list[Committable]:
    """What the writers of all subtasks give in an epoch; the first one has the records."""
    run.parallelism = len(watermarks)
    found = []
    for subtask, watermark in enumerate(watermarks):
        writer = run.writer(epoch, subtask)
        if subtask == 0 and values:
            writer.write_batch(values, None)
        if watermark is not None:
            writer.write_watermark(watermark)
        found += [Committable(subtask, epoch, payload) for payload in writer.prepare_commit()]
    return found


def test_by_event_time_the_slowest_subtask_counts(tmp_path: Path) -> None:
    base = tmp_path / "out"
    day = 18262 * DAY_MS  # 2020-01-01
    told: list[Any] = []
    commit = PartitionCommit("partition-time", delay_ms=DAY_MS, timestamp_formatter="yyyy-MM-dd")
    run = SinkRun(sink_to(base, commit), tmp_path)
    assert told == []
    run.commit(staged_at(run, 1, [day, None], ["2020-01-01 a"]))
    run.commit(staged_at(run, 2, [day + DAY_MS, None], []))
    assert complete(base) == [], "a subtask has said nothing yet"
    run.commit(staged_at(run, 3, [day + 2 * DAY_MS, day + DAY_MS - 1], ["2020-01-02 b"]))
    assert complete(base) == []
    run.commit(staged_at(run, 4, [day + 2 * DAY_MS, day + DAY_MS], []))
    assert complete(base) == ["day=2020-01-01"]
    run.commit(staged_at(run, 5, [day + 3 * DAY_MS] * 3, []))  # another parallelism: all have to say it again
    assert complete(base) == ["day=2020-01-01", "day=2020-01-02"]


def test_a_callback_hears_of_each_partition(tmp_path: Path) -> None:
    base = tmp_path / "out"
    log = tmp_path / "log"

    def tell(partition: Any) -> None:
        with log.open("a") as file:
            file.write(f"{Path(partition.path).name} {partition.values}\n")

    run = SinkRun(sink_to(base, PartitionCommit(success_file=None, callback=tell)), tmp_path)
    run.commit(run.stage(1, ["2020-01-01 a", "2020-01-02 b"]))
    run.commit([])
    run.finish()
    assert log.read_text().splitlines() == [
        "day=2020-01-01 {'day': '2020-01-01'}",
        "day=2020-01-02 {'day': '2020-01-02'}",
    ]
    assert complete(base) == []


def test_a_crash_before_the_success_file_is_made_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "out"
    run = SinkRun(sink_to(base, PartitionCommit()), tmp_path)
    staged = run.stage(1, ["2020-01-01 a"])
    with monkeypatch.context() as patched:

        def crash(*_: Any) -> None:
            raise OSError("gone")

        patched.setattr(PartitionCommit, "commit", crash)
        with pytest.raises(OSError, match="gone"):
            run.commit(staged)
    assert complete(base) == []
    run.restart()
    run.commit(staged)
    assert complete(base) == ["day=2020-01-01"]
    assert lines(base, "day=2020-01-01") == ["2020-01-01 a"]


@pytest.mark.parametrize(
    ("options", "bucket", "moment"),
    [
        ({"timestamp_pattern": "$dt $hour:00:00"}, "dt=2020-01-02/hour=13", "2020-01-02T13:00:00+00:00"),
        ({}, "dt=2020-01-02", "2020-01-02T00:00:00+00:00"),
        ({"time_zone": "Europe/Berlin"}, "dt=2020-07-02", "2020-07-02T00:00:00+02:00"),
        ({"timestamp_formatter": "yyyyMMdd"}, "dt=20200102", "2020-01-02T00:00:00+00:00"),
    ],
)
def test_the_time_of_a_partition(options: Any, bucket: str, moment: str) -> None:
    wanted = datetime.datetime.fromisoformat(moment).timestamp() * 1000
    assert PartitionCommit("partition-time", **options).time_of(bucket) == wanted


def test_options_that_make_no_sense() -> None:
    for options in (
        {"trigger": "never"},
        {"delay_ms": -1},
        {"success_file": None},
        {"success_file": "a/b"},
        {"time_zone": "No/Where"},
        {"timestamp_formatter": "yyyy-QQ"},
    ):
        with pytest.raises(ConfigurationError):
            PartitionCommit(**options)  # type: ignore[arg-type]
    timed = PartitionCommit("partition-time", timestamp_pattern="$dt $hour")
    for bucket in ("plain", "dt=2020-01-01", "dt=x/hour=y"):
        with pytest.raises(FiresteelError, match=r"partition|bucket"):
            timed.time_of(bucket)


class Stamp(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(datetime.datetime.fromisoformat(value[:10] + "+00:00").timestamp() * 1000)


class ByDay(BucketAssigner):
    def get_bucket_id(self, element: Any, context: Any) -> str:
        return f"day={element[:10]}"


def test_in_a_job_all_partitions_are_complete_at_its_end(tmp_path: Path) -> None:
    base = tmp_path / "out"
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(0))
    days = [f"2020-01-{day:02d} {i}" for day in range(1, 4) for i in range(10)]
    sink = (
        FileSink.for_row_format(str(base), Encoder.simple_string_encoder())
        .with_bucket_assigner(ByDay())
        .with_partition_commit(PartitionCommit("partition-time", delay_ms=DAY_MS))
        .build()
    )
    with MiniCluster.in_process():
        stream = env.from_collection(days, type_info=Types.STRING()).rebalance()
        stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Stamp())).sink_to(sink)
        env.execute()
    assert complete(base) == [f"day=2020-01-0{day}" for day in (1, 2, 3)]
    assert sorted(line for path in base.glob("*/part-*") for line in path.read_text().splitlines()) == sorted(
        days
    )
