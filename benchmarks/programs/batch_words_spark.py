"""The word count of ``batch_words.py`` in plain PySpark: as functions of Python over an RDD, or as an
expression over a DataFrame, where no row comes to Python."""

import argparse
import json
import tempfile
import time
from pathlib import Path

from batch_result import result
from pyspark.sql import SparkSession, functions as F


def rdd(session, folder, output, parallelism):
    (
        session.sparkContext.textFile(folder)
        .flatMap(lambda line: line.split(" "))
        .map(lambda word: (word, 1))
        .reduceByKey(lambda a, b: a + b, parallelism)
        .map(lambda pair: f"{pair[0]} {pair[1]}")
        .saveAsTextFile(output)
    )


def frame(session, folder, output, parallelism):
    rows = session.read.text(folder).select(F.explode(F.split("value", " ")).alias("word"))
    counted = rows.groupBy("word").count()
    counted.select(F.concat_ws(" ", "word", F.col("count").cast("string"))).write.text(output)


VARIANTS = {"rdd": rdd, "frame": frame}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folders", nargs="+", required=True)
    parser.add_argument("--variant", choices=list(VARIANTS), default="rdd")
    parser.add_argument("--parallelism", type=int, default=2)
    options = parser.parse_args()
    builder = SparkSession.builder.master(f"local[{options.parallelism}]")
    session = builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR").getOrCreate()
    for folder in options.folders:
        with tempfile.TemporaryDirectory() as root:
            output = Path(root, "out").as_uri()
            started = time.perf_counter()
            VARIANTS[options.variant](session, folder, output, options.parallelism)
            seconds = time.perf_counter() - started
            print(json.dumps(result(folder, Path(root, "out"), seconds)), flush=True)
    session.stop()


if __name__ == "__main__":
    main()
