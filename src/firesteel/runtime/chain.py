"""One subtask of one vertex: its operators wired to each other, to its gates and to its routers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from firesteel.common._composite_types import RowTypeInfo
from firesteel.common._type_text import type_text
from firesteel.common.accumulators import take
from firesteel.common.configuration import Configuration
from firesteel.common.options import python
from firesteel.common.options.firesteel import MAX_RECORD_SIZE
from firesteel.common.typeinfo import Types
from firesteel.program.functions.base import Function
from firesteel.program.operator_kinds import kind_of
from firesteel.program.operators import OperatorSpec
from firesteel.program.output_tag import OutputTag
from firesteel.program.transformations import PartitionKind
from firesteel.runtime.batch import Batch
from firesteel.runtime.building import build_operator
from firesteel.runtime.checkpoint_news import CheckpointNews
from firesteel.runtime.contexts import TaskRuntimeContext
from firesteel.runtime.exchange_check import weighted
from firesteel.runtime.gate import Gate
from firesteel.runtime.held_input import HeldInput
from firesteel.runtime.key_sorter import KeySorter
from firesteel.runtime.moved import unpacked
from firesteel.runtime.operators.base import BaseOperator, Consumer, Output, SubtaskContext
from firesteel.runtime.operators.keyed import KeyedOperator
from firesteel.runtime.operators.sink import SinkOperator
from firesteel.runtime.operators.source import SourceOperator
from firesteel.runtime.operators.stateless import FunctionOperator
from firesteel.runtime.program import Ack, OperatorProgram, SubtaskDescriptor, VertexProgram
from firesteel.runtime.routers import Router, RowSink, channels_of
from firesteel.runtime.sizes import too_large_answer
from firesteel.runtime.time_limit import TimeLimit
from firesteel.runtime.turns import Turns
from firesteel.runtime.user_code import UserCode, UserCodeError
from firesteel.runtime.windowing.codec import windows_of
from firesteel.runtime.wire import channel_id, edge_of
from firesteel.state.backend import KeyScope, SubtaskState
from firesteel.storage import records

if TYPE_CHECKING:
    from firesteel.runtime.column_router import ColumnRouter


class Chain:
    """Built once for each (job, attempt, subtask, process) and kept between epochs: user functions stay
    open. Everything else is set from the descriptor at the start of each epoch."""

    def __init__(self, vertex: VertexProgram, context: SubtaskContext, state: SubtaskState | None) -> None:
        self.vertex = vertex
        self.user_code = UserCode(vertex.name, "")  # what no operator is known for: values of state
        self.context = context
        self.state = state
        self.operators: dict[str, BaseOperator] = {}
        self.routers: list[Router | ColumnRouter] = []
        self.gates: dict[int, Gate] = {}  # by edge
        self.turns: dict[int, Turns] = {}  # by edge, of operators on columns with several inputs
        self.local_edges: dict[int, Callable[[Batch], None]] = {}  # filled by the task: same-level consumers
        self._heads: list[Gate] = []
        self._arranged: dict[str, KeySorter | HeldInput] = {}  # BATCH mode: the order of a head's input
        self._open: list[BaseOperator] = []  # in the order of the chain
        self._none_to_come = False
        self._open_selectors: list[tuple[UserCode, Function]] = []  # key selectors and partitioners
        self._build()

    def _build(self) -> None:
        for program in self.vertex.operators:
            self.operators[program.uid] = build_operator(program)
        consumers = self._consumers_of()
        settings = Configuration.from_dict(self.context.settings)
        fusing = settings.get(python.CHAINING)
        self._max_answer_bytes = max_record_bytes = settings.get(MAX_RECORD_SIZE)
        for program in self.vertex.operators:
            target = self.operators[program.uid]
            for source_uid, tag in program.inputs:
                output = self._output(source_uid, tag)
                output.consumers.append(Consumer(_process_of(target, 0), target.user_code))
                if fusing and consumers[source_uid] == 1 and _are_fused(self.operators[source_uid], program):
                    output.coerce = None
        for edge in self.vertex.outputs:
            output = self._output(edge.operator, edge.tag)
            if edge.local:
                consume = self._local_consumer(edge.edge)
            else:
                make = Router if edge.columns is None else _column_router()
                router = make(edge, self.context.subtask, self.vertex.parallelism, max_record_bytes)
                self.routers.append(router)
                consume = router.consume
            output.consumers.append(Consumer(consume, self.operators[edge.operator].user_code))
        self._build_gates()

    def _consumers_of(self) -> Counter[str]:
        """How many consumers each operator has, over all of its outputs, here and in other vertices."""
        inner = (uid for program in self.vertex.operators for uid, _ in program.inputs)
        return Counter(inner) + Counter(edge.operator for edge in self.vertex.outputs)

    def _local_consumer(self, edge: int) -> Callable[[Batch], None]:
        edges = self.local_edges
        return lambda batch: edges[edge](batch)

    def _build_gates(self) -> None:
        heads: dict[tuple[str, int], list[int]] = {}
        schemas = {(e.operator, e.input): e.columns.schema for e in self.vertex.inputs if e.columns}
        for edge in self.vertex.inputs:
            producers = channels_of(
                edge.partitioning.kind if not edge.local else PartitionKind.FORWARD,
                edge.producers,
                self.vertex.parallelism,
                self.context.subtask,
            )
            heads.setdefault((edge.operator, edge.input), []).extend(
                channel_id(edge.edge, p) for p in producers
            )
        gates: dict[tuple[str, int], Gate] = {}
        for (uid, index), channels in heads.items():
            consume = self._head_consumer(uid, index, len(heads))
            user_code = self.operators[uid].user_code
            gates[uid, index] = Gate(channels, consume, user_code, schemas.get((uid, index)))
        for edge in self.vertex.inputs:
            self.gates[edge.edge] = gates[edge.operator, edge.input]
        self._heads = list(gates.values())
        if not self.context.batch_mode:
            turns = {uid: Turns() for uid, index in heads if index and (uid, index) in schemas}
            self.turns = {e.edge: turns[e.operator] for e in self.vertex.inputs if e.operator in turns}

    def _head_consumer(self, uid: str, index: int, inputs: int) -> Callable[[Batch], None]:
        operator = self.operators[uid]
        if self.context.batch_mode and uid not in self._arranged:
            arranged = _arranged(operator, inputs, self.state)
            if arranged is not None:
                self._arranged[uid] = arranged
        if uid not in self._arranged:
            return _process_of(operator, index)
        add = self._arranged[uid].add
        return lambda batch: add(batch, index)

    def _output(self, uid: str, tag: OutputTag | None) -> Output:
        operator = self.operators[uid]
        if tag is None:
            return operator.outputs.main
        side = operator.outputs.side.get(tag.tag_id)
        return side if side is not None else operator.add_side_output(tag)

    def open(self) -> None:
        """Open all operators, the last of the chain first, as Flink does; once. When one cannot be opened,
        those that are open are closed."""
        try:
            self._open_routers()
            for program in reversed(self.vertex.operators):
                operator = self.operators[program.uid]
                state = self.state.operator(program.uid, scope_of(program)) if self.state else None
                with operator.user_code:
                    operator.open(self.context, state)
                self._open.insert(0, operator)
        except BaseException:
            with suppress(UserCodeError):  # the first error is the one that counts
                self.close()
            raise

    def _open_routers(self) -> None:
        for router in self.routers:
            operator = self.operators[router.edge.operator]
            for function in router.functions():
                if all(function is not opened for _, opened in self._open_selectors):
                    with operator.user_code:
                        function.open(TaskRuntimeContext(self.context, operator.program, None))
                    self._open_selectors.append((operator.user_code, function))

    def _initialize_state(self) -> None:
        for operator in self.operators.values():
            if isinstance(operator, FunctionOperator):
                with operator.user_code:
                    operator.initialize_state()

    def begin(self, descriptor: SubtaskDescriptor, epoch: int, now_ms: int, send: RowSink) -> None:
        self.context.epoch = epoch
        self.context.clock.begin_epoch(now_ms)
        self.context.restored = bool(descriptor.line.manifest_id)
        current = self.state is None or self.state.begin(descriptor.line, now_ms)
        if not self._open:
            self.open()
        elif not current:
            self._initialize_state()
        carry = records.unpack(descriptor.carry) if descriptor.carry else {}
        moved = unpacked(descriptor.moved)
        for accumulator in self.context.accumulators.values():
            accumulator.reset_local()  # what an abandoned attempt counted
        self.context.metrics.reset()
        for uid, operator in self.operators.items():
            for output in operator.outputs.all:
                output.collector.take()  # what an attempt left that did not come to its end
            with operator.user_code:
                operator.restore(carry.get(uid))
                if uid not in carry and uid in moved:
                    operator.take_over(moved[uid])
                operator.begin_epoch()
        for router in self.routers:
            router.restore(carry.get(("router", router.edge.edge)))
            router.begin_epoch(epoch, send)
        for arranged in self._arranged.values():
            arranged.reset()
        for i, gate in enumerate(self._heads):
            gate.restore(carry.get(("gate", i)))

    def hear(self, news: CheckpointNews) -> None:
        """Tell the functions which checkpoints have ended; the epoch has begun."""
        self.context.checkpoint_id = news.next_id
        self._none_to_come = news.none_to_come
        for end in news.ended:
            for operator in self.operators.values():
                if operator.listens:
                    with operator.user_code:
                        operator.checkpoint_ended(end)

    def on_processing_time(self) -> None:
        """Fire what is due; when all chains of the task have begun, for it may go to any of them."""
        for operator in self.operators.values():
            with operator.user_code:
                operator.on_processing_time()

    def read_sources(self, descriptor: SubtaskDescriptor, limit: TimeLimit) -> Iterator[None]:
        """Run the source of this chain, if it has one; yields between chunks."""
        for uid, assignment in descriptor.sources.items():
            operator = self.operators[uid]
            assert isinstance(operator, SourceOperator)
            if not operator.ended:
                yield from operator.user_code.steps(operator.run(assignment, limit))

    def move_time(self, now_ms: int) -> None:
        """Let processing time move on within the epoch: before each buffer, and in all chains of the task
        before any of them ticks, since what fires in one may go to another."""
        self.context.clock.move_to(now_ms)
        if self.state is not None:
            self.state.move_time(self.context.clock.now_ms)

    def tick(self) -> None:
        """Do what has become due by the clock: timers, periodic watermarks, idleness."""
        for operator in self.operators.values():
            with operator.user_code:
                operator.tick()

    def flush(self) -> None:
        """Hand on what is ready, to the operators of this chain and to other tasks. The epoch goes on."""
        for operator in self.operators.values():
            with operator.user_code:
                operator.flush()
        self.flush_routers()

    def end_epoch(self) -> Ack:
        """The epoch is cut here: everything that came is processed and sent, and the ack says so."""
        for program in self.vertex.operators:
            operator = self.operators[program.uid]
            with operator.user_code:
                operator.end_epoch()
                operator.outputs.flush()
        self.flush_routers()
        return self._ack()

    def flush_routers(self) -> None:
        """Send what waits in buffers to other tasks."""
        for router in self.routers:
            with self.operators[router.edge.operator].user_code:
                router.flush()

    def _ack(self) -> Ack:
        ack = Ack(self.vertex.id, self.context.subtask)
        carry: dict[Any, Any] = {}
        ended = True
        due: list[int] = []
        for uid, operator in self.operators.items():
            with operator.user_code:
                snapshot = operator.snapshot()
            if snapshot is not None:
                carry[uid] = snapshot
            ack.operators[uid] = (operator.records_in, operator.outputs.main.count)
            timer = operator.next_timer_ms()
            if timer is not None:
                due.append(timer)
            if isinstance(operator, SourceOperator):
                ack.positions[uid] = operator.positions
                ack.ended_splits[uid] = tuple(operator.ended_splits)
                ack.split_times[uid] = operator.split_times()
                ack.is_cut = ack.is_cut or operator.is_cut
                ended = ended and operator.ended
            elif isinstance(operator, SinkOperator) and operator.committables:
                ack.committables[uid] = operator.committables
        for router in self.routers:
            carry["router", router.edge.edge] = router.snapshot()
            ack.bytes_out += router.bytes
        for gate in self._heads:
            ack.bytes_in += gate.bytes
        ack.sent, ack.received = weighted(self.sent), weighted(self.received)
        for i, gate in enumerate(self._heads):
            carry["gate", i] = gate.snapshot()
            ended = ended and gate.is_ended
        ack.ended = ended
        ack.carry = records.pack(carry)
        ack.next_timer_ms = min(due, default=None)
        ack.waited_ms = sum(operator.waited_ms for operator in self.operators.values())
        watermarks = [getattr(operator, "watermark", None) for operator in self.operators.values()]
        ack.watermark = next((w for w in reversed(watermarks) if w is not None), None)
        first, last = self.vertex.operators[0].uid, self.vertex.operators[-1].uid
        ack.records_in, ack.records_out = ack.operators[first][0], ack.operators[last][1]
        if self.state is not None:
            ack.forgets = ended and not due and self._none_to_come
            if ack.forgets:
                self.state.forget()
            else:
                ack.delta = self.state.cut()
        ack.accumulators = {name: take(a) for name, a in self.context.accumulators.items()}
        ack.metrics = self.context.metrics.take()
        ack.listens = any(operator.listens for operator in self.operators.values())
        ack.warnings = tuple(self.context.warnings)
        self.context.warnings.clear()
        return ack

    def check_answer(self, ack: Ack, size: int) -> None:
        """Refuse an answer of *size* bytes that is too large for the JVM."""
        if size > self._max_answer_bytes:
            uid, error = too_large_answer(ack, size, self._max_answer_bytes)
            with self.operators[uid].user_code if uid else self.user_code:
                raise error

    @property
    def sent(self) -> dict[int, int]:
        """How many records have left for other tasks in this epoch, by channel."""
        return {channel: n for router in self.routers for channel, n in router.sent.items()}

    @property
    def received(self) -> dict[int, int]:
        """How many have come from other tasks, by channel."""
        local = {edge.edge for edge in self.vertex.inputs if edge.local}
        counts = ((channel, n) for gate in self._heads for channel, n in gate.received.items())
        return {channel: n for channel, n in counts if edge_of(channel) not in local}

    def abandon(self) -> None:
        """The attempt will not come to its end: nothing of it may be used."""
        for operator in self.operators.values():
            with suppress(UserCodeError), operator.user_code:  # best effort
                operator.abandon()
        if self.state is not None:
            self.state.abandon()

    def close(self) -> None:
        """Close the user functions; every one of them, also when one fails."""
        operators, self._open = self._open, []
        failed: UserCodeError | None = None
        for operator in operators:
            try:
                with operator.user_code:
                    operator.close()
            except UserCodeError as e:
                failed = failed or e
        selectors, self._open_selectors = self._open_selectors, []
        for user_code, function in selectors:
            try:
                with user_code:
                    function.close()
            except UserCodeError as e:
                failed = failed or e
        if failed is not None:
            raise failed


def scope_of(program: OperatorProgram) -> KeyScope:
    """What the keyed state of an operator is kept by: a change of it is refused (Flink: the serializers of
    key and namespace)."""
    if not program.keyed:
        return KeyScope()
    spec = program.spec
    serializer = kind_of(spec).window_serializer if isinstance(spec, OperatorSpec) else None
    windows = "" if serializer is None else windows_of(serializer(spec))
    return KeyScope(type_text(program.key_type or Types.PICKLED_BYTE_ARRAY()), windows)


def _are_fused(producer: BaseOperator, consumer: OperatorProgram) -> bool:
    """Whether the declared type between the two is not applied: PyFlink puts no coder between two functions
    of a chain, only where records go on to anything else. Rows are, for the names of their fields."""
    spec = consumer.spec
    if not isinstance(producer, FunctionOperator) or not isinstance(spec, OperatorSpec):
        return False
    if not kind_of(spec).fused:
        return False
    return not isinstance(producer.program.output_type, RowTypeInfo)


def _column_router() -> Any:
    from firesteel.runtime.column_router import ColumnRouter  # with it comes Arrow

    return ColumnRouter


def _process_of(operator: BaseOperator, index: int) -> Callable[[Batch], None]:
    process = operator.process
    if index == 0:
        return process
    return lambda batch: process(batch, index)


def _arranged(
    operator: BaseOperator, inputs: int, state: SubtaskState | None
) -> KeySorter | HeldInput | None:
    """What brings the input of a head into the order of BATCH mode: key by key, behind what is broadcast.
    None: it may come in any order."""
    spec = operator.program.spec
    first = kind_of(spec).broadcast_input if isinstance(spec, OperatorSpec) else None
    if isinstance(operator, KeyedOperator):
        assert state is not None
        return KeySorter(operator, inputs, state, () if first is None else (first,))
    return None if first is None else HeldInput(operator, first)
