"""Counts three words: all that it costs is the start."""

from __future__ import annotations

from firesteel.datastream import StreamExecutionEnvironment

if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    words = env.from_collection(["a", "b", "a"]).map(lambda word: (word, 1))
    words.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).print()
    env.execute("three words")
