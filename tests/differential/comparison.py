"""What of a program's standard output is compared.

Flink keeps the order of a key and of a sink; between them it is free. So the lines of a program are put into
groups, by the sink's name and the key that stand before them (``sums> a> 3``; ``print()`` puts the name there, the
programs put the key), and only the order within a group counts. A program with ``# order: free`` has a group for
each line.
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
REFERENCE = HERE / "reference"
# Those of the wheel that end and give the same each time. What they print is compared without its order.
EXAMPLES = (
    *("word_count", "process_json_data", "state_access", "event_time_timer", "basic_operations"),
    *("windowing/session_with_dynamic_gap_window", "windowing/session_with_gap_window"),
    *("windowing/sliding_time_window", "windowing/tumbling_count_window", "windowing/tumbling_time_window"),
)
PROGRAMS = {path.stem: path for path in sorted((HERE / "programs").glob("*.py")) if path.stem != "timed"}

#: Those that depend on the clock, and run as they are: here in real time.
BY_THE_CLOCK = {path.stem: path for path in sorted((HERE / "by_the_clock").glob("*.py"))}

#: What both sides are told: with it declared types are applied between functions, too, and so can be seen.
SETTINGS = {"python.operator-chaining.enabled": "false"}

_GROUP = re.compile(r"(?:[^>]*[^->]> )?(?:\S*[^->\s]> )?")
_SUBTASK = re.compile(r"^(?:\d+|([^>:]+):\d+)> ")
# What PyFlink and Beam log on standard output when a program sets logging to it.
_LOGGED = re.compile(
    r"^(?:No module named google\.cloud\b|PYFLINK_CYTHON_ENABLED: |Using Any for unsupported type: )"
)


def printed(output: str) -> list[str]:
    """The lines that a program prints itself, without the number of the subtask before a record."""
    lines = (line for line in output.splitlines() if not _LOGGED.match(line))
    return [_SUBTASK.sub(lambda m: f"{m[1]}> " if m[1] else "", line) for line in lines]


def comparable(program: Path, output: str) -> list[str]:
    """What must be equal wherever the program runs."""
    lines = printed(output)
    if "\n# order: free\n" in program.read_text("utf-8"):
        return sorted(lines)
    return sorted(lines, key=_group)


def _group(line: str) -> str:
    prefix = _GROUP.match(line)
    assert prefix is not None, "it may be empty"
    return prefix[0]
