"""How an operator is named whose state is read or written (Flink: ``OperatorIdentifier``)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from firesteel.common.errors import ProgramError
from firesteel.graph.uids import operator_id_of_uid

_HASH = re.compile(r"[0-9A-Fa-f]{32}")


@dataclass(frozen=True, slots=True)
class OperatorIdentifier:
    """An operator by its uid, or by its id: the 32 hexadecimal digits that logs and plans show.

    >>> OperatorIdentifier.for_uid("counts").id == OperatorIdentifier.of("counts").id
    True
    """

    id: str
    uid: str | None = None

    @staticmethod
    def for_uid(uid: str) -> OperatorIdentifier:
        if not isinstance(uid, str) or not uid:
            raise ProgramError("The uid of an operator is a text that is not empty.", detail=f"got {uid!r}")
        return OperatorIdentifier(operator_id_of_uid(uid), uid)

    @staticmethod
    def for_uid_hash(uid_hash: str) -> OperatorIdentifier:
        if not isinstance(uid_hash, str) or not _HASH.fullmatch(uid_hash):
            raise ProgramError(
                "The id of an operator has 32 hexadecimal digits.",
                detail=f"got {uid_hash!r}",
                hint="firesteel savepoint inspect shows the ids; to name a uid use for_uid",
            )
        return OperatorIdentifier(uid_hash.lower())

    @staticmethod
    def of(operator: OperatorIdentifier | str) -> OperatorIdentifier:
        """What was given itself, or the operator whose uid it is."""
        return operator if isinstance(operator, OperatorIdentifier) else OperatorIdentifier.for_uid(operator)

    @staticmethod
    def of_text(text: str) -> OperatorIdentifier:
        """As people write it: an id where the text looks like one, else a uid."""
        is_id = _HASH.fullmatch(text) is not None
        return OperatorIdentifier.for_uid_hash(text) if is_id else OperatorIdentifier.for_uid(text)

    def __str__(self) -> str:
        return f"uid {self.uid!r}" if self.uid else f"id {self.id}"
