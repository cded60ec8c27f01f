"""The plans of epochs: made by Spark's planner for the first one of a shape, copied for those that follow.

An epoch is a Spark job of the same shape as the one before, with other functions, and so are those of other
jobs with as many levels and tasks. To plan it anew takes the JVM longer than to run the tasks of a small one:
each step of a plan is analysed with all steps before it.

Which classes the operators of Spark have, and with which parts, is internal to Spark. No other module but
``pipelined.py`` knows of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any, Final

import pyarrow as pa
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from firesteel.spark.jvm import CALLS
from firesteel.spark.levels import MapRows, frame_of

_SHAPES: Final = 32  # that are kept: a job has one, and another one when it is rescaled


class LevelPlans:
    """Runs levels of tasks in a session, for any number of jobs at once: ``frame_of`` with other functions
    each time.

    :param order: columns by which the rows of a task are sorted.
    """

    def __init__(self, session: SparkSession, schema: StructType, order: Sequence[str] = ()) -> None:
        self._session = session
        self._shape = schema, order
        self._copies: dict[tuple[int, ...], _Copies] = {}  # by the widths of levels

    def run(self, tasks: Sequence[MapRows], widths: Sequence[int]) -> pa.Table:
        """The rows of the last level. What they have written for each other is removed behind them.

        :param widths: how many tasks each level has.
        """
        key = tuple(widths)
        copies = self._copies.get(key)
        if copies is not None and copies.levels == len(tasks):
            return copies.run(tasks)
        frame = frame_of(self._session, tasks, widths, *self._shape)
        rows = frame.toArrow()
        if copies is None:
            while len(self._copies) >= _SHAPES:
                with suppress(KeyError, StopIteration):  # another thread has taken it
                    del self._copies[next(iter(self._copies))]
            self._copies[key] = _Copies(frame, self._shape[0])
        return rows


class _Copies:
    """Runs copies of a plan that has run, with other functions."""

    def __init__(self, frame: Any, schema: StructType) -> None:
        self._session = session = frame.sparkSession
        self._schema = frame._jdf.schema()
        self._functions = _Functions(session, schema)
        # Operators ask for the session of the thread when they are made, and this thread may have none.
        self._activate = session._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession
        self._activate(session._jsparkSession)
        self._first, *operators = _operators(frame._jdf.queryExecution().executedPlan())
        kinds = [_OPERATORS.get(_name(operator), _Other) for operator in operators]
        self._remove_rows_of(o for o, kind in zip(operators, kinds, strict=True) if kind is _Exchange)
        # Nothing of the plan that has run is kept: its functions and its rows belong to a job.
        self._operators = [
            kind(operator, self._first, self._functions.nothing)
            for operator, kind in zip(operators, kinds, strict=True)
        ]
        #: How many are found in the plan. Extensions of Spark may have put other operators into it.
        self.levels = sum(isinstance(operator, _Tasks) for operator in self._operators)

    def run(self, tasks: Sequence[MapRows]) -> pa.Table:
        own: Any = self._session._jsparkSession
        self._activate(own)
        functions = map(self._functions.made, tasks)
        plan, exchanges = self._first, []
        for operator in self._operators:
            plan = operator.over(plan, functions)
            if isinstance(operator, _Exchange):
                exchanges.append(plan)
        try:
            rows = own.internalCreateDataFrame(plan.execute(), self._schema, False)
            return DataFrame(rows, self._session).toArrow()
        finally:
            with suppress(*CALLS):  # what went wrong is told by what comes before this
                self._remove_rows_of(exchanges)

    def _remove_rows_of(self, exchanges: Iterable[Any]) -> None:
        shuffles = self._session.sparkContext._jsc.sc().shuffleDriverComponents()
        for exchange in exchanges:
            shuffles.removeShuffle(exchange.shuffleId(), False)


class _Other:
    """An operator of the plan, as a pattern for those that run.

    :param child: to stand in for its own.
    """

    def __init__(self, operator: Any, child: Any, nothing: Any) -> None:
        self._children = operator.children().updated(0, child)
        self._operator = operator.withNewChildren(self._children)

    def over(self, child: Any, functions: Iterator[Any]) -> Any:
        """A new one."""
        return self._operator.withNewChildren(self._children.updated(0, child))


class _Exchange(_Other):
    """Spark runs the stage before an exchange once, whoever asks for its rows."""


class _Tasks:
    """The tasks of a level.

    :param nothing: a function to stand in for their own.
    """

    def __init__(self, operator: Any, child: Any, nothing: Any) -> None:
        self._rest = operator.isBarrier(), operator.profile()
        self._output = operator.output()
        udf = operator.func()
        self._name = udf.name()
        self._of_udf = udf.dataType(), udf.children(), udf.evalType(), udf.udfDeterministic(), udf.resultId()
        self._udf = udf.copy(self._name, nothing, *self._of_udf)
        self._operator = operator.copy(self._udf, self._output, child, *self._rest)

    def over(self, child: Any, functions: Iterator[Any]) -> Any:
        """A new one, with the next function."""
        function = self._udf.copy(self._name, next(functions), *self._of_udf)
        return self._operator.copy(function, self._output, child, *self._rest)


_OPERATORS: Final[Mapping[str, type[_Other | _Tasks]]] = {
    "ShuffleExchangeExec": _Exchange,
    "MapInArrowExec": _Tasks,
}


class _Functions:
    """Makes functions of tasks known to the JVM, as PySpark does, which looks for each class anew: in all
    packages that it knows, for every function."""

    def __init__(self, session: SparkSession, schema: StructType) -> None:
        self._context: Any = session.sparkContext
        jvm: Any = self._context._jvm
        self._schema = schema
        self._made = jvm.org.apache.spark.api.python.SimplePythonFunction
        self._largest = jvm.PythonUtils.getBroadcastThreshold(self._context._jsc)
        pickle: Any = CloudPickleSerializer
        self._pickled: Callable[[Any], bytes] = pickle().dumps
        self._one_at_a_time = Lock()  # PySpark has one list of broadcasts for all threads
        self.nothing = self._of(b"", [])

    def made(self, task: MapRows) -> Any:
        context = self._context
        command = self._pickled((task, self._schema))
        broadcasts = []
        if len(command) > self._largest:
            with self._one_at_a_time:
                command = self._pickled(context.broadcast(command))
                broadcasts = [variable._jbroadcast for variable in context._pickled_broadcast_vars]
                context._pickled_broadcast_vars.clear()
        return self._of(command, broadcasts)

    def _of(self, command: bytes, broadcasts: list[Any]) -> Any:
        context = self._context
        return self._made(
            bytearray(command),
            context.environment,
            context._python_includes,
            context.pythonExec,
            context.pythonVer,
            broadcasts,
            context._javaAccumulator,
        )


def _operators(plan: Any) -> list[Any]:
    """From the first one to the last, each the only child of the next one."""
    found = [plan]
    while (children := plan.children()).size():
        plan = children.apply(0)
        found.append(plan)
    return found[::-1]


def _name(operator: Any) -> str:
    name: str = operator.getClass().getSimpleName()
    return name
