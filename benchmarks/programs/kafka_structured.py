"""The job of ``kafka_map.py`` as a Structured Streaming query: Spark parses and writes the JSON, a pandas UDF
applies the same functions to each record."""

import argparse
import json
import tempfile
import time

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json, pandas_udf, struct, to_json

SCHEMA = "id long, name string, value long, pad string"


def shout(name):
    return name.upper()


def change(value):
    return value * 2 + 1


def run(session, records, options):
    upper = pandas_udf(lambda names: names.map(shout), "string")
    changed = pandas_udf(lambda values: values.map(change), "long")
    lines = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", options.brokers)
        .option("subscribe", f"in-{options.size}-{records}")
        .option("startingOffsets", "earliest")
        .load()
    )
    rows = lines.select(from_json(col("value").cast("string"), SCHEMA).alias("r")).select("r.*")
    done = rows.select("id", upper("name").alias("name"), changed("value").alias("value"), "pad")
    with tempfile.TemporaryDirectory() as checkpoints:
        started = time.perf_counter()
        query = (
            done.select(to_json(struct("*")).alias("value"))
            .writeStream.format("kafka")
            .option("kafka.bootstrap.servers", options.brokers)
            .option("topic", f"out-{options.size}-{records}")
            .option("checkpointLocation", checkpoints)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[10_000])
    parser.add_argument("--brokers", required=True)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--jars", required=True)
    options = parser.parse_args()
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", options.jars)
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    for records in options.records:
        seconds = run(session, records, options)
        print(json.dumps({"records": records, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
