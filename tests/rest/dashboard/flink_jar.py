"""Where the jar with Flink's dashboard is."""

from __future__ import annotations

import os
from pathlib import Path

_CACHE = Path(os.environ.get("FIRESTEEL_TEST_CACHE", Path.home() / ".cache/firesteel-tests"))


def flink_dist() -> Path:
    """The jar with the dashboard of Flink 2.3.0."""
    found = _CACHE / "flink-ui-2.3.0" / "flink-runtime-web-2.3.0.jar"
    assert found.is_file(), "Flink's dashboard is not there: scripts/fetch-flink-ui fetches it."
    return found
