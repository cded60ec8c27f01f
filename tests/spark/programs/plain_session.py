"""A session of the user's without the settings that ours has: it works, and says what it loses."""

from __future__ import annotations

import json
import logging

from pyspark.sql import SparkSession

from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment


class Warnings(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith("firesteel"):
            self.texts.append(record.getMessage())


if __name__ == "__main__":
    warnings = Warnings()
    logging.getLogger().addHandler(warnings)
    session = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").getOrCreate()
    session.conf.set("spark.sql.adaptive.enabled", "true")
    found = []
    for _ in range(2):
        env = StreamExecutionEnvironment.get_execution_environment(spark=session)
        env.set_parallelism(2)
        sums = env.from_collection(range(10), Types.LONG()).key_by(lambda v: v % 2).sum()
        found.append(sorted(sums.execute_and_collect()))
    adaptive = session.conf.get("spark.sql.adaptive.enabled")
    still_there = session.range(3).count()
    session.stop()
    print(
        json.dumps({"found": found, "warnings": warnings.texts, "adaptive": adaptive, "still": still_there})
    )
