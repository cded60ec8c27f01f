"""Snapshots of others: nothing of them may run code when a job begins with them.

A pickle calls whatever it names. So before anything of a snapshot is used, all of it is read here: each
place where a pickle could begin is unpickled by one that knows a closed list of names (``ALLOWED``) and
refuses any other. It is the same parser that the job uses, so what passes here names nothing else there.
Nothing on the list runs code that a pickle passes to it: these are classes that hold data.

The look goes by bytes, not by what is expected where: every byte that may begin a pickle is tried, wherever
it stands in keys and values. Keys that name classes (``_key_codec``) and functions for migrations are
refused. State is read whole for it, once.
"""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Iterator
from typing import Any, Final

from firesteel.common.errors import StateError
from firesteel.state._column import column_of
from firesteel.state.canonical import states_of
from firesteel.state.catalog import CATALOG_PREFIX, CatalogEntry, decode
from firesteel.state.files import StateFiles
from firesteel.state.kinds import kind_of
from firesteel.state.manifest import Manifest, VertexEntry
from firesteel.storage import old_names
from firesteel.storage.records import names_in

#: The classes that a pickle of a snapshot may name, where they are now: they only hold data.
ALLOWED: Final[dict[str, frozenset[str]]] = {
    "builtins": frozenset({"bytearray", "complex", "frozenset", "set"}),
    "collections": frozenset({"Counter"}),
    "datetime": frozenset({"date", "datetime", "time", "timedelta", "timezone"}),
    "decimal": frozenset({"Decimal"}),
    "uuid": frozenset({"UUID"}),
    "firesteel.common.accumulators": frozenset(
        {
            *("IntCounter", "LongCounter", "DoubleCounter", "IntMinimum", "IntMaximum", "DoubleMinimum"),
            *("DoubleMaximum", "AverageAccumulator", "ListAccumulator", "Histogram"),
        }
    ),
    "firesteel.common.time": frozenset({"Instant"}),
    "firesteel.common.types": frozenset({"_make_row", "_make_row_of"}),
    "firesteel.program.sources": frozenset({"Split"}),
    "firesteel.connectors.files.splits": frozenset({"FileRange"}),
    "firesteel.connectors.kafka.offsets": frozenset({"Partition"}),
    "firesteel.connectors.kafka.source": frozenset({"PartitionSplit"}),
    "firesteel.jobmanager.sources": frozenset({"SplitProgress"}),
    "firesteel.runtime.metrics": frozenset({"Counter", "Meter", "Distribution", "Histogram", "Gauge"}),
    "firesteel.runtime.program": frozenset({"SplitTime"}),
}

#: The records of the engine that a snapshot may hold (``storage.records``): how far sources are, and what was
#: counted. Not what is pending of sinks, which says which files are moved where and read, nor the properties
#: of the clusters of a dynamic Kafka source, which may name libraries to be loaded.
ALLOWED_RECORDS: Final = frozenset(
    {
        *("split", "split progress", "split time", "file range", "generated indexes", "hybrid part"),
        *("kafka partition", "kafka split", "accumulator"),
        *("kinesis split", "kinesis start", "kinesis start kind", "kinesis place"),
        *("pulsar split", "pulsar place", "pulsar cursor", "pulsar cursor kind"),
    }
)

_PICKLE: Final = re.compile(rb"\x80[\x00-\x05]")  # whoever unpickles state looks for the first byte
_NAMED_IN_KEY: Final = re.compile(rb"[eNCc]")
_NAME: Final = re.compile(rb"s[\w.<>\-\x80-\xff]+")


class ForeignClassError(pickle.UnpicklingError):
    """A pickle names something outside of the closed list."""


