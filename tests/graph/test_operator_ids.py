"""Operator ids are those that Flink 2.3.0 gives to the same topologies (taken from its job graphs)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from firesteel.common.errors import ProgramError
from firesteel.graph.uids import operator_id_of_uid, operator_ids
from firesteel.program.transformations import ChainingStrategy, PartitionKind
from tests.waiting import patience

from .graph_programs import Program, window_program

PRINT = "Sink: Print to Std. Out"


def branch() -> Program:
    p = Program()
    m = p.op("Map", p.source("Collection Source", limit=1), uid="mymap")
    p.sink(p.op("Map", p.op("Filter", m)))
    p.sink(p.op("Map", p.op("fm", m)))
    return p


def keyed(sink_parallelism: int | None) -> Program:
    p = Program()
    m = p.op("key", p.op("Map", p.source()))
    p.sink(p.keyed("KEYED PROCESS", m), parallelism=sink_parallelism)
    return p


def unions() -> Program:
    p = Program()
    x = p.source()
    y = p.op("Map", p.source(), parallelism=3)
    p.sink(p.op("m", p.union(x, y)))
    p.sink(p.union(x, x))
    return p


def connected() -> Program:
    p = Program()
    co = p.two("co", p.source(), p.source())
    p.sink(p.op("Map", p.op("Map", co)))
    return p


def side_output() -> Program:
    p = Program()
    s = p.op("s", p.source())
    p.sink(p.op("Map", p.side(s, "late")))
    p.sink(s)
    return p


def partitions() -> Program:
    p = Program()
    x = p.source()
    for name in ("rescale", "rebalance", "shuffle", "broadcast", "forward"):
        part = p.partition(x, PartitionKind[name.upper()])
        p.sink(p.op(name, part, chaining=ChainingStrategy.NEVER))
    custom = p.partition(p.op("_partition_custom_map_operator", x), PartitionKind.CUSTOM)
    values = p.op("_keyed_stream_values_operator", custom)
    p.sink(p.op("Map", p.op("Map", values, chaining=ChainingStrategy.HEAD)))
    return p


def slots() -> Program:
    p = Program()
    x, y = p.source(uid="s1"), p.source(slot_sharing_group="g")
    m = p.op("m", p.union(x, y), uid="mm")
    p.sink(p.op("n", p.partition(m, PartitionKind.RESCALE), parallelism=1))
    return p


def keyed_connect() -> Program:
    p = Program()
    x, y = p.source(), p.source()
    kx = p.partition(p.op("_stream_key_by_map_operator", x), PartitionKind.HASH)
    ky = p.partition(p.op("_stream_key_by_map_operator", y), PartitionKind.HASH)
    p.sink(p.two("co", kx, ky))
    p.sink(p.op("Map", p.op("Map", p.union(p.partition(x, PartitionKind.SHUFFLE), y))))
    return p


FLINK: list[tuple[Program, dict[str, str]]] = [
    # (program, vertex name -> operator ids of the chain, first 12 digits, sorted)
    (
        branch(),
        {
            "Source: Collection Source": "bc764cd8ddf7",
            f"Map -> (Filter -> Map -> {PRINT}, fm -> Map -> {PRINT})": "17fa7d5367c7 842d26c75d87 "
            "8fe052479c4b a4a96a96d043 c31c38f113aa dc231142b29c fab544b958e9",
        },
    ),
    (
        keyed(1),
        {
            "Source: seq -> Map -> key": "570f707193e0 b728d985904d cbc357ccb763",
            "KEYED PROCESS": "306d8342cb5b",
            PRINT: "80fe6c4f32f6",
        },
    ),
    (
        keyed(None),
        {
            "Source: seq -> Map -> key": "570f707193e0 b728d985904d cbc357ccb763",
            f"KEYED PROCESS -> {PRINT}": "72ee2076ad42 c27dcf7b54ef",
        },
    ),
    (
        unions(),
        {
            "Source: seq": "bc764cd8ddf7",
            "Source: seq (2)": "feca28aff5a3",
            "Map": "798f7268aeb5",
            f"m -> {PRINT}": "4ac4d2658669 d18939ccbbd8",
            PRINT: "f0c35584cbf5",
        },
    ),
    (
        connected(),
        {
            "Source: seq": "bc764cd8ddf7",
            "Source: seq (2)": "feca28aff5a3",
            f"co -> Map -> Map -> {PRINT}": "3ea2d76b9b5c 4bf7c1955ffe 6e3650d373b6 f57bbb7a4e07",
        },
    ),
    (
        side_output(),
        {
            f"Source: seq -> s -> (Map -> {PRINT}, {PRINT})": "0c23e62ea319 66298503c721 8b66bce9f80f "
            "cbc357ccb763 d6ba6a0e3e8c"
        },
    ),
    (
        partitions(),
        {
            "Source: seq -> _partition_custom_map_operator": "b3492c18d5bc cbc357ccb763",
            "rescale": "7df19f87deec",
            "rebalance": "2be4fe38b4ce",
            "shuffle": "4c860d0bec75",
            "broadcast": "7b50b8c14ece",
            "forward": "508ebc658ad2",
            "_keyed_stream_values_operator": "b6c9d466eaac",
            f"Map -> Map -> {PRINT}": "ab4f54e28644 b1b3b67fb336 ec87b3d1790c",
            PRINT: "3ac081b190c1",
            f"{PRINT} (2)": "df27d44f7c88",
            f"{PRINT} (3)": "33493542fce5",
            f"{PRINT} (4)": "a1406e8d5426",
            f"{PRINT} (5)": "03d2fadf59b1",
        },
    ),
    (
        slots(),
        {
            "Source: seq": "90155cf7d25c",
            "Source: seq (2)": "feca28aff5a3",
            "m": "7fff0d6bfb14",
            "n": "f8ba57aca002",
            PRINT: "4829b8a159af",
        },
    ),
    (
        keyed_connect(),
        {
            "Source: seq -> _stream_key_by_map_operator": "2be4fe38b4ce cbc357ccb763",
            "Source: seq -> _stream_key_by_map_operator (2)": "6cdc5bb95487 dc4fb4b4ad2a",
            f"co -> {PRINT}": "3f37d0322ae1 7806ce0464cc",
            f"Map -> Map -> {PRINT}": "1a723e83cb62 2f71fe830a70 dbb2d4f4c236",
        },
    ),
]


@pytest.mark.parametrize(("program", "expected"), FLINK, ids=range(len(FLINK)))
def test_vertices_and_ids_are_those_of_flink(program: Program, expected: dict[str, str]) -> None:
    found: dict[str, str] = {}
    for vertex in program.job(parallelism=2).vertices:
        same = sum(key == vertex.name or key.startswith(f"{vertex.name} (") for key in found)
        key = f"{vertex.name} ({same + 1})" if same else vertex.name
        found[key] = " ".join(sorted(operator_id[:12] for operator_id in vertex.operator_ids))
    assert found == expected


@pytest.mark.row("S-OPS-20")
def test_id_of_a_uid_does_not_depend_on_the_program() -> None:
    assert operator_id_of_uid("mymap") == "fab544b958e94325c896b399a17e23ed"
    assert operator_id_of_uid("a uid that is longer than sixteen bytes, ü") != operator_id_of_uid("a")
    small, large = Program(), Program()
    small.sink(small.op("a", small.source(), uid="u"))
    large.sink(large.op("b", large.op("x", large.source()), uid="u"))
    assert operator_ids(small.graph())[2] == operator_ids(large.graph())[3] == operator_id_of_uid("u")


def test_inserting_an_operator_changes_generated_ids_but_no_uid() -> None:
    def ids(extra: bool) -> dict[str, str]:
        p = Program()
        s = p.source()
        s = p.op("extra", s) if extra else s
        p.sink(p.op("auto", p.op("named", s, uid="u")))
        graph = p.graph()
        return {graph.node(number).name: operator_id for number, operator_id in operator_ids(graph).items()}

    before, after = ids(False), ids(True)
    assert before["named"] == after["named"]
    assert before["auto"] != after["auto"]


def test_uid_hash_is_taken_as_it_is() -> None:
    p = Program()
    p.sink(p.op("a", p.source(), uid="u", uid_hash="AB" * 16))
    assert operator_ids(p.graph())[2] == "ab" * 16


@pytest.mark.parametrize("uid_hash", ["", "xyz", "a" * 31, "g" * 32, "a" * 33])
def test_malformed_uid_hash_is_refused(uid_hash: str) -> None:
    p = Program()
    p.sink(p.op("a", p.source(), uid_hash=uid_hash))
    with pytest.raises(ProgramError, match="32 hexadecimal digits") as error:
        operator_ids(p.graph())
    assert error.value.operator == "a"


def test_uid_hash_that_is_the_id_of_another_operator_is_refused() -> None:
    p = Program()
    one = p.op("one", p.source(), uid="u", created_at="prog.py:3")
    p.sink(p.op("two", one, uid_hash=operator_id_of_uid("u"), created_at="prog.py:4"))
    with pytest.raises(ProgramError, match="same id") as error:
        p.job()
    assert "'one' (prog.py:3)" in str(error.value)
    assert "'two' (prog.py:4)" in str(error.value)


SCRIPT = """
from tests.graph.test_operator_ids import FLINK, window_program
from firesteel.graph.plan_json import to_json
print([to_json(program.job()) for program, _ in FLINK], to_json(window_program().graph()))
"""


def test_ids_and_plans_are_the_same_in_other_processes() -> None:
    def run(seed: str) -> str:
        env = {**os.environ, "PYTHONHASHSEED": seed}
        root = Path(__file__).parents[2]
        command = [sys.executable, "-c", SCRIPT]
        return subprocess.run(
            command, env=env, cwd=root, capture_output=True, text=True, check=True, timeout=patience(60)
        ).stdout

    first, second = run("1"), run("2")
    assert operator_ids(window_program().graph())[1] in second
    assert first == second
    assert "cbc357ccb763df2852fee8c4fc7d55f2" in first
