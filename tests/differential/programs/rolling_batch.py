"""BATCH: rolling aggregates and reduce emit one result for each key, over its records in the order of their time."""

from pyflink.datastream import RuntimeExecutionMode
from timed import Stamped, by_first, environment, events

env = environment()
env.set_runtime_mode(RuntimeExecutionMode.BATCH)
records = [
    ("b", 3, "p", 9),
    ("a", 1, "q", 2),
    ("b", 9, "r", 1),
    ("a", 2, "s", 7),
    ("a", 1, "t", 5),
    ("b", 9, "u", 4),
]
keyed = events(env, records).key_by(by_first)
for name in ("sum", "min", "max", "min_by", "max_by"):
    getattr(keyed, name)(1).process(Stamped()).print(name)
keyed.reduce(lambda x, y: (x[0], x[1] + y[1], x[2] + y[2], y[3])).process(Stamped()).print("reduce")
env.execute()
