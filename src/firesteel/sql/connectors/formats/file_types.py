"""Types of the records that readers of files give for data types."""

from __future__ import annotations

from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.sql import types as t
from firesteel.sql.type_infos import type_info_of

__all__ = ["file_type_info"]


def file_type_info(data_type: t.DataType) -> TypeInformation:
    """As ``type_info_of``; an instant is a timestamp in UTC, which files of text can hold."""
    if isinstance(data_type, t.LocalZonedTimestampType):
        return Types.SQL_TIMESTAMP()
    if isinstance(data_type, t.RowType):
        return Types.ROW_NAMED(list(data_type.names), [file_type_info(x) for x in data_type.types])
    if isinstance(data_type, t.ArrayType):
        return Types.OBJECT_ARRAY(file_type_info(data_type.element_type))
    if isinstance(data_type, t.MapType):
        return Types.MAP(file_type_info(data_type.key_type), file_type_info(data_type.value_type))
    return type_info_of(data_type)
