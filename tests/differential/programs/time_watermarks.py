"""The watermark that a function sees is that of the records before; it never goes back."""

from timed import Stamped, environment, events

env = environment()
records = [
    ("k", "a", 3),
    ("k", "b", 8),
    ("k", "c", 5),
    ("k", "d", 8),
    ("k", "e", 20),
    ("k", "f", -4),
    ("k", "g", 21),
]
for name, bound in (("monotonous", 0), ("bound 4", 4)):
    events(env, records, bound).process(Stamped()).print(name)
env.execute()