class PlainUnpickler(pickle.Unpickler):
    """Makes objects of the classes of ``ALLOWED`` alone."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        module, name = old_names.present(module_name, global_name)
        if name in ALLOWED.get(module, ()):
            return old_names.find(module, name)
        raise ForeignClassError(f"{module_name}.{global_name}")

    def persistent_load(self, pid: Any) -> Any:
        raise ForeignClassError("a persistent object")


def foreign_in(data: bytes) -> str | None:
    """What a pickle in *data* names that is not plain data; None when there is nothing of the kind."""
    return next((found for found in map(_foreign_at, _starts(data)) if found), None)


def _starts(data: bytes) -> Iterator[bytes]:
    return (data[match.start() :] for match in _PICKLE.finditer(data))


def _foreign_at(data: bytes) -> str | None:
    try:
        PlainUnpickler(io.BytesIO(data)).load()
    except ForeignClassError as error:
        return str(error)
    except Exception:  # not a pickle, or one that ends so wherever it is read, before it names anything else
        return None
    return None


def class_in_key(key: bytes) -> str | None:
    """The module of a class that an encoded key may name; text that looks so is taken for one too."""
    for match in _NAMED_IN_KEY.finditer(key):
        module, end = _text_at(key, match.end())
        if module is not None and _text_at(key, end)[0] is not None:  # the name in the module follows
            return module
    return None


def _text_at(key: bytes, at: int) -> tuple[str | None, int]:
    """The name that begins at *at* with its length, as parts of keys do, and where it ends."""
    if at >= len(key):
        return None, at
    length, start = key[at], at + 1
    if length == 0xFF:
        length, start = int.from_bytes(key[at + 1 : at + 5], "big"), at + 5
    part = key[start : start + length]
    if len(part) < length or not _NAME.fullmatch(part):
        return None, start
    return part[1:].decode("utf-8", "replace"), start + length


def require_plain(manifest: Manifest, files: StateFiles) -> None:
    """Look through everything that a snapshot holds.

    :raises StateError: it holds something that is not plain data; the error names operator and state.
    """
    names = {id_: operator.uid or operator.name for id_, operator in manifest.operators.items()}
    for id_, data in manifest.sources.items():
        require_plain_pickle(data, f"the progress of the source {names.get(id_, id_)!r}")
    for id_, data in manifest.sinks.items():
        require_plain_pickle(data, f"the pending output of the sink {names.get(id_, id_)!r}")
    if manifest.accumulators:
        require_plain_pickle(manifest.accumulators, "the accumulators of the job")
    for vertex in manifest.vertices:
        for subtask in vertex.subtasks:
            if subtask.carry:
                require_plain_pickle(subtask.carry, f"what {vertex.name!r} remembers of its channels")
        _require_state(vertex, names, files)


def require_plain_pickle(data: bytes, where: str) -> None:
    """Look through a part of a snapshot, or of what lies beside it, that the driver unpickles.

    :param where: names the part in the error.
    :raises StateError: it is not plain data; a pickle may begin with any byte.
    """
    found = _foreign_at(data) or foreign_in(data) or next(iter(names_in(data) - ALLOWED_RECORDS), None)
    if found:
        raise _refused(where, found)


def _require_state(vertex: VertexEntry, names: dict[str, str], files: StateFiles) -> None:
    states = states_of(vertex.lines, files)
    with_keys = {column for column, entry in states.items() if kind_of(entry).keys_in_values}
    for ref in {ref for line in vertex.lines for ref in line.runs}:
        for key, value in files.open_run(ref).scan_all():
            if key.startswith(CATALOG_PREFIX):
                entry = decode(value)
                if any(step.function for step in entry.steps):
                    raise _refused(_state(entry, names), "a function for its migration")
                continue
            found = foreign_in(value) or foreign_in(key) or class_in_key(key)
            if not found and with_keys and column_of(key) in with_keys:
                found = class_in_key(value)
            if found:
                raise _refused(_where(key, states, names, vertex), found)


def _where(key: bytes, states: dict[bytes, CatalogEntry], names: dict[str, str], vertex: VertexEntry) -> str:
    entry = next((entry for column, entry in states.items() if column in key), None)
    return f"the state of {vertex.name!r}" if entry is None else _state(entry, names)


def _state(entry: CatalogEntry, names: dict[str, str]) -> str:
    return f"the {entry.described} of operator {names.get(entry.uid, entry.uid)!r}"


def _refused(where: str, found: str) -> StateError:
    return StateError(
        f"The snapshot is not trusted, and {where} holds more than plain data: {found}.",
        detail="of a snapshot that is not trusted nothing is called (execution.state-recovery.untrusted)",
        hint="declare a type of plain data for such state (Types.STRING(), LONG(), ROW(), LIST(), MAP() ...) "
        "where the snapshot is made, or restore only what you trust without the option",
    )
