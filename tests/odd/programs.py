"""Programs of odd shapes and sizes, and odd names, numbers and options."""

from __future__ import annotations

from typing import Any

from firesteel.common import Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.functions import CoMapFunction

from .core import Case, Here, area

CASES: list[Case] = []
case = area("programs", CASES)


def same(value: Any) -> Any:
    return value


@case("a program without operators")
def _(here: Here) -> Any:
    return here.env()


@case("a program without a sink")
def _(here: Here) -> Any:
    env = here.env()
    env.from_collection([1]).map(same)
    return env


@case("two executes of one program")
def _(here: Here) -> Any:
    env = here.env()
    env.from_collection([1]).print()
    env.execute()
    env.execute()


@case("a stream used after its program was executed")
def _(here: Here) -> Any:
    stream = here.of(1, 2).map(same)
    first = sorted(stream.execute_and_collect())
    return first, sorted(stream.execute_and_collect())


@case("a stream collected twice at a time")
def _(here: Here) -> Any:
    stream = here.of(1, 2, 3).map(same)
    one, two = stream.execute_and_collect(), stream.execute_and_collect()
    return [next(one), next(two), list(one), list(two)]


@case("execute inside of an iteration over execute_and_collect")
def _(here: Here) -> Any:
    found = []
    for record in here.of(1, 2).execute_and_collect():
        found += list(here.of(record).map(lambda v: v * 10).execute_and_collect())
    return sorted(found)


@case("execute_and_collect left after one record, closed twice, asked again")
def _(here: Here) -> Any:
    records = here.env().from_sequence(1, 1_000_000).execute_and_collect()
    first = next(records)
    records.close()
    records.close()
    return first, list(records)


@case("execute_and_collect that nobody reads")
def _(here: Here) -> Any:
    here.env().from_sequence(1, 1_000_000).execute_and_collect()
    return list(here.of(1).execute_and_collect())


for _words, _limit in [("0", 0), ("-1", -1), ("'2'", "2"), ("True", True), ("more than there is", 99)]:
    case(f"execute_and_collect with a limit of {_words}")(
        lambda here, limit=_limit: here.of(1, 2).execute_and_collect(limit=limit)
    )

for _words, _name in [
    ("empty", ""),
    ("None", None),
    ("a number", 5),
    ("two lines", "a\nb"),
    ("10,000 letters", "n" * 10_000),
    ("with a NUL", "a\0b"),
    ("with half of a surrogate pair", "\ud800"),
    ("with an escape sequence", "\x1b[31mred"),
]:

    def _named(here: Here, name: Any = _name) -> Any:
        return list(here.of(1).execute_and_collect(name))

    case(f"a job whose name is {_words}")(_named)

    def _operator(here: Here, name: Any = _name) -> Any:
        return here.of(1).map(same).name(name)

    case(f"an operator whose name is {_words}")(_operator)

    def _uid(here: Here, name: Any = _name) -> Any:
        return here.of(1).map(same).uid(name)

    case(f"an operator whose uid is {_words}")(_uid)


@case("two operators of one uid")
def _(here: Here) -> Any:
    return here.of(1).map(same).uid("u").map(same).uid("u")


@case("a uid hash that is not hexadecimal")
def _(here: Here) -> Any:
    return here.of(1).map(same).set_uid_hash("xyz")


@case("the union of a stream with itself")
def _(here: Here) -> Any:
    stream = here.of(1, 2)
    return stream.union(stream)


@case("the union of a stream with itself and its map")
def _(here: Here) -> Any:
    stream = here.of(1)
    return stream.union(stream.map(same), stream)


@case("the union of nothing")
def _(here: Here) -> Any:
    return here.of(1).union()


@case("the union of streams of two types")
def _(here: Here) -> Any:
    env = here.env()
    return env.from_collection([1], Types.INT()).union(env.from_collection(["a"], Types.STRING()))


@case("the union of streams of two environments")
def _(here: Here) -> Any:
    return here.of(1).union(here.of(2))


@case("a stream connected with itself")
def _(here: Here) -> Any:
    class Both(CoMapFunction):
        def map1(self, value: Any) -> Any:
            return "left", value

        def map2(self, value: Any) -> Any:
            return "right", value

    stream = here.of(1)
    return stream.connect(stream).map(Both())


@case("a union of 200 streams")
def _(here: Here) -> Any:
    env = here.env()
    first, *others = [env.from_collection([i]) for i in range(200)]
    return len(list(first.union(*others).execute_and_collect()))


@case("a chain of 2,000 maps")
def _(here: Here) -> Any:
    stream = here.of(0)
    for _i in range(2000):
        stream = stream.map(lambda v: v + 1)
    return stream


