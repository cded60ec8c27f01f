"""Savepoints from DataFrames, and changed savepoints (Flink: ``SavepointWriter``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Self

import msgspec

from firesteel.common._type_text import shown_type, type_text
from firesteel.common.clock import SystemClock
from firesteel.common.errors import ProgramError, StateError
from firesteel.common.job_id import JobID
from firesteel.common.key_groups import key_group_range
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, StateDescriptor
from firesteel.jobmanager.checkpoints.storage import METADATA
from firesteel.jobmanager.shipping import parcel
from firesteel.program.checks import require_int
from firesteel.runtime.program import OperatorProgram
from firesteel.spark.parts import default_parts, do_parts, gather, session_for, time_zone
from firesteel.state._column import column_id
from firesteel.state.canonical import empty_line
from firesteel.state.catalog import CatalogEntry
from firesteel.state.files import StateFiles
from firesteel.state.line import StateLine
from firesteel.state.manifest import Manifest, OperatorEntry, SubtaskEntry, VertexEntry, encode_manifest
from firesteel.state_processor import _plain
from firesteel.state_processor._bootstrapping import Bootstrap
from firesteel.state_processor._dealing import Dealing
from firesteel.state_processor._identifier import OperatorIdentifier
from firesteel.state_processor._snapshot import Snapshot, StoredOperator
from firesteel.state_processor._tasks import Rewriting, deal, line_of, rewrite, run
from firesteel.state_processor._transformation import StateBootstrapTransformation
from firesteel.storage.filesystems import join, resolve_private

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SavepointWriter"]

Operator = OperatorIdentifier | str
#: The number of key groups of a job that sets none (Flink's lower bound).
_MAX_PARALLELISM = 128
_TIMERS = ("_timer_state/event_user-timers", "_timer_state/processing_user-timers")


@dataclass(slots=True)
class _Target:
    """An operator of the savepoint that is to be written.

    :param kept: where it has state from already, None: it is new.
    :param dropped: column ids of what is not kept of that.
    :param made: what makes more of its state.
    """

    entry: OperatorEntry
    max_parallelism: int
    parallelism: int
    kept: StoredOperator | None = None
    dropped: set[bytes] = field(default_factory=set)
    made: list[StateBootstrapTransformation] = field(default_factory=list)

    def drop(self, *names: str) -> None:
        if self.kept is not None:
            self.dropped.update(column_id(self.kept.entry.id, name) for name in names)

    def require_key_type(self, key_type: TypeInformation | None) -> None:
        """All state of an operator has the same keys.

        :raises StateError: what is kept has others.
        """
        text = type_text(key_type or Types.PICKLED_BYTE_ARRAY())
        for state in self.becomes.values():
            if state.key and state.key != text:
                raise StateError(
                    f"State {state.name!r} has keys of type {shown_type(state.key)}, and what is written "
                    f"has keys of type {shown_type(text)}.",
                    hint="pass the key_type of the job; to change it write all states of the operator anew",
                    uid=self.entry.uid,
                )

    @property
    def becomes(self) -> dict[bytes, CatalogEntry]:
        """What is kept: column id -> the state that it becomes."""
        states = self.kept.states if self.kept is not None else {}
        return {
            column: msgspec.structs.replace(state, uid=self.entry.id)
            for column, state in states.items()
            if column not in self.dropped
        }


class SavepointWriter:
    """Says what a savepoint is to hold; ``write`` writes it. State is made, copied and changed by Spark's
    executors, the driver writes the manifest.

    An operator is named by its uid or by an ``OperatorIdentifier``.
    """

    def __init__(
        self,
        base: Snapshot | None,
        spark: SparkSession | None,
        max_parallelism: int,
        parallelism: int | None,
    ) -> None:
        self._base = base
        self._spark = spark
        self._max_parallelism = max_parallelism
        self._parallelism = parallelism
        self._sources: dict[str, bytes] = dict(base.manifest.sources) if base else {}
        self._sinks: dict[str, bytes] = dict(base.manifest.sinks) if base else {}
        self._targets: dict[str, _Target] = {}
        for operator in base.operators.by_id.values() if base else ():
            target = _Target(operator.entry, operator.max_parallelism, len(operator.lines), operator)
            self._targets[operator.entry.id] = target

    @staticmethod
    def new_savepoint(
        max_parallelism: int = _MAX_PARALLELISM,
        *,
        parallelism: int | None = None,
        spark: SparkSession | None = None,
    ) -> SavepointWriter:
        """A savepoint of operators that have no state yet.

        :param max_parallelism: that of the job that begins with it; it cannot change later.
        :param parallelism: in how many parts state is written; a job may have any parallelism. None: as many
            as Spark has cores.
        """
        require_int(max_parallelism, "max_parallelism", 1, 1 << 15)
        if parallelism is not None:
            require_int(parallelism, "parallelism", 1, max_parallelism)
        return SavepointWriter(None, spark, max_parallelism, parallelism)

    @staticmethod
    def from_existing_savepoint(
        path: str, spark: SparkSession | None = None, *, untrusted: bool = False
    ) -> SavepointWriter:
        """A savepoint like another one, or like a checkpoint: what is not changed is copied, the progress of
        sources too.

        :param untrusted: it may come from anybody: all of it is looked through first (``docs/security.md``).
        :raises PathNotFoundError: there is none.
        :raises StateCorruptionError: it is damaged.
        :raises StateError: it is not trusted, and holds more than plain data.
        """
        base = Snapshot(path, untrusted=untrusted)
        keyed = [
            o.max_parallelism for o in base.operators.by_id.values() if any(s.key for s in o.states.values())
        ]
        return SavepointWriter(base, spark, max(keyed, default=_MAX_PARALLELISM), None)

    # ---- operators

    def with_operator(self, operator: Operator, transformation: StateBootstrapTransformation) -> Self:
        """Give an operator the state that ``transformation`` makes.

        :raises ProgramError: the savepoint holds state of the operator already.
        """
        if not isinstance(transformation, StateBootstrapTransformation):
            raise ProgramError(
                "The state of an operator is made by a transformation.",
                detail=f"got {transformation!r}",
                hint="OperatorTransformation.bootstrap_with(frame)...transform(function)",
            )
        target = self._target(operator)
        if target.made or target.becomes:
            raise ProgramError(
                f"The operator with the {OperatorIdentifier.of(operator)} has state already.",
                hint="call remove_operator(...) first, or replace single states: with_keyed_state(...)",
            )
        target.made.append(transformation)
        return self

    def remove_operator(self, operator: Operator) -> Self:
        """Leave an operator out, with its progress where it is a source."""
        wanted = self._known(operator)
        del self._targets[wanted.id]
        self._sources.pop(wanted.id, None)
        self._sinks.pop(wanted.id, None)
        return self

    def change_operator_identifier(self, old: Operator, new: Operator) -> Self:
        """Give what an operator has to another one: for a job in which it has another uid."""
        known, wanted = self._known(old), OperatorIdentifier.of(new)
        if wanted.id in self._targets:
            raise ProgramError(f"There is an operator with the {wanted} already.")
        target = self._targets.pop(known.id)
        target.entry = OperatorEntry(wanted.id, target.entry.name, wanted.uid)
        self._targets[wanted.id] = target
        for progress in (self._sources, self._sinks):
            if known.id in progress:
                progress[wanted.id] = progress.pop(known.id)
        return self

    # ---- single states

    def with_keyed_state(
        self,
        operator: Operator,
        descriptor: StateDescriptor,
        frame: DataFrame,
        key_type: TypeInformation | None = None,
    ) -> Self:
        """Give a keyed state the content of a DataFrame with the columns ``key`` and ``value``, as
        ``SavepointReader.keyed_state`` gives them. Other states of the operator stay.

        :param descriptor: that of the job. The value of a reducing state is the reduced one, that of an
            aggregating state the accumulator.
        :param key_type: the declared type of the key; None: any object, as in ``key_by`` without one.
        """
        target = self._target(operator)
        target.drop(descriptor.name)
        target.made.append(_plain.keyed(frame, descriptor, key_type))
        return self

    def with_timers(
        self, operator: Operator, frame: DataFrame, key_type: TypeInformation | None = None
    ) -> Self:
        """Give an operator the timers of a DataFrame, and no others: ``key``, ``domain``, ``timestamp``."""
        target = self._target(operator)
        target.drop(*_TIMERS)
        target.made.append(_plain.timers(frame, key_type))
        return self

    def with_list_state(self, operator: Operator, descriptor: ListStateDescriptor, frame: DataFrame) -> Self:
        """Give an operator list state the entries of a DataFrame: ``value``; each subtask its own where there
        are ``subtask`` and ``position``."""
        return self._with_list(operator, descriptor, frame, union=False)

    def with_union_state(self, operator: Operator, descriptor: ListStateDescriptor, frame: DataFrame) -> Self:
        """Give a union list state the entries of a DataFrame: ``value``. All subtasks will restore all of
        them."""
        return self._with_list(operator, descriptor, frame, union=True)

    def with_broadcast_state(
        self, operator: Operator, descriptor: MapStateDescriptor, frame: DataFrame
    ) -> Self:
        """Give a broadcast state the entries of a DataFrame: ``key``, ``value``."""
        target = self._target(operator)
        target.drop(descriptor.name)
        target.made.append(_plain.broadcast(frame, descriptor))
        return self

    def remove_state(self, operator: Operator, name: str) -> Self:
        """Leave one state of an operator out.

        :raises StateError: the operator has none of that name.
        """
        target = self._targets[self._known(operator).id]
        if target.kept is not None:
            target.kept.state(name)
        target.drop(name)
        return self

    def _with_list(
        self, operator: Operator, descriptor: ListStateDescriptor, frame: DataFrame, *, union: bool
    ) -> Self:
        target = self._target(operator)
        target.drop(descriptor.name)
        target.made.append(_plain.operator_list(frame, descriptor, union))
        return self

    def _target(self, operator: Operator) -> _Target:
        """The operator, a new one where there is none."""
        wanted = OperatorIdentifier.of(operator)
        found = self._targets.get(wanted.id)
        if found is None:
            width = self._parallelism or default_parts(session_for(self._spark))
            entry = OperatorEntry(wanted.id, wanted.uid or wanted.id, wanted.uid)
            found = _Target(entry, self._max_parallelism, min(width, self._max_parallelism))
            self._targets[wanted.id] = found
        return found

    def _known(self, operator: Operator) -> OperatorIdentifier:
        wanted = OperatorIdentifier.of(operator)
        if wanted.id not in self._targets:
            there = sorted(target.entry.uid or target.entry.id for target in self._targets.values())
            raise ProgramError(
                f"There is no operator with the {wanted}.", detail=f"there are {', '.join(there) or 'none'}"
            )
        return wanted

    # ---- writing

    def write(self, path: str) -> str:
        """Write the savepoint. It is one as soon as its manifest is there, which comes last.

        :param path: its directory, which must not hold one yet.
        :returns: ``path``, as the options of a job take it.
        """
        storage, root = resolve_private(path)
        if storage.list_dir(root):
            raise ProgramError(f"The directory {path} is not empty.", hint="write into a new directory")
        session = session_for(self._spark)
        now_ms = self._base.manifest.now_ms if self._base else SystemClock().now_ms()
        try:
            made = {
                uid: [self._make(session, target, one, root, now_ms) for one in target.made]
                for uid, target in self._targets.items()
            }
            manifest = self._manifest(self._lines(session, made, root), now_ms)
            self._tidy(root, manifest)
            storage.write(join(root, METADATA), encode_manifest(manifest))
        except BaseException:
            storage.delete_tree(root)
            raise
        return root

    def _make(
        self,
        session: SparkSession,
        target: _Target,
        made: StateBootstrapTransformation,
        root: str,
        now_ms: int,
    ) -> dict[int, StateLine]:
        """Run one transformation: the lines of the subtasks that have got something."""
        if made.keyed:
            target.require_key_type(made.key_type)
        program = OperatorProgram(
            uid=target.entry.id,
            name=target.entry.name,
            spec=made.spec,
            key_type=made.key_type,
            keyed=made.keyed,
            max_parallelism=target.max_parallelism,
        )
        dealing = Dealing(
            made.ship,
            target.parallelism,
            target.max_parallelism,
            time_zone(session),
            made.key,
            made.key_type,
            made.timestamp,
        )
        bootstrap = Bootstrap(program, target.parallelism, root, now_ms)
        answers = gather(
            made.frame, target.parallelism, partial(deal, parcel(dealing)), partial(run, parcel(bootstrap))
        )
        lines = {number: line_of(answer) for number, answer in answers.items()}
        return {number: line for number, line in lines.items() if line is not None}

    def _lines(
        self, session: SparkSession, made: Mapping[str, Sequence[Mapping[int, StateLine]]], root: str
    ) -> dict[str, list[StateLine]]:
        """The lines of all subtasks of each operator, made of what is kept and what was made."""
        todo: list[tuple[str, int]] = []
        work: list[Rewriting] = []
        result: dict[str, list[StateLine]] = {}
        for uid, target in self._targets.items():
            result[uid] = [empty_line(f"state-{uid}-{n}") for n in range(target.parallelism)]
            for subtask in range(target.parallelism):
                new = [of_one[subtask] for of_one in made[uid] if subtask in of_one]
                kept = target.kept if target.becomes else None
                if kept is None and len(new) == 1:
                    result[uid][subtask] = new[0]
                elif kept is not None or new:
                    todo.append((uid, subtask))
                    groups = key_group_range(target.max_parallelism, target.parallelism, subtask)
                    old = kept.lines[subtask] if kept is not None else None
                    states = kept.states if kept is not None else {}
                    work.append(
                        Rewriting(uid, subtask, groups, root, old, states, target.becomes, tuple(new))
                    )
        answers = do_parts(session, len(work), partial(rewrite, parcel(work)))
        for (uid, subtask), answer in zip(todo, answers, strict=True):
            result[uid][subtask] = line_of(answer) or result[uid][subtask]
        return result

    def _manifest(self, lines: Mapping[str, Sequence[StateLine]], now_ms: int) -> Manifest:
        vertices = tuple(
            VertexEntry(
                id=uid,
                name=target.entry.name,
                max_parallelism=target.max_parallelism,
                operators=(target.entry,),
                subtasks=tuple(map(SubtaskEntry, lines[uid])),
            )
            for uid, target in self._targets.items()
        )
        base = self._base.manifest if self._base else None
        return Manifest(
            id=base.id if base else 1,
            savepoint=True,
            job_id=base.job_id if base else str(JobID()),
            job_name=base.job_name if base else "state processor",
            claim=base.claim if base else "0-state-processor",
            triggered_ms=SystemClock().now_ms(),
            epoch=base.epoch if base else 0,
            now_ms=now_ms,
            topology="",
            vertices=vertices,
            sources=self._sources,
            sinks=self._sinks,
        )

    @staticmethod
    def _tidy(root: str, manifest: Manifest) -> None:
        """Remove what tasks have written that were tried again, and what was only a step on the way."""
        files = StateFiles(root)
        for name in set(files.list()) - manifest.files:
            files.delete(name)
