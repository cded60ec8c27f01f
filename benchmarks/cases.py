"""What is compared with what, and which ratio is wanted."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from benchmarks.environments import EARLIER, OURS, Environments
from benchmarks.in_turn import compare_in_turn
from benchmarks.instructions import compare_by_instructions
from benchmarks.measure import Comparison, ProgramFailed, System, execute, rate

KEYED = System("firesteel", OURS, "keyed_count.py", 8_000_000, pyflink_text=True)
CHAIN = System("firesteel", OURS, "chain.py", 8_000_000, pyflink_text=True)
NOT_CHAINED = replace(
    CHAIN,
    name="the same, not chained",
    records=4_000_000,
    arguments=("--config", "pipeline.operator-chaining.enabled=false"),
)
WINDOWS = System("firesteel", OURS, "windows.py", 7_200_000, pyflink_text=True)  # an hour of event time
PACED = System("firesteel", OURS, "paced.py")
THREAD = ("--config", "python.execution-mode=thread")
# As shipped, with bundles of 1,000 records, PyFlink's process mode writes every key of a bundle back to the
# JVM at the bundle's end. Larger bundles and a cache for all keys are much faster; that figure counts too.
PARQUET_JARS = (
    "org.apache.flink:flink-sql-parquet:2.3.0",
    "org.apache.hadoop:hadoop-client-api:3.4.2",
    "org.apache.hadoop:hadoop-client-runtime:3.4.2",
)
LARGE_BUNDLES = ("--config", "python.fn-execution.bundle.size=100000")


def tuned(keys: int) -> tuple[str, ...]:
    return (*LARGE_BUNDLES, "--config", f"python.state.cache-size={max(1_000, keys)}")


#: What must be left of the rate of an earlier commit.
KEPT = 0.95


@dataclass(frozen=True, slots=True)
class Peer:
    system: System
    target: float


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Measured:
    name: str
    measure: Callable[[], float]


def compare(
    case: str, unit: str, at_least: bool, ours: Measured, peers: list[tuple[Measured, float]], rounds: int
) -> list[Comparison]:
    """Measure ours, a peer, ours, the next peer, ... ``rounds`` times. A pair of which one fails is left out
    from then on; the reason stands in its result."""
    results = [
        Comparison(case, ours.name, peer.name, unit, [], [], target, at_least) for peer, target in peers
    ]
    for turn in range(1, rounds + 1):
        for result, (peer, _) in zip(results, peers, strict=True):
            if result.error is not None:
                continue
            try:
                pair = ours.measure(), peer.measure()
            except ProgramFailed as failure:
                result.error = str(failure)
                progress(f"  {case}: {peer.name} failed: {failure}")
                continue
            result.ours_values.append(pair[0])
            result.peer_values.append(pair[1])
            progress(f"  round {turn}, {case}: {pair[0]:,.4g} {unit}, {peer.name} {pair[1]:,.4g} {unit}")
    return results


def by_rate(system: System, environments: Environments, clock: str = "seconds") -> Measured:
    return Measured(system.name, lambda: rate(system, environments, clock).steady)


def compare_rates(
    case: str, ours: System, peers: list[Peer], environments: Environments, rounds: int
) -> list[Comparison]:
    """By records a second. With an earlier commit to compare with, that is the only peer; instructions are
    counted once, since they do not differ."""
    if environments.earlier:
        ours = replace(ours, records=environments.share_of(ours.records))
        earlier = replace(ours, name=f"firesteel at {environments.earlier}", environment=EARLIER)
        if environments.counting:
            found = compare_by_instructions(case, ours, earlier, KEPT, environments)
        else:
            found = compare_in_turn(case, ours, earlier, KEPT, environments, rounds)
        progress(f"  {case}: {found.ratio if found.error is None else found.error}")
        return [found]
    measured = [(by_rate(peer.system, environments), peer.target) for peer in peers]
    return compare(case, "rec/s", True, by_rate(ours, environments), measured, rounds)


def by_value(system: System, environments: Environments, key: str) -> Measured:
    def measure() -> float:
        value: Any = execute(system, environments, []).lines[-1][key]
        return float(value)

    return Measured(system.name, measure)


def keyed_peers(keys: int) -> list[Peer]:
    many = keys > 1_000
    flink_target = 10.0 if many else 20.0

    def peer(target: float, name: str, environment: str, engine: str, records: int, *more: str) -> Peer:
        arguments = ("--keys", str(keys), *more)
        return Peer(System(name, environment, f"{engine}keyed_count.py", records, arguments), target)

    few = 10_000 if many else 25_000  # as many as take PyFlink's process mode some 10 s
    peers = [
        peer(flink_target, "PyFlink process, as shipped", "pyflink", "", few),
        peer(flink_target, "PyFlink process, tuned", "pyflink", "", few if many else 4 * few, *tuned(keys)),
        peer(flink_target, "PyFlink thread", "pyflink", "", 200_000, *THREAD),
        peer(1.0, "Bytewax, 1 process", "bytewax", "bytewax_", 2_000_000),
        peer(1.0, "Bytewax, 2 processes", "bytewax", "bytewax_", 2_000_000, "--processes", "2"),
        peer(0.5, "floor, inline", OURS, "floor_", 8_000_000),
        peer(0.5, "floor, functions", OURS, "floor_", 8_000_000, "--style", "functions"),
    ]
    if not many:
        peers += [
            peer(40.0, "transformWithState, rows", "pyspark", "tws_", 60_000),
            peer(40.0, "transformWithState, pandas", "pyspark", "tws_", 60_000, "--variant", "pandas"),
        ]
    return peers


def keyed_count(environments: Environments, rounds: int) -> list[Comparison]:
    results = []
    for keys in (1_000, 500_000):
        records = KEYED.records if keys == 1_000 else 6_000_000
        ours = replace(KEYED, records=records, arguments=("--keys", str(keys)))
        case = f"a: keyed count, {keys:,} keys"
        results += compare_rates(case, ours, keyed_peers(keys), environments, rounds)
    return results


def chain(environments: Environments, rounds: int) -> list[Comparison]:
    peers = [
        Peer(System("PyFlink process, as shipped", "pyflink", "chain.py", 300_000), 10.0),
        Peer(System("PyFlink process, tuned", "pyflink", "chain.py", 300_000, LARGE_BUNDLES), 10.0),
        Peer(NOT_CHAINED, 1.0),
    ]
    return compare_rates("b: chain of five", CHAIN, peers, environments, rounds)


def small_epoch(environments: Environments, rounds: int) -> list[Comparison]:
    arguments = ("--epochs", "100", "--records-per-epoch", "100", "--warm-up", "20")
    ours = replace(PACED, arguments=("--keys", "100", *arguments))
    bare = System("bare Spark job", OURS, "bare_epochs.py", arguments=arguments)
    key = "median_seconds"
    return compare(
        "c: epoch of 100 records",
        "s",
        False,
        by_value(ours, environments, key),
        [(by_value(bare, environments, key), 1.5)],
        rounds,
    )


def memory(environments: Environments, rounds: int) -> list[Comparison]:
    """The larger job is `ours`, the smaller one the peer."""

    def peak(records: int) -> Measured:
        system = replace(KEYED, arguments=("--keys", "10000"))
        name = f"firesteel, {records:,} records"
        return Measured(name, lambda: execute(system, environments, [records]).peak_worker_mb)

    return compare(
        "d: worker memory, 10,000 keys", "MB", False, peak(10_000_000), [(peak(1_000_000), 1.2)], rounds
    )


def state_size(environments: Environments, rounds: int) -> list[Comparison]:
    """2 M keys is `ours`, 10 k keys the peer. `new host`: each epoch finds no local store."""
    results = []
    for where, more in (("warm host", ()), ("new host", ("--new-hosts",))):

        def epoch(keys: int, more: tuple[str, ...] = more) -> Measured:
            arguments = ("--keys", str(keys), "--epochs", "60", "--warm-up", "15", *more)
            system = replace(PACED, name=f"firesteel, {keys:,} keys", arguments=arguments)
            return by_value(system, environments, "mean_seconds")

        case = f"e: epoch touching 1,000 keys, {where}"
        results += compare(case, "s", False, epoch(2_000_000), [(epoch(10_000), 1.5)], rounds)
    return results


def leftovers(environments: Environments, rounds: int) -> list[Comparison]:
    """200 epochs are `ours`, 20 the peer; each number of each run is compared."""
    limits = {"shuffle_files": 1.0, "state_files": 1.0, "largest_worker_mb": 1.1}
    results = []
    for key, limit in limits.items():

        def left(epochs: int, key: str = key) -> Measured:
            arguments = ("--keys", "10000", "--epochs", str(epochs))
            system = replace(PACED, name=f"firesteel, {epochs} epochs", arguments=arguments)
            return by_value(system, environments, key)

        unit = "MB" if key.endswith("mb") else "files"
        results += compare(f"f: left behind, {key}", unit, False, left(200), [(left(20), limit)], rounds)
    return results


def windows(environments: Environments, rounds: int) -> list[Comparison]:
    results = []
    for kind, keys, target in (
        ("tumbling", 1_000, 15.0),
        ("tumbling", 100_000, 15.0),
        ("sliding", 1_000, 15.0),
        ("sliding", 100_000, 15.0),
        ("session", 1_000, 10.0),
    ):
        arguments = ("--kind", kind, "--keys", str(keys))
        system = replace(WINDOWS, arguments=arguments)
        if kind == "session":
            system = replace(system, records=2_000_000)

        shipped = System("PyFlink process, as shipped", "pyflink", "windows.py", 20_000, arguments)
        large = replace(shipped, records=60_000)
        peers = [
            shipped,
            replace(large, name="PyFlink process, tuned", arguments=(*arguments, *tuned(10 * keys))),
            replace(large, name="PyFlink thread", arguments=(*arguments, *THREAD)),
        ]
        case = f"g: {kind} count, {keys:,} keys"
        judged = [Peer(peer, target) for peer in peers]
        results += compare_rates(case, system, judged, environments, rounds)
    return results


def interval_join(environments: Environments, rounds: int) -> list[Comparison]:
    ours = System("firesteel, interval_join", OURS, "interval_join.py", 1_000_000, pyflink_text=True)
    name = "PyFlink KeyedCoProcessFunction"
    peers = [
        System(f"{name}, process", "pyflink", "interval_join.py", 20_000),
        System(f"{name}, process, tuned", "pyflink", "interval_join.py", 20_000, tuned(10_000)),
        System(f"{name}, thread", "pyflink", "interval_join.py", 40_000, THREAD),
    ]
    return compare_rates("h: interval join", ours, [Peer(peer, 5.0) for peer in peers], environments, rounds)


def window_memory(environments: Environments, rounds: int) -> list[Comparison]:
    """Ten times the records in the same number of windows are `ours`, the smaller job is the peer."""

    def peak(records: int) -> Measured:
        arguments = ("--kind", "tumbling", "--keys", "10000", "--minutes", "10")
        system = replace(WINDOWS, arguments=arguments)
        name = f"firesteel, {records:,} records"
        return Measured(name, lambda: execute(system, environments, [records]).peak_worker_mb)

    return compare(
        "i: worker memory, tumbling windows", "MB", False, peak(10_000_000), [(peak(1_000_000), 1.2)], rounds
    )


def kafka(environments: Environments, rounds: int) -> list[Comparison]:
    """Kafka, JSON, a function for each record, JSON, Kafka; records of 100 bytes and of 1 kB."""
    from benchmarks.kafka import broker, fill, jars

    spark = environments.python(OURS)
    results = []
    with broker() as running:
        for size, many, few in ((100, 2_000_000, 400_000), (1_000, 1_500_000, 150_000)):
            where = ("--brokers", running.address, "--size", str(size))
            flink = (*where, "--jars", ",".join(jars("pyflink", spark)))
            tuned_flink = (*flink, *LARGE_BUNDLES)
            structured = (*where, "--jars", ",".join(jars("pyspark", spark)))
            ours = System("firesteel", OURS, "kafka_map.py", many, where, pyflink_text=True)
            peers = [
                Peer(System("PyFlink process, as shipped", "pyflink", "kafka_map.py", few, flink), 5.0),
                Peer(System("PyFlink process, tuned", "pyflink", "kafka_map.py", few, tuned_flink), 5.0),
                Peer(System("Structured Streaming", "pyspark", "kafka_structured.py", many, structured), 1.0),
            ]
            for records in (few, many) if not environments.earlier else (environments.share_of(many),):
                for count in (records // 10, records, 2 * records):
                    fill(running, size, count)
            case = f"j: Kafka to Kafka, {size:,} bytes"
            results += compare_rates(case, ours, peers, environments, rounds)
    return results


def files(environments: Environments, rounds: int) -> list[Comparison]:
    results = []
    for kind, records, few in (("csv", 3_000_000, 200_000), ("parquet", 6_000_000, 200_000)):
        arguments = ("--kind", kind)
        jars = environments.jars(*PARQUET_JARS) if kind == "parquet" else ()
        more = tuple(word for jar in jars for word in ("--jar", str(jar)))
        ours = System("firesteel", OURS, "files.py", records, arguments, pyflink_text=True)
        peers = [
            System("PyFlink process, as shipped", "pyflink", "files.py", few, (*arguments, *more)),
            System("PyFlink process, tuned", "pyflink", "files.py", few, (*arguments, *more, *LARGE_BUNDLES)),
            System("PyFlink thread", "pyflink", "files.py", few, (*arguments, *more, *THREAD)),
        ]
        case = f"k: reading {kind}"
        judged = [Peer(peer, 10.0) for peer in peers]
        results += compare_rates(case, ours, judged, environments, rounds)
    return results


def patterns(environments: Environments, rounds: int) -> list[Comparison]:
    """The same events: both must find as many matches."""
    results = []
    for keys in (1_000, 100_000):
        arguments = ("--keys", str(keys))
        ours = System("firesteel", OURS, "cep_fraud.py", 4_000_000, arguments)
        flink = System("Flink's Java CEP", "pyflink", "cep_fraud_flink.py", 2_000_000, arguments)
        reusing = replace(
            flink, name="Flink's Java CEP, object reuse", arguments=(*arguments, "--object-reuse")
        )
        if not environments.earlier:
            require_same_matches([ours, flink], environments, 400_000)
        case = f"o: pattern, {keys:,} keys"
        judged = [Peer(peer, 1.0) for peer in (flink, reusing)]
        results += compare_rates(case, ours, judged, environments, rounds)
    return results


def require_same_matches(systems: list[System], environments: Environments, records: int) -> None:
    found = {s.name: execute(s, environments, [records]).lines[-1]["matches"] for s in systems}
    progress(f"  matches in {records:,} events: {found}")
    if len(set(found.values())) > 1:
        raise SystemExit(f"the systems do not find the same matches: {found}")


def metrics(environments: Environments, rounds: int) -> list[Comparison]:
    """Both are of one run: see the program."""
    ours = System("with metrics", OURS, "many_subtasks.py", arguments=("--parallelism", "500"))
    return compare(
        "n: metrics of 1,000 subtasks",
        "of the throughput without",
        True,
        by_value(ours, environments, "throughput"),
        [(Measured("without", lambda: 1.0), 0.98)],
        rounds,
    )


def state_backends(environments: Environments, rounds: int) -> list[Comparison]:
    """Both are of one run: see the program."""
    ours = System("rocksdb, most of the state not in memory", OURS, "state_access.py")
    results: list[Comparison] = []
    for kind, what, target in (("get", "reading", 50.0), ("put", "writing", 3.0)):
        results += compare(
            f"v: {what} the value of a key",
            "of the time of hashmap",
            False,
            by_value(ours, environments, f"{kind}_ratio"),
            [(Measured("hashmap", lambda: 1.0), target)],
            rounds,
        )
    return results


def large_changes(environments: Environments, rounds: int) -> list[Comparison]:
    """Real time, 200 MB of changed state in each checkpoint: the slowest record of a thousand."""
    results = []
    for size, per_second in ((10_000, 2_000), (1_000, 20_000)):
        arguments = ("--size", str(size), "--rate", str(per_second))
        ours = System("real time", OURS, "large_changes.py", arguments=arguments)
        results += compare(
            f"p: p99.9 with 200 MB of changes, {size:,} bytes",
            "ms",
            False,
            by_value(ours, environments, "p99.9"),
            [(Measured("100 ms", lambda: 100.0), 1.0)],
            rounds,
        )
    return results


_RELAYED: Final = 1_500_000


def real_time(environments: Environments, rounds: int) -> list[Comparison]:
    """Real time is `ours`, epochs are the peer: the rates, and the CPU for a record. And how long after a
    backlog the p99 of a job in real time is below 50 ms again, and what it is at a high rate."""

    def keyed(mode: str) -> Measured:
        arguments = ("--config", f"execution.mode={mode}")
        return by_rate(replace(KEYED, name=f"firesteel, {mode}", arguments=arguments), environments)

    def relayed(mode: str, address: str) -> Measured:
        arguments = ("--brokers", address, "--size", "1000", "--config", f"execution.mode={mode}")
        system = System(f"firesteel, {mode}", OURS, "kafka_map.py", _RELAYED, arguments, pyflink_text=True)
        return by_rate(system, environments)

    def relay() -> list[Comparison]:
        from benchmarks.kafka import broker, fill

        with broker() as running:
            for count in (_RELAYED // 10, _RELAYED, 2 * _RELAYED):
                fill(running, 1_000, count)
            ours, epochs = (relayed(mode, running.address) for mode in ("real-time", "epochs"))
            return compare("r: Kafka to Kafka, 1,000 bytes", "rec/s", True, ours, [(epochs, 0.9)], rounds)

    both = System("firesteel, real-time", OURS, "both_modes.py", arguments=("--rounds", "1"))
    backlog = System("firesteel, real-time", OURS, "backlog.py")
    rate = 30_000 * (os.cpu_count() or 1)
    quick = replace(backlog, arguments=("--rate", str(rate), "--behind", "1", "--steady", "60"))
    epochs, limit = Measured("firesteel, epochs", lambda: 1.0), Measured("limit", lambda: 10.0)
    return [
        *compare("r: keyed count", "rec/s", True, keyed("real-time"), [(keyed("epochs"), 0.9)], rounds),
        *relay(),
        *compare(
            "r: CPU for a record of it",
            "of that of epochs",
            False,
            by_value(both, environments, "cpu"),
            [(epochs, 1.0)],
            rounds,
        ),
        *compare(
            "r: 30 s of backlog, 20,000 rec/s",
            "s until p99 < 50 ms",
            False,
            by_value(backlog, environments, "quick_after_s"),
            [(limit, 1.0)],
            rounds,
        ),
        *compare(
            f"r: p99 at {rate:,} rec/s, 30,000 for each core",
            "ms",
            False,
            by_value(quick, environments, "p99"),
            [(Measured("limit", lambda: 50.0), 1.0)],
            rounds,
        ),
    ]


def sql_functions(environments: Environments, rounds: int) -> list[Comparison]:
    results: list[Comparison] = []
    for function, records, target in (("python", 500_000, 10.0), ("pandas", 500_000, 3.0)):
        arguments = ("--function", function)
        ours = System("firesteel", OURS, "sql_function.py", 8_000_000, arguments, pyflink_text=True)
        theirs = System("PyFlink, process mode", "pyflink", "sql_function.py", records, arguments)
        case = f"u: a function of the user in SQL, {function}"
        results += compare_rates(case, ours, [Peer(theirs, target)], environments, rounds)
    return results


CASES: dict[str, Callable[[Environments, int], list[Comparison]]] = {
    "a": keyed_count,
    "b": chain,
    "c": small_epoch,
    "d": memory,
    "e": state_size,
    "f": leftovers,
    "g": windows,
    "h": interval_join,
    "i": window_memory,
    "j": kafka,
    "k": files,
    "n": metrics,
    "o": patterns,
    "p": large_changes,
    "r": real_time,
    "u": sql_functions,
    "v": state_backends,
}

#: Those that compare rates, and so can be compared with an earlier commit.
OF_RATES = ("a", "b", "g", "h", "j", "k", "o")
