"""Where the streams of a program begin."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from firesteel.common._coercion import compile_coercion
from firesteel.common.errors import FiresteelError, UnsupportedFeatureError
from firesteel.common.io import InputFormat
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.collection import CollectionSource
from firesteel.connectors.files.text_source import TextFileSource
from firesteel.connectors.generated.sequence import SequenceSource
from firesteel.connectors.socket.source import SocketTextSource
from firesteel.datastream._data_stream import DataStream
from firesteel.formats.table_rows import is_table, rows_of_table
from firesteel.program.call_site import call_site
from firesteel.program.checks import (
    WrongArgumentError,
    check_picklable,
    require_int,
    require_text,
    to_type_information,
)
from firesteel.program.execution import get_executor
from firesteel.program.functions.legacy_connectors import SourceFunction, produced_type, unwrap_source
from firesteel.program.sources import Source
from firesteel.program.transformations import SourceTransformation

if TYPE_CHECKING:
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment


_SAMPLE = 100  # elements that are pickled at once, so that a wrong kind is seen where it is passed in


class EnvironmentSources:
    """Sources of an environment. Each method gives the stream of the source's records."""

    def from_collection(
        self, collection: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataStream:
        """The elements of a collection, in order, by one subtask; checked against ``type_info``.

        A collection gives what iterating over it gives, so a dict its keys and a text its characters (as in
        PyFlink). A table (a pandas or Polars DataFrame, an Arrow table) gives its rows.
        """
        name = "Collection Source"
        if not isinstance(collection, Iterable) and not is_table(collection):
            raise WrongArgumentError(
                "from_collection() takes a collection.", operator=name, detail=f"got {collection!r}"
            )
        records = rows_of_table(collection) if is_table(collection) else list(collection)
        checked_type = to_type_information(type_info, "type_info", name)
        if checked_type is not None:
            records = _coerced(records, checked_type, name)
        check_picklable(records[:_SAMPLE], name)
        return self._add_source(CollectionSource(records, checked_type), None, name, checked_type)

    def from_source(
        self,
        source: Any,
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """The records of a source of ``firesteel.datastream.connectors``, or of one of your own.

        :param watermark_strategy: gives the records timestamps and watermarks where they are read.
        """
        name = require_text(source_name, "source name")
        found = unwrap_source(source)
        if not isinstance(found, Source):
            raise WrongArgumentError(
                "from_source() takes a source.",
                operator=name,
                detail=f"got {source!r}",
                hint="build one of firesteel.datastream.connectors, such as FileSource, with its build() "
                "method, or derive your own from firesteel.connectors.Source",
            )
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise WrongArgumentError(
                "from_source() needs a WatermarkStrategy.",
                operator=name,
                detail=f"got {watermark_strategy!r}",
                hint="WatermarkStrategy.no_watermarks() when event time does not matter",
            )
        check_picklable(found, name)
        check_picklable(watermark_strategy, name)
        declared = to_type_information(type_info, "type_info", name)
        return self._add_source(found, watermark_strategy, name, declared or produced_type(source))

    def add_source(
        self,
        source_func: SourceFunction,
        source_name: str = "Custom Source",
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """The records of a SourceFunction that wraps a source; new programs use ``from_source``."""
        if not isinstance(source_func, SourceFunction):
            raise WrongArgumentError(
                "add_source() takes a SourceFunction.",
                operator=source_name,
                detail=f"got {source_func!r}",
                hint="pass the source itself to from_source()",
            )
        declared = type_info or produced_type(source_func)
        strategy = source_func.watermark_strategy or WatermarkStrategy.no_watermarks()
        return self.from_source(source_func.source, strategy, source_name, declared)

    def from_sequence(self, start: int, end: int) -> DataStream:
        """The integers from ``start`` to ``end``, both included, read in parallel."""
        require_int(start, "start of the sequence", -(2**63), 2**63 - 1, "Sequence Source")
        require_int(end, "end of the sequence", start, 2**63 - 1, "Sequence Source")
        return self._add_source(SequenceSource(start, end), None, "Sequence Source", Types.LONG())

    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> DataStream:
        """The lines of a text file, of all files of a directory, or of all that match a glob pattern."""
        path = require_text(file_path, "path", "Text File Source")
        return self._add_source(
            TextFileSource((path,), charset_name), None, "Text File Source", Types.STRING()
        )

    def socket_text_stream(
        self, hostname: str, port: int, delimiter: str = "\n", max_retry: int = 0
    ) -> DataStream:
        """The texts between ``delimiter`` that a server sends. Unbounded.

        :param max_retry: how often to connect again after the connection was lost; -1: without end.
        """
        name = "Socket Stream"
        require_text(hostname, "host", name)
        require_int(port, "port", 1, 65535, name)
        require_text(delimiter, "delimiter", name)
        require_int(max_retry, "number of retries", -1, None, name)
        source = SocketTextSource(hostname, port, delimiter, max_retry)
        return self._add_source(source, None, name, Types.STRING())

    def from_spark(self, data_frame: Any) -> DataStream:
        """The rows of a batch Spark DataFrame as Rows with the names of its columns."""
        source = get_executor().from_spark(cast("StreamExecutionEnvironment", self), data_frame).source
        return self._add_source(source, None, "Spark DataFrame", produced_type(source))

    def create_input(self, input_format: InputFormat, type_info: TypeInformation | None = None) -> DataStream:
        """The records of an input format, such as ``AvroInputFormat``."""
        if not isinstance(input_format, InputFormat) or input_format.source is None:
            raise UnsupportedFeatureError(
                "An InputFormat of Flink cannot be read.",
                operator="create_input",
                detail=f"got {input_format!r}",
                hint="use from_source() with a FileSource, or from_spark(spark.read...) for other formats",
            )
        declared = to_type_information(type_info, "type_info", "create_input")
        return self._add_source(
            input_format.source, None, "Custom File Source", declared or input_format.produced_type
        )

    def _add_source(
        self,
        source: Source,
        watermark_strategy: WatermarkStrategy | None,
        name: str,
        output_type: TypeInformation | None,
    ) -> DataStream:
        limit = source.max_parallelism
        transformation = SourceTransformation(
            name=name,
            source=source,
            # A copy: with_timestamp_assigner() changes a strategy, for later uses of it only.
            watermark_strategy=copy.copy(watermark_strategy),
            output_type=output_type,
            parallelism=1 if limit == 1 else None,
            max_parallelism=1 if limit == 1 else None,
            created_at=call_site(),
        )
        env = cast("StreamExecutionEnvironment", self)
        env._add(transformation)
        return DataStream(env, transformation)


def _coerced(records: list[Any], type_info: TypeInformation, operator: str) -> list[Any]:
    """The records as their declared type has them: widths applied, rows and tuples made."""
    coerce = compile_coercion(type_info, origin="collection")
    if coerce is None:
        return records
    try:
        return coerce(records)
    except FiresteelError as error:
        error.operator = error.operator or operator
        raise
