"""Work on numbered parts by Spark's executors: each part is a task, nothing but small answers comes back."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession, functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from firesteel.common.errors import EngineError, FiresteelError
from firesteel.runtime.error_report import report_of
from firesteel.runtime.user_code import UserCodeError
from firesteel.spark.modules import shares_files
from firesteel.spark.session import create_session, use_this_python

__all__ = ["Portion", "do_parts", "frame_of_parts", "gather", "session_for"]

_ANSWERS: Final = pa.schema([("part", pa.int64()), ("answer", pa.binary()), ("error", pa.binary())])
_PORTIONS: Final = pa.schema(
    [("target", pa.int32()), ("channel", pa.int32()), ("ord", pa.int64()), ("body", pa.binary())]
)

Batches = Iterable[pa.RecordBatch]


class Portion(NamedTuple):
    """Some records on their way to a part; of one part they come in the order of channel and number."""

    target: int
    channel: int
    ord: int
    body: bytes


def session_for(handed_in: Any = None) -> SparkSession:
    """The session that was handed in, else the one that this process uses, else a new one of ours."""
    session = handed_in or SparkSession.getActiveSession()
    if session is None:
        known = SparkContext._active_spark_context is not None
        session = SparkSession.builder.getOrCreate() if known else create_session(None, "firesteel", {})
    if shares_files(session):
        use_this_python(session)
    return session


def time_zone(session: SparkSession) -> str:
    return session.conf.get("spark.sql.session.timeZone") or "UTC"


def default_parts(session: SparkSession) -> int:
    return session.sparkContext.defaultParallelism


def frame_of_parts(
    session: SparkSession, parts: int, read: Callable[[int], Batches], schema: pa.Schema
) -> DataFrame:
    """The rows that ``read`` gives for the parts, one task for each; nothing runs before Spark needs it."""
    numbers = session.range(0, parts, 1, max(1, parts))
    return numbers.mapInArrow(partial(_read, read), from_arrow_schema(schema))


def _read(read: Callable[[int], Batches], batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from read(number)


def do_parts(session: SparkSession, parts: int, do: Callable[[int], bytes]) -> list[bytes]:
    """Do each part in a task of its own: their answers, which must be small, by number.

    :raises FiresteelError: what ``do`` raised for a part, or what the user's code that it calls did.
    """
    if not parts:
        return []

    def answer(number: int) -> Batches:
        yield _answer(number, partial(do, number))

    return list(_collected(frame_of_parts(session, parts, answer, _ANSWERS)).values())


def gather(
    frame: DataFrame,
    parts: int,
    deal: Callable[[int, Batches], Iterator[Portion]],
    do: Callable[[int, Iterator[bytes]], bytes],
) -> dict[int, bytes]:
    """Deal the rows of a DataFrame out over numbered parts, and do each part in one task.

    :param deal: number of a partition of ``frame``, its batches -> what goes to which part.
    :param do: number of a part, the bodies of its portions -> its answer, which must be small.
    :returns: the answers by number; a part that got nothing is not done.
    :raises FiresteelError: as ``do_parts``.
    """
    dealt = frame.mapInArrow(partial(_deal, deal), from_arrow_schema(_PORTIONS))
    together = dealt.repartitionById(parts, F.col("target")).sortWithinPartitions("target", "channel", "ord")
    return _collected(together.mapInArrow(partial(_do, do), from_arrow_schema(_ANSWERS)))


def _deal(deal: Callable[[int, Batches], Iterator[Portion]], batches: Batches) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    for portion in deal(context.partitionId(), batches):
        yield pa.RecordBatch.from_arrays([[field] for field in portion], schema=_PORTIONS)


def _do(do: Callable[[int, Iterator[bytes]], bytes], batches: Batches) -> Iterator[pa.RecordBatch]:
    rows = (
        row
        for batch in batches
        for row in zip(batch.column(0).to_pylist(), batch.column(3).to_pylist(), strict=True)
    )
    for target, portions in groupby(rows, key=itemgetter(0)):
        yield _answer(target, partial(do, target, (body for _, body in portions)))


def _answer(number: int, work: Callable[[], bytes]) -> pa.RecordBatch:
    """What the work gives, or what is wrong: an error of the user's or of the data is an answer too, for
    trying again would not help. Any other exception fails the task, which Spark tries again."""
    answer = error = None
    try:
        answer = work()
    except UserCodeError as e:
        error = pickle.dumps(_of_user(e), 5)
    except FiresteelError as e:
        error = pickle.dumps(e, 5)
    columns = ([number], pa.int64()), ([answer], pa.binary()), ([error], pa.binary())
    return pa.RecordBatch.from_arrays([pa.array(*column) for column in columns], schema=_ANSWERS)


def _of_user(error: UserCodeError) -> FiresteelError:
    """The error to show: one of ours says itself what is wrong."""
    cause = error.__cause__
    if isinstance(cause, FiresteelError):
        return cause
    report = report_of(error, 0)
    return EngineError(
        f"The function of {error.operator} failed: {report.summary}",
        detail=report.traceback,
        operator=error.operator,
    )


def _collected(answers: DataFrame) -> dict[int, bytes]:
    table = answers.toArrow()
    found: dict[int, bytes] = {}
    for number, answer, error in zip(*(column.to_pylist() for column in table.columns), strict=True):
        if error is not None:
            raise pickle.loads(error)
        found[number] = answer
    return dict(sorted(found.items()))
