"""Bringing the records of a stream back into the program."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from firesteel.connectors.collect import CollectSink
from firesteel.program.call_site import call_site
from firesteel.program.checks import require_int
from firesteel.program.execution import get_executor
from firesteel.program.transformations import SinkTransformation, Transformation

if TYPE_CHECKING:
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment


class CloseableIterator(Iterator[Any]):
    """The records of a running job, as they come. Closing it ends the job.

    :param records: the records; if it has a ``close`` method, that is called once.
    """

    def __init__(self, records: Iterator[Any]) -> None:
        self._records = records
        self._closed = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return self.next()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self.close()

    def _repr_html_(self) -> str:
        from firesteel.datastream._notebook import records_html

        return records_html("Records", iter(()) if self._closed else self._records)

    def next(self) -> Any:
        """The next record; ``StopIteration`` when the job has ended."""
        if self._closed:
            raise StopIteration
        return next(self._records)

    def close(self) -> None:
        """End the job if it still runs."""
        if not self._closed:
            self._closed = True
            close = getattr(self._records, "close", None)
            if close is not None:
                close()


def execute_and_collect(
    env: StreamExecutionEnvironment, stream: Transformation, job_name: str | None, limit: int | None
) -> CloseableIterator | list[Any]:
    """Run the program with a collecting sink on ``stream``; see ``DataStream.execute_and_collect``."""
    if limit is not None:
        require_int(limit, "limit", 1)
    collecting = CollectSink(type_info=stream.output_type)
    sink = SinkTransformation(
        name="DataStream Collect", input=stream, sink=collecting, created_at=call_site()
    )
    env._add(sink)
    transformations = env._take_program()
    name = env._job_name(job_name)
    records = CloseableIterator(get_executor().collect(env, transformations, name, sink))
    if limit is None:
        return records
    with records:
        return list(islice(records, limit))
