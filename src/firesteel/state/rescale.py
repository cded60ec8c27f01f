"""Redistributes the state of a vertex over another number of subtasks.

Keyed state follows its key groups and is not copied: each new line refers to parts of the old runs. Operator
state is small: it is read, redistributed by its kind, and written as one more delta of each new line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from firesteel.common.key_groups import key_group_range
from firesteel.state import catalog as catalogs
from firesteel.state._column import COLUMN_ID_BYTES, OPERATOR_PREFIX
from firesteel.state._migration import Migrations
from firesteel.state._overlay import Overlay
from firesteel.state.canonical import states_of
from firesteel.state.catalog import CATALOG_PREFIX, CatalogEntry
from firesteel.state.files import StateFiles
from firesteel.state.kinds import Dealing, kind_of
from firesteel.state.line import OPERATOR_GROUP, RunRef, StateLine, advance, restored
from firesteel.state.runs import encode_run

__all__ = ["rescaled"]

_Entries = dict[bytes, bytes]


def rescaled(
    lines: Sequence[StateLine], files: StateFiles, max_parallelism: int, parallelism: int, manifest_id: str
) -> list[StateLine]:
    """The lines with which ``parallelism`` subtasks begin, made of the lines of all subtasks before.

    :param manifest_id: names the new lines; it must be new in ``files``.
    """
    states = states_of(lines, files)
    dealings = {name: kind_of(state).dealing for name, state in states.items()}
    unchanged = len(lines) == parallelism
    if unchanged and not any(dealing is not None and dealing.always for dealing in dealings.values()):
        return list(lines)
    result = []
    migrations = Migrations(states)
    for subtask, entries in enumerate(
        _operator_entries(lines, files, states, dealings, migrations, parallelism)
    ):
        groups = key_group_range(max_parallelism, parallelism, subtask)
        line = lines[subtask] if unchanged else restored(lines, groups, manifest_id)
        if entries:
            data, digest = encode_run(sorted(entries), [entries[key] for key in sorted(entries)])
            path = files.write_once(f"{manifest_id}-{subtask}-{digest}.run", data)
            groups_of_ref = OPERATOR_GROUP, OPERATOR_GROUP
            ref = RunRef(
                path, 0, len(data), digest, len(entries), *groups_of_ref, versions=migrations.versions
            )
            line, _ = advance(line, f"{manifest_id}#operator", ref, None)
        result.append(line)
    return result


def _operator_entries(
    lines: Sequence[StateLine],
    files: StateFiles,
    states: Mapping[bytes, CatalogEntry],
    dealings: Mapping[bytes, Dealing | None],
    migrations: Migrations,
    parallelism: int,
) -> list[_Entries]:
    """The entries of the operator group for each new subtask."""
    result: list[_Entries] = [{} for _ in range(parallelism)]
    columns: dict[bytes, list[_Entries]] = {}  # column id -> the entries of each old subtask, without prefix
    start = len(OPERATOR_PREFIX)
    for number, line in enumerate(lines):
        overlay = Overlay(files)
        overlay.migrate(migrations)
        overlay.move_to(line)
        for key, value in overlay.scan_all(OPERATOR_GROUP, OPERATOR_GROUP).items():
            if key.startswith(OPERATOR_PREFIX):
                name, rest = key[start : start + COLUMN_ID_BYTES], key[start + COLUMN_ID_BYTES :]
                columns.setdefault(name, [{} for _ in lines])[number][rest] = value
    for entries in result:  # what states there are, for all subtasks
        entries.update({CATALOG_PREFIX + name: catalogs.encode(state) for name, state in states.items()})
    for name, old in columns.items():
        dealing = dealings[name]
        assert dealing is not None, (
            "what lies among operator state is of a kind that says how it is dealt out"
        )
        for entries, part in zip(result, dealing.deal(old, parallelism), strict=True):
            entries.update({OPERATOR_PREFIX + name + rest: value for rest, value in part.items()})
    return result
