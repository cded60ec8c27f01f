"""Orders that get the name of their customer as of their time: a temporal join in event time, whose state is
a table of ``--keys`` customers.

Orders wait for the watermark, which comes when all customers are there. So a job with more orders takes
longer by what it is to look them up in a state of that size.

    python enrichment.py --keys 10000000 --records 100000 1000000 2000000

Prints a line of JSON for each number of orders.
"""

import argparse
import json
import time

from firesteel.table import EnvironmentSettings, TableEnvironment

SPREAD = 2_654_435_761  # odd and larger than any number of keys used here: neighbours get far apart keys
CUSTOMERS = """
CREATE TABLE customers (
  id BIGINT,
  name AS 'the name of customer ' || CAST(id AS STRING),
  since AS TO_TIMESTAMP_LTZ(id - id, 3),
  WATERMARK FOR since AS since,
  PRIMARY KEY (id) NOT ENFORCED
) WITH ({source}, 'fields.id.end' = '{last}')
"""
ORDERS = """
CREATE TABLE orders (
  id BIGINT,
  customer AS MOD(id * CAST({spread} AS BIGINT), CAST({keys} AS BIGINT)),
  ordered AS TO_TIMESTAMP_LTZ(1000 + id, 3),
  WATERMARK FOR ordered AS ordered
) WITH ({source}, 'fields.id.end' = '{last}')
"""
SOURCE = (
    "'connector' = 'datagen', 'rows-per-second' = '1000000000', 'fields.id.kind' = 'sequence', "
    "'fields.id.start' = '0'"
)
QUERY = """
SELECT COUNT(*), SUM(CASE WHEN name = 'the name of customer ' || CAST(customer AS STRING) THEN 1 ELSE 0 END)
FROM orders JOIN customers FOR SYSTEM_TIME AS OF orders.ordered ON customers.id = orders.customer
"""


def run(records, options):
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for pair in [f"parallelism.default={options.parallelism}", *options.config]:
        key, _, value = pair.partition("=")
        tables.get_config().set(key, value)
    tables.execute_sql(CUSTOMERS.format(source=SOURCE, last=options.keys - 1))
    tables.execute_sql(ORDERS.format(source=SOURCE, last=records - 1, spread=SPREAD, keys=options.keys))
    started = time.perf_counter()
    with tables.execute_sql(QUERY).collect() as rows:
        *_, last = rows
    if tuple(last) != (records, records):
        raise SystemExit(f"of {records} orders {last[0]} were joined, {last[1]} with the right name")
    return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, nargs="+", default=[100_000])
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    for records in options.records:
        print(json.dumps({"records": records, "seconds": run(records, options)}), flush=True)


if __name__ == "__main__":
    main()
