"""Converts Protobuf messages to rows and back, by their descriptor (Flink: the format ``protobuf``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.errors import ConfigurationError
from firesteel.common.extras import extra
from firesteel.common.typeinfo import RowTypeInfo, TypeInformation, Types
from firesteel.common.types import Row, _make_row

Read = Callable[[Any], Any]
Fill = Callable[[Any, Any], None]  # (message, value): sets the field to the value

# By the type number in a FieldDescriptor. Unsigned numbers get the next larger type, so that all fit.
_SCALARS: Final[dict[int, Callable[[], TypeInformation]]] = {
    1: Types.DOUBLE,
    2: Types.FLOAT,
    3: Types.LONG,
    4: Types.BIG_INT,  # uint64
    5: Types.INT,
    6: Types.BIG_INT,  # fixed64
    7: Types.LONG,  # fixed32
    8: Types.BOOLEAN,
    9: Types.STRING,
    12: lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    13: Types.LONG,  # uint32
    15: Types.INT,
    16: Types.LONG,
    17: Types.INT,
    18: Types.LONG,
}
_GROUP: Final = 10
_MESSAGE: Final = 11
_ENUM: Final = 14


@dataclass(frozen=True, slots=True)
class MessageFormat:
    """How the messages of a descriptor map to rows. ``fill`` copies a row to an empty message."""

    type_info: RowTypeInfo
    read: Callable[[Any], Row]
    fill: Fill


@dataclass(frozen=True, slots=True)
class _Element:
    """Conversion of a single value: ``read`` to a value of a row (None: unchanged), and back to one of a
    message."""

    type_info: TypeInformation
    read: Read | None = None
    write: Read | None = None
    message: MessageFormat | None = None


def message_format(descriptor: Any, read_default_values: bool) -> MessageFormat:
    """:raises ConfigurationError: a message contains itself, so it has no row type."""
    return _message(descriptor, read_default_values, ())


def _message(descriptor: Any, defaults: bool, within: tuple[str, ...]) -> MessageFormat:
    if descriptor.full_name in within:
        raise ConfigurationError(
            f"the Protobuf message {descriptor.full_name} contains itself: such messages have no row type"
        )
    within = (*within, descriptor.full_name)
    fields = [_field(field, defaults, within) for field in descriptor.fields]
    names = [field.name for field in descriptor.fields]
    reads = [read for _, read, _ in fields]
    fills = [fill for _, _, fill in fields]

    def read(message: Any) -> Row:  # hot
        return _make_row([read_field(message) for read_field in reads], names)

    def fill(message: Any, row: Iterable[Any]) -> None:
        for fill_field, value in zip(fills, row, strict=True):
            if value is not None:
                fill_field(message, value)

    return MessageFormat(Types.ROW_NAMED(names, [type_ for type_, _, _ in fields]), read, fill)


def _field(field: Any, defaults: bool, within: tuple[str, ...]) -> tuple[TypeInformation, Read, Fill]:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return _map(field, defaults, within)
    element = _element(field, defaults, within)
    if field.is_repeated:
        return _repeated(field.name, element, defaults)
    return _single(field, element, defaults)


def _element(field: Any, defaults: bool, within: tuple[str, ...]) -> _Element:
    if field.type in (_MESSAGE, _GROUP):
        inner = _message(field.message_type, defaults, within)
        return _Element(inner.type_info, inner.read, None, inner)
    if field.type == _ENUM:
        names = {value.number: value.name for value in field.enum_type.values}
        numbers = {value.name: value.number for value in field.enum_type.values}
        # A newer writer may send a number that has no name here.
        return _Element(Types.STRING(), lambda n: names.get(n, str(n)), lambda name: numbers[name])
    return _Element(_SCALARS[field.type]())


def _single(field: Any, element: _Element, defaults: bool) -> tuple[TypeInformation, Read, Fill]:
    name, read_one, write_one, inner = field.name, element.read, element.write, element.message
    always = defaults or not field.has_presence

    def read(message: Any) -> Any:
        if not always and not message.HasField(name):
            return None
        value = getattr(message, name)
        return value if read_one is None else read_one(value)

    def fill(message: Any, value: Any) -> None:
        if inner is None:
            setattr(message, name, value if write_one is None else write_one(value))
            return
        target = getattr(message, name)
        target.SetInParent()  # marks the field as present, even if it is empty
        inner.fill(target, value)

    return element.type_info, read, fill


def _repeated(name: str, element: _Element, defaults: bool) -> tuple[TypeInformation, Read, Fill]:
    read_one, write_one, inner = element.read, element.write, element.message

    def read(message: Any) -> Any:
        items = getattr(message, name)
        if not items and not defaults:
            return None
        return list(items) if read_one is None else [read_one(item) for item in items]

    def fill(message: Any, values: Any) -> None:
        target = getattr(message, name)
        if inner is not None:
            for value in values:
                inner.fill(target.add(), value)
        else:
            target.extend(values if write_one is None else [write_one(value) for value in values])

    return Types.OBJECT_ARRAY(element.type_info), read, fill


def _map(field: Any, defaults: bool, within: tuple[str, ...]) -> tuple[TypeInformation, Read, Fill]:
    name = field.name
    key_field, value_field = field.message_type.fields
    key, item = _element(key_field, defaults, within), _element(value_field, defaults, within)
    read_one, write_one, inner = item.read, item.write, item.message

    def read(message: Any) -> Any:
        entries = getattr(message, name)
        if not entries and not defaults:
            return None
        return dict(entries) if read_one is None else {k: read_one(v) for k, v in entries.items()}

    def fill(message: Any, values: Any) -> None:
        target = getattr(message, name)
        for k, value in values.items():
            if inner is not None:
                inner.fill(target[k], value)
            else:
                target[k] = value if write_one is None else write_one(value)

    return Types.MAP(key.type_info, item.type_info), read, fill


def files_of(descriptor: Any) -> list[bytes]:
    """Return the files that define a message, dependencies first. ``message_class`` builds the message from
    them where the generated module is not available."""
    found: dict[str, bytes] = {}

    def add(file: Any) -> None:
        if file.name not in found:
            for dependency in file.dependencies:
                add(dependency)
            found[file.name] = file.serialized_pb

    add(descriptor.file)
    return list(found.values())


def message_class(files: Iterable[bytes], full_name: str) -> Any:
    """Return the class of a message that is defined in ``files``."""
    pool = extra("google.protobuf.descriptor_pool", "Protobuf", "protobuf").DescriptorPool()
    for file in files:
        pool.AddSerializedFile(file)
    factory = extra("google.protobuf.message_factory", "Protobuf", "protobuf")
    return factory.GetMessageClass(pool.FindMessageTypeByName(full_name))
