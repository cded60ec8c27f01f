"""How large the buffers of columns are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from firesteel.common.column_types import ColumnsTypeInfo
from firesteel.common.columns import Columns, as_values
from firesteel.program.column_keys import ColumnKeys
from firesteel.program.transformations import Partitioning, PartitionKind
from firesteel.runtime import column_router
from firesteel.runtime.batch import Batch
from firesteel.runtime.column_router import ColumnRouter
from firesteel.runtime.program import OutEdge
from firesteel.runtime.wire import WireRow


@pytest.mark.parametrize(
    ("kind", "consumers", "kilobytes"),
    [
        (PartitionKind.HASH, 1, 1024),
        (PartitionKind.HASH, 4, 1024),
        (PartitionKind.HASH, 8, 512),
        (PartitionKind.HASH, 40, 256),
        (PartitionKind.FORWARD, 40, 1024),  # one of them is reached
    ],
)
def test_the_fewer_targets_the_larger_are_buffers(
    kind: PartitionKind, consumers: int, kilobytes: int
) -> None:
    """Broken by hand: the size was that of many targets."""
    schema = pa.schema([("k", pa.int64()), ("text", pa.string())])
    partitioning = Partitioning(kind, ColumnKeys((0,)) if kind is PartitionKind.HASH else None)
    edge = OutEdge(0, "op", None, partitioning, consumers, 128, "v", False, None, ColumnsTypeInfo(schema))
    router = ColumnRouter(edge, 0, consumers)
    sent: list[WireRow] = []
    router.begin_epoch(0, sent.append)
    for start in range(0, 4000 * min(consumers, 8), 100):
        keys = pa.array(np.arange(start, start + 100))
        columns = Columns([keys, pa.array(["x" * 1000] * 100)], 100)
        router.consume(Batch(as_values(columns), None, []))
        if len(sent) >= consumers:
            break
    assert sent
    largest = max(len(row.body) for row in sent)
    assert 0.8 * kilobytes < largest / 1024 < 1.2 * kilobytes


@pytest.mark.parametrize("seed", range(20))
def test_watermarks_are_dealt_at_once_as_one_by_one(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Broken by hand: a watermark that no row is behind was sent; one in front of the first row was not."""

    def sent(some_marks: int) -> list[WireRow]:
        monkeypatch.setattr(column_router, "_SOME_MARKS", some_marks)
        random = np.random.default_rng(seed)
        schema = pa.schema([("k", pa.int64())])
        partitioning = Partitioning(PartitionKind.HASH, ColumnKeys((0,)))
        edge = OutEdge(0, "op", None, partitioning, 2, 128, "v", False, None, ColumnsTypeInfo(schema))
        router = ColumnRouter(edge, 0, 2)
        rows: list[WireRow] = []
        router.begin_epoch(0, rows.append)
        watermark = 0
        for _ in range(6):
            count = int(random.integers(1, 8))
            places = np.sort(random.integers(0, count + 1, int(random.integers(0, 12)))).tolist()
            watermarks = (watermark + np.cumsum(random.integers(0, 3, len(places)))).tolist()
            watermark = watermarks[-1] if watermarks else watermark
            columns = Columns([pa.array(random.integers(0, 3, count))], count)
            router.consume(Batch(as_values(columns), None, list(zip(places, watermarks, strict=True))))
        router.flush()
        return rows

    assert sent(1) == sent(1 << 30)
