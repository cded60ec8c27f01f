"""Large keyed state: what its checkpoints write, how long its epochs take, how soon a restored job works.

Each of ``--bytes`` / ``--value-bytes`` keys has one value that cannot be compressed. The source first loads
all of them, then it touches ``--changed`` of the keys in each of ``--epochs`` epochs, spread evenly. A touch
reads the value, compares it with what arithmetic says that the touches before must have left, and writes the
next version. The value is made where it is stored, so the exchange moves numbers only.

    python large_state.py --bytes 100m --value-bytes 2000 --changed 0.01 --epochs 100

    --checkpoint-ms N   time between checkpoints; 10: one after each epoch; 0: none
    --full-speed        epochs as the pacing cuts them instead of one for each share of the keys
    --restore           a second job begins with the last checkpoint, on a host that has nothing of it yet,
                        and touches a share of the keys; a third one begins with nothing, for comparison
    --memory 4g         leave so much memory to this job and the page cache: what else is free is taken away
    --workspace DIR     where state, checkpoints and local stores lie

Prints lines of JSON; a wrong value fails the job.
"""

import argparse
import itertools
import json
import os
import random
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil
import starved
from paced import Paced, PacedEnumerator

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.connectors.base import ReadRange
from firesteel.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor

SPREAD = 2_654_435_761  # odd and larger than any number of keys used here: neighbours get far apart keys
POOL_BYTES = 1 << 22
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class Enumerator(PacedEnumerator):
    """Notes the time and the first record of every epoch."""

    def plan(self, split, position, max_records, max_bytes, now_ms):
        source, at = self.source, position or 0
        loaded = source.share(source.loaded, split.payload)
        if at >= source.total(split.payload):
            return None
        step = source.share(source.per_epoch, split.payload) if source.per_epoch else max_records
        if split.payload == 0:
            with open(source.log, "a") as log:
                log.write(json.dumps({"at": time.time(), "position": at, "loading": at < loaded}) + "\n")
        room = min(max_records, loaded - at) if at < loaded else min(max_records, step)
        return ReadRange(split, at, room, max_bytes)


@dataclass(frozen=True)
class Touches(Paced):
    """The numbers of the load, then those of the touches. ``per_epoch`` 0: as many as the budget allows."""

    touches: int = 0

    def create_enumerator(self, context):
        return Enumerator(self)

    def total(self, index):
        return self.share(self.loaded, index) + self.share(self.touches, index)


class Touch(KeyedProcessFunction):
    """Takes (key, version): version 0 is the load."""

    def __init__(self, value_bytes, first_log):
        self.value_bytes = value_bytes
        self.first_log = first_log

    def open(self, runtime_context):
        self.pool = random.Random(1).randbytes(POOL_BYTES)
        self.state = runtime_context.get_state(ValueStateDescriptor("value", Types.PICKLED_BYTE_ARRAY()))
        self.touched = runtime_context.get_metrics_group().counter("touched")
        self.first = True

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
        self.touched.inc()
        if self.first:
            self.first = False
            with open(self.first_log, "a") as log:
                log.write(f"{time.time()}\n")
        return ()


class Sampler(threading.Thread):
    """Looks at the memory of this process and all below it, and at the disk; now and then it says what is."""

    def __init__(self, workspace):
        super().__init__(daemon=True)
        self.workspace = workspace
        self.most = {}
        self.cpu_s = 0.0  # of all processes that are there

    def run(self):
        for turn in itertools.count():
            now = self.look()
            self.most = {key: max(size, self.most.get(key, 0)) for key, size in now.items()}
            if turn % 15 == 14:
                print(json.dumps(now), file=sys.stderr, flush=True)
            time.sleep(2)

    def look(self):
        own = psutil.Process()
        memory, workers, cpu_s = 0, [0], 0.0
        for process in (own, *own.children(recursive=True)):
            try:
                command, times = " ".join(process.cmdline()), process.cpu_times()
                size = anonymous_bytes(process.pid)
            except (psutil.Error, OSError):  # it ended meanwhile
                continue
            if "starved.py" not in command:
                memory += size
                cpu_s += times.user + times.system
            if "pyspark" in command and "python" in process.name():
                workers.append(size)
        self.cpu_s = max(cpu_s, self.cpu_s)
        sizes = {
            "processes_mb": memory,
            "workers_mb": sum(workers),
            "largest_worker_mb": max(workers),
            "disk_mb": bytes_below(self.workspace),
            "local_stores_mb": bytes_below(self.workspace / "local"),
        }
        return {key: round(size / (1 << 20)) for key, size in sizes.items()}


