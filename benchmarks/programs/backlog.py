"""How soon a job in real time is quick again that has been behind.

The source has ``--rate`` records a second, each due at an instant, and the job begins ``--behind`` seconds
after the first of them. It counts by key, in value state. How late a record is processed is noted for each
second.

    python backlog.py --rate 20000 --behind 30 --steady 30

Prints one line of JSON: how far the job was behind when it began to read, when it had caught up (its sources
found nothing more that was due), and how long after that the first of three seconds in a row began whose p99
is below ``--limit-ms``; ``--steady`` seconds after the backlog the source ends. ``p50``, ``p99``, ``p99.9``
are of all records of the second half of the run, in milliseconds.
"""

import argparse
import itertools
import json
import os
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.connectors.base import Boundedness, Chunk, Source, SourceReader, Split, SplitEnumerator
from firesteel.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.program.sources import PollingReader

IN_A_ROW = 3


@dataclass(frozen=True)
class Due(Source):
    """Record ``n`` is due ``n / rate`` seconds after ``first_s``, an instant; there are ``count`` of them."""

    first_s: float
    rate: float
    count: int
    splits: int
    notes: str

    @property
    def boundedness(self):
        return Boundedness.BOUNDED

    def create_enumerator(self, context):
        return DueEnumerator(self.splits)

    def create_reader(self):
        return DueReader(self)


class DueEnumerator(SplitEnumerator):
    def __init__(self, splits):
        self.splits, self.found = splits, False

    def discover(self, now_ms):
        found, self.found = self.found, True
        return [] if found else [Split(str(i), i) for i in range(self.splits)]

    @property
    def finished(self):
        return self.found

    def plan(self, split, position, max_records, max_bytes, now_ms):
        raise NotImplementedError("in real time only")

    def snapshot(self):
        return self.found

    def restore(self, state):
        self.found = state


class DueReader(SourceReader, PollingReader):
    """Split ``i`` of ``n`` has the records ``i``, ``i + n``, ..."""

    polls = True

    def __init__(self, source):
        self.source = source
        self.positions = {}
        self.is_behind = True

    def read(self, range_):
        raise NotImplementedError("in real time only")

    def polling(self):
        return self

    def add_splits(self, splits):
        self.positions |= {split.payload: position or 0 for split, position in splits}

    def poll(self, max_records, wait_ms, held):
        found = self.due(max_records)
        if not found:
            time.sleep(wait_ms / 1000)
            found = self.due(max_records)
        return found

    def due(self, max_records):
        source = self.source
        all_due = min(source.count, int((time.time() - source.first_s) * source.rate))
        found, is_behind = [], False
        for index, position in list(self.positions.items()):
            due = (all_due - index + source.splits - 1) // source.splits
            last = (source.count - index + source.splits - 1) // source.splits
            end = min(due, position + max_records)
            is_behind = is_behind or end < due
            if end > position or end == last:
                numbers = range(index + position * source.splits, index + end * source.splits, source.splits)
                self.positions[index] = end
                found.append((str(index), Chunk(list(numbers), None, end, end == last)))
                if end == last:
                    del self.positions[index]
        if self.is_behind and not is_behind:
            self.is_behind = False
            Path(source.notes, f"caught-up-{os.getpid()}").write_text(str(time.time()))
        return found


class Notes:
    """How many records were how late, in milliseconds: a line of a file for each second of the clock."""

    def __init__(self, directory):
        self.second, self.late = 0, Counter()
        self.file = open(Path(directory, f"late-{os.getpid()}"), "a")  # noqa: SIM115 - until close()

    def add(self, now_s, late_ms):
        if int(now_s) != self.second:
            self.write()
            self.second = int(now_s)
        self.late[late_ms] += 1

    def write(self):
        if self.late:
            print(json.dumps([self.second, dict(self.late)]), file=self.file, flush=True)
            self.late.clear()

    def close(self):
        self.write()
        self.file.close()


class Count(KeyedProcessFunction):
    def __init__(self, source):
        self.source = source

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.notes = Notes(self.source.notes)

    def process_element(self, value, ctx):
        now_s = time.time()
        due_s = self.source.first_s + value / self.source.rate
        self.notes.add(now_s, int((now_s - due_s) * 1000))
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield count

    def close(self):
        self.notes.close()


def run(options, notes, first_s, count):
    configuration = Configuration()
    configuration.set_string("execution.mode", "real-time")
    for pair in options.config:
        key, _, value = pair.partition("=")
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(options.parallelism)
    keys, of_each = options.keys, count // options.keys
    source = Due(first_s, options.rate, count, options.parallelism, notes)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "due", Types.LONG())
    counted = stream.key_by(lambda n: n % keys, Types.LONG()).process(Count(source), Types.LONG())
    with counted.filter(lambda count: count == of_each).execute_and_collect() as complete:
        found = sum(1 for _ in complete)
    if found != keys:
        raise SystemExit(f"{found} of {keys} keys have all of their records")


def late_by_second(notes):
    late = {}
    for file in Path(notes).glob("late-*"):
        for line in file.read_text().splitlines():
            second, found = json.loads(line)
            late.setdefault(second, Counter()).update({int(ms): n for ms, n in found.items()})
    return {second: late[second] for second in sorted(late)}


def quantile(counted, share):
    ordered = sorted(counted.items())
    sums = itertools.accumulate(n for _, n in ordered)
    wanted = share * counted.total()
    return next(ms for (ms, _), n in zip(ordered, sums, strict=True) if n >= wanted)


def first_quick_second(p99, since_s, limit_ms):
    quick = [ms < limit_ms for ms in p99.values()]
    for at, second in enumerate(p99):
        if second >= since_s - 1 and all(quick[at : at + IN_A_ROW]) and at + IN_A_ROW <= len(quick):
            return second
    raise SystemExit(f"p99 has not come below {limit_ms} ms: {list(p99.values())}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=20_000)
    parser.add_argument("--behind", type=float, default=30)
    parser.add_argument("--steady", type=float, default=30)
    parser.add_argument("--limit-ms", type=float, default=50)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    for behind, steady in ((0, 5), (options.behind, options.steady)):  # the first one warms up
        with tempfile.TemporaryDirectory() as notes:
            count = int(options.rate * (behind + steady)) // options.keys * options.keys
            first_s = time.time() - behind
            run(options, notes, first_s, count)
            late = late_by_second(notes)
            p99 = {second: quantile(found, 0.99) for second, found in late.items()}
            caught_up_s = max(float(file.read_text()) for file in Path(notes).glob("caught-up-*"))
    began_s = min(p99)
    measured = {
        "records": count,
        "behind_s": began_s - first_s,
        "caught_up_after_s": caught_up_s - began_s,
        "quick_after_s": max(0.0, first_quick_second(p99, caught_up_s, options.limit_ms) - caught_up_s),
        "p99_ms": list(p99.values()),
    }
    second_half = sum(list(late.values())[len(late) // 2 :], Counter())
    measured |= {f"p{share:g}": quantile(second_half, share / 100) for share in (50, 99, 99.9)}
    print(json.dumps(measured), flush=True)


if __name__ == "__main__":
    main()
