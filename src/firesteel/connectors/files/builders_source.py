"""Builder of the file source."""

from __future__ import annotations

from collections.abc import Callable

from firesteel.common.errors import ConfigurationError
from firesteel.common.time import Duration, as_millis
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.connectors.files.text_source import TextFileSource
from firesteel.program import sources as base
from firesteel.program.checks import WrongArgumentError, require_text
from firesteel.program.connector_wrappers import SourceWrapper

SPLIT_BYTES = 64 << 20

# paths, discovery interval in milliseconds (None: discover once), bytes per split (None: one split per file)
# -> source
SourceFactory = Callable[[tuple[str, ...], int | None, int | None], base.Source]


class FileEnumeratorProvider:
    """Decides how files become splits."""

    def __init__(self, split_bytes: int | None) -> None:
        self.split_bytes = split_bytes

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Read large files in ranges in parallel, with no order between ranges."""
        return FileEnumeratorProvider(SPLIT_BYTES)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Read each file in order with one subtask; the default for stream formats."""
        return FileEnumeratorProvider(None)


class FileSplitAssignerProvider:
    """Decides which subtask reads which split."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Leave it to Spark, which places the subtasks; the default."""
        return FileSplitAssignerProvider()


class StreamFormat:
    """How the bytes of a file become records, one by one.

    :param factory: creates the source; ``produced_type`` is the type of its records.
    """

    def __init__(self, factory: SourceFactory, produced_type: TypeInformation | None = None) -> None:
        self._factory = factory
        self._produced_type = produced_type

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """Read lines of text."""
        require_text(charset_name, "charset")

        def make(paths: tuple[str, ...], interval_ms: int | None, split_bytes: int | None) -> base.Source:
            return TextFileSource(paths, charset_name, interval_ms, split_bytes)

        return StreamFormat(make, Types.STRING())


class BulkFormat:
    """How a file is read in batches of records, such as the row groups of a Parquet file. Large files are
    read in ranges unless another file enumerator is set.

    :param factory: creates the source; ``produced_type`` is the type of its records.
    """

    def __init__(self, factory: SourceFactory, produced_type: TypeInformation | None = None) -> None:
        self._factory = factory
        self._produced_type = produced_type


class FileSourceBuilder:
    """Builds a FileSource; by default it reads the existing files once."""

    def __init__(
        self, file_format: StreamFormat | BulkFormat, paths: tuple[str, ...], split_bytes: int | None = None
    ) -> None:
        self._format = file_format
        self._paths = paths
        self._interval_ms: int | None = None
        self._split_bytes = split_bytes

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """Keep looking for new files; the source never ends."""
        millis = as_millis(discovery_interval, "discovery interval")
        if millis <= 0:
            raise ConfigurationError("The discovery interval must be positive.", detail=f"got {millis} ms")
        self._interval_ms = millis
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read the files that exist when the job starts, then end."""
        self._interval_ms = None
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        if not isinstance(file_enumerator, FileEnumeratorProvider):
            raise WrongArgumentError("Not a FileEnumeratorProvider.", detail=f"got {file_enumerator!r}")
        self._split_bytes = file_enumerator.split_bytes
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        if not isinstance(split_assigner, FileSplitAssignerProvider):
            raise WrongArgumentError("Not a FileSplitAssignerProvider.", detail=f"got {split_assigner!r}")
        return self

    def build(self) -> FileSource:
        source = self._format._factory(self._paths, self._interval_ms, self._split_bytes)
        return FileSource(source, self._format._produced_type)


class FileSource(SourceWrapper):
    """Reads the files at one or more paths: files, directories, glob patterns or URIs (Flink:
    ``FileSource``)."""

    def __init__(self, source: base.Source, produced_type: TypeInformation | None = None) -> None:
        super().__init__(source)
        self.produced_type = produced_type

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        """Read records one by one with ``stream_format``."""
        _check_format(stream_format, StreamFormat, "StreamFormat.text_line_format()")
        return FileSourceBuilder(stream_format, _checked_paths(paths))

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat, *paths: str) -> FileSourceBuilder:
        """Read records in batches with ``bulk_format``."""
        _check_format(bulk_format, BulkFormat, "ParquetColumnarRowInputFormat(row_type)")
        return FileSourceBuilder(bulk_format, _checked_paths(paths), SPLIT_BYTES)


def _check_format(given: object, kind: type, example: str) -> None:
    if not isinstance(given, kind):
        raise WrongArgumentError(
            f"Not a {kind.__name__}.",
            operator="FileSource",
            detail=f"got {given!r}",
            hint=f"for example {example}",
        )


def _checked_paths(paths: tuple[str, ...]) -> tuple[str, ...]:
    if not paths:
        raise WrongArgumentError("A FileSource needs at least one path.", operator="FileSource")
    return tuple(require_text(path, "path", "FileSource") for path in paths)
