"""State with a time to live behaves as without one until its time is over."""

from pyflink.common import Time, Types
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from timed import by_first, environment


def kept(descriptor):
    config = (
        StateTtlConfig.new_builder(Time.hours(1))
        .set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)
        .set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)
        .build()
    )
    descriptor.enable_time_to_live(config)
    return descriptor


class Kept(KeyedProcessFunction):
    def open(self, runtime_context):
        self.value = runtime_context.get_state(kept(ValueStateDescriptor("value", Types.INT())))
        self.list = runtime_context.get_list_state(kept(ListStateDescriptor("list", Types.INT())))
        self.map = runtime_context.get_map_state(kept(MapStateDescriptor("map", Types.INT(), Types.STRING())))
        total = ReducingStateDescriptor("sum", lambda a, b: a + b, Types.INT())
        self.sum = runtime_context.get_reducing_state(kept(total))

    def process_element(self, value, ctx):
        number = value[1]
        yield f"{value[0]}> {self.value.value()} {list(self.list.get())} {sorted(self.map.items())} {self.sum.get()}"
        self.value.update(number)
        self.list.add(number)
        self.map.put(number % 3, f"m{number}")
        self.sum.add(number)
        if number == 4:
            self.value.clear()
            self.list.clear()
            self.map.remove(1)
            self.sum.clear()


env = environment()
env.from_collection([(key, n) for n in range(1, 7) for key in ("a", "b")]).key_by(by_first).process(
    Kept()
).print()
env.execute()
