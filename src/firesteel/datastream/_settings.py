"""What can be set on an operator after it was made: name, uid, parallelism, chaining, slot sharing group."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Self

from firesteel.common.errors import ProgramError
from firesteel.datastream.slot_sharing_group import SlotSharingGroup
from firesteel.program.checks import WrongArgumentError, require_id, require_int, require_text
from firesteel.program.transformations import (
    VIRTUAL,
    ChainingStrategy,
    SourceTransformation,
    Transformation,
)

if TYPE_CHECKING:
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment

MAX_PARALLELISM = 1 << 15
_UID_HASH = re.compile(r"[0-9a-f]{32}")


class OperatorSettings:
    """Settings that streams and sinks have in common. Every method returns the stream or sink itself."""

    _kind: ClassVar[str] = "stream"
    _env: StreamExecutionEnvironment
    _transformation: Transformation

    def _operator(self, setting: str) -> Transformation:
        """The operator that a setting applies to."""
        transformation = self._transformation
        if isinstance(transformation, VIRTUAL):
            raise ProgramError(
                f"The {setting} cannot be set here.",
                operator=transformation.name,
                detail="a partitioning or union is a property of the edges and not an operator",
                hint=f"set the {setting} on the operator before or after it",
            )
        return transformation

    def name(self, name: str) -> Self:
        """Set the name that plans, logs and the dashboard show."""
        operator = self._operator("name")
        operator.name = require_id(name, "name", operator.name)
        return self

    def uid(self, uid: str) -> Self:
        """Set the id that a savepoint finds the operator again by. Unique in the job."""
        operator = self._operator("uid")
        self._env._register_uid(require_id(uid, "uid", operator.name), operator)
        operator.uid = uid
        return self

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Set the hash of the id itself: 32 hexadecimal digits, for operators of older jobs."""
        operator = self._operator("uid hash")
        if not isinstance(uid_hash, str) or not _UID_HASH.fullmatch(uid_hash):
            raise WrongArgumentError(
                "A uid hash is 32 hexadecimal digits in lower case.",
                operator=operator.name,
                detail=f"got {uid_hash!r}",
                hint="use uid() for a name of your own",
            )
        operator.uid_hash = uid_hash
        return self

    def set_parallelism(self, parallelism: int) -> Self:
        """Set the number of subtasks of this operator."""
        operator = self._operator("parallelism")
        require_int(parallelism, "parallelism", 1, MAX_PARALLELISM, operator.name)
        if isinstance(operator, SourceTransformation) and operator.source.max_parallelism is not None:
            limit: int | None = operator.source.max_parallelism
        else:
            limit = operator.max_parallelism
        if limit is not None and parallelism > limit:
            raise ProgramError(
                f"The parallelism of this operator must not be larger than {limit}.",
                operator=operator.name,
                detail=f"got {parallelism}",
                hint="it cannot be read or run by more subtasks; spread its output with rebalance()",
            )
        operator.parallelism = parallelism
        return self

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Set the upper limit of the parallelism, which is the number of key groups of keyed state."""
        operator = self._operator("max parallelism")
        require_int(max_parallelism, "max parallelism", 1, MAX_PARALLELISM, operator.name)
        if operator.non_parallel and max_parallelism > 1:
            raise ProgramError(
                "The max parallelism of this operator must be 1.",
                operator=operator.name,
                detail=f"got {max_parallelism}",
                hint="it sees all records and so runs in one subtask; spread its output with rebalance()",
            )
        if operator.parallelism is not None and operator.parallelism > max_parallelism:
            raise ProgramError(
                "The max parallelism must not be smaller than the parallelism.",
                operator=operator.name,
                detail=f"{max_parallelism} is less than {operator.parallelism}",
            )
        if (
            isinstance(operator, SourceTransformation)
            and operator.source.max_parallelism is not None
            and max_parallelism > operator.source.max_parallelism
        ):
            raise ProgramError(
                f"The max parallelism of this source must be {operator.source.max_parallelism}.",
                operator=operator.name,
                detail=f"got {max_parallelism}",
            )
        operator.max_parallelism = max_parallelism
        return self

    def set_description(self, description: str) -> Self:
        """Set the long text that plans and the dashboard show."""
        operator = self._operator("description")
        operator.description = require_text(description, "description", operator.name)
        return self

    def disable_chaining(self) -> Self:
        """Do not chain this operator to its neighbours."""
        self._operator("chaining").chaining = ChainingStrategy.NEVER
        return self

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Put the operator into a slot sharing group; without one it inherits the group of its inputs."""
        operator = self._operator("slot sharing group")
        if isinstance(slot_sharing_group, SlotSharingGroup):
            self._env.register_slot_sharing_group(slot_sharing_group)
            operator.slot_sharing_group = slot_sharing_group.get_name()
        else:
            operator.slot_sharing_group = require_text(
                slot_sharing_group, "slot sharing group", operator.name
            )
        return self


class StreamSettings(OperatorSettings):
    """Settings that only streams have."""

    def get_name(self) -> str:
        """The name of the operator that makes this stream."""
        return self._operator("name").name

    def force_non_parallel(self) -> Self:
        """Run this operator with one subtask; a larger parallelism is refused from then on."""
        operator = self._operator("parallelism")
        operator.parallelism = 1
        operator.max_parallelism = 1
        operator.non_parallel = True
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Flink: how long records may wait in a buffer that is not full, in milliseconds; -1: the default.

        All operators of a job have the timeout of the environment, so this has no effect, and the job says
        so.
        """
        operator = self._operator("buffer timeout")
        operator.buffer_timeout_ms = require_int(timeout_millis, "buffer timeout", -1, None, operator.name)
        return self

    def start_new_chain(self) -> Self:
        """Do not chain this operator to its input; its consumers may still be chained to it."""
        self._operator("chaining").chaining = ChainingStrategy.HEAD
        return self
