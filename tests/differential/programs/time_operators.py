"""Timestamps pass through map, filter, flat_map, key_by and process; all results of a record have its timestamp."""

from timed import Stamped, by_first, environment, events

env = environment()
stream = events(env, [("k", 1, 10), ("k", 2, 20), ("k", 3, 15), ("k", 4, 30)])
stream.map(lambda v: f"m{v[1]}").process(Stamped()).print("map")
stream.filter(lambda v: v[1] % 2 == 0).process(Stamped()).print("filter")
stream.flat_map(lambda v: [f"{v[1]}.{i}" for i in range(v[1] % 3)]).process(Stamped()).print("flat_map")
stream.key_by(by_first).map(lambda v: f"k{v[1]}").process(Stamped()).print("keyed")
stream.key_by(by_first).sum(1).process(Stamped()).print("sum")
stream.rebalance().map(lambda v: f"r{v[1]}").process(Stamped()).print("rebalance")
env.execute()
