"""Micro benchmarks of keyed state: ns per operation, beside the target of each.

Run: python benchmarks/micro_state.py [--keys 200000]
"""

from __future__ import annotations

import argparse
import gc
import shutil
import tempfile
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from firesteel.common.typeinfo import Types
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.state.backend import StateLimits, SubtaskState
from firesteel.state.files import StateFiles
from firesteel.state.keys import canonical, key_group
from firesteel.state.line import EMPTY, EpochDelta, StateLine, advance

ANY = Types.PICKLED_BYTE_ARRAY()
VALUE = ValueStateDescriptor("value", ANY)
LIST = ListStateDescriptor("list", ANY)
MAP = MapStateDescriptor("map", ANY, ANY)


class Bench:
    def __init__(self, root: str, limits: StateLimits | None = None, local_dir: str | None = None) -> None:
        self.files = StateFiles(root)
        self.line: StateLine = EMPTY
        self.epoch = 0
        self.limits = limits or StateLimits()
        self.local_dir = local_dir

    def process(self) -> SubtaskState:
        state = SubtaskState(
            job_id="bench",
            attempt=1,
            vertex_id="v",
            subtask=0,
            max_parallelism=128,
            key_groups=range(128),
            files=self.files,
            local_dir=self.local_dir,
            limits=self.limits,
        )
        state.operator("op").get_state(VALUE)
        return state

    def commit(self, delta: EpochDelta) -> None:
        self.epoch += 1
        run = delta.run
        if delta.payload is not None:
            run = delta.ref(self.files.write_once(f"epochs/{self.epoch}", delta.payload), 0)
        self.line, gone = advance(self.line, f"m{self.epoch}", run, delta.compaction)
        for path in gone:
            self.files.delete(path)


def timed(work: Callable[[], Any]) -> float:
    gc.collect()
    start = perf_counter_ns()
    work()
    return perf_counter_ns() - start


def show(what: str, ns: float, target: str = "") -> None:
    print(f"{what:<64} {ns:>12,.0f} ns  {target}", flush=True)


def hot(root: str, keys: int) -> None:
    bench = Bench(root)
    state = bench.process()
    state.begin(bench.line, 0)
    op = state.operator("op")
    value = op.get_state(VALUE)
    names = [f"key-{n}" for n in range(keys)]

    def set_keys() -> None:
        for name in names:
            op.key = name

    def count() -> None:
        for name in names:
            op.key = name
            old = value.value()
            value.update(1 if old is None else old + 1)

    empty = min(timed(set_keys) for _ in range(3))
    show(f"value()+update() of an int, {keys} new keys", (timed(count) - empty) / keys)
    best = min(timed(count) for _ in range(5))
    show("value()+update() of an int, known keys", (best - empty) / keys, "target < 250")
    first = timed(lambda: bench.commit(state.finish()))
    show("finish() with new keys (key bytes made)", first / keys)
    other = bench.process()
    patches, rounds = [], []

    def read_all(process: SubtaskState) -> None:
        process.begin(bench.line, 0)
        operator = process.operator("op")
        handle = operator.get_state(VALUE)
        for name in names:
            operator.key = name
            handle.value()
        process.finish()

    read_all(other)
    for _ in range(5):
        state.begin(bench.line, 0)
        patches.append(timed(lambda: other.begin(bench.line, 0)))
        other.finish()
        count()
        rounds.append(timed(lambda: bench.commit(state.finish())))
    show("finish(), median of 5 (compaction included)", sorted(rounds)[2] / keys, "target <= 1,200")
    show("finish(), worst of 5", max(rounds) / keys)
    show("begin() patching a cache with one delta", sorted(patches[1:])[1] / keys, "target <= 600")
    fresh = bench.process()
    show("begin() of a fresh process and value() of all keys", timed(lambda: read_all(fresh)) / keys)


def kinds(root: str, keys: int) -> None:
    bench = Bench(root)
    state = bench.process()
    state.begin(bench.line, 0)
    op = state.operator("op")
    value, items, table = op.get_state(VALUE), op.get_list_state(LIST), op.get_map_state(MAP)
    names = [f"key-{n}" for n in range(keys)]

    def each(work: Callable[[int], Any]) -> float:
        def loop() -> None:
            for n, name in enumerate(names):
                op.key = name
                work(n)

        loop()
        return min(timed(loop) for _ in range(3)) / keys

    show("update((count, sum)) + value(): a tuple", each(lambda n: (value.update((n, 1.5)), value.value())))
    show("update([n, n]) + value(): a list, copied", each(lambda n: (value.update([n, n]), value.value())))
    show("ListState.add(int)", each(items.add))
    show("MapState.put(str, int)", each(lambda n: table.put("name", n)))
    show("MapState.get(str)", each(lambda n: table.get("name")))
    show("register a timer that is set", each(lambda n: op.event_timers.register(1000)))
    show("register a new timer", each(lambda n: op.event_timers.register(n * 7 + 5_000)))
    show("key_group of a str, cold", each(lambda n: key_group(names[n], 128)), "target ~ 1,000")
    show("canonical of a tuple", each(lambda n: canonical((n, "x"))))


def filled(root: str, keys: int) -> tuple[Bench, SubtaskState]:
    bench = Bench(root)
    state = bench.process()
    op = state.operator("op")
    value = op.get_state(VALUE)
    for start in range(0, keys, 100_000):
        state.begin(bench.line, 0)
        for n in range(start, min(keys, start + 100_000)):
            op.key = f"key-{n}"
            value.update(n)
        bench.commit(state.finish())
    return bench, state


def sizes(root: str, keys: int, touched: int) -> None:
    bench, state = filled(root, keys)
    step = max(1, keys // touched)

    def epoch(process: SubtaskState, offset: int) -> None:
        process.begin(bench.line, 0)
        operator = process.operator("op")
        handle = operator.get_state(VALUE)
        for n in range(offset, keys, step):
            operator.key = f"key-{n}"
            handle.update((handle.value() or 0) + 1)
        bench.commit(process.finish())

    what = f"epoch of {touched} of {keys} keys"
    burst = [timed(lambda n=n: epoch(state, n % step)) for n in range(120)]  # type: ignore[misc]
    show(f"{what}, warm process: worst of 120 after the load", max(burst))
    warm = sorted(timed(lambda n=n: epoch(state, n % step)) for n in range(30))  # type: ignore[misc]
    cold = sorted(timed(lambda n=n: epoch(bench.process(), n % step)) for n in range(8))  # type: ignore[misc]
    show(f"{what}, warm process: median of 30", warm[15])
    show(f"{what}, warm process: worst of 30", warm[-1])
    show(f"{what}, fresh process each time: median of 8", cold[4])
    line = bench.line
    print(f"    line: {len(line.segments)} segments, {len(line.deltas)} deltas, complete={state.complete}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--total", type=int, default=2_000_000)
    args = parser.parse_args()
    root = tempfile.mkdtemp()
    try:
        hot(f"{root}/hot", args.keys)
        kinds(f"{root}/kinds", 50_000)
        for keys in (10_000, args.total):
            sizes(f"{root}/sizes-{keys}", keys, 1_000)
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
