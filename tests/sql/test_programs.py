"""Recorded programs of SQL give the changes that Flink 2.3 gives, in its order for each key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from firesteel.testing import MiniCluster
from tests.sql.program_files import NO_SETTINGS, Run, by_key, final_table, insertions, programs, written

#: Programs whose result depends on which source is ahead, in Flink as here: what is told where it is another
#: one than there. Inputs are read in turn, but how far each source comes in an epoch is a matter of time.
BY_CHANCE: dict[str, str] = {
    "four-way-mixed-join-multi-key-types-shuffled": "the rows of sink are [], recorded were",
    "window-join-cumulate-event-time": (
        "the rows of sink_t are ['+I[2020-10-10T00:00, 2020-10-10T00:00:05, a, L1, 1, R1, 5]'"
    ),
    "window-join-hop-event-time": (
        "the rows of sink_t are ['+I[2020-10-09T23:59:55, 2020-10-10T00:00:05, a, L1, 1, R1, 5]'"
    ),
}


def differences(program: dict[str, Any], settings: Mapping[str, str] = NO_SETTINGS) -> str:
    """How what a program gives differs from what was recorded; empty: it does not."""
    if program["compare"] == "failure":
        return _failures(program)
    run = Run(program, settings)
    for statement in insertions(program):
        run.insert(statement)
    for sink in program["sinks"]:
        name, key = sink["name"], run.key_of(sink["name"])
        if name not in run.changes and not sink["recorded_table"]:
            continue
        found = run.changes[name]
        table = final_table(found, key)
        if sink["recorded_table"] is not None and program["compare"] != "none":
            accepted = [sink["recorded_table"], *sink.get("also_accepted_tables", [])]
            if table not in [sorted(rows) for rows in accepted]:
                return f"the rows of {name} are {table}, recorded were {sink['recorded_table']}"
        if program["compare"] == "ordered":
            if sorted(written(found)) != sorted(sink["recorded_changelog"]):
                return (
                    f"the changes of {name} are {written(found)}, recorded were {sink['recorded_changelog']}"
                )
            if key and not _in_order(by_key(found, key), sink["recorded_changelog"]):
                return f"changes of one key are in another order: {written(found)}"
    return ""


def _in_order(found: dict[tuple[str, ...], list[str]], recorded: list[str]) -> bool:
    """Whether the changes of each key are in the order in which they are recorded."""
    for changes in found.values():
        wanted = [change for change in recorded if change in set(changes)]
        if wanted != changes:
            return False
    return True


def _failures(program: dict[str, Any]) -> str:
    for step in program["run"]:
        try:
            Run(program).execute(step["sql"])
        except Exception as error:
            said = []
            found: BaseException | None = error
            while found is not None:
                said.append(str(found))
                found = found.__cause__
            if not any(step["message"] in text for text in said):
                return f"it fails with another message: {said}"
        else:
            return "it does not fail"
    return ""


@pytest.mark.row("S-SQL-01", "S-SQL-04", "S-SQL-09", "S-SQL-13")
@pytest.mark.parametrize("program", programs(), ids=lambda program: program["id"])
@pytest.mark.row("S-SPARK-08")
def test_a_recorded_program(program: dict[str, Any]) -> None:
    with MiniCluster.in_process():
        found = differences(program)
    told = BY_CHANCE.get(program["id"])
    assert found == "" or (told is not None and told in found)


def test_the_list_names_programs() -> None:
    assert set(BY_CHANCE) <= {program["id"] for program in programs()}
