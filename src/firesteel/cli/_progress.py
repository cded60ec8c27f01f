"""What ``firesteel run`` says of jobs: a line when one starts, a progress line on a terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

_AFTER_S: Final = 3.0  # short work needs no line
_EVERY_S: Final = 1.0


def announce_jobs() -> None:
    """Say of each job that starts what it is called and where the engine's log is, on standard error."""
    from firesteel.jobmanager.executor import executor

    executor.on_start = _announce


def _announce(master: Any, engine_log: Path | None) -> None:
    where = "" if engine_log is None else f"; Spark's log: {engine_log}"
    click.echo(f"Job {master.graph.name!r} has been submitted with JobID {master.job_id}{where}", err=True)


@contextmanager
def progress_line(enabled: bool) -> Iterator[None]:
    """Show how far the running jobs are, on standard error, when that is a terminal."""
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
        lines = [_line(master) for master in executor.running_masters()]
        sys.stderr.write("\r\x1b[K" + (" | ".join(lines) or "no job is running"))
        sys.stderr.flush()
        shown = True
    if shown:
        sys.stderr.write("\r\x1b[K")


def _line(master: Any) -> str:
    progress = master.progress
    elapsed_s = max(0.001, time.time() - master.started_ms / 1000)
    return (
        f"{master.graph.name}: {master.status.name}, epoch {progress.epochs:,}, "
        f"{progress.records_read:,} records read, {progress.records_read / elapsed_s:,.0f}/s"
    )
