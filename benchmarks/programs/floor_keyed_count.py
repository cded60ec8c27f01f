"""The floor: the keyed count of ``keyed_count.py`` by hand on Spark, without any framework.

What a good engineer writes when nothing but speed counts: one Spark job, plain Python loops, records pickled
in buffers and not one to a Spark row, a dict as state. No event time, no fault tolerance, no state that
outlives the job.
"""

import argparse
import json
import os
import pickle
import sys
import time

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

BUFFER = 5_000  # records to a buffer


def produce(keys, parallelism):
    def run(batches):
        dumps = pickle.dumps
        outgoing = [[] for _ in range(parallelism)]
        for batch in batches:
            for start, end in zip(*batch.to_pydict().values(), strict=True):
                for i in range(start, end):
                    record = (i % keys, i, 1)
                    outgoing[hash(record[0]) % parallelism].append(record)
            full = [(target, records) for target, records in enumerate(outgoing) if records]
            for target, records in full:
                outgoing[target] = []
            yield pa.RecordBatch.from_pydict(
                {
                    "target": pa.array([target for target, _ in full], pa.int32()),
                    "body": pa.array([dumps(records, 5) for _, records in full], pa.binary()),
                }
            )

    return run


def consume(batches):
    state = {}
    get = state.get
    out = 0
    for batch in batches:
        for body in batch.column(1):
            results = []
            emit = results.append
            for key, number, one in pickle.loads(body.as_buffer()):
                state[key] = count = get(key, 0) + one
                emit((key, number, count))
            out += len(results)
    yield pa.RecordBatch.from_pydict({"outputs": pa.array([out], pa.int64())})


def run(spark, records, keys, parallelism):
    started = time.perf_counter()
    ranges = spark.range(0, records, BUFFER * parallelism, parallelism).select(
        sf.col("id").alias("start"), sf.least(sf.col("id") + BUFFER * parallelism, sf.lit(records)).alias("end")
    )
    counted = (
        ranges.mapInArrow(produce(keys, parallelism), "target int, body binary")
        .repartitionById(parallelism, sf.col("target"))
        .mapInArrow(consume, "outputs bigint")
        .collect()
    )
    seconds = time.perf_counter() - started
    assert sum(row.outputs for row in counted) == records, "a record was lost"
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--parallelism", type=int, default=2)
    options = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master(f"local[{options.parallelism}]")
        .appName("floor")
        .config("spark.ui.enabled", "false")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", 20)  # buffers in a batch: work starts early
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    for records in options.records:
        seconds = run(spark, records, options.keys, options.parallelism)
        print(json.dumps({"records": records, "keys": options.keys, "seconds": seconds}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
