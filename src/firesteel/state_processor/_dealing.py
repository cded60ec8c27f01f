"""From the rows of a DataFrame to the subtasks whose state they make."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from firesteel.common._map_all import map_all
from firesteel.common.typeinfo import TypeInformation
from firesteel.program.key_coercion import compile_key_coercion
from firesteel.runtime.batch import Batch
from firesteel.spark.parts import Portion
from firesteel.state.key_groups import KeyTargets
from firesteel.state.keys import canonical_keys
from firesteel.state_processor._values import rows_of_batch

Ship = Literal["by key", "by subtask", "in turn", "to all"]


@dataclass(frozen=True, slots=True)
class Dealing:
    """Says which subtasks get which rows; it travels to the tasks.

    :param key: takes the key out of a row (``by key``), or the number of a subtask (``by subtask``).
    :param timestamp: takes the time of a row out of it, in epoch milliseconds; None: rows have none.
    """

    ship: Ship
    parallelism: int
    max_parallelism: int
    time_zone: str
    key: Callable[[Any], Any] | None = None
    key_type: TypeInformation | None = None
    timestamp: Callable[[Any], int] | None = None

    def deal(self, partition: int, batches: Iterable[pa.RecordBatch]) -> Iterator[Portion]:
        numbers = itertools.count()
        for turn, batch in enumerate(batches, partition):
            rows = rows_of_batch(batch, self.time_zone)
            stamps = None if self.timestamp is None else map_all(self.timestamp, rows)
            if self.key is not None:
                dealt = self._chosen(rows, stamps, map_all(self.key, rows))
            else:
                targets = range(self.parallelism) if self.ship == "to all" else (turn % self.parallelism,)
                dealt = ((target, (rows, stamps, None)) for target in targets)
            for target, content in dealt:
                yield Portion(target, partition, next(numbers), pickle.dumps(content, 5))

    def _chosen(
        self, rows: list[Any], stamps: list[int] | None, keys: list[Any]
    ) -> Iterator[tuple[int, tuple[list[Any] | None, ...]]]:
        """Each row goes to the subtask that its key belongs to."""
        coerce = compile_key_coercion(self.key_type)
        if coerce is not None:
            keys = coerce(keys)
        places: dict[int, list[int]] = {}
        for at, target in enumerate(self._targets(keys)):
            places.setdefault(target, []).append(at)
        for target, chosen in places.items():
            columns = (rows, stamps, keys)
            yield target, tuple(column and [column[at] for at in chosen] for column in columns)

    def _targets(self, keys: list[Any]) -> Iterable[int]:
        if self.ship == "by subtask":
            return (number % self.parallelism for number in keys)
        targets = KeyTargets.of(self.max_parallelism, self.parallelism)
        return targets.of_all(canonical_keys(keys))


def batches_of_portions(bodies: Iterable[bytes]) -> Iterator[Batch]:
    for body in bodies:
        values, stamps, keys = pickle.loads(body)
        yield Batch(values, stamps, keys=keys)
