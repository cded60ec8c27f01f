"""Small records that travel in every epoch."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def quick_pickle(cls: type[T]) -> type[T]:
    """Class decorator, above ``@dataclass(frozen=True, slots=True)``: pickles as a call of the class with all
    of its fields. What such a class has of its own looks its fields up in Python for each object, on both
    ways, which takes three times as long.

    :raises TypeError: a field is not an argument of ``__init__``.
    """
    names = [field.name for field in fields(cls) if field.init]
    if len(names) != len(fields(cls)):
        raise TypeError(f"{cls.__name__} has fields that its __init__ does not take")
    values = attrgetter(*names)
    single = len(names) == 1

    def __reduce_ex__(self: T, protocol: Any) -> Any:
        if type(self) is not cls:  # of a subclass, which may have more fields
            return object.__reduce_ex__(self, protocol)
        return cls, (values(self),) if single else values(self)

    cls.__reduce_ex__ = __reduce_ex__  # type: ignore[assignment,method-assign]  # what the decorator is for
    return cls
