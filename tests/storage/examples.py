"""One value of each class that the engine stores under a name. ``tests/data/records-0.1.0.pickle`` is a
pickle of this list, as the first release wrote it."""

from __future__ import annotations

from typing import Any

from firesteel.connectors._staging import Staged
from firesteel.connectors.aws import shards as kinesis
from firesteel.connectors.base import Split
from firesteel.connectors.files.part_files import FileChunks
from firesteel.connectors.files.part_store import ChunkInfo
from firesteel.connectors.files.splits import FileRange
from firesteel.connectors.generated.datagen import _Indexes
from firesteel.connectors.hybrid.source import _Part
from firesteel.connectors.kafka.dynamic import ClusterMetadata, DynamicSplit
from firesteel.connectors.kafka.offsets import Partition
from firesteel.connectors.kafka.source import PartitionSplit
from firesteel.connectors.kafka.staging import Piece
from firesteel.connectors.pulsar import cursors as pulsar
from firesteel.connectors.pulsar.reader import PartitionSplit as PulsarSplit
from firesteel.connectors.socket.log import LogPart
from firesteel.jobmanager.sources import SplitProgress
from firesteel.program.functions.two_phase_commit import _Begun
from firesteel.program.sinks import Committable
from firesteel.runtime.program import SplitTime
from firesteel.spark.table_sink import _Staged

SPLIT = Split("in/a.csv", FileRange("in/a.csv", 0, 10, 20))
KAFKA = Split("orders-1", PartitionSplit("orders", 1, 5, None))
AT = pulsar.Place(1, 2, -1)

EXAMPLES: list[Any] = [
    SPLIT,
    KAFKA,
    Partition("orders", 1),
    SplitTime(1_700_000_000_000, idle=True),
    SplitProgress(SPLIT, 1, (3, "x"), True, False, SplitTime(-(2**63), idle=False), True),
    SplitProgress(SPLIT, 0),
    ClusterMetadata(frozenset({"orders"}), {"bootstrap.servers": "broker:9092"}),
    Split("east:orders-1", DynamicSplit("east", {"bootstrap.servers": "broker:9092"}, KAFKA, 2)),
    Split("0:in/a.csv", _Part(0, SPLIT)),
    pulsar.At.PUBLISH_TIME,
    pulsar.Cursor(pulsar.At.MESSAGE, AT, 7),
    PulsarSplit("persistent://public/default/t", AT, None, None, pulsar.Cursor(pulsar.At.NEVER)),
    kinesis.ShardSplit("s", "shard-0", kinesis.Start(kinesis.StartKind.AT_TIMESTAMP, 9), (0, 2**128 - 1)),
    kinesis.Place(4958 * 10**52, False, 3),
    LogPart("work/socket-1", 4),
    _Indexes(0, 2, None, 0, 2),
    FileChunks("out/.staging", (ChunkInfo("b", "c", 3), ChunkInfo(None, "d", 4)), 5, 2, None),
    Committable(1, 7, Staged("0a", b"\x80\x05data", None, 6)),
    Committable(1, 7, _Begun("transaction-1", 12)),
    Committable(0, 8, Piece("1-2", "orders", 2, 30, None, "work/piece-1")),
    Committable(0, 9, _Staged("job-1", 3, ("a", "b"))),
]
