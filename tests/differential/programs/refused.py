"""What cannot work is refused: when the program is built, or when the job runs."""

from pyflink.common import Time, Types
from pyflink.datastream import (
    CoMapFunction,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    Trigger,
    TriggerResult,
)
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from timed import AllContents, Contents, by_first, environment, events


class NoMerge(Trigger):
    def on_element(self, element, timestamp, window, ctx):
        return TriggerResult.FIRE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        pass


class TimerWithoutKey(ProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(1)
        yield value


class StateWithoutKey(ProcessFunction):
    def open(self, runtime_context):
        self.state = runtime_context.get_state(ValueStateDescriptor("state", Types.INT()))

    def process_element(self, value, ctx):
        self.state.update(1)
        yield value


class Plain(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


def five(**options):
    return TumblingEventTimeWindows.of(Time.milliseconds(5), **options)


CASES = {
    "a keyed function on a stream without keys": lambda s: s.process(Plain()),
    "a function without keys on a keyed stream": lambda s: s.key_by(by_first).process(TimerWithoutKey()),
    "a timer without a key": lambda s: s.process(TimerWithoutKey()),
    "state without a key": lambda s: s.process(StateWithoutKey()),
    "forward to another parallelism": lambda s: s.map(str).forward().map(str).set_parallelism(2),
    "a window that is empty": lambda s: TumblingEventTimeWindows.of(Time.milliseconds(0)),
    "an offset that is too large": lambda s: five(offset=Time.milliseconds(5)),
    "a sliding offset that is too large": lambda s: SlidingEventTimeWindows.of(
        Time.milliseconds(10), Time.milliseconds(5), Time.milliseconds(-5)
    ),
    "a session without a gap": lambda s: EventTimeSessionWindows.with_gap(Time.milliseconds(0)),
    "a trigger that cannot merge": lambda s: s.window_all(
        EventTimeSessionWindows.with_gap(Time.milliseconds(5))
    ).trigger(NoMerge()),
    "event-time windows without timestamps": lambda s: (
        s.get_execution_environment().from_collection([("k", 1)]).window_all(five()).process(AllContents())
    ),
    "a process function in apply": lambda s: s.key_by(by_first).window(five()).apply(Contents()),
    "a key selector that is no function": lambda s: s.key_by(5),
    "a map that is no function": lambda s: s.map("text"),
    "a co-map with a plain function": lambda s: s.connect(s).map(lambda v: v),
    "an abstract co-map": lambda s: s.connect(s).map(CoMapFunction()),
    "a sum by a wrong kind of position": lambda s: s.key_by(by_first).sum(1.5),
    "a tag without a name": lambda s: OutputTag(""),
    "an exception in a function": lambda s: s.map(lambda v: v[7]),
    "a text that is no number": lambda s: s.map(lambda v: "1", Types.INT()).map(str),
    "a number that is too large": lambda s: s.map(lambda v: 2**31, Types.INT()).map(str),
    "a number that is cut": lambda s: s.map(lambda v: 1.7, Types.INT()).map(str),
    "a number for a text": lambda s: s.map(lambda v: 1, Types.STRING()).map(str),
    "a list for a tuple": lambda s: s.map(lambda v: [1, 2], Types.TUPLE([Types.INT(), Types.INT()])).map(str),
    "a tuple for a row": lambda s: s.map(lambda v: (1, 2), Types.ROW([Types.INT(), Types.INT()])).map(str),
    "a tuple for a list": lambda s: s.map(lambda v: (1, 2), Types.LIST(Types.INT())).map(str),
    "a flat_map without a result": lambda s: s.flat_map(lambda v: None),
}

for name, build in CASES.items():
    env = environment()
    try:
        stream = build(events(env, [("k", 1, 1)]))
        if hasattr(stream, "execute_and_collect"):
            list(stream.execute_and_collect())
        verdict = "accepted"
    except Exception:
        verdict = "refused"
    print(f"{name}: {verdict}")
