"""Functions of one record, what lies between operators, and time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from firesteel.common.watermark_strategy import WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from firesteel.datastream import (
    DataStream,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.functions import CheckpointedFunction
from firesteel.datastream.output_tag import OutputTag
from firesteel.datastream.state import (
    ListStateDescriptor,
)
from tests.runtime.support import SplitsSource

from .core import ANY, RECORDS, Written, here, numbers, place, slip


@place
def map_lambda(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).map(lambda v: slip(v)))


class SlipsInLife(MapFunction):
    def __init__(self, opening: bool) -> None:
        self.opening = opening

    def open(self, runtime_context: RuntimeContext) -> None:
        if self.opening:
            slip()

    def map(self, value: Any) -> Any:
        return value

    def close(self) -> None:
        if not self.opening:
            slip()


@place
def function_open(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).map(SlipsInLife(True)))


@place
def function_close(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).map(SlipsInLife(False)))


@place
def filter_lambda(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).filter(lambda v: slip(v) % 3 > 0))


class Doubtful:
    """What a filter returns, such as a NumPy array; its truth is the user's code too."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __bool__(self) -> bool:
        return bool(slip(self.value % 3 > 0))


@place
def truth_of_a_filter(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).filter(Doubtful))


@place
def flat_map_call(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).flat_map(lambda v: [slip(v), v]))


@place
def flat_map_generator(env: StreamExecutionEnvironment) -> DataStream:
    def twice(value: int) -> Iterator[int]:
        yield value
        yield slip(value)

    return here(numbers(env).flat_map(twice))


class Slips(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield slip(value)


@place
def process_generator(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).process(Slips()))


class SlipsAtOnce(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> list[Any]:
        return [slip(value)]


@place
def process_call(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).process(SlipsAtOnce()))


LEFT_OUT = OutputTag("left out")


class OperatorStateUser(MapFunction, CheckpointedFunction):
    def __init__(self, restoring: bool) -> None:
        self.restoring = restoring

    def initialize_state(self, context: Any) -> None:
        if self.restoring:
            slip()
        self.seen = context.get_operator_state_store().get_list_state(ListStateDescriptor("seen", ANY))

    def snapshot_state(self, context: Any) -> None:
        if not self.restoring:
            slip()
        self.seen.update([1])

    def map(self, value: Any) -> Any:
        return value


@place
def initialize_state(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).map(OperatorStateUser(True)))


@place
def snapshot_state(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).map(OperatorStateUser(False)))


@place
def key_selector(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).map(lambda v: v)).key_by(lambda v: slip(v) % 2).reduce(lambda a, b: a + b)


@place
def selector_of_a_custom_partition(env: StreamExecutionEnvironment) -> DataStream:
    stream = here(numbers(env).map(lambda v: v))
    return stream.partition_custom(lambda key, n: key % n, lambda v: slip(v)).map(lambda v: v)


@place
def partitioner(env: StreamExecutionEnvironment) -> DataStream:
    stream = here(numbers(env).map(lambda v: v))
    return stream.partition_custom(lambda key, n: slip(key) % n, lambda v: v).map(lambda v: v)


class Read:
    """A record that is unpickled by its own code."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __setstate__(self, state: dict[str, Any]) -> None:
        slip()
        self.__dict__.update(state)


@place
def pickling_of_a_record(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).map(Written)).rebalance().map(lambda v: v.value)


@place
def unpickling_of_a_record(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).map(Read).rebalance().map(lambda v: v.value))


@place
def timestamp_assigner(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, t: slip(v))
    return here(numbers(env).assign_timestamps_and_watermarks(strategy))


@place
def timestamp_assigner_of_a_source(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, t: slip(v))
    source = SplitsSource([(v, v) for v in range(RECORDS)])
    return env.from_source(source, strategy, "here")


class SlipsWithTime(WatermarkGenerator):
    def __init__(self, on_event: bool) -> None:
        self.slips_on_event = on_event

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if self.slips_on_event:
            slip()

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        if not self.slips_on_event:
            slip()


def generated(env: StreamExecutionEnvironment, make: Callable[[], WatermarkGenerator]) -> DataStream:
    strategy = WatermarkStrategy.for_generator(make).with_timestamp_assigner(lambda v, t: v)
    return here(numbers(env).assign_timestamps_and_watermarks(strategy))


@place
def watermark_on_event(env: StreamExecutionEnvironment) -> DataStream:
    return generated(env, lambda: SlipsWithTime(True))


@place
def watermark_on_periodic_emit(env: StreamExecutionEnvironment) -> DataStream:
    env.configuration.set_string("firesteel.epoch.max-records", "5")  # at the end of an epoch
    return generated(env, lambda: SlipsWithTime(False))


@place
def watermark_generator_factory(env: StreamExecutionEnvironment) -> DataStream:
    return generated(env, lambda: slip(SlipsWithTime(True)))
