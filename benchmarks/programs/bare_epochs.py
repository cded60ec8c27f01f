"""The bare Spark job of the shape of an epoch over two levels, planned anew and run again and again.

``range -> mapInArrow -> repartitionById -> sortWithinPartitions -> mapInArrow -> collect`` with
``--records-per-epoch`` records, pickled in one buffer for each target. No state, no files, no user functions.
"""

import argparse
import json
import os
import pickle
import sys
import time
from statistics import mean, median

import pyarrow as pa
from pyspark.sql import SparkSession, functions as sf

OUT = "target int, channel int, seq bigint, body binary"


def produce(records, parallelism):
    def run(batches):
        for batch in batches:
            for part in batch.column(0).to_pylist():
                numbers = range(part * records // parallelism, (part + 1) * records // parallelism)
                buffers = [[(i, i, 1) for i in numbers if i % parallelism == t] for t in range(parallelism)]
                yield pa.RecordBatch.from_pydict(
                    {
                        "target": pa.array(range(parallelism), pa.int32()),
                        "channel": pa.array([part] * parallelism, pa.int32()),
                        "seq": pa.array([0] * parallelism, pa.int64()),
                        "body": pa.array([pickle.dumps(buffer, 5) for buffer in buffers], pa.binary()),
                    }
                )

    return run


def consume(batches):
    outputs = sum(len(pickle.loads(body.as_buffer())) for batch in batches for body in batch.column("body"))
    yield pa.RecordBatch.from_pydict({"outputs": pa.array([outputs], pa.int64())})


def epoch(spark, records, parallelism):
    answers = (
        spark.range(0, parallelism, 1, parallelism)
        .mapInArrow(produce(records, parallelism), OUT)
        .repartitionById(parallelism, sf.col("target"))
        .sortWithinPartitions("seq", "channel")
        .mapInArrow(consume, "outputs bigint")
        .collect()
    )
    assert sum(row.outputs for row in answers) == records, "a record was lost"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--records-per-epoch", type=int, default=100)
    parser.add_argument("--warm-up", type=int, default=5, help="epochs that do not count")
    parser.add_argument("--parallelism", type=int, default=2)
    options = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master(f"local[{options.parallelism}]")
        .appName("bare epochs")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    seconds = []
    for _ in range(options.epochs):
        started = time.perf_counter()
        epoch(spark, options.records_per_epoch, options.parallelism)
        seconds.append(time.perf_counter() - started)
    counted = seconds[options.warm_up :]
    print(
        json.dumps(
            {"epochs": options.epochs, "mean_seconds": mean(counted), "median_seconds": median(counted)}
        )
    )
    spark.stop()


if __name__ == "__main__":
    main()
