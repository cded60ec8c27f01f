"""A kind of operator from outside does all that Firesteel's own kinds do."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import Types
from firesteel.datastream import DataStream, StreamExecutionEnvironment
from firesteel.graph.explain import explain
from firesteel.graph.generator import generate
from firesteel.graph.job_graph import create_job_graph
from firesteel.graph.levels import plan_levels
from firesteel.graph.plan_json import to_dict
from firesteel.jobmanager.executor import graph_config
from firesteel.jobmanager.shipping import ship
from firesteel.jobmanager.translate import to_program
from firesteel.program import operators
from firesteel.program.checks import WrongArgumentError
from firesteel.program.operator_kinds import KINDS, OperatorKind, kind_of
from firesteel.program.operators import Map, OperatorSpec
from firesteel.program.registry import UnknownKindError
from firesteel.program.transformations import OneInputTransformation
from firesteel.runtime.kinds import added_kinds
from firesteel.state.files import StateFiles
from firesteel.testing import OperatorHarness
from tests.runtime.support import collect, environment, local_platform

from .first_of import FirstOf, Numbered

TEXT = Types.STRING()


def key_of(value: str) -> str:
    return value[0]


def first_of(stream: DataStream) -> DataStream:
    return stream.key_by(key_of, TEXT).transform("first of", TEXT, FirstOf(within_ms=10))


@pytest.mark.parametrize("processes", [1, 2])
def test_it_has_state_timers_and_watermarks(processes: int) -> None:
    harness = OperatorHarness(first_of, processes=processes)
    for value, at in [("a1", 0), ("a2", 5), ("b1", 6)]:
        harness.process_element(value, at)
    assert harness.values == ["a1", "b1"]
    harness.process_watermark(10)
    harness.process_element("a3", 11)
    harness.process_element("b2", 12)
    assert harness.values == ["a1", "b1", "a3"]
    assert harness.state("seen", "a") is True


def test_its_state_is_restored_with_another_parallelism() -> None:
    keys = "abcdefghij"
    harness = OperatorHarness(first_of, parallelism=2)
    for key in keys:
        harness.process_element(f"{key}1", 0)
    again = OperatorHarness(first_of, parallelism=3, restore=harness.snapshot())
    for key in keys:
        again.process_element(f"{key}2", 1)
    assert again.values == []
    again.process_watermark(10)
    again.process_element("a3", 12)
    assert again.values == ["a3"], "its timers came along"


def test_a_harness_takes_the_spec_alone() -> None:
    harness = OperatorHarness(FirstOf(10), key_by=key_of)
    for value in ["a1", "a2", "b1"]:
        harness.process_element(value, 0)
    assert harness.values == ["a1", "b1"]
    two = OperatorHarness(Numbered())
    two.inputs[1].process_element("y")
    assert two.values == [(1, "y")]
    with pytest.raises(ProgramError, match="A FirstOf works on keyed streams, and there is no key selector"):
        OperatorHarness(FirstOf(10))


def test_two_streams_go_into_one() -> None:
    harness = OperatorHarness(
        lambda one, two: one.connect(two).transform("numbered", None, Numbered()), parallelism=1
    )
    harness.inputs[0].process_element("x")
    harness.inputs[1].process_element("y")
    assert harness.values == [(0, "x"), (1, "y")]


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_a_job_runs_it(mode: str) -> None:
    with local_platform():
        env = environment(2)
        env.configuration.set_string("execution.runtime-mode", mode)
        stream = env.from_collection(["a1", "b1", "a2", "c1", "b2"], TEXT)
        assert sorted(collect(first_of(stream))) == ["a1", "b1", "c1"]


def program() -> tuple[StreamExecutionEnvironment, Any]:
    env = environment(2)
    stream = first_of(env.from_collection(["a1"], TEXT))
    stream.uid("first").set_parallelism(3).set_description("one of each").print()
    return env, generate(env.transformations, graph_config(env, "job"))


def test_plans_show_it() -> None:
    _, graph = program()
    node = next(node for node in to_dict(graph)["nodes"] if node["name"] == "first of")
    assert (node["operator"], node["uid"], node["parallelism"]) == ("FirstOf", "first", 3)
    assert (node["keyed"], node["key_serializer"], node["output_serializer"]) == (True, "String", "String")
    assert node["created_at"].startswith("test_added_operator.py:")
    assert json.dumps(to_dict(create_job_graph(graph)))
    assert "FirstOf" in explain(graph)


# ---- what is refused


def stream() -> DataStream:
    return environment().from_collection(["a"], TEXT)


def test_a_stream_without_a_key_does_not_take_one_with_keyed_state() -> None:
    with pytest.raises(ProgramError, match="A FirstOf operator has keyed state, and the stream is not keyed"):
        stream().transform("first of", None, FirstOf(10))


def test_one_stream_does_not_take_one_with_two_inputs() -> None:
    with pytest.raises(WrongArgumentError, match="A Numbered operator has 2 inputs, not 1"):
        stream().transform("numbered", None, Numbered())


def test_a_graph_refuses_what_no_stream_has_looked_at() -> None:
    """Programs come by other doors too, which make transformations themselves."""
    env = environment()
    source = env.from_collection(["a"], TEXT)._transformation
    without_key = OneInputTransformation(name="first", input=source, operator=FirstOf(10))
    with pytest.raises(ProgramError, match="A FirstOf operator has keyed state, and its input is not keyed"):
        generate([without_key], graph_config(env, "job"))
    with_one = OneInputTransformation(name="numbered", input=source, operator=Numbered())
    with pytest.raises(ProgramError, match="A Numbered operator has 2 inputs, and is given 1"):
        generate([with_one], graph_config(env, "job"))


def test_two_streams_do_not_take_one_with_one_input() -> None:
    one = stream()
    with pytest.raises(WrongArgumentError, match="A FirstOf operator has 1 input, not 2"):
        one.connect(one).transform("first of", None, FirstOf(10))


def test_what_is_not_a_spec_is_refused() -> None:
    with pytest.raises(WrongArgumentError, match=r"transform\(\) takes the spec of an operator"):
        stream().transform("first of", None, lambda value: value)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Unregistered(OperatorSpec):
    """Nobody has said what runs it."""


def test_a_spec_that_nobody_has_registered_is_refused() -> None:
    with pytest.raises(UnknownKindError, match="There is no kind of operator 'Unregistered'") as caught:
        stream().transform("nothing", None, Unregistered())
    assert "AsyncWait, BroadcastProcess" in str(caught.value)


def test_a_spec_that_is_called_like_one_of_ours_is_not_taken_for_it() -> None:
    other = type("Map", (OperatorSpec,), {"__module__": __name__})
    with pytest.raises(UnknownKindError, match=r"There is no kind of operator .*test_added_operator\.Map"):
        kind_of(other())
    with pytest.raises(ProgramError, match="There is a kind of operator 'Map' already") as caught:
        KINDS.register(OperatorKind(spec=other, operator="somewhere:Else"))
    assert "firesteel.program.operator_kinds has registered it" in str(caught.value)
    assert kind_of(Map(str)).spec is Map


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        ("tests.extending.first_of:Nothing", "'tests.extending.first_of:Nothing' cannot be loaded"),
        ("tests.extending.nowhere:Nothing", "'tests.extending.nowhere:Nothing' cannot be loaded"),
        ("first_of", "'first_of' cannot be loaded"),
        (lambda program, spec: spec, "What runs a Unregistered operator is not a BaseOperator"),
    ],
)
def test_what_does_not_run_it_is_told(monkeypatch: pytest.MonkeyPatch, operator: Any, message: str) -> None:
    monkeypatch.setattr(KINDS, "_homes", dict(KINDS._homes))
    monkeypatch.setattr(KINDS, "_records", dict(KINDS._records))
    KINDS.register(OperatorKind(spec=Unregistered, operator=operator))
    with pytest.raises(Exception, match=message):
        OperatorHarness(lambda stream: stream.transform("nothing", None, Unregistered()))


@pytest.mark.parametrize(
    "wrong", [{"spec": int}, {"spec": FirstOf, "inputs": 3}, {"spec": FirstOf, "broadcast_input": 1}]
)
def test_a_record_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ProgramError):
        OperatorKind(operator="somewhere:Else", **wrong)


def test_all_kinds_of_our_own_have_what_runs_them() -> None:
    own = [kind for kind in KINDS.all() if kind.spec.__module__ == "firesteel.program.operators"]
    specs = {v for v in vars(operators).values() if isinstance(v, type) and issubclass(v, OperatorSpec)}
    assert {kind.spec for kind in own} == specs - {OperatorSpec}
    assert all(callable(kind.implementation()) for kind in own)


# ---- other processes

SCRIPT = """
import pickle, sys
from dataclasses import dataclass
from firesteel.jobmanager.shipping import parcel
from firesteel.program.operator_kinds import KINDS, OperatorKind
from firesteel.program.operators import OperatorSpec
from firesteel.runtime.operators.stateless import MapOperator

