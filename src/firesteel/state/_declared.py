"""What the declared type of a state does to what is put into it.

What does not fit is refused as it is put in. What fits comes back as it was put in: so PyFlink gives it out
of its cache, which few programs outgrow. A program that switches this cache off
(``python.state.cache-size: 0``) gets back what is left of a value once it is written: FLOAT is rounded to
32 bits, a row has the declared names, an int is a float where DOUBLE is declared. Neither depends on where an
epoch ends.

Values of a class that the type takes in any case (text for STRING, ints for LONG, any atom for a type of any
object) pass by one look-up of their class, which state does anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from firesteel.common._coerce_values import Mismatch
from firesteel.common._coercion import ErrorMaker, compile_value_coercion, shown, untouched
from firesteel.common._composite_types import ListTypeInfo, MapTypeInfo
from firesteel.common.errors import TypeMismatchError, UnstableKeyError
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.state._value_codec import ATOMS, encode_value, to_cached
from firesteel.state.keys import canonical


class DeclaredValue(NamedTuple):
    """Of the classes ``plain`` the cache keeps the object itself, of others what ``to_cached`` gives;
    ``encode`` gives the bytes. None is for the callers."""

    plain: frozenset[type]
    to_cached: Callable[[Any], Any]
    encode: Callable[[Any], bytes]


class DeclaredKey(NamedTuple):
    """Keys of a map of the classes ``plain`` are their own names, of others ``canonical`` gives the name."""

    plain: frozenset[type]
    canonical: Callable[[Any], str | int | bytes]


ANY_VALUE: Final = DeclaredValue(ATOMS, to_cached, encode_value)


def _name_in_map(key: Any) -> str | int | bytes:
    """The name of an entry; what no dict of Python's takes as a key is not one here either."""
    try:
        hash(key)
    except TypeError as e:
        raise UnstableKeyError(
            f"A value of type {type(key).__qualname__} cannot be a key of a map state: {e}.",
            detail=f"got {key!r:.200}",
            hint="use an immutable key, for example a tuple of its parts",
        ) from e
    return canonical(key)


ANY_KEY: Final = DeclaredKey(frozenset((str, int)), _name_in_map)


class Declared:
    """Of the states of one operator.

    :param applied: values come back as the type has them, else as they were put in.
    """

    def __init__(self, uid: str, applied: bool) -> None:
        self._uid = uid
        self._applied = applied

    def value(self, type_info: TypeInformation | None, state: str, part: str = "a value") -> DeclaredValue:
        """Of a state that holds one value; ``part`` says in errors what a value is of the state."""
        coerce = self._coercion(type_info, state, part)
        if coerce is None:
            return ANY_VALUE

        def to_cached_coerced(value: Any) -> Any:  # hot
            value = coerce(value)
            return value if type(value) in ATOMS else to_cached(value)

        plain = self._plain(type_info)
        return DeclaredValue(plain, to_cached_coerced, lambda value: encode_value(coerce(value)))

    def list(self, type_info: TypeInformation | None, state: str) -> DeclaredValue:
        """Of the elements of a LIST type."""
        if not isinstance(type_info, ListTypeInfo):
            return ANY_VALUE
        return self.value(type_info.elem_type, state, "an element")

    def map(self, type_info: TypeInformation | None, state: str) -> tuple[DeclaredKey, DeclaredValue]:
        """Of the keys and the values of a MAP type."""
        if not isinstance(type_info, MapTypeInfo):
            return ANY_KEY, ANY_VALUE
        values = self.value(type_info._value_type_info, state)
        key_type = type_info._key_type_info
        coerce = self._coercion(key_type, state, "a key")
        if coerce is None:
            return ANY_KEY, values
        plain = self._plain(key_type) & ANY_KEY.plain
        return DeclaredKey(plain, lambda key: _name_in_map(coerce(key))), values

    def _coercion(
        self, type_info: TypeInformation | None, state: str, part: str
    ) -> Callable[[Any], Any] | None:
        coerce = compile_value_coercion(type_info, _error_maker(part, state, self._uid))
        if coerce is None or self._applied:
            return coerce

        def check(value: Any) -> Any:
            coerce(value)
            return value

        return check

    def _plain(self, type_info: TypeInformation | None) -> frozenset[type]:
        kind = untouched(type_info)
        if kind is None and not self._applied and type_info == Types.FLOAT():
            kind = float
        return frozenset() if kind is None else frozenset((kind,))


def _error_maker(part: str, state: str, uid: str) -> ErrorMaker:
    def error(value: Any, index: int, declared: TypeInformation, mismatch: Mismatch) -> TypeMismatchError:
        path = "".join(mismatch.path)
        return TypeMismatchError(
            f"{shown(mismatch.value)} cannot be {part} of state {state!r}, declared as {declared}: "
            f"{mismatch.reason}",
            detail=f"it is {path} of {shown(value)}" if path else None,
            hint="store what was declared, or declare another type (Types.PICKLED_BYTE_ARRAY(): any object)",
            uid=uid,
        )

    return error
