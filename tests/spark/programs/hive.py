"""Tables of Hive, in a metastore of its own (Derby): read as a catalog and as streams, and written."""

from __future__ import annotations

import json
import os
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from firesteel.common import Configuration, Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.program.spark_tables import SparkBatch
from firesteel.table import EnvironmentSettings, StreamTableEnvironment

here = os.getcwd()
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.warehouse.dir", f"{here}/warehouse")
    .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={here}")
    .config("spark.hadoop.javax.jdo.option.ConnectionURL", f"jdbc:derby:{here}/metastore;create=true")
    .enableHiveSupport()
    .getOrCreate()
)
spark.sql("CREATE DATABASE shop")
spark.sql(
    "CREATE TABLE shop.orders (id INT, customer STRING, cents BIGINT) "
    "PARTITIONED BY (day STRING) STORED AS ORC"
)
spark.sql("CREATE TABLE shop.totals (customer STRING, n BIGINT, cents BIGINT) STORED AS PARQUET")
spark.sql("CREATE TABLE shop.streamed (id INT, customer STRING) STORED AS TEXTFILE")
spark.conf.set("hive.exec.dynamic.partition.mode", "nonstrict")
spark.sql("INSERT INTO shop.orders SELECT id, concat('c', id % 3), id, concat('d', id % 2) FROM range(10)")


def environment() -> StreamExecutionEnvironment:
    made = StreamExecutionEnvironment.get_execution_environment(Configuration(), spark=spark)
    made.set_parallelism(2)
    return made


def rows(frame: DataFrame) -> list[list[Any]]:
    return sorted(list(row) for row in frame.collect())


found: dict[str, Any] = {}
described = {row.col_name: row.data_type for row in spark.sql("DESCRIBE FORMATTED shop.orders").collect()}
found["provider"] = described["Provider"]

tables = StreamTableEnvironment.create(environment(), EnvironmentSettings.in_batch_mode())
tables.execute_sql("CREATE CATALOG hive WITH ('type' = 'spark', 'default-database' = 'shop')")
tables.execute_sql("USE CATALOG hive")
found["databases"] = tables.list_databases()
found["tables"] = [name for name in tables.list_tables() if name != "streamed"]
found["described"] = [[row[0], row[1]] for row in tables.execute_sql("DESCRIBE orders").collect()]
totals = tables.sql_query(
    "SELECT customer, COUNT(*) AS n, SUM(cents) AS cents FROM orders WHERE `day` = 'd0' GROUP BY customer"
)
frame = totals.to_spark()
found["query"] = rows(frame)
frame.write.insertInto("shop.totals")
found["totals"] = rows(spark.table("shop.totals"))


def append(batch: DataFrame, of: SparkBatch) -> None:
    batch.write.insertInto("shop.streamed")


env = environment()
(
    env.from_spark(spark.table("shop.orders"))
    .map(lambda row: (row.id, row.customer), Types.TUPLE([Types.INT(), Types.STRING()]))
    .write_spark(append)
)
env.execute()
found["streamed"] = rows(spark.table("shop.streamed"))
print(json.dumps(found))
