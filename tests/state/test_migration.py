"""State of another type: refused with both types named, or converted."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from firesteel.common import Row, Types
from firesteel.common._type_text import type_text
from firesteel.common.errors import FiresteelError, StateError
from firesteel.common.key_groups import key_group_range
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream import AggregateFunction
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from firesteel.state.backend import KeyScope, OperatorState, StateLimits
from firesteel.state.canonical import by_operator, catalog
from firesteel.state.files import MemoryStateFiles
from firesteel.state.keys import key_group
from firesteel.state.line import StateLine
from firesteel.state.reader import StateReader
from firesteel.state.rescale import rescaled
from tests.state.support import Driver, use

LONG, TEXT, ANY = Types.LONG(), Types.STRING(), Types.PICKLED_BYTE_ARRAY()
TINY = StateLimits(cache_entries=8, warm_entries=0, inline_bytes=200, compaction_entries=20)


class Sum(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value

    def get_result(self, accumulator: Any) -> Any:
        return ("sum", accumulator)

    def merge(self, one: Any, two: Any) -> Any:
        return one + two


def plus(one: Any, two: Any) -> Any:
    return one + two


class Kind:
    """A kind of state with the type ``of`` in the place that may change, and how a test uses it."""

    def __init__(
        self,
        name: str,
        describe: Callable[[TypeInformation], StateDescriptor],
        get: Callable[[OperatorState, Any], Any],
        put: Callable[[Any, Any], Any],
        content: Callable[[Any], Any],
        keyed: bool = True,
    ) -> None:
        self.name, self.describe, self.get, self.put, self.content, self.keyed = (
            name,
            describe,
            get,
            put,
            content,
            keyed,
        )


def of_map(type_: TypeInformation) -> StateDescriptor:
    return MapStateDescriptor("s", TEXT, type_)


def of_list(type_: TypeInformation) -> StateDescriptor:
    return ListStateDescriptor("s", type_)


KINDS = [
    Kind(
        "value",
        lambda t: ValueStateDescriptor("s", t),
        OperatorState.get_state,
        lambda h, v: h.update(v),
        lambda h: h.value(),
    ),
    Kind("list", of_list, OperatorState.get_list_state, lambda h, v: h.add(v), lambda h: list(h.get())),
    Kind(
        "map",
        of_map,
        OperatorState.get_map_state,
        lambda h, v: h.put(f"m{v}", v),
        lambda h: list(h.values()),
    ),
    Kind(
        "reducing",
        lambda t: ReducingStateDescriptor("s", plus, t),
        OperatorState.get_reducing_state,
        lambda h, v: h.add(v),
        lambda h: h.get(),
    ),
    Kind(
        "aggregating",
        lambda t: AggregatingStateDescriptor("s", Sum(), t),
        OperatorState.get_aggregating_state,
        lambda h, v: h.add(v),
        lambda h: h.get(),
    ),
    Kind(
        "operator list",
        of_list,
        lambda s, d: s.list_state("s", d),
        lambda h, v: h.add(v),
        lambda h: list(h.get()),
        False,
    ),
    Kind(
        "union list",
        of_list,
        lambda s, d: s.union_list_state("s", d),
        lambda h, v: h.add(v),
        lambda h: list(h.get()),
        False,
    ),
    Kind(
        "broadcast",
        of_map,
        OperatorState.broadcast_state,
        lambda h, v: h.put(f"m{v}", v),
        lambda h: list(h.values()),
        False,
    ),
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
AFTER = {"reducing": "7", "aggregating": ("sum", "7"), "value": "7"}


def stored(kind: Kind, limits: StateLimits | None = None) -> Driver:
    """Three keys with the value 7 as a LONG."""
    driver = Driver(limits=limits)

    def work(operator: OperatorState) -> None:
        handle = kind.get(operator, kind.describe(LONG))
        for key in ("a", "b", "c") if kind.keyed else ("a",):
            use(operator, key)
            kind.put(handle, 7)

    driver.run(driver.process(), work)
    return driver


def content(kind: Kind, descriptor: StateDescriptor) -> Callable[[OperatorState], Any]:
    return lambda operator: kind.content(kind.get(use(operator, "a"), descriptor))


@every_kind
@pytest.mark.parametrize("limits", [StateLimits(), TINY], ids=["whole", "read through"])
@pytest.mark.row("S-STATE-02")
def test_another_type_is_refused_with_both_named(kind: Kind, limits: StateLimits) -> None:
    driver = stored(kind, limits)
    with pytest.raises(StateError) as refused:
        driver.run(driver.process(), lambda operator: kind.get(operator, kind.describe(TEXT)))
    whole = kind.describe(LONG).type_info, kind.describe(TEXT).type_info
    assert f"stored as {whole[0]}" in str(refused.value)
    assert f"declared as {whole[1]}" in str(refused.value)
    assert "'s'" in str(refused.value)
    assert refused.value.uid == "op"
    assert driver.run(driver.process(), content(kind, kind.describe(LONG))) in (7, [7], ("sum", 7))


@every_kind
@pytest.mark.parametrize("limits", [StateLimits(), TINY], ids=["whole", "read through"])
@pytest.mark.row("S-STATE-23")
def test_a_registered_function_converts_it(kind: Kind, limits: StateLimits) -> None:
    driver = stored(kind, limits)
    descriptor = kind.describe(TEXT).migrate_from(LONG, str)
    expected = AFTER.get(kind.name, ["7"])
    first, second = driver.process(), driver.process()
    assert driver.run(first, content(kind, descriptor)) == expected
    assert driver.run(second, content(kind, descriptor)) == expected, "a process that was not there"
    assert driver.run(first, content(kind, kind.describe(TEXT))) == expected, "the function is stored too"

    def change(operator: OperatorState) -> None:
        kind.put(kind.get(use(operator, "a"), descriptor), "8")

    driver.run(second, change)
    after = driver.run(first, content(kind, descriptor))
    assert after in ("78", ("sum", "78"), "8", ["7", "8"]), "old and new lie together"
    assert driver.run(driver.process(), content(kind, descriptor)) == after
    third = kind.describe(ANY).migrate_from(TEXT, lambda text: (text, len(text)))
    tripled = driver.run(driver.process(), content(kind, third))
    assert tripled == driver.run(driver.process(), content(kind, third)), "from LONG to text to any object"
    assert "8" in repr(tripled)


@every_kind
def test_a_savepoint_holds_the_new_type_alone(kind: Kind) -> None:
    driver = stored(kind)
    driver.run(driver.process(), content(kind, kind.describe(TEXT).migrate_from(LONG, str)))
    entry = next(e for e in catalog(driver.line, driver.files).values() if e.name == "s")
    assert [step.type for step in entry.steps] != []
    target = MemoryStateFiles()
    (line,) = by_operator([driver.line], driver.files, target, 128, "sp")["op"]
    (entry,) = (e for e in catalog(line, target).values() if e.name == "s")
    assert (entry.steps, entry.type) == ((), type_text(kind.describe(TEXT).type_info))
    assert all(run.versions == () for run in line.runs)
    copy = Driver(target)
    copy.line = line
    assert copy.run(copy.process(), content(kind, kind.describe(TEXT))) == AFTER.get(kind.name, ["7"])


def test_it_is_lazy_and_compaction_makes_it_permanent() -> None:
    """What nobody reads is not converted before it is rewritten anyway."""
    driver = Driver(limits=StateLimits(cache_entries=50, warm_entries=0, compaction_entries=50))
    keys = [f"k{n}" for n in range(300)]

    def put(operator: OperatorState, descriptor: StateDescriptor, keys: list[str], value: Any) -> None:
        handle = operator.get_state(descriptor)
        for key in keys:
            use(operator, key)
            handle.update(value)

    driver.run(driver.process(), lambda s: put(s, ValueStateDescriptor("s", LONG), keys, 7))
    calls_of_convert.clear()
    descriptor = ValueStateDescriptor("s", TEXT).migrate_from(LONG, counted)
    process = driver.process()
    driver.run(process, lambda s: put(s, descriptor, ["new"], "8"))
    assert len(calls_of_convert) < 150, "the epoch that changes the type reads next to nothing"
    for n in range(60):
        driver.run(process, lambda s, n=n: put(s, descriptor, [f"n{n}"], "9"))
    versions = {run.versions for run in driver.line.live_runs}
    assert len(versions) == 1, "all has been rewritten"
    assert versions != {()}
    read = driver.run(driver.process(), lambda s: {value(s, descriptor, key) for key in keys})
    assert read == {"7"}


calls_of_convert: list[int] = []


def counted(value: int) -> str:
    calls_of_convert.append(value)
    return str(value)


def value(operator: OperatorState, descriptor: StateDescriptor, key: str) -> Any:
    return use(operator, key).get_state(descriptor).value()


# ---- what follows by itself, and what does not

PERSON = Types.ROW_NAMED(["name", "age"], [TEXT, LONG])
OLDER = Types.ROW_NAMED(["age", "name", "town"], [LONG, TEXT, TEXT])
NESTED = Types.ROW_NAMED(["id", "who"], [LONG, PERSON])
NESTED_NEW = Types.ROW_NAMED(["id", "who"], [LONG, Types.ROW_NAMED(["name"], [TEXT])])


@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        (PERSON, OLDER, Row(name="ada", age=36), Row(age=36, name="ada", town=None)),
        (PERSON, OLDER, Row("ada", 36), Row(age=36, name="ada", town=None)),
        (PERSON, Types.ROW_NAMED(["age"], [LONG]), Row(name="ada", age=36), Row(age=36)),
        (NESTED, NESTED_NEW, Row(id=1, who=Row(name="ada", age=36)), Row(id=1, who=Row(name="ada"))),
        (
            Types.LIST(PERSON),
            Types.LIST(OLDER),
            [Row(name="ada", age=36)],
            [Row(age=36, name="ada", town=None)],
        ),
    ],
)
@pytest.mark.row("S-STATE-23")
def test_fields_of_rows_come_go_and_move(old: Any, new: Any, before: Any, after: Any) -> None:
    """As Flink's POJOs: by name; what is new is None in what was stored."""
    driver = Driver()
    driver.run(
        driver.process(), lambda s: use(s, "a").get_state(ValueStateDescriptor("s", old)).update(before)
    )
    read = driver.run(
        driver.process(), lambda s: use(s, "a").get_state(ValueStateDescriptor("s", new)).value()
    )
    assert read == after
    assert getattr(read, "_fields", None) == getattr(after, "_fields", None)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (PERSON, Types.ROW_NAMED(["name", "years"], [TEXT, LONG]), "renamed"),
        (PERSON, Types.ROW_NAMED(["name", "age"], [TEXT, TEXT]), "age"),
        (Types.INT(), LONG, "Integer"),
        (ANY, LONG, "Pickled"),
        (LONG, ANY, "Pickled"),
        (Types.TUPLE([LONG]), Types.TUPLE([LONG, LONG]), "Tuple"),
        (Types.MAP(TEXT, LONG), Types.MAP(LONG, LONG), "Map"),
    ],
)
def test_what_does_not_follow_by_itself(old: Any, new: Any, why: str) -> None:
    sample: Any = {repr(PERSON): Row(name="a", age=1), repr(Types.TUPLE([LONG])): (1,)}
    before = sample.get(repr(old), {"a": 1} if "Map" in repr(old) else 1)
    driver = Driver()
    driver.run(
        driver.process(), lambda s: use(s, "a").get_state(ValueStateDescriptor("s", old)).update(before)
    )
    with pytest.raises(StateError, match=why) as refused:
        driver.run(driver.process(), lambda s: s.get_state(ValueStateDescriptor("s", new)))
    assert repr(old) in str(refused.value)
    assert repr(new) in str(refused.value)


