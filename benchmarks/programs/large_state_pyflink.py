"""The job of ``large_state.py`` for PyFlink with RocksDB and incremental checkpoints.

    python large_state_pyflink.py --bytes 100m --value-bytes 2000 --changed 0.01

One sequence of numbers loads the keys and goes on with the touches; the job is cancelled when there were
enough of them. What a checkpoint writes is seen in its directory: files only ever come and go there. A second
job begins with the last checkpoint. Prints a line of JSON.
"""

import argparse
import json
import random
import tempfile
import time
from pathlib import Path

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor

SPREAD = 2_654_435_761
POOL_BYTES = 1 << 22
REPORT_EVERY = 100
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class Touch(KeyedProcessFunction):
    def __init__(self, value_bytes, directory):
        self.value_bytes = value_bytes
        self.directory = directory

    def open(self, runtime_context):
        self.pool = random.Random(1).randbytes(POOL_BYTES)
        self.state = runtime_context.get_state(ValueStateDescriptor("value", Types.PICKLED_BYTE_ARRAY()))
        self.seen = 0
        self.report = f"{self.directory}/{runtime_context.get_index_of_this_subtask()}.seen"

    def content(self, key, version):
        start = (key * 31 + version * 7_919) % (POOL_BYTES - self.value_bytes)
        return key, version, self.pool[start : start + self.value_bytes]

    def process_element(self, value, ctx):
        key, version = value
        found = self.state.value()
        expected = self.content(key, version - 1) if version else None
        if found != expected:
            raise ValueError(f"key {key}: {str(found)[:60]} instead of version {version - 1}")
        self.state.update(self.content(key, version))
        self.seen += 1
        if self.seen == 1 or self.seen % REPORT_EVERY == 0:
            with open(self.report, "a") as report:
                report.write(f"{time.time()} {self.seen}\n")
        return iter(())


class Program:
    def __init__(self, options, root):
        self.options = options
        self.root = root
        self.keys = options.bytes // options.value_bytes
        self.touches = round(self.keys * options.changed * options.epochs)

    def start(self, name, restore=None):
        """The client of a job that runs, and the directory in which its functions report."""
        options, keys = self.options, self.keys
        reports = self.root / name
        reports.mkdir()
        configuration = Configuration()
        settings = {
            "state.backend.type": "rocksdb",
            "restart-strategy.type": "none",  # a wrong value must be seen
            "execution.checkpointing.incremental": "true",
            "execution.checkpointing.interval": f"{options.checkpoint_ms} ms",
            "execution.checkpointing.dir": f"file://{self.root}/checkpoints",
            "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        }
        if restore:
            settings["execution.state-recovery.path"] = f"file://{restore}"
        for pair in options.config:
            key, _, value = pair.partition("=")
            settings[key] = value
        for key, value in settings.items():
            configuration.set_string(key, value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(options.parallelism)
        numbers = NumberSequenceSource(0, keys + 100 * self.touches)  # cancelled long before
        (
            env.from_source(numbers, WatermarkStrategy.no_watermarks(), "touches", Types.LONG())
            .uid("touches")
            .set_parallelism(1)  # one sequence, in order
            .map(
                lambda i: (i, 0) if i < keys else ((i - keys) * SPREAD % keys, 1 + (i - keys) // keys),
                Types.TUPLE([Types.LONG(), Types.LONG()]),
            )
            .set_parallelism(1)  # of two one could overtake the other
            .key_by(lambda touch: touch[0], key_type=Types.LONG())
            .process(Touch(options.value_bytes, str(reports)), Types.LONG())
            .uid("state")
            .print()
        )
        return env.execute_async(name), reports


def seen(reports):
    """How many records the functions have reported, and when the first was."""
    lines = [path.read_text().splitlines() for path in reports.glob("*.seen")]
    counts = [int(found[-1].split()[1]) for found in lines if found]
    firsts = [float(found[0].split()[0]) for found in lines if found]
    return sum(counts), min(firsts, default=None)


def wait_for(client, reports, records, watch):
    while True:
        watch()
        if client.get_job_status().result().name == "FAILED":
            client.get_job_execution_result().result()
        if seen(reports)[0] >= records:
            return time.time()
        time.sleep(0.1)


class Written:
    """The files of checkpoints that were ever there, and their sizes."""

    def __init__(self, directory):
        self.directory = directory
        self.sizes = {}

    def look(self):
        for path in self.directory.rglob("*"):
            try:
                if path.is_file():
                    self.sizes[path] = max(self.sizes.get(path, 0), path.stat().st_size)
            except OSError:  # it is gone meanwhile
                continue

    def total(self):
        return sum(self.sizes.values())


def newest_checkpoint(directory):
    found = [path.parent for path in directory.rglob("_metadata")]
    return max(found, key=lambda path: int(path.name.removeprefix("chk-")))


def measure(program):
    options, checkpoints = program.options, program.root / "checkpoints"
    written = Written(checkpoints)
    begun = time.time()
    client, reports = program.start("large")
    loaded = wait_for(client, reports, program.keys, written.look)
    before = written.total()
    ended = wait_for(client, reports, program.keys + program.touches, written.look)
    changed = program.touches * options.value_bytes
    share = (written.total() - before) / changed
    client.cancel().result()
    time.sleep(2)
    checkpoint = newest_checkpoint(checkpoints)
    size = sum(path.stat().st_size for path in checkpoint.parent.rglob("*") if path.is_file())
    restored = time.time()
    client, reports = program.start("restored", checkpoint)
    wait_for(client, reports, 1, lambda: None)
    first_record = seen(reports)[1]
    client.cancel().result()
    return {
        "records": program.touches,
        "load_seconds": loaded - begun,
        "seconds": ended - loaded,
        "written": share,
        "state_files_mb": size / (1 << 20),
        "restored_first_record_s": first_record - restored,
    }


def size(text):
    unit = UNITS.get(text[-1].lower())
    return int(float(text[:-1]) * unit) if unit else int(text)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bytes", type=size, default=size("100m"))
    parser.add_argument("--value-bytes", type=size, default=2_000)
    parser.add_argument("--changed", type=float, default=0.01)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--checkpoint-ms", type=int, default=1_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        print(json.dumps(measure(Program(options, Path(root)))), flush=True)


if __name__ == "__main__":
    main()
