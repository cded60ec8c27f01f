"""What the partial matches of a key take in stored state, by the size and the number of their events.

A key has either one partial match of all its events, or a partial match for each of them. What is stored is
without the key itself and without the deadline of the key, and counts in two ratios: to the events with their
timestamps of 8 bytes, and to their values alone. The names of stages, once for each key group, are told
beside it.

Run: python benchmarks/micro_cep_state.py [--sizes 13 40 200] [--events 1 3 10 40] [--keys 256]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from typing import Any

from benchmarks.micro_state import Bench
from firesteel.cep import Pattern
from firesteel.cep.compiler import compiled
from firesteel.cep.functions import selecting
from firesteel.cep.operator import CepOperator
from firesteel.cep.spec import MatchPattern
from firesteel.runtime.batch import Batch
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.state._column import COLUMN_ID_BYTES, column_id, column_of, key_end
from firesteel.state._overlay import Overlay
from firesteel.state.columns import encode_elements, to_cached

BEGIN, STEP = 1_700_000_000_000, 1_500  # epoch ms
TIMESTAMP = 8


def in_one() -> Pattern:
    """One partial match, which has all events of the key."""
    pattern = Pattern.begin("high").where(lambda e: e[0] == "a").next("next").where(lambda e: e[0] == "b")
    return pattern.one_or_more().consecutive().greedy().next("foreign").where(lambda e: e[0] == "c")


def in_each() -> Pattern:
    """A partial match for each event of the key."""
    return Pattern.begin("high").followed_by("foreign").where(lambda e: e[0] == "c")


def stored(pattern: Pattern, values: list[str], keys: int) -> tuple[float, float]:
    """Bytes of a key, and of what lies beside the keys for each key group."""
    select = selecting("cep", lambda match: 1, flat=False)
    spec = MatchPattern(compiled(pattern), function=select)
    root = tempfile.mkdtemp()
    try:
        bench = Bench(root)
        state = bench.process()
        program = OperatorProgram(name="cep", uid="op", spec=spec, output_type=None, keyed=True)
        operator = CepOperator(program, spec)
        context: dict[str, Any] = {"attempt": 1, "batch_mode": False, "state_dir": "", "settings": {}}
        operator.open(SubtaskContext("job", "job", "cep", 0, 1, 128, **context), state.operator("op"))
        state.begin(bench.line, 0)
        operator.begin_epoch()
        for number, value in enumerate(values):
            at = BEGIN + STEP * number
            operator.process(Batch([value] * keys, [at] * keys, [(keys, at)], list(range(keys))))
        operator.end_epoch()
        bench.commit(state.finish())
        overlay = Overlay(bench.files)
        overlay.move_to(bench.line)
        column = column_id("op", "_cep/matches")
        of_keys, of_groups, groups = 0, 0, 0
        for name, entry in overlay.scan_all(0, 127).items():
            if column_of(name) == column:
                if name[2]:
                    of_keys += len(name) - key_end(name) - COLUMN_ID_BYTES + len(entry)
                else:
                    groups += 1
                    of_groups += len(entry)
        return of_keys / keys, of_groups / max(1, groups)
    finally:
        shutil.rmtree(root)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[13, 40, 200])
    parser.add_argument("--events", type=int, nargs="+", default=[1, 3, 10, 40])
    parser.add_argument("--keys", type=int, default=256)
    options = parser.parse_args()
    print("value  events  matches  stored  / with timestamps  / values  names of a key group")
    for size in options.sizes:
        for events in options.events:
            for matches, pattern in (("1", in_one()), (str(events), in_each())):
                length = size - (1 if size <= 32 else 2)  # MessagePack says how long a text is
                values = [("a" if n == 0 else "b").ljust(length, "x") for n in range(events)]
                assert len(encode_elements([to_cached(values[0])])) == size + 1
                total, names = stored(pattern, values, options.keys)
                held = events * size
                print(
                    f"{size:>5}  {events:>6}  {matches:>7}  {total:>6.0f}  "
                    f"{total / (held + events * TIMESTAMP):>17.2f}  {total / held:>8.2f}  {names:>21.0f}"
                )


if __name__ == "__main__":
    main()