def test_map_keys_cannot_be_converted() -> None:
    driver = Driver()
    old, new = MapStateDescriptor("s", LONG, LONG), MapStateDescriptor("s", TEXT, LONG)
    driver.run(driver.process(), lambda s: use(s, "a").get_map_state(old).put(1, 1))
    with pytest.raises(StateError, match="keys of a map state"):
        driver.run(driver.process(), lambda s: s.get_map_state(new))


def test_another_type_of_keys_or_windows_is_refused() -> None:
    driver = Driver()

    def run(scope: KeyScope) -> Any:
        process = driver.process()
        process.begin(driver.line, 0)
        operator = use(process.operator("op", scope), "a")
        state = operator.get_state(ValueStateDescriptor("s", LONG))
        state.update((state.value() or 0) + 1)
        operator.event_timers.register(5)
        driver.commit(process.finish())
        return state.value()

    assert run(KeyScope('"STRING"', "TimeWindow")) == 1
    with pytest.raises(StateError, match=r"keys of type String.*keys of type Long"):
        run(KeyScope('"LONG"', "TimeWindow"))
    with pytest.raises(StateError, match=r"windows TimeWindow.*windows GlobalWindow"):
        run(KeyScope('"STRING"', "GlobalWindow"))
    assert run(KeyScope('"STRING"', "TimeWindow")) == 2


