"""The job master belongs to the thread of its job: what other threads could reach of it."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import firesteel
from firesteel.jobmanager import executor, job_master
from firesteel.jobmanager.gateway import JobGateway
from tests.jobmanager.checkpoint_support import submit
from tests.runtime.support import environment
from tests.waiting import patience

SOURCES = Path(firesteel.__file__).parent


def test_a_job_master_shows_nothing_but_its_life() -> None:
    """Broken by hand: an attribute of it loses its underscore."""
    tree = ast.parse(inspect.getsource(job_master.JobMaster))
    attributes = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    methods = set(vars(job_master.JobMaster)) - set(vars(object)) - {"__module__", "__weakref__", "__dict__"}
    public = {name for name in attributes | methods if not name.startswith("_")}
    assert public == {"run"}


def test_the_executor_makes_a_job_master_and_keeps_but_its_life() -> None:
    """The import of it is allowed there alone (see pyproject.toml)."""
    tree = ast.parse(inspect.getsource(executor))
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "JobMaster"]
    lives = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr == "run"
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "JobMaster"
    ]
    assert len(uses) == len(lives) == 1


def test_nobody_else_names_it() -> None:
    named = {
        str(path.relative_to(SOURCES))
        for path in SOURCES.rglob("*.py")
        if "JobMaster" in {n.id for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Name)}
    }
    assert named == {"jobmanager/executor.py", "jobmanager/job_master.py"}


def test_a_job_in_other_hands_does_not_lead_to_its_master() -> None:
    """Neither a view nor the mailbox refers to it. The function that interrupts an epoch is the engine's."""
    env = environment(1)
    env.from_collection([1]).map(lambda v: v)
    job = submit(env)
    assert job.wait(patience(30))
    assert isinstance(job, JobGateway)
    seen: set[int] = set()
    pending: list[object] = [job]
    while pending:
        found = pending.pop()
        assert not isinstance(found, job_master.JobMaster)
        if id(found) in seen or not type(found).__module__.startswith("firesteel.jobmanager"):
            continue
        seen.add(id(found))
        names = [*getattr(type(found), "__slots__", ()), *getattr(found, "__dict__", {})]
        pending += [getattr(found, name) for name in names if hasattr(found, name)]
    assert len(seen) > 3
