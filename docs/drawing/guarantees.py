"""The tables of docs/guarantees.md, from what each source and sink says of itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from firesteel.common import Encoder, SimpleStringSchema, Types
from firesteel.connectors.aws.sinks import FirehoseSink, QueueSink, StreamSink
from firesteel.connectors.aws.source import KinesisSource
from firesteel.connectors.cassandra.sink import CassandraRowSink
from firesteel.connectors.collect import CollectSink
from firesteel.connectors.collection import CollectionSource
from firesteel.connectors.elasticsearch.emitter import MapEmitter
from firesteel.connectors.elasticsearch.sink import ElasticSink
from firesteel.connectors.files.sink import RowFileSink
from firesteel.connectors.files.text_source import TextFileSource
from firesteel.connectors.generated.datagen import GeneratedSource
from firesteel.connectors.generated.sequence import SequenceSource
from firesteel.connectors.hybrid.source import SourcesInTurn
from firesteel.connectors.jdbc.options import ConnectionOptions
from firesteel.connectors.jdbc.sink import JdbcStatementSink
from firesteel.connectors.jdbc.source import JdbcQuerySource
from firesteel.connectors.kafka.dynamic import DynamicTopicSource
from firesteel.connectors.kafka.offsets import EARLIEST, Kind, OffsetsInitializer
from firesteel.connectors.kafka.sink import Guarantee as KafkaGuarantee, KafkaTopicSink
from firesteel.connectors.kafka.source import KafkaTopicSource
from firesteel.connectors.kept.records import KeepSink, KeptRecords
from firesteel.connectors.mongodb.sink import MongoCollectionSink
from firesteel.connectors.mongodb.source import MongoCollectionSource
from firesteel.connectors.print_sink import PrintSink
from firesteel.connectors.pulsar.cursors import At, Cursor
from firesteel.connectors.pulsar.sink import PulsarTopicSink
from firesteel.connectors.pulsar.source import PulsarTopicSource
from firesteel.connectors.rabbitmq.sink import RabbitSink
from firesteel.connectors.rabbitmq.source import RabbitSource
from firesteel.connectors.socket.source import SocketTextSource
from firesteel.connectors.spark_sink import ParquetStagingSink, SparkTableSink
from firesteel.program.functions.legacy_connectors import FunctionSink
from firesteel.program.functions.two_phase_commit import TwoPhaseCommitSink
from firesteel.program.promises import SinkPromise, end_to_end
from firesteel.program.sinks import Sink
from firesteel.program.sources import Source
from firesteel.program.spark_tables import SparkTarget

# No connection is made: what decides the promise is there, other parameters are not.
_NOTHING: Final[Any] = None
_SQLITE: Final = ConnectionOptions("jdbc:sqlite:a")
_PULSAR: Final[Any] = {"settings": None, "schema": None, "subscription": "s"}
_LATEST: Final = OffsetsInitializer(Kind.LATEST)
_KINESIS_LATEST: Final = {"aws.region": "eu-1", "flink.stream.initpos": "LATEST"}
_KINESIS_FIRST: Final = {"aws.region": "eu-1", "flink.stream.initpos": "TRIM_HORIZON"}

SOURCES: Final[Mapping[str, tuple[Source, ...]]] = {
    "collections, sequences, generated records": (
        CollectionSource([1]),
        SequenceSource(1, 2),
        GeneratedSource(str),
    ),
    "files, tables of Spark, cached streams": (TextFileSource(("a",)), KeptRecords(())),
    "JDBC, MongoDB": (
        JdbcQuerySource("SELECT 1", Types.ROW([Types.INT()]), _SQLITE),
        MongoCollectionSource(_NOTHING, _NOTHING),
    ),
    "Kafka, from the earliest record": (
        KafkaTopicSource(_NOTHING, _NOTHING, {}, EARLIEST),
        DynamicTopicSource(_NOTHING, _NOTHING, _NOTHING, {}, EARLIEST),
    ),
    "Kafka, from the latest record": (
        KafkaTopicSource(_NOTHING, _NOTHING, {}, _LATEST),
        DynamicTopicSource(_NOTHING, _NOTHING, _NOTHING, {}, _LATEST),
    ),
    "Pulsar, from the earliest message": (PulsarTopicSource(**_PULSAR),),
    "Pulsar, from the latest message": (PulsarTopicSource(**_PULSAR, start=Cursor(At.LATEST)),),
    "Kinesis, from `TRIM_HORIZON`": (KinesisSource(("s",), SimpleStringSchema(), _KINESIS_FIRST),),
    "Kinesis, from `LATEST`": (KinesisSource(("s",), SimpleStringSchema(), _KINESIS_LATEST),),
    "RabbitMQ, with correlation ids": (RabbitSource(_NOTHING, "q", True, _NOTHING),),
    "RabbitMQ, without": (RabbitSource(_NOTHING, "q", False, _NOTHING),),
    "sockets": (SocketTextSource("host", 9999),),
    "one after the other (`HybridSource`)": (
        SourcesInTurn((SequenceSource(1, 2), KafkaTopicSource(_NOTHING, _NOTHING, {}))),
    ),
}

SINKS: Final[Mapping[str, tuple[Sink, ...]]] = {
    "`FileSink`": (RowFileSink("a", Encoder.simple_string_encoder()),),
    "`ds.to_spark()`, `ds.cache()`": (ParquetStagingSink("a", Types.STRING()), KeepSink("a")),
    "`ds.write_spark(format)`": (SparkTableSink(SparkTarget("parquet"), Types.STRING()),),
    "`TwoPhaseCommitSinkFunction`": (TwoPhaseCommitSink(_NOTHING),),
    "Kafka, `EXACTLY_ONCE`": (KafkaTopicSink(_NOTHING, {}, KafkaGuarantee.EXACTLY_ONCE),),
    "JDBC, `exactly_once_sink`": (
        JdbcStatementSink("INSERT", (), _SQLITE, exactly_once=object()),  # type: ignore[arg-type]
    ),
    "Cassandra with its log": (
        CassandraRowSink("INSERT", (), _NOTHING, log=object()),  # type: ignore[arg-type]
    ),
    "Elasticsearch by `key_field`": (ElasticSink(_NOTHING, MapEmitter("a", key_field="id")),),
    "Kafka, `AT_LEAST_ONCE`": (KafkaTopicSink(_NOTHING, {}, KafkaGuarantee.AT_LEAST_ONCE),),
    "Pulsar, `AT_LEAST_ONCE`": (PulsarTopicSink(settings=_NOTHING, topics=(), schema=_NOTHING, waits=True),),
    "JDBC (1), Cassandra (1), MongoDB (1)": (
        JdbcStatementSink("INSERT", (), _SQLITE),
        CassandraRowSink("INSERT", (), _NOTHING),
        MongoCollectionSink(_NOTHING, _NOTHING),
    ),
    "Elasticsearch without": (ElasticSink(_NOTHING, MapEmitter("a")),),
    "Kinesis, Firehose, SQS": (
        StreamSink("s", _NOTHING, {}, _NOTHING, _NOTHING),
        FirehoseSink("s", _NOTHING, {}, _NOTHING),
        QueueSink("s", _NOTHING, {}, _NOTHING),
    ),
    "RabbitMQ": (RabbitSink(_NOTHING, "q", _NOTHING),),
    "`SinkFunction`": (FunctionSink(_NOTHING),),
    "`print()`, `execute_and_collect()` over a new driver": (PrintSink(), CollectSink()),
    "Kafka, Pulsar: `NONE`": (
        KafkaTopicSink(_NOTHING, {}),
        PulsarTopicSink(settings=_NOTHING, topics=(), schema=_NOTHING),
    ),
}


def sinks() -> str:
    """Which sink promises what."""
    named: dict[SinkPromise, list[str]] = {promise: [] for promise in SinkPromise}
    for name, of_name in SINKS.items():
        named[_one({sink.promise for sink in of_name}, name)].append(name)
    rows = (f"| {promise.value} | {'; '.join(names)} |" for promise, names in named.items())
    return "| a sink that promises | is |\n| --- | --- |\n" + "\n".join(rows) + "\n"


def matrix() -> str:
    """How often a record is in the output after a failure, for each source, kind of sink and mode."""
    heads = [f"sink: {promise.value}" for promise in SinkPromise]
    lines = [["source", "checkpoints", *heads], ["---"] * (2 + len(heads))]
    for name, of_name in SOURCES.items():
        lines += _rows(name, of_name)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _rows(name: str, sources: tuple[Source, ...]) -> Iterator[list[str]]:
    for checkpoints in (True, False):
        promised = _one({source.promise(checkpoints) for source in sources}, name)
        cells = [end_to_end(promised, sink, checkpoints=checkpoints).value for sink in SinkPromise]
        yield [name if checkpoints else "", "yes" if checkpoints else "no", *cells]


def _one(found: set[Any], name: str) -> Any:
    if len(found) != 1:
        raise ValueError(f"{name}: what stands in one row promises different things: {found}")
    return found.pop()
