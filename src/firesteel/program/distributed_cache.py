"""Files that a program gives to all its workers (Flink: ``DistributedCache``)."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import NamedTuple

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ProgramError
from firesteel.common.options.pipeline import CACHED_FILES


class CachedFile(NamedTuple):
    """One that is registered; ``path`` is where the program found it."""

    name: str
    path: str
    executable: bool = False

    def __str__(self) -> str:
        """As ``pipeline.cached-files`` has it."""
        return f"name:{self.name},path:{self.path},executable:{str(self.executable).lower()}"


def cached_files(configuration: Configuration) -> list[CachedFile]:
    """Those that ``pipeline.cached-files`` names.

    :raises ProgramError: an entry has no name or no path.
    """
    found = []
    for entry in filter(None, (configuration.get(CACHED_FILES) or "").split(";")):
        fields = {key: value for key, _, value in (field.partition(":") for field in entry.split(","))}
        if not fields.get("name") or not fields.get("path"):
            raise ProgramError(
                f"An entry of {CACHED_FILES.key} has no name or no path.",
                detail=repr(entry),
                hint="write name:N,path:P, and ,executable:true for a program",
            )
        path = fields["path"].removeprefix("file://")
        found.append(CachedFile(fields["name"], path, fields.get("executable") == "true"))
    return found


class DistributedCache:
    """The registered files, as functions find them where they run.

    :param paths: by name.
    """

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths

    def get_file(self, name: str) -> str:
        """The path of the copy of the file that ``register_cached_file`` has given this name.

        :raises ProgramError: no file of the name is registered.
        """
        path = self._paths.get(name)
        if path is None:
            near = get_close_matches(name, self._paths, 1)
            raise ProgramError(
                f"File with name {name!r} is not available. Did you forget to register the file?",
                detail=f"registered are: {', '.join(sorted(self._paths)) or 'none'}",
                hint=f"did you mean {near[0]!r}?" if near else "call env.register_cached_file(path, name)",
            )
        return path
