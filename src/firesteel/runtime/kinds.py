"""Kinds that are registered outside of Firesteel go where the program goes.

A process that runs tasks knows those of Firesteel alone. With a program or a parcel it learns which module
registers which other kind, and imports the module when it meets one; what the script itself registers comes
by value.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import cloudpickle

from firesteel.common.errors import UnpicklableFunctionError
from firesteel.program import operator_kinds
from firesteel.program.registry import Added, Registry
from firesteel.state import kinds as state_kinds

__all__ = ["AddedKinds", "added_kinds", "adopt_kinds"]

_REGISTRIES: Final[tuple[Registry[Any], ...]] = (operator_kinds.KINDS, state_kinds.KINDS)


class AddedKinds(NamedTuple):
    """What is added to one table.

    :param what: which one (``Registry.what``).
    """

    what: str
    kinds: tuple[Added, ...]


def added_kinds() -> tuple[AddedKinds, ...]:
    """All that is registered from outside.

    :raises UnpicklableFunctionError: the script has registered something that cannot travel.
    """
    found = []
    for registry in _REGISTRIES:
        for added in registry.added():
            _require_picklable(registry.what, added)
        found.append(AddedKinds(registry.what, tuple(registry.added())))
    return tuple(found)


def _require_picklable(what: str, added: Added) -> None:
    try:
        cloudpickle.dumps(added)
    except Exception as error:
        raise UnpicklableFunctionError(
            f"The {what} {added.name!r} cannot be sent to the workers.",
            detail=f"{type(error).__name__}: {error}",
            hint="register it in a module of its own and import that: then only the module's name travels",
        ) from error


def adopt_kinds(added: Iterable[AddedKinds]) -> None:
    """Know what another process has registered."""
    by_what = {registry.what: registry for registry in _REGISTRIES}
    for what, kinds in added:
        by_what[what].adopt(kinds)
