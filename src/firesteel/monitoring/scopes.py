"""Scope formats: the text before the name of a metric, for reporters that write one text for each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from firesteel.common.configuration import Configuration
from firesteel.common.options import metrics as options
from firesteel.metrics.groups import words_of
from firesteel.monitoring.samples import Sample, Scope

_FORMATS: Final = {
    Scope.DRIVER: options.SCOPE_JM,
    Scope.JOB: options.SCOPE_JM_JOB,
    Scope.WORKER: options.SCOPE_TM,
    Scope.TASK: options.SCOPE_TASK,
    Scope.OPERATOR: options.SCOPE_OPERATOR,
}
_VARIABLE: Final = re.compile("<([^<>]*)>")


@dataclass(frozen=True, slots=True)
class ScopeFormats:
    """:param delimiter: between the parts of the text."""

    formats: Mapping[Scope, str]
    delimiter: str = "."

    @staticmethod
    def of(configuration: Configuration, delimiter: str | None) -> ScopeFormats:
        """:param delimiter: that of one reporter; None: that of all."""
        formats = {scope: configuration.get(option) or "" for scope, option in _FORMATS.items()}
        return ScopeFormats(formats, delimiter or configuration.get(options.DELIMITER) or ".")

    def identifier(self, sample: Sample) -> str:
        """Scope, groups and name: ``host.taskmanager.tm.job.map.0.numRecordsIn``."""
        variables = sample.variables
        scope = _VARIABLE.sub(lambda found: variables.get(found[1], found[0]), self.formats[sample.scope])
        parts = (*scope.split("."), *words_of(sample.measure.groups), *sample.name.split("."))
        # Hosts and addresses contain dots: only those of the format are between parts.
        return self.delimiter.join(parts)
