"""Runs the interval join of a scene, one event after the other, and writes down the pairs.

The keys and bounds are those of the example. Only its function gives way to one that shows the pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from docs.drawing.runs import Element, Run, feed
from docs.drawing.scenes import Scene
from firesteel.datastream import DataStream, OutputTag, ProcessJoinFunction
from firesteel.program.operators import IntervalJoin
from firesteel.program.transformations import TwoInputTransformation
from firesteel.testing import OperatorHarness, StreamRecord

_LATE = (OutputTag("late left"), OutputTag("late right"))


@dataclass
class JoinRun(Run):
    spec: IntervalJoin
    pairs: list[tuple[int, int, int]] = field(default_factory=list, init=False)  # left, right, timestamp


class _Show(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield left, right, ctx.get_timestamp()


def run_join(scene: Scene, operator: TwoInputTransformation, spec: IntervalJoin) -> JoinRun:
    assert operator.key_selector1 is not None
    assert operator.key_selector2 is not None
    selectors = operator.key_selector1, operator.key_selector2

    def pairs(left: DataStream, right: DataStream) -> DataStream:
        join = left.key_by(selectors[0]).interval_join(right.key_by(selectors[1]))
        bounds = join.between(spec.lower_ms, spec.upper_ms)
        late = bounds.side_output_left_late_data(_LATE[0]).side_output_right_late_data(_LATE[1])
        return late.process(_Show())

    harness = OperatorHarness(pairs, side_outputs=_LATE)
    run = JoinRun(scene, spec)
    numbers: dict[Any, int] = {}  # of the elements, by input and value
    for step, fed in enumerate(scene.feed):
        value = None
        if isinstance(fed.event, StreamRecord):
            value, select = fed.event.value, selectors[fed.input]
            number = numbers[fed.input, value] = len(numbers)
            run.elements[step] = Element(number, value, fed.event.timestamp or 0, select(value), fed.input)
        feed(harness, fed.event, value, fed.input)
        if harness.side_output(_LATE[fed.input]):
            run.late.add(numbers[fed.input, value])
        for left, right, timestamp in harness.values:
            run.pairs.append((numbers[0, left], numbers[1, right], timestamp))
        harness.clear_output()
    return run
