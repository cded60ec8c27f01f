"""Maps names of classes in pickles of earlier releases to where the classes are now.

A pickle names a class by its module. Users' objects are still pickled, so once a class that was ever pickled
has moved, its old name stays here forever.
"""

from __future__ import annotations

import importlib
import io
import pickle
from typing import Any, Final

#: The first name of a module -> its name now.
MODULES: Final[dict[str, str]] = {
    "firesteel.common._flat_pickle": "firesteel.runtime.flat_pickle",
    "firesteel.common._held_directories": "firesteel.storage.held_directories",
    "firesteel.common._instants": "firesteel.state.instants",
    "firesteel.common._java_format": "firesteel.formats.java_format",
    "firesteel.common._key_coercion": "firesteel.program.key_coercion",
    "firesteel.common._process_directory": "firesteel.storage.process_directory",
    "firesteel.common._quick_pickle": "firesteel.program.quick_pickle",
    "firesteel.common._shortest_floats": "firesteel.connectors._shortest_floats",
    "firesteel.common._text": "firesteel.formats.text",
    "firesteel.common._type_evolution": "firesteel.state._type_evolution",
    "firesteel.common._types_to_arrow": "firesteel.formats.types_to_arrow",
    "firesteel.common._unpicklable": "firesteel.program.unpicklable",
    "firesteel.common._user_cache": "firesteel.spark.user_cache",
    "firesteel.common.distribution": "firesteel.graph.distribution",
    "firesteel.common.durable": "firesteel.storage.durable",
    "firesteel.common.java": "firesteel.spark.java",
    "firesteel.common.private_files": "firesteel.storage.private_files",
    "firesteel.common.pyflink_alias": "firesteel.cli.pyflink_alias",
    "firesteel.common.uncaught": "firesteel.datastream._uncaught",
    "firesteel.connectors._arrow_batches": "firesteel.formats.arrow_batches",
    "firesteel.connectors._arrow_values": "firesteel.formats.arrow_values",
    "firesteel.connectors._avro_blocks": "firesteel.connectors.files.avro_blocks",
    "firesteel.connectors._bytes": "firesteel.connectors.files.file_bytes",
    "firesteel.connectors._columnar_files": "firesteel.connectors.files.columnar_files",
    "firesteel.connectors._columnar_writers": "firesteel.connectors.files.columnar_writers",
    "firesteel.connectors._csv_source": "firesteel.connectors.files.csv_source",
    "firesteel.connectors._decompress": "firesteel.connectors.files.decompress",
    "firesteel.connectors._file_errors": "firesteel.connectors.files.errors",
    "firesteel.connectors._file_source": "firesteel.connectors.files.source",
    "firesteel.connectors._file_splits": "firesteel.connectors.files.splits",
    "firesteel.connectors._line_blocks": "firesteel.connectors.files.line_blocks",
    "firesteel.connectors._lines": "firesteel.connectors.files.lines",
    "firesteel.connectors._part_files": "firesteel.connectors.files.part_files",
    "firesteel.connectors._part_store": "firesteel.connectors.files.part_store",
    "firesteel.connectors._partition_commit": "firesteel.connectors.files.partition_commit",
    "firesteel.connectors._pickle": "firesteel.program.pickling",
    "firesteel.connectors._rolling": "firesteel.connectors.files.rolling",
    "firesteel.connectors._sink_api": "firesteel.program.sinks",
    "firesteel.connectors._socket_log": "firesteel.connectors.socket.log",
    "firesteel.connectors._storage": "firesteel.storage.filesystems",
    "firesteel.connectors._table_rows": "firesteel.formats.table_rows",
    "firesteel.connectors.avro_files": "firesteel.connectors.files.avro_files",
    "firesteel.connectors.bad_records": "firesteel.program.bad_records",
    "firesteel.connectors.base": "firesteel.program.sources",
    "firesteel.connectors.columnar_source": "firesteel.connectors.files.columnar_source",
    "firesteel.connectors.datagen": "firesteel.connectors.generated.datagen",
    "firesteel.connectors.file_sink": "firesteel.connectors.files.sink",
    "firesteel.connectors.files": "firesteel.connectors.files.text_source",
    "firesteel.connectors.hybrid": "firesteel.connectors.hybrid.source",
    "firesteel.connectors.json_source": "firesteel.connectors.files.json_source",
    "firesteel.connectors.kept_records": "firesteel.connectors.kept.records",
    "firesteel.connectors.kept_streams": "firesteel.connectors.kept.streams",
    "firesteel.connectors.sequence": "firesteel.connectors.generated.sequence",
    "firesteel.connectors.socket": "firesteel.connectors.socket.source",
    "firesteel.datastream._aggregates": "firesteel.program.functions.aggregates",
    "firesteel.datastream._async_functions": "firesteel.program.functions.asynchronous",
    "firesteel.datastream._call_site": "firesteel.program.call_site",
    "firesteel.datastream._checks": "firesteel.program.checks",
    "firesteel.datastream._evictors": "firesteel.program.windows.evictors",
    "firesteel.datastream._function_classes": "firesteel.program.functions.base",
    "firesteel.datastream._join_functions": "firesteel.program.functions.join",
    "firesteel.datastream._legacy_connectors": "firesteel.program.functions.legacy_connectors",
    "firesteel.datastream._operators": "firesteel.program.operators",
    "firesteel.datastream._process_functions": "firesteel.program.functions.process",
    "firesteel.datastream._python_settings": "firesteel.program.python_settings",
    "firesteel.datastream._salted_stages": "firesteel.program.functions.salted",
    "firesteel.datastream._sink_wrappers": "firesteel.program.sink_wrappers",
    "firesteel.datastream._state_descriptors": "firesteel.program.state.descriptors",
    "firesteel.datastream._state_futures": "firesteel.program.state.futures",
    "firesteel.datastream._state_kinds": "firesteel.program.state.kinds",
    "firesteel.datastream._state_ttl": "firesteel.program.state.ttl",
    "firesteel.datastream._stateful_triggers": "firesteel.program.windows.stateful_triggers",
    "firesteel.datastream._transformations": "firesteel.program.transformations",
    "firesteel.datastream._triggers": "firesteel.program.windows.triggers",
    "firesteel.datastream._two_phase_commit": "firesteel.program.functions.two_phase_commit",
    "firesteel.datastream._window_assigner_base": "firesteel.program.windows.assigner",
    "firesteel.datastream._window_assigners": "firesteel.program.windows.assigners",
    "firesteel.datastream._window_functions": "firesteel.program.functions.window",
    "firesteel.datastream._windows": "firesteel.program.windows.windows",
    "firesteel.datastream.async_retry_predicates": "firesteel.program.functions.retry_predicates",
    "firesteel.datastream.async_retry_strategies": "firesteel.program.functions.retry_strategies",
    "firesteel.datastream.checkpoint_config": "firesteel.program.checkpoint_config",
    "firesteel.datastream.checkpointing_mode": "firesteel.program.checkpointing_mode",
    "firesteel.datastream.connectors._aws_sinks": "firesteel.connectors.aws.builders_sinks",
    "firesteel.datastream.connectors._file_sink": "firesteel.connectors.files.builders_sink",
    "firesteel.datastream.connectors._file_sink_options": "firesteel.connectors.files.builders_options",
    "firesteel.datastream.connectors._file_source": "firesteel.connectors.files.builders_source",
    "firesteel.datastream.connectors._jdbc_options": "firesteel.connectors.jdbc.builders_options",
    "firesteel.datastream.connectors._kafka_legacy": "firesteel.connectors.kafka.builders_legacy",
    "firesteel.datastream.connectors._kafka_serializer": "firesteel.connectors.kafka.builders_serializer",
    "firesteel.datastream.connectors._kafka_sink": "firesteel.connectors.kafka.builders_sink",
    "firesteel.datastream.connectors._kafka_source": "firesteel.connectors.kafka.builders_source",
    "firesteel.datastream.connectors._kinesis_consumer": "firesteel.connectors.aws.builders_kinesis",
    "firesteel.datastream.connectors.base": "firesteel.program.connector_wrappers",
    "firesteel.datastream.connectors.datagen": "firesteel.connectors.generated.builders_datagen",
    "firesteel.datastream.connectors.dynamic_kafka": "firesteel.connectors.kafka.builders_dynamic",
    "firesteel.datastream.connectors.elasticsearch": "firesteel.connectors.elasticsearch.builders",
    "firesteel.datastream.connectors.hybrid_source": "firesteel.connectors.hybrid.builders",
    "firesteel.datastream.connectors.jdbc": "firesteel.connectors.jdbc.builders",
    "firesteel.datastream.connectors.mongodb": "firesteel.connectors.mongodb.builders",
    "firesteel.datastream.connectors.number_seq": "firesteel.connectors.generated.builders_sequence",
    "firesteel.datastream.connectors.pulsar": "firesteel.connectors.pulsar.builders",
    "firesteel.datastream.connectors.rabbitmq": "firesteel.connectors.rabbitmq.builders",
    "firesteel.datastream.connectors.redis": "firesteel.connectors.redis.builders",
    "firesteel.datastream.execution_mode": "firesteel.program.execution_mode",
    "firesteel.datastream.externalized_checkpoint_retention": "firesteel.program.retention",
    "firesteel.datastream.formats._avro_files": "firesteel.connectors.files.avro_formats",
    "firesteel.datastream.formats._avro_types": "firesteel.formats.avro_types",
    "firesteel.datastream.formats._columnar": "firesteel.connectors.files.columnar_formats",
    "firesteel.datastream.formats._csv_messages": "firesteel.formats.csv_messages",
    "firesteel.datastream.formats._csv_schema": "firesteel.connectors.files.csv_formats",
    "firesteel.datastream.formats._row_types": "firesteel.connectors.files.row_types",
    "firesteel.datastream.formats.avro": "firesteel.formats.avro",
    "firesteel.datastream.formats.avro_confluent": "firesteel.formats.avro_confluent",
    "firesteel.datastream.formats.changelog_json": "firesteel.formats.changelog_json",
    "firesteel.datastream.formats.protobuf": "firesteel.formats.protobuf",
    "firesteel.datastream.formats.raw": "firesteel.formats.raw",
    "firesteel.datastream.output_tag": "firesteel.program.output_tag",
    "firesteel.datastream.time_domain": "firesteel.program.time_domain",
    "firesteel.datastream.timerservice": "firesteel.program.timerservice",
    "firesteel.formats._avro_codec": "firesteel.formats.avro_codec",
    "firesteel.formats._avro_columns": "firesteel.formats.avro_columns",
    "firesteel.formats._avro_schema": "firesteel.formats.avro_schema",
    "firesteel.formats._changelog_json": "firesteel.formats.changelog_rows",
    "firesteel.formats._csv_columns": "firesteel.formats.csv_columns",
    "firesteel.formats._csv_encode": "firesteel.formats.csv_encode",
    "firesteel.formats._csv_records": "firesteel.formats.csv_records",
    "firesteel.formats._csv_rows": "firesteel.formats.csv_rows",
    "firesteel.formats._encoders": "firesteel.formats.encoders",
    "firesteel.formats._json_rows": "firesteel.formats.json_rows",
    "firesteel.formats._json_schema": "firesteel.formats.json_schema",
    "firesteel.formats._json_structs": "firesteel.formats.json_structs",
    "firesteel.formats._protobuf_rows": "firesteel.formats.protobuf_rows",
    "firesteel.formats._row_input": "firesteel.formats.row_input",
    "firesteel.formats._schema_registry": "firesteel.formats.schema_registry",
    "firesteel.graph._murmur3": "firesteel.graph.murmur3",
    "firesteel.table._data_types": "firesteel.table.types",
}
#: The module now, and the first name of a class in it -> the class's name now.
NAMES: Final[dict[tuple[str, str], str]] = {
    ("firesteel.jobmanager.sources", "_SplitProgress"): "SplitProgress",
}
_FIRST: Final = {now: first for first, now in MODULES.items()}


def lasting(module_name: str) -> str:
    """Return the first name of one of our modules. It is part of the bytes of keys, which must never
    change."""
    return _FIRST.get(module_name, module_name)


def present(module_name: str, global_name: str) -> tuple[str, str]:
    """Return the current module and name of what was stored under these names."""
    module_name = MODULES.get(module_name, module_name)
    return module_name, NAMES.get((module_name, global_name), global_name)


def loads(data: bytes) -> Any:
    """Unpickle data that any release has written."""
    try:
        return pickle.loads(data)
    except (ImportError, AttributeError):  # the class has moved or does not exist
        return _Unpickler(io.BytesIO(data)).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        return find(module_name, global_name)


def find(module_name: str, global_name: str) -> Any:
    """Return the class or function that was stored under these names.

    :raises ImportError, AttributeError: it does not exist.
    """
    module_name, global_name = present(module_name, global_name)
    found: Any = importlib.import_module(module_name)
    for part in global_name.split("."):
        found = getattr(found, part)
    return found
