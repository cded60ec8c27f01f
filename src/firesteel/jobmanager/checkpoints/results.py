"""What is kept of a job that has ended, so that nobody runs it again (Flink: ``JobResultStore``).

A result is written in one atomic step before anything of the job is removed. From then on the job has ended,
however far the removal gets: its checkpoints are none that a driver could go on from.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from firesteel.common.errors import FiresteelError, StateCorruptionError
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.checkpoints import accumulators as stored_accumulators
from firesteel.storage.filesystems import join, resolve

RESULT: Final = "_result"


class JobResult(msgspec.Struct, frozen=True):
    """:param status: the name of the terminal status.
    :param accumulators: as in a manifest.
    """

    job_id: str
    job_name: str
    status: str
    runtime_ms: int
    accumulators: bytes

    @property
    def finished(self) -> bool:
        return self.status == JobStatus.FINISHED.name

    def execution_result(self) -> JobExecutionResult:
        found = stored_accumulators.unpack(self.accumulators)
        values = {name: accumulator.get_local_value() for name, accumulator in found.items()}
        return JobExecutionResult(JobID(self.job_id), self.runtime_ms, values)


def result_of(
    job_id: JobID, job_name: str, status: JobStatus, runtime_ms: int, accumulators: dict[str, Any]
) -> JobResult:
    return JobResult(str(job_id), job_name, status.name, runtime_ms, stored_accumulators.pack(accumulators))


class JobFinishedBeforeError(FiresteelError):
    """A job of this id has finished, so there is nothing to run. ``result``: what it ended with."""

    def __init__(self, result: JobResult, where: str) -> None:
        super().__init__(
            f"Job {result.job_id} ({result.job_name!r}) has finished already.",
            detail=f"its result is {where}",
            hint="to run the program once more give it another job id",
        )
        self.result = result


def encode_result(result: JobResult) -> bytes:
    return msgspec.json.encode(result)


def read_result(job_root: str) -> JobResult | None:
    """The result of the job whose directory this is; None: it has not ended.

    :raises StateCorruptionError: the file is damaged.
    """
    storage, root = resolve(job_root)
    path = join(root, RESULT)
    if storage.info(path) is None:
        return None
    with storage.open_input(path) as stream:
        data = stream.read()
    try:
        return msgspec.json.decode(data, type=JobResult)
    except msgspec.MsgspecError as error:
        raise StateCorruptionError(
            f"The result of a job {path} is damaged: {error}.",
            hint="remove the file if the job is to go on or to start again, whatever it has committed",
        ) from error
