"""Two kinds of operators from outside: the first record of a key in a while, and records with their input."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from firesteel.common.typeinfo import Types
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.program.operator_kinds import KINDS, OperatorKind
from firesteel.program.operators import OperatorSpec
from firesteel.runtime.batch import Batch
from firesteel.runtime.operators.base import BaseOperator
from firesteel.runtime.operators.keyed import KeyedOperator, stamp_at


@dataclass(frozen=True, slots=True)
class FirstOf(OperatorSpec):
    """Hands on a record unless one of its key was handed on less than ``within_ms`` before, in event time."""

    within_ms: int


class FirstOfOperator(KeyedOperator):
    def __init__(self, program: Any, spec: FirstOf) -> None:
        super().__init__(program, None)
        self._within_ms = spec.within_ms

    def on_open(self) -> None:
        self._seen = self.state.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def run(self, batch: Batch, canon: list[Any], start: int, stop: int, input_index: int) -> None:
        assert batch.keys is not None
        for i in range(start, stop):
            self.state.key, self.state.raw_key = canon[i], batch.keys[i]
            if not self._seen.value():
                stamp = stamp_at(batch.timestamps, i)
                self._seen.update(True)
                self.state.event_timers.register(stamp + self._within_ms)
                self.outputs.main.collector.add(batch.values[i], stamp)

    def on_timer(self, timestamp: int, context: Any) -> Iterable[Any] | None:
        self._seen.clear()
        return None


@dataclass(frozen=True, slots=True)
class Numbered(OperatorSpec):
    """Hands on ``(input, record)`` of one of two inputs."""


class NumberedOperator(BaseOperator):
    def __init__(self, program: Any, spec: Numbered) -> None:
        super().__init__(program)

    def process(self, batch: Batch, input_index: int = 0) -> None:
        self.records_in += len(batch.values)
        values = [(input_index, value) for value in batch.values]
        self.outputs.main.emit(Batch(values, batch.timestamps, ()))


KINDS.register(OperatorKind(spec=FirstOf, operator="tests.extending.first_of:FirstOfOperator", keyed=True))
KINDS.register(OperatorKind(spec=Numbered, operator=NumberedOperator, inputs=2))
