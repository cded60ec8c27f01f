"""How functions of the user are called: on columns, on values, on accumulators.

They see Python's objects (date, datetime, Row, list ...), not the physical values of columns.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa

from firesteel.common.configuration import Configuration
from firesteel.common.options.pipeline import GLOBAL_JOB_PARAMETERS
from firesteel.common.options.table import LOCAL_TIME_ZONE
from firesteel.common.time import Instant
from firesteel.common.types import Row
from firesteel.runtime.at_work import at_work
from firesteel.runtime.contexts import TaskRuntimeContext
from firesteel.runtime.metrics import TaskMetricGroup, TaskMetrics
from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.async_options import AsyncScalarOptions
from firesteel.sql.functions.registry import CallTypes, TypeRule, Typing
from firesteel.sql.operators.objects import column_of_objects, column_of_results, objects_of
from firesteel.sql.type_rules import implicitly_castable
from firesteel.sql.values import repeat as repeat_column
from firesteel.table.data_view import MapView, StateMapView

__all__ = ["SCALARS", "Aggregate", "AsyncCall", "PandasAggregate", "TableCall", "rule"]


def rule(inputs: Sequence[t.DataType] | None, result: t.DataType) -> TypeRule:
    """The types of a call: arguments are cast to what was declared; None: all are taken as they are."""

    def types(call: CallTypes) -> Typing | None:
        given = tuple(call.types)
        if inputs is None:
            return Typing(result, tuple(t.VarCharType() if isinstance(g, t.NullType) else g for g in given))
        if len(given) != len(inputs):
            return None
        wanted = []
        for own, declared in zip(given, inputs, strict=True):
            if not implicitly_castable(own, declared.with_nullability(True)):
                return None
            wanted.append(declared.with_nullability(own.nullable))
        return Typing(result, tuple(wanted))

    return types


def _context() -> Any:
    """Where a function runs that is opened now. Constants are computed before a job is there: their functions
    have metrics that nobody reads."""
    from firesteel.table.udf import FunctionContext

    operator = at_work()
    if operator is None:
        return FunctionContext(TaskMetricGroup(TaskMetrics(), "", ""), {})
    place = TaskRuntimeContext(operator.context, operator.program, None)
    return FunctionContext(
        place.get_metrics_group(),
        Configuration.from_dict(operator.context.settings).get(GLOBAL_JOB_PARAMETERS),
        place.get_task_name(),
        place.get_task_name_with_subtasks(),
        place.get_number_of_parallel_subtasks(),
        place.get_max_number_of_parallel_subtasks(),
        place.get_index_of_this_subtask(),
        place.get_attempt_number(),
    )


class _Opened:
    """Opens a function once in each process."""

    def __init__(self, function: Any, names: tuple[str, ...] | None) -> None:
        self.function = function
        self.names = names
        self._eval: Callable[..., Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"function": self.function, "names": self.names, "_eval": None, **self._more()}

    def _more(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def opened(self) -> Callable[..., Any]:
        if self._eval is None:
            from firesteel.table.udf import UserDefinedFunction

            if isinstance(self.function, UserDefinedFunction):
                self.function.open(_context())
                self._eval = self.function.eval  # type: ignore[attr-defined]  # an aggregate is not called so
            else:
                self._eval = self.function
        assert self._eval is not None
        return self._eval


def _session_zone() -> str:
    """``table.local-time-zone`` of the program whose operator is at work."""
    operator = at_work()
    settings = {} if operator is None else operator.context.settings
    zone = Configuration.from_dict(settings).get(LOCAL_TIME_ZONE)
    return "UTC" if zone == "default" else zone


_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def _local(value: Any, zone: ZoneInfo) -> Any:
    """Instants as functions of tables get them, at any depth: datetimes in the session's zone."""
    if isinstance(value, Instant):
        since = dt.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
        return (_EPOCH + since).astimezone(zone)
    if isinstance(value, list):
        return [_local(v, zone) for v in value]
    if isinstance(value, dict):
        return {_local(k, zone): _local(v, zone) for k, v in value.items()}
    if isinstance(value, Row):
        row = Row(*(_local(v, zone) for v in value._values))
        row._fields, row._row_kind = value._fields, value._row_kind
        return row
    return value


