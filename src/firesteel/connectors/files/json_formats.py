"""Format for files with one JSON value per line."""

from __future__ import annotations

from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.files.builders_source import StreamFormat
from firesteel.connectors.files.json_source import JsonFileSource, JsonFormat
from firesteel.program import sources as base


class JsonReaderFormat(StreamFormat):
    """Reads files with one JSON value per line, for ``FileSource.for_record_stream_format``. Not in PyFlink;
    the options are those of ``JsonRowDeserializationSchema``."""

    @staticmethod
    def for_type(
        type_info: TypeInformation, fail_on_missing_field: bool = False, ignore_parse_errors: bool = False
    ) -> JsonReaderFormat:
        """Read records of ``type_info``, where objects are rows. A line that cannot be read is a bad record.
        It fails the job, is sent to the side output ``BAD_RECORDS``, or is skipped with
        ``ignore_parse_errors``."""
        format_ = JsonFormat(type_info, fail_on_missing_field, ignore_parse_errors)

        def make(paths: tuple[str, ...], interval_ms: int | None, split_bytes: int | None) -> base.Source:
            return JsonFileSource(paths, format_, interval_ms, split_bytes)

        return JsonReaderFormat(make, type_info)
