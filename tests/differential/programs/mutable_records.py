"""A function that changes its input does not change what other consumers of the stream see."""

from timed import environment

env = environment()


def append(value):
    value.append("changed")
    return value


stream = env.from_collection([[1], [2]])
stream.map(append).map(str).print("first")
stream.map(append).map(str).print("second")
stream.map(str).print("unchanged")
env.execute()
