"""A program from Kafka to Kafka: positions of a source, state, and a sink that writes in transactions.
``tests/data`` keeps a savepoint of it from each form in which these were stored.

``python -m tests.servers.kafka.programs.kept NAME`` writes ``tests/data/NAME``, with a broker of its own. One
that is kept is never written again.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from firesteel.common import Types
from firesteel.common.job_client import JobClient
from firesteel.datastream import KeyedProcessFunction, RuntimeContext
from firesteel.datastream.connectors import DeliveryGuarantee
from firesteel.datastream.state import ValueStateDescriptor
from tests.runtime.support import environment, local_platform
from tests.servers.kafka.broker import KafkaBroker
from tests.servers.kafka.support import NO_WATERMARKS, reading, writing
from tests.waiting import until

DATA = Path(__file__).parents[3] / "data"
PARTITIONS = 3
KEYS = ("ash", "birch", "cedar", "dogwood")
Records = dict[int, list[str]]


def records(first: int, count: int) -> Records:
    """By partition: the key and a number."""
    found: Records = {partition: [] for partition in range(PARTITIONS)}
    for n in range(first, first + count):
        found[n % PARTITIONS].append(f"{KEYS[n * 7 % len(KEYS)]} {n}")
    return found


BEFORE, AFTER = records(0, 60), records(60, 33)


class Sum(KeyedProcessFunction):
    """The sum of a key's numbers so far, with each record."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        key, number = value.split()
        total = (self.sum.value() or 0) + int(number)
        self.sum.update(total)
        yield f"{key} {total}"


def sums(*parts: Records) -> Counter[str]:
    """How often each key came, and the sum that it had last."""
    lines = [line.split() for part in parts for lines in part.values() for line in lines]
    return _tally(lines, sum)


def shown(lines: Iterable[str]) -> Counter[str]:
    """The same of what the program wrote."""
    return _tally([line.split() for line in lines], max)


def _tally(lines: list[list[str]], whole: Callable[[Iterable[int]], int]) -> Counter[str]:
    counts = Counter(key for key, _ in lines)
    return counts + Counter({f"{key} in all": whole(int(n) for k, n in lines if k == key) for key in counts})


def make_topics(broker: KafkaBroker, name: str) -> None:
    for topic in (f"{name}-in", f"{name}-out"):
        broker.topic(PARTITIONS, topic)


def fill(broker: KafkaBroker, name: str, content: Records) -> None:
    for partition, lines in content.items():
        broker.produce(f"{name}-in", lines, partition)


def start(broker: KafkaBroker, name: str, checkpoints: Path, begin: Path | None = None) -> JobClient:
    settings = {
        "execution.checkpointing.interval": "200 ms",
        "execution.checkpointing.dir": f"file://{checkpoints}",
    }
    if begin is not None:
        settings["execution.state-recovery.path"] = str(begin)
    env = environment(2, **settings)
    env.set_max_parallelism(128)
    source = env.from_source(reading(broker, f"{name}-in").build(), NO_WATERMARKS, "kafka").uid("kafka")
    keyed = source.key_by(lambda line: line.split()[0], key_type=Types.STRING())
    summed = keyed.process(Sum(), output_type=Types.STRING()).uid("sum")
    summed.sink_to(writing(broker, f"{name}-out", DeliveryGuarantee.EXACTLY_ONCE, name)).uid("out")
    return env.execute_async("kept kafka")


def write(name: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        broker = KafkaBroker(Path(tempfile.mkdtemp(dir=place))).start()
        try:
            make_topics(broker, name)
            fill(broker, name, BEFORE)
            client = start(broker, name, Path(place, "checkpoints"))
            until(lambda: shown(broker.values(f"{name}-out")) == sums(BEFORE), "not all has come out")
            savepoint = client.stop_with_savepoint(False, f"file://{place}/savepoint").result()
            shutil.copytree(savepoint.removeprefix("file://"), DATA / name)
        finally:
            broker.stop()


if __name__ == "__main__":
    with local_platform():
        write(sys.argv[1])
