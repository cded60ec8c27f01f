"""Programs as the DataStream API builds them, in a line for each call."""

from __future__ import annotations

from typing import Any

from firesteel.common.typeinfo import Types
from firesteel.connectors.base import (
    Boundedness,
    EnumeratorContext,
    Sink,
    SinkWriter,
    Source,
    SourceReader,
    SplitEnumerator,
    WriterContext,
)
from firesteel.datastream.output_tag import OutputTag
from firesteel.graph.generator import generate
from firesteel.graph.job_graph import JobGraph, create_job_graph
from firesteel.graph.stream_graph import GraphConfig, StreamGraph
from firesteel.program import operators as ops
from firesteel.program.transformations import (
    OneInputTransformation,
    Partitioning,
    PartitionKind,
    PartitionTransformation,
    SideOutputTransformation,
    SinkTransformation,
    SourceTransformation,
    Transformation,
    TwoInputTransformation,
    UnionTransformation,
)


class AnySource(Source):
    def __init__(self, limit: int | None = None, bounded: bool = True) -> None:
        self.limit = limit
        self.bounded = bounded

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.bounded else Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def max_parallelism(self) -> int | None:
        return self.limit

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        raise AssertionError("translation must not start a source")

    def create_reader(self) -> SourceReader:
        raise AssertionError("translation must not start a source")


class AnySink(Sink):
    def create_writer(self, context: WriterContext) -> SinkWriter:
        raise AssertionError("translation must not start a sink")


def identity(x: Any) -> Any:
    return x


class Program:
    """Collects transformations; each method returns the one it makes. Options are fields of it."""

    def __init__(self) -> None:
        self.transformations: list[Transformation] = []

    def _add(self, transformation: Any) -> Any:
        self.transformations.append(transformation)
        return transformation

    def source(
        self, name: str = "seq", limit: int | None = None, bounded: bool = True, **options: Any
    ) -> Any:
        source = AnySource(limit, bounded)
        return self._add(SourceTransformation(name=name, source=source, output_type=Types.LONG(), **options))

    def op(self, name: str, source: Transformation, **options: Any) -> Any:
        options = {"operator": ops.Map(identity), "output_type": Types.LONG(), **options}
        return self._add(OneInputTransformation(name=name, input=source, **options))

    def keyed(self, name: str, source: Transformation, **options: Any) -> Any:
        """``key_by`` and an operator on it."""
        keyed = self.partition(source, PartitionKind.HASH)
        key = {"key_selector": identity, "key_type": Types.LONG()}
        return self.op(name, keyed, operator=ops.KeyedProcess(None), **key, **options)

    def two(self, name: str, one: Transformation, two: Transformation, **options: Any) -> Any:
        operator = ops.CoProcess(None)
        return self._add(
            TwoInputTransformation(name=name, input1=one, input2=two, operator=operator, **options)
        )

    def partition(self, source: Transformation, kind: PartitionKind) -> Any:
        selector = identity if kind in (PartitionKind.HASH, PartitionKind.CUSTOM) else None
        partitioning = Partitioning(kind, key_selector=selector)
        name = f"Partition({kind.value})"
        return self._add(PartitionTransformation(name=name, input=source, partitioning=partitioning))

    def union(self, *sources: Transformation) -> Any:
        return self._add(UnionTransformation(name="Union", union_of=sources))

    def side(self, source: Transformation, tag: OutputTag | str) -> Any:
        tag = OutputTag(tag, Types.LONG()) if isinstance(tag, str) else tag
        return self._add(SideOutputTransformation(name=f"Side({tag.tag_id})", input=source, tag=tag))

    def sink(self, source: Transformation, name: str = "Print to Std. Out", **options: Any) -> Any:
        return self._add(SinkTransformation(name=name, input=source, sink=AnySink(), **options))

    def graph(self, parallelism: int = 2, **config: Any) -> StreamGraph:
        return generate(self.transformations, GraphConfig(parallelism=parallelism, **config))

    def job(self, parallelism: int = 2, **config: Any) -> JobGraph:
        return create_job_graph(self.graph(parallelism, **config))


def window_program(sink_parallelism: int | None = 1) -> Program:
    """source -> map -> key_by -> window -> sink, everything at parallelism 2 but perhaps the sink."""
    p = Program()
    mapped = p.op("map", p.source("numbers"))
    p.sink(p.keyed("window", mapped), "out", parallelism=sink_parallelism)
    return p


def names(graph: JobGraph) -> list[str]:
    return [vertex.name for vertex in graph.vertices]


def edge_set(graph: StreamGraph) -> set[tuple[str, str, str]]:
    """(source name, partitioner, target name) of every edge."""
    node = graph.node
    return {(node(e.source).name, e.ship_strategy, node(e.target).name) for e in graph.edges}
