"""Aggregates on columns: kernels by the name of the aggregate."""

from __future__ import annotations

from typing import Any, Final

from firesteel.sql.operators.kernels import bitmaps, extremes, loops, sums, variances
from firesteel.sql.operators.kernels.base import KERNELS, Kernel, KernelCall
from firesteel.sql.operators.kernels.multiset import MultisetKernel, without_duplicates
from firesteel.sql.operators.kernels.segments import Segments

__all__ = ["KERNELS", "Kernel", "KernelCall", "Segments", "kernel_of", "merging_kernel_of"]

_LOADED: Final = (bitmaps, extremes, loops, sums, variances)  # each registers its kernels


def kernel_of(what: KernelCall) -> Kernel:
    """The kernel of a call.

    :raises ProgramError: there is no such aggregate.
    """
    name = what.call.function
    definition: Any = what.functions.get(name)
    if definition is not None:
        return loops.of_user(what, getattr(definition, "aggregate", definition))
    make = KERNELS.get(name.upper())
    if make is None:
        raise loops.unknown(what, list(KERNELS))
    return make(what)


def merging_kernel_of(what: KernelCall) -> Kernel:
    """The same, where accumulators of several keys are to be merged."""
    made = kernel_of(what)
    if made.merges and not (what.call.distinct and made.counts_duplicates):
        return made
    return MultisetKernel(what, kernel_of(without_duplicates(what)))
