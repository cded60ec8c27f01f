"""Values that the engine itself writes to checkpoints and savepoints: data under permanent names.

A *record* is an object of a class that ``record`` has given a name. It is stored as that name and its fields
in order. Its class may therefore be renamed and moved, and new fields may be appended. Plain values are
stored as in state (``plain_values``). Everything else, such as users' objects, is pickled.

Earlier releases wrote a single pickle; class names in it are looked up in ``old_names``.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from operator import attrgetter
from typing import Any, Final, TypeVar

import cloudpickle
import msgspec

from firesteel.common.errors import StateError
from firesteel.storage import old_names
from firesteel.storage.plain_values import HEAD, CarefulWire, decoder

T = TypeVar("T")

_PICKLE: Final = b"\x80"
_RECORD, _OBJECT = 32, 33  # kinds besides those of plain values; they are on disk
_encode: Final = msgspec.msgpack.Encoder().encode


class _Kind:
    """A class with a stored name."""

    __slots__ = ("cls", "name", "required", "values", "width")

    def __init__(self, name: str, cls: type[Any], names: Sequence[str], required: int) -> None:
        self.name = name
        self.cls = cls
        self.width = len(names)
        self.required = required
        get = attrgetter(*names)
        self.values: Callable[[Any], Sequence[Any]] = get if len(names) > 1 else lambda record: (get(record),)

    def made_of(self, values: Sequence[Any]) -> Any:
        if not self.required <= len(values) <= self.width:
            raise StateError(
                f"A stored {self.name!r} has {len(values)} fields, this release knows {self.width} of it.",
                hint="a later release of firesteel has written it: restore with that one",
            )
        return self.cls(*values)


_by_name: Final[dict[str, _Kind]] = {}
_by_class: Final[dict[type[Any], _Kind]] = {}


def record(name: str) -> Callable[[type[T]], type[T]]:
    """Give a dataclass, NamedTuple or Enum the name under which its objects are stored.

    The name is on disk and never changes. Fields may be renamed; new fields come last and have a default. A
    field that ``__init__`` does not take cannot be stored.
    """

    def named(cls: type[T]) -> type[T]:
        if name in _by_name:
            raise ValueError(f"two classes are stored as {name!r}: {_by_name[name].cls} and {cls}")
        _by_name[name] = _by_class[cls] = _kind_of(name, cls)
        return cls

    return named


def _kind_of(name: str, cls: type[Any]) -> _Kind:
    if issubclass(cls, Enum):
        return _Kind(name, cls, ["value"], 1)
    if is_dataclass(cls):
        taken = [field for field in fields(cls) if field.init]
        return _Kind(name, cls, [field.name for field in taken], sum(map(_is_required, taken)))
    names = cls._fields  # a NamedTuple
    return _Kind(name, cls, names, len(names) - len(cls._field_defaults))


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def pack(value: Any) -> bytes:
    """Return the stored form of a value.

    :raises StateError: it contains an object that can be neither stored as a record nor pickled.
    """
    code, content = _Wire().node(value)
    return HEAD + code.to_bytes(1) + content


def unpack(data: bytes) -> Any:
    """Return the value that was given to ``pack``, or that an earlier release pickled.

    :raises StateError: it is neither, or was written by a later release.
    """
    if data.startswith(_PICKLE):
        return old_names.loads(data)
    if not data.startswith(HEAD):
        raise StateError(
            "A part of the snapshot is in a form that this release does not know.",
            detail=f"it begins with {data[:2].hex()}",
            hint="restore with the release that has written it, or a later one",
        )
    return _decoded(data[1], memoryview(data)[2:])


def names_in(data: bytes) -> frozenset[str]:
    """Return the names of the records in the result of ``pack``, without creating any object.

    :raises StateCorruptionError: it cannot be read.
    """
    found: set[str] = set()
    look = decoder(
        lambda unpack: {
            _RECORD: lambda content: found.add(unpack(content)[0]),
            _OBJECT: lambda content: None,
        }
    )
    if data.startswith(HEAD):
        look(data[1], memoryview(data)[2:])
    return frozenset(found)


class _Wire(CarefulWire):
    """Also encodes records and objects. An object that occurs twice is decoded as two objects."""

    def other(self, value: Any) -> tuple[int, bytes]:
        kind = _by_class.get(type(value))
        if kind is None:
            return _OBJECT, _pickled(value)
        return _RECORD, _encode((kind.name, *self.items(kind.values(value))))

    def once(self, value: Any) -> None: ...


def _pickled(value: Any) -> bytes:
    """By cloudpickle what pickle refuses: classes and functions that no module has."""
    try:
        return pickle.dumps(value, 5)
    except (pickle.PicklingError, AttributeError, TypeError):
        pass
    try:
        data: bytes = cloudpickle.dumps(value, 5)
    except Exception as error:
        raise StateError(
            f"A value of type {type(value).__module__}.{type(value).__qualname__} cannot be stored "
            "in a checkpoint.",
            detail=f"{type(error).__name__}: {error}",
            hint="keep only plain data in it, and create connections, locks and files again in open()",
        ) from error
    return data


def _record(parts: Sequence[Any]) -> Any:
    name, *values = parts
    kind = _by_name.get(name)
    if kind is None:
        raise StateError(
            f"The snapshot holds a {name!r}, which nothing that is imported knows.",
            hint="import the connector that it belongs to, or restore with the release that has written it",
        )
    return kind.made_of(values)


_decoded: Final = decoder(
    lambda unpack: {
        _RECORD: lambda content: _record(unpack(content)),
        _OBJECT: lambda content: old_names.loads(bytes(content)),
    }
)
