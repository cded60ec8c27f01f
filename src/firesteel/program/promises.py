"""What sources and sinks promise about a record whatever fails, and what follows for the whole way.

Each source and sink says it of itself (``Source.promise``, ``Sink.promise``). The warning about a source that
cannot be read again and the table of docs/guarantees.md are made from that.
"""

from __future__ import annotations

import enum

__all__ = ["Guarantee", "SinkPromise", "SourcePromise", "end_to_end"]


class SourcePromise(enum.Enum):
    """What a job reads of a source when it goes back to a checkpoint or, without one, starts over."""

    #: What came after that, and nothing else: the source is read again from its positions.
    EXACTLY_ONCE = "exactly once"
    #: What came after that, and perhaps some of what came before.
    AT_LEAST_ONCE = "at least once"
    #: Not all of what came after that: some of it is lost.
    AT_MOST_ONCE = "at most once"

    @classmethod
    def from_start(cls, *, latest: bool) -> SourcePromise:
        """Return what a log promises to a job without checkpoints, which looks for its start again: beginning
        at the *latest* record it leaves out what came in between."""
        return cls.AT_MOST_ONCE if latest else cls.EXACTLY_ONCE


class SinkPromise(enum.Enum):
    """What an outsider sees of a record that a job has processed exactly once."""

    #: Once, and never before what it belongs to is committed.
    EXACTLY_ONCE = "exactly once"
    #: Once in the end: what is written again replaces itself, by a key.
    UPSERT = "upsert"
    #: Once or several times.
    AT_LEAST_ONCE = "at least once"
    #: Any number of times: a message that is lost on its way is not sent again.
    NONE = "none"


class Guarantee(enum.Enum):
    """How often a record of the source is in the output of a job after a failure."""

    EXACTLY_ONCE = "exactly once"
    EVENTUALLY_ONCE = "once in the end"
    AT_LEAST_ONCE = "at least once"
    AT_MOST_ONCE = "at most once"
    NONE = "none"

    @property
    def may_lose(self) -> bool:
        return self in (Guarantee.AT_MOST_ONCE, Guarantee.NONE)

    @property
    def may_repeat(self) -> bool:
        return self in (Guarantee.AT_LEAST_ONCE, Guarantee.NONE)


_OF_SINK = {
    SinkPromise.EXACTLY_ONCE: Guarantee.EXACTLY_ONCE,
    SinkPromise.UPSERT: Guarantee.EVENTUALLY_ONCE,
    SinkPromise.AT_LEAST_ONCE: Guarantee.AT_LEAST_ONCE,
    SinkPromise.NONE: Guarantee.NONE,
}


def end_to_end(source: SourcePromise, sink: SinkPromise, *, checkpoints: bool = True) -> Guarantee:
    """Return how often a record is in the output, from what both ends promise.

    Without checkpoints a job that failed starts over, without state: all that can be read again is processed
    again, and shown again unless it is written by a key.
    """
    shown = _OF_SINK[sink]
    if source is SourcePromise.AT_MOST_ONCE:
        return Guarantee.NONE if shown.may_repeat else Guarantee.AT_MOST_ONCE
    if source is SourcePromise.AT_LEAST_ONCE and not shown.may_lose:
        return Guarantee.AT_LEAST_ONCE  # by a key, too: state has counted it twice
    if not checkpoints and shown is Guarantee.EXACTLY_ONCE:
        return Guarantee.AT_LEAST_ONCE
    return shown
