"""The reporter that appends metrics to a file, one JSON object for each metric and line."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import BinaryIO

import msgspec

from firesteel.common.errors import ConfigurationError
from firesteel.monitoring import options
from firesteel.monitoring.reporter import Read, ReporterSettings
from firesteel.monitoring.samples import flattened


class JsonLinesReporter:
    """A file that has become too large is kept as ``PATH.1``, instead of the one before."""

    def __init__(self) -> None:
        self._file: BinaryIO | None = None

    def open(self, settings: ReporterSettings, read: Read) -> None:
        self._settings = settings
        self._read = read
        path = settings.options.get(options.PATH)
        if not path:
            raise ConfigurationError(f"The metric reporter {settings.name!r} needs a {options.PATH.key}")
        self._path = Path(path)
        self._max_size = settings.options.get(options.MAX_SIZE)
        try:
            self._file = self._path.open("ab")
        except OSError as error:
            raise ConfigurationError(
                f"The metric reporter {settings.name!r} cannot write its file", detail=str(error)
            ) from error

    def report(self) -> None:
        assert self._file is not None, "open() comes first"
        time_ms, scopes = time.time_ns() // 1_000_000, self._settings.scopes
        for sample in flattened(self._read()):
            line = {
                "time": time_ms,
                "metric": scopes.identifier(sample),
                "name": sample.measure.path,
                "scope": sample.scope.value,
                "type": sample.kind.value,
                "value": sample.measure.value,
                "variables": self._settings.variables(sample),
            }
            self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()
        if self._file.tell() > self._max_size:
            self._file.close()
            os.replace(self._path, f"{self._path}.1")
            self._file = self._path.open("ab")

    def close(self) -> None:
        if self._file is not None:
            self.report()
            self._file.close()
            self._file = None
