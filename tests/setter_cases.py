"""For ``test_setters.py``: how each object with setters is made, and what the engine is given of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common import (
    Configuration,
    ExecutionConfig,
    SimpleStringSchema,
    Time,
    Types,
    WatermarkStrategy,
)
from firesteel.common.config_options import ConfigOptions
from firesteel.common.serialization import Encoder
from firesteel.datastream import (
    CheckpointConfig,
    EmbeddedRocksDBStateBackend,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from firesteel.datastream.connectors import (
    cassandra,
    dynamic_kafka,
    elasticsearch,
    file_system,
    hybrid_source,
    jdbc,
    kafka,
    kinesis,
    mongodb,
    pulsar,
    rabbitmq,
    sqs,
)
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.formats import changelog_json
from firesteel.datastream.formats.csv import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
    CsvSchema,
)
from firesteel.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from firesteel.datastream.formats.parquet import ParquetBulkWriters
from firesteel.datastream.functions import (
    CoGroupFunction,
    ProcessJoinFunction,
    TwoPhaseCommitSinkFunction,
)
from firesteel.datastream.state import StateTtlConfig, ValueStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.graph.generator import generate
from firesteel.graph.job_graph import create_job_graph
from firesteel.jobmanager.executor import graph_config
from firesteel.table import DataTypes, Schema, TableDescriptor

ROW: Final = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
TEXT: Final = SimpleStringSchema()
WINDOWS: Final = TumblingEventTimeWindows.of(Time.seconds(5))


@dataclass(frozen=True)
class Subject:
    """:param make: a new object, complete but for what its setters may add.
    :param given: what the engine is given of it; by default what it builds.
    """

    make: Callable[[], Any]
    given: Callable[[Any], Any] = lambda made: made.build()


def itself(made: Any) -> Any:
    return made


def same(value: Any) -> Any:
    return value


def merged(one: Any, two: Any) -> Any:
    return one


# ---- streams


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment(Configuration()).set_parallelism(2)


def numbers(env: StreamExecutionEnvironment | None = None) -> Any:
    return (env or environment()).from_collection([1, 2], Types.INT()).map(same, Types.INT())


def pairs() -> Any:
    env = environment()
    row = Types.TUPLE([Types.INT(), Types.INT()])
    marked = WatermarkStrategy.for_monotonous_timestamps()
    return [env.from_collection([(1, 2)], row).assign_timestamps_and_watermarks(marked) for _ in range(2)]


def key_of(pair: Any) -> Any:
    return pair[0]


def graph(made: Any) -> Any:
    """What the engine is given of the program that a stream or sink is part of."""
    env = made._env if hasattr(made, "_env") else made
    return create_job_graph(generate(env.transformations, graph_config(env, None)))


def of_stream(stream: Any) -> Any:
    stream.print()
    return graph(stream)


def reduced(windowed: Any) -> Any:
    windowed.reduce(merged).print()
    return graph(windowed._keyed_stream if hasattr(windowed, "_keyed_stream") else windowed)


def applied(joined: Any) -> Any:
    stream = joined.apply(merged, Types.INT())
    return of_stream(stream)


def keyed_pair() -> Any:
    one, two = pairs()
    return one.key_by(key_of).interval_join(two.key_by(key_of))


def interval_join() -> Any:
    return keyed_pair().between(Time.seconds(-1), Time.seconds(1))


def keyed() -> Any:
    return pairs()[0].key_by(key_of)


def joined(kind: str) -> Any:
    one, two = pairs()
    return getattr(one, kind)(two).where(key_of).equal_to(key_of).window(WINDOWS)


def co_grouped(windows: Any) -> Any:
    class Together(CoGroupFunction):
        def co_group(self, first: Any, second: Any) -> Any:
            return []

    return of_stream(windows.apply(Together(), Types.INT()))


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        return []


PAIR: Final = Pair()
SERVERS: Final = {"bootstrap.servers": "localhost:9092", "group.id": "g"}
ENCODER: Final = Encoder.simple_string_encoder()


class Transactions(TwoPhaseCommitSinkFunction):
    def begin_transaction(self) -> Any: ...

    def invoke(self, transaction: Any, value: Any, context: Any) -> None: ...

    def pre_commit(self, transaction: Any) -> None: ...

    def commit(self, transaction: Any) -> None: ...

    def abort(self, transaction: Any) -> None: ...


# ---- connectors


def kafka_source(*without: str) -> Any:
    builder = kafka.KafkaSource.builder()
    calls = {
        "set_bootstrap_servers": ("localhost:9092",),
        "set_topics": ("orders",),
        "set_group_id": ("group",),
        "set_value_only_deserializer": (TEXT,),
    }
    return called(builder, calls, without)


def called(builder: Any, calls: dict[str, tuple[Any, ...]], without: tuple[str, ...] = ()) -> Any:
    for name, arguments in calls.items():
        if name not in without:
            getattr(builder, name)(*arguments)
    return builder


def serializer() -> Any:
    return called(
        kafka.KafkaRecordSerializationSchema.builder(),
        {"set_topic": ("t",), "set_value_serialization_schema": (TEXT,)},
    )


SERIALIZER: Final = serializer().build()


def kafka_sink() -> Any:
    return called(
        kafka.KafkaSink.builder(),
        {"set_bootstrap_servers": ("localhost:9092",), "set_record_serializer": (SERIALIZER,)},
    )


SERVICE: Final = dynamic_kafka.SingleClusterTopicMetadataService(
    "one", {"bootstrap.servers": "localhost:9092"}
)


PULSAR_DISCOVERY: Final = "pulsar.source.partitionDiscoveryIntervalMs"


def other_service() -> Any:
    return dynamic_kafka.SingleClusterTopicMetadataService("two", {"bootstrap.servers": "localhost:9092"})


def dynamic_source(*without: str) -> Any:
    calls = {
        "set_stream_ids": ({"orders"},),
        "set_kafka_metadata_service": (SERVICE,),
        "set_value_only_deserializer": (TEXT,),
    }
    return called(dynamic_kafka.DynamicKafkaSource.builder(), calls, without)


def legacy(cls: type, *arguments: Any) -> Any:
    with warnings.catch_warnings(action="ignore"):
        return cls(*arguments)


def aws(builder: Any, name: str, properties: str) -> Any:
    calls = {name: ("http://sqs/1/q",), "set_serialization_schema": (TEXT,)}
    calls[properties] = ({"aws.region": "eu-west-1"},)
    if hasattr(builder, "set_partition_key_generator"):
        calls["set_partition_key_generator"] = (kinesis.PartitionKeyGenerator.fixed(),)
    return called(builder, calls)


def cassandra_sink(*without: str) -> Any:
    stream = environment().from_collection([(1, "a")], Types.TUPLE([Types.INT(), Types.STRING()]))
    builder = cassandra.CassandraSink.add_sink(stream)
    return called(
        builder, {"set_query": ("INSERT INTO t (a, b) VALUES (?, ?)",), "set_host": ("h",)}, without
    )


def of_cassandra(builder: Any) -> Any:
    return graph(builder.build())


WRITERS: Final = ParquetBulkWriters.for_row_type(Types.ROW_NAMED(["a"], [Types.INT()]))


def file_sink(bulk: bool = False) -> Any:
    if bulk:
        return file_system.FileSink.for_bulk_format("/tmp/out", WRITERS)
    return file_system.FileSink.for_row_format("/tmp/out", ENCODER)


def streaming_file_sink(bulk: bool = False) -> Any:
    if bulk:
        return file_system.StreamingFileSink.for_bulk_format("/tmp/out", WRITERS)
    return file_system.StreamingFileSink.for_row_format("/tmp/out", ENCODER)


def of_streaming(builder: Any) -> Any:
    with warnings.catch_warnings(action="ignore"):
        return builder.build()


def elastic(builder: Any) -> Any:
    emitter = elasticsearch.ElasticsearchEmitter.static_index("i", "k", "t")
    return called(builder, {"set_hosts": ("http://h:9200",), "set_emitter": (emitter,)})


def pulsar_builder(builder: Any, *without: str) -> Any:
    calls: dict[str, tuple[Any, ...]] = {
        "set_service_url": ("pulsar://h:6650",),
        "set_admin_url": ("http://h:8080",),
        "set_topics": ("t",),
    }
    if hasattr(builder, "set_subscription_name"):
        calls |= {"set_subscription_name": ("s",), "set_deserialization_schema": (TEXT,)}
    else:
        calls["set_serialization_schema"] = (TEXT,)
    return called(builder, calls, without)


def rabbit() -> Any:
    calls = {"set_host": ("h",), "set_port": (5672,), "set_virtual_host": ("/",)}
    calls |= {"set_user_name": ("u",), "set_password": ("p",)}
    return called(rabbitmq.RMQConnectionConfig.Builder(), calls)


_MONGO: Final = {"set_uri": ("mongodb://h",), "set_database": ("d",), "set_collection": ("c",)}


def mongo() -> Any:
    return called(mongodb.MongoSink.builder(), _MONGO | {"set_serialization_schema": (same,)})


def mongo_source() -> Any:
    return called(mongodb.MongoSource.builder(), _MONGO | {"set_deserialization_schema": (same,)})


def jdbc_source() -> Any:
    calls = {"set_sql": ("SELECT a, b FROM t",), "set_type_information": (ROW,)}
    return called(jdbc.JdbcSource.builder(), calls | {"set_db_url": ("jdbc:sqlite:/tmp/x.db",)})


def csv_schema() -> Any:
    return CsvSchema.builder().add_string_column("a").add_array_column("b")


def changelog(schema: Any) -> Any:
    return schema.builder().type_info(ROW)


def slots() -> Any:
    return SlotSharingGroup.builder("g").set_cpu_cores(1.0).set_task_heap_memory_mb(10)


def registered(group: SlotSharingGroup) -> Any:
    return graph(numbers(environment().register_slot_sharing_group(group)))


def schema_of(name: str) -> Schema:
    return Schema.new_builder().column(name, DataTypes.INT()).build()


def salted() -> Any:
    return keyed().salted(4)


def environment_given(env: StreamExecutionEnvironment) -> Any:
    return env.configuration, graph_config(env, None)


KAFKA: Final = Subject(kafka_source)
STREAM: Final = Subject(numbers, of_stream)
KEYED: Final = Subject(keyed, lambda made: of_stream(made.map(same, Types.INT())))
SINK: Final = Subject(lambda: numbers().print(), graph)
FILES: Final = Subject(file_sink)
BULK_FILES: Final = Subject(lambda: file_sink(bulk=True))
STREAMING_BULK_FILES: Final = Subject(lambda: streaming_file_sink(bulk=True), of_streaming)
STREAMING_FILES: Final = Subject(streaming_file_sink, of_streaming)
ELASTIC: Final = Subject(lambda: elastic(elasticsearch.Elasticsearch7SinkBuilder()))

SUBJECTS: Final[dict[str, Subject]] = {
    "Configuration": Subject(Configuration, itself),
    "ConfigOption": Subject(lambda: ConfigOptions.key("k").int_type().no_default_value(), itself),
    "ExecutionConfig": Subject(ExecutionConfig, lambda made: made._configuration),
    "CheckpointConfig": Subject(lambda: CheckpointConfig(Configuration()), lambda made: made._configuration),
    "StreamExecutionEnvironment": Subject(environment, environment_given),
    "Encoder": Subject(Encoder.simple_string_encoder, itself),
    "WatermarkStrategy": Subject(WatermarkStrategy.for_monotonous_timestamps, itself),
    "DataStream": STREAM,
    "KeyedStream": KEYED,
    "CachedDataStream": Subject(lambda: numbers().cache(), of_stream),
    "DataStreamSink": SINK,
    "IntervalJoin": Subject(keyed_pair, lambda made: None),
    "IntervalJoined": Subject(interval_join, lambda made: of_stream(made.process(PAIR, Types.INT()))),
    "CoGroupWindows": Subject(lambda: joined("co_group"), co_grouped),
    "JoinWindows": Subject(lambda: joined("join"), applied),
    "SaltedWindowedStream": Subject(lambda: salted().window(WINDOWS), reduced),
    "WindowedStream": Subject(lambda: keyed().window(WINDOWS), reduced),
    "AllWindowedStream": Subject(lambda: pairs()[0].window_all(WINDOWS), reduced),
    "StateDescriptor": Subject(lambda: ValueStateDescriptor("s", Types.INT()), itself),
    "StateTtlConfig.Builder": Subject(lambda: StateTtlConfig.new_builder(Time.hours(1))),
    "SlotSharingGroup.Builder": Subject(slots, lambda made: registered(made.build())),
    "EmbeddedRocksDBStateBackend": Subject(
        EmbeddedRocksDBStateBackend, lambda made: Configuration.from_dict(made.settings())
    ),
    "TwoPhaseCommitSinkFunction": Subject(Transactions, lambda made: made.to_sink(None)),
    "KinesisFirehoseSinkBuilder": Subject(
        lambda: aws(
            kinesis.KinesisFirehoseSink.builder(),
            "set_delivery_stream_name",
            "set_firehose_client_properties",
        )
    ),
    "KinesisStreamsSinkBuilder": Subject(
        lambda: aws(kinesis.KinesisStreamsSink.builder(), "set_stream_name", "set_kinesis_client_properties")
    ),
    "SqsSinkBuilder": Subject(lambda: aws(sqs.SqsSink.builder(), "set_sqs_url", "set_sqs_client_properties")),
    "FileSink.BaseBuilder": FILES,
    "FileSink.RowFormatBuilder": FILES,
    "FileSink.BulkFormatBuilder": BULK_FILES,
    "StreamingFileSink.BaseBuilder": STREAMING_FILES,
    "StreamingFileSink.DefaultRowFormatBuilder": STREAMING_FILES,
    "StreamingFileSink.DefaultBulkFormatBuilder": STREAMING_BULK_FILES,
    "FileCompactStrategy.Builder": Subject(file_system.FileCompactStrategy.builder),
    "OutputFileConfig.OutputFileConfigBuilder": Subject(file_system.OutputFileConfig.builder),
    "FileSourceBuilder": Subject(
        lambda: file_system.FileSource.for_record_stream_format(
            file_system.StreamFormat.text_line_format(), "/tmp/in"
        )
    ),
    "JdbcConnectionOptions.JdbcConnectionOptionsBuilder": Subject(
        lambda: jdbc.JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:sqlite:/x")
    ),
    "JdbcExactlyOnceOptions.Builder": Subject(jdbc.JdbcExactlyOnceOptions.builder),
    "JdbcExecutionOptions.Builder": Subject(jdbc.JdbcExecutionOptions.builder),
    "JdbcSourceBuilder": Subject(jdbc_source),
    "JdbcNumericBetweenParametersProvider": Subject(
        lambda: jdbc.JdbcNumericBetweenParametersProvider(1, 9), lambda made: made.get_parameter_values()
    ),
    "FlinkKafkaConsumer": Subject(
        lambda: legacy(kafka.FlinkKafkaConsumer, "t", TEXT, SERVERS), lambda made: made.source
    ),
    "FlinkKafkaProducer": Subject(
        lambda: legacy(kafka.FlinkKafkaProducer, "t", TEXT, SERVERS), lambda made: made.to_sink(None)
    ),
    "KafkaRecordSerializationSchemaBuilder": Subject(serializer),
    "KafkaSinkBuilder": Subject(kafka_sink),
    "KafkaSourceBuilder": KAFKA,
    "DynamicKafkaSourceBuilder": Subject(dynamic_source),
    "FlinkKinesisConsumer": Subject(
        lambda: kinesis.FlinkKinesisConsumer("s", TEXT, {"aws.region": "eu-west-1"}),
        lambda made: (made.source, made.watermark_strategy),
    ),
    "CassandraSink": Subject(lambda: cassandra_sink().build(), graph),
    "CassandraSink.CassandraSinkBuilder": Subject(cassandra_sink, of_cassandra),
    "MapperOptions": Subject(
        cassandra.MapperOptions, lambda made: of_cassandra(cassandra_sink().set_mapper_options(made))
    ),
    "Elasticsearch6SinkBuilder": Subject(lambda: elastic(elasticsearch.Elasticsearch6SinkBuilder())),
    "Elasticsearch7SinkBuilder": ELASTIC,
    "HybridSourceBuilder": Subject(lambda: hybrid_source.HybridSource.builder(NumberSequenceSource(1, 2))),
    "MongoSinkBuilder": Subject(mongo),
    "MongoSourceBuilder": Subject(mongo_source),
    "PulsarSinkBuilder": Subject(lambda: pulsar_builder(pulsar.PulsarSink.builder())),
    "PulsarSourceBuilder": Subject(lambda: pulsar_builder(pulsar.PulsarSource.builder())),
    "RMQConnectionConfig.Builder": Subject(rabbit),
    "CsvRowDeserializationSchema.Builder": Subject(lambda: CsvRowDeserializationSchema.Builder(ROW)),
    "CsvRowSerializationSchema.Builder": Subject(lambda: CsvRowSerializationSchema.Builder(ROW)),
    "CsvSchemaBuilder": Subject(csv_schema),
    "CanalJsonDeserializationSchema.Builder": Subject(
        lambda: changelog(changelog_json.CanalJsonDeserializationSchema)
    ),
    "DebeziumJsonDeserializationSchema.Builder": Subject(
        lambda: changelog(changelog_json.DebeziumJsonDeserializationSchema)
    ),
    "MaxwellJsonDeserializationSchema.Builder": Subject(
        lambda: changelog(changelog_json.MaxwellJsonDeserializationSchema)
    ),
    "JsonRowDeserializationSchema.Builder": Subject(
        lambda: JsonRowDeserializationSchema.builder().type_info(ROW)
    ),
    "JsonRowSerializationSchema.Builder": Subject(
        lambda: JsonRowSerializationSchema.builder().with_type_info(ROW)
    ),
    "Schema.Builder": Subject(lambda: Schema.new_builder().column("a", DataTypes.INT())),
    "TableDescriptor.Builder": Subject(
        lambda: TableDescriptor.for_connector("datagen").schema(schema_of("a"))
    ),
    "DataType": Subject(lambda: DataTypes.INT(), itself),
}
