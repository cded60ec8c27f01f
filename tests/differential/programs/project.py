"""project keeps the fields of tuples that it names, in that order, with their types."""

from pyflink.common import Types
from timed import environment

env = environment()
of = Types.TUPLE([Types.STRING(), Types.INT(), Types.FLOAT(), Types.BOOLEAN()])
stream = env.from_collection([("a", 1, 0.5, True), ("b", 2, 0.1, False)], of)
stream.project(2, 0).print("two and nought")
stream.project(3, 3, 1).map(lambda v: (v, type(v).__name__)).print("twice")
stream.map(lambda v: v, of).project(1).print("one")
env.execute()
