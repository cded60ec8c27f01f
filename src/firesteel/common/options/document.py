"""The tables of options as text: ``docs/configuration.md`` and ``firesteel config``."""

from __future__ import annotations

from typing import Any, Final

from firesteel.common._config_values import to_text
from firesteel.common.config_options import ConfigOption
from firesteel.common.options import AREAS, OPTIONS
from firesteel.common.options.checks import Verdict, examine, nearest

_HEAD: Final = """# Configuration

This page is generated from the tables of options (`python -m firesteel.common.options.document`).

Options come from the file that `FIRESTEEL_CONF` names, from `-D key=value` and from the program; what comes
later in this list wins. `firesteel config KEY` explains a key. A misspelt key of Firesteel or Flink is an
error that names the nearest known one. A key of Flink without effect here gives a warning with the reason,
and so does a key that neither of them knows. Keys that begin with `spark.` go to Spark.
"""


def page() -> str:
    """Return the page of the documentation, in Markdown."""
    parts = [_HEAD]
    for title, module in AREAS.items():
        options = [option for option in vars(module).values() if isinstance(option, ConfigOption)]
        rows = ["| key | kind | default | what it does |", "|---|---|---|---|", *map(_row, options)]
        parts.append(f"## {title}\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _row(option: ConfigOption[Any]) -> str:
    says = option.description
    if option.no_effect is not None:
        says += f" No effect: {option.no_effect}."
    if option.older_names:
        says += " Also read as " + ", ".join(f"`{name}`" for name in option.older_names) + "."
    return f"| `{option.key}` | {option.kind.name} | {_default(option)} | {says} |"


def _default(option: ConfigOption[Any]) -> str:
    if option.default_value in (None, "", [], {}):
        return ""
    unit = {"duration": " ms", "memory size": " bytes"}.get(option.kind.name, "")
    return f"`{to_text(option.default_value)}{unit}`"


def described(key: str) -> dict[str, Any]:
    """Return what is known of a key, as plain values."""
    found = examine(key)
    about: dict[str, Any] = {"key": key, "verdict": found.verdict.value}
    if found.present != key:
        about["present name"] = found.present
    if found.why:
        about["why"] = found.why
    if found.verdict in (Verdict.MISSPELT, Verdict.UNKNOWN):
        about["nearest"] = nearest(key)
    if (option := OPTIONS.get(found.present)) is not None:
        about |= {
            "kind": option.kind.name,
            "default": option.default_value,
            "description": option.description,
            "scope": option.scope,
            "since": option.since,
            "older names": list(option.older_names),
        }
        if option.words:
            about["words"] = list(option.words)
    return about


if __name__ == "__main__":
    print(page(), end="")
