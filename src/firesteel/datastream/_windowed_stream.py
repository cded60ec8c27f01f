"""Streams that are cut into windows, by key or as a whole, until something is made of the windows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

from firesteel.common.errors import ProgramError
from firesteel.common.time import Length, as_millis
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream._returns import require_own_accumulators, require_reduce, require_result
from firesteel.program import operators as ops
from firesteel.program.checks import (
    WrongArgumentError,
    check_picklable,
    require_function,
    require_no_life,
    to_type_information,
)
from firesteel.program.functions.base import (
    AggregateFunction,
    Function,
    NullByteKeySelector,
    ReduceFunction,
)
from firesteel.program.functions.window import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from firesteel.program.output_tag import OutputTag
from firesteel.program.windows.assigner import MergingWindowAssigner, WindowAssigner
from firesteel.program.windows.evictors import Evictor
from firesteel.program.windows.triggers import Trigger

if TYPE_CHECKING:
    from firesteel.datastream._data_stream import DataStream, OutputType
    from firesteel.datastream._keyed_stream import KeyedStream
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment

_LIST = ops.WindowContents("list")


class _Windows:
    """What windows of a key and windows of a whole stream have in common.

    The settings are those of one window operator, which ``reduce``, ``aggregate``, ``apply`` or ``process``
    adds to the program.
    """

    _word: ClassVar[str]  # what a plan calls such windows
    _apply_class: ClassVar[type[Function]]
    _process_class: ClassVar[type[Function]]
    _other_kind: ClassVar[str]  # a hint for those who bring a function of the other kind

    def __init__(self, keyed_stream: KeyedStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        if not isinstance(window_assigner, WindowAssigner):
            raise WrongArgumentError(
                "Windows need a WindowAssigner.",
                operator=type(self).__name__,
                detail=f"got {window_assigner!r}",
                hint="for example TumblingEventTimeWindows.of(Time.seconds(5))",
            )
        self._keyed_stream = keyed_stream
        self._assigner = window_assigner
        self._name = type(window_assigner).__name__
        self._trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor[Any, Any] | None = None
        self._allowed_lateness_ms = 0
        self._late_tag: OutputTag | None = None

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        return self._keyed_stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """The type of the elements."""
        return self._keyed_stream.get_type()

    # ---- settings ----

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Evaluate windows when ``trigger`` says so, in the place of the assigner's default trigger."""
        self._trigger = self._checked_trigger(trigger)
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """Let ``evictor`` take elements out of a window that fires.

        All elements are kept then, also for ``reduce`` and ``aggregate``: they are folded at each firing.
        """
        if not isinstance(evictor, Evictor):
            raise WrongArgumentError(
                "evictor() takes an Evictor.",
                operator=self._name,
                detail=f"got {evictor!r}",
                hint="for example CountEvictor.of(10)",
            )
        self._evictor = evictor
        return self

    def allowed_lateness(self, time_ms: Length | int) -> Self:
        """Keep windows for ``time_ms`` milliseconds after the watermark passed their end; a late element
        fires its window again. Only windows of event time know late elements."""
        lateness_ms = as_millis(time_ms, "the allowed lateness")
        if lateness_ms < 0:
            raise ProgramError(
                "The allowed lateness must not be negative.",
                operator=self._name,
                detail=f"got {lateness_ms} ms",
            )
        if lateness_ms:
            self._warn_without_event_time("The allowed lateness")
        self._allowed_lateness_ms = lateness_ms
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Send elements that come too late for all their windows to ``output_tag`` instead of dropping them;
        ``get_side_output`` of the result reads them."""
        if not isinstance(output_tag, OutputTag):
            raise WrongArgumentError(
                "side_output_late_data() takes an OutputTag.",
                operator=self._name,
                detail=f"got {output_tag!r}",
            )
        self._warn_without_event_time("The side output of late data")
        self._late_tag = output_tag
        return self

    # ---- results ----

    def reduce(
        self,
        reduce_function: Callable[[Any, Any], Any] | ReduceFunction,
        window_function: Any = None,
        output_type: OutputType = None,
    ) -> DataStream:
        """Fold the elements of a window as they come; a window function gets the one result.

        Without a window function the result has the type of the elements.
        """
        require_reduce(reduce_function, self._name)
        self._require_no_life("reduce", reduce_function, ReduceFunction)
        output_type = type_of_reduced(self._keyed_stream, window_function, output_type)
        return self._fold("reduce", reduce_function, window_function, output_type)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: Any = None,
        accumulator_type: OutputType = None,
        output_type: OutputType = None,
    ) -> DataStream:
        """Gather the elements of a window in an accumulator as they come; a window function gets the one
        result. ``accumulator_type`` is checked, and otherwise any Python object can be an accumulator."""
        require_aggregate(aggregate_function, self._name)
        self._require_no_life("aggregate", aggregate_function, AggregateFunction)
        to_type_information(accumulator_type, "accumulator type", self._name)
        return self._fold("aggregate", aggregate_function, window_function, output_type)

    def apply(self, window_function: Any, output_type: OutputType = None) -> DataStream:
        """Call the function with all elements of a window."""
        require_function(window_function, self._apply_class, self._name, self._other_kind)
        return self._add(_LIST, window_function, output_type)

    def process(self, process_window_function: Any, output_type: OutputType = None) -> DataStream:
        """Call the function with all elements of a window and a context: time, and state of the window."""
        require_function(process_window_function, self._process_class, self._name, self._other_kind)
        return self._add(_LIST, process_window_function, output_type)

    # ---- inside ----

    def _fold(self, kind: Any, function: Any, window_function: Any, output_type: OutputType) -> DataStream:
        if window_function is not None:
            kinds = (self._apply_class, self._process_class)
            require_function(window_function, kinds, self._name, self._other_kind)
        return self._add(ops.WindowContents(kind, function), window_function, output_type)

    def _add(self, contents: ops.WindowContents, function: Any, output_type: OutputType) -> DataStream:
        trigger = self._trigger
        if trigger is None:
            default = self._assigner.get_default_trigger(self.get_execution_environment())
            trigger = self._checked_trigger(default)
        functions = [f for f in (contents.function, function) if f is not None]
        for part in (*functions, self._assigner, trigger, self._evictor):
            check_picklable(part, self._name)
        spec = ops.Window(
            self._assigner,
            trigger,
            contents,
            function,
            self._evictor,
            self._allowed_lateness_ms,
            self._late_tag,
        )
        parts = [trigger, *([self._evictor] if self._evictor is not None else []), *functions]
        names = ", ".join([repr(self._assigner), *(type(part).__name__ for part in parts)])
        stream = self._keyed_stream._keyed(self._name, spec, output_type)
        return stream.set_description(f"{self._word}({names})")

    def _checked_trigger(self, trigger: Trigger[Any, Any]) -> Trigger[Any, Any]:
        if not isinstance(trigger, Trigger):
            raise WrongArgumentError(
                "Windows need a trigger.",
                operator=self._name,
                detail=f"got {trigger!r}",
                hint="for example CountTrigger.of(10)",
            )
        if isinstance(self._assigner, MergingWindowAssigner) and not trigger.can_merge():
            raise WrongArgumentError(
                "A merging window assigner cannot be used with a trigger that does not support merging.",
                operator=self._name,
                detail=f"{type(trigger).__name__}.can_merge() is false",
                hint="use a trigger whose can_merge() is true and that has on_merge()",
            )
        return trigger

    def _require_no_life(self, method: str, function: Any, function_class: type) -> None:
        require_no_life(
            function,
            function_class,
            self._name,
            detail=f"the {function_class.__name__} of {method}() cannot be a rich function: it works inside "
            "the state",
            hint=f"{method}(function, window_function): the window function is opened and closed",
        )

    def _warn_without_event_time(self, setting: str) -> None:
        # As in Flink the setting has no effect then. The results are right, so this is no error.
        if not self._assigner.is_event_time():
            warnings.warn(
                f"{setting} has no effect: no element is late for {self._name}, whose windows do not end by "
                "the watermark",
                stacklevel=3,
            )


class WindowedStream(_Windows):
    """The windows of each key (Flink: ``WindowedStream``).

    Functions are a ``WindowFunction`` or a ``ProcessWindowFunction``.
    """

    _word = "Window"
    _apply_class = WindowFunction
    _process_class = ProcessWindowFunction
    _other_kind = (
        "apply() takes a WindowFunction, process() a ProcessWindowFunction; "
        "functions of windows without a key belong to window_all()"
    )


class AllWindowedStream(_Windows):
    """The windows of a whole stream, which one subtask gets (Flink: ``AllWindowedStream``).

    Functions are an ``AllWindowFunction`` or a ``ProcessAllWindowFunction``.
    """

    _word = "AllWindow"
    _apply_class = AllWindowFunction
    _process_class = ProcessAllWindowFunction
    _other_kind = (
        "apply() takes an AllWindowFunction, process() a ProcessAllWindowFunction; "
        "functions of windows with a key belong to key_by().window()"
    )

    def __init__(self, data_stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(data_stream.key_by(NullByteKeySelector()), window_assigner)

    def _add(self, contents: ops.WindowContents, function: Any, output_type: OutputType) -> DataStream:
        return super()._add(contents, function, output_type).force_non_parallel()


def require_aggregate(function: Any, operator: str) -> None:
    hint = "derive the class from AggregateFunction; a callable of two elements fits reduce()"
    require_function(function, AggregateFunction, operator, hint)
    require_result(function.add, f"{type(function).__name__}.add()", operator)
    require_own_accumulators(function, operator)


def type_of_reduced(stream: KeyedStream, window_function: Any, output_type: OutputType) -> OutputType:
    """Without a window function the result of a reduce has the type of the elements."""
    if window_function is None and output_type is None:
        return stream._transformation.output_type
    return output_type
