"""Spark's classes in an archive that a JVM maps into its memory (Java's class data sharing).

Loading and verifying them is a third of what a short job costs. An archive belongs to one Java and one set of
jars, and both are in its name; Java looks at the jars again and goes without an archive that does not fit.
It is made once, by ``python -m firesteel.spark.archive``, which the first job on Spark starts as it ends, and
which gives way to programs that start meanwhile.

The variable ``FIRESTEEL_SPARK_ARCHIVE`` names an archive to use instead; ``off``: none.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from firesteel.common._held_directories import held_directory
from firesteel.common._user_cache import cache_directory, mark_used, remove_unused
from firesteel.common.errors import FiresteelError
from firesteel.common.java import find_java
from firesteel.common.options.execution import SPARK_MASTER
from firesteel.version import __version__

VARIABLE: Final = "FIRESTEEL_SPARK_ARCHIVE"
_OFF: Final = "off"
_PATIENCE_S: Final = 600
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
        return None if chosen == _OFF else Path(chosen)
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
    if os.environ.get(VARIABLE):
        return
    remove_unused(cache_directory(), "spark-*")
    file = archive_file(find_java(), spark_home)
    if file is None or file.exists():
        return
    with suppress(OSError):
        subprocess.Popen(
            [sys.executable, "-m", "firesteel.spark.archive"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )


def make_archive(file: Path) -> bool:
    """Run a small job and keep the classes that it has loaded; False when another process does that now.

    The file appears when it is complete.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(file.with_suffix(".lock"), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        with held_directory(file.parent, "making-") as directory:
            new = directory / "new.jsa"
            os.environ[VARIABLE] = _OFF
            given = os.environ.get("SPARK_SUBMIT_OPTS", "")
            os.environ["SPARK_SUBMIT_OPTS"] = f"{given} -XX:ArchiveClassesAtExit={new} -Xlog:cds*=off".strip()
            _run_a_job()
            if not new.exists():
                raise FiresteelError("This Java makes no archive of classes", detail=find_java())
            new.chmod(0o600)
            new.replace(file)
    return True


def _run_a_job() -> None:
    """What most jobs use; returns when its JVM has ended."""
    from pyspark import SparkContext

    from firesteel.common.configuration import Configuration
    from firesteel.datastream import StreamExecutionEnvironment

    configuration = Configuration.from_dict({SPARK_MASTER.key: "local[2,4]"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    env.from_collection(list(range(100))).key_by(lambda n: n % 3).sum().print()
    env.execute("what most jobs use")
    jvm: subprocess.Popen[bytes] = SparkContext._gateway.proc  # type: ignore[union-attr]
    assert jvm.stdin is not None
    jvm.stdin.close()  # it ends, and writes the archive
    jvm.wait(_PATIENCE_S)


def main() -> int:
    """``python -m firesteel.spark.archive [FILE]``; without FILE in the background, for later programs."""
    from firesteel.spark.giving_way import give_way
    from firesteel.spark.launch import spark_package

    given = sys.argv[1:]
    if not given:
        give_way()
    file = Path(given[0]).absolute() if given else archive_file(find_java(), spark_package())
    try:
        if file is not None:
            make_archive(file)
    except (FiresteelError, OSError) as e:
        print(e, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