def anonymous_bytes(pid):
    """What a process has beside pages of files, with its share of what it has in common with others."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss_Anon:"):
            return int(line.split()[1]) << 10
    return 0


def bytes_below(directory):
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.stat(os.path.join(folder, name)).st_blocks * 512
            except OSError:  # it is gone meanwhile
                continue
    return total


class Program:
    def __init__(self, options, workspace):
        self.options = options
        self.workspace = workspace
        splits = options.parallelism
        self.keys = options.bytes // options.value_bytes // splits * splits
        self.per_epoch = round(self.keys * options.changed) // splits * splits
        self.period = max(1, round(self.keys * options.distinct))

    def run(self, name, epochs, loaded, restore=None, already=0, keep=False):
        """:param already: so many touches have been made by the job whose checkpoint is restored.
        :param keep: leave a last checkpoint behind: the job is cancelled when it has taken one.
        """
        options, workspace = self.options, self.workspace
        log, first = workspace / f"{name}.log", workspace / f"{name}.first"
        env = StreamExecutionEnvironment.get_execution_environment(self.configuration(name, restore))
        env.set_parallelism(options.parallelism)
        touches = already + self.per_epoch * epochs
        per_epoch = 0 if options.full_speed else self.per_epoch
        source = Touches(options.parallelism, loaded, epochs, per_epoch, str(log), not keep, touches)
        keys, period, fresh = self.keys, self.period, restore is None and not loaded

        def what(i):
            if i < loaded:
                return i, 0
            n = i - loaded
            return n % period * SPREAD % keys, 0 if fresh else 1 + n // period

        (
            env.from_source(source, WatermarkStrategy.no_watermarks(), "touches", Types.LONG())
            .map(what)
            .key_by(lambda touch: touch[0], key_type=Types.LONG())
            .process(Touch(options.value_bytes, str(first)))
            .uid("state")
            .print()
        )
        begun = time.time()
        client = env.execute_async(name)
        ended, checkpoints = self.wait(client, loaded + touches, keep)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        started = min(float(line) for line in first.read_text().splitlines())
        return Run(lines, begun, started, ended, checkpoints)

    def wait(self, client, expected, keep):
        """Until all is done: when it was, and the reports of the checkpoints."""
        seen, ended = {}, None
        job = client._handle.job  # reports of checkpoints have no public door but REST
        result = client.get_job_execution_result()
        while not result.done():
            seen |= {report.id: report for report in job.view.checkpoints.history}
            counted = touched(client.get_accumulators().result())
            if keep and counted == expected:
                ended = ended or time.time()
                if any(report.triggered_ms > 1000 * ended for report in seen.values()):
                    client.cancel().result()
                    seen |= {report.id: report for report in job.view.checkpoints.history}  # one more
                    break
            time.sleep(0.2)
        else:
            ended = time.time()
            counted = touched(result.result().get_all_accumulator_results())
        if counted != expected:
            raise SystemExit(f"{counted} records were counted, not {expected}")
        return ended, list(seen.values())

    def configuration(self, name, restore):
        configuration = Configuration()
        settings = {
            "firesteel.state.dir": str(self.workspace / "state"),
            "firesteel.local-dir": str(self.workspace / "local" / name),
            "state.backend.type": self.options.backend,
            "firesteel.epoch.target": "6 s",  # also for a job that does not end
        }
        if self.options.checkpoint_ms:
            settings |= {
                "execution.checkpointing.interval": f"{self.options.checkpoint_ms} ms",
                "execution.checkpointing.dir": str(self.workspace / "checkpoints"),
                "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
            }
        if restore:
            settings["execution.state-recovery.path"] = restore
        for key, value in settings.items():
            configuration.set_string(key, value)
        for pair in self.options.config:
            key, _, value = pair.partition("=")
            configuration.set_string(key, value)
        return configuration


def touched(accumulators):
    return sum(value for name, value in accumulators.items() if name.endswith("touched"))


@dataclass
class Run:
    lines: list
    begun: float
    first_record: float
    ended: float
    checkpoints: list


def main():
    options = arguments()
    with tempfile.TemporaryDirectory(dir=options.workspace) as root:
        workspace = Path(root)
        os.environ["SPARK_LOCAL_DIRS"] = f"{root}/spark"
        sampler = Sampler(workspace)
        sampler.start()
        if options.memory:
            starved.start(options.memory, os.getpid())
        program = Program(options, workspace)
        run = program.run("large", options.epochs, program.keys, keep=options.restore)
        print(json.dumps(measured(program, run) | sampler.most | {"cpu_s": sampler.cpu_s}), flush=True)
        if options.restore:
            print(json.dumps(recovery(program, run)), flush=True)


def recovery(program, run):
    """How soon a job that begins with the checkpoint works, and what it would take at least: the time of a
    job that begins with nothing, and to read the manifest and 5 % of the state files."""
    checkpoint = Path(run.checkpoints[-1].path)
    touches = program.per_epoch * program.options.epochs
    files = sorted((checkpoint.parent / "shared").rglob("*.run"))
    forget(files)
    begun = time.perf_counter()
    (checkpoint / "_metadata").read_bytes()
    to_read = sum(file.stat().st_size for file in files) // 20
    for file in files:
        if to_read <= 0:
            break
        to_read -= len(file.read_bytes()[:to_read])
    read_s = time.perf_counter() - begun
    program.options.checkpoint_ms = 0
    fresh = program.run("fresh", 1, 0)
    forget(files)
    restored = program.run("restored", 1, program.keys, str(checkpoint), touches)
    first_s, fresh_s = (r.first_record - r.begun for r in (restored, fresh))
    return {
        "epochs": 1,
        "restored_first_record_s": first_s,
        "fresh_first_record_s": fresh_s,
        "read_manifest_and_5_percent_s": read_s,
        "least_s": fresh_s + read_s,
    }


def forget(files):
    """Take files out of the page cache."""
    os.sync()
    for file in files:
        with open(file, "rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measured(program, run):
    touching = [line["at"] for line in run.lines if not line["loading"]] + [run.ended]
    gaps = [b - a for a, b in itertools.pairwise(touching)]
    done = program.per_epoch * program.options.epochs
    first = next(line["at"] for line in run.lines if not line["loading"])
    usual = gaps[program.options.warm_up : -1] or gaps
    state = program.keys * program.options.value_bytes
    written = [r.checkpointed_bytes for r in run.checkpoints if r.triggered_ms > 1000 * first + 1][1:]
    return {
        "records": done,
        "seconds": run.ended - first,
        "load_seconds": first - run.begun,
        "load_mb_per_s": state / (first - run.begun) / 1e6,
        "touches_per_s": done / (run.ended - first),
        "state_mb": state / (1 << 20),
        "state_files_mb": run.checkpoints[-1].state_bytes / (1 << 20) if run.checkpoints else None,
        "epochs": len(gaps),
        "median_epoch_s": median(usual),
        "longest_epoch_s": max(usual),
        "longest_to_median": max(usual) / median(usual),
        "longest_is_epoch": gaps.index(max(usual)) + 1,
        "checkpoints": len(written),
        "median_checkpoint_s": median(r.duration_ms for r in run.checkpoints) / 1000 if written else None,
        "written_share": sum(written) / len(written) / state if written else None,
    }


def size(text):
    unit = UNITS.get(text[-1].lower())
    return int(float(text[:-1]) * unit) if unit else int(text)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bytes", type=size, default=size("100m"))
    parser.add_argument("--value-bytes", type=size, default=2_000)
    parser.add_argument("--changed", type=float, default=0.01)
    parser.add_argument("--distinct", type=float, default=1.0, help="share of the keys that is ever touched")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--warm-up", type=int, default=5, help="epochs whose length does not count")
    parser.add_argument("--checkpoint-ms", type=int, default=10)
    parser.add_argument("--full-speed", action="store_true")
    parser.add_argument("--restore", action="store_true")
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--backend", default="rocksdb", choices=("rocksdb", "hashmap"))
    parser.add_argument("--memory", type=size)
    parser.add_argument("--workspace")
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