@dataclass(frozen=True, slots=True)
class Shout(OperatorSpec):
    mark: str

class ShoutOperator(MapOperator):
    def __init__(self, program, spec):
        from firesteel.program.operators import Map
        super().__init__(program, Map(lambda value: value.upper() + spec.mark))

KINDS.register(OperatorKind(spec=Shout, operator=ShoutOperator))
open(sys.argv[1], "wb").write(parcel(Shout("!")))
"""

READER = """
import sys
from firesteel.jobmanager.shipping import opened
from firesteel.program.operator_kinds import kind_of
from firesteel.runtime.building import build_operator
from firesteel.runtime.program import OperatorProgram
spec = opened(open(sys.argv[1], "rb").read())
operator = build_operator(OperatorProgram("uid", "shout", spec))
print(type(spec).__name__, kind_of(spec).name, operator._map("a"))
"""


def test_a_fresh_process_runs_what_a_script_registers(tmp_path: Path) -> None:
    script, parcel = tmp_path / "script.py", tmp_path / "parcel"
    script.write_text(SCRIPT)
    subprocess.run([sys.executable, script, parcel], check=True)
    done = subprocess.run([sys.executable, "-c", READER, parcel], capture_output=True, text=True)
    assert done.stdout.split() == ["Shout", "Shout", "A!"], done.stderr


WORKER = """
import pickle, sys
from firesteel.runtime import worker
from firesteel.state.kinds import KINDS
shipped = pickle.loads(open(sys.argv[1], "rb").read())
assert "smallest" not in KINDS.names()
worker._prepare_process(shipped)
print("smallest" in KINDS.names(), "tests.extending.smallest" in sys.modules, KINDS.named("smallest").name)
"""


def test_a_worker_learns_with_the_program_what_there_is(tmp_path: Path) -> None:
    """Also of kinds that nothing in the program refers to: stored state may be of them."""
    from tests.extending import smallest  # noqa: F401  registers the kind

    _, graph = program()
    job_graph = create_job_graph(graph)
    job = to_program("job", job_graph, plan_levels(job_graph), {})
    name = ship(job, StateFiles(str(tmp_path)))
    command = [sys.executable, "-c", WORKER, str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.split() == ["True", "False", "smallest"], done.stderr


def test_a_module_travels_as_its_name() -> None:
    added = {kind.name: kind for of_table in added_kinds() for kind in of_table.kinds}
    assert added["FirstOf"] == ("FirstOf", "tests.extending.first_of", None)
    assert b"FirstOfOperator" not in pickle.dumps(added_kinds())
