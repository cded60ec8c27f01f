"""Spark's classes in an archive that a JVM maps into its memory (Java's class data sharing).

Loading and verifying them is a third of what a short job costs. An archive belongs to one Java and one set of
jars, and both are in its name; Java looks at the jars again and goes without an archive that does not fit.
It is made once, by ``python -m firesteel.cli.archive``, which the first job on Spark starts as it ends, and
which gives way to programs that start meanwhile.

The variable ``FIRESTEEL_SPARK_ARCHIVE`` names an archive to use instead; ``off``: none.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from firesteel.spark.java import find_java
from firesteel.spark.user_cache import cache_directory, mark_used, remove_unused
from firesteel.version import __version__

VARIABLE: Final = "FIRESTEEL_SPARK_ARCHIVE"
OFF: Final = "off"
_LEAST_JAVA: Final = ("lib/modules", "lib/server/classes.jsa")  # what an archive depends on


def archive_options(java_home: str, spark_home: Path) -> list[str]:
    """What makes a JVM use the archive; nothing when there is none."""
    file = archive_file(java_home, spark_home)
    if file is None or not file.exists():
        return []
    mark_used(file)
    return [f"-XX:SharedArchiveFile={file}", "-Xshare:auto", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]


def archive_file(java_home: str, spark_home: Path) -> Path | None:
    """Where the archive is, or would be; None: none is wanted."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen:
        return None if chosen == OFF else Path(chosen)
    digest = hashlib.sha256(f"{__version__} {os.path.realpath(spark_home)}".encode())
    for file in (*(Path(java_home) / part for part in _LEAST_JAVA), *sorted((spark_home / "jars").iterdir())):
        with suppress(OSError):
            found = file.stat()
            digest.update(f"{file} {found.st_size} {found.st_mtime_ns}\n".encode())
    return cache_directory() / f"spark-{digest.hexdigest()[:32]}.jsa"


def make_later(spark_home: Path) -> None:
    """Let a process of its own make the archive, unless there is one or somebody has chosen one.

    Archives that no program has used for some time are removed.
    """
    if os.environ.get(VARIABLE) or not (spark_home / "jars").is_dir():
        return  # under spark-submit PySpark is in an archive, and the JVM is none of ours
    remove_unused(cache_directory(), "spark-*")
    file = archive_file(find_java(), spark_home)
    if file is None or file.exists():
        return
    with suppress(OSError):
        subprocess.Popen(
            [sys.executable, "-m", "firesteel.cli.archive"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )
