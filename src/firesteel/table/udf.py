"""Functions of the user (PyFlink: ``pyflink.table.udf``)."""

from __future__ import annotations

import abc
import importlib
import inspect
from collections.abc import Callable, Iterable
from copy import copy
from typing import Any, Generic, TypeVar

from firesteel.common.errors import ProgramError
from firesteel.sql.functions.registry import FunctionDefinition, FunctionKind
from firesteel.table import _function_calls as calls
from firesteel.table._conversions import logical_type
from firesteel.table.expression import Expression
from firesteel.table.types import DataType, MapType, MapViewType, RowType

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "ImperativeAggregateFunction",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedFunction",
    "udaf",
    "udf",
    "udtaf",
    "udtf",
]


class FunctionContext:
    """What a function may know of where it runs."""

    def __init__(
        self,
        base_metric_group: Any,
        job_parameters: dict[str, str] | None,
        task_name: str | None = None,
        task_name_with_subtasks: str | None = None,
        number_of_parallel_subtasks: int | None = None,
        max_number_of_parallel_subtasks: int | None = None,
        index_of_this_subtask: int | None = None,
        attempt_number: int | None = None,
    ) -> None:
        self._metrics = base_metric_group
        self._parameters = job_parameters or {}
        self._task_name = task_name
        self._task_name_with_subtasks = task_name_with_subtasks
        self._parallelism = number_of_parallel_subtasks
        self._max_parallelism = max_number_of_parallel_subtasks
        self._subtask = index_of_this_subtask
        self._attempt = attempt_number

    def get_metric_group(self) -> Any:
        """The metrics of the function."""
        if self._metrics is None:
            raise RuntimeError("There is no metric group here: an expression is evaluated outside of a task.")
        return self._metrics

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A parameter of the job (``pipeline.global-job-parameters``)."""
        return self._parameters.get(key, default_value)

    def get_task_name(self) -> str | None:
        return self._task_name

    def get_task_name_with_subtasks(self) -> str | None:
        return self._task_name_with_subtasks

    def get_number_of_parallel_subtasks(self) -> int | None:
        return self._parallelism

    def get_max_number_of_parallel_subtasks(self) -> int | None:
        return self._max_parallelism

    def get_index_of_this_subtask(self) -> int | None:
        return self._subtask

    def get_attempt_number(self) -> int | None:
        return self._attempt


class UserDefinedFunction(abc.ABC):  # noqa: B024 - the methods of its subclasses are abstract
    """Base of all functions of the user."""

    def open(self, function_context: FunctionContext) -> None:
        """Called once in each process, before the first row."""

    def close(self) -> None:
        """Called when no more rows come."""

    def is_deterministic(self) -> bool:
        """Whether equal arguments always give equal results."""
        return True


class ScalarFunction(UserDefinedFunction):
    """One value for each row."""

    @abc.abstractmethod
    def eval(self, *args: Any) -> Any:
        """The value for some arguments."""


class AsyncScalarFunction(UserDefinedFunction):
    """One value for each row, for which something outside is waited for."""

    @abc.abstractmethod
    async def eval(self, *args: Any) -> Any:
        """The value for some arguments."""


class TableFunction(UserDefinedFunction):
    """Any number of rows for each row."""

    @abc.abstractmethod
    def eval(self, *args: Any) -> Any:
        """The rows for some arguments: an iterable, or a generator."""


T = TypeVar("T")
ACC = TypeVar("ACC")


class ImperativeAggregateFunction(UserDefinedFunction, Generic[T, ACC]):
    """What both kinds of aggregate functions have."""

    @abc.abstractmethod
    def create_accumulator(self) -> ACC:
        """An accumulator of no rows."""

    @abc.abstractmethod
    def accumulate(self, accumulator: ACC, *args: Any) -> None:
        """Add a row."""

    def retract(self, accumulator: ACC, *args: Any) -> None:
        """Take a row back."""
        raise RuntimeError("Method retract is not implemented")

    def merge(self, accumulator: ACC, accumulators: Iterable[ACC]) -> None:
        """Add what other accumulators have."""
        raise RuntimeError("Method merge is not implemented")

    def get_result_type(self) -> DataType | str:
        """The type of the result."""
        raise RuntimeError("Method get_result_type is not implemented")

    def get_accumulator_type(self) -> DataType | str:
        """The type of the accumulator."""
        raise RuntimeError("Method get_accumulator_type is not implemented")


class AggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """One value for the rows of a group."""

    @abc.abstractmethod
    def get_value(self, accumulator: ACC) -> T:
        """The value of an accumulator."""


class TableAggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """Any number of rows for the rows of a group."""

    @abc.abstractmethod
    def emit_value(self, accumulator: ACC) -> Iterable[T]:
        """The rows of an accumulator."""


# ---- wrappers


def _types(given: Any) -> list[Any] | None:
    if given is None:
        return None
    if isinstance(given, RowType):
        found: list[Any] = list(given.field_types())
    elif isinstance(given, DataType | str):
        found = [given]
    else:
        found = list(given)
    for each in found:
        if not isinstance(each, DataType | str):
            raise TypeError(f"Invalid input_type: input_type should be DataType or str but contains {each}")
    if len(found) == 1 and isinstance(found[0], str) and "," in found[0]:
        from firesteel.sql.type_text import parse_type

        row = parse_type(f"ROW<{', '.join(f'f{i} {x}' for i, x in enumerate(_split(found[0])))}>")
        return list(row.children)
    return found


def _split(text: str) -> list[str]:
    """Types between commas that are not in brackets."""
    parts, depth, current = [], 0, ""
    for c in text:
        depth += (c in "<(") - (c in ">)")
        if c == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    return [*parts, current.strip()]


def _deterministic(function: Any, declared: bool | None) -> bool:
    """Whether it is deterministic by what was declared, or by what its object says.

    :raises ValueError: the two contradict each other.
    """
    if not isinstance(function, UserDefinedFunction):
        return True if declared is None else declared
    own = function.is_deterministic()
    if declared is not None and declared != own:
        raise ValueError(
            f"Inconsistent deterministic: {declared} and {own}; {type(function).__name__} says {own} by its "
            "method is_deterministic()."
        )
    return own


class UserFunction:
    """A function with what was declared of it: the object that the decorators give. Calling it gives an
    expression."""

    kind = FunctionKind.SCALAR

    def __init__(
        self, func: Any, input_types: Any, func_type: str, deterministic: bool | None, name: str | None
    ) -> None:
        if inspect.isclass(func) or (not isinstance(func, UserDefinedFunction) and not callable(func)):
            raise TypeError(
                f"Invalid function: not a function or callable (__call__ is not defined): {type(func)}"
            )
        if func_type not in ("general", "pandas"):
            raise ValueError(f"The func_type must be one of 'general, pandas', got {func_type}.")
        self._func = func
        self._input_types = _types(input_types)
        self._func_type = func_type
        self.is_deterministic = _deterministic(func, deterministic)
        self._name = name or getattr(func, "__name__", None) or type(func).__name__
        self._row_names: tuple[str, ...] | None = None
        self._takes_row = False
        self._definition: FunctionDefinition | None = None
        self._alias_names: tuple[str, ...] = ()
        self.__doc__ = getattr(func, "__doc__", None)

    def __call__(self, *args: Any) -> Expression[Any]:
        from firesteel.table.expressions import call

        return call(self, *args)

    def alias(self, *alias_names: str) -> UserFunction:
        """Names for the columns of its rows."""
        self._alias_names = alias_names
        return self

    def _whole_row(self) -> UserFunction:
        """The same function, which gets all columns as one row."""
        found = copy(self)
        found._takes_row, found._definition = True, None
        return found

    def _for_columns(self, names: Iterable[str]) -> UserFunction:
        found = copy(self)
        found._row_names, found._definition = tuple(names), None
        return found

    @property
    def _deterministic(self) -> bool:
        """As PyFlink calls it."""
        return self.is_deterministic

    def _function_definition(self) -> FunctionDefinition:
        """What a call of it means; the same object for each call."""
        if self._definition is None:
            self._definition = self._made()
        return self._definition

    def _made(self) -> FunctionDefinition:
        raise NotImplementedError

    def _rule(self, result: Any) -> Any:
        inputs = (
            None
            if self._input_types is None or self._takes_row
            else [logical_type(x) for x in self._input_types]
        )
        return calls.rule(inputs, result)

    def _catalog_function(self, name: str, class_name: str = "") -> Any:
        """As a catalog keeps it under a name."""
        from dataclasses import replace

        from firesteel.sql.catalog import CatalogFunction

        definition = replace(self._function_definition(), name=name)
        return CatalogFunction(class_name=class_name or self._name, definition=definition)


class UserDefinedScalarFunctionWrapper(UserFunction):
    """A scalar function."""

    def __init__(
        self, func: Any, input_types: Any, result_type: Any, func_type: str, deterministic: Any, name: Any
    ) -> None:
        super().__init__(func, input_types, func_type, deterministic, name)
        if not isinstance(result_type, DataType | str):
            raise TypeError(f"Invalid returnType: returnType should be DataType or str but is {result_type}")
        self._result_type = result_type

    def _made(self) -> FunctionDefinition:
        result = logical_type(self._result_type)
        implementation: Any = calls.SCALARS[self._func_type](
            self._func, self._row_names if self._takes_row else None
        )
        return FunctionDefinition(
            name=self._name,
            kind=FunctionKind.SCALAR,
            rule=self._rule(result),
            deterministic=self.is_deterministic,
            columns=implementation,
            takes_null=True,
        )


class UserDefinedAsyncScalarFunctionWrapper(UserDefinedScalarFunctionWrapper):
    """An asynchronous scalar function: the calls of a batch are under way together."""

    def _made(self) -> FunctionDefinition:
        result = logical_type(self._result_type)
        implementation = calls.AsyncCall(self._func, self._row_names if self._takes_row else None)
        return FunctionDefinition(
            name=self._name,
            kind=FunctionKind.ASYNC_SCALAR,
            rule=self._rule(result),
            deterministic=self.is_deterministic,
            columns=implementation,
            takes_null=True,
        )


class UserDefinedTableFunctionWrapper(UserFunction):
    """A table function."""

    kind = FunctionKind.TABLE

    def __init__(
        self, func: Any, input_types: Any, result_types: Any, deterministic: Any = None, name: Any = None
    ) -> None:
        super().__init__(func, input_types, "general", deterministic, name)
        if isinstance(result_types, RowType):
            self._names: list[str] | None = result_types.field_names()
            result_types = result_types.field_types()
        else:
            self._names = None
        found = _types(result_types)
        if not found:
            raise TypeError("Invalid result_type: result_type should be DataType or str but is empty.")
        self._result_types = found

    def _made(self) -> FunctionDefinition:
        from firesteel.sql import types as t

        types = [logical_type(x) for x in self._result_types]
        if len(types) == 1 and isinstance(types[0], t.RowType):
            row = types[0]
        else:
            names = self._names or [f"f{i}" for i in range(len(types))]
            row = t.RowType(fields=tuple(t.RowField(n, x) for n, x in zip(names, types, strict=True)))
        return FunctionDefinition(
            name=self._name,
            kind=FunctionKind.TABLE,
            rule=self._rule(row),
            deterministic=self.is_deterministic,
            value=calls.TableCall(self._func, self._row_names if self._takes_row else None),
            takes_null=True,
        )


class UserDefinedAggregateFunctionWrapper(UserFunction):
    """An aggregate or table aggregate function."""

    def __init__(
        self,
        func: Any,
        input_types: Any,
        result_type: Any,
        accumulator_type: Any,
        func_type: str,
        deterministic: Any,
        name: Any,
        is_table_aggregate: bool = False,
    ) -> None:
        super().__init__(func, input_types, func_type, deterministic, name)
        if (
            accumulator_type is None
            and func_type == "general"
            and isinstance(func, ImperativeAggregateFunction)
        ):
            accumulator_type = _declared(func.get_accumulator_type)
        if result_type is None and isinstance(func, ImperativeAggregateFunction):
            result_type = _declared(func.get_result_type)
        if not isinstance(result_type, DataType | str):
            raise TypeError(f"Invalid returnType: returnType should be DataType or str but is {result_type}")
        if func_type == "pandas" and isinstance(result_type, MapType):
            raise TypeError(
                f"Invalid returnType: Pandas UDAF doesn't support DataType type {result_type} currently"
            )
        self._result_type = result_type
        self._accumulator_type = accumulator_type
        self._table = is_table_aggregate
        self.kind = FunctionKind.TABLE_AGGREGATE if is_table_aggregate else FunctionKind.AGGREGATE

    def _made(self) -> FunctionDefinition:
        result = logical_type(self._result_type)
        names = self._row_names if self._takes_row else None
        if self._func_type == "pandas":
            made: Any = calls.PandasAggregate(self._func, result, names)
        else:
            made = calls.Aggregate(self._func, result, names, self._map_views())
        return FunctionDefinition(
            name=self._name,
            kind=self.kind,
            rule=self._rule(result),
            deterministic=self.is_deterministic,
            aggregate=made,
            takes_null=True,
        )

    def _map_views(self) -> tuple[int, ...]:
        declared = self._accumulator_type
        fields = declared.fields if isinstance(declared, RowType) else []
        return tuple(i for i, field in enumerate(fields) if isinstance(field.data_type, MapViewType))


def _declared(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except RuntimeError:
        return None


def _decorated(f: Any, make: Callable[[Any], Any]) -> Any:
    return make if f is None else make(f)


def udf(
    f: Any = None,
    input_types: Any = None,
    result_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
    udf_type: str | None = None,
) -> Any:
    """Make a scalar function of a function or a ScalarFunction, also as a decorator.

    :param func_type: "general": called for each row; "pandas": called with a Series for each argument.
    """
    func_type = udf_type or func_type

    def make(function: Any) -> UserDefinedScalarFunctionWrapper:
        if isinstance(function, AsyncScalarFunction) or inspect.iscoroutinefunction(function):
            if func_type == "pandas":
                raise ValueError("Async scalar functions do not support pandas func_type.")
            return UserDefinedAsyncScalarFunctionWrapper(
                function, input_types, result_type, func_type, deterministic, name
            )
        return UserDefinedScalarFunctionWrapper(
            function, input_types, result_type, func_type, deterministic, name
        )

    return _decorated(f, make)


def udtf(
    f: Any = None,
    input_types: Any = None,
    result_types: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Any:
    """Make a table function of a function or a TableFunction, also as a decorator."""

    def make(function: Any) -> UserDefinedTableFunctionWrapper:
        return UserDefinedTableFunctionWrapper(function, input_types, result_types, deterministic, name)

    return _decorated(f, make)


def udaf(
    f: Any = None,
    input_types: Any = None,
    result_type: DataType | str | None = None,
    accumulator_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Make an aggregate function of an AggregateFunction, or, of pandas, of a function; also as a
    decorator."""

    def make(function: Any) -> UserDefinedAggregateFunctionWrapper:
        return UserDefinedAggregateFunctionWrapper(
            function, input_types, result_type, accumulator_type, func_type, deterministic, name
        )

    return _decorated(f, make)


