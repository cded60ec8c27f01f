"""Creates the archive of Spark's classes (``firesteel.spark.archive``) by running what most jobs use."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path
from typing import Final

from firesteel.common.configuration import Configuration
from firesteel.common.errors import FiresteelError
from firesteel.common.options.execution import SPARK_MASTER
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.spark.archive import OFF, VARIABLE, archive_file
from firesteel.spark.giving_way import give_way
from firesteel.spark.java import find_java
from firesteel.spark.jvm import end_jvm
from firesteel.spark.launch import spark_package
from firesteel.storage.held_directories import held_directory

_PATIENCE_S: Final = 600.0


def make_archive(file: Path) -> bool:
    """Run a small job and archive the classes that it loads; return False if another process is doing so.

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
            os.environ[VARIABLE] = OFF
            given = os.environ.get("SPARK_SUBMIT_OPTS", "")
            os.environ["SPARK_SUBMIT_OPTS"] = f"{given} -XX:ArchiveClassesAtExit={new} -Xlog:cds*=off".strip()
            _run_a_job()
            if not new.exists():
                raise FiresteelError("This Java makes no archive of classes", detail=find_java())
            new.chmod(0o600)
            new.replace(file)
    return True


def _run_a_job() -> None:
    """Run what most jobs use; return when the JVM has exited."""
    configuration = Configuration.from_dict({SPARK_MASTER.key: "local[2,4]"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    env.from_collection(list(range(100))).key_by(lambda n: n % 3).sum().print()
    env.execute("what most jobs use")
    end_jvm(_PATIENCE_S)  # the JVM writes the archive when it exits


def main() -> int:
    """Entry point of ``python -m firesteel.cli.archive [FILE]``. Without FILE it runs in the background, for
    later programs."""
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
