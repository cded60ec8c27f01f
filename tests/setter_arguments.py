"""For ``test_setters.py``: what each setter is called with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from firesteel.common import (
    Configuration,
    Duration,
    ExecutionConfig,
    RestartStrategies,
    SimpleStringSchema,
    Time,
    Types,
    WatermarkStrategy,
)
from firesteel.common.options.pipeline import MAX_PARALLELISM
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.connectors.files.partition_commit import PartitionCommit
from firesteel.datastream import (
    CheckpointConfig,
    CheckpointingMode,
    ExternalizedCheckpointRetention,
    FileSystemCheckpointStorage,
    HashMapStateBackend,
    MemorySize,
    OutputTag,
    PredefinedOptions,
    RuntimeExecutionMode,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from firesteel.datastream.connectors import (
    base,
    cassandra,
    elasticsearch,
    file_system,
    jdbc,
    kafka,
    kinesis,
    pulsar,
    rabbitmq,
)
from firesteel.datastream.connectors.dynamic_kafka import KafkaStreamSetSubscriber
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.state import StateTtlConfig
from firesteel.datastream.window import CountEvictor, CountTrigger
from firesteel.table import DataTypes
from tests import setter_cases as cases

HERE: Final = str(Path(__file__).parent / "data" / "savepoint-0.1.0.txt")
OTHER_TEXT: Final = SimpleStringSchema("latin-1")
MARKED: Final = WatermarkStrategy.for_monotonous_timestamps()
RESOURCES: Final = SlotSharingGroup.builder("big").set_cpu_cores(1.0).set_task_heap_memory_mb(5).build()


class Times(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return 0


class Partitions(kafka.KafkaPartitioner):
    def partition(
        self, record: Any, key: bytes, value: bytes, target_topic: str, partitions: list[int]
    ) -> int:
        return 0


def _late(kind: Any = Types.INT()) -> OutputTag:  # noqa: B008
    return OutputTag("late", kind)


PAIR: Final = Types.TUPLE([Types.INT(), Types.INT()])
SHARED: Final[dict[str, tuple[Any, ...]]] = {
    "name": ("n",), "uid": ("u",), "set_uid_hash": ("0" * 32,), "set_parallelism": (1,),
    "set_max_parallelism": (7,), "set_description": ("d",), "slot_sharing_group": ("g",),
    "set_buffer_timeout": (5,), "trigger": (CountTrigger.of(2),), "evictor": (CountEvictor.of(2),),
    "allowed_lateness": (5,), "side_output_late_data": (_late(PAIR),),
    "side_output_left_late_data": (_late(PAIR),), "side_output_right_late_data": (_late(PAIR),),
    "set_serialization_schema": (OTHER_TEXT,), "set_deserialization_schema": (OTHER_TEXT,),
    "set_value_only_deserializer": (OTHER_TEXT,), "set_value_serialization_schema": (OTHER_TEXT,),
    "set_key_serialization_schema": (OTHER_TEXT,), "set_topic": ("other",), "set_fail_on_error": (True,),
    "set_deserializer": (kafka.KafkaRecordDeserializationSchema.value_only(OTHER_TEXT),),
    "set_max_batch_size": (9,), "set_max_batch_size_in_bytes": (3 << 20,), "set_max_in_flight_requests": (3,),
    "set_max_buffered_requests": (9999,), "set_max_time_in_buffer_ms": (7,),
    "set_max_record_size_in_bytes": (1000,), "set_delivery_guarantee": (base.DeliveryGuarantee.NONE,),
    "set_group_id": ("other",), "set_client_id_prefix": ("c",), "set_property": ("client.rack", "r"),
    "set_properties": ({"client.rack": "r"},), "set_bootstrap_servers": ("other:9092",),
    "set_starting_offsets": (kafka.KafkaOffsetsInitializer.latest(),),
    "set_bounded": (kafka.KafkaOffsetsInitializer.latest(),),
    "set_unbounded": (kafka.KafkaOffsetsInitializer.latest(),),
    "set_username": ("u",), "set_password": ("other",), "set_batch_size": (7,), "set_batch_interval_ms": (7,),
    "set_hosts": ("http://other:9200",), "set_connection_path_prefix": ("p",), "set_socket_timeout": (7,),
    "set_emitter": (elasticsearch.ElasticsearchEmitter.static_index("other", "k", "t"),),
    "set_bulk_flush_interval": (7,), "set_bulk_flush_max_actions": (7,), "set_bulk_flush_max_size_mb": (7,),
    "set_bulk_flush_backoff_strategy": (elasticsearch.FlushBackoffType.CONSTANT, 7, 7),
    "set_connection_username": ("u",), "set_connection_password": ("p",),
    "set_connection_request_timeout": (7,), "set_max_retries": (7,), "set_host": ("other",),
    "set_port": (1,), "set_uri": ("mongodb://other",),
    "with_bucket_check_interval": (7,),
    "with_bucket_assigner": (file_system.BucketAssigner.base_path_bucket_assigner(),),
    "with_output_file_config": (file_system.OutputFileConfig.builder().with_part_prefix("p").build(),),
    "with_partition_commit": (PartitionCommit(),), "set_topics": ("other",), "set_topic_pattern": ("o.*",),
    "type_info": (Types.ROW_NAMED(["c"], [Types.INT()]),), "set_admin_url": ("http://other",),
    "set_service_url": ("pulsar://other",), "set_authentication": ("Plugin", "params"),
    "set_array_element_delimiter": ("|",), "set_quote_character": ("'",), "set_escape_character": ("\\",),
    "set_field_delimiter": ("|",), "set_null_literal": ("null",), "set_allow_comments": (True,),
    "set_ignore_parse_errors": (True,), "set_line_delimiter": ("\r\n",), "set_connection_timeout": (7,),
}  # fmt: skip
ROLLING: Final = (file_system.RollingPolicy.default_rolling_policy(5),)
OWN: Final[dict[str, tuple[Any, ...]]] = {
    "Configuration.add_all": (Configuration().set_string("parallelism.default", "3"),),
    "Configuration.from_origin": ("a file",), "Configuration.set": (MAX_PARALLELISM, 3),
    "Configuration.set_boolean": ("pipeline.auto-generate-uids", False),
    "Configuration.set_bytearray": ("pipeline.global-job-parameters.mine", bytearray(b"x")),
    "Configuration.set_float": ("restart-strategy.exponential-delay.jitter-factor", 0.5),
    "Configuration.set_integer": ("parallelism.default", 3),
    "Configuration.set_string": ("pipeline.name", "n"),
    "ConfigOption.with_deprecated_keys": ("old",), "ConfigOption.with_description": ("d",),
    "ConfigOption.with_fallback_keys": ("old",),
    "ExecutionConfig.set_auto_watermark_interval": (7,),
    "ExecutionConfig.set_global_job_parameters": ({"mine": 1},),
    "ExecutionConfig.set_latency_tracking_interval": (7,),
    "ExecutionConfig.set_task_cancellation_interval": (7,),
    "ExecutionConfig.set_task_cancellation_timeout": (7,),
    "ExecutionConfig.set_use_snapshot_compression": (True,),
    "CheckpointConfig.set_aligned_checkpoint_timeout": (Duration.of_seconds(7),),
    "CheckpointConfig.set_alignment_timeout": (Duration.of_seconds(7),),
    "CheckpointConfig.set_checkpoint_interval": (777,), "CheckpointConfig.set_checkpoint_timeout": (777,),
    "CheckpointConfig.set_checkpointing_mode": (CheckpointingMode.AT_LEAST_ONCE,),
    "CheckpointConfig.set_externalized_checkpoint_retention": (
        ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION,
    ),
    "CheckpointConfig.set_fail_on_checkpointing_errors": (False,),
    "CheckpointConfig.set_force_unaligned_checkpoints": (True,),
    "CheckpointConfig.set_max_concurrent_checkpoints": (7,),
    "CheckpointConfig.set_min_pause_between_checkpoints": (7,),
    "CheckpointConfig.set_tolerable_checkpoint_failure_number": (7,),
    "StreamExecutionEnvironment.add_classpaths": ("file:///mine.jar",),
    "StreamExecutionEnvironment.add_jars": ("file:///mine.jar",),
    "StreamExecutionEnvironment.add_python_archive": (HERE, "t"),
    "StreamExecutionEnvironment.add_python_file": (HERE,),
    "StreamExecutionEnvironment.configure": (Configuration().set_string("parallelism.default", "3"),),
    "StreamExecutionEnvironment.enable_changelog_state_backend": (True,),
    "StreamExecutionEnvironment.enable_checkpointing": (777,),
    "StreamExecutionEnvironment.register_cached_file": (HERE, "n"),
    "StreamExecutionEnvironment.register_slot_sharing_group": (RESOURCES,),
    "StreamExecutionEnvironment.set_checkpoint_storage": (FileSystemCheckpointStorage("file:///c"),),
    "StreamExecutionEnvironment.set_default_local_parallelism": (7,),
    "StreamExecutionEnvironment.set_default_savepoint_directory": ("file:///s",),
    "StreamExecutionEnvironment.set_parallelism": (7,),
    "StreamExecutionEnvironment.set_python_executable": (__import__("sys").executable,),
    "StreamExecutionEnvironment.set_python_requirements": (HERE,),
    "StreamExecutionEnvironment.set_restart_strategy": (RestartStrategies.no_restart(),),
    "StreamExecutionEnvironment.set_execution_mode": ("auto",),
    "StreamExecutionEnvironment.set_runtime_mode": (RuntimeExecutionMode.BATCH,),
    "StreamExecutionEnvironment.set_state_backend": (HashMapStateBackend(),),
    "ExecutionConfig.set_parallelism": (7,),
    "Encoder.with_formatter": (repr,),
    "WatermarkStrategy.with_idleness": (Duration.of_seconds(1),),
    "WatermarkStrategy.with_timestamp_assigner": (Times(),),
    "WatermarkStrategy.with_watermark_alignment": ("g", Duration.of_seconds(1)),
    "DataType.bridged_to": ("java.lang.Integer",),
    "StateDescriptor.enable_time_to_live": (StateTtlConfig.new_builder(Time.hours(1)).build(),),
    "StateDescriptor.migrate_from": (Types.STRING(), cases.same),
    "StateTtlConfig.Builder.cleanup_in_rocksdb_compact_filter": (7, Duration.of_days(1)),
    "StateTtlConfig.Builder.cleanup_incrementally": (7, False),
    "StateTtlConfig.Builder.set_state_visibility": (
        StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp,
    ),
    "StateTtlConfig.Builder.set_ttl": (Time.hours(2),),
    "StateTtlConfig.Builder.set_ttl_time_characteristic": (
        StateTtlConfig.TtlTimeCharacteristic.ProcessingTime,
    ),
    "StateTtlConfig.Builder.set_update_type": (StateTtlConfig.UpdateType.OnReadAndWrite,),
    "SlotSharingGroup.Builder.set_cpu_cores": (7.0,),
    "SlotSharingGroup.Builder.set_external_resource": ("gpu", 1.0),
    "SlotSharingGroup.Builder.set_managed_memory": (MemorySize.of_mebi_bytes(7),),
    "SlotSharingGroup.Builder.set_managed_memory_mb": (7,),
    "SlotSharingGroup.Builder.set_task_heap_memory": (MemorySize.of_mebi_bytes(7),),
    "SlotSharingGroup.Builder.set_task_heap_memory_mb": (7,),
    "SlotSharingGroup.Builder.set_task_off_heap_memory": (MemorySize.of_mebi_bytes(7),),
    "SlotSharingGroup.Builder.set_task_off_heap_memory_mb": (7,),
    "EmbeddedRocksDBStateBackend.set_db_storage_paths": ("/tmp/db",),
    "EmbeddedRocksDBStateBackend.set_number_of_transfer_threads": (7,),
    "EmbeddedRocksDBStateBackend.set_options": ("my.Options",),
    "EmbeddedRocksDBStateBackend.set_predefined_options": (PredefinedOptions.FLASH_SSD_OPTIMIZED,),
    "TwoPhaseCommitSinkFunction.enable_transaction_timeout_warnings": (0.5,),
    "TwoPhaseCommitSinkFunction.set_transaction_timeout": (7,),
    "KinesisFirehoseSinkBuilder.set_delivery_stream_name": ("other",),
    "KinesisFirehoseSinkBuilder.set_firehose_client_properties": ({"aws.region": "eu-west-2"},),
    "KinesisStreamsSinkBuilder.set_kinesis_client_properties": ({"aws.region": "eu-west-2"},),
    "KinesisStreamsSinkBuilder.set_partition_key_generator": (kinesis.PartitionKeyGenerator.random(),),
    "KinesisStreamsSinkBuilder.set_stream_name": ("other",),
    "SqsSinkBuilder.set_sqs_client_properties": ({"aws.region": "eu-west-2"},),
    "SqsSinkBuilder.set_max_batch_size_in_bytes": (262_143,),
    "SqsSinkBuilder.set_sqs_url": ("http://sqs/1/other",),
    "FileSink.BaseBuilder.with_rolling_policy": ROLLING,
    "FileSink.RowFormatBuilder.with_rolling_policy": ROLLING,
    "FileSink.BulkFormatBuilder.with_rolling_policy": ROLLING,
    "StreamingFileSink.BaseBuilder.with_rolling_policy": ROLLING,
    "StreamingFileSink.DefaultRowFormatBuilder.with_rolling_policy": ROLLING,
    "StreamingFileSink.DefaultBulkFormatBuilder.with_rolling_policy": ROLLING,
    "FileSink.BaseBuilder.enable_compact": (file_system.FileCompactStrategy.builder().build(), None),
    "FileCompactStrategy.Builder.enable_compaction_on_checkpoint": (7,),
    "FileCompactStrategy.Builder.set_num_compact_threads": (7,),
    "FileCompactStrategy.Builder.set_size_threshold": (7,),
    "OutputFileConfig.OutputFileConfigBuilder.with_part_prefix": ("p",),
    "OutputFileConfig.OutputFileConfigBuilder.with_part_suffix": ("s",),
    "FileSourceBuilder.monitor_continuously": (Duration.of_seconds(7),),
    "FileSourceBuilder.set_file_enumerator": (
        file_system.FileEnumeratorProvider.default_splittable_file_enumerator(),
    ),
    "FileSourceBuilder.set_split_assigner": (
        file_system.FileSplitAssignerProvider.locality_aware_split_assigner(),
    ),
    "JdbcConnectionOptions.JdbcConnectionOptionsBuilder.with_driver_name": ("org.sqlite.JDBC",),
    "JdbcConnectionOptions.JdbcConnectionOptionsBuilder.with_password": ("p",),
    "JdbcConnectionOptions.JdbcConnectionOptionsBuilder.with_url": ("jdbc:sqlite:/other",),
    "JdbcConnectionOptions.JdbcConnectionOptionsBuilder.with_user_name": ("u",),
    "JdbcExactlyOnceOptions.Builder.with_marker_retention_ms": (7,),
    "JdbcExactlyOnceOptions.Builder.with_marker_table": ("other",),
    "JdbcExecutionOptions.Builder.with_batch_interval_ms": (7,),
    "JdbcExecutionOptions.Builder.with_batch_size": (7,),
    "JdbcExecutionOptions.Builder.with_max_retries": (7,),
    "JdbcSourceBuilder.set_sql": ("SELECT b, a FROM t",),
    "JdbcSourceBuilder.set_type_information": (Types.ROW_NAMED(["c"], [Types.INT()]),),
    "JdbcSourceBuilder.set_db_url": ("jdbc:sqlite:/other",),
    "JdbcSourceBuilder.set_driver_name": ("org.sqlite.JDBC",),
    "JdbcSourceBuilder.set_jdbc_parameter_values_provider": (
        jdbc.JdbcNumericBetweenParametersProvider(1, 9).of_batch_num(2),
    ),
    "JdbcSourceBuilder.set_result_set_fetch_size": (7,),
    "JdbcNumericBetweenParametersProvider.of_batch_num": (3,),
    "JdbcNumericBetweenParametersProvider.of_batch_size": (3,),
    "FlinkKafkaConsumer.set_commit_offsets_on_checkpoints": (False,),
    "FlinkKafkaConsumer.set_start_from_timestamp": (7,),
    "FlinkKafkaProducer.set_flush_on_checkpoint": (False,),
    "FlinkKafkaProducer.set_log_failures_only": (True,),
    "FlinkKafkaProducer.set_write_timestamp_to_kafka": (True,),
    "KafkaRecordSerializationSchemaBuilder.set_header_provider": (cases.same,),
    "KafkaRecordSerializationSchemaBuilder.set_partitioner": (Partitions(),),
    "KafkaRecordSerializationSchemaBuilder.set_topic_selector": (cases.same,),
    "KafkaSinkBuilder.set_record_serializer": (cases.serializer().set_topic("other").build(),),
    "KafkaSinkBuilder.set_transactional_id_prefix": ("p",),
    "KafkaSinkBuilder.set_delivery_guarantee": (base.DeliveryGuarantee.AT_LEAST_ONCE,),
    "KafkaSinkBuilder.set_property": ("linger.ms", "7"),
    "KafkaSourceBuilder.set_partitions": ({kafka.KafkaTopicPartition("t", 0)},),
    "DynamicKafkaSourceBuilder.set_kafka_metadata_service": (cases.other_service(),),
    "DynamicKafkaSourceBuilder.set_kafka_stream_subscriber": (KafkaStreamSetSubscriber(["other"]),),
    "DynamicKafkaSourceBuilder.set_stream_ids": ({"other"},),
    "DynamicKafkaSourceBuilder.set_stream_pattern": ("o.*",),
    "FlinkKinesisConsumer.set_periodic_watermark_assigner": (MARKED,),
    "FlinkKinesisConsumer.set_shard_assigner": (kinesis.KinesisShardAssigner.uniform_shard_assigner(),),
    "FlinkKinesisConsumer.set_watermark_tracker": (
        kinesis.WatermarkTracker.job_manager_watermark_tracker("a"),
    ),
    "CassandraSink.CassandraSinkBuilder.set_query": ("INSERT INTO other (a, b) VALUES (?, ?)",),
    "CassandraSink.CassandraSinkBuilder.set_cluster_builder": (cassandra.ClusterBuilder(list),),
    "CassandraSink.CassandraSinkBuilder.set_failure_handler": (cassandra.CassandraFailureHandler.no_op(),),
    "CassandraSink.CassandraSinkBuilder.set_mapper_options": (cassandra.MapperOptions(),),
    "CassandraSink.CassandraSinkBuilder.set_max_concurrent_requests": (7, Duration.of_seconds(1)),
    "MapperOptions.consistency_level": (cassandra.ConsistencyLevel.ALL,),
    "MapperOptions.if_not_exists": (True,), "MapperOptions.save_null_fields": (True,),
    "MapperOptions.timestamp": (7,), "MapperOptions.tracing": (True,), "MapperOptions.ttl": (7,),
    "HybridSourceBuilder.add_source": (NumberSequenceSource(3, 4),),
    "MongoSinkBuilder.set_database": ("other",), "MongoSinkBuilder.set_collection": ("other",),
    "MongoSinkBuilder.set_serialization_schema": (cases.merged,),
    "MongoSourceBuilder.set_database": ("other",), "MongoSourceBuilder.set_collection": ("other",),
    "MongoSourceBuilder.set_deserialization_schema": (cases.merged,),
    "MongoSourceBuilder.set_fetch_size": (7,), "MongoSourceBuilder.set_limit": (7,),
    "MongoSourceBuilder.set_no_cursor_timeout": (False,), "MongoSourceBuilder.set_partition_size": (7,),
    "MongoSourceBuilder.set_projected_fields": ("a", "b"),
    "MongoSourceBuilder.set_samples_per_partition": (7,),
    "PulsarSinkBuilder.delay_sending_message": (pulsar.MessageDelayer.fixed(Duration.of_seconds(7)),),
    "PulsarSinkBuilder.set_config": ("k", "v"), "PulsarSinkBuilder.set_producer_name": ("p",),
    "PulsarSinkBuilder.set_delivery_guarantee": (base.DeliveryGuarantee.AT_LEAST_ONCE,),
    "PulsarSinkBuilder.set_properties": ({"k": "v"},), "PulsarSinkBuilder.set_topic_router": ("Router",),
    "PulsarSinkBuilder.set_topic_routing_mode": (pulsar.TopicRoutingMode.MESSAGE_KEY_HASH,),
    "PulsarSourceBuilder.set_config": (cases.PULSAR_DISCOVERY, 7),
    "PulsarSourceBuilder.set_config_with_dict": ({cases.PULSAR_DISCOVERY: 7},),
    "PulsarSourceBuilder.set_properties": ({cases.PULSAR_DISCOVERY: 7},),
    "PulsarSourceBuilder.set_consumer_name": ("c",), "PulsarSourceBuilder.set_subscription_name": ("other",),
    "PulsarSourceBuilder.set_range_generator": (pulsar.RangeGenerator.full(),),
    "PulsarSourceBuilder.set_start_cursor": (pulsar.StartCursor.latest(),),
    "PulsarSourceBuilder.set_bounded_stop_cursor": (pulsar.StopCursor.latest(),),
    "PulsarSourceBuilder.set_unbounded_stop_cursor": (pulsar.StopCursor.latest(),),
    "PulsarSourceBuilder.set_topic_pattern": ("persistent://public/default/o.*",),
    "RMQConnectionConfig.Builder.set_uri": ("amqp://u:p@other/v",),
    "RMQConnectionConfig.Builder.set_automatic_recovery": (False,),
    "RMQConnectionConfig.Builder.set_network_recovery_interval": (7,),
    "RMQConnectionConfig.Builder.set_prefetch_count": (7,),
    "RMQConnectionConfig.Builder.set_requested_channel_max": (7,),
    "RMQConnectionConfig.Builder.set_requested_frame_max": (8192,),
    "RMQConnectionConfig.Builder.set_requested_heartbeat": (7,),
    "RMQConnectionConfig.Builder.set_topology_recovery_enabled": (False,),
    "RMQConnectionConfig.Builder.set_user_name": ("other",),
    "RMQConnectionConfig.Builder.set_virtual_host": ("other",),
    "CsvSchemaBuilder.add_array_column": ("c",), "CsvSchemaBuilder.add_boolean_column": ("c",),
    "CsvSchemaBuilder.add_columns_from": (cases.csv_schema().build(),),
    "CsvSchemaBuilder.add_number_column": ("c",), "CsvSchemaBuilder.add_string_column": ("c",),
    "CsvSchemaBuilder.remove_array_element_separator": (1,),
    "CsvSchemaBuilder.set_any_property_name": ("c",), "CsvSchemaBuilder.set_array_element_separator": ("|",),
    "CsvSchemaBuilder.set_column_separator": ("|",), "CsvSchemaBuilder.set_escape_char": ("\\",),
    "CsvSchemaBuilder.set_line_separator": ("\r\n",), "CsvSchemaBuilder.set_null_value": ("null",),
    "CsvSchemaBuilder.set_quote_char": ("'",),
    "CanalJsonDeserializationSchema.Builder.set_database": ("d",),
    "CanalJsonDeserializationSchema.Builder.set_table": ("t",),
    "JsonRowDeserializationSchema.Builder.json_schema": (
        '{"type": "object", "properties": {"c": {"type": "integer"}}}',
    ),
    "JsonRowSerializationSchema.Builder.with_type_info": (Types.ROW_NAMED(["c"], [Types.INT()]),),
    "Schema.Builder.column": ("b", DataTypes.INT()), "Schema.Builder.column_by_expression": ("b", "a + 1"),
    "Schema.Builder.watermark": ("a", "a - 1"),
    "TableDescriptor.Builder.option": ("number-of-rows", "7"),
    "TableDescriptor.Builder.schema": (cases.schema_of("b"),),
}  # fmt: skip
#: How the object is made for a setter that undoes or replaces something.
BEFORE: Final[dict[str, Callable[[], Any]]] = {
    "Configuration.from_origin": lambda: Configuration().set_string("a", "b"),
    "ExecutionConfig.enable_auto_generated_uids": (lambda: ExecutionConfig().disable_auto_generated_uids()),
    "ExecutionConfig.enable_closure_cleaner": lambda: ExecutionConfig().disable_closure_cleaner(),
    "ExecutionConfig.disable_object_reuse": lambda: ExecutionConfig().enable_object_reuse(),
    "CheckpointConfig.disable_unaligned_checkpoints": (
        lambda: CheckpointConfig(Configuration()).enable_unaligned_checkpoints()
    ),
    "FileSourceBuilder.process_static_file_set": (
        lambda: cases.SUBJECTS["FileSourceBuilder"].make().monitor_continuously(Duration.of_seconds(1))
    ),
    "FlinkKafkaConsumer.set_start_from_group_offsets": (
        lambda: cases.SUBJECTS["FlinkKafkaConsumer"].make().set_start_from_earliest()
    ),
    "FlinkKinesisConsumer.set_watermark_tracker": (
        lambda: cases.SUBJECTS["FlinkKinesisConsumer"].make().set_periodic_watermark_assigner(MARKED)
    ),
    "StateTtlConfig.Builder.never_return_expired": (
        lambda: StateTtlConfig.new_builder(Time.hours(1)).return_expired_if_not_cleaned_up()
    ),
    "CsvSchemaBuilder.disable_escape_char": lambda: cases.csv_schema().set_escape_char("e"),
    "CsvSchemaBuilder.set_strict_headers": lambda: cases.csv_schema().set_use_header(),
    "DataType.nullable": lambda: DataTypes.INT().not_null(),
    "StateTtlConfig.Builder.update_ttl_on_create_and_write": (
        lambda: StateTtlConfig.new_builder(Time.hours(1)).update_ttl_on_read_and_write()
    ),
    "StreamExecutionEnvironment.set_default_local_parallelism": (
        lambda: StreamExecutionEnvironment(Configuration())
    ),
}
#: What a setter is called on that may be called only once, and was, or that excludes another.
INSTEAD: Final[dict[str, Callable[[], Any]]] = {
    "KafkaSourceBuilder.set_topics": lambda: cases.kafka_source("set_topics"),
    "KafkaSourceBuilder.set_topic_pattern": lambda: cases.kafka_source("set_topics"),
    "KafkaSourceBuilder.set_partitions": lambda: cases.kafka_source("set_topics"),
    "DynamicKafkaSourceBuilder.set_kafka_stream_subscriber": lambda: cases.dynamic_source("set_stream_ids"),
    "DynamicKafkaSourceBuilder.set_stream_ids": lambda: cases.dynamic_source("set_stream_ids"),
    "DynamicKafkaSourceBuilder.set_stream_pattern": lambda: cases.dynamic_source("set_stream_ids"),
    "CassandraSink.CassandraSinkBuilder.set_cluster_builder": lambda: cases.cassandra_sink("set_host"),
    "CassandraSink.CassandraSinkBuilder.set_host": lambda: cases.cassandra_sink("set_host"),
    "PulsarSourceBuilder.set_topic_pattern": (
        lambda: cases.pulsar_builder(pulsar.PulsarSource.builder(), "set_topics")
    ),
    "JdbcSourceBuilder.set_jdbc_parameter_values_provider": (
        lambda: cases.jdbc_source().set_sql("SELECT a, b FROM t WHERE a BETWEEN ? AND ?")
    ),
    "RMQConnectionConfig.Builder.set_uri": lambda: rabbitmq.RMQConnectionConfig.Builder(),
    "Elasticsearch6SinkBuilder.set_connection_username": (
        lambda: cases.SUBJECTS["Elasticsearch6SinkBuilder"].make().set_connection_password("p")
    ),
    "Elasticsearch7SinkBuilder.set_connection_username": (
        lambda: cases.SUBJECTS["Elasticsearch7SinkBuilder"].make().set_connection_password("p")
    ),
    "Elasticsearch6SinkBuilder.set_connection_password": (
        lambda: cases.SUBJECTS["Elasticsearch6SinkBuilder"].make().set_connection_username("u")
    ),
    "Elasticsearch7SinkBuilder.set_connection_password": (
        lambda: cases.SUBJECTS["Elasticsearch7SinkBuilder"].make().set_connection_username("u")
    ),
}
#: Of setters with several parameters: another value for each of them.
ANOTHER: Final[dict[str, tuple[Any, ...]]] = {
    "CassandraSink.CassandraSinkBuilder.set_host": ("third", 7),
    "CassandraSink.CassandraSinkBuilder.set_max_concurrent_requests": (8, Duration.of_seconds(8)),
    "CsvSchemaBuilder.add_array_column": ("d", "|", Types.INT()),
    "CsvSchemaBuilder.add_number_column": ("d", Types.DOUBLE()),
    "Elasticsearch6SinkBuilder.set_bulk_flush_backoff_strategy": (
        elasticsearch.FlushBackoffType.EXPONENTIAL, 8, 8,
    ),
    "Elasticsearch7SinkBuilder.set_bulk_flush_backoff_strategy": (
        elasticsearch.FlushBackoffType.EXPONENTIAL, 8, 8,
    ),
    "SlotSharingGroup.Builder.set_external_resource": ("fpga", 8.0),
    "StateDescriptor.migrate_from": (Types.DOUBLE(), cases.merged),
    "StateTtlConfig.Builder.cleanup_in_rocksdb_compact_filter": (8, Duration.of_days(8)),
    "StateTtlConfig.Builder.cleanup_incrementally": (8, True),
    "StreamExecutionEnvironment.add_python_archive": (__file__, "u"),
    "StreamExecutionEnvironment.enable_checkpointing": (778, CheckpointingMode.AT_LEAST_ONCE),
    "StreamExecutionEnvironment.register_cached_file": (__file__, "m", True),
    "StreamExecutionEnvironment.set_python_requirements": (__file__, str(Path(__file__).parent)),
    "WatermarkStrategy.with_watermark_alignment": ("h", Duration.of_seconds(8), Duration.of_seconds(9)),
}  # fmt: skip
