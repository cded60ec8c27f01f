"""The archive of one ended job as Flink writes it: answers of the REST API by their paths, in one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from firesteel.common.errors import StateCorruptionError
from firesteel.common.masking import masked
from firesteel.jobmanager.job_view import JobView

#: Where an archive of ours has the view of the job, from which every answer can be made again. Other programs
#: take it for one more answer.
VIEW: Final = "/firesteel/v1/archived-job"


class _Entry(msgspec.Struct, frozen=True):
    path: str
    json: str


class _File(msgspec.Struct, frozen=True):
    archive: list[_Entry]


class ArchivedJob(msgspec.Struct, frozen=True):
    """The last view of a job, packed, and its accumulators as text."""

    view: bytes
    accumulators: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Archive:
    """:param answers: JSON by path; a path begins with a slash and has no version."""

    answers: Mapping[str, str]

    def encode(self) -> bytes:
        return msgspec.json.encode(_File([_Entry(path, json) for path, json in self.answers.items()]))

    @staticmethod
    def decode(data: bytes) -> Archive:
        """
        :raises StateCorruptionError: it is not an archive of a job.
        """
        try:
            found = msgspec.json.decode(data, type=_File)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as e:
            raise StateCorruptionError("The file is not an archive of a job", detail=masked(str(e))) from e
        return Archive({entry.path: entry.json for entry in found.archive})

    def job(self) -> tuple[JobView, dict[str, str]] | None:
        """The view and the accumulators of a job of Firesteel; None: another program has written the archive,
        or a Firesteel whose views are different."""
        text = self.answers.get(VIEW)
        if text is None:
            return None
        try:
            kept = msgspec.json.decode(text, type=ArchivedJob)
            return msgspec.msgpack.decode(kept.view, type=JobView), kept.accumulators
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
