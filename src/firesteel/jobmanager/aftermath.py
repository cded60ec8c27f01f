"""What is left to do of a job that has ended, when its driver died before it had done it.

A job ends in steps: its sinks show all that they have, its end is recorded, the sinks remove what only a
driver would need that goes on with it, and so do the checkpoints. Once the end is recorded nobody goes on
with the job: who is started for it finds its result, and does the steps that are left. Checkpoints go last,
for the newest one holds what the sinks must know.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from firesteel.common.clock import Clock
from firesteel.common.configuration import Configuration
from firesteel.common.job_id import JobID
from firesteel.common.logs import logger
from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.checkpoints.options import checkpoint_options, recovery_options
from firesteel.jobmanager.checkpoints.storage import CheckpointDirectory, is_disposed
from firesteel.jobmanager.closing import close_all
from firesteel.jobmanager.commits import Patience
from firesteel.jobmanager.continuity import coordinator_of, take_over
from firesteel.jobmanager.epochs import EpochEngine
from firesteel.jobmanager.sinks import JobSinks
from firesteel.state.files import StateFiles
from firesteel.state.untrusted import require_plain
from firesteel.storage.filesystems import join

log = logger(__name__)


def clean_up_after(
    job_id: JobID,
    graph: JobGraph,
    configuration: Configuration,
    clock: Clock,
    engine: Callable[[], EpochEngine],
) -> None:
    """The job has finished and its result is kept; what cannot be removed is logged."""
    options = checkpoint_options(configuration, batch=graph.batch)
    if options.directory is None:
        return
    try:
        if is_disposed(join(options.directory, str(job_id))):
            return
        log.warning("the job has ended, and its driver has left files, which are removed job=%s", job_id)
        directory = CheckpointDirectory(options.directory, str(job_id), keeps_result=True)
        files = StateFiles(directory.state_root)
        coordinator = coordinator_of(options, directory, files, clock)
        manifest = take_over(coordinator, directory)
        if manifest is not None:
            if recovery_options(configuration).untrusted:
                require_plain(manifest, files)
            sinks = JobSinks(graph, str(job_id), Patience(clock, threading.Event()), engine().do)
            sinks.resume(manifest.sinks)
            close_all([*sinks.cleaning_up, *sinks.closing], job_id)
        coordinator.dispose()
    except Exception as error:  # the job has its result, whatever becomes of the rest
        log.warning("what is left of the job is not removed job=%s: %s", job_id, error)
