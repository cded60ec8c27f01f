"""The keys of Flink that Firesteel knows and does not read (``flink_keys.txt``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class FlinkKeys:
    """:param reasons: why a key has no effect, by key.
    :param patterns: the same for families of keys.
    :param refused: the keys that are an error, which ``reasons`` explains too.
    :param older: present names by older ones.
    """

    reasons: dict[str, str] = field(default_factory=dict)
    patterns: dict[str, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    older: dict[str, str] = field(default_factory=dict)

    def reason(self, key: str) -> str | None:
        """Return why Firesteel does nothing with a key of Flink; None: it is not one of them."""
        key = self.older.get(key, key)
        if key in self.reasons:
            return self.reasons[key]
        return next((why for pattern, why in self.patterns.items() if fnmatchcase(key, pattern)), None)

    def refuses(self, key: str) -> bool:
        return self.older.get(key, key) in self.refused


@cache
def flink_keys() -> FlinkKeys:
    """Read the table, once in a process."""
    found = FlinkKeys()
    heading = ""
    for line in files(__package__).joinpath("flink_keys.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            heading = line[1:-1]
        elif heading == "=":
            older, present = line.split()
            found.older[older] = present
        elif "*" in line:
            found.patterns[line] = heading.lstrip("!")
        else:
            found.reasons[line] = heading.lstrip("!")
            if heading.startswith("!"):
                found.refused.add(line)
    return found