def _has_instants(data_type: t.DataType) -> bool:
    return any(isinstance(part, t.LocalZonedTimestampType) for part in data_type.walk())


def _objects(argument: Any, data_type: t.DataType, length: int, zone: str) -> Iterable[Any]:
    """The objects of an argument; a constant comes as a scalar."""
    if isinstance(argument, pa.Array):
        found = objects_of(argument, data_type)
        if not _has_instants(data_type):
            return found
        local = ZoneInfo(zone)
        return [_local(v, local) for v in found]
    one = argument if isinstance(argument, pa.Scalar) else pa.scalar(argument.as_py(), argument.type)
    return repeat(next(iter(_objects(repeat_one(one), data_type, 1, zone))), length)


def repeat_one(scalar: pa.Scalar) -> pa.Array:
    return pa.repeat(scalar, 1)


class ScalarCall(_Opened):
    """Calls a function for each row. :param names: of the columns, where it takes them as one Row."""

    def __call__(self, site: Any, *arguments: Any) -> pa.Array:
        function = self.opened()
        columns = [_objects(a, d, site.length, site.zone) for a, d in zip(arguments, site.types, strict=True)]
        if self.names is not None:
            rows = _rows(columns, self.names, site.length)
            values = [function(row) for row in rows]
        elif not columns:
            values = [function() for _ in range(site.length)]
        else:
            # Not map(): a StopIteration out of the function would end it, and rows would be missing.
            values = [function(*row) for row in zip(*columns, strict=True)]
        return column_of_results(values, site.result)


def _rows(columns: Sequence[Iterable[Any]], names: Sequence[str], length: int) -> Iterator[Row]:
    called = list(names)
    for values in zip(*columns, strict=True) if columns else repeat((), length):
        row = Row(*values)
        row.set_field_names(called)
        yield row


class PandasCall(_Opened):
    """Calls a function with a Series for each argument, or one DataFrame."""

    def __call__(self, site: Any, *arguments: Any) -> pa.Array:
        function = self.opened()
        series = [_series(a, d, site.length, site.zone) for a, d in zip(arguments, site.types, strict=True)]
        if self.names is not None:
            found = function(_frame(self.names, series))
        else:
            found = function(*series)
        self._check(found, site.result, site.length)
        return _from_pandas(found, site.result)

    def _check(self, found: Any, data_type: t.DataType, length: int) -> None:
        """One value for many rows would hang on how many rows came together."""
        import pandas as pd

        name = getattr(self.function, "__name__", type(self.function).__name__)
        if not isinstance(found, pd.Series | pd.DataFrame):
            raise TypeError(
                f"The result type of Pandas UDF '{name}' must be pandas.Series or pandas.DataFrame, got "
                f"{type(found)}. Return one value for each row."
            )
        if isinstance(found, pd.DataFrame) and not isinstance(data_type, t.RowType):
            raise TypeError(
                f"The Pandas UDF '{name}' returned a pandas.DataFrame, and its result type is "
                f"{data_type}. Return a pandas.Series, or declare a ROW."
            )
        if len(found) != length:
            raise ValueError(
                f"The result length '{len(found)}' of Pandas UDF '{name}' is not equal to the input length "
                f"'{length}'."
            )


def _frame(names: Sequence[str], columns: Sequence[Any]) -> Any:
    """One DataFrame of all columns. A ROW is a DataFrame itself: its fields are columns of the whole."""
    import pandas as pd

    parts = [
        column if isinstance(column, pd.DataFrame) else column.rename(name)
        for name, column in zip(names, columns, strict=True)
    ]
    return pd.concat(parts, axis=1)


def _series(argument: Any, data_type: t.DataType, length: int, zone: str) -> Any:
    column = argument if isinstance(argument, pa.Array) else repeat_column(repeat_one(argument), length)
    if isinstance(data_type, t.LocalZonedTimestampType):
        column = column.cast(pa.timestamp(column.type.unit, zone))
    if isinstance(data_type, t.RowType):
        import pandas as pd

        return pd.DataFrame(
            {
                f.name: _series(column.field(i), f.data_type, length, zone)
                for i, f in enumerate(data_type.fields)
            }
        )
    return column.to_pandas()


def _from_pandas(found: Any, data_type: t.DataType) -> pa.Array:
    import pandas as pd

    if isinstance(found, pd.DataFrame) and isinstance(data_type, t.RowType):
        arrays = [_from_pandas(found.iloc[:, i], f.data_type) for i, f in enumerate(data_type.fields)]
        return pa.StructArray.from_arrays(arrays, fields=list(arrow_type(data_type)))
    if not isinstance(data_type, t.RowType | t.ArrayType | t.MapType):
        made = pa.array(found, from_pandas=True)
        if isinstance(made, pa.ChunkedArray):
            made = made.combine_chunks()
        wanted = arrow_type(data_type)
        return made if made.type == wanted else made.cast(wanted, safe=not pa.types.is_floating(made.type))
    return column_of_objects([None if _is_missing(v) else v for v in found], data_type)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


SCALARS: Final[dict[str, type[_Opened]]] = {"general": ScalarCall, "pandas": PandasCall}


class AsyncCall(_Opened):
    """Calls a coroutine function for each row; the calls of a batch overlap.

    How many may be under way, and what becomes of failures, is as ``table.exec.async-scalar.*`` says.
    """

    options = AsyncScalarOptions()

    def with_options(self, options: AsyncScalarOptions) -> AsyncCall:
        """The same call in a program with *options*."""
        made = AsyncCall(self.function, self.names)
        made.options = options
        return made

    def _more(self) -> dict[str, Any]:
        return {"options": self.options}

    def __call__(self, site: Any, *arguments: Any) -> pa.Array:
        function = self.opened()
        columns = [_objects(a, d, site.length, site.zone) for a, d in zip(arguments, site.types, strict=True)]
        if self.names is not None:
            rows: Iterable[tuple[Any, ...]] = ((row,) for row in _rows(columns, self.names, site.length))
        else:
            rows = zip(*columns, strict=True) if columns else repeat((), site.length)
        values = asyncio.run(self._all(function, list(rows)))
        return column_of_results(values, site.result)

    async def _all(self, function: Callable[..., Any], rows: Sequence[tuple[Any, ...]]) -> list[Any]:
        options = self.options
        room = asyncio.Semaphore(options.capacity)

        async def one(row: tuple[Any, ...]) -> Any:
            try:
                async with room, asyncio.timeout(options.timeout_ms / 1000) as limit:
                    for _ in range(options.retries):
                        try:
                            return await function(*row)
                        except Exception:
                            await asyncio.sleep(options.delay_ms / 1000)
                    return await function(*row)
            except TimeoutError as error:
                if not limit.expired():
                    raise
                raise TimeoutError(
                    f"Async function call has timed out for input: {list(row)}. It may take "
                    f"{options.timeout_ms} ms (table.exec.async-scalar.timeout)."
                ) from error

        return await asyncio.gather(*map(one, rows))


