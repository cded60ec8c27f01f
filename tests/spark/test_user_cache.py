from __future__ import annotations

import os
import time
from pathlib import Path

from firesteel.spark.user_cache import UNUSED_DAYS, mark_used, remove_unused


def test_what_was_not_used_for_long_is_removed(tmp_path: Path) -> None:
    long_ago = time.time() - (UNUSED_DAYS + 1) * 86_400
    for name in ("spark-old.jsa", "spark-used.jsa", "other"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (long_ago, long_ago))
    (tmp_path / "spark-directory").mkdir()
    (tmp_path / "spark-directory" / "file").touch()
    os.utime(tmp_path / "spark-directory", (long_ago, long_ago))
    (tmp_path / "spark-new.jsa").touch()
    mark_used(tmp_path / "spark-used.jsa")
    mark_used(tmp_path / "not there")
    remove_unused(tmp_path, "spark-*")
    assert {path.name for path in tmp_path.iterdir()} == {"spark-used.jsa", "spark-new.jsa", "other"}
