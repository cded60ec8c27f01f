"""What ``firesteel run`` reports about jobs: a line when one starts, and a progress line on a terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from firesteel.jobmanager.job_view import JobView

_AFTER_S: Final = 3.0  # jobs shorter than this get no line
_EVERY_S: Final = 1.0


def announce_jobs() -> None:
    """Print the name of each job that starts, and where the engine's log is, to standard error."""
    from firesteel.jobmanager.executor import executor

    executor.on_start = _announce


def _announce(job: JobView, engine_log: Path | None) -> None:
    where = "" if engine_log is None else f"; Spark's log: {engine_log}"
    click.echo(f"Job {job.name!r} has been submitted with JobID {job.job_id}{where}", err=True)


@contextmanager
def progress_line(enabled: bool) -> Iterator[None]:
    """Show the progress of the running jobs on standard error, if that is a terminal."""
    if not (enabled and sys.stderr.isatty()):
        yield
        return
    stop = threading.Event()
    thread = threading.Thread(target=_show, args=(stop,), daemon=True, name="firesteel-progress")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _show(stop: threading.Event) -> None:
    from firesteel.jobmanager.executor import executor

    begun = time.monotonic()
    shown = False
    while not stop.wait(_EVERY_S):
        if time.monotonic() - begun < _AFTER_S:
            continue
        lines = [_line(job.view) for job in executor.running_jobs]
        sys.stderr.write("\r\x1b[K" + (" | ".join(lines) or "no job is running"))
        sys.stderr.flush()
        shown = True
    if shown:
        sys.stderr.write("\r\x1b[K")


def _line(job: JobView) -> str:
    elapsed_s = max(0.001, time.time() - job.started_ms / 1000)
    return (
        f"{job.name}: {job.status.name}, epoch {job.epoch:,}, "
        f"{job.records_read:,} records read, {job.records_read / elapsed_s:,.0f}/s"
    )
