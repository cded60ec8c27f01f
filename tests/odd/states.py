"""Keyed and broadcast state that is declared or used as it must not be."""

from __future__ import annotations

import threading
from typing import Any

from firesteel.common import Time, Types
from firesteel.datastream.functions import (
    BroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
)
from firesteel.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)

from .core import Case, Here, area

CASES: list[Case] = []
case = area("states", CASES)


class Described(KeyedProcessFunction):
    """Makes states by `make` in open and calls `use` for each element."""

    def __init__(self, make: Any, use: Any = lambda s, v: [v]) -> None:
        self.make, self.use = make, use

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = self.make(runtime_context)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        yield from self.use(self.state, value) or ()


def value(context: RuntimeContext, name: Any = "s", type: Any = None) -> Any:
    return context.get_state(ValueStateDescriptor(name, type or Types.PICKLED_BYTE_ARRAY()))


STATES: list[tuple[str, Any, Any]] = [
    ("a state with an empty name", lambda c: value(c, ""), None),
    ("a state whose name is None", lambda c: value(c, None), None),
    ("a state whose name is a number", lambda c: value(c, 5), None),
    ("a state whose name is of 10,000 letters and a newline", lambda c: value(c, "s\n" * 5000), None),
    ("a state with / and .. in its name", lambda c: value(c, "../../s"), None),
    (
        "a state asked for twice",
        lambda c: (value(c), value(c)),
        lambda s, v: [s[0].update(v), s[1].value()][1:],
    ),
    (
        "two states of one name and other types",
        lambda c: (value(c, "s", Types.INT()), value(c, "s", Types.STRING())),
        None,
    ),
    (
        "two states of one name and other kinds",
        lambda c: (value(c), c.get_list_state(ListStateDescriptor("s", Types.INT()))),
        None,
    ),
    ("a state with a Python class as its type", lambda c: value(c, "s", int), None),
    ("a state of which the descriptor is a name", lambda c: c.get_state("s"), None),
    (
        "a list state asked for with get_state",
        lambda c: c.get_state(ListStateDescriptor("s", Types.INT())),
        None,
    ),
    ("None put into a value state", value, lambda s, v: [s.update(v), s.update(None), s.value()][2:]),
    ("a generator put into a value state", value, lambda s, v: [s.update(i for i in "ab")][1:]),
    ("a lock put into a value state", value, lambda s, v: [s.update(threading.Lock())][1:]),
    (
        "a list state updated with None",
        lambda c: c.get_list_state(ListStateDescriptor("s", Types.INT())),
        lambda s, v: [s.update(None)][1:],
    ),
    (
        "a list state to which None is added",
        lambda c: c.get_list_state(ListStateDescriptor("s", Types.INT())),
        lambda s, v: [s.add(None), list(s)][1:],
    ),
    (
        "a list state updated with a text",
        lambda c: c.get_list_state(ListStateDescriptor("s", Types.STRING())),
        lambda s, v: [s.update("ab"), list(s)][1:],
    ),
    (
        "a map state with NaN as a key",
        lambda c: c.get_map_state(MapStateDescriptor("s", Types.DOUBLE(), Types.INT())),
        lambda s, v: [s.put(float("nan"), v), len(list(s.items()))][1:],
    ),
    (
        "a map state with 1, True and 1.0 as keys",
        lambda c: c.get_map_state(MapStateDescriptor("s", Types.PICKLED_BYTE_ARRAY(), Types.INT())),
        lambda s, v: [[s.put(k, v) for k in (1, True, 1.0)], len(list(s.items()))][1:],
    ),
    (
        "a map state with a list as a key",
        lambda c: c.get_map_state(MapStateDescriptor("s", Types.PICKLED_BYTE_ARRAY(), Types.INT())),
        lambda s, v: [s.put([1], v), list(s.items())][1:],
    ),
    (
        "a map state changed while it is read",
        lambda c: c.get_map_state(MapStateDescriptor("s", Types.INT(), Types.INT())),
        lambda s, v: [s.put(1, 1), s.put(2, 2), [s.remove(k) for k in list(s)], s.is_empty()][3:],
    ),
    (
        "a map state asked for a key that is not there",
        lambda c: c.get_map_state(MapStateDescriptor("s", Types.INT(), Types.INT())),
        lambda s, v: [s.get(5)],
    ),
    (
        "a list state changed while it is read",
        lambda c: c.get_list_state(ListStateDescriptor("s", Types.INT())),
        lambda s, v: [s.add_all([1, 2]), [s.add(x) for x in s if x < 9], len(list(s))][2:],
    ),
    (
        "a value of the state changed without update",
        value,
        lambda s, v: [s.update([v]), s.value().append(9), s.value()][2:],
    ),
]
for _words, _make, _use in STATES:
    case(_words)(
        lambda here, m=_make, u=_use: (
            here.of(1).key_by(lambda v: 0).process(Described(m, u or (lambda s, v: [v])))
        )
    )


@case("state used in open, where there is no key")
def _(here: Here) -> Any:
    return here.of(1).key_by(lambda v: 0).process(Described(lambda c: value(c).value()))


@case("state used in close, where there is no key")
def _(here: Here) -> Any:
    class Closing(Described):
        def close(self) -> None:
            self.state.update(5)

    return here.of(1).key_by(lambda v: 0).process(Closing(value))


@case("state of a function that is not keyed")
def _(here: Here) -> Any:
    class Keyless(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.state = value(runtime_context)

        def map(self, value: Any) -> Any:
            return self.state.value()

    return here.of(1).map(Keyless())


@case("a state made while elements are processed")
def _(here: Here) -> Any:
    class Late(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.context = runtime_context

        def process_element(self, v: Any, ctx: KeyedProcessFunction.Context) -> Any:
            state = value(self.context, f"s{v}")
            state.update(v)
            yield state.value()

    return here.of(1, 2).key_by(lambda v: 0).process(Late())


for _words, _length in [
    ("a time to live of nothing", lambda: Time.milliseconds(0)),
    ("a negative time to live", lambda: Time.milliseconds(-5)),
    ("a time to live that is a text", lambda: "1 h"),
    ("a time to live of 2**63 - 1 ms", lambda: Time.milliseconds(2**63 - 1)),
]:

    def _living(here: Here, length: Any = _length) -> Any:
        def make(context: RuntimeContext) -> Any:
            descriptor = ValueStateDescriptor("s", Types.INT())
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(length()).build())
            return context.get_state(descriptor)

        return (
            here.of(1).key_by(lambda v: 0).process(Described(make, lambda s, v: [s.update(v), s.value()][1:]))
        )

    case(_words)(_living)


RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


@case("broadcast state written where it can only be read")
def _(here: Here) -> Any:
    class Writing(BroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.get_broadcast_state(RULES).put("a", 1)

        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            yield value

    env = here.env()
    rules = env.from_collection(["r"]).broadcast(RULES)
    return env.from_collection([1]).connect(rules).process(Writing())


@case("broadcast state that was not declared")
def _(here: Here) -> Any:
    class Asking(BroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value

        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            ctx.get_broadcast_state(MapStateDescriptor("others", Types.STRING(), Types.INT())).put("a", 1)

    env = here.env()
    rules = env.from_collection(["r"]).broadcast(RULES)
    return env.from_collection([1]).connect(rules).process(Asking())
