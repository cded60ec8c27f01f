"""A function of the user in SQL: ``SELECT plus_one(id)`` over generated numbers, into a table that keeps
nothing.

One text for PyFlink and firesteel, as in ``keyed_count.py``.

    python sql_function.py --function pandas --records 1000000 2000000

Prints a line of JSON for each number of rows.
"""

import argparse
import json
import time

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.udf import udf

SOURCE = """
CREATE TABLE numbers (id BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '1000000000',
  'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '{last}'
)
"""
SINK = "CREATE TABLE kept_by_nobody (id BIGINT) WITH ('connector' = 'blackhole')"


def plus_one(numbers):
    return numbers + 1


FUNCTIONS = {
    "python": udf(plus_one, result_type=DataTypes.BIGINT()),
    "pandas": udf(plus_one, result_type=DataTypes.BIGINT(), func_type="pandas"),
}


def run(records, options):
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for pair in ["parallelism.default=2", *options.config]:
        key, _, value = pair.partition("=")
        tables.get_config().set(key, value)
    tables.create_temporary_function("plus_one", FUNCTIONS[options.function])
    tables.execute_sql(SOURCE.format(last=records - 1))
    tables.execute_sql(SINK)
    started = time.perf_counter()
    tables.execute_sql("INSERT INTO kept_by_nobody SELECT plus_one(id) FROM numbers").wait()
    return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, nargs="+", default=[100_000])
    parser.add_argument("--function", choices=sorted(FUNCTIONS), default="python")
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    for records in options.records:
        print(json.dumps({"records": records, "seconds": run(records, options)}), flush=True)


if __name__ == "__main__":
    main()
