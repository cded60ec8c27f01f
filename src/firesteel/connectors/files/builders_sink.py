"""Builders of the file sinks."""

from __future__ import annotations

import dataclasses
import uuid
import warnings
from typing import Any, NoReturn, Self

from firesteel.common._no_effect import tell_no_effect
from firesteel.common.errors import UnsupportedFeatureError
from firesteel.common.serialization import BulkWriterFactory, Encoder
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.files import rolling, sink as file_sink
from firesteel.connectors.files.builders_options import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from firesteel.connectors.files.partition_commit import PartitionCommit
from firesteel.program import sources as base
from firesteel.program.checks import WrongArgumentError, require_int, require_text
from firesteel.program.connector_wrappers import SinkWrapper
from firesteel.program.functions.legacy_connectors import SinkFunction
from firesteel.program.sink_wrappers import StreamTransformer, SupportsPreprocessing


class _Builder:
    """What the builders of both file sinks share."""

    def __init__(self, base_path: str, encoder: Encoder | BulkWriterFactory) -> None:
        path = require_text(base_path, "base path", "FileSink")
        policy = rolling.Rolling(on_every_commit=isinstance(encoder, BulkWriterFactory))
        self._sink = file_sink.RowFileSink(path, encoder, rolling_policy=policy)

    def with_bucket_check_interval(self, interval: int) -> Self:
        """Has no effect, and a warning says so. In Flink it is the interval (milliseconds) for checking which
        files to close; here they are checked at each commit."""
        require_int(interval, "bucket check interval (in milliseconds)", 1, None, "FileSink")
        tell_no_effect("with_bucket_check_interval", "files are closed whenever output is committed")
        return self

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Self:
        """Set which directory below the base path a record is written to."""
        _require(bucket_assigner, BucketAssigner, "BucketAssigner.date_time_bucket_assigner()")
        return self._set(bucket_assigner=bucket_assigner.config)

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
        """Set how part files are named."""
        _require(output_file_config, OutputFileConfig, "OutputFileConfig.builder()...build()")
        return self._set(file_config=output_file_config.config)

    def with_partition_commit(self, partition_commit: PartitionCommit) -> Self:
        """Set when a bucket is complete and how consumers are notified. PyFlink has this only in SQL:
        ``sink.partition-commit.*``."""
        _require(partition_commit, PartitionCommit, "PartitionCommit(trigger='process-time')")
        return self._set(partition_commit=partition_commit)

    def _set_policy(self, policy: RollingPolicy) -> Self:
        _require(policy, RollingPolicy, "RollingPolicy.default_rolling_policy()")
        if isinstance(self._sink.encoder, BulkWriterFactory) and not isinstance(
            policy, OnCheckpointRollingPolicy
        ):
            raise WrongArgumentError(
                "A bulk format needs a file for each checkpoint.",
                operator="FileSink",
                detail=f"got {policy!r}",
                hint="use RollingPolicy.on_checkpoint_rolling_policy()",
            )
        return self._set(rolling_policy=policy.config)

    def _set(self, **options: Any) -> Self:
        self._sink = dataclasses.replace(self._sink, **options)
        return self


class FileSink(SinkWrapper, SupportsPreprocessing):
    """Writes records to part files exactly once. A part file is either complete or absent (Flink:
    ``FileSink``)."""

    _sink: file_sink.RowFileSink

    def __init__(self, sink: file_sink.RowFileSink, transformer: StreamTransformer | None = None) -> None:
        super().__init__(sink)
        self._transformer = transformer

    def get_transformer(self) -> StreamTransformer | None:
        return self._transformer

    def sink_for(self, type_info: TypeInformation | None) -> base.Sink:
        return _for_stream(self._sink, type_info)

    class BaseBuilder(_Builder):
        """Builds a FileSink."""

        def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> NoReturn:
            raise UnsupportedFeatureError(
                "Part files are not compacted.",
                operator="FileSink",
                hint="leave it out, and make larger files with RollingPolicy.default_rolling_policy()",
            )

        def disable_compact(self) -> Self:
            """Do not compact files, which is the only supported behaviour."""
            return self

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
            """Set when a new file is started."""
            return self._set_policy(rolling_policy)

        def build(self) -> FileSink:
            return FileSink(self._sink)

    class RowFormatBuilder(BaseBuilder):
        """Builds a FileSink that writes record by record."""

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
            return self._set_policy(rolling_policy)

    class BulkFormatBuilder(BaseBuilder):
        """Builds a FileSink that writes whole files."""

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
            return self._set_policy(rolling_policy)

        def build(self) -> FileSink:
            return FileSink(self._sink)

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> FileSink.RowFormatBuilder:
        """Write records one by one with ``encoder``."""
        _require(encoder, Encoder, "Encoder.simple_string_encoder()")
        return FileSink.RowFormatBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: BulkWriterFactory) -> FileSink.BulkFormatBuilder:
        """Write files with one writer of ``writer_factory`` for each."""
        _require(writer_factory, BulkWriterFactory, "a subclass of BulkWriterFactory")
        return FileSink.BulkFormatBuilder(base_path, writer_factory)


class StreamingFileSink(SinkFunction):
    """The predecessor of FileSink, for ``add_sink``."""

    def __init__(self, sink: file_sink.RowFileSink) -> None:
        warnings.warn(
            "StreamingFileSink is deprecated, use FileSink with sink_to()", DeprecationWarning, stacklevel=3
        )
        super().__init__()
        self._file_sink = sink

    def to_sink(self, type_info: TypeInformation | None) -> base.Sink:
        return _for_stream(self._file_sink, type_info)

    class BaseBuilder(_Builder):
        """Builds a StreamingFileSink."""

        def with_rolling_policy(self, policy: RollingPolicy) -> Self:
            """Set when a new file is started."""
            return self._set_policy(policy)

        def build(self) -> StreamingFileSink:
            return StreamingFileSink(self._sink)

    class DefaultRowFormatBuilder(BaseBuilder):
        """Builds a StreamingFileSink that writes record by record."""

        def with_rolling_policy(self, policy: RollingPolicy) -> Self:
            return self._set_policy(policy)

    class DefaultBulkFormatBuilder(BaseBuilder):
        """Builds a StreamingFileSink that writes whole files."""

        def with_rolling_policy(self, policy: RollingPolicy) -> Self:
            return self._set_policy(policy)

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> StreamingFileSink.DefaultRowFormatBuilder:
        _require(encoder, Encoder, "Encoder.simple_string_encoder()")
        return StreamingFileSink.DefaultRowFormatBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(
        base_path: str, writer_factory: BulkWriterFactory
    ) -> StreamingFileSink.DefaultBulkFormatBuilder:
        _require(writer_factory, BulkWriterFactory, "a subclass of BulkWriterFactory")
        return StreamingFileSink.DefaultBulkFormatBuilder(base_path, writer_factory)


def _for_stream(sink: file_sink.RowFileSink, type_info: TypeInformation | None) -> base.Sink:
    """Return the sink for one place in a program. The id separates its hidden files from those of other
    places."""
    return dataclasses.replace(sink, type_info=type_info, id=uuid.uuid4().hex)


def _require(value: Any, kind: type, hint: str) -> None:
    if not isinstance(value, kind):
        raise WrongArgumentError(
            f"The file sink needs {'an' if kind.__name__[0] in 'AEIO' else 'a'} {kind.__name__}.",
            operator="FileSink",
            detail=f"got {value!r}",
            hint=f"for example {hint}",
        )
