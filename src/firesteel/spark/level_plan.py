"""The plan of a job's epochs: made by Spark's planner for the first one, copied for those that follow.

An epoch is a Spark job of the same shape as the one before, with other functions. To plan it anew takes the
JVM longer than to run the tasks of a small one: each step of a plan is analysed with all steps before it.

Which classes the operators of Spark have, and with which parts, is internal to Spark. No other module but
``pipelined.py`` knows of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import pyarrow as pa
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from firesteel.spark.jvm import CALLS
from firesteel.spark.levels import MapRows, frame_of


class LevelPlan:
    """Runs levels of tasks: ``frame_of`` with other functions each time.

    :param widths: how many tasks each level has.
    :param order: columns by which the rows of a task are sorted.
    """

    def __init__(
        self, session: SparkSession, widths: Sequence[int], schema: StructType, order: Sequence[str] = ()
    ) -> None:
        self._session = session
        self._shape = widths, schema, order
        self._planned: Any = None  # the DataFrame of the first run
        self._copies: _Copies | None = None

    def run(self, tasks: Sequence[MapRows]) -> pa.Table:
        """The rows of the last level. What they have written for each other is removed behind them."""
        if self._copies is None and self._planned is not None:
            self._copies = _Copies(self._planned, self._shape[1])
        if self._copies is not None and self._copies.levels == len(tasks):
            return self._copies.run(tasks)
        self._planned = frame_of(self._session, tasks, *self._shape)
        return self._planned.toArrow()


class _Copies:
    """Runs copies of a plan, with other functions."""

    def __init__(self, frame: Any, schema: StructType) -> None:
        self._session = session = frame.sparkSession
        self._schema = frame._jdf.schema()
        self._first, *operators = _operators(frame._jdf.queryExecution().executedPlan())
        self._operators = [_OPERATORS.get(_name(operator), _Other)(operator) for operator in operators]
        #: How many are found in the plan. Extensions of Spark may have put other operators into it.
        self.levels = sum(isinstance(operator, _Tasks) for operator in self._operators)
        self._functions = _Functions(session, schema)
        self._activate = session._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession

    def run(self, tasks: Sequence[MapRows]) -> pa.Table:
        own: Any = self._session._jsparkSession
        self._activate(own)  # operators ask for the session of the thread, and this thread may have none
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
    """An operator of the plan, as a pattern for those that run."""

    def __init__(self, operator: Any) -> None:
        self._operator = operator
        self._children = operator.children()

    def over(self, child: Any, functions: Iterator[Any]) -> Any:
        """A new one."""
        return self._operator.withNewChildren(self._children.updated(0, child))


class _Exchange(_Other):
    """Spark runs the stage before an exchange once, whoever asks for its rows."""


class _Tasks:
    """The tasks of a level."""

    def __init__(self, operator: Any) -> None:
        self._operator = operator
        self._rest = operator.isBarrier(), operator.profile()
        self._output = operator.output()
        udf = self._udf = operator.func()
        self._name = udf.name()
        self._of_udf = udf.dataType(), udf.children(), udf.evalType(), udf.udfDeterministic(), udf.resultId()

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

    def made(self, task: MapRows) -> Any:
        context = self._context
        command = self._pickled((task, self._schema))
        broadcasts = []
        if len(command) > self._largest:
            command = self._pickled(context.broadcast(command))
            broadcasts = [variable._jbroadcast for variable in context._pickled_broadcast_vars]
            context._pickled_broadcast_vars.clear()
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
