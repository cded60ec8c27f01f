"""Where ``env.execute()`` finds what runs a job.

The API packages must not import the job manager, which is built on them; this is the one way up.
"""

from __future__ import annotations

import importlib
from typing import Any

_EXECUTOR_MODULE = "firesteel.jobmanager.executor"
_executor: Any = None


def get_executor() -> Any:
    """The executor of this process: what ``set_executor`` has put here, else the ``executor`` of the job
    manager, imported at the first call."""
    global _executor
    if _executor is None:
        _executor = importlib.import_module(_EXECUTOR_MODULE).executor
    return _executor


def set_executor(executor: Any) -> Any:
    """Put another executor here (None: the default again); returns the one before. Tests use it."""
    global _executor
    previous, _executor = _executor, executor
    return previous
