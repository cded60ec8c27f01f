"""The notebooks run, and show what is kept in their files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from docs.drawing.pages import DOCS, links
from docs.make_notebooks import executed, paths, read

ON_SPARK = "exploring_a_stream"
ROOT = DOCS.parent


@pytest.fixture(autouse=True)
def kernels_run_what_is_tested(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The kernel imports the package that this process has, and no settings of whoever runs the tests."""
    import firesteel

    found = [str(Path(firesteel.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, found)))
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))


def outputs(notebook: Any) -> list[Any]:
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.row("S-ECO-04")
@pytest.mark.parametrize(
    "path",
    [pytest.param(p, id=p.stem, marks=[pytest.mark.spark] if p.stem == ON_SPARK else []) for p in paths()],
)
def test_a_notebook_shows_what_is_kept_in_its_file(path: Path) -> None:
    kept, now = read(path), executed(path)
    for cell in now.cells:
        for output in cell.get("outputs", ()):
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.get("text")
    assert outputs(now) == outputs(kept), "run docs/make_notebooks.py and look at what has changed"


def test_there_are_three_and_the_page_names_each() -> None:
    page = (DOCS / "notebooks.md").read_text(encoding="utf-8")
    assert len(paths()) == 3
    assert [path.name for path in paths() if path.name not in page] == []


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.stem)
def test_every_notebook_shows_something_rich_and_is_short(path: Path) -> None:
    notebook = read(path)
    assert any("text/html" in output.get("data", ()) for cell in outputs(notebook) for output in cell)
    assert path.stat().st_size < 100_000
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1)), "it was run in order, in a fresh kernel"


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.stem)
def test_links_of_a_notebook_lead_somewhere(path: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("\n\n".join(c.source for c in read(path).cells if c.cell_type == "markdown"))
    found = links(page)
    assert found
    for target, _ in found:
        assert (path.parent / target).resolve().is_file(), target
