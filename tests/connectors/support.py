"""Short ways to ask a source, for tests of what is special about it; the rest is in the contract."""

from __future__ import annotations

from pathlib import Path

from firesteel.connectors.base import EnumeratorContext, Source, Split


def context(tmp_path: Path, parallelism: int = 1) -> EnumeratorContext:
    return EnumeratorContext(parallelism, str(tmp_path / "work"))


def discovered(source: Source, tmp_path: Path, parallelism: int = 1, now_ms: int = 0) -> list[Split]:
    enumerator = source.create_enumerator(context(tmp_path, parallelism))
    enumerator.open()
    try:
        return enumerator.discover(now_ms)
    finally:
        enumerator.close()
