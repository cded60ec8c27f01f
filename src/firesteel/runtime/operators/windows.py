"""The window operator for every assigner, trigger and evictor (Flink: ``WindowOperator``).

Contents, trigger state and timers belong to a key and a window: their state lies under the key that
``scoped_key`` gives, their timers have the window as namespace. Time windows with their own trigger have
operators that are much faster, ``operators/panes.py`` and ``sessions.py``; the results are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

from firesteel.common._shown import shown
from firesteel.common.errors import StateError, TypeMismatchError
from firesteel.program.functions.window import ProcessAllWindowFunction, ProcessWindowFunction
from firesteel.program.operators import Window
from firesteel.program.time_domain import TimeDomain
from firesteel.program.windows.assigner import MergingWindowAssigner
from firesteel.program.windows.assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from firesteel.program.windows.evictors import Evictor
from firesteel.program.windows.triggers import TriggerResult
from firesteel.runtime.batch import MAX_WATERMARK, NO_TIMESTAMP, Batch
from firesteel.runtime.contexts import TaskRuntimeContext
from firesteel.runtime.metrics import Counter
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.operators.keyed import KeyedOperator, due_timers, stamp_at
from firesteel.runtime.program import OperatorProgram
from firesteel.runtime.windowing.calls import WindowContext, clear_call, window_call
from firesteel.runtime.windowing.codec import window_codec
from firesteel.runtime.windowing.contents import EvictingContents, SingleContents, make_contents
from firesteel.runtime.windowing.contexts import AssignerContext, EvictorContext, TriggerContext
from firesteel.runtime.windowing.inherited import into_windows, refuse
from firesteel.runtime.windowing.merging import MergingWindows
from firesteel.runtime.windowing.places import Place, Places
from firesteel.runtime.windowing.scopes import NoWindowState, WindowStateStore
from firesteel.state.backend import OperatorState
from firesteel.state.keys import with_namespace

LATE_RECORDS_DROPPED: Final = "numLateRecordsDropped"  # as in Flink


class WindowedOperator(KeyedOperator):
    """What the window operators share: the function and its context, late records."""

    def __init__(self, program: OperatorProgram, spec: Window) -> None:
        super().__init__(program, spec.function)
        self.spec = spec
        self._call = window_call(spec.function)
        self._clear = clear_call(spec.function)
        self._encode, self._decode = window_codec(spec.assigner.get_window_serializer())
        self._batch_scopes: set[bytes] = set()
        self._heads: dict[Any, bytes] = {}  # what the scoped keys of a key begin with

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)
        metrics = context.metric_group(self.program)
        self._dropped: Counter = metrics.counter(LATE_RECORDS_DROPPED)

    def on_open(self) -> None:
        self._runtime_context = TaskRuntimeContext(self.context, self.program, self.state)
        merging = isinstance(self.spec.assigner, MergingWindowAssigner)
        self._window_state = WindowStateStore(self.state)
        store = NoWindowState(self.program.name) if merging else self._window_state
        self.window_context = WindowContext(self, store, self._runtime_context)
        self._has_window_state = not merging and isinstance(
            self.spec.function, (ProcessWindowFunction, ProcessAllWindowFunction)
        )

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._heads.clear()

    def scoped_key(self, namespace: bytes) -> bytes:
        """The key of what is kept for the current key and a window."""
        key = self.state.key
        head = self._heads.get(key)
        if head is None:
            head = self._heads[key] = with_namespace(key, b"")
        key = head + namespace
        if self.context.batch_mode:
            self._batch_scopes.add(key)
        return key

    def take_scopes(self) -> Iterable[bytes]:
        scopes, self._batch_scopes = self._batch_scopes, set()
        return scopes

    def enter_window(self, window: Any) -> None:
        """The context is about this window of the current key from here on."""
        self.window_context.current = window
        if self._has_window_state:
            self._window_state.key = self.scoped_key(self._encode(window))

    def late(self, value: Any, timestamp: int) -> None:
        if self.spec.late_tag is not None:
            self.outputs.collect_side(self.spec.late_tag, value, timestamp)
        else:
            self._dropped.inc()


class _Target(NamedTuple):
    """A window that takes an element, with what follows from it."""

    window: Any
    namespace: bytes
    cleanup_ms: int  # when the window and all of its state go; MAX_WATERMARK: never


class WindowOperator(WindowedOperator):
    def __init__(self, program: OperatorProgram, spec: Window) -> None:
        super().__init__(program, spec)
        self._assigner = spec.assigner
        self._trigger = spec.trigger
        self._event_time: bool = spec.assigner.is_event_time()
        self._lateness_ms = spec.allowed_lateness_ms if self._event_time else 0
        by_time = type(spec.assigner) in (TumblingEventTimeWindows, SlidingEventTimeWindows)
        self._places = Places(spec.assigner) if by_time else None

    def on_open(self) -> None:
        super().on_open()
        state = self.state
        self._contents = make_contents(self.spec, state)
        self._assigner_context = AssignerContext(self, self._runtime_context)
        self._trigger_context = TriggerContext(self, self._runtime_context)
        self._evictor_context = EvictorContext(self, self._runtime_context)
        self._merging: MergingWindows | None = None
        if isinstance(self._assigner, MergingWindowAssigner):
            self._merging = MergingWindows(self._assigner, state, self._encode, self._decode, self._on_merge)

    def begin_epoch(self) -> None:
        super().begin_epoch()
        if self._merging is not None:
            self._merging.forget()  # what an abandoned attempt left
            refuse(self.state)
        elif isinstance(self._contents, SingleContents):
            size_ms = getattr(self._assigner, "size_ms", 0)
            into_windows(
                self.state, self._contents, size_ms, self._event_time, self.scoped_key, self._cleanup_ms
            )

    def end_epoch(self) -> None:
        super().end_epoch()
        if self._merging is not None:
            self._merging.flush()

    def end_key(self) -> None:
        super().end_key()
        if self._merging is not None:
            self._merging.forget()

    # ---- elements

    def run(self, batch: Batch, canon: list[Any], start: int, stop: int, input_index: int) -> None:  # hot
        state = self.state
        raw_keys = batch.keys
        assert raw_keys is not None
        find: Callable[[Any, int], Collection[Any]] = self._targets
        put: Callable[[Any, Any, int], bool] = self._put
        if self._merging is not None:
            find, put = self._windows, self._put_merging
        places = self._places_of(batch.timestamps, start, stop)
        known: dict[Place, Collection[Any]] = {}
        for i in range(start, stop):
            state.key = canon[i]
            state.raw_key = raw_keys[i]
            value = batch.values[i]
            stamp = stamp_at(batch.timestamps, i)
            if places is None:
                targets = find(value, stamp)
            elif (found := known.get(place := places[i - start])) is not None:
                targets = found
            else:
                targets = known[place] = find(value, stamp)
            accepted = False
            for target in targets:
                accepted = put(target, value, stamp) or accepted
            if not accepted and self._event_time and stamp + self._lateness_ms <= self.watermark:
                self.late(value, stamp)

    def _places_of(self, stamps: Sequence[int] | None, start: int, stop: int) -> list[Place] | None:
        """For each element what its windows follow from; None: only the assigner knows."""
        if self._places is None or stamps is None:
            return None
        stamps = stamps[start:stop]
        return None if NO_TIMESTAMP in stamps else self._places.of(stamps)

    def _windows(self, value: Any, stamp: int) -> Collection[Any]:
        windows: Collection[Any] = self._assigner.assign_windows(value, stamp, self._assigner_context)
        return windows

    def _targets(self, value: Any, stamp: int) -> Collection[Any]:
        return [self._target(window) for window in self._windows(value, stamp)]

    def _target(self, window: Any) -> _Target:
        return _Target(window, self._encode(window), self._cleanup_ms(window))

    def _put(self, target: _Target, value: Any, stamp: int) -> bool:
        """Add an element to a window; False: the window is gone."""
        if self._event_time and target.cleanup_ms <= self.watermark:
            return False
        self._add(target, self.scoped_key(target.namespace), value, stamp)
        return True

    def _put_merging(self, window: Any, value: Any, stamp: int) -> bool:
        assert self._merging is not None
        actual = self._merging.add(window)
        target = self._target(actual)
        if self._event_time and target.cleanup_ms <= self.watermark:
            self._merging.retire(actual)
            return False
        held_in = self._merging.state_window(actual)
        namespace = target.namespace if held_in is actual else self._encode(held_in)
        self._add(target, self.scoped_key(namespace), value, stamp)
        return True

    def _add(self, target: _Target, contents_key: bytes, value: Any, stamp: int) -> None:
        """``contents_key``: of the state of the window, which after a merge is that of another one."""
        window, namespace, cleanup_ms = target
        key = self.state.key
        self._contents.add(contents_key, value, stamp)
        self.state.key = key
        self._trigger_context.enter(namespace)
        result = self._trigger.on_element(value, stamp, window, self._trigger_context)
        if result is not TriggerResult.CONTINUE:
            self._act(result, window, contents_key, stamp)
        if cleanup_ms != MAX_WATERMARK:
            timers = self.state.event_timers if self._event_time else self.state.processing_timers
            timers.register(cleanup_ms, namespace)

    def _act(self, result: TriggerResult, window: Any, contents_key: bytes, stamp: int) -> None:
        key = self.state.key
        if not isinstance(result, TriggerResult):
            raise TypeMismatchError(
                f"{type(self._trigger).__name__} must give a TriggerResult; it gave {shown(result)}",
                hint="return TriggerResult.CONTINUE, FIRE, PURGE or FIRE_AND_PURGE",
            )
        if result.is_fire():
            self._emit(window, contents_key, stamp)
        if result.is_purge():
            self._contents.clear(contents_key)
            self.state.key = key

    def _emit(self, window: Any, contents_key: bytes, stamp: int) -> None:
        """Results have the timestamp of what fired the window, an element or a timer (as in PyFlink)."""
        key = self.state.key
        contents = self._contents
        if isinstance(contents, EvictingContents):
            self._emit_evicting(contents, window, contents_key, stamp)
            return
        elements = contents.elements(contents_key)
        self.state.key = key
        if elements is not None:
            self._call_function(window, elements, stamp)

    def _emit_evicting(
        self, contents: EvictingContents, window: Any, contents_key: bytes, stamp: int
    ) -> None:
        evictor: Evictor[Any, Any] = self.spec.evictor
        key = self.state.key
        elements = contents.stamped(contents_key)
        self.state.key = key
        if not elements:
            return
        size = len(elements)
        evictor.evict_before(elements, size, window, self._evictor_context)
        self._call_function(window, contents.fold(elements), stamp)
        evictor.evict_after(elements, size, window, self._evictor_context)
        if len(elements) != size:
            contents.replace(contents_key, elements)
            self.state.key = key

    def _call_function(self, window: Any, elements: list[Any], stamp: int) -> None:
        self.enter_window(window)
        self.collect(self._call(self.state.raw_key, window, self.window_context, elements), stamp)

    # ---- timers

    def _fire(self, timers: Any, until: int, domain: TimeDomain) -> None:
        state = self.state
        on_time = (
            self._trigger.on_event_time
            if domain is TimeDomain.EVENT_TIME
            else self._trigger.on_processing_time
        )
        cleans_up = self._event_time is (domain is TimeDomain.EVENT_TIME)
        for stamp, state.raw_key, state.key, namespace in due_timers(timers, until, domain):
            self._on_window_timer(stamp, namespace, on_time, cleans_up)

    def _on_window_timer(
        self, stamp: int, namespace: bytes, on_time: Callable[..., TriggerResult], cleans_up: bool
    ) -> None:
        window = self._decode(namespace)
        held_in = window if self._merging is None else self._merging.state_window(window)
        if held_in is None:
            return  # a timer that the trigger left behind: the window was merged into another one
        contents_key = self.scoped_key(namespace if held_in is window else self._encode(held_in))
        self._trigger_context.enter(namespace)
        result = on_time(stamp, window, self._trigger_context)
        if result is not TriggerResult.CONTINUE:
            self._act(result, window, contents_key, stamp)
        if cleans_up and stamp == self._cleanup_ms(window):
            self._clean_up(window, namespace, contents_key)

    def _clean_up(self, window: Any, namespace: bytes, contents_key: bytes) -> None:
        key = self.state.key
        self._contents.clear(contents_key)
        self.state.key = key
        self._trigger_context.enter(namespace)
        self._trigger.clear(window, self._trigger_context)
        if self._clear is not None:
            self.enter_window(window)
            self._clear(self.window_context)
        if self._merging is not None:
            self._merging.retire(window)

    def _cleanup_ms(self, window: Any) -> int:
        """When the window and all of its state go; MAX_WATERMARK: never."""
        cleanup_ms: int = window.max_timestamp() + self._lateness_ms
        return cleanup_ms if cleanup_ms < MAX_WATERMARK else MAX_WATERMARK

    # ---- merging

    def _on_merge(self, result: Any, merged: list[Any], kept: Any, moved: Sequence[Any]) -> None:
        """``merged`` became ``result``; its state lies under ``kept``, that of ``moved`` has to go there."""
        self._check_not_past(result)
        encode, context = self._encode, self._trigger_context
        namespaces = [encode(window) for window in merged]
        context.enter(encode(result), [n for n, w in zip(namespaces, merged, strict=True) if w != result])
        self._trigger.on_merge(result, context)
        timers = self.state.event_timers if self._event_time else self.state.processing_timers
        for window, namespace in zip(merged, namespaces, strict=True):
            if window == result:
                continue
            context.enter(namespace)
            self._trigger.clear(window, context)
            timers.delete(self._cleanup_ms(window), namespace)
        key = self.state.key
        sources = [self.scoped_key(encode(window)) for window in moved]
        self._contents.merge(self.scoped_key(encode(kept)), sources)
        self.state.key = key

    def _check_not_past(self, result: Any) -> None:
        if self._event_time:
            clock, now = "watermark", self.watermark
        else:
            clock, now = "processing time", self.context.clock.now_ms
        if self._cleanup_ms(result) <= now:
            raise StateError(
                "The end of a window cannot become earlier than the current time by merging.",
                detail=f"window {result}, current {clock} {now}",
                hint="merge_windows() must give a window that covers those it merges",
            )


__all__ = ["WindowOperator", "WindowedOperator"]
