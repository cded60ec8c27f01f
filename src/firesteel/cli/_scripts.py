"""Running a user's script in this process."""

from __future__ import annotations

import os
import pickle
import runpy
import sys
from pathlib import Path


def become_pyflink(workers: bool = True) -> None:
    """Let ``import pyflink`` give firesteel, here and in the workers of the executor that is set."""
    from firesteel.cli import pyflink_alias
    from firesteel.program.execution import get_executor

    pyflink_alias.install()
    if workers:
        get_executor().add_bootstrap(pickle.dumps(pyflink_alias.install))


def run_script(script: str, args: tuple[str, ...]) -> None:
    """Run the script like ``python SCRIPT ARGS``: it can import modules next to it."""
    path = os.path.abspath(script)
    sys.argv = [script, *args]
    sys.path.insert(0, str(Path(path).parent))
    runpy.run_path(path, run_name="__main__")


def interrupt(signum: int, frame: object) -> None:
    """Handle a signal as Ctrl-C."""
    raise KeyboardInterrupt