def test_a_function_that_fails_or_gives_something_else_says_so() -> None:
    driver = stored(KINDS[0])
    failing = ValueStateDescriptor("s", TEXT).migrate_from(LONG, lambda value: value / 0)
    wrong = ValueStateDescriptor("s", TEXT).migrate_from(LONG, lambda value: [value])
    for descriptor, text in ((failing, "ZeroDivisionError"), (wrong, "gave")):
        with pytest.raises(FiresteelError, match=f"migration function of state 's'.*{text}"):
            driver.run(driver.process(), content(KINDS[0], descriptor))
    dropping = ValueStateDescriptor("s", TEXT).migrate_from(LONG, lambda value: None)
    assert driver.run(driver.process(), content(KINDS[0], dropping)) is None


def test_misuse_of_migrate_from() -> None:
    descriptor = ValueStateDescriptor("s", LONG)
    for old, function, text in ((LONG, str, "that is its type"), (TEXT, 1, "called"), ("LONG", str, "type")):
        with pytest.raises(FiresteelError, match=text):
            descriptor.migrate_from(old, function)  # type: ignore[arg-type]


def test_a_discarded_epoch_changes_no_type() -> None:
    driver = stored(KINDS[0])
    process = driver.process()
    process.begin(driver.line, 0)
    descriptor = ValueStateDescriptor("s", TEXT).migrate_from(LONG, str)
    operator = use(process.operator("op"), "a")
    operator.get_state(descriptor).update("changed")
    process.finish()  # and nobody commits it
    assert driver.run(process, lambda s: use(s, "a").get_state(descriptor).value()) == "7"
    assert driver.run(driver.process(), lambda s: use(s, "b").get_state(descriptor).value()) == "7"


