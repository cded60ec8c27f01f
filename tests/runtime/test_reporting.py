"""What a task says of the process that it runs in."""

import multiprocessing
import os
from multiprocessing.connection import Connection

from firesteel.runtime.reporting import process_report


def test_a_process_that_was_forked_speaks_of_itself() -> None:
    """What is known of a process is kept for a second; Spark's daemon forks workers at any moment of it."""
    assert process_report().pid == os.getpid()
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_say_pid, args=(theirs,))
    child.start()
    assert ours.recv() == child.pid
    child.join()


def _say_pid(to: Connection) -> None:
    to.send(process_report().pid)
