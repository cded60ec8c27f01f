"""Files with a JSON value in each line."""

from __future__ import annotations

from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.files.builders_source import StreamFormat
from firesteel.connectors.files.json_source import JsonFileSource, JsonFormat
from firesteel.program import sources as base


class JsonReaderFormat(StreamFormat):
    """Reads files with one JSON value in each line, in ``FileSource.for_record_stream_format`` (PyFlink has
    no such class; the options are those of ``JsonRowDeserializationSchema``)."""

    @staticmethod
    def for_type(
        type_info: TypeInformation, fail_on_missing_field: bool = False, ignore_parse_errors: bool = False
    ) -> JsonReaderFormat:
        """Records of ``type_info``, a row for objects. What cannot be read is a bad record: it fails the job,
        or goes to the side output ``BAD_RECORDS``, or is left out with ``ignore_parse_errors``."""
        format_ = JsonFormat(type_info, fail_on_missing_field, ignore_parse_errors)

        def make(paths: tuple[str, ...], interval_ms: int | None, split_bytes: int | None) -> base.Source:
            return JsonFileSource(paths, format_, interval_ms, split_bytes)

        return JsonReaderFormat(make, type_info)