# ---- several subtasks, and a model


def test_subtasks_that_have_come_differently_far_are_brought_together() -> None:
    """A state that a function asks for late is known by its new type to some subtasks only."""
    files = MemoryStateFiles()
    drivers = [Driver(files, key_groups=key_group_range(128, 2, n)) for n in range(2)]
    keys: list[list[str]] = [[], []]
    for key in (f"k{n}" for n in range(20)):
        keys[0 if key_group(key, 128) < 64 else 1].append(key)

    def put(names: list[str], descriptor: StateDescriptor, value: Any) -> Callable[[OperatorState], None]:
        def work(operator: OperatorState) -> None:
            for name in names:
                use(operator, name).get_state(descriptor).update(value)

        return work

    old = ValueStateDescriptor("s", LONG)
    new = ValueStateDescriptor("s", TEXT).migrate_from(LONG, lambda n: f"<{n}>")
    other = ListStateDescriptor("other", LONG)
    for number, driver in enumerate(drivers):
        driver.epoch = number * 1000
        driver.run(driver.process(), put(keys[number], old, 7))
        driver.run(driver.process(), lambda s: s.list_state("other", other).add(1))
    drivers[1].run(drivers[1].process(), put(keys[1][:3], new, "8"))
    changed = ListStateDescriptor("other", TEXT).migrate_from(LONG, lambda n: f"<{n}>")
    drivers[0].run(drivers[0].process(), lambda s: s.list_state("other", changed).add("2"))
    lines = [driver.line for driver in drivers]
    expected = {name: "8" if name in keys[1][:3] else "<7>" for name in keys[0] + keys[1]}
    for parallelism in (1, 2, 3):
        found, elements = read_all(rescaled(lines, files, 128, parallelism, f"r{parallelism}"), files)
        if parallelism != 2:  # there each line is as it was
            assert (found, sorted(elements)) == (expected, ["2", "<1>", "<1>"])
        target = MemoryStateFiles()
        canonical = by_operator(lines, files, target, 128, f"c{parallelism}")["op"]
        found, elements = read_all(rescaled(canonical, target, 128, parallelism, "r"), target)
        assert (found, sorted(elements)) == (expected, ["2", "<1>", "<1>"])


