"""Micro benchmark of the pattern operator: events per second in one process, with state and epochs, no Spark.

The pattern is a high payment followed by a foreign one within ten minutes. About one event of a hundred is
in a match.

Run: python benchmarks/micro_cep.py [--events 1000000] [--keys 1000] [--one-in 200]
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
from time import perf_counter
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
from firesteel.state.backend import SubtaskState

BATCH, EPOCH = 1_000, 100_000


def spec() -> MatchPattern:
    pattern = (
        Pattern.begin("high")
        .where(lambda t: t[1] > 5000)
        .followed_by("foreign")
        .where(lambda t: not t[2])
        .within(600_000)
    )
    select = selecting("cep", lambda match: (match["high"][0][1], match["foreign"][0][1]), flat=False)
    return MatchPattern(compiled(pattern), function=select)


def batches(events: int, keys: int, one_in: int) -> list[Batch]:
    rng = random.Random(7)
    made = []
    for start in range(0, events, BATCH):
        values, stamps, names = [], [], []
        for n in range(start, start + BATCH):
            key = rng.randrange(keys)
            chance = rng.randrange(one_in)
            values.append((key, 9000 if chance == 0 else 10, chance != 1))
            stamps.append(n - rng.randrange(20))
            names.append(key)
        made.append(Batch(values, stamps, [(BATCH, start + BATCH - 20)], names))
    return made


def opened(state: SubtaskState) -> CepOperator:
    """The operator on the state of a process."""
    program = OperatorProgram(name="cep", uid="op", spec=spec(), output_type=None, keyed=True)
    operator = CepOperator(program, spec())
    context: dict[str, Any] = {"attempt": 1, "batch_mode": False, "state_dir": "", "settings": {}}
    task = SubtaskContext("job", "job", "cep", 0, 1, 128, **context)
    operator.open(task, state.operator("op"))
    return operator


def run(bench: Bench, made: list[Batch]) -> tuple[float, int]:
    state = bench.process()
    operator = opened(state)
    found = 0
    begin = perf_counter()
    for start in range(0, len(made), EPOCH // BATCH):
        state.begin(bench.line, 0)
        operator.begin_epoch()
        for batch in made[start : start + EPOCH // BATCH]:
            operator.process(batch)
        found += operator.outputs.main.count
        operator.end_epoch()
        bench.commit(state.finish())
    return perf_counter() - begin, found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--one-in", type=int, default=200)
    options = parser.parse_args()
    root = tempfile.mkdtemp()
    try:
        seconds, found = run(Bench(root), batches(options.events, options.keys, options.one_in))
    finally:
        shutil.rmtree(root)
    print(f"{options.events / seconds:,.0f} events/s, {found:,} matches, {seconds:.2f} s")


if __name__ == "__main__":
    main()
