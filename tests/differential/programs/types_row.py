"""Rows: access by name and position, kinds, equality, and how they pass through typed streams."""

from pyflink.common import Row, RowKind, Types
from timed import environment

PERSON = Types.ROW_NAMED(["name", "age", "tags"], [Types.STRING(), Types.INT(), Types.LIST(Types.STRING())])


def describe(row):
    return (
        f"{row.name} {row['age']} {row[2]} {len(row)} {list(row)} {row.get_row_kind().name} {row.as_dict()}"
    )


def older(row):
    changed = Row(name=row.name, age=row.age + 1, tags=[*row.tags, "older"])
    changed.set_row_kind(RowKind.UPDATE_AFTER)
    return changed


env = environment()
people = env.from_collection([Row("ann", 30, ["a"]), Row("bob", 41, [])], PERSON)
people.map(describe).print("described")
people.map(older, PERSON).map(describe).print("older")
people.map(older, PERSON).print("printed")
people.map(lambda r: r == Row("bob", 41, [])).print("equal")
people.map(lambda r: Row(r.age, r.name), Types.ROW([Types.INT(), Types.STRING()])).map(repr).print(
    "positions"
)
people.map(lambda r: Row(name=r.name, half=r.age / 2)).map(repr).print("untyped")
people.map(lambda r: (r.name, r.age), Types.TUPLE([Types.STRING(), Types.INT()])).print("tuple")
env.execute()
