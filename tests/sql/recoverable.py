"""Queries whose result depends neither on how their input is cut into epochs nor on where it is processed,
and what they give: for tests of failures, kills and savepoints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

Rows = list[tuple[Any, ...]]

_STEP_MS: Final = 10  # of event time, from row to row
_RATE_MS: Final = 50  # from version to version of the table of rates


@dataclass(frozen=True, slots=True)
class Input:
    """The rows of the table ``numbers``: ``n`` counts them, ``k`` is one of ``keys`` keys.

    :param ranges: how many subtasks read them, each a contiguous range in which event time starts at 0.
    :param rate: rows per second.
    """

    rows: int
    keys: int = 13
    ranges: int = 1
    rate: int = 10_000

    @property
    def span(self) -> int:
        """Rows in a range."""
        return self.rows // self.ranges

    def tables(self) -> tuple[str, str]:
        """Return the statements that create ``numbers``, and ``rates``: every 50 ms of event time the only
        rate has a new version. Times are those of the session's zone, which must be UTC."""
        numbers = f"""CREATE TABLE numbers (
            n BIGINT, k AS MOD(n, {self.keys}), g AS MOD(n, 5), u AS MOD(n, 3),
            ts AS CAST(TO_TIMESTAMP_LTZ(MOD(n, {self.span}) * {_STEP_MS}, 3) AS TIMESTAMP(3)),
            WATERMARK FOR ts AS ts
        ) WITH ({self._generated("n", self.rows, self.rate)})"""
        rate = max(1, self.rate * _STEP_MS // _RATE_MS)
        rates = f"""CREATE TABLE rates (
            u BIGINT, r BIGINT,
            ts AS CAST(TO_TIMESTAMP_LTZ(r * {_RATE_MS}, 3) AS TIMESTAMP(3)),
            WATERMARK FOR ts AS ts, PRIMARY KEY (u) NOT ENFORCED
        ) WITH ({self._generated("r", self.span * _STEP_MS // _RATE_MS, rate)},
            'fields.u.min' = '0', 'fields.u.max' = '0')"""
        return numbers, rates

    def _generated(self, column: str, count: int, rate: int) -> str:
        return (
            f"'connector' = 'datagen', 'rows-per-second' = '{rate}', 'scan.parallelism' = '{self.ranges}', "
            f"'fields.{column}.kind' = 'sequence', 'fields.{column}.start' = '0', "
            f"'fields.{column}.end' = '{count - 1}'"
        )

    def numbers(self) -> Iterator[tuple[int, int, int]]:
        """Yield ``n``, ``k`` and the event time in milliseconds."""
        for n in range(self.rows):
            yield n, n % self.keys, n % self.span * _STEP_MS


@dataclass(frozen=True, slots=True)
class Query:
    """:param expected: the rows that it leaves, in any order. :param keys: places of the columns by which
    rows are updated; none: rows are taken back whole. :param updates: whether rows are taken back at all."""

    sql: str
    expected: Callable[[Input], Rows]
    keys: tuple[int, ...] = ()
    updates: bool = True


def _groups(given: Input) -> Rows:
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    for key, numbers in _by_key(given).items():
        found[key % 5, len(numbers)].append(sum(numbers))
    return [(*group, len(sums), sum(sums)) for group, sums in found.items()]


def _joined(given: Input) -> Rows:
    counts = {key: len(numbers) for key, numbers in _by_key(given).items()}
    return [(n, counts.get(n // 3) if n % 3 == 0 else None) for n in range(given.rows)]


def _windows(given: Input) -> Rows:
    found: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for n, k, ms in given.numbers():
        for start in range(ms // 1000 - 2, ms // 1000 + 1):
            found[n % 5, start].append((n, k))
    return [
        (*window, len(rows), sum(n for n, _ in rows), len({k for _, k in rows}))
        for window, rows in found.items()
    ]


def _best(given: Input) -> Rows:
    return [
        (key, rank, n)
        for key, numbers in _by_key(given).items()
        for rank, n in enumerate(sorted(numbers, key=lambda n: (-(n * 37 % 101), n))[:3], start=1)
    ]


def _rated(given: Input) -> Rows:
    return [(n, None if n % 3 else ms // _RATE_MS) for n, _, ms in given.numbers()]


def _by_key(given: Input) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for n, k, _ in given.numbers():
        found[k].append(n)
    return found


#: Groups of counts: groups appear, change, and go when the last count leaves them.
AGGREGATE: Final = Query(
    """SELECT MOD(k, 5) AS g, c, COUNT(*) AS ks, SUM(s) AS s
       FROM (SELECT k, COUNT(*) AS c, SUM(n) AS s FROM numbers GROUP BY k) GROUP BY MOD(k, 5), c""",
    _groups,
    (0, 1),
)
#: Rows without a partner, which one comes for later, and changes.
JOIN: Final = Query(
    """SELECT n, c FROM numbers
       LEFT JOIN (SELECT k AS j, COUNT(*) AS c FROM numbers GROUP BY k) ON n = j * 3""",
    _joined,
)
WINDOW: Final = Query(
    """SELECT g, TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_start) AS s,
              COUNT(*) AS c, SUM(n) AS t, COUNT(DISTINCT k) AS d
       FROM TABLE(HOP(TABLE numbers, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '3' SECOND))
       GROUP BY g, window_start, window_end""",
    _windows,
    updates=False,
)
TOP_N: Final = Query(
    """SELECT k, r, n FROM (
           SELECT k, n, ROW_NUMBER() OVER (PARTITION BY k ORDER BY MOD(n * 37, 101) DESC, n) AS r FROM numbers
       ) WHERE r <= 3""",
    _best,
    (0, 1),
)
DEDUPLICATION: Final = Query(
    """SELECT k, n FROM (
           SELECT k, n, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS r FROM numbers
       ) WHERE r = 1""",
    lambda given: [(key, numbers[-1]) for key, numbers in _by_key(given).items()],
    (0,),
)
TEMPORAL_JOIN: Final = Query(
    """SELECT o.n, v.r FROM numbers AS o
       LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS v ON o.u = v.u""",
    _rated,
    updates=False,
)
QUERIES: Final = {
    "aggregate": AGGREGATE,
    "join": JOIN,
    "window": WINDOW,
    "top-n": TOP_N,
    "deduplication": DEDUPLICATION,
    "temporal join": TEMPORAL_JOIN,
}
