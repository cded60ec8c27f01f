"""Options of file sinks: names of part files, when they are closed, and their directories."""

from __future__ import annotations

from typing import Any, TypeAlias

from firesteel.connectors.files import rolling, sink as file_sink
from firesteel.program.checks import WrongArgumentError, require_int


class BucketAssigner:
    """Chooses the directory of a record below the base path. Use one of the static methods, or a subclass
    that defines ``get_bucket_id`` (Flink: ``BucketAssigner``)."""

    Context: TypeAlias = rolling.BucketContext

    _built_in: rolling.Buckets | None = None

    def get_bucket_id(self, element: Any, context: rolling.BucketContext) -> str:
        """Return a path relative to the base path, such as ``country=de``; "" is the base path itself. It
        must depend only on the record and the context."""
        return self.config.bucket_of(element, context)

    @property
    def config(self) -> rolling.Buckets:
        if self._built_in is not None:
            return self._built_in
        if type(self).get_bucket_id is BucketAssigner.get_bucket_id:
            raise WrongArgumentError(
                "A bucket assigner needs a get_bucket_id method.",
                operator="FileSink",
                detail=f"got {type(self).__name__}",
                hint="define get_bucket_id(self, element, context) in your subclass",
            )
        return rolling.CustomBuckets(self.get_bucket_id)

    @staticmethod
    def _of(buckets: rolling.Buckets) -> BucketAssigner:
        assigner = BucketAssigner()
        assigner._built_in = buckets
        return assigner

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """Write all records to the base path itself."""
        return BucketAssigner._of(rolling.BasePathBuckets())

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """Use a directory for each hour of processing time, or for another unit that the pattern gives.

        :param format_str: a pattern of Java's DateTimeFormatter.
        :param timezone_id: such as ``Europe/Berlin``; None is the time zone of the driver.
        """
        return BucketAssigner._of(rolling.DateTimeBuckets(format_str, timezone_id))


class RollingPolicy:
    """Decides when a part file is complete and a new one is started."""

    def __init__(self, config: rolling.Rolling) -> None:
        self.config = config

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128,
        rollover_interval: int = 60 * 1000,
        inactivity_interval: int = 60 * 1000,
    ) -> DefaultRollingPolicy:
        """Roll by size (bytes), by age, and by time without a record (both in milliseconds)."""
        require_int(part_size, "part size (in bytes)", 1, None, "FileSink")
        require_int(rollover_interval, "rollover interval (in milliseconds)", 1, None, "FileSink")
        require_int(inactivity_interval, "inactivity interval (in milliseconds)", 1, None, "FileSink")
        return DefaultRollingPolicy(rolling.Rolling(part_size, rollover_interval, inactivity_interval))

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Start a new file after each checkpoint with records, or after each epoch if there are no
        checkpoints."""
        return OnCheckpointRollingPolicy(rolling.Rolling(on_every_commit=True))


class DefaultRollingPolicy(RollingPolicy):
    """Rolls by size and time."""


class OnCheckpointRollingPolicy(RollingPolicy):
    """Rolls with each commit."""


class OutputFileConfig:
    """Names part files ``<prefix>-<subtask>-<counter><suffix>``."""

    def __init__(self, part_prefix: str, part_suffix: str) -> None:
        self.config = file_sink.PartNames(part_prefix, part_suffix)

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        return self.config.part_prefix

    def get_part_suffix(self) -> str:
        return self.config.part_suffix

    class OutputFileConfigBuilder:
        """Builds an OutputFileConfig; the default prefix is ``part``."""

        def __init__(self) -> None:
            self.part_prefix = "part"
            self.part_suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            self.part_prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            self.part_suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            return OutputFileConfig(self.part_prefix, self.part_suffix)


class FileCompactStrategy:
    """When part files would be compacted, which is not supported; see
    ``FileSink.BaseBuilder.enable_compact``."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        return FileCompactStrategy.Builder()

    class Builder:
        """Builds a FileCompactStrategy."""

        def __init__(self) -> None:
            self._options: dict[str, int] = {}

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            self._options["checkpoints"] = require_int(
                num_checkpoints_before_compaction, "number of checkpoints", 1
            )
            return self

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            self._options["size"] = require_int(size_threshold, "size threshold (in bytes)", 0)
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            self._options["threads"] = require_int(num_compact_threads, "number of threads", 1)
            return self

        def build(self) -> FileCompactStrategy:
            return FileCompactStrategy(**self._options)


class FileCompactor:
    """How part files would be compacted, which is not supported; see
    ``FileSink.BaseBuilder.enable_compact``."""

    def __init__(self, kind: str, file_delimiter: bytes | None = None) -> None:
        self.kind = kind
        self.file_delimiter = file_delimiter

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        return FileCompactor("concat", file_delimiter)

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        return FileCompactor("identical")
