"""Writes ``reference/*.txt``: what PyFlink itself prints for the examples of its wheel.

    python tests/spark/make_reference.py ENV_DIR

ENV_DIR is a virtual environment with ``apache-flink==2.3.0`` (never the one of this project). The lines that
PyFlink logs are left out, and so is the ``N> `` before a record: what is kept is what the program prints.
``streaming_word_count`` never ends and counts random words, so it has no reference.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

BOUNDED = (
    *("word_count", "process_json_data", "state_access", "event_time_timer", "basic_operations"),
    *("windowing/session_with_dynamic_gap_window", "windowing/session_with_gap_window"),
    *("windowing/sliding_time_window", "windowing/tumbling_count_window", "windowing/tumbling_time_window"),
)
REFERENCE = Path(__file__).with_name("reference")

_SUBTASK = re.compile(r"^\d+> ")
# What PyFlink and Beam log on standard output when the program sets logging to it.
_LOGGED = re.compile(
    r"^(?:No module named google\.cloud\b|PYFLINK_CYTHON_ENABLED: |Using Any for unsupported type: )"
)


def printed(output: str) -> list[str]:
    """The lines that a program prints itself, sorted, without the subtask before a record."""
    return sorted(_SUBTASK.sub("", line) for line in output.splitlines() if not _LOGGED.match(line))


def main(environment: Path) -> None:
    python = environment / "bin" / "python"
    examples = next(environment.glob("lib/python*/site-packages/pyflink/examples/datastream"))
    path = f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"  # Flink starts its workers with `python`
    REFERENCE.mkdir(exist_ok=True)
    for name in BOUNDED:
        done = subprocess.run(
            [python, examples / f"{name}.py"],
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        lines = printed(done.stdout)
        (REFERENCE / f"{name}.txt").parent.mkdir(exist_ok=True)
        (REFERENCE / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        print(f"{name}: {len(lines)} lines")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
