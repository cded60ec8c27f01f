"""A harness for operators of table programs: rows with their kinds in, rows with their kinds out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from firesteel.common.types import Row, RowKind
from firesteel.datastream import DataStream
from firesteel.program.operator_kinds import kind_of
from firesteel.program.operators import OperatorSpec
from firesteel.program.transformations import Transformation
from firesteel.sql.operators.borders import one_input, two_inputs
from firesteel.sql.operators.specs import ToColumns, ToRows
from firesteel.sql.types import RowType
from firesteel.testing.events import StreamRecord
from firesteel.testing.harness import OperatorHarness

__all__ = ["TableHarness", "changes"]

Build = Callable[..., tuple[Transformation, RowType]]
_KINDS = {"+I": RowKind.INSERT, "-U": RowKind.UPDATE_BEFORE, "+U": RowKind.UPDATE_AFTER, "-D": RowKind.DELETE}
_TEXTS = {kind: text for text, kind in _KINDS.items()}


def changes(rows: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Each row as a tuple of the text of its kind and its values."""
    return [(_TEXTS[row.get_row_kind()], *row) for row in rows]


class TableHarness(OperatorHarness):
    """An ``OperatorHarness`` around an operator on columns.

    :param under_test: a spec, or a function from transformations of columns to one of them and its row type.
    :param inputs: the row types of what is fed.
    :param output: that of what a spec gives.
    :param keys: the key columns of each input, for a spec that is keyed.

    Rows are fed as tuples, or with the text of their kind in front: ``("+U", "a", 1)`` by ``feed_changes``.
    """

    def __init__(
        self,
        under_test: OperatorSpec | Build,
        inputs: Sequence[RowType],
        output: RowType | None = None,
        keys: Sequence[Sequence[int]] | None = None,
        **settings: Any,
    ) -> None:
        self._rows = tuple(inputs)
        build = under_test
        if isinstance(under_test, OperatorSpec):
            assert output is not None, "of a spec the output is not known"
            build = _of_spec(under_test, output, keys)
        assert callable(build)
        made: Any = build

        def program(*streams: DataStream) -> DataStream:
            columns = [
                one_input(s._transformation, "columns", ToColumns(output=row, kinds=True), row, parallelism=1)
                for s, row in zip(streams, self._rows, strict=True)
            ]
            last, row = made(*columns)
            rows = one_input(last, "rows", ToRows(input=row), None)
            env = streams[0].get_execution_environment()
            for transformation in _reached(rows, {id(s._transformation) for s in streams}):
                env._add(transformation)
            return DataStream(env, rows)

        super().__init__(program, inputs=len(self._rows), **settings)

    def feed(
        self, *rows: Sequence[Any], input: int = 0, watermark: int | None = None, channel: int = 0
    ) -> None:
        """Feed rows that are INSERTs, and then a watermark, in one epoch."""
        self.feed_changes(*(("+I", *row) for row in rows), input=input, watermark=watermark, channel=channel)

    def feed_changes(
        self, *rows: Sequence[Any], input: int = 0, watermark: int | None = None, channel: int = 0
    ) -> None:
        """The same of rows with the text of their kind in front."""
        if self._grouping:
            self._feed(rows, input, watermark, channel)
            return
        with self.epoch():
            self._feed(rows, input, watermark, channel)

    def _feed(self, rows: Iterable[Sequence[Any]], input: int, watermark: int | None, channel: int) -> None:
        end = self.inputs[input]
        for kind, *values in rows:
            end.process_element(Row.of_kind(_KINDS[kind], *values), channel=channel)
        if watermark is not None:
            end.process_watermark(watermark)

    def take(self) -> list[tuple[Any, ...]]:
        """What has come out since the last call, as ``changes``."""
        rows = changes(e.value for e in self.output if isinstance(e, StreamRecord))
        self.clear_output()
        return rows


def _of_spec(spec: OperatorSpec, row: RowType, keys: Sequence[Sequence[int]] | None) -> Build:
    name = kind_of(spec).name

    def build(*inputs: Transformation) -> tuple[Transformation, RowType]:
        if len(inputs) == 2:
            assert keys is not None
            return two_inputs(inputs[0], inputs[1], name, spec, row, (keys[0], keys[1])), row
        return one_input(inputs[0], name, spec, row, None if keys is None else keys[0]), row

    return build


def _reached(last: Transformation, known: set[int]) -> list[Transformation]:
    """All transformations up to *last* that are not known yet, inputs first."""
    found: list[Transformation] = []

    def visit(transformation: Transformation) -> None:
        if id(transformation) in known:
            return
        known.add(id(transformation))
        for source in transformation.inputs:
            visit(source)
        found.append(transformation)

    visit(last)
    return found