@case("50 exchanges in a row")
def _(here: Here) -> Any:
    stream = here.of(0, parallelism=2)
    for _i in range(50):
        stream = stream.rebalance().map(lambda v: v + 1)
    return stream


@case("a diamond doubled 10 times")
def _(here: Here) -> Any:
    stream = here.of(0)
    for _i in range(10):
        stream = stream.map(same).union(stream.map(same))
    return len(list(stream.execute_and_collect()))


@case("a program handed to another function as a stream inside of a function")
def _(here: Here) -> Any:
    other = here.of(5)
    return here.of(1).map(lambda v: other)


@case("an environment inside of a function")
def _(here: Here) -> Any:
    env = here.env()
    return env.from_collection([1]).map(lambda v: env.get_parallelism())


@case("execute inside of a function")
def _(here: Here) -> Any:
    def nested(value: Any) -> Any:
        env = StreamExecutionEnvironment.get_execution_environment()
        return list(env.from_collection([value]).execute_and_collect())

    return here.of(1).map(nested)


@case("a parallelism above the maximum")
def _(here: Here) -> Any:
    env = here.env(4)
    env.set_max_parallelism(2)
    return env.from_collection([1, 2]).key_by(same).map(same)


@case("a parallelism of 3 and a maximum of 4 with 100 keys")
def _(here: Here) -> Any:
    env = here.env(3)
    env.set_max_parallelism(4)
    return len(list(env.from_collection(range(100)).key_by(same).map(same).execute_and_collect()))


@case("a collection read by two subtasks")
def _(here: Here) -> Any:
    return here.of(1, 2).map(same).get_execution_environment().from_collection([1]).set_parallelism(2)


@case("one record for 16 subtasks")
def _(here: Here) -> Any:
    return here.of(1, parallelism=16).rebalance().map(same)


@case("a sequence from 5 to 5")
def _(here: Here) -> Any:
    return here.env().from_sequence(5, 5)


@case("a sequence that ends before it begins")
def _(here: Here) -> Any:
    return here.env().from_sequence(5, 4)


@case("a sequence of floats")
def _(here: Here) -> Any:
    return here.env().from_sequence(1.0, 2.0)  # type: ignore[arg-type]


@case("the last two numbers of 64 bits")
def _(here: Here) -> Any:
    return here.env(4).from_sequence(2**63 - 2, 2**63 - 1)


@case("a record with a tuple of 20,000 fields")
def _(here: Here) -> Any:
    return here.of(tuple(range(20_000)), parallelism=2).rebalance().map(len)


@case("a declared tuple of 2,000 fields")
def _(here: Here) -> Any:
    wide = Types.TUPLE([Types.INT()] * 2000)
    return here.of(tuple(range(2000)), type=wide, parallelism=2).rebalance().map(len)


@case("a flat_map that makes 300,000 records of one")
def _(here: Here) -> Any:
    stream = here.of(1, parallelism=2).flat_map(lambda v: range(300_000)).key_by(lambda v: v % 7)
    return sum(1 for _record in stream.execute_and_collect())


@case("an empty collection through a key_by and a window")
def _(here: Here) -> Any:
    return here.of().key_by(same).count_window(1).reduce(max)


@case("an environment given a dict as its configuration")
def _(here: Here) -> Any:
    return StreamExecutionEnvironment.get_execution_environment({"parallelism.default": "2"})  # type: ignore[arg-type]


@case("None as a source")
def _(here: Here) -> Any:
    return here.env().from_source(None, WatermarkStrategy.no_watermarks(), "none")


@case("a source class, not an object")
def _(here: Here) -> Any:
    return here.env().from_source(NumberSequenceSource, WatermarkStrategy.no_watermarks(), "class")


@case("a builder, not built, as a source")
def _(here: Here) -> Any:
    from firesteel.datastream.connectors.file_system import FileSource, StreamFormat

    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/tmp")
    return here.env().from_source(builder, WatermarkStrategy.no_watermarks(), "builder")


@case("None as a sink")
def _(here: Here) -> Any:
    return here.of(1).sink_to(None)


@case("a function as a sink")
def _(here: Here) -> Any:
    return here.of(1).sink_to(print)


@case("a slot sharing group without a name")
def _(here: Here) -> Any:
    return here.of(1).map(same).slot_sharing_group("")


@case("start_new_chain on a source")
def _(here: Here) -> Any:
    return here.of(1).start_new_chain()


@case("a description of None")
def _(here: Here) -> Any:
    return here.of(1).map(same).set_description(None)
