"""The metrics of a vertex's operators, as columns: what committed epochs have counted, and what gauges said.

A column has a value for each subtask. Values are plain data that is never changed, only replaced, so whoever
has a copy of a column has the metric as it was at one moment.
"""

from __future__ import annotations

import operator
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby, repeat
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from firesteel.jobmanager.job_view import MetricView, Statistics
from firesteel.metrics.groups import Groups
from firesteel.runtime import metrics
from firesteel.runtime.metrics import MetricKey
from firesteel.runtime.program import Ack
from firesteel.runtime.task_report import TaskReport

#: Those of Flink's reporters.
QUANTILES: Final = (0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.999)


class _Kind(NamedTuple):
    """How the values of a metric are kept.

    :param value: returns that of a part.
    :param sum: returns that of two parts, the later one second.
    :param shown: returns what views have of it.
    """

    name: str
    value: Callable[[Any], Any]
    sum: Callable[[Any, Any], Any]
    shown: Callable[[Any], Any]


class Column(NamedTuple):
    """A metric of all subtasks of a vertex; None: the subtask does not have it."""

    kind: _Kind
    operator: str
    groups: Groups
    name: str
    values: list[Any]

    def shown(self) -> Iterator[MetricView | None]:
        kind = self.kind
        for value in self.values:
            if value is None:
                yield None
            else:
                yield MetricView(self.operator, self.groups, self.name, kind.name, kind.shown(value))

    def add(self, begin: int, parts: Sequence[Any]) -> None:
        """Add the parts of subtasks from *begin* on; only to a column that nobody else has."""
        add, places = self.kind.sum, slice(begin, begin + len(parts))
        pairs = zip(self.values[places], map(self.kind.value, parts), strict=True)
        self.values[places] = [value if before is None else add(before, value) for before, value in pairs]

    def copy(self) -> Column:
        return self._replace(values=self.values.copy())

    def rescaled(self, parallelism: int) -> Column:
        parts = ([v for v in self.values[n::parallelism] if v is not None] for n in range(parallelism))
        return self._replace(values=[reduce(self.kind.sum, part) if part else None for part in parts])


Columns: TypeAlias = Mapping[MetricKey, Column]
_NONE: Final[Columns] = MappingProxyType({})


class SubtaskMetrics(NamedTuple):
    """Those of one vertex at one moment. Counters go on over attempts, as those of the views do."""

    counted: Columns = _NONE
    gauges: Columns = _NONE
    latencies: Columns = _NONE

    def with_epoch(
        self, acks: Sequence[Ack], reports: Iterable[TaskReport], uids: Sequence[str]
    ) -> SubtaskMetrics:
        """Return them with what an epoch has counted, and with what gauges said last.

        :param acks: of all subtasks, in their order.
        :param reports: of the tasks of the vertex and of others.
        :param uids: of its operators, in their order.
        """
        counted = {key: column.copy() for key, column in self.counted.items()}
        begin = 0
        for keys, run in groupby(acks, lambda ack: tuple(ack.metrics)):  # one run, where all have the same
            rows = [ack.metrics.values() for ack in run]
            for key, parts in zip(keys, zip(*rows, strict=True), strict=True):
                column = counted.get(key)
                if column is None:
                    kind = _KINDS[type(parts[0])]
                    column = counted[key] = Column(kind, key.uid, key.groups, key.name, [None] * len(acks))
                column.add(begin, parts)
            begin += len(rows)
        gauges, latencies = self.gauges, self.latencies
        reports = [report for report in reports if report.gauges or report.latencies]
        if reports:
            places = {uid: place for place, uid in enumerate(uids)}
            gauges = _reported(gauges, _GAUGE, [(r.subtask, r.gauges) for r in reports], places, len(acks))
            told = [(r.subtask, r.latencies) for r in reports]
            latencies = _reported(latencies, _LATENCY, told, places, len(acks))
        return SubtaskMetrics(counted, gauges, latencies)

    def rescaled(self, parallelism: int) -> SubtaskMetrics:
        """Return those of *parallelism* subtasks: what those have counted that are no more is added to the
        ones that are. Gauges and latencies say again what they have to say."""
        return SubtaskMetrics({key: column.rescaled(parallelism) for key, column in self.counted.items()})

    def shown(self, parallelism: int) -> Iterator[tuple[MetricView, ...]]:
        """Return what the view of each subtask has of them."""
        columns = [*self.counted.values(), *self.gauges.values(), *self.latencies.values()]
        if not columns:
            return repeat((), parallelism)
        rows = zip(*(column.shown() for column in columns), strict=True)
        return (tuple([metric for metric in row if metric is not None]) for row in rows)


def _reported(
    before: Columns,
    kind: _Kind,
    told: Iterable[tuple[int, Mapping[MetricKey, Any]]],
    places: Mapping[str, int],
    parallelism: int,
) -> Columns:
    """The columns with what subtasks have told, in the order of the operators."""
    columns = {key: column.copy() for key, column in before.items()}
    for index, values in told:
        for key, value in values.items():
            if key.uid in places:
                column = columns.get(key)
                if column is None:
                    shown = "" if kind is _LATENCY else key.uid  # latencies are of the subtask
                    column = columns[key] = Column(kind, shown, key.groups, key.name, [None] * parallelism)
                column.add(index, (value,))
    if len(columns) == len(before):
        return columns
    return dict(sorted(columns.items(), key=lambda item: places[item[0].uid]))


# ---- kinds


def _same(value: Any) -> Any:
    return value


def _newer(before: Any, value: Any) -> Any:
    return value


#: Count, sum, minimum and maximum; the last two are None where there is no value.
_Totals: TypeAlias = tuple[int, int, Any, Any]


def _totals(one: _Totals, other: _Totals) -> _Totals:
    if not one[0] or not other[0]:
        return one if one[0] else other
    (count, total, least, greatest), (more, added, less, greater) = one, other
    return count + more, total + added, min(least, less), max(greatest, greater)


def _distribution(totals: _Totals) -> Statistics:
    count, total, least, greatest = totals
    return Statistics(count, least, greatest, total, total / count if count else None)


class _Newest(NamedTuple):
    """Of a histogram."""

    number: int
    window: int
    values: list[float]


def _newest(one: _Newest, other: _Newest) -> _Newest:
    return _Newest(one.number + other.number, one.window, [*one.values, *other.values][-one.window :])


def _histogram(newest: _Newest) -> Statistics:
    values = sorted(newest.values)
    if not values:
        return Statistics(newest.number)
    last = len(values) - 1
    return Statistics(
        newest.number,
        values[0],
        values[-1],
        None,
        statistics.fmean(values),
        statistics.pstdev(values),
        tuple((q, float(values[round(q * last)])) for q in QUANTILES),
    )


def _of_histogram(part: metrics.Histogram) -> _Newest:
    return _Newest(part.get_count(), part.window, part.newest)


_count: Final = operator.methodcaller("get_local_value")
_GAUGE: Final = _Kind("gauge", _same, _newer, _same)
_LATENCY: Final = _Kind("histogram", _of_histogram, _newest, _histogram)
_KINDS: Final[Mapping[type, _Kind]] = {
    metrics.Counter: _Kind("counter", _count, operator.add, _same),
    metrics.Meter: _Kind("meter", _count, operator.add, _same),
    metrics.Distribution: _Kind("distribution", operator.attrgetter("totals"), _totals, _distribution),
    metrics.Histogram: _Kind("histogram", _of_histogram, _newest, _histogram),
}
