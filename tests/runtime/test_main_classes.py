"""Classes of the user's script, as ``__main__`` holds them: in records, in state and as errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.waiting import patience

SCRIPT = """
import sys
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

sys.path.insert(0, sys.argv[1])
from tests.runtime.engines import TwinEngine
from tests.runtime.support import collect, environment, local_platform
from firesteel.common.errors import JobExecutionError
from firesteel.datastream import KeyedProcessFunction
from firesteel.datastream.state import ListStateDescriptor, ValueStateDescriptor
from firesteel.common.typeinfo import Types


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass
class Event:
    user: str
    colour: Colour


class Total(NamedTuple):
    user: str
    count: int


class TooMany(Exception):
    def __init__(self, user, count):
        super().__init__(f"{user} has {count}")
        self.user = user


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.PICKLED_BYTE_ARRAY()))
        self.all = runtime_context.get_list_state(ListStateDescriptor("all", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value, ctx):
        assert type(value) is Event, "the class of the script, not another of its name"
        assert self.last.value() is None or type(self.last.value()) is Event
        assert isinstance(value.colour, Colour)
        self.last.update(value)
        self.all.add(value)
        count = len(list(self.all.get()))
        if count > 4:
            raise TooMany(value.user, count)
        yield Total(value.user, count)


def run(events):
    engines = []

    def make():
        engines.append(TwinEngine())  # each epoch again in a process that has seen nothing
        return engines[-1]

    with local_platform(make):
        env = environment(2, epoch_records=2)
        totals = env.from_collection(events).key_by(lambda e: e.user).process(Count())
        out = collect(totals.rebalance().map(lambda t: t))
        assert engines[0].differences == []
        return out


out = run([Event("ab"[i % 2], Colour(i % 2 + 1)) for i in range(8)])
assert sorted(out) == [Total(u, n) for u in "ab" for n in (1, 2, 3, 4)], out
assert all(type(t) is Total for t in out)
try:
    run([Event("a", Colour.RED)] * 5)
except JobExecutionError as e:
    assert type(e.__cause__) is TooMany, repr(e.__cause__)
    assert e.__cause__.user == "a"
    print("done")
"""


def test_classes_of_the_script_travel(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, str(script), str(root)],
        capture_output=True,
        text=True,
        timeout=patience(60),
        check=False,
    )
    assert done.stdout == "done\n", done.stderr
