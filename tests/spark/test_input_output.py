"""Sources and sinks on Spark, end to end: files, a socket, a watched directory, generated records."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from firesteel.common import Duration, Encoder, Types, WatermarkStrategy
from firesteel.common.job_status import JobStatus
from firesteel.datastream import DataStream, StreamExecutionEnvironment
from firesteel.datastream.connectors import (
    DataGeneratorSource,
    FileSink,
    FileSource,
    OutputFileConfig,
    RateLimiterStrategy,
    RollingPolicy,
    StreamFormat,
)
from firesteel.program.execution import get_executor
from tests.spark.conftest import MakeEnvironment
from tests.waiting import patience, until

pytestmark = pytest.mark.spark


def write_to(stream: DataStream, folder: Path, policy: RollingPolicy | None = None) -> None:
    builder = FileSink.for_row_format(str(folder), Encoder.simple_string_encoder())
    config = OutputFileConfig.builder().with_part_prefix("out").with_part_suffix(".txt").build()
    builder = builder.with_output_file_config(config)
    if policy is not None:
        builder = builder.with_rolling_policy(policy)
    stream.sink_to(builder.build())


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def visible_lines(folder: Path) -> list[str]:
    """What a reader sees at this moment: hidden names left out."""
    lines: list[str] = []
    for path in files_of(folder):
        if not any(part.startswith(".") for part in path.relative_to(folder).parts):
            text = path.read_text()
            assert text.endswith("\n"), f"{path} is not whole"
            lines += text.splitlines()
    return lines


def running(env: StreamExecutionEnvironment) -> Iterator[Callable[[], JobStatus]]:
    client = env.execute_async()
    try:
        yield lambda: client.get_job_status().result()
    finally:
        client.cancel().result(patience(60))
        assert client.get_job_status().result() is JobStatus.CANCELED


running_job = contextmanager(running)


def test_part_files_are_whole_and_each_record_is_in_one(environment: MakeEnvironment, tmp_path: Path) -> None:
    env = environment(2, epoch_records=1000)
    stream = env.from_sequence(0, 9999).map(lambda v: f"line {v:06d}", Types.STRING())
    small = RollingPolicy.default_rolling_policy(
        part_size=20_000, rollover_interval=3_600_000, inactivity_interval=3_600_000
    )
    write_to(stream, tmp_path / "out", small)
    env.execute("to files")
    files = files_of(tmp_path / "out")
    assert len(files) > 4, "the files were rolled"
    assert all(path.name.startswith("out-") and path.suffix == ".txt" for path in files), (
        "nothing hidden is left"
    )
    assert sorted(visible_lines(tmp_path / "out")) == [f"line {v:06d}" for v in range(10_000)]
    assert not list(tmp_path.rglob(".*"))


def test_no_record_is_seen_before_its_epoch_is_committed(
    environment: MakeEnvironment, tmp_path: Path
) -> None:
    """A job that fails in its fourth epoch shows what the first three wrote, at most."""

    def check(value: int) -> str:
        if value == 3500:
            raise ValueError(value)
        return str(value)

    env = environment(1, epoch_records=1000)
    stream = env.from_collection(range(10_000), Types.LONG()).map(check, Types.STRING())
    write_to(stream, tmp_path / "out", RollingPolicy.on_checkpoint_rolling_policy())
    with pytest.raises(Exception, match="3500"):
        env.execute("fails")
    seen = sorted(map(int, visible_lines(tmp_path / "out")))
    assert seen == list(range(3000))


def test_a_socket(environment: MakeEnvironment, tmp_path: Path) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    more = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"to be or\nnot ")
            more.wait(patience(60))
            connection.sendall(b"to be\nthat is")

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    env = environment(2)
    words = env.socket_text_stream("127.0.0.1", listener.getsockname()[1]).flat_map(str.split, Types.STRING())
    counts = words.map(lambda w: (w, 1)).key_by(lambda p: p[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    found = []
    for pair in counts.execute_and_collect():
        found.append(pair)
        if len(found) == 3:
            more.set()  # the first line came out while the connection was open
    server.join(patience(10))
    listener.close()
    assert sorted(found[:3]) == [("be", 1), ("or", 1), ("to", 1)]
    assert sorted(found[3:]) == [("be", 2), ("is", 1), ("not", 1), ("that", 1), ("to", 2)]


def test_a_watched_directory(environment: MakeEnvironment, tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    (folder / "one").write_text("a\nb\n")
    env = environment(2)
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
    source = builder.monitor_continuously(Duration.of_millis(200)).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "watched")
    write_to(stream, out, RollingPolicy.on_checkpoint_rolling_policy())
    with running_job(env) as status:
        until(lambda: sorted(visible_lines(out)) == ["a", "b"], "the first file")
        (tmp_path / "two").write_text("c\n")
        (tmp_path / "two").rename(folder / "two")
        until(lambda: sorted(visible_lines(out)) == ["a", "b", "c"], "the new file")
        time.sleep(1)
        assert sorted(visible_lines(out)) == ["a", "b", "c"], "each file is read once"
        assert status() is JobStatus.RUNNING


def test_generated_records_keep_their_rate(environment: MakeEnvironment) -> None:
    """Each record has the time at which its source emitted it. A busy machine makes it later, never earlier,
    so the rate counts from before the job. Each epoch reads what is due when it begins: no more, no less."""
    env = environment(2, epoch_records=1_000, **{"firesteel.epoch.time-limit": "false"})
    warm_up = env.from_sequence(1, 2).map(lambda i: i)
    assert sorted(warm_up.execute_and_collect()) == [1, 2], "starting the workers would be one long epoch"
    source = DataGeneratorSource(lambda i: i, 300, RateLimiterStrategy.per_second(100), Types.LONG())
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "generated")
    begun = time.monotonic()
    results = stream.map(lambda i: (i, time.monotonic() - begun)).execute_and_collect()
    (job,) = get_executor().running_jobs
    records = list(results)
    assert sorted(i for i, _ in records) == list(range(300))
    times = sorted(emitted for _, emitted in records)
    early = [(n, emitted) for n, emitted in enumerate(times) if emitted < n / 100]
    assert not early, "more than 100 a second"
    reports = job.view.reports
    for number, report in enumerate(reports):
        read = sum(r.records for r in reports[: number + 1])
        due = min(300, (report.started_ms - reports[0].started_ms) / 10)
        assert due - 3 <= read <= due + 3, "they come evenly"
