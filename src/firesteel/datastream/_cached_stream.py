"""The stream that ``cache()`` would give."""

from __future__ import annotations

from typing import NoReturn

from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.datastream._data_stream import DataStream
from firesteel.datastream._transformations import Transformation


class CachedDataStream(DataStream):
    """A stream whose records are kept for later jobs (PyFlink: ``CachedDataStream``), for annotations of
    programs: ``DataStream.cache`` refuses, so there is none."""

    def invalidate(self) -> NoReturn:
        """Drop the kept records."""
        raise UnsupportedFeatureError(
            "No records are kept for later jobs.", operator=self._transformation.name
        )

    def _operator(self, setting: str) -> Transformation:
        raise ProgramError(
            f"The {setting} cannot be set or read on a cached stream.",
            operator=self._transformation.name,
            hint=f"set the {setting} before cache()",
        )
