"""Windows of tables (PyFlink: ``pyflink.table.window``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from firesteel.table import _tree as tree
from firesteel.table.expression import Expression, tree_of

__all__ = [
    "GroupWindow",
    "Over",
    "OverWindow",
    "OverWindowPartitioned",
    "OverWindowPartitionedOrdered",
    "OverWindowPartitionedOrderedPreceding",
    "Session",
    "SessionWithGap",
    "SessionWithGapOnTime",
    "Slide",
    "SlideWithSize",
    "SlideWithSizeAndSlide",
    "SlideWithSizeAndSlideOnTime",
    "Tumble",
    "TumbleWithSize",
    "TumbleWithSizeOnTime",
]


@dataclass(frozen=True, slots=True)
class WindowParts:
    """A group window while it is put together."""

    kind: str
    size: tree.Tree
    slide: tree.Tree | None = None
    time: tree.Tree | None = None
    alias: str = ""


def _alias(alias: str | Expression[Any]) -> str:
    found = tree_of(alias) if isinstance(alias, Expression) else alias
    return found.name if isinstance(found, tree.Column) else str(found)


class GroupWindow:
    """A window that has all that it needs, for ``Table.window``."""

    def __init__(self, window: WindowParts) -> None:
        self._parts = window


class _Step:
    """A window that needs more."""

    def __init__(self, window: WindowParts) -> None:
        self._parts = window


class Tumble:
    """Windows of one size that follow each other."""

    @classmethod
    def over(cls, size: Expression[Any]) -> TumbleWithSize:
        """Their size: a time, or a number of rows."""
        return TumbleWithSize(WindowParts("TUMBLE", tree_of(size)))


class TumbleWithSize(_Step):
    def on(self, time_field: Expression[Any]) -> TumbleWithSizeOnTime:
        """The time attribute."""
        return TumbleWithSizeOnTime(replace(self._parts, time=tree_of(time_field)))


class TumbleWithSizeOnTime(_Step):
    def alias(self, alias: str | Expression[Any]) -> GroupWindow:
        """The name of the window, for ``group_by`` and ``select``."""
        return GroupWindow(replace(self._parts, alias=_alias(alias)))


class Slide:
    """Windows of one size, one in each interval."""

    @classmethod
    def over(cls, size: Expression[Any]) -> SlideWithSize:
        """Their size: a time, or a number of rows."""
        return SlideWithSize(WindowParts("HOP", tree_of(size)))


class SlideWithSize(_Step):
    def every(self, slide: Expression[Any]) -> SlideWithSizeAndSlide:
        """The interval between their starts."""
        return SlideWithSizeAndSlide(replace(self._parts, slide=tree_of(slide)))


class SlideWithSizeAndSlide(_Step):
    def on(self, time_field: Expression[Any]) -> SlideWithSizeAndSlideOnTime:
        """The time attribute."""
        return SlideWithSizeAndSlideOnTime(replace(self._parts, time=tree_of(time_field)))


class SlideWithSizeAndSlideOnTime(_Step):
    def alias(self, alias: str | Expression[Any]) -> GroupWindow:
        """The name of the window, for ``group_by`` and ``select``."""
        return GroupWindow(replace(self._parts, alias=_alias(alias)))


class Session:
    """Windows that end when nothing has come for a time."""

    @classmethod
    def with_gap(cls, gap: Expression[Any]) -> SessionWithGap:
        """That time."""
        return SessionWithGap(WindowParts("SESSION", tree_of(gap)))


class SessionWithGap(_Step):
    def on(self, time_field: Expression[Any]) -> SessionWithGapOnTime:
        """The time attribute."""
        return SessionWithGapOnTime(replace(self._parts, time=tree_of(time_field)))


class SessionWithGapOnTime(_Step):
    def alias(self, alias: str | Expression[Any]) -> GroupWindow:
        """The name of the window, for ``group_by`` and ``select``."""
        return GroupWindow(replace(self._parts, alias=_alias(alias)))


# ---------------------------------------------------------------- over


@dataclass(frozen=True, slots=True)
class OverParts:
    """An over-window while it is put together."""

    partition: tuple[tree.Tree, ...] = ()
    order: tree.Tree | None = None
    preceding: tree.Tree | None = None
    following: tree.Tree | None = None
    alias: str = ""


class Over:
    """Windows of the rows around each row."""

    @classmethod
    def order_by(cls, order_by: Expression[Any]) -> OverWindowPartitionedOrdered:
        """The order of the rows: a time attribute, or other columns."""
        return OverWindowPartitionedOrdered(OverParts(order=tree_of(order_by)))

    @classmethod
    def partition_by(cls, *partition_by: Expression[Any]) -> OverWindowPartitioned:
        """Rows of equal values alone are in a window."""
        return OverWindowPartitioned(OverParts(partition=tuple(map(tree_of, partition_by))))


class OverWindowPartitioned:
    def __init__(self, window: OverParts) -> None:
        self._parts = window

    def order_by(self, order_by: Expression[Any]) -> OverWindowPartitionedOrdered:
        """The order of the rows."""
        return OverWindowPartitionedOrdered(replace(self._parts, order=tree_of(order_by)))


class OverWindowPartitionedOrdered:
    def __init__(self, window: OverParts) -> None:
        self._parts = window

    def alias(self, alias: str | Expression[Any]) -> OverWindow:
        """The name of the window; it goes from the first row to this one."""
        return OverWindow(replace(self._parts, alias=_alias(alias)))

    def preceding(self, preceding: Expression[Any]) -> OverWindowPartitionedOrderedPreceding:
        """Where it begins: an interval or a number of rows before, or UNBOUNDED_RANGE, UNBOUNDED_ROW."""
        return OverWindowPartitionedOrderedPreceding(replace(self._parts, preceding=tree_of(preceding)))


class OverWindowPartitionedOrderedPreceding:
    def __init__(self, window: OverParts) -> None:
        self._parts = window

    def alias(self, alias: str | Expression[Any]) -> OverWindow:
        """The name of the window; it ends with the row."""
        return OverWindow(replace(self._parts, alias=_alias(alias)))

    def following(self, following: Expression[Any]) -> OverWindowPartitionedOrderedPreceding:
        """Where it ends: CURRENT_ROW or CURRENT_RANGE."""
        return OverWindowPartitionedOrderedPreceding(replace(self._parts, following=tree_of(following)))


class OverWindow:
    """A window that has all that it needs, for ``Table.over_window``."""

    def __init__(self, window: OverParts) -> None:
        self._parts = window
