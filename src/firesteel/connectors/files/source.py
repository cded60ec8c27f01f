"""What all file sources share."""

from __future__ import annotations

from firesteel.connectors.files.splits import FileEnumerator, check_options, check_paths
from firesteel.program.sources import Boundedness, EnumeratorContext, Source, SplitEnumerator


class FilesSource(Source):
    """Base of file sources: a dataclass with these fields derives from it and adds its reader.

    A path is a file, a directory or a pattern with ``*``, ``?``, ``[..]`` and ``**``. It is local or a URI
    that ``pyarrow.fs`` supports. Directories are read recursively, except names that begin with ``.`` or
    ``_``.

    With ``discovery_interval_ms`` the paths are watched for new files and the source never ends. A file is
    read once, when it is first seen, so it must be complete then: write it elsewhere and move it there.
    ``split_bytes`` cuts larger files, unless they are compressed as a whole, into ranges that are read in
    parallel, with no order between them.
    """

    __slots__ = ()

    paths: tuple[str, ...]
    discovery_interval_ms: int | None
    split_bytes: int | None

    def __post_init__(self) -> None:
        if isinstance(self.paths, str):
            object.__setattr__(self, "paths", (self.paths,))
        object.__setattr__(self, "paths", tuple(self.paths))
        check_options(self.paths, self.discovery_interval_ms, self.split_bytes)

    @property
    def splits_kind(self) -> str:
        return "files"  # whatever their records are

    @property
    def boundedness(self) -> Boundedness:
        watched = self.discovery_interval_ms is not None
        return Boundedness.CONTINUOUS_UNBOUNDED if watched else Boundedness.BOUNDED

    def validate(self) -> None:
        check_paths(self.paths, self.discovery_interval_ms is not None)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return FileEnumerator(self.paths, self.discovery_interval_ms, self.split_bytes, self.is_wanted)

    def is_wanted(self, path: str) -> bool:
        """Whether a file that is found is read."""
        return True
