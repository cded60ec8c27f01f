"""Records, state values and keys of classes of the script itself, of a module beside it and of a file that
the program adds. Arguments: the file to add, then what is printed at the end."""

from __future__ import annotations

import enum
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import beside

from firesteel.common import Types
from firesteel.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor

RECORDS = 120
SCALE = 10  # a global that functions of the script use


class Kind(enum.Enum):
    EVEN = "even"
    ODD = "odd"


@dataclass
class Event:
    kind: Kind
    number: int
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    name: str
    floor: int


class Total(NamedTuple):
    count: int
    total: int


def to_event(number: int) -> Event:
    return Event(Kind.ODD if number % 2 else Kind.EVEN, number * SCALE, [f"n{number}"])


class Totals(KeyedProcessFunction):
    """State: a dataclass of the script, a NamedTuple of the script and one of the module beside it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.PICKLED_BYTE_ARRAY()))
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.PICKLED_BYTE_ARRAY()))
        self.spans = runtime_context.get_list_state(ListStateDescriptor("spans", Types.PICKLED_BYTE_ARRAY()))
        self.places = runtime_context.get_map_state(
            MapStateDescriptor("places", Types.PICKLED_BYTE_ARRAY(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, event: Event, ctx: Any) -> Iterator[Any]:
        last: Event | None = self.last.value()
        before: Total = self.total.value() or Total(0, 0)
        assert last is None or (
            type(last) is Event and last.number < event.number and last.kind is event.kind
        )
        assert type(before) is Total
        self.last.update(event)
        now = Total(before.count + 1, before.total + event.number)
        self.total.update(now)
        self.spans.add(beside.Span(0.0, float(event.number)))
        self.places.put(Place("hall", event.number % 3), Kind.ODD)
        spans = list(self.spans.get())
        assert len(spans) == now.count
        assert all(type(span) is beside.Span for span in spans)
        assert {type(place) for place in self.places.keys()} == {Place}  # noqa: SIM118
        assert ctx.get_current_key() is event.kind
        yield ctx.get_current_key(), now, len(list(self.places.keys()))


def main(added_file: str, word: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_python_file(added_file)
    import added_module  # type: ignore[import-not-found]

    totals = (
        env.from_collection(range(RECORDS))
        .map(to_event)
        .key_by(lambda event: event.kind)
        .process(Totals())
        .map(lambda r: (r[0], r[1], r[2], added_module.double(r[1].count)))
    )
    best = {kind: (total, places, doubled) for kind, total, places, doubled in totals.execute_and_collect()}
    readings = (
        env.from_collection([f"s{i % 3}={i}" for i in range(30)])
        .map(beside.parse)
        .key_by(lambda r: Place(r.sensor, 1))
        .reduce(lambda a, b: beside.Reading(a.sensor, a.value + b.value))
    )
    last = {reading.sensor: reading for reading in readings.execute_and_collect()}
    assert all(type(reading) is beside.Reading for reading in last.values())
    print(
        json.dumps(
            {
                "totals": {
                    kind.name: [*total, places, doubled] for kind, (total, places, doubled) in best.items()
                },
                "readings": {sensor: reading.value for sensor, reading in sorted(last.items())},
                "parallelism": env.get_parallelism(),
                "epoch": env.configuration.get_string("firesteel.epoch.max-records", ""),
                "word": word,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
