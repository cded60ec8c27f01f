"""Case l: what checkpoints of a large state write and cost, and how soon a restored job works.

Each round runs the job four times: with a checkpoint after each epoch, followed by a restore; at full speed
with checkpoints every ten seconds and without any; and in PyFlink with RocksDB.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.environments import OURS, Environments
from benchmarks.measure import Comparison, ProgramFailed, System, execute

Lines = list[dict[str, Any]]
CASE = "l: large state"
CHANGED = 0.01  # of the keys, between two checkpoints
EPOCHS = 100
VALUE_BYTES = 2_000


def large_state(environments: Environments, rounds: int, state_bytes: int) -> list[Comparison]:
    """:param state_bytes: size of the state. The targets are for 1 GB; 100 MB are for a quick look."""
    size = ("--bytes", str(state_bytes), "--value-bytes", str(VALUE_BYTES), "--changed", str(CHANGED))
    name = f"firesteel, {state_bytes >> 20:,} MB"
    each_epoch = System(name, OURS, "large_state.py", arguments=(*size, "--epochs", str(EPOCHS), "--restore"))
    full_speed = (*size, "--epochs", str(EPOCHS), "--full-speed", "--checkpoint-ms")
    every_10_s = System(name, OURS, "large_state.py", arguments=(*full_speed, "10000"))
    never = System(name, OURS, "large_state.py", arguments=(*full_speed, "0"))
    flink = System("PyFlink, RocksDB", "pyflink", "large_state_pyflink.py", arguments=size, timeout_s=3_600)
    results: list[Comparison] = []
    for _ in range(rounds):
        ours = execute(each_epoch, environments, []).lines
        _add(results, name, "share of the state", "5 %", "share", 1.0, ours[0]["written_share"], 0.05)
        _add(results, name, "longest epoch", "2 x the median", "s", 1.0, *_epochs(ours[0]))
        _add(results, name, "first record", "1.5 x the least", "s", 1.0, *_restored(ours[1]))
        rates = [
            execute(system, environments, []).lines[0]["touches_per_s"] for system in (every_10_s, never)
        ]
        _add(results, name, "checkpoints every 10 s", "without", "touches/s", 0.9, *rates, at_least=True)
        _beside_flink(results, name, ours, lambda: execute(flink, environments, []).lines)
    return results


def _epochs(line: dict[str, Any]) -> tuple[float, float]:
    return line["longest_epoch_s"], 2 * line["median_epoch_s"]


def _restored(line: dict[str, Any]) -> tuple[float, float]:
    return line["restored_first_record_s"], 1.5 * line["least_s"]


def _beside_flink(results: list[Comparison], name: str, ours: Lines, flink: Callable[[], Lines]) -> None:
    """Loading, what is written for each byte that changes, and recovery."""
    flink_name = "PyFlink, RocksDB"
    try:
        theirs = flink()[0]
    except ProgramFailed as failure:
        _add(results, name, "written", flink_name, "", 1.0, 0.0, 0.0).error = str(failure)
        return
    written = ours[0]["written_share"] / CHANGED
    _add(results, name, "written for a changed byte", flink_name, "bytes", 1.0, written, theirs["written"])
    for key, unit in (("load_seconds", "s"), ("seconds", "s"), ("state_files_mb", "MB")):
        _add(results, name, key, flink_name, unit, 1.0, ours[0][key], theirs[key])
    restored = ours[1]["restored_first_record_s"]
    _add(results, name, "first record", flink_name, "s", 1.0, restored, theirs["restored_first_record_s"])


def _add(
    results: list[Comparison],
    name: str,
    what: str,
    peer: str,
    unit: str,
    target: float,
    ours_value: float,
    peer_value: float,
    *,
    at_least: bool = False,
) -> Comparison:
    """The comparison of that name with one more pair of values."""
    case = f"{CASE}, {what}"
    for result in results:
        if (result.case, result.peer) == (case, peer):
            break
    else:
        result = Comparison(case, name, peer, unit, [], [], target, at_least)
        results.append(result)
    result.ours_values.append(ours_value)
    result.peer_values.append(peer_value)
    return result
