"""The kinds of state: one record for each, and everything that is to be known of a kind is in it.

A kind of Firesteel's own is one module, with the column that keeps it and its record, and one line in
``KINDS``. Other packages call ``KINDS.register``; their descriptor names the kind (``StateDescriptor.kind``).
See ``docs/extending.md``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from firesteel.common.errors import ProgramError, StateError, UnsupportedFeatureError
from firesteel.program.registry import Registry, UnknownKindError
from firesteel.state.catalog import CatalogEntry

if TYPE_CHECKING:
    from firesteel.common.typeinfo import TypeInformation
    from firesteel.state._column import Column
    from firesteel.state._operator import OperatorState
    from firesteel.state._ttl import Ttl
    from firesteel.state.rows import RowsOf

__all__ = ["KINDS", "Dealing", "Handles", "Place", "StateKind", "kind_of"]

#: What a stored value becomes; the tombstone: it is dropped.
Recode: TypeAlias = Callable[[bytes], bytes]


class Place(enum.Enum):
    """Where the entries of a state are."""

    KEY = "with the other state of their key"
    TIME = "beside the keys of a key group, by time; they are loaded whole"
    OPERATOR = "in the operator group: they belong to no key"


def _itself(column: Any, descriptor: Any) -> Any:
    return column


@dataclass(frozen=True, slots=True, kw_only=True)
class Handles:
    """How functions get at a state, and what is done through what they get.

    :param descriptor: the class that the state is asked for with.
    :param column: ``(operator, name, descriptor, ttl)`` -> a new column.
    :param of: ``(column, descriptor)`` -> what the function gets.
    :param content: a handle -> what the state holds for the current key, or for the subtask; None: nothing.
    :param is_collection: whether the content is a collection, of which an empty one is as good as none.
    :param put: ``(handle, value)``: make ``value`` the content of the current key, as rows of the state
        processor have it; whether there was some before. None: it cannot be written so.
    :param merge: ``(target, source)``: add the content of one handle to another one, for windows that merge;
        None: nobody can say how.
    :param expires: whether the column knows what a time to live is.
    """

    descriptor: type[Any]
    column: Callable[[OperatorState, str, Any, Ttl | None], Column]
    of: Callable[[Any, Any], Any] = _itself
    content: Callable[[Any], Any]
    is_collection: bool = False
    put: Callable[[Any, Any], bool] | None = None
    merge: Callable[[Any, Any], None] | None = None
    expires: bool = False

    def has_content(self, handle: Any) -> bool:
        """Whether the current key has something in the state."""
        held = self.content(handle)
        return bool(held) or (held is not None and not self.is_collection)


class Dealing(NamedTuple):
    """How operator state goes to another number of subtasks.

    :param deal: the entries of each subtask before, by what follows their prefix, and the number of subtasks
        -> those of each subtask after.
    :param always: also when the number stays.
    """

    deal: Callable[[Sequence[Mapping[bytes, bytes]], int], list[dict[bytes, bytes]]]
    always: bool = False


def _whole(type_info: TypeInformation) -> TypeInformation | None:
    return type_info


def _of_part(whole: TypeInformation | None, part: TypeInformation) -> TypeInformation | None:
    return part


def _one(value: bytes) -> int:
    return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StateKind:
    """What there is to know of a kind of state.

    :param name: is stored with each state of the kind, so it never changes.
    :param rows: how its entries become rows.
    :param handles: None: it is kept by operators of the engine, and functions do not ask for it.
    :param part: the declared type of the state -> that of the values in its entries; None: not known.
    :param row_type: the declared type of the state (None: not known), and that of a part -> that of the value
        of a row; None: any object.
    :param recoding: a conversion of values -> that of an entry's bytes; None: a stored state keeps its type.
    :param count: how many states an entry counts for when they are counted; all entries of one key are one.
    :param dealing: of operator state.
    :param takes_over: kinds of which an operator of windows puts the stored content into its own of this
        kind.
    :param time_windows: whether rows have start and end of a window of time.
    :param stamped: whether rows have the timestamp of an element.
    :param keys_in_values: whether the values of entries hold typed keys.
    :param beside_keys: of a state at ``Place.KEY``: whether it has entries beside the keys of a key group,
        too. They belong to all of these, are loaded whole, and count for nothing.
    """

    name: str
    place: Place = Place.KEY
    rows: Callable[[CatalogEntry], RowsOf]
    handles: Handles | None = None
    part: Callable[[TypeInformation], TypeInformation | None] = _whole
    row_type: Callable[[TypeInformation | None, TypeInformation], TypeInformation | None] = _of_part
    recoding: Callable[[Callable[[Any], Any]], Recode] | None = None
    count: Callable[[bytes], int] = _one
    dealing: Dealing | None = None
    takes_over: frozenset[str] = frozenset()
    time_windows: bool = False
    stamped: bool = False
    keys_in_values: bool = False
    beside_keys: bool = False

    def __post_init__(self) -> None:
        if (self.dealing is not None) != (self.place is Place.OPERATOR):
            raise ProgramError(
                f"Just a kind of state that belongs to no key says how it is dealt out, not {self.name!r}.",
                detail=f"its place is {self.place.name}, its dealing {self.dealing}",
            )

    @property
    def is_loaded_whole(self) -> bool:
        """Whether entries of it are in memory even where those of most keys are not."""
        return self.beside_keys or self.place is Place.TIME

    @property
    def asked_for(self) -> Handles:
        """The handles; only of kinds that functions ask for.

        :raises UnsupportedFeatureError: it is not one of them.
        """
        if self.handles is None:
            raise UnsupportedFeatureError(
                f"A {self.name} state cannot be asked for.", detail="operators of the engine keep it"
            )
        return self.handles


KINDS: Final = Registry(
    "kind of state",
    StateKind,
    {
        "value": "firesteel.state._value_state",
        "reducing": "firesteel.state._value_state",
        "aggregating": "firesteel.state._value_state",
        "list": "firesteel.state._list_state",
        "map": "firesteel.state._map_state",
        "operator list": "firesteel.state.operator_state",
        "union list": "firesteel.state.operator_state",
        "broadcast": "firesteel.state.operator_state",
        "panes": "firesteel.state.panes",
        "partial matches": "firesteel.cep.match_column",
        "partial matches by pattern": "firesteel.cep.match_column",
        "sessions": "firesteel.state.sessions",
        "table appended rows": "firesteel.sql.operators.appended_rows",
        "table maps": "firesteel.sql.operators.map_state",
        "table rows": "firesteel.sql.operators.row_state",
        "time buffer": "firesteel.state.time_buffer",
        "timers": "firesteel.state.timers",
        "waiting events": "firesteel.cep.waiting",
    },
)


def kind_of(state: CatalogEntry) -> StateKind:
    """The kind of a stored state.

    :raises StateError: nothing that is imported knows it.
    """
    try:
        return KINDS.named(state.kind)
    except UnknownKindError as error:
        raise StateError(
            f"State {state.name!r} is stored as a {state.kind} state, a kind that is not known here.",
            detail=f"{error.message} {error.detail}",
            hint="import the module that registers the kind, or restore with a release that has it",
            uid=state.uid,
        ) from error
