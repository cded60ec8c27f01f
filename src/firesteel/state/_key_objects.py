"""Keys of any class: what pickle would write of them, taken apart so that equal parts give equal bytes.

The pickle itself is not stable: it writes sets in the order of a salted hash, and an object that occurs twice
as a reference to the first place. So an object is what its ``__reduce_ex__`` gives, and the parts of that are
encoded as keys are.
"""

from __future__ import annotations

import copyreg
import importlib
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from firesteel.common.errors import StateError
from firesteel.storage import old_names

_REDUCE_OF_SETS: Final[tuple[Any, ...]] = (set.__reduce__, frozenset.__reduce__)
_PROTOCOL: Final = 4  # from 5 on, buffers may travel outside of the pickle
_named: dict[tuple[str, str], Any] = {}


def reduced(obj: Any, in_order: Callable[[Iterable[Any]], list[Any]]) -> tuple[Any, ...] | str:
    """The parts of an object (callable, arguments, state, items, pairs, state setter), or the name under
    which its module has it.

    :param in_order: sorts the elements of a set.
    :raises TypeError: the object cannot be pickled; so may whatever its class raises.
    """
    cls = type(obj)
    registered = copyreg.dispatch_table.get(cls)
    found = obj.__reduce_ex__(_PROTOCOL) if registered is None else registered(obj)
    if isinstance(found, str):
        return found
    if getattr(cls, "__reduce__", None) in _REDUCE_OF_SETS:
        found = (found[0], (in_order(obj),), *found[2:])
    function, arguments, state, items, pairs, setter = (*found, None, None, None, None)[:6]
    items = None if items is None else list(items)
    pairs = None if pairs is None else [part for pair in pairs for part in pair]
    return function, arguments, state, items, pairs, setter


def rebuilt(
    function: Any, arguments: Any, state: Any, items: list[Any] | None, pairs: list[Any] | None, setter: Any
) -> Any:
    """The object for the parts that ``reduced`` gave, made as pickle makes it."""
    obj = function(*arguments)
    if items is not None:
        for item in items:
            obj.append(item)
    for key, value in zip(*[iter(pairs or ())] * 2, strict=True):
        obj[key] = value
    if state is None:
        return obj
    if setter is not None:
        setter(obj, state)
    elif hasattr(obj, "__setstate__"):
        obj.__setstate__(state)
    else:
        attributes, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
        if attributes:
            obj.__dict__.update(attributes)
        for name, value in (slots or {}).items():
            setattr(obj, name, value)
    return obj


def reference(named: Any, name: str | None = None) -> tuple[str, str]:
    """Module and qualified name of a class, a function or another object that its module has.

    :raises TypeError: nothing is to be found there.
    """
    qualname = name or getattr(named, "__qualname__", None) or named.__name__
    module = _module_of(named, qualname)
    place = (module, qualname)
    if _named.get(place) is not named:
        if not isinstance(named, type) and _import(module, qualname) is not named:
            raise TypeError(f"{module}.{qualname} is not found under its name")
        _named[place] = named
    return place


def _module_of(named: Any, qualname: str) -> str:
    module = getattr(named, "__module__", None)
    if module is not None:
        return old_names.lasting(str(module))
    for name, loaded in sys.modules.copy().items():  # as pickle looks for it: functions of C modules
        if name not in ("__main__", "__mp_main__") and _attribute(loaded, qualname) is named:
            return name
    return "__main__"


def resolve(module: str, qualname: str) -> Any:
    """What ``reference`` named. Raises StateError when there is no such class or function (any more)."""
    found = _named.get((module, qualname))
    if found is None:
        found = _import(module, qualname)
        found = _named[module, qualname] = _loaded_class(module, qualname) if found is None else found
    return found


def _import(module: str, qualname: str) -> Any:
    try:
        module, qualname = old_names.present(module, qualname)
        return _attribute(importlib.import_module(module), qualname)
    except ImportError:
        return None


def _attribute(module: Any, qualname: str) -> Any:
    found = module
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def _loaded_class(module: str, qualname: str) -> type:
    """A class of the user's script travels by value: it is in the process, yet in no importable module."""
    todo: list[type] = [object]
    seen: set[type] = set()
    while todo:
        subclasses: list[type] = type.__subclasses__(todo.pop())
        for sub in subclasses:
            if sub.__module__ == module and sub.__qualname__ == qualname:
                return sub
            if sub not in seen:
                seen.add(sub)
                todo.append(sub)
    raise StateError(
        f"The class {module}.{qualname} of a stored key cannot be found.",
        hint="keep the class where it was when the key was stored, in a module that the workers can import",
    )
