"""Where the jar with Flink's dashboard is."""

from __future__ import annotations

from pathlib import Path

from tests.places import CACHE


def flink_dist() -> Path:
    """The jar with the dashboard of Flink 2.3.0."""
    found = CACHE / "flink-ui-2.3.0" / "flink-runtime-web-2.3.0.jar"
    assert found.is_file(), "Flink's dashboard is not there: scripts/fetch-flink-ui fetches it."
    return found