def udtaf(
    f: Any = None,
    input_types: Any = None,
    result_type: DataType | str | None = None,
    accumulator_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Make a table aggregate function of a TableAggregateFunction, also as a decorator."""
    if func_type != "general":
        raise ValueError(f"The func_type must be 'general', got {func_type}.")

    def make(function: Any) -> UserDefinedAggregateFunctionWrapper:
        return UserDefinedAggregateFunctionWrapper(
            function, input_types, result_type, accumulator_type, func_type, deterministic, name, True
        )

    return _decorated(f, make)


def wrapped(function: Any) -> UserFunction:
    """The wrapper of a function that is to be registered."""
    if isinstance(function, UserFunction):
        return function
    if isinstance(function, AggregateFunction):
        return UserDefinedAggregateFunctionWrapper(function, None, None, None, "general", None, None)
    if isinstance(function, TableAggregateFunction):
        return UserDefinedAggregateFunctionWrapper(function, None, None, None, "general", None, None, True)
    raise TypeError(
        "Parameter 'function' should be a function made by udf, udtf, udaf or udtaf, or an "
        "AggregateFunction, "
        f"got {function!r}."
    )


def load_function(place: str) -> UserFunction:
    """The function at ``module.name``, as CREATE FUNCTION names it."""
    module, _, name = place.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ProgramError(
            f"There is no function {place!r}.",
            detail=f"{type(error).__name__}: {error}",
            hint="name it as module.name; its module has to be importable",
        ) from error
    return wrapped(found)
