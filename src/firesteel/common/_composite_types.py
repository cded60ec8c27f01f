"""Types composed of others: rows, tuples, arrays, lists, maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firesteel.common._basic_types import BasicType, BasicTypeInfo, TypeInformation
from firesteel.common.errors import ProgramError
from firesteel.common.types import Row, RowKind

_PRIMITIVES = frozenset(
    {
        BasicType.BOOLEAN,
        BasicType.BYTE,
        BasicType.SHORT,
        BasicType.INT,
        BasicType.LONG,
        BasicType.FLOAT,
        BasicType.DOUBLE,
        BasicType.CHAR,
    }
)


def _check_field_types(what: str, field_types: Sequence[Any]) -> list[TypeInformation]:
    if isinstance(field_types, TypeInformation) or not isinstance(field_types, (list, tuple)):
        raise ProgramError(
            f"{what} needs a list of types, not {field_types!r}",
            hint="as in Types.TUPLE([Types.STRING(), Types.INT()])",
        )
    for i, field_type in enumerate(field_types):
        _check_type(f"field {i} of {what}", field_type)
    return list(field_types)


def _check_type(what: str, type_info: Any) -> TypeInformation:
    if not isinstance(type_info, TypeInformation):
        hint = "call it: Types.INT(), not Types.INT" if callable(type_info) else None
        raise ProgramError(f"{what} is not a type: {type_info!r}", hint=hint)
    return type_info


class _FieldsTypeInfo(TypeInformation):
    """What rows and tuples share: a list of field types."""

    def __init__(self, what: str, field_types: list[TypeInformation]) -> None:
        super().__init__()
        self._field_types = _check_field_types(what, field_types)

    def get_field_types(self) -> list[TypeInformation]:
        return self._field_types

    def need_conversion(self) -> bool:
        return True

    def _to_internal_fields(self, values: Any) -> tuple[Any, ...]:
        return tuple(t.to_internal_type(v) for t, v in zip(self._field_types, values, strict=False))

    def from_internal_type(self, obj: Any) -> Any:
        if obj is None or isinstance(obj, (tuple, list)):
            return obj
        return tuple(t.from_internal_type(v) for t, v in zip(self._field_types, obj, strict=False))


class RowTypeInfo(_FieldsTypeInfo):
    """A ``Row``. Rows with the same field types are the same type, whatever the fields are called."""

    def __init__(self, field_types: list[TypeInformation], field_names: list[str] | None = None) -> None:
        super().__init__("a row type", field_types)
        if field_names:
            field_names = list(field_names)
            if len(field_names) != len(self._field_types):
                raise ProgramError(
                    f"a row type with {len(self._field_types)} field types has {len(field_names)} names",
                    detail=f"names: {field_names}",
                )
            if len(set(field_names)) != len(field_names):
                raise ProgramError(f"field names of a row type are not unique: {field_names}")
        self._field_names = field_names or [f"f{i}" for i in range(len(self._field_types))]
        self._has_names = bool(field_names)

    def get_field_names(self) -> list[str]:
        """The names; ``f0``, ``f1`` and so on when none were given."""
        return self._field_names

    def get_field_index(self, field_name: str) -> int:
        """Position of a field; -1 when the type was made without names.

        :raises ValueError: there is no field of this name.
        """
        return self._field_names.index(field_name) if self._has_names else -1

    def to_internal_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        kind = RowKind.INSERT
        if isinstance(obj, Row):
            kind = obj.get_row_kind()
            values: Any = obj if obj._fields is None else [obj[name] for name in self._field_names]
        elif isinstance(obj, dict):
            values = [obj.get(name) for name in self._field_names]
        elif isinstance(obj, (tuple, list)):
            values = obj
        elif hasattr(obj, "__dict__"):
            values = [obj.__dict__.get(name) for name in self._field_names]
        else:
            raise ValueError(f"{obj!r} cannot become a row of the type {self}")
        return (kind.value, *self._to_internal_fields(values))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowTypeInfo) and self._field_types == other._field_types

    def __hash__(self) -> int:
        return hash((RowTypeInfo, *self._field_types))

    def __repr__(self) -> str:
        if self._has_names:
            pairs = zip(self._field_names, self._field_types, strict=True)
            return f"RowTypeInfo({', '.join(f'{name}: {type_}' for name, type_ in pairs)})"
        return f"RowTypeInfo({', '.join(map(str, self._field_types))})"


class TupleTypeInfo(_FieldsTypeInfo):
    """A ``tuple`` of fixed length."""

    def __init__(self, field_types: list[TypeInformation]) -> None:
        super().__init__("a tuple type", field_types)

    def to_internal_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        if not isinstance(obj, (list, tuple, Row)):
            raise ValueError(f"{obj!r} cannot become a tuple of the type {self}")
        return self._to_internal_fields(obj)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TupleTypeInfo) and self._field_types == other._field_types

    def __hash__(self) -> int:
        return hash((TupleTypeInfo, *self._field_types))

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(str, self._field_types))})"


class ArrayTypeInfo(TypeInformation):
    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__()
        self._element_type = _check_type("the element type of an array", element_type)

    def __eq__(self, o: object) -> bool:
        return type(self) is type(o) and self._element_type == o._element_type

    def __hash__(self) -> int:
        return hash((type(self), self._element_type))

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self._element_type}>"


class PrimitiveArrayTypeInfo(ArrayTypeInfo):
    """A ``list`` of numbers, booleans or characters, none of them None; of BYTE it is ``bytes``."""

    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__(element_type)
        if not (isinstance(element_type, BasicTypeInfo) and element_type._basic_type in _PRIMITIVES):
            raise ProgramError(
                f"a primitive array cannot hold {element_type}",
                hint="use Types.BASIC_ARRAY or Types.OBJECT_ARRAY",
            )


class BasicArrayTypeInfo(ArrayTypeInfo):
    """A ``list`` of numbers, booleans, characters or text; elements may be None."""

    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__(element_type)
        allowed = _PRIMITIVES | {BasicType.STRING}
        if not (isinstance(element_type, BasicTypeInfo) and element_type._basic_type in allowed):
            raise ProgramError(f"a basic array cannot hold {element_type}", hint="use Types.OBJECT_ARRAY")


class ObjectArrayTypeInfo(ArrayTypeInfo):
    """A ``list`` of values of any type; elements may be None."""

    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__(element_type)


class ListTypeInfo(TypeInformation):
    """A ``list`` whose elements are not None; of BYTE it is ``bytes``."""

    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__()
        self.elem_type = _check_type("the element type of a list", element_type)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListTypeInfo) and self.elem_type == other.elem_type

    def __hash__(self) -> int:
        return hash((ListTypeInfo, self.elem_type))

    def __repr__(self) -> str:
        return f"ListTypeInfo<{self.elem_type}>"


class MapTypeInfo(TypeInformation):
    """A ``dict``; values may be None, keys not."""

    def __init__(self, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        super().__init__()
        self._key_type_info = _check_type("the key type of a map", key_type_info)
        self._value_type_info = _check_type("the value type of a map", value_type_info)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MapTypeInfo)
            and self._key_type_info == other._key_type_info
            and self._value_type_info == other._value_type_info
        )

    def __hash__(self) -> int:
        return hash((MapTypeInfo, self._key_type_info, self._value_type_info))

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self._key_type_info}, {self._value_type_info}>"


class ExternalTypeInfo(TypeInformation):
    """A type that comes from a table; it behaves as the type inside."""

    def __init__(self, type_info: TypeInformation) -> None:
        super().__init__()
        self._type_info = _check_type("the type inside an external type", type_info)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExternalTypeInfo) and self._type_info == other._type_info

    def __hash__(self) -> int:
        return hash((ExternalTypeInfo, self._type_info))

    def __repr__(self) -> str:
        return f"ExternalTypeInfo<{self._type_info}>"
