"""Shipping the user's code: one blob for each job, which a worker process loads once.

Functions and classes of the script itself travel by value (cloudpickle). Modules beside the script travel
as a path where the workers share the machine, else as a file that the platform distributes.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Sequence
from typing import Any

import cloudpickle

from firesteel.runtime.program import JobProgram, ShippedProgram
from firesteel.runtime.worker import add_paths, adopt_main_classes
from firesteel.state.files import StateFiles


def ship(program: JobProgram, files: StateFiles, bootstrap: Sequence[bytes] = ()) -> str:
    """Write the blob into the state directory; its name is the hash of its content."""
    levels = range(1 + max(vertex.level for vertex in program.vertices))
    shipped = ShippedProgram(
        _local_paths(),
        tuple(bootstrap),
        cloudpickle.dumps(_main_classes(), 5),
        tuple(cloudpickle.dumps(program.of_level(level), 5) for level in levels),
    )
    blob = pickle.dumps(shipped, 5)
    name = f"program-{hashlib.blake2b(blob, digest_size=16).hexdigest()}"
    files.write_once(name, blob)
    return name


def parcel(content: Any) -> bytes:
    """``content`` for a task that belongs to no job, with what it takes to open it there."""
    return pickle.dumps((_local_paths(), cloudpickle.dumps((_main_classes(), content), 5)), 5)


def opened(data: bytes) -> Any:
    """What a parcel holds; in the task."""
    paths, body = pickle.loads(data)
    add_paths(paths)
    main_classes, content = pickle.loads(body)
    adopt_main_classes(main_classes)
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


def script_dir() -> str:
    script = getattr(sys.modules["__main__"], "__file__", None)
    return os.path.dirname(os.path.abspath(script)) if script else os.getcwd()


def _local_paths() -> tuple[str, ...]:
    """Where modules of the user's are that the workers cannot find by themselves."""
    installed = (sys.prefix, sys.base_prefix)
    own = [p for p in (os.path.abspath(p) for p in sys.path if p) if not p.startswith(installed)]
    return tuple(dict.fromkeys([script_dir(), *own]))
