"""The floor: the keyed count of ``keyed_count.py`` by hand on Spark, without any framework.

What a good engineer writes when only speed counts: one Spark job, plain Python loops, records pickled in
buffers and not one to a Spark row, a dict as state. No event time, no fault tolerance, no state that outlives
the job.

``--style inline`` has the program's logic inside the loops. ``--style functions`` calls it, as every
framework must: a map function, a key selector, a generator function and a filter for each record.
"""

import argparse
import json
import os
import pickle
import sys
import time

import pyarrow as pa
from pyspark.sql import SparkSession, functions as sf

BUFFER = 5_000  # records to a buffer


SCHEMA = pa.schema([("target", pa.int32()), ("body", pa.binary())])


def to_batch(outgoing):
    """The records that wait for each target -> one row for each target that has some."""
    full = [(target, pickle.dumps(records, 5)) for target, records in enumerate(outgoing) if records]
    for records in outgoing:
        records.clear()
    return pa.RecordBatch.from_arrays([list(column) for column in zip(*full, strict=True)], schema=SCHEMA)


def ranges_of(batch):
    return zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)


def produce_inline(keys, parallelism):
    def run(batches):
        outgoing = [[] for _ in range(parallelism)]
        appends = [records.append for records in outgoing]
        for batch in batches:
            for start, end in ranges_of(batch):
                for i in range(start, end):
                    key = i % keys
                    appends[hash(key) % parallelism]((key, i, 1))
                yield to_batch(outgoing)

    return run


def consume_inline(batches):
    state = {}
    get = state.get
    outputs = kept = 0
    for batch in batches:
        for body in batch.column(1):
            results = []
            emit = results.append
            for key, number, one in pickle.loads(body.as_buffer()):
                state[key] = count = get(key, 0) + one
                emit((key, number, count))
            outputs += len(results)
            kept += len([result for result in results if result[2] < 0])
    assert kept == 0
    yield pa.RecordBatch.from_pydict({"outputs": pa.array([outputs], pa.int64())})


def produce_functions(keys, parallelism):
    to_record = lambda i: (i % keys, i, 1)  # noqa: E731
    key_of = lambda record: record[0]  # noqa: E731

    def run(batches):
        outgoing = [[] for _ in range(parallelism)]
        appends = [records.append for records in outgoing]
        for batch in batches:
            for start, end in ranges_of(batch):
                for record in map(to_record, range(start, end)):
                    appends[hash(key_of(record)) % parallelism](record)
                yield to_batch(outgoing)

    return run


def consume_functions(batches):
    state = {}
    key_of = lambda record: record[0]  # noqa: E731
    is_kept = lambda record: record[2] < 0  # noqa: E731

    def process(record, key):
        count = state.get(key, 0) + record[2]
        state[key] = count
        yield record[0], record[1], count

    outputs = kept = 0
    for batch in batches:
        for body in batch.column(1):
            results = []
            emit = results.extend
            for record in pickle.loads(body.as_buffer()):
                emit(process(record, key_of(record)))
            outputs += len(results)
            kept += len(list(filter(is_kept, results)))
    assert kept == 0
    yield pa.RecordBatch.from_pydict({"outputs": pa.array([outputs], pa.int64())})


STYLES = {
    "inline": (produce_inline, consume_inline),
    "functions": (produce_functions, consume_functions),
}


def run(spark, records, options):
    parallelism = options.parallelism
    produce, consume = STYLES[options.style]
    started = time.perf_counter()
    ranges = spark.range(0, records, BUFFER * parallelism, parallelism).select(
        sf.col("id").alias("start"),
        sf.least(sf.col("id") + BUFFER * parallelism, sf.lit(records)).alias("end"),
    )
    counted = (
        ranges.mapInArrow(produce(options.keys, parallelism), "target int, body binary")
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
    parser.add_argument("--style", choices=sorted(STYLES), default="inline")
    options = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master(f"local[{options.parallelism}]")
        .appName("floor")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", 20)  # buffers in a batch: work starts early
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    for records in options.records:
        seconds = run(spark, records, options)
        print(json.dumps({"records": records, "keys": options.keys, "seconds": seconds}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
