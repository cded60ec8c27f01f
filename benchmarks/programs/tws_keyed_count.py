"""The keyed count of ``keyed_count.py`` on PySpark's ``transformWithState``, rows or pandas.

Structured Streaming groups the rows of a batch by key; state is got and updated for each row, because each
row has an output of its own. Everything is read from prepared Parquet files in several micro-batches and
written to the ``noop`` sink.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import Row, SparkSession, functions as sf
from pyspark.sql.streaming import StatefulProcessor

SCHEMA = "key bigint, number bigint, one bigint"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class CountRows(StatefulProcessor):
    def init(self, handle):
        self.count = handle.getValueState("count", "count bigint")

    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            state = self.count.get()
            count = (state[0] if state is not None else 0) + row.one
            self.count.update((count,))
            yield Row(key=row.key, number=row.number, one=count)

    def close(self):
        pass


class CountPandas(CountRows):
    def handleInputRows(self, key, rows, timerValues):
        import pandas as pd

        for frame in rows:
            counts = []
            for one in frame["one"]:
                state = self.count.get()
                count = (state[0] if state is not None else 0) + int(one)
                self.count.update((count,))
                counts.append(count)
            yield pd.DataFrame({"key": frame["key"], "number": frame["number"], "one": counts})


def run(spark, records, keys, options):
    with tempfile.TemporaryDirectory() as root:
        numbers = spark.range(0, records, 1, options.batches)
        rows = numbers.select(
            (sf.col("id") % keys).alias("key"),
            sf.col("id").alias("number"),
            sf.lit(1).cast("bigint").alias("one"),
        )
        rows.write.parquet(f"{root}/in")
        files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(f"{root}/in")
        grouped = files.groupBy("key")
        if options.variant == "pandas":
            counted = grouped.transformWithStateInPandas(CountPandas(), SCHEMA, "Append", "None")
        else:
            counted = grouped.transformWithState(CountRows(), SCHEMA, "Append", "None")
        started = time.perf_counter()
        query = (
            counted.writeStream.format("noop")
            .outputMode("append")
            .option("checkpointLocation", Path(root, "checkpoint").as_uri())
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[50_000])
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--batches", type=int, default=2, help="micro-batches that the records are cut into")
    parser.add_argument("--variant", choices=["rows", "pandas"], default="rows")
    options = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master(f"local[{options.parallelism}]")
        .appName("transformWithState")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", options.parallelism)
        .config("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        .config("spark.python.unix.domain.socket.enabled", "true")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    for records in options.records:
        seconds = run(spark, records, options.keys, options)
        print(json.dumps({"records": records, "keys": options.keys, "seconds": seconds}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
