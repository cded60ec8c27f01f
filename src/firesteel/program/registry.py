"""Tables that other packages add to: of each kind of something there is one record, found by its name.

A module that registers a record does so when it is imported. The records of Firesteel's own modules are
loaded when they are asked for; those of other modules are there once somebody has imported the module.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from firesteel.common.errors import ProgramError

__all__ = ["Added", "Record", "Registry", "UnknownKindError", "load"]

_NAME: Final = re.compile(r"\w[\w .-]*")
_OWN: Final = "firesteel"
_SCRIPT: Final = "__main__"  # no other process can import it


class Record(Protocol):
    @property
    def name(self) -> str:
        """Names the record in its table, in plans and in what is stored: it is never changed."""


R = TypeVar("R", bound=Record)


class UnknownKindError(ProgramError):
    """A name stands for nothing that is registered."""


class Added(NamedTuple):
    """A record from outside of Firesteel, for other processes.

    :param module: registers it when it is imported.
    :param record: the record itself where nobody can import the module; else None.
    """

    name: str
    module: str
    record: Any


class Registry(Generic[R]):
    """The records of one sort.

    :param what: what a record is of, in error messages, such as ``"kind of state"``.
    :param homes: name -> the module of Firesteel that registers it.
    :param record_class: what a record is an instance of.
    """

    def __init__(self, what: str, record_class: type[R], homes: Mapping[str, str] | None = None) -> None:
        self.what = what
        self._record_class = record_class
        self._homes = dict(homes or {})
        self._records: dict[str, R] = {}

    def register(self, record: R) -> R:
        """Add *record*, and return it.

        The module that has registered a name may do so again, as it does when a cell of a notebook is run
        twice.

        :raises ProgramError: it is not a record, has no proper name, or another module has the name.
        """
        self._add(record, sys._getframe(1).f_globals.get("__name__", _SCRIPT))
        return record

    def _add(self, record: R, module: str) -> None:
        name = getattr(record, "name", None)
        if not isinstance(record, self._record_class):
            raise ProgramError(
                f"A {self.what} is registered with a {self._record_class.__name__}.", detail=f"got {record!r}"
            )
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ProgramError(
                f"A {self.what} needs a name of letters, digits, spaces, dots and dashes.",
                detail=f"got {name!r}",
            )
        home = self._homes.setdefault(name, module)
        if home != module:
            raise ProgramError(
                f"There is a {self.what} {name!r} already.",
                detail=f"{home} has registered it, and {module} wants to",
                hint="give the new one another name",
            )
        self._records[name] = record

    def named(self, name: str) -> R:
        """The record of that name.

        :raises UnknownKindError: there is none, or its module cannot be imported here.
        """
        record = self._records.get(name)
        return self._loaded(name) if record is None else record

    def find(self, name: str) -> R | None:
        """The same; None: there is none."""
        return self.named(name) if name in self._homes else None

    def _loaded(self, name: str) -> R:
        home = self._homes.get(name)
        if home is None:
            raise UnknownKindError(
                f"There is no {self.what} {name!r}.",
                detail=f"known are {', '.join(sorted(self._homes))}",
                hint="import the module that registers it before the job is submitted",
            )
        try:
            importlib.import_module(home)
        except ImportError as error:
            raise UnknownKindError(
                f"The {self.what} {name!r} cannot be loaded.",
                detail=f"the module {home} registers it and cannot be imported here: {error}",
                hint="put the module where Spark's workers find it: env.add_python_file(...)",
            ) from error
        record = self._records.get(name)
        if record is None:
            raise UnknownKindError(
                f"The {self.what} {name!r} cannot be loaded.",
                detail=f"the module {home} has registered it in another process, and here it does not",
                hint="register it at the top level of the module",
            )
        return record

    def names(self) -> list[str]:
        """All names that are known, in order; nothing is loaded."""
        return sorted(self._homes)

    def all(self) -> list[R]:
        """All records, by name."""
        return [self.named(name) for name in self.names()]

    def is_own(self, name: str) -> bool:
        """Whether Firesteel itself brings what is called so."""
        return self._homes.get(name, "").partition(".")[0] == _OWN

    # ---- other processes

    def added(self) -> list[Added]:
        """What is registered from outside of Firesteel."""
        return [
            Added(name, home, self._records.get(name) if home == _SCRIPT else None)
            for name, home in sorted(self._homes.items())
            if not self.is_own(name)
        ]

    def adopt(self, added: Iterable[Added]) -> None:
        """Know what another process has registered; modules are imported when they are needed."""
        for name, module, record in added:
            if record is not None:
                self._records[name] = record
            elif self._homes.get(name) != module:
                self._records.pop(name, None)
            self._homes[name] = module


def load(place: str) -> Any:
    """What stands at ``module:name``.

    :raises ProgramError: there is nothing.
    """
    module, _, name = place.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ProgramError(
            f"{place!r} cannot be loaded.",
            detail=str(error),
            hint="it is to be 'module:name', of a module that the workers can import",
        ) from error
