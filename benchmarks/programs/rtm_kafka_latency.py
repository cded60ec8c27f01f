"""Kafka to Kafka in Structured Streaming's own real-time mode: SQL alone, without Python and without state.

That mode has neither (Spark 4.3), so this does less than ``kafka_latency.py``: it says what Spark's sources,
sinks and network take.
"""

import argparse
import tempfile

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, concat, from_json, lit


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brokers", required=True)
    parser.add_argument("--jars", required=True)
    options = parser.parse_args()
    session = (
        SparkSession.builder.master("local[8]")
        .config("spark.jars", options.jars)
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    lines = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", options.brokers)
        .option("subscribe", "latency-in")
        .option("startingOffsets", "earliest")
        .load()
    )
    record = from_json(col("value").cast("string"), "array<double>")
    pairs = lines.select(
        record[0].cast("long").cast("string").alias("key"), record[1].cast("string").alias("at")
    )
    values = pairs.select(concat(lit("["), "key", lit(", 1, "), "at", lit("]")).alias("value"))
    with tempfile.TemporaryDirectory() as checkpoints:
        query = (
            values.writeStream.format("kafka")
            .option("kafka.bootstrap.servers", options.brokers)
            .option("topic", "latency-out")
            .option("checkpointLocation", checkpoints)
            .outputMode("update")
            .trigger(realTime="10 seconds")
            .start()
        )
        query.awaitTermination()


if __name__ == "__main__":
    main()
