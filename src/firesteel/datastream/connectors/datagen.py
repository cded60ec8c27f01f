"""Generated records (Flink: ``DataGeneratorSource``; PyFlink has none)."""

from __future__ import annotations

from firesteel.connectors.generated.builders_datagen import (
    DataGeneratorSource,
    GeneratorFunction,
    RateLimiterStrategy,
)

__all__ = ["DataGeneratorSource", "GeneratorFunction", "RateLimiterStrategy"]
