"""Where the classes are now that pickles of earlier releases name.

A pickle names a class by its module. Objects of users are pickled still, so a name of ours that was ever in
one is here for good once its class has moved.
"""

from __future__ import annotations

import importlib
import io
import pickle
from typing import Any, Final

#: Module and name in old pickles -> module and name now. All of them are classes that only hold data.
MOVED: Final[dict[tuple[str, str], tuple[str, str]]] = {
    ("firesteel.jobmanager.sources", "_SplitProgress"): ("firesteel.jobmanager.sources", "SplitProgress"),
}


def present(module_name: str, global_name: str) -> tuple[str, str]:
    """Module and name now of what a pickle names."""
    return MOVED.get((module_name, global_name), (module_name, global_name))


def loads(data: bytes) -> Any:
    """Unpickle, whatever release has written it."""
    try:
        return pickle.loads(data)
    except (ImportError, AttributeError):  # of a class that is elsewhere now, or not there at all
        return _Unpickler(io.BytesIO(data)).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        return find(module_name, global_name)


def find(module_name: str, global_name: str) -> Any:
    """The class or function that a pickle names so.

    :raises ImportError, AttributeError: there is none.
    """
    module_name, global_name = present(module_name, global_name)
    found: Any = importlib.import_module(module_name)
    for part in global_name.split("."):
        found = getattr(found, part)
    return found
