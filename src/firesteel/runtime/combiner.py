"""Aggregation before the exchange: what a batch has for one key and the same windows travels as one value.

A hot key then costs its subtask one call for each batch of each producer instead of one for each element
(Flink SQL does the same under the name local-global aggregation). Elements of a reduce travel reduced, as
elements like any other; those of an aggregate travel as ``Partial``. Which operators are served is decided in
``runtime/combining.py``. Elements that may be late travel as they are, so lateness is decided where
it always is.

A reduce in BATCH mode, of which only the last result counts, has the values of many batches travel as one.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import reduce
from itertools import islice
from typing import Any, Final

from firesteel.program.operators import WindowContents
from firesteel.runtime.batch import NO_TIMESTAMP
from firesteel.runtime.combining import combining_of
from firesteel.runtime.operators.base import are_immutable, method_of
from firesteel.runtime.packing import pack, unpack
from firesteel.runtime.program import PreAggregation
from firesteel.runtime.sizes import rough_size
from firesteel.runtime.user_code import UserCode
from firesteel.runtime.windowing.contents import Partial
from firesteel.runtime.windowing.places import Place, Places
from firesteel.runtime.wire import dumps

Stamps = Sequence[int] | None

_MOST_KEYS: Final = 1 << 17
_MOST_BYTES: Final = 64 << 20
_BYTES_OF_OBJECT: Final = 48


class Combiner:
    """What one router aggregates for the operator behind its exchange."""

    def __init__(self, what: PreAggregation) -> None:
        self._user_code = UserCode(what.operator.name, what.operator.uid)
        self._by_time = what.by_time
        self._places: Places | None = None
        self._tells_late = False  # each late element shows by itself: in a side output, or by a firing
        spec = what.operator.spec
        combining = combining_of(spec)
        assert combining is not None, "only operators of kinds that can be served are chosen"
        self._fold = _fold_of(combining.contents(spec))
        windows = combining.windows(spec)
        if windows is not None and windows.assigner.is_event_time():
            # Else what comes in one buffer has one processing time.
            self._places = Places(windows.assigner)
            self._size_ms: int = windows.assigner.size_ms
            self._tells_late = windows.late_tag is not None or windows.allowed_lateness_ms > 0

    def combine(  # hot
        self,
        values: list[Any],
        stamps: Stamps,
        keys: list[Any],
        canon: list[Any],
        watermark: int,
        was_idle: bool,
    ) -> tuple[list[Any], Stamps, list[Any]]:
        """Values, timestamps and keys as they travel; a value has the timestamp of its first element.

        :param canon: the keys as ``canonical_keys`` gives them.
        :param watermark: the last one that was sent before.
        :param was_idle: whether the channel ever was.
        """
        if self._places is not None and (stamps is None or NO_TIMESTAMP in stamps):
            return values, stamps, keys  # the window operator refuses them
        groups: dict[Hashable, list[int]] = defaultdict(list)  # positions of what is aggregated together
        for i, group in enumerate(self._groups(canon, stamps, watermark, was_idle)):
            groups[group].append(i)
        if len(groups) == len(values):
            return values, stamps, keys
        members = list(groups.values())
        if self._by_time and stamps is not None:
            for positions in members:
                positions.sort(key=stamps.__getitem__)
        with self._user_code:  # the function is the receiving operator's
            travelling = self._aggregated(values, members)
        first = [positions[0] for positions in members]
        return travelling, stamps and [stamps[i] for i in first], [keys[i] for i in first]

    def _groups(self, canon: list[Any], stamps: Stamps, watermark: int, was_idle: bool) -> Iterable[Hashable]:
        """For each element what it is aggregated by; its own position when it travels alone."""
        if self._places is None:
            return canon
        if was_idle and self._tells_late:  # then the receiver's watermark may be ahead of this channel's
            return range(len(canon))
        assert stamps is not None
        places = self._places.of(stamps)
        safe = {place: self._is_safe(place, watermark) for place in set(places)}
        if all(safe.values()):
            return zip(canon, places, strict=True)
        return [
            (key, place) if safe[place] else i
            for i, (key, place) in enumerate(zip(canon, places, strict=True))
        ]

    def _is_safe(self, place: Place, watermark: int) -> bool:
        """Whether all windows of a place are open. The receiver's watermark is at most this channel's."""
        assert self._places is not None
        starts = self._places.starts(place)
        return bool(starts) and starts[-1] + self._size_ms - 1 > watermark

    def _aggregated(self, values: list[Any], members: list[list[int]]) -> list[Any]:
        fold = self._fold
        copies = iter(_copies([values[i] for positions in members if len(positions) > 1 for i in positions]))
        return [
            fold(list(islice(copies, len(positions)))) if len(positions) > 1 else values[positions[0]]
            for positions in members
        ]


class Holder:
    """Aggregates for a reduce in BATCH mode, of which only the last result of a key counts: what many batches
    have for a key travels as one value.

    :param what: of a reduce, without windows.
    """

    def __init__(self, what: PreAggregation) -> None:
        self._user_code = UserCode(what.operator.name, what.operator.uid)
        self._copies = _themselves if what.never_change else _copies
        combining = combining_of(what.operator.spec)
        assert combining is not None
        self._step = method_of(combining.contents(what.operator.spec).function, "reduce")
        self.drop()

    def drop(self) -> None:
        self._values: dict[Hashable, list[Any]] = {}  # in a list of one: a key is looked up once
        self._keys: dict[Hashable, Any] = {}  # of those that are not canonical
        self._stamps: dict[Hashable, int] = {}
        self._bytes = 0  # of the elements that have come, about: what a function keeps of them is not known

    @staticmethod
    def serves(what: PreAggregation) -> bool:
        combining = combining_of(what.operator.spec)
        return what.by_time and combining is not None and combining.windows(what.operator.spec) is None

    @property
    def is_full(self) -> bool:
        return len(self._values) >= _MOST_KEYS or self._bytes >= _MOST_BYTES

    def add(self, values: list[Any], stamps: Stamps, keys: list[Any], canon: list[Any]) -> None:  # hot
        """:param canon: the keys as ``canonical_keys`` gives them."""
        self._bytes += len(values) * (rough_size(values[0]) + _BYTES_OF_OBJECT)
        if keys is not canon:
            self._keys.update(zip(reversed(canon), reversed(keys), strict=True))
        with self._user_code:  # the function is the receiving operator's
            if stamps is None:
                self._fold(self._copies(values), canon)
            else:
                self._fold_by_time(self._copies(values), stamps, canon)

    def _fold(self, values: list[Any], canon: list[Any]) -> None:  # hot
        held, step = self._values, self._step
        known = held.get
        for group, value in zip(canon, values, strict=True):
            cell = known(group)
            if cell is None:
                held[group] = [value]
            else:
                cell[0] = step(cell[0], value)

    def _fold_by_time(self, values: list[Any], stamps: Sequence[int], canon: list[Any]) -> None:  # hot
        """The earliest element stays the first argument: some reduces keep fields of it."""
        held, known, step = self._values, self._stamps, self._step
        for group, value, stamp in zip(canon, values, stamps, strict=True):
            cell = held.get(group)
            if cell is None:
                held[group], known[group] = [value], stamp
            elif stamp < known[group]:
                cell[0], known[group] = step(value, cell[0]), stamp
            else:
                cell[0] = step(cell[0], value)

    def take(self) -> tuple[list[Any], Stamps, list[Any], list[Any]]:
        """Values, timestamps, keys and canonical keys as they travel. A value has the earliest timestamp of
        its elements."""
        canon = list(self._values)
        values = [value for (value,) in self._values.values()]
        known = self._keys
        keys = [known.get(key, key) for key in canon] if known else canon
        stamps = list(map(self._stamps.__getitem__, canon)) if self._stamps else None
        self.drop()
        return values, stamps, keys, canon


def _themselves(values: list[Any]) -> list[Any]:
    return values


def _copies(values: list[Any]) -> list[Any]:
    """What functions get here as they get it behind the exchange: objects that they may change."""
    return values if are_immutable(values) else unpack(pickle.loads(dumps(pack(values))))


def _fold_of(contents: WindowContents) -> Callable[[list[Any]], Any]:
    """Elements -> the one value that travels for them."""
    function = contents.function
    if contents.kind == "reduce":
        step = method_of(function, "reduce")
        return lambda elements: reduce(step, elements)

    def accumulate(elements: list[Any]) -> Partial:
        accumulator = function.create_accumulator()
        add = function.add
        for element in elements:
            accumulator = add(element, accumulator)
        return Partial(accumulator)

    return accumulate
