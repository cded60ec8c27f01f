"""Windows, timers and rolling results of several keys in three subtasks are those in one."""

from pyflink.common import Time
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.window import TumblingEventTimeWindows
from timed import Applied, by_first, environment, events


class Quiet(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[-1] // 20 * 20 + 19)

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()}> {timestamp} @{ctx.timestamp()}"


env = environment()
records = [(f"key{i % 5}", i, i * 3) for i in range(30)]
keyed = events(env, records).key_by(by_first)
keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(20))).apply(Applied()).set_parallelism(3).print(
    "windows"
)
keyed.process(Quiet()).set_parallelism(3).print("timers")
keyed.sum(1).set_parallelism(3).map(lambda v: f"{v[0]}> {v[1]}").print("sums")
env.execute()
