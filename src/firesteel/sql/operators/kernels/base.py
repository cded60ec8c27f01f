"""What an aggregate is for the operators: a kernel, which runs over rows sorted by key.

A kernel has *fields*, its accumulator, one array for each over keys or rows. ``scan`` gives them after each
row, ``fold`` after each segment; ``merge`` puts two accumulators of a key together, the earlier one first;
``values`` makes the results of accumulators.

``weights`` say what a row counts for: 1, -1 when it is a retraction, 0 when a filter or DISTINCT leaves it
out. None: each counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa

from firesteel.sql import types as t
from firesteel.sql.expressions import AggregateCall
from firesteel.sql.operators.kernels.segments import Array, Segments
from firesteel.sql.operators.row_state import Field
from firesteel.state.columns import CanonicalKey

__all__ = ["KERNELS", "Fields", "Kernel", "KernelCall", "kernel", "valid_rows"]

Fields = Sequence[Array]
Arguments = Sequence[pa.Array]


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A call as a kernel sees it.

    :param types: of its arguments. :param retracts: whether rows may be retracted.
    :param functions: the user's.
    """

    call: AggregateCall
    types: tuple[t.DataType, ...]
    retracts: bool
    functions: Mapping[str, Any]


class Kernel:
    """One aggregate call."""

    fields: tuple[Field, ...] = ()
    #: Whether accumulators can be merged.
    merges: ClassVar[bool] = True
    #: Whether a value that comes again changes the result, so that DISTINCT has to leave it out beforehand.
    counts_duplicates: ClassVar[bool] = True
    #: Whether a weight may be any number: so many rows with one value.
    takes_counts: ClassVar[bool] = False
    #: What its fields hold, where that is not what state of older savepoints holds: such state is refused.
    form: ClassVar[str] = ""

    def __init__(self, what: KernelCall) -> None:
        self.what = what
        self.result = what.call.type

    @property
    def merges_parts(self) -> bool:
        """Whether some rows of a key can be aggregated on their own, in another task, and then be merged with
        what there was before them."""
        return self.merges

    def open(self, state: Any, name: str, ttl_ms: int) -> None:
        """State is there; what the kernel keeps beside its fields has names that begin with *name*."""

    def scan(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        raise NotImplementedError

    def fold(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        return [field[segments.last] for field in self.scan(arguments, weights, segments, base)]

    def merge(self, first: Fields, second: Fields) -> list[Array]:
        raise NotImplementedError

    def values(self, fields: Fields) -> pa.Array:
        raise NotImplementedError

    def clear(self, name: Any, key: CanonicalKey) -> None:
        """The key is gone: forget what is kept beside the fields."""


#: Name of an aggregate -> its kernel for a call.
KERNELS: Final[dict[str, Callable[[KernelCall], Kernel]]] = {}


def kernel(*names: str) -> Callable[[Any], Any]:
    """Decorator: what makes the kernels of the aggregates *names*."""

    def register(make: Any) -> Any:
        for name in names:
            KERNELS[name] = make
        return make

    return register


def valid_rows(array: pa.Array, weights: Array | None, count: int) -> Array:
    """What each row counts for when one with a null does not."""
    if not array.null_count:
        return np.ones(count, np.int64) if weights is None else weights
    valid: Array = array.is_valid().to_numpy(zero_copy_only=False)
    return valid.astype(np.int64) if weights is None else weights * valid
