"""Reading Parquet and ORC files as rows, and writing rows to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.serialization import BulkWriterFactory
from firesteel.connectors.files.builders_source import BulkFormat
from firesteel.connectors.files.columnar_files import Columns
from firesteel.connectors.files.columnar_source import ColumnarFileSource
from firesteel.connectors.files.columnar_writers import (
    BLOCK_BYTES,
    ORC_CODECS,
    PARQUET_CODECS,
    ColumnarWriterFactory,
    codec_of,
)
from firesteel.connectors.files.row_types import local_zone, required_fields, row_type_info
from firesteel.formats.types_to_arrow import to_arrow_schema, with_instants
from firesteel.program import sources as base
from firesteel.program.checks import require_int


def _columnar_format(
    kind: str, name: str, row_type: Any, batch_size: int, is_utc_timestamp: bool, is_case_sensitive: bool
) -> tuple[Any, Any]:
    type_info = row_type_info(row_type, name)
    require_int(batch_size, "batch size", 1, None, name)
    # Like Flink, treat every timestamp as an instant, whatever the file says about time zones.
    columns = Columns(kind, with_instants(to_arrow_schema(type_info)), is_case_sensitive)
    zone = "UTC" if is_utc_timestamp else local_zone()

    def make(paths: tuple[str, ...], interval_ms: int | None, split_bytes: int | None) -> base.Source:
        return ColumnarFileSource(paths, columns, zone, None, interval_ms, split_bytes, type_info)

    return make, type_info


class ParquetColumnarRowInputFormat(BulkFormat):
    """Reads the columns of Parquet files that ``row_type`` names, in its order, for
    ``FileSource.for_bulk_file_format``. A column that a file does not have is None.

    :param row_type: ``DataTypes.ROW([...])`` or ``Types.ROW_NAMED(...)``; types may be nested.
    :param hadoop_config: options of Hadoop's reader in Flink; none of them is supported.
    :param batch_size: rows per batch in Flink; here the job chooses the batch size.
    :param is_utc_timestamp: if true timestamps are read in UTC, otherwise in the time zone of the driver.
    """

    def __init__(
        self,
        row_type: Any,
        hadoop_config: Configuration | None = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        _options((hadoop_config,), {}, "ParquetColumnarRowInputFormat")
        super().__init__(
            *_columnar_format(
                "parquet",
                "ParquetColumnarRowInputFormat",
                row_type,
                batch_size,
                is_utc_timestamp,
                is_case_sensitive,
            )
        )


class OrcColumnarRowInputFormat(BulkFormat):
    """Reads columns of ORC files, as ``ParquetColumnarRowInputFormat`` does for Parquet (Flink:
    ``OrcColumnarRowInputFormat``; not in PyFlink)."""

    def __init__(
        self,
        row_type: Any,
        hadoop_config: Configuration | None = None,
        batch_size: int = 2048,
        is_case_sensitive: bool = True,
    ) -> None:
        _options((hadoop_config,), {}, "OrcColumnarRowInputFormat")
        super().__init__(
            *_columnar_format(
                "orc", "OrcColumnarRowInputFormat", row_type, batch_size, True, is_case_sensitive
            )
        )


_Option = tuple[str, Callable[[str], Any]]

# Keys of Hadoop's writers, the names of the options here, and how their values are parsed.
_PARQUET_OPTIONS: Final[dict[str, _Option]] = {
    "parquet.compression": ("codec", lambda v: codec_of(v, PARQUET_CODECS, "parquet.compression")),
    "parquet.block.size": ("block_bytes", int),
    "parquet.enable.dictionary": ("use_dictionary", lambda v: _boolean(v)),
    "parquet.page.size": ("data_page_size", int),
    "parquet.write.int64.timestamp": ("int64", lambda v: _boolean(v)),
}
_ORC_OPTIONS: Final[dict[str, _Option]] = {
    "orc.compress": ("codec", lambda v: codec_of(v, ORC_CODECS, "orc.compress")),
    "orc.stripe.size": ("block_bytes", int),
}


def _boolean(text: str) -> bool:
    values = {"true": True, "false": False}
    if text.lower() not in values:
        raise ValueError("not true or false")
    return values[text.lower()]


def _options(
    given: tuple[Configuration | None, ...], known: Mapping[str, _Option], what: str
) -> dict[str, Any]:
    """Translate the options to the names used here.

    :raises ConfigurationError: an option is unknown or its value is invalid.
    """
    found = {}
    for configuration in given:
        for key, text in (configuration.to_dict() if configuration is not None else {}).items():
            if key not in known:
                hint = f"one of {', '.join(known)}" if known else "leave the options out"
                raise ConfigurationError(f"{what} does not know the option {key}", hint=hint)
            name, convert = known[key]
            try:
                found[name] = convert(text)
            except ValueError as error:
                raise ConfigurationError(f"{key} cannot be {text!r}", detail=str(error)) from error
    return found


class ParquetBulkWriters:
    """Writers of Parquet files for ``FileSink.for_bulk_format``."""

    @staticmethod
    def for_row_type(
        row_type: Any, hadoop_config: Configuration | None = None, utc_timestamp: bool = False
    ) -> BulkWriterFactory:
        """Write rows of ``row_type`` (``DataTypes.ROW([...])`` or ``Types.ROW_NAMED(...)``); the default
        codec is snappy.

        :param hadoop_config: ``parquet.compression``, ``parquet.block.size``, ``parquet.page.size``,
            ``parquet.enable.dictionary``, ``parquet.write.int64.timestamp`` of Hadoop's writer.
        :param utc_timestamp: if true timestamps of the rows are in UTC, otherwise in the time zone of the
            driver. TIMESTAMP_LTZ values are instants in either case.
        """
        name = "ParquetBulkWriters"
        options = _options((hadoop_config,), _PARQUET_OPTIONS, name)
        # As in Flink: Hive, and Flink before 2.0, can read no other timestamps.
        options["use_deprecated_int96_timestamps"] = not options.pop("int64", False)
        return ColumnarWriterFactory(
            "parquet",
            row_type_info(row_type, name),
            options.pop("codec", "snappy"),
            options.pop("block_bytes", BLOCK_BYTES),
            "UTC" if utc_timestamp else local_zone(),
            options,
            required_fields(row_type),
        )


class OrcBulkWriters:
    """Writers of ORC files for ``FileSink.for_bulk_format``."""

    @staticmethod
    def for_row_type(
        row_type: Any,
        writer_properties: Configuration | None = None,
        hadoop_config: Configuration | None = None,
    ) -> BulkWriterFactory:
        """Write rows of ``row_type`` (``DataTypes.ROW([...])`` or ``Types.ROW_NAMED(...)``); the default
        codec is zlib.

        :param writer_properties: ``orc.compress`` and ``orc.stripe.size`` of ORC's writer.
        """
        name = "OrcBulkWriters"
        options = _options((hadoop_config, writer_properties), _ORC_OPTIONS, name)
        return ColumnarWriterFactory(
            "orc",
            row_type_info(row_type, name),
            options.pop("codec", "zlib"),
            options.pop("block_bytes", BLOCK_BYTES),
        )
