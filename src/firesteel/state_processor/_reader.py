"""Savepoints and checkpoints as DataFrames (Flink: ``SavepointReader``)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from firesteel.common._type_text import type_of_text
from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import MapTypeInfo, TypeInformation, Types
from firesteel.jobmanager.shipping import opened, parcel
from firesteel.program.operators import WindowContents
from firesteel.program.state.descriptors import StateDescriptor
from firesteel.spark.parts import default_parts, frame_of_parts, session_for
from firesteel.state._list_state import LIST
from firesteel.state._migration import part_type
from firesteel.state._value_state import VALUE
from firesteel.state.kinds import StateKind, kind_of
from firesteel.state.operator_state import BROADCAST, OPERATOR_LIST, UNION_LIST
from firesteel.state.panes import PANES
from firesteel.state.rows import StoredRow
from firesteel.state.sessions import SESSIONS
from firesteel.state_processor._calling import KeyFunctionRows, WindowFunctionRows
from firesteel.state_processor._columns import ColumnOf, columns_of_output, schema_of
from firesteel.state_processor._functions import KeyedStateReaderFunction, WindowReaderFunction
from firesteel.state_processor._identifier import OperatorIdentifier
from firesteel.state_processor._info import StateInfo
from firesteel.state_processor._lookup import value_of_key
from firesteel.state_processor._reading import KeyedRows, KeyGroups, OperatorRows, Reading, read_part
from firesteel.state_processor._snapshot import Snapshot, StoredOperator
from firesteel.state_processor._types import (
    chosen_type,
    declared_type,
    known_type,
    no_window,
    value_type_of,
    window_columns,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SavepointReader", "StateInfo", "WindowSavepointReader", "read"]

Operator = OperatorIdentifier | str
_DOMAINS: Final = (
    ("_timer_state/event_user-timers", "EVENT_TIME"),
    ("_timer_state/processing_user-timers", "PROCESSING_TIME"),
)
_LONG: Final = Types.LONG()


class SavepointReader:
    """Reads one savepoint or checkpoint. Reading is done by Spark's executors, each a part of the key groups;
    the driver reads what is stored about the states, never their content.

    An operator is named by its uid or by an ``OperatorIdentifier``. DataFrames are lazy: the files must be
    there when Spark reads them.
    """

    def __init__(
        self,
        path: str,
        spark: SparkSession | None = None,
        parts: int | None = None,
        *,
        untrusted: bool = False,
    ) -> None:
        self._snapshot = Snapshot(path, untrusted=untrusted)
        self._spark = spark
        if parts is not None and (isinstance(parts, bool) or not isinstance(parts, int) or parts < 1):
            raise ProgramError("The number of parts is at least 1.", detail=f"got {parts!r}")
        self._parts = parts

    @staticmethod
    def read(
        path: str, spark: SparkSession | None = None, *, parts: int | None = None, untrusted: bool = False
    ) -> SavepointReader:
        """
        :param path: the directory of a savepoint or a checkpoint, or the ``_metadata`` file in it.
        :param spark: the session; None: that of this process, or a new one.
        :param parts: into how many Spark partitions keyed state is read; None: as many as Spark has cores.
        :raises PathNotFoundError: there is none.
        :param untrusted: it may come from anybody: all of it is looked through first (``docs/security.md``).
        :raises StateCorruptionError: it is damaged, or a file that it needs is missing.
        :raises StateError: it is not trusted, and holds more than plain data.
        """
        return SavepointReader(path, spark, parts, untrusted=untrusted)

    # ---- what there is

    def states(self) -> list[StateInfo]:
        """What the savepoint holds, by operator and name."""
        return self._snapshot.operators.states()

    # ---- of one key

    def value(self, operator: Operator, state: str | StateDescriptor, key: Any) -> Any:
        """What a keyed state holds for *key*: the value (None: nothing), a list, or a dict; of an aggregating
        state the accumulator. Read in this process, and no more than that of the key.

        :param state: its name or, needed for one with a time to live, its descriptor.
        :raises StateError: the operator has no such state.
        """
        return value_of_key(self._stored(operator), self._snapshot.manifest.now_ms, state, key)

    # ---- as tables

    def keyed_state(
        self,
        operator: Operator,
        name: str,
        *,
        key_type: TypeInformation | None = None,
        value_type: TypeInformation | None = None,
    ) -> DataFrame:
        """A row for each key that has something in the state (and each window, where it belongs to windows):
        ``key``, ``value``.

        A list state has an array in ``value``, a map state a map, a reducing state its value, an aggregating
        state its accumulator. Windows add ``window_start`` and ``window_end``, other windows ``window``
        (binary); elements of an interval join have a ``timestamp``. What has expired by its time to live and
        was not removed yet is among the rows.

        :param key_type: what keys are whose type was not declared.
        :param value_type: the same for values: for lists the type of an element, for maps of a value.
        """
        stored = self._stored(operator)
        state = stored.keyed_state(name)
        key = ColumnOf("key", chosen_type(key_type, declared_type(state.key), f"the keys of state {name!r}"))
        value = ColumnOf("value", value_type_of(state, value_type))
        windows, window_of = window_columns(state)
        at = (ColumnOf("timestamp", _LONG),) if kind_of(state).stamped else ()

        def shape(_: int, row: StoredRow) -> tuple[Any, ...]:
            stamps = (row.at,) if at else ()
            return row.key, *window_of(row), *stamps, row.value

        groups = self._groups(stored)
        return self._frame(KeyedRows(groups, (name,), (key, *windows, *at, value), shape))

    def timers(self, operator: Operator, *, key_type: TypeInformation | None = None) -> DataFrame:
        """A row for each timer that is set: ``key``, ``domain`` (``EVENT_TIME`` or ``PROCESSING_TIME``),
        ``timestamp`` (epoch milliseconds), and the window where it is one of a window operator."""
        stored = self._stored(operator)
        known = {state.name: state for state in stored.states.values()}
        present = [(name, domain) for name, domain in _DOMAINS if name in known]
        states = [known[name] for name, _ in present]
        declared = declared_type(states[0].key) if states else None
        key = ColumnOf("key", chosen_type(key_type, declared, "the keys of the timers"))
        windows, window_of = window_columns(states[0]) if states else ((), no_window)
        domains = [domain for _, domain in present]
        columns = (key, ColumnOf("domain", Types.STRING()), ColumnOf("timestamp", _LONG), *windows)

        def shape(number: int, row: StoredRow) -> tuple[Any, ...]:
            return row.key, domains[number], row.at, *window_of(row)

        names = tuple(name for name, _ in present)
        return self._frame(KeyedRows(self._groups(stored), names, columns, shape))

    def list_state(
        self, operator: Operator, name: str, *, value_type: TypeInformation | None = None
    ) -> DataFrame:
        """The entries of an operator list state: ``subtask``, ``position``, ``value``."""
        return self._operator_state(operator, name, OPERATOR_LIST, value_type)

    def union_state(
        self, operator: Operator, name: str, *, value_type: TypeInformation | None = None
    ) -> DataFrame:
        """The entries of a union list state: ``subtask`` that wrote the entry, ``position``, ``value``."""
        return self._operator_state(operator, name, UNION_LIST, value_type)

    def broadcast_state(
        self,
        operator: Operator,
        name: str,
        *,
        key_type: TypeInformation | None = None,
        value_type: TypeInformation | None = None,
    ) -> DataFrame:
        """The entries of a broadcast state: ``key``, ``value``. All subtasks have the same; those
        of the first one are read."""
        stored = self._stored(operator)
        state = stored.state(name, BROADCAST)
        declared = type_of_text(state.type) if state.type else None
        map_key = declared._key_type_info if isinstance(declared, MapTypeInfo) else None
        key = ColumnOf("key", chosen_type(key_type, known_type(map_key), f"the keys of state {name!r}"))
        value = ColumnOf(
            "value",
            chosen_type(
                value_type, known_type(part_type(state, state.type)), f"the values of state {name!r}"
            ),
        )
        return self._frame(OperatorRows(stored, name, 1, (key, value), lambda _, row: (row.at, row.value)))

    def _operator_state(
        self, operator: Operator, name: str, kind: StateKind, value_type: TypeInformation | None
    ) -> DataFrame:
        stored = self._stored(operator)
        state = stored.state(name, kind)
        declared = known_type(part_type(state, state.type))
        value = ColumnOf("value", chosen_type(value_type, declared, f"the entries of state {name!r}"))
        columns = (ColumnOf("subtask", Types.INT()), ColumnOf("position", _LONG), value)

        def shape(subtask: int, row: StoredRow) -> tuple[Any, ...]:
            return subtask, row.at, row.value

        return self._frame(OperatorRows(stored, name, len(stored.lines), columns, shape))

    # ---- by functions, as in Flink

    def read_keyed_state(
        self,
        operator: Operator,
        function: KeyedStateReaderFunction,
        output_type: TypeInformation | None = None,
    ) -> DataFrame:
        """What ``function`` yields for each key.

        :param output_type: of what it yields; a ROW or a TUPLE gives a column for each field. None: any
            object.
        """
        _require(function, KeyedStateReaderFunction)
        stored = self._stored(operator)
        now_ms = self._snapshot.manifest.now_ms
        return self._frame(KeyFunctionRows(self._groups(stored), function, output_type, now_ms))

    def read_list_state(
        self, operator: Operator, name: str, type_info: TypeInformation | None = None
    ) -> DataFrame:
        """The entries of an operator list state: ``value``."""
        return self._values(self.list_state(operator, name, value_type=type_info))

    def read_union_state(
        self, operator: Operator, name: str, type_info: TypeInformation | None = None
    ) -> DataFrame:
        """The entries of a union list state: ``value``. As in Flink those of all subtasks, one behind the
        other: what each subtask would restore."""
        return self._values(self.union_state(operator, name, value_type=type_info))

    def read_broadcast_state(
        self,
        operator: Operator,
        name: str,
        key_type: TypeInformation | None = None,
        value_type: TypeInformation | None = None,
    ) -> DataFrame:
        """The entries of a broadcast state: ``key``, ``value``."""
        return self.broadcast_state(operator, name, key_type=key_type, value_type=value_type)

    def window(self, assigner: Any) -> WindowSavepointReader:
        """Read operators with the windows of ``assigner``, as the job has it."""
        return WindowSavepointReader(self, assigner)

    # ---- how

    @staticmethod
    def _values(frame: DataFrame) -> DataFrame:
        return frame.drop("subtask", "position")

    def _stored(self, operator: Operator) -> StoredOperator:
        return self._snapshot.operators.find(operator)

    def _groups(self, operator: StoredOperator) -> KeyGroups:
        parts = self._parts or default_parts(session_for(self._spark))
        return KeyGroups.of(operator, parts)

    def _frame(self, reading: Reading) -> DataFrame:
        data = parcel(reading)
        schema = schema_of(reading.columns)
        session = session_for(self._spark)
        return frame_of_parts(session, reading.parts, partial(_read, data), schema)


class WindowSavepointReader:
    """Reads the contents of windows (Flink: ``WindowSavepointReader``).

    Without a function there is a row for each element that the window function would get: ``key``,
    ``window_start``, ``window_end`` (null for windows that are not of time), ``value``.
    """

    def __init__(self, reader: SavepointReader, assigner: Any, evicting: bool = False) -> None:
        self._reader = reader
        self._assigner = assigner
        self._evicting = evicting

    def evictor(self) -> WindowSavepointReader:
        """The operators have an evictor: their elements are stored in another way."""
        return WindowSavepointReader(self._reader, self._assigner, evicting=True)

    def reduce(
        self,
        operator: Operator,
        reduce_function: Any,
        function: WindowReaderFunction | None = None,
        *,
        key_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataFrame:
        """Windows that reduce: the reduced value."""
        contents = WindowContents("reduce", reduce_function)
        return self._windows(operator, contents, function, key_type, output_type)

    def aggregate(
        self,
        operator: Operator,
        aggregate_function: Any,
        function: WindowReaderFunction | None = None,
        *,
        key_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataFrame:
        """Windows that aggregate: what ``get_result`` makes of the accumulator."""
        contents = WindowContents("aggregate", aggregate_function)
        return self._windows(operator, contents, function, key_type, output_type)

    def process(
        self,
        operator: Operator,
        function: WindowReaderFunction | None = None,
        *,
        key_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataFrame:
        """Windows that keep their elements: all of them."""
        return self._windows(operator, WindowContents("list"), function, key_type, output_type)

    def _windows(
        self,
        operator: Operator,
        contents: WindowContents,
        function: WindowReaderFunction | None,
        key_type: TypeInformation | None,
        output_type: TypeInformation | None,
    ) -> DataFrame:
        reader = self._reader
        stored = reader._stored(operator)
        state = stored.state("window-contents", *_CONTENTS[self._evicting or contents.kind == "list"])
        if function is not None:
            _require(function, WindowReaderFunction)
            columns = columns_of_output(output_type)
        else:
            key = chosen_type(key_type, declared_type(state.key), "the keys of the windows")
            of_time = (ColumnOf("window_start", _LONG), ColumnOf("window_end", _LONG))
            columns = (ColumnOf("key", key), *of_time, ColumnOf("value", known_type(output_type)))
        now_ms = reader._snapshot.manifest.now_ms
        rows = WindowFunctionRows(
            reader._groups(stored), self._assigner, contents, self._evicting, function, columns, now_ms
        )
        return reader._frame(rows)


#: Kinds of state that contents of windows may be: of single values, and of lists of elements.
_CONTENTS: Final = ((PANES, SESSIONS, VALUE), (LIST,))


def read(path: str, spark: SparkSession | None = None, *, parts: int | None = None) -> SavepointReader:
    """Open a savepoint or a checkpoint: ``read(path).keyed_state("counts", "count")`` is a DataFrame."""
    return SavepointReader.read(path, spark, parts=parts)


def _read(data: bytes, part: int) -> Any:
    return read_part(opened(data), part)


def _require(function: Any, kind: type) -> None:
    if not isinstance(function, kind):
        raise ProgramError(
            f"State is read by a {kind.__name__}.",
            detail=f"got {function!r}",
            hint="pass an instance of a subclass of it",
        )
