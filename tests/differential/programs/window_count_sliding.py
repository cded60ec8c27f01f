"""Sliding count windows: overlapping, and with gaps."""

from pyflink.datastream import ProcessWindowFunction
from timed import by_first, environment


class Whole(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield f"{context.window()} {[e[1] for e in elements]}"


env = environment()
keyed = env.from_collection([("k", n) for n in range(1, 10)]).key_by(by_first)
for size, slide in ((3, 2), (3, 1), (2, 3), (4, 4)):
    keyed.count_window(size, slide).process(Whole()).print(f"{size}/{slide}")
env.execute()
