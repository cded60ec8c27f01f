"""KeyedBroadcastProcessFunction: timers of the keyed side, which fire when both sides' time has come, read the rules."""

from pyflink.common import Types
from pyflink.datastream import KeyedBroadcastProcessFunction
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor
from timed import by_first, environment, events

PRICES = MapStateDescriptor("prices", Types.STRING(), Types.INT())


class Priced(KeyedBroadcastProcessFunction):
    def open(self, runtime_context):
        self.bought = runtime_context.get_list_state(ListStateDescriptor("bought", Types.STRING()))

    def process_element(self, value, ctx):
        self.bought.add(value[1])
        ctx.timer_service().register_event_time_timer(1000)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(PRICES).put(value[0], value[1])

    def on_timer(self, timestamp, ctx):
        prices = ctx.get_broadcast_state(PRICES)
        bought = {item: prices.get(item) for item in sorted(self.bought.get())}
        yield ctx.get_current_key(), bought, ctx.time_domain().name, timestamp


env = environment()
prices = events(env, [("tea", 3, 1), ("milk", 2, 2), ("tea", 4, 3)]).broadcast(PRICES)
orders = events(env, [("ann", "tea", 1), ("bob", "milk", 5), ("ann", "milk", 3), ("cid", "gold", 9)])
orders.key_by(by_first).connect(prices).process(Priced()).map(lambda v: f"{v[0]}> {v[1:]}").print()
env.execute()