def read_all(lines: list[StateLine], files: MemoryStateFiles) -> tuple[dict[Any, Any], list[Any]]:
    found: dict[Any, Any] = {}
    elements: list[Any] = []
    for number, line in enumerate(lines):
        groups = key_group_range(128, len(lines), number)
        reader = StateReader(line, files, max_parallelism=128, key_groups=groups)
        for entry in reader.states:
            if entry.name == "s":
                found |= {key: reader.keyed(entry, None, key) for key in reader.keys(entry, None)}
            else:
                elements += reader.of_operator(entry, None)
    return found, elements


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.row("S-STATE-23")
def test_whatever_is_cached_compacted_or_left_alone(seed: int, tmp_path: Any) -> None:
    """Values, lists and maps against dictionaries, through two changes of type, in three processes."""
    chance = random.Random(seed)
    driver = Driver(
        limits=chance.choice([StateLimits(), TINY]), local_dir=str(tmp_path) if seed % 2 else None
    )
    processes = [driver.process() for _ in range(3)]
    types = [(LONG, lambda n: n), (TEXT, str), (Types.TUPLE([TEXT]), lambda n: (str(n),))]
    model: dict[str, dict[str, Any]] = {"value": {}, "list": {}, "map": {}}
    version = 0

    def descriptors() -> list[Any]:
        made = [ValueStateDescriptor("v", types[version][0]), ListStateDescriptor("l", types[version][0])]
        made.append(MapStateDescriptor("m", LONG, types[version][0]))
        for descriptor in made:
            if version >= 1:
                descriptor.migrate_from(LONG, types[version][1])
            if version == 2:
                descriptor.migrate_from(TEXT, lambda text: (text,))
        return made

    def work(operator: OperatorState, rounds: int, kept: bool) -> None:
        of_value, of_list, of_map = descriptors()
        value, lists = operator.get_state(of_value), operator.get_list_state(of_list)
        maps = operator.get_map_state(of_map)
        make = types[version][1]
        for _ in range(rounds):
            key, n = f"k{chance.randrange(15)}", chance.randrange(100)
            use(operator, key)
            model_list = model["list"].setdefault(key, [])
            model_map = model["map"].setdefault(key, {})
            assert value.value() == (None if key not in model["value"] else make(model["value"][key]))
            if chance.random() < 0.5:
                assert list(lists.get()) == list(map(make, model_list))
                assert dict(maps.items()) == {k: make(x) for k, x in model_map.items()}
            if not kept:
                continue
            match chance.randrange(6):
                case 0 | 1:
                    value.update(make(n))
                    model["value"][key] = n
                case 2:
                    lists.add(make(n))
                    model_list.append(n)
                case 3:
                    maps.put(n % 7, make(n))
                    model_map[n % 7] = n
                case 4:
                    value.clear()
                    model["value"].pop(key, None)
                case 5:
                    lists.clear() if n % 2 else maps.remove(n % 7)
                    model_list.clear() if n % 2 else model_map.pop(n % 7, None)

    for epoch in range(60):
        if epoch in (20, 40):
            version += 1
            processes = [driver.process() for _ in range(3)]  # another program
        process = chance.choice(processes)
        if chance.random() < 0.15:  # an attempt that nobody commits
            process.begin(driver.line, 0)
            work(process.operator("op"), 4, kept=False)
            process.finish()
        driver.run(process, lambda s: work(s, 8, kept=True))
