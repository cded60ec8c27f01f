"""Jobs that are handed in: what a client sends, and what it asks for later. Not of Flink's API."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from firesteel.jobmanager.job_view import VertexInfo
from firesteel.rest.messages.base import Id, Message, Text
from firesteel.rest.messages.jobs import FailureCause

Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
#: Of a file: never a path.
FileName = Annotated[str, msgspec.Meta(pattern=r"^[^/\\\x00]{1,200}$")]
FileKind = Literal["code", "module", "archive", "requirements", "packages", "cached"]


class ShippedFile(Message, frozen=True):
    """A file that a job needs; its content is a blob.

    :param kind: ``code``: an archive with the modules of the program; ``module``: something to import;
        ``archive``: to be unpacked in ``target``; ``requirements``, and the ``packages`` downloaded for them
        (an archive); ``cached``: a file that functions find by its name.
    """

    name: FileName
    digest: Digest
    kind: FileKind
    target: FileName | None = None
    executable: bool = False


class Submission(Message, frozen=True):
    """A job.

    :param program: the blob with the graph and the functions.
    :param vertices: of the job graph, as far as the client knows it: so slots and plan are known before the
        job runs.
    :param script: the name of the program's file in the archive of its modules.
    :param collects: ids of the sinks whose records the client fetches.
    :param client_timeout_ms: the job is cancelled when its client says nothing for so long; None: it needs
        none.
    """

    job_id: Id
    name: Text
    program: Digest
    batch: bool = False
    vertices: tuple[VertexInfo, ...] = ()
    settings: dict[str, str] = {}
    files: tuple[ShippedFile, ...] = ()
    script: FileName | None = None
    collects: tuple[Id, ...] = ()
    client_timeout_ms: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Submitted(Message, frozen=True):
    jobid: Id


class Missing(Message, frozen=True):
    """``digests``: the blobs that have to be handed in first."""

    digests: list[str]


class Wanted(Message, frozen=True):
    digests: Annotated[list[Digest], msgspec.Meta(max_length=10_000)]


class JobEnd(Message, frozen=True):
    """How a job has ended. ``status`` of a job that has not is the present one, and the rest is absent.

    :param accumulators: base64 of the accumulators as checkpoints have them.
    """

    status: str
    ended: bool
    runtime_ms: int = 0
    accumulators: str = ""
    failure_cause: FailureCause | UnsetType = UNSET


class Collected(Message, frozen=True):
    """Records that a job has collected.

    :param generation: another one than before: the job has begun again in a new process.
    :param first: the number of the first of the batches.
    :param batches: base64 of blocks of records.
    :param ended: there are no more after these.
    """

    generation: int
    first: int
    batches: list[str]
    ended: bool
