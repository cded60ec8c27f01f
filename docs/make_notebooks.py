"""Run the notebooks of ``examples/notebooks`` and keep what they show in their files.

    python docs/make_notebooks.py [NAME ...]        # all, or those of these names

Each is run in a kernel of its own, from its first cell to its last. What differs each time (addresses of
objects, ids and times of jobs) is replaced, so that a notebook that says the same again does not change.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Final

import nbformat
from nbclient import NotebookClient

NOTEBOOKS: Final = Path(__file__).parents[1] / "examples/notebooks"
_LONGEST_CELL_S: Final = 180
_CHANGING: Final = (
    (re.compile(r" at 0x[0-9a-f]+"), ""),
    (re.compile(r"\b[0-9a-f]{32}\b"), "0" * 32),  # the id of a job
    (re.compile(r"\b\d+ ms\b"), "0 ms"),
)


def paths() -> list[Path]:
    return sorted(NOTEBOOKS.glob("*.ipynb"))


def read(path: Path) -> Any:
    """The notebook of a file. Raises nbformat.ValidationError if it is not one."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def executed(path: Path) -> Any:
    """The notebook with what its cells show now, without what changes.

    :raises nbclient.exceptions.CellExecutionError: a cell raises.
    """
    notebook = read(path)
    client = NotebookClient(
        notebook,
        timeout=_LONGEST_CELL_S,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    notebook.metadata.language_info = {"name": "python"}  # the version of Python is that of who ran it last
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [_settled(output) for output in _joined(cell.outputs)]
    return notebook


def _joined(outputs: list[Any]) -> list[Any]:
    """What is printed one after the other is one output: in how many pieces it comes is chance."""
    made: list[Any] = []
    for output in outputs:
        if made and output.output_type == "stream" and made[-1].get("name") == output.name:
            made[-1].text += output.text
        else:
            made.append(output)
    return made


def _settled(found: Any) -> Any:
    """An output with its changing parts replaced, in all of its forms."""
    if isinstance(found, dict):
        for key, value in found.items():
            found[key] = _settled(value)
        return found
    if isinstance(found, list):
        return [_settled(value) for value in found]
    if isinstance(found, str):
        for pattern, instead in _CHANGING:
            found = pattern.sub(instead, found)
    return found


def main() -> None:
    for path in paths():
        if not sys.argv[1:] or path.stem in sys.argv[1:]:
            nbformat.write(executed(path), path)
            print(path)


if __name__ == "__main__":
    main()
