"""Builder of a source that reads several sources in sequence (PyFlink:
``pyflink.datastream.connectors.hybrid_source``)."""

from __future__ import annotations

from firesteel.connectors.hybrid import source as hybrid
from firesteel.program.checks import WrongArgumentError
from firesteel.program.connector_wrappers import SourceWrapper


class HybridSource(SourceWrapper):
    """Reads several sources in sequence, each to its end before the next one starts (Flink:
    ``HybridSource``).

    All but the last must be bounded. All must have records of the same type.
    """

    @staticmethod
    def builder(first_source: SourceWrapper) -> HybridSourceBuilder:
        """Return a builder that starts with ``first_source``."""
        return HybridSourceBuilder(first_source)


class HybridSourceBuilder:
    """Builds a ``HybridSource``."""

    def __init__(self, first_source: SourceWrapper) -> None:
        self._sources = [_checked(first_source)]

    def add_source(self, source: SourceWrapper) -> HybridSourceBuilder:
        """Add a source, to be read after the previous ones."""
        self._sources.append(_checked(source))
        return self

    def build(self) -> HybridSource:
        """Build the source.

        :raises ConfigurationError: a source other than the last is unbounded; the error names it.
        """
        built = HybridSource(hybrid.SourcesInTurn(tuple(s.wrapped_source for s in self._sources)))
        types = [source.produced_type for source in self._sources]
        known = [t for t in types if t is not None]
        if any(t != known[0] for t in known):
            raise WrongArgumentError(
                "The sources of a hybrid source give records of different types.",
                detail=", ".join(str(t) for t in types),
                hint="give them schemas of one type",
            )
        built.produced_type = known[0] if len(known) == len(types) else None
        return built


def _checked(source: SourceWrapper) -> SourceWrapper:
    if not isinstance(source, SourceWrapper):
        raise WrongArgumentError(
            "Not a source.", detail=f"got {source!r}", hint="pass what the builder of a source has built"
        )
    return source
