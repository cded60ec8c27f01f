"""Tables that other packages add to."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import ProgramError
from firesteel.program.registry import Registry, UnknownKindError, load

MODULE = """
from tests.program.test_registry import SHAPES, Shape
SHAPES.register(Shape("{name}", {corners}))
"""


@dataclass(frozen=True)
class Shape:
    name: str
    corners: int = 0


SHAPES: Registry[Shape] = Registry("shape", Shape)


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SHAPES, "_homes", {"square": "shapes_of_ours"})
    monkeypatch.setattr(SHAPES, "_records", {})


def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str) -> None:
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)


def test_what_is_registered_is_found() -> None:
    circle = SHAPES.register(Shape("circle"))
    assert SHAPES.named("circle") is circle
    assert SHAPES.find("line") is None
    assert SHAPES.names() == ["circle", "square"]


def test_a_module_may_register_a_name_again() -> None:
    SHAPES.register(Shape("circle"))
    again = SHAPES.register(Shape("circle", 1))
    assert SHAPES.named("circle") is again


def test_another_module_may_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SHAPES.register(Shape("circle"))
    module(tmp_path, monkeypatch, "other_shapes", MODULE.format(name="circle", corners=1))
    with pytest.raises(ProgramError, match="There is a shape 'circle' already") as caught:
        __import__("other_shapes")
    assert f"{__name__} has registered it, and other_shapes wants to" in str(caught.value)


@pytest.mark.parametrize("name", ["", " x", "a/b", None, 5])
def test_a_name_is_a_plain_text(name: Any) -> None:
    with pytest.raises(ProgramError, match="A shape needs a name"):
        SHAPES.register(Shape(name))


def test_what_is_not_a_record_is_refused() -> None:
    with pytest.raises(ProgramError, match="A shape is registered with a Shape"):
        SHAPES.register("circle")  # type: ignore[arg-type]


def test_an_own_one_is_loaded_when_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(tmp_path, monkeypatch, "shapes_of_ours", MODULE.format(name="square", corners=4))
    assert SHAPES.names() == ["square"]
    assert "shapes_of_ours" not in sys.modules
    assert [shape.corners for shape in SHAPES.all()] == [4]


def test_a_module_that_does_not_register_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(tmp_path, monkeypatch, "shapes_of_ours", "")
    with pytest.raises(UnknownKindError, match="The shape 'square' cannot be loaded") as caught:
        SHAPES.named("square")
    assert "register it at the top level" in str(caught.value)


def test_an_unknown_name_is_told_with_the_known_ones() -> None:
    with pytest.raises(UnknownKindError, match="There is no shape 'line'") as caught:
        SHAPES.named("line")
    assert "known are square" in str(caught.value)


def test_another_process_adopts_what_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(tmp_path, monkeypatch, "added_shapes", MODULE.format(name="star", corners=5))
    __import__("added_shapes")
    added = SHAPES.added()
    assert added == [("square", "shapes_of_ours", None), ("star", "added_shapes", None)]
    monkeypatch.setattr(SHAPES, "_homes", {})
    monkeypatch.setattr(SHAPES, "_records", {})
    monkeypatch.delitem(sys.modules, "added_shapes")
    SHAPES.adopt(added)
    assert "added_shapes" not in sys.modules
    assert SHAPES.named("star").corners == 5


def test_a_place_is_loaded() -> None:
    assert load("tests.program.test_registry:Shape") is Shape
