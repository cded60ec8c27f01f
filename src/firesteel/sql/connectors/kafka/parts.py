"""Which columns of a table are in the key of a message, and which in its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from firesteel.sql.connectors.factory import TableContext
from firesteel.sql.connectors.formats.registry import MessageFormat, message_format_of
from firesteel.sql.connectors.kafka.records import Part
from firesteel.sql.connectors.options import Option, TableOptions, text, word
from firesteel.sql.types import RowType
from firesteel.util.exceptions import TableException

__all__ = ["FIELDS_OPTIONS", "KEY_FORMAT", "Parts", "message_parts", "value_format_key"]

KEY_FORMAT: Final = "key.format"
_KEY_FIELDS: Final = "key.fields"
_PREFIX: Final = "key.fields-prefix"
_INCLUDE: Final = "value.fields-include"
FIELDS_OPTIONS: Final[tuple[Option, ...]] = (
    text(_PREFIX, ""),
    word(_INCLUDE, ("ALL", "EXCEPT_KEY"), "ALL"),
)


@dataclass(frozen=True, slots=True)
class Parts:
    """:param value: all its columns by name, and its format; likewise *key*, None: messages have none.
    :param names: column of the table -> its name in the key."""

    value: tuple[MessageFormat, RowType]
    key: tuple[MessageFormat, RowType] | None
    names: dict[str, str]

    def check(self, *, written: bool) -> None:
        """
        :raises FiresteelError: a format has no form for these columns.
        """
        for format_, row in (self.value, self.key) if self.key else (self.value,):
            if written:
                format_.message_writer(row)
            else:
                format_.message_reader(row, ())

    def writing(self, columns: tuple[str, ...]) -> tuple[Part, Part | None]:
        """Return value and key as a sink writes them. :param columns: the rows that come."""
        format_, row = self.value
        value = Part(format_, row, tuple(columns.index(name) for name in row.names))
        if self.key is None:
            return value, None
        format_, row = self.key
        return value, Part(format_, row, tuple(columns.index(name) for name in self.names))


def value_format_key(options: TableOptions) -> str:
    """Return the option that names the format of values."""
    return "format" if "format" in options else "value.format"


def message_parts(context: TableContext, key_fields: tuple[str, ...] | None = None) -> Parts:
    """Return the parts of messages that the options of a table say.

    :param key_fields: the columns of the key, where its primary key says them.
    :raises TableException: options contradict each other, or a column is not there.
    """
    options = context.options
    row = context.schema.physical_row
    if key_fields is None:
        key_fields = _key_fields(options)
    for name in key_fields:
        _check_field(options, name, row)
    value_fields = list(row.names)
    if options[_INCLUDE] == "EXCEPT_KEY":
        value_fields = [name for name in value_fields if name not in key_fields]
    elif options[_PREFIX] and key_fields:
        raise options.error(
            _PREFIX,
            f"a key prefix is not allowed when '{_INCLUDE}' is 'ALL'",
            f"set '{_INCLUDE}' to 'EXCEPT_KEY'",
        )
    if not value_fields:
        raise options.error(_INCLUDE, "no column is left for the value", f"set '{_INCLUDE}' to 'ALL'")
    value_format = message_format_of(options, value_format_key(options))
    value = value_format, _row_of(row, {name: name for name in value_fields})
    if not key_fields:
        return Parts(value, None, {})
    names = {name: name.removeprefix(options[_PREFIX]) for name in key_fields}
    return Parts(value, (message_format_of(options, KEY_FORMAT), _row_of(row, names)), names)


def _row_of(row: RowType, names: dict[str, str]) -> RowType:
    types = [row.types[row.names.index(name)] for name in names]
    return RowType.of(list(names.values()), types)


def _key_fields(options: TableOptions) -> tuple[str, ...]:
    given = options[_KEY_FIELDS]
    names = tuple(name for name in (given or "").split(";") if name)
    if KEY_FORMAT in options and not names:
        raise options.error(
            KEY_FORMAT,
            "a key format requires the declaration of one or more of key fields",
            f"name the columns of the key in '{_KEY_FIELDS}', separated by ;",
        )
    if names and KEY_FORMAT not in options:
        raise options.error(
            _KEY_FIELDS, "key fields can only be declared if a key format is defined", f"set '{KEY_FORMAT}'"
        )
    return names


def _check_field(options: TableOptions, name: str, row: RowType) -> None:
    prefix = options[_PREFIX]
    if name not in row.names:
        raise TableException(
            f"Could not find the field '{name}' in the table schema for usage in the key format.",
            detail=f"table {options.table}",
            hint=f"a key field must be a regular, physical column: {', '.join(row.names)}",
        )
    if not name.startswith(prefix):
        raise options.error(
            _PREFIX,
            f"the key field '{name}' does not begin with it",
            "all columns of the key have the prefix",
        )
