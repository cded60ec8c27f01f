"""State descriptors: the name, type and options that a function asks for state with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.datastream._checks import WrongArgumentError, require_callable
from firesteel.datastream._function_classes import AggregateFunction, ReduceFunction
from firesteel.datastream._state_ttl import StateTtlConfig


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

    def __init__(self, name: str, type_info: TypeInformation) -> None:
        if not isinstance(name, str) or not name:
            raise WrongArgumentError(
                "State needs a name.", detail=f"got {name!r}", hint="give a text that is not empty"
            )
        self.name = name
        self.type_info = _checked_type(type_info, "type", name)
        self._ttl_config: StateTtlConfig | None = None

    def get_name(self) -> str:
        return self.name

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


class ValueStateDescriptor(StateDescriptor):
    """Asks for one value for each key."""

    def __init__(self, name: str, value_type_info: TypeInformation) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor):
    """Asks for a list of elements for each key."""

    def __init__(self, name: str, elem_type_info: TypeInformation) -> None:
        super().__init__(name, Types.LIST(_checked_type(elem_type_info, "element type", name)))


class MapStateDescriptor(StateDescriptor):
    """Asks for a map for each key."""

    def __init__(self, name: str, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        key_type = _checked_type(key_type_info, "key type", name)
        super().__init__(name, Types.MAP(key_type, _checked_type(value_type_info, "value type", name)))


class _CallableReduce(ReduceFunction):
    """A plain callable in the clothes of a ReduceFunction."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function

    def reduce(self, value1: Any, value2: Any) -> Any:
        return self._function(value1, value2)


class ReducingStateDescriptor(StateDescriptor):
    """Asks for one value for each key, folded by ``reduce_function``, a ReduceFunction or a callable."""

    def __init__(
        self,
        name: str,
        reduce_function: ReduceFunction | Callable[[Any, Any], Any],
        type_info: TypeInformation,
    ) -> None:
        super().__init__(name, type_info)
        require_callable(reduce_function, ReduceFunction, name)
        if not isinstance(reduce_function, ReduceFunction):
            reduce_function = _CallableReduce(reduce_function)
        self._reduce_function = reduce_function

    def get_reduce_function(self) -> ReduceFunction:
        return self._reduce_function


class AggregatingStateDescriptor(StateDescriptor):
    """Asks for one accumulator for each key, kept by ``agg_function``; ``state_type_info`` is its type."""

    def __init__(self, name: str, agg_function: AggregateFunction, state_type_info: TypeInformation) -> None:
        super().__init__(name, state_type_info)
        if not isinstance(agg_function, AggregateFunction):
            raise WrongArgumentError(
                f"State {name!r} needs an AggregateFunction.",
                detail=f"got {agg_function!r}",
                hint="pass an instance of a subclass of firesteel.datastream.functions.AggregateFunction",
            )
        self._agg_function = agg_function

    def get_agg_function(self) -> AggregateFunction:
        return self._agg_function
