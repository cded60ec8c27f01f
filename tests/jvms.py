"""JVMs of tests live for seconds: to compile for speed and collect in parallel is half of their CPU time."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from py4j.java_gateway import JavaGateway

QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# What scripts/spark-archive has made; a JVM that cannot use it goes without it, and need not say so.
_ARCHIVE: Final = Path(sys.prefix) / "spark.jsa"


def quick_spark() -> str:
    """The options of a JVM of Spark."""
    return f"{QUICK} -XX:SharedArchiveFile={_ARCHIVE} -Xlog:cds*=off" if _ARCHIVE.exists() else QUICK


def for_short_lives() -> dict[str, str]:
    """The variables for it, of all JVMs of Spark: drivers, also those of the programs that tests start,
    and executors. In cluster mode a driver is started by others, and has to be given ``quick_spark()``."""
    quick = quick_spark()
    options = f'{quick} -Dspark.executor.extraJavaOptions="{quick}"'
    return {
        "SPARK_SUBMIT_OPTS": f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} {options}".strip(),
        "FIRESTEEL_SPARK_ARCHIVE": "off",  # no second one; none is made for this user
    }


def leave(gateway: JavaGateway) -> None:
    """Have nothing to do with a JVM any more that is about to end.

    Objects of it that Python collects later on would be given back to it one by one, and py4j logs each
    attempt with its stack. To write that stack the parser is called, in Python 3.11 from within a parser that
    is at work where the collection comes in between, and then that one fails.
    """
    gateway.close()
    gateway._gateway_client.is_connected = False
