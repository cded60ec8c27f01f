"""Count windows are counted for each key; what does not fill a window never fires."""

from pyflink.datastream import ProcessWindowFunction
from timed import by_first, environment


class Whole(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield f"{key}> {context.window()} {[e[1] for e in elements]}"


env = environment()
records = [
    ("a", 1),
    ("a", 2),
    ("b", 3),
    ("a", 4),
    ("b", 5),
    ("a", 6),
    ("a", 7),
    ("b", 8),
    ("a", 9),
    ("b", 10),
]
keyed = env.from_collection(records).key_by(by_first)
keyed.count_window(3).process(Whole()).print("of 3")
keyed.count_window(1).process(Whole()).print("of 1")
keyed.count_window(3).reduce(lambda x, y: (x[0], x[1] + y[1])).map(lambda v: f"{v[0]}> {v[1]}").print("sum")
env.execute()
