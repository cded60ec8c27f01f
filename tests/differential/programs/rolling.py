"""sum, min and max change one field of the first record; min_by and max_by keep a whole record, the first on ties."""

from timed import by_first, environment

env = environment()
records = [
    ("a", 3, "p", 1.5),
    ("a", 1, "q", 2.5),
    ("b", 9, "r", 0.5),
    ("a", 2, "s", -1.0),
    ("a", 1, "t", 9.0),
]
records += [("b", 9, "u", 1.0), ("a", 3, "v", 0.0), ("b", -4, "w", 7.0), ("b", 20, "x", 7.0)]
keyed = env.from_collection(records).key_by(by_first)
for name in ("sum", "min", "max", "min_by", "max_by"):
    getattr(keyed, name)(1).map(lambda v: f"{v[0]}> {v[1:]}").print(name)
keyed.sum(3).map(lambda v: f"{v[0]}> {v[1:]}").print("sum of floats")
keyed.max(2).map(lambda v: f"{v[0]}> {v[1:]}").print("max of strings")
env.execute()
