"""State descriptors: the name, type and options that a function asks for state with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from firesteel.common._type_text import type_text
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.program.checks import WrongArgumentError, require_callable, require_no_life
from firesteel.program.functions.base import AggregateFunction, ReduceFunction
from firesteel.program.state.ttl import StateTtlConfig


def _checked_type(type_info: TypeInformation, what: str, state: str) -> TypeInformation:
    if not isinstance(type_info, TypeInformation):
        raise WrongArgumentError(
            f"The {what} of state {state!r} is not a type.",
            detail=f"got {type_info!r}",
            hint="pass a type such as Types.LONG(), or Types.PICKLED_BYTE_ARRAY() for any Python object",
        )
    return type_info


class StateDescriptor:
    """Base of all descriptors (Flink: ``StateDescriptor``).

    :param name: names the state within its operator; a savepoint finds it again by this name.
    :param type_info: the type of what is stored.
    """

    #: The name of the kind of state that it asks for (``state/kinds.py``).
    kind: ClassVar[str] = ""

    def __init__(self, name: str, type_info: TypeInformation) -> None:
        if not isinstance(name, str) or not name:
            raise WrongArgumentError(
                "State needs a name.", detail=f"got {name!r}", hint="give a text that is not empty"
            )
        self.name = name
        self.type_info = _checked_type(type_info, "type", name)
        self._ttl_config: StateTtlConfig | None = None

        self._migrations: dict[str, Callable[[Any], Any]] = {}

    def get_name(self) -> str:
        return self.name

    def migrate_from(self, old_type: TypeInformation, function: Callable[[Any], Any]) -> Self:
        """Go on with state that was stored when this descriptor had another type: what was stored is
        converted by ``function`` as it is read.

        May be called for several types that the state has had; each function leads to the present type. What
        a changed row type needs is done without a function (fields added, removed, moved). Flink has no such
        thing: there one writes a serializer.

        :param old_type: what was given in the place of the present type: of a list state the type of its
            elements, of a map state that of its values. Map keys cannot be converted.
        :param function: old value (element, map value, accumulator) -> new one; None: it is dropped. It is
            stored with the state until all of it is converted, so it must be possible to pickle it.
        :raises WrongArgumentError: the types are the same, or ``function`` cannot be called.
        """
        whole = self._whole_type(_checked_type(old_type, "old type", self.name))
        old = type_text(whole)
        if old == type_text(self.type_info):
            raise WrongArgumentError(
                f"State {self.name!r} cannot migrate from {old_type}: that is its type.",
                hint="of any object (PICKLED_BYTE_ARRAY), convert old objects in their __setstate__",
            )
        if not callable(function):
            raise WrongArgumentError(
                f"The migration function of state {self.name!r} cannot be called.", detail=f"got {function!r}"
            )
        self._migrations[old] = function
        return self

    def _whole_type(self, part: TypeInformation) -> TypeInformation:
        """The type of the state when its values (elements, map values) are of type ``part``."""
        return part

    @property
    def migrations(self) -> Mapping[str, Callable[[Any], Any]]:
        """The functions of ``migrate_from``, by the type of the whole state as text."""
        return self._migrations

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let entries of this state expire as ``ttl_config`` says."""
        if not isinstance(ttl_config, StateTtlConfig):
            raise WrongArgumentError(
                f"The time to live of state {self.name!r} is not a StateTtlConfig.",
                detail=f"got {ttl_config!r}",
                hint="build one: StateTtlConfig.new_builder(Time.hours(1)).build()",
            )
        self._ttl_config = ttl_config

    @property
    def ttl_config(self) -> StateTtlConfig | None:
        """The time to live, None when entries never expire."""
        config = self._ttl_config
        return config if config is not None and config.is_enabled() else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info})"


def _require_no_life(name: str, function: Any, function_class: type) -> None:
    require_no_life(
        function,
        function_class,
        name,
        detail=f"the {function_class.__name__} of a state cannot be a rich function",
        hint=None,
    )


class ValueStateDescriptor(StateDescriptor):
    """Asks for one value for each key."""

    kind = "value"

    def __init__(self, name: str, value_type_info: TypeInformation) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor):
    """Asks for a list of elements for each key."""

    kind = "list"

    def __init__(self, name: str, elem_type_info: TypeInformation) -> None:
        super().__init__(name, Types.LIST(_checked_type(elem_type_info, "element type", name)))

    def _whole_type(self, part: TypeInformation) -> TypeInformation:
        return Types.LIST(part)


class MapStateDescriptor(StateDescriptor):
    """Asks for a map for each key."""

    kind = "map"

    def __init__(self, name: str, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        key_type = _checked_type(key_type_info, "key type", name)
        super().__init__(name, Types.MAP(key_type, _checked_type(value_type_info, "value type", name)))
        self._key_type = key_type

    def _whole_type(self, part: TypeInformation) -> TypeInformation:
        return Types.MAP(self._key_type, part)


class _CallableReduce(ReduceFunction):
    """A plain callable in the clothes of a ReduceFunction."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function

    def reduce(self, value1: Any, value2: Any) -> Any:
        return self._function(value1, value2)


class ReducingStateDescriptor(StateDescriptor):
    """Asks for one value for each key, folded by ``reduce_function``, a ReduceFunction or a callable."""

    kind = "reducing"

    def __init__(
        self,
        name: str,
        reduce_function: ReduceFunction | Callable[[Any, Any], Any],
        type_info: TypeInformation,
    ) -> None:
        super().__init__(name, type_info)
        require_callable(reduce_function, ReduceFunction, name)
        _require_no_life(name, reduce_function, ReduceFunction)
        if not isinstance(reduce_function, ReduceFunction):
            reduce_function = _CallableReduce(reduce_function)
        self._reduce_function = reduce_function

    def get_reduce_function(self) -> ReduceFunction:
        return self._reduce_function


class AggregatingStateDescriptor(StateDescriptor):
    """Asks for one accumulator for each key, kept by ``agg_function``; ``state_type_info`` is its type."""

    kind = "aggregating"

    def __init__(self, name: str, agg_function: AggregateFunction, state_type_info: TypeInformation) -> None:
        super().__init__(name, state_type_info)
        if not isinstance(agg_function, AggregateFunction):
            raise WrongArgumentError(
                f"State {name!r} needs an AggregateFunction.",
                detail=f"got {agg_function!r}",
                hint="pass an instance of a subclass of firesteel.datastream.functions.AggregateFunction",
            )
        _require_no_life(name, agg_function, AggregateFunction)
        self._agg_function = agg_function

    def get_agg_function(self) -> AggregateFunction:
        return self._agg_function
