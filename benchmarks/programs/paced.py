"""A keyed count whose epochs are cut by its own source: what one epoch costs, and what many leave behind.

The source first loads ``--keys`` keys, a record each, in one epoch. Then it gives
``--records-per-epoch`` records to each of ``--epochs`` epochs, spread evenly over the keys. As its enumerator
is asked once for each epoch, on the driver, the time between two askings is the time of an epoch.

    python paced.py --keys 10000 --epochs 50 --records-per-epoch 1000

Prints one line of JSON: the epochs' mean and median seconds (the first ``--warm-up`` left out), and what was
there when the last epoch began: shuffle files, files of the state directory, memory of the Python workers.
"""

import argparse
import json
import os
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean, median

import psutil

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.connectors.base import (
    Boundedness,
    Chunk,
    ReadRange,
    Source,
    SourceReader,
    Split,
    SplitEnumerator,
)
from firesteel.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor

SPREAD = 2_654_435_761  # odd and larger than any number of keys used here: neighbours get far apart keys
CHUNK = 1_000


@dataclass(frozen=True)
class Paced(Source):
    """``loaded`` numbers at once, then ``epochs`` times ``per_epoch``, all shared out to the splits."""

    splits: int
    loaded: int
    epochs: int
    per_epoch: int
    log: str  # a file that gets a line for each epoch of the second kind
    ends: bool = True  # else the job waits for more until it is cancelled

    @property
    def boundedness(self):
        return Boundedness.BOUNDED if self.ends else Boundedness.CONTINUOUS_UNBOUNDED

    def share(self, total, index):
        return (index + 1) * total // self.splits - index * total // self.splits

    def total(self, index):
        return self.share(self.loaded, index) + self.epochs * self.share(self.per_epoch, index)

    def create_enumerator(self, context):
        return PacedEnumerator(self)

    def create_reader(self):
        return PacedReader(self)


class PacedEnumerator(SplitEnumerator):
    def __init__(self, source):
        self.source = source
        self.found = False
        self.begun = 0

    def discover(self, now_ms):
        if self.found:
            return []
        self.found = True
        return [Split(str(i), i) for i in range(self.source.splits)]

    @property
    def finished(self):
        return self.found

    def plan(self, split, position, max_records, max_bytes, now_ms):
        source, at = self.source, position or 0
        loaded = source.share(source.loaded, split.payload)
        if at < loaded:
            return ReadRange(split, at, min(max_records, loaded - at), max_bytes)
        if split.payload == 0:
            self.note()
        return ReadRange(
            split, at, min(max_records, source.share(source.per_epoch, split.payload)), max_bytes
        )

    def note(self):
        self.begun += 1
        line = {"at": time.perf_counter()}
        if self.begun == self.source.epochs:
            line["left"] = leftovers()
        with open(self.source.log, "a") as log:
            log.write(json.dumps(line) + "\n")


class PacedReader(SourceReader):
    def __init__(self, source):
        self.source = source

    def read(self, range_):
        source, index = self.source, range_.split.payload
        total = source.total(index)
        start = range_.position or 0
        stop = min(total, start + range_.max_records)
        for at in range(start, stop, CHUNK):
            end = min(at + CHUNK, stop)
            yield Chunk(
                [i * source.splits + index for i in range(at, end)], None, end, end == total and source.ends
            )


class Count(KeyedProcessFunction):
    def __init__(self, opens):
        self.opens = opens  # a file that gets a line for each open()

    def open(self, runtime_context):
        with open(self.opens, "a") as log:
            log.write("opened\n")
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + value[2]
        self.count.update(count)
        yield value[0], value[1], count


def files_below(directory, pattern):
    return sum(1 for path in Path(directory).rglob(pattern) if path.is_file())


def leftovers():
    return {
        "spark_dirs": sum(1 for _ in Path(os.environ["SPARK_LOCAL_DIRS"]).glob("blockmgr-*")),
        "shuffle_files": files_below(os.environ["SPARK_LOCAL_DIRS"], "shuffle_*"),
        "state_files": files_below(os.environ["PACED_STATE_DIR"], "*"),
        "local_stores": files_below(os.environ["PACED_LOCAL_DIR"], "*.mdb"),
        "largest_worker_mb": max(worker_memory(), default=0) / 2**20,
    }


def worker_memory():
    """Resident bytes of each Python worker: the children of the daemon that forks them."""
    daemons, memory = set(), {}
    for process in psutil.Process().children(recursive=True):
        try:
            if "pyspark.worker" in process.cmdline():
                daemons.add(process.pid)
            memory[process.pid] = process.ppid(), process.memory_info().rss
        except psutil.Error:  # it ended meanwhile
            continue
    return [rss for parent, rss in memory.values() if parent in daemons]


def run(options, log):
    configuration = Configuration()
    configuration.set_string("firesteel.state.dir", os.environ["PACED_STATE_DIR"])
    configuration.set_string("firesteel.local-dir", os.environ["PACED_LOCAL_DIR"])
    # One epoch loads all keys: with new hosts, each further one would read back what those before it wrote.
    configuration.set_string("firesteel.epoch.max-records", str(10**9))
    if options.new_hosts:
        configuration.set_string("firesteel.host-id", "host-{epoch}")
    for pair in options.config:
        key, _, value = pair.partition("=")
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(options.parallelism)
    keys = options.keys
    source = Paced(options.parallelism, keys, options.epochs, options.records_per_epoch, log)
    (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "paced", Types.LONG())
        .map(lambda i: (i if i < keys else i * SPREAD % keys, i, 1))
        .key_by(lambda value: value[0], key_type=Types.LONG())
        .process(Count(f"{log}-opens"))
        .filter(lambda value: value[2] < 0)
        .print()
    )
    env.execute("paced")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--records-per-epoch", type=int, default=1_000)
    parser.add_argument("--warm-up", type=int, default=5, help="epochs that do not count")
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument(
        "--new-hosts", action="store_true", help="each epoch starts without a cache or a local store"
    )
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        os.environ["SPARK_LOCAL_DIRS"] = f"{root}/spark"
        os.environ["PACED_STATE_DIR"] = f"{root}/state"
        os.environ["PACED_LOCAL_DIR"] = f"{root}/local"
        log = Path(root, "epochs")
        run(options, str(log))
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        opens = len(Path(f"{log}-opens").read_text().splitlines())
        assert len(lines) == options.epochs, f"{len(lines)} epochs, not {options.epochs}"
    left = lines[-1]["left"]
    if options.new_hosts and opens < options.epochs * options.parallelism:
        raise SystemExit(f"{opens} opens in {options.epochs} epochs: hosts were not new")
    times = [line["at"] for line in lines]
    gaps = [later - at for at, later in pairwise(times)][options.warm_up :]
    measured = {"epochs": len(lines), "mean_seconds": mean(gaps), "median_seconds": median(gaps)}
    print(json.dumps(measured | left), flush=True)


if __name__ == "__main__":
    main()
