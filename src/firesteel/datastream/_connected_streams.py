"""Two streams, possibly of different types, as the inputs of one operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream._data_stream import DataStream, OutputType
from firesteel.datastream._keyed_stream import KeyedStream
from firesteel.program import operators as ops
from firesteel.program.call_site import call_site
from firesteel.program.checks import check_picklable, require_function, to_type_information
from firesteel.program.functions.base import CoFlatMapFunction, CoMapFunction, KeySelector
from firesteel.program.functions.process import CoProcessFunction, KeyedCoProcessFunction
from firesteel.program.operator_kinds import kind_of, require_kind
from firesteel.program.transformations import TwoInputTransformation


class ConnectedStreams:
    """Two connected streams (Flink: ``ConnectedStreams``). When both are keyed, they share state by key."""

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(
        self,
        key_selector1: Callable[[Any], Any] | KeySelector,
        key_selector2: Callable[[Any], Any] | KeySelector,
        key_type: TypeInformation | None = None,
    ) -> ConnectedStreams:
        """Both streams keyed, with keys of the same type."""
        one, two = (
            s._origin_stream if isinstance(s, KeyedStream) else s for s in (self.stream1, self.stream2)
        )
        return ConnectedStreams(one.key_by(key_selector1, key_type), two.key_by(key_selector2, key_type))

    def map(self, func: CoMapFunction, output_type: OutputType = None) -> DataStream:
        """``map1`` for records of the first stream, ``map2`` for the second; a None is not emitted."""
        require_function(func, CoMapFunction, "Co-Map", "derive the class from CoMapFunction")
        spec = ops.KeyedCoMap(func, flat=False) if self._is_keyed_stream() else ops.CoMap(func)
        return self._transform("Co-Map", spec, output_type)

    def flat_map(self, func: CoFlatMapFunction, output_type: OutputType = None) -> DataStream:
        """``flat_map1`` for records of the first stream, ``flat_map2`` for the second."""
        require_function(func, CoFlatMapFunction, "Co-Flat Map", "derive the class from CoFlatMapFunction")
        spec = ops.KeyedCoMap(func, flat=True) if self._is_keyed_stream() else ops.CoFlatMap(func)
        return self._transform("Co-Flat Map", spec, output_type)

    def process(
        self, func: CoProcessFunction | KeyedCoProcessFunction, output_type: OutputType = None
    ) -> DataStream:
        """``process_element1`` for records of the first stream, ``process_element2`` for the second."""
        keyed = self._is_keyed_stream()
        name = "Keyed Co-Process" if keyed else "Co-Process"
        require_function(
            func,
            (CoProcessFunction, KeyedCoProcessFunction) if keyed else CoProcessFunction,
            name,
            "derive the class from CoProcessFunction"
            if keyed
            else "a KeyedCoProcessFunction needs two keyed streams: call key_by() before process()",
        )
        spec = ops.KeyedCoProcess(func) if keyed else ops.CoProcess(func)
        return self._transform(name, spec, output_type)

    def transform(
        self, function_name: str, out_type_info: OutputType, operator: ops.OperatorSpec
    ) -> DataStream:
        """An operator of any kind with both streams as its inputs, also of those that other packages add
        (``docs/extending.md``)."""
        if require_kind(operator, 2, function_name).keyed and not self._is_keyed_stream():
            raise ProgramError(
                f"A {type(operator).__name__} operator has keyed state, and the streams are not keyed.",
                operator=function_name,
                hint="call key_by(...) before transform()",
            )
        return self._transform(function_name, operator, out_type_info)

    def _is_keyed_stream(self) -> bool:
        return isinstance(self.stream1, KeyedStream) and isinstance(self.stream2, KeyedStream)

    def _transform(self, name: str, operator: ops.OperatorSpec, output_type: OutputType) -> DataStream:
        check_picklable(operator, name)
        one, two = self.stream1, self.stream2
        transformation = TwoInputTransformation(
            name=name,
            input1=one._transformation,
            input2=two._transformation,
            operator=operator,
            output_type=to_type_information(output_type, "output_type", name),
            created_at=call_site(),
        )
        if kind_of(operator).keyed and isinstance(one, KeyedStream) and isinstance(two, KeyedStream):
            key_type = one._partitioning.key_type
            if key_type != two._partitioning.key_type:
                raise ProgramError(
                    "The keys of connected streams must be of one type.",
                    operator=name,
                    detail=f"{key_type} and {two._partitioning.key_type}",
                    hint="declare the same key_type for both",
                )
            transformation.key_selector1 = one._partitioning.key_selector
            transformation.key_selector2 = two._partitioning.key_selector
            transformation.key_type = key_type
        return one._add(transformation)
