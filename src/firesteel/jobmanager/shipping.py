"""Shipping the user's code: one blob for each job, which a worker process loads once.

Functions and classes of the script itself travel by value (cloudpickle). Modules beside the script travel
as a path where the workers share the machine, else as a file that the platform distributes.
"""

from __future__ import annotations

import ast
import os
import pickle
import sys
import tokenize
from collections.abc import Sequence
from typing import Any

import cloudpickle

from firesteel.runtime.kinds import added_kinds, adopt_kinds
from firesteel.runtime.program import JobProgram, ShippedProgram, WorkerFiles, program_name
from firesteel.runtime.worker import add_paths, adopt_main_classes, import_submodules
from firesteel.state.files import StateFiles


def ship(
    program: JobProgram,
    files: StateFiles,
    bootstrap: Sequence[bytes] = (),
    placed: WorkerFiles | None = None,
) -> str:
    """Write the blob into the state directory; its name is the hash of its content."""
    levels = range(1 + max(vertex.level for vertex in program.vertices))
    main_classes = cloudpickle.dumps(_main_classes(), 5)
    kinds = cloudpickle.dumps(added_kinds(), 5)
    code = tuple(cloudpickle.dumps(program.of_level(level), 5) for level in levels)
    submodules = _submodules((main_classes, kinds, *code))
    shipped = ShippedProgram(
        _local_paths(), tuple(bootstrap), submodules, main_classes, kinds, code, placed or WorkerFiles()
    )
    blob = pickle.dumps(shipped, 5)
    return files.write_once(program_name(blob), blob)


def parcel(content: Any, paths: Sequence[str] | None = None) -> bytes:
    """``content`` for a task that belongs to no job, or another process, with what it takes to open it there.

    :param paths: where modules of the user's are found there; None: where they are here.
    """
    body = cloudpickle.dumps((_main_classes(), added_kinds(), content), 5)
    found = _local_paths() if paths is None else tuple(paths)
    return pickle.dumps((found, _submodules((body,)), body), 5)


def opened(data: bytes) -> Any:
    """What a parcel holds; in the task, or the other process."""
    paths, submodules, body = pickle.loads(data)
    add_paths(paths)
    import_submodules(submodules)
    main_classes, kinds, content = pickle.loads(body)
    adopt_main_classes(main_classes)
    adopt_kinds(kinds)
    return content


def _main_classes() -> dict[str, Any]:
    """The classes of the user's ``__main__`` that can travel; pickled records refer to them by name."""
    found: dict[str, Any] = {}
    main = sys.modules["__main__"]
    for name, value in list(vars(main).items()):
        if isinstance(value, type) and value.__module__ == "__main__":
            try:
                cloudpickle.dumps(value)
            except Exception:
                continue  # records of it cannot be sent; if one is, that is the error to show
            found[name] = value
    return found


def _submodules(code: Sequence[bytes]) -> tuple[str, ...]:
    """The ``a.b`` of the script's ``import a.b`` where the pickled *code* has to do with ``a``.

    The script's functions know ``a`` alone, and pickle brings them just that. A function that uses ``a.b``
    finds it because the import has put it there.
    """
    names = sorted(_dotted_imports(getattr(sys.modules["__main__"], "__file__", None)))
    return tuple(
        name
        for name in names
        if name in sys.modules and any(name.partition(".")[0].encode() in part for part in code)
    )


def _dotted_imports(script: str | None) -> set[str]:
    try:
        with tokenize.open(script or "") as file:  # in the encoding that it declares
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):  # not a script of Python: a notebook, a console, a zip
        return set()
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import))
    return {alias.name for node in imports for alias in node.names if "." in alias.name}


def script_dir() -> str:
    """Where the script is, or the process works; "" where that directory is gone."""
    script = getattr(sys.modules["__main__"], "__file__", None)
    try:
        return os.path.dirname(os.path.abspath(script)) if script else os.getcwd()
    except FileNotFoundError:
        return ""


def _local_paths() -> tuple[str, ...]:
    """Where modules of the user's are that the workers cannot find by themselves."""
    installed = (sys.prefix, sys.base_prefix)
    own = [p for p in (os.path.abspath(p) for p in sys.path if p) if not p.startswith(installed)]
    return tuple(dict.fromkeys(filter(None, [script_dir(), *own])))
