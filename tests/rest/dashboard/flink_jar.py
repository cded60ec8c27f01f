"""Where the jar with Flink's dashboard is."""

from __future__ import annotations

from pathlib import Path

from tests.places import CACHE, fetched


def flink_dist() -> Path:
    """The jar with the dashboard of Flink 2.3.0."""
    return fetched(CACHE / "flink-ui-2.3.0") / "flink-runtime-web-2.3.0.jar"
