"""The operator harness: a function or a part of a program, fed by hand and watched, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ProgramError
from firesteel.datastream.output_tag import OutputTag
from firesteel.datastream.state import StateDescriptor
from firesteel.datastream.time_domain import TimeDomain
from firesteel.program.checks import require_int
from firesteel.runtime.checkpoint_news import CheckpointEnd
from firesteel.state.reader import Timer
from firesteel.testing._io import HarnessInput, HarnessOutput
from firesteel.testing._job import HandDrivenJob
from firesteel.testing._program import KeySelectors, UnderTest, build_program
from firesteel.testing._snapshot import Snapshot
from firesteel.testing._state_view import StateView
from firesteel.testing.events import Event, StreamRecord

__all__ = ["OperatorHarness"]


class OperatorHarness:
    """Runs a function, or any part of a program, record by record, with time and watermarks set by hand.

    What runs is the real thing, without Spark: the program is built by the API and translated, records are
    routed, pickled and merged by channel, and state is committed with each epoch. (Flink:
    ``KeyedOneInputStreamOperatorTestHarness``, ``ProcessFunctionTestHarnesses``.)

    :param under_test: a function object (the kinds that one stream or two connected streams take), or a
        callable that is given one stream for each of its parameters and returns the stream to look at, or
        several of them; or the spec of an operator (``docs/extending.md``).
    :param key_by: the key selector of a function object, or of a spec; a pair of them when it has two inputs.
    :param inputs: how many streams the callable takes, when its signature does not say it.
    :param side_outputs: tags to look at, of the first stream that is returned.
    :param channels: how many channels lead into each input, as from so many subtasks.
    :param parallelism: subtasks of the operators.
    :param processes: how many worker processes take the epochs in turn. With one, a function finds what it
        has kept in ``self``, which it may not rely on in a job.
    :param processing_time: where processing time begins, in epoch ms.
    :param configuration: settings of the program.
    :param restore: what an earlier harness gave as ``snapshot()``; processing time goes on from there.

    Each call is an epoch of its own, and its output is there when it returns; ``with harness.epoch():`` makes
    one epoch of several calls. An exception of the user's code is raised by the call that caused it; the
    harness is then where it was before that call.

    >>> from firesteel.datastream import MapFunction
    >>> class Double(MapFunction):
    ...     def map(self, value):
    ...         return 2 * value
    >>> harness = OperatorHarness(Double())
    >>> harness.process_element(21, timestamp=5)
    >>> harness.process_watermark(7)
    >>> harness.output
    [StreamRecord(value=42, timestamp=5), Watermark(timestamp=7)]
    """

    def __init__(
        self,
        under_test: UnderTest,
        *,
        key_by: KeySelectors = None,
        inputs: int | None = None,
        side_outputs: Collection[OutputTag] = (),
        channels: int = 1,
        parallelism: int = 1,
        max_parallelism: int = 128,
        processes: int = 2,
        processing_time: int | None = None,
        configuration: Configuration | None = None,
        restore: Snapshot | None = None,
    ) -> None:
        require_int(channels, "number of channels", 1)
        require_int(processes, "number of processes", 1)
        program = build_program(
            under_test,
            key_by=key_by,
            inputs=inputs,
            side_outputs=side_outputs,
            channels=channels,
            parallelism=parallelism,
            max_parallelism=max_parallelism,
            configuration=configuration,
        )
        ends = (*program.outputs, *program.sides.values())
        self._job = HandDrivenJob(program.graph, program.settings, processes, ends)
        self._inputs = tuple(
            HarnessInput(number, vertex, channels, self._fed) for number, vertex in enumerate(program.inputs)
        )
        taps = {vertex: HarnessOutput(program.graph, vertex) for vertex in ends}
        self._outputs = [taps[vertex] for vertex in program.outputs]
        self._sides = {tag: taps[vertex] for tag, vertex in program.sides.items()}
        self._grouping = False
        self._now_ms = 0 if restore is None else restore.processing_time
        if restore is not None:
            self._job.begin_with(restore.lines_for(self._job))
        if processing_time is not None:
            self._now_ms = self._checked_time(processing_time)
        self._run_epoch()  # opens the functions

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the functions. A test that does not care may leave it out."""
        self._job.close()

    # ---- feeding

    @property
    def inputs(self) -> tuple[HarnessInput, ...]:
        """The inputs, in order: ``left, right = harness.inputs``; each is fed as the harness of one input."""
        return self._inputs

    def process_element(self, value: Any, timestamp: int | None = None, *, channel: int = 0) -> None:
        """Feed a record to the only input."""
        if len(self._inputs) != 1:
            raise ProgramError(
                f"The harness has {len(self._inputs)} inputs, and a record goes to one of them.",
                hint="left, right = harness.inputs; left.process_element(...)",
            )
        self._inputs[0].process_element(value, timestamp, channel=channel)

    def process_watermark(self, timestamp: int, *, channel: int | None = None) -> None:
        """Feed a watermark to all inputs, on one channel or (None) on all."""
        self._on_all(lambda each: each.process_watermark(timestamp, channel=channel))

    def mark_idle(self, *, channel: int | None = None) -> None:
        """Say on all inputs that a channel, or (None) every one, takes no part in the watermark."""
        self._on_all(lambda each: each.mark_idle(channel=channel))

    def mark_active(self, *, channel: int | None = None) -> None:
        """Say on all inputs that a channel, or (None) every one, takes part in the watermark again."""
        self._on_all(lambda each: each.mark_active(channel=channel))

    def end_input(self, *, channel: int | None = None) -> None:
        """End a channel, or (None) every one, of all inputs."""
        self._on_all(lambda each: each.end_input(channel=channel))

    def set_processing_time(self, timestamp: int) -> None:
        """Move processing time to ``timestamp`` (epoch ms); timers that are due fire."""
        if self._grouping:
            raise ProgramError(
                "Processing time stands still inside an epoch.",
                hint="call set_processing_time() before or after `with harness.epoch()`",
            )
        self._now_ms = self._checked_time(timestamp)
        self._run_epoch()

    @property
    def processing_time(self) -> int:
        return self._now_ms

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Tell the functions that a checkpoint is complete (see ``CheckpointListener``)."""
        self._checkpoint_ended(CheckpointEnd(checkpoint_id, True))

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Tell the functions that a checkpoint has failed (see ``CheckpointListener``)."""
        self._checkpoint_ended(CheckpointEnd(checkpoint_id, False))

    @contextmanager
    def epoch(self) -> Iterator[Self]:
        """Make one epoch of all calls in the block; it runs at the end of the block.

        Records of one channel are kept in order, those of several channels are not.
        """
        if self._grouping:
            raise ProgramError(
                "The harness is inside an epoch already.", hint="end it first: epochs do not nest"
            )
        self._grouping = True
        try:
            yield self
        except BaseException:
            self._discard()
            raise
        finally:
            self._grouping = False
        self._run_epoch()

    # ---- watching

    @property
    def output(self) -> list[Event]:
        """Everything that came out since the beginning or ``clear_output``: records, watermarks and their
        status in order, as the next operator sees them."""
        return self.outputs[0]

    @property
    def outputs(self) -> list[list[Event]]:
        """The output of each stream that the transformation returned."""
        return [list(output.events) for output in self._outputs]

    @property
    def values(self) -> list[Any]:
        """The values of the records in ``output``."""
        return [event.value for event in self.output if isinstance(event, StreamRecord)]

    def side_output(self, tag: OutputTag) -> list[StreamRecord]:
        """The records that came to a side output."""
        output = self._sides.get(tag.tag_id)
        if output is None:
            raise ProgramError(
                f"The harness does not look at the side output {tag.tag_id!r}.",
                detail="a side output that nobody reads is dropped, as in a job",
                hint="OperatorHarness(..., side_outputs=[tag])",
            )
        return [event for event in output.events if isinstance(event, StreamRecord)]

    def clear_output(self) -> None:
        """Forget what came out so far, side outputs included."""
        for output in (*self._outputs, *self._sides.values()):
            output.events.clear()

    @property
    def warnings(self) -> list[str]:
        """What the engine found fault with: a function that changes its ``self`` while it processes."""
        return list(self._job.warnings)

    @property
    def accumulators(self) -> dict[str, Any]:
        """Accumulators and metrics of the functions by name, over all subtasks."""
        return {name: a.get_local_value() for name, a in self._job.accumulated.by_name.items()}

    def state(self, state: str | StateDescriptor, key: Any, *, operator: str | None = None) -> Any:
        """What a keyed state holds for ``key``: the value or None, a list, or a dict.

        :param state: its name or, needed for one with a time to live, its descriptor. By its name, an
            aggregating state gives its accumulator.
        :param operator: name or uid of the operator, when several have a state of this name.
        """
        return self._view().value(state, key, operator)

    def keys(self, state: str | StateDescriptor, *, operator: str | None = None) -> list[Any]:
        """The keys that have something in a keyed state."""
        return self._view().keys(state, operator)

    def operator_state(
        self, state: str | StateDescriptor, *, operator: str | None = None, subtask: int = 0
    ) -> Any:
        """What an operator state holds in a subtask: a list, or the dict of a broadcast state."""
        return self._view().of_operator(state, operator, subtask)

    def timers(self, domain: TimeDomain | None = None) -> list[Timer]:
        """The timers that are set, by domain and time; of one domain, or (None) of both."""
        return [timer for timer in self._view().timers() if domain in (None, timer.domain)]

    def num_keyed_state_entries(self) -> int:
        """How many keys the keyed states hold, summed over all states; each window counts by itself.

        0 when a function cleans up after itself. (Flink: ``numKeyedStateEntries``.)
        """
        return self._view().count_entries()

    def snapshot(self) -> Snapshot:
        """The state as it is now, for the parameter ``restore`` of another harness."""
        return Snapshot.of(self._job, self._now_ms)

    # ---- inside

    def _view(self) -> StateView:
        return StateView(self._job.graph, self._job.lines, self._job.files, self._now_ms)

    def _fed(self) -> None:
        if not self._grouping:
            self._run_epoch()

    def _on_all(self, feed: Callable[[HarnessInput], None]) -> None:
        """Feed all inputs that have not ended, in one epoch."""
        if not self._grouping:
            with self.epoch():
                self._on_all(feed)
            return
        for each in [each for each in self._inputs if not each.has_ended] or self._inputs:
            feed(each)

    def _checked_time(self, timestamp: int) -> int:
        require_int(timestamp, "processing time", 0)
        if timestamp < self._now_ms:
            raise ProgramError(
                "Processing time does not go back.", detail=f"it is {self._now_ms}, asked for is {timestamp}"
            )
        return timestamp

    def _checkpoint_ended(self, end: CheckpointEnd) -> None:
        if self._grouping:
            raise ProgramError(
                "Functions hear of checkpoints between two epochs.",
                hint="call it before or after `with harness.epoch()`",
            )
        self._run_epoch((end,))

    def _discard(self) -> None:
        for each in self._inputs:
            each.discard()

    def _run_epoch(self, ended: tuple[CheckpointEnd, ...] = ()) -> None:
        while True:
            self._run_one_epoch(ended)
            ended = ()
            due = self._job.next_timer_ms
            if due is None or due > self._now_ms:  # else the epoch has set it for now: go on, as a job does
                return

    def _run_one_epoch(self, ended: tuple[CheckpointEnd, ...]) -> None:
        sources = {key: part for each in self._inputs for key, part in each.assignments().items()}
        try:
            rows = self._job.run_epoch(self._now_ms, sources, ended)
        except BaseException:
            self._discard()
            raise
        for each in self._inputs:
            each.accept()
        for output in (*self._outputs, *self._sides.values()):
            output.take(rows)
