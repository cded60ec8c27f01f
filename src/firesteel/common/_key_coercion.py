"""What a declared key type does to the keys of a batch: as in PyFlink, keys that become equal meet, and the
functions see them as they became. A key may be None, whatever is declared."""

from __future__ import annotations

from typing import Any

from firesteel.common._basic_types import TypeInformation
from firesteel.common._coerce_values import Mismatch
from firesteel.common._coercion import BatchCoercion, compile_coercion, shown, untouched
from firesteel.common.errors import TypeMismatchError


def compile_key_coercion(key_type: TypeInformation | None) -> BatchCoercion | None:
    """A function that coerces a list of keys; None: there is nothing to do.

    The function returns the same list when no key had to change. It raises ``TypeMismatchError`` for the
    first key that does not fit.
    """
    coerce = compile_coercion(key_type, error=_key_error)
    if coerce is None:
        return None
    untouched_kind = untouched(key_type)

    def coerced(keys: list[Any]) -> list[Any]:  # hot
        kinds = set(map(type, keys))
        if kinds == {untouched_kind}:
            return keys
        if type(None) not in kinds:
            return coerce(keys)
        present = iter(coerce([key for key in keys if key is not None]))
        return [None if key is None else next(present) for key in keys]

    return coerced


def _key_error(key: Any, index: int, declared: TypeInformation, mismatch: Mismatch) -> TypeMismatchError:
    path = "".join(mismatch.path)
    return TypeMismatchError(
        f"{shown(mismatch.value)} does not fit the declared key type {declared}: {mismatch.reason}",
        detail=f"it is {path} of the key {shown(key)}" if path else None,
        hint="let the key selector return what key_type declares, or declare another key_type "
        "(none: any object with a stable hash)",
    )
