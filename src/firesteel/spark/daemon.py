"""The process that forks the Python workers of a local session, with what all of them need imported already.

PySpark's daemon forks a bare interpreter, so each worker imports the engine on its own. That takes most of a
second of CPU, and a job that starts, or starts again after a failure, pays it for each of its tasks. Here it
is done once, before the first fork, and the workers share the memory of what was imported.

PySpark imports nothing before it forks because a library may start threads, which a fork does not copy. Of
those that are imported here one would: an allocator of pyarrow, which is told not to.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import zipimport
from collections.abc import Callable
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary

#: Serves the tasks that come over a socket; returns the exit code. The second argument: whether it may.
Worker: TypeAlias = Callable[[Any, bool], int]

_NEEDED: Final = (
    "pyspark.worker",
    "firesteel.spark.epoch",
    "firesteel.spark.worker_pool",
    "firesteel.spark.realtime",
    "firesteel.runtime.building",
    "firesteel.runtime.operators.keyed",
    "firesteel.runtime.operators.stateless",
)
_ALLOCATOR: Final = "JE_ARROW_MALLOC_CONF", "background_thread:false"
_CHANCE: Final = "numpy.random"


def prepare() -> None:
    """Import what all workers need, and let each draw random numbers of its own."""
    os.environ.setdefault(*_ALLOCATOR)
    for module in _NEEDED:
        importlib.import_module(module)
    _read_archives_once()
    os.register_at_fork(after_in_child=_draw_anew)
    gc.collect()
    gc.freeze()  # a collection in a worker would write to these pages, and so copy them


def _read_archives_once() -> None:
    """Let Python read the directory of an archive again only where the archive has changed.

    A worker begins with a folder more to import from, and then PySpark has Python forget what it knows of
    all. Up to Python 3.12 that is to read the directory of its archive for each package that came from one,
    Spark's jars among them: 18 times, some 50 ms.
    """
    read_again = zipimport.zipimporter.invalidate_caches
    known: WeakKeyDictionary[zipimport.zipimporter, tuple[int, int]] = WeakKeyDictionary()

    def invalidate_caches(self: zipimport.zipimporter) -> None:
        try:
            found = os.stat(self.archive)
        except OSError:
            read_again(self)
            return
        version = found.st_mtime_ns, found.st_size
        if known.get(self) != version:
            read_again(self)
            known[self] = version

    zipimport.zipimporter.invalidate_caches = invalidate_caches  # type: ignore[method-assign]
    importlib.invalidate_caches()  # so that all are known before the first worker is forked


def _draw_anew() -> None:
    """Seed the generator that numpy shares among its functions: all workers would draw the same numbers.

    Python's own does so by itself.
    """
    chance = sys.modules.get(_CHANCE)
    if chance is not None:
        chance.seed()


def tolerant(worker: Worker) -> Worker:
    """A worker whose JVM has ended its task, or has died, has nobody to tell: PySpark prints where it was."""

    def serve(socket: Any, authenticated: bool) -> int:
        try:
            return worker(socket, authenticated)
        except (BrokenPipeError, ConnectionResetError):
            return 1

    return serve


def main() -> None:
    """Run a pool of workers, or PySpark's daemon where the session is of another kind than ours."""
    prepare()
    from pyspark import daemon

    from firesteel.spark.worker_pool import knows_this_spark, serve

    run_task = tolerant(daemon.worker)
    if knows_this_spark():
        serve(run_task)
    else:
        daemon.worker = run_task  # type: ignore[assignment]  # what forked processes call
        daemon.manager()


if __name__ == "__main__":
    main()