def _arguments(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of one call: instants as ``_local`` gives them."""
    if not any(isinstance(v, Instant) for v in values):
        return values
    zone = ZoneInfo(_session_zone())
    return tuple(_local(v, zone) for v in values)


class TableCall(_Opened):
    """Calls a table function for one row of Python's objects; its rows may be tuples, Rows, or bare
    values."""

    def __call__(self, *arguments: Any) -> Any:
        function = self.opened()
        arguments = _arguments(arguments)
        if self.names is not None:
            row = Row(*arguments)
            row.set_field_names(list(self.names))
            arguments = (row,)
        return function(*arguments)


class Aggregate:
    """An aggregate function, as the operators of groups call it: with Python's objects.

    :param map_views: the fields of the accumulator that its type declares as MAP_VIEW.
    """

    def __init__(
        self,
        function: Any,
        result: t.DataType,
        names: tuple[str, ...] | None,
        map_views: tuple[int, ...] = (),
    ) -> None:
        self.function = function
        self.result = result
        self.names = names
        self.map_views = map_views
        self._open = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": False}

    def _opened(self) -> Any:
        if not self._open:
            self.function.open(_context())
            self._open = True
        return self.function

    def implements(self, name: str) -> bool:
        """Whether the function has a method of its own, and not the one of the base class that raises."""
        from firesteel.table import udf

        method = getattr(type(self.function), name, None)
        return method is not None and method.__module__ != udf.__name__

    def _arguments(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        values = _arguments(values)
        if self.names is None:
            return values
        row = Row(*values)
        row.set_field_names(list(self.names))
        return (row,)

    def create_accumulator(self) -> Any:
        return self._viewed(self._opened().create_accumulator())

    def accumulate(self, accumulator: Any, *values: Any) -> None:
        self._opened().accumulate(self._viewed(accumulator), *self._arguments(values))

    def retract(self, accumulator: Any, *values: Any) -> None:
        self._opened().retract(self._viewed(accumulator), *self._arguments(values))

    def merge(self, accumulator: Any, accumulators: Iterable[Any]) -> None:
        self._opened().merge(self._viewed(accumulator), list(map(self._viewed, accumulators)))

    def get_value(self, accumulator: Any) -> Any:
        return self._opened().get_value(self._viewed(accumulator))

    def emit_value(self, accumulator: Any) -> Iterable[Any]:
        found: Iterable[Any] = self._opened().emit_value(self._viewed(accumulator))
        return found

    def _viewed(self, accumulator: Any) -> Any:
        """An accumulator with the views that its type declares: a new one, or one that was stored before
        there were such."""
        for place in self.map_views:
            if type(accumulator[place]) is MapView:
                accumulator[place] = StateMapView(accumulator[place])
        return accumulator


class PandasAggregate:
    """A function of whole columns as an aggregate: it keeps the rows of a group, and is called for the
    result."""

    def __init__(self, function: Any, result: t.DataType, names: tuple[str, ...] | None) -> None:
        self.function = function
        self.result = result
        self.names = names
        self.types: tuple[t.DataType, ...] = ()
        self._call: Callable[..., Any] | None = None

    def typed(self, types: Sequence[t.DataType]) -> PandasAggregate:
        """The function for arguments of these types, which its columns have."""
        made = PandasAggregate(self.function, self.result, self.names)
        made.types = tuple(types)
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_call": None}

    def create_accumulator(self) -> list[tuple[Any, ...]]:
        return []

    def accumulate(self, accumulator: list[tuple[Any, ...]], *values: Any) -> None:
        accumulator.append(values)

    def retract(self, accumulator: list[tuple[Any, ...]], *values: Any) -> None:
        accumulator.remove(values)

    def merge(
        self, accumulator: list[tuple[Any, ...]], accumulators: Iterable[list[tuple[Any, ...]]]
    ) -> None:
        for other in accumulators:
            accumulator.extend(other)

    def get_value(self, accumulator: list[tuple[Any, ...]]) -> Any:
        if not accumulator:
            return None  # the function is called for rows only

        import pandas as pd

        arguments = zip(zip(*accumulator, strict=True), self.types, strict=True)
        zone = _session_zone()
        columns = [_series(column_of_objects(list(c), d), d, len(accumulator), zone) for c, d in arguments]
        if self.names is not None:
            found = self._function()(_frame(self.names, columns))
        else:
            found = self._function()(*columns)
        return found.item() if hasattr(found, "item") and not isinstance(found, pd.Series) else found

    def _function(self) -> Callable[..., Any]:
        if self._call is None:
            from firesteel.table.udf import AggregateFunction

            function = self.function
            if isinstance(function, AggregateFunction):
                function.open(_context())
                self._call = lambda *args: _evaluated(function, args)
            else:
                self._call = function
        assert self._call is not None
        return self._call


def _evaluated(function: Any, args: Sequence[Any]) -> Any:
    accumulator = function.create_accumulator()
    function.accumulate(accumulator, *args)
    return function.get_value(accumulator)
