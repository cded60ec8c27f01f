"""A query of Nexmark over CSV files, into a table that keeps nothing.

One text for PyFlink and firesteel, as in ``keyed_count.py``. ``--events`` has a folder of files for each
number of records.
"""

import argparse
import json
import os
import re
import time
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

# The same statements that the tests of results have, whose files are compressed.
STATEMENTS = Path(__file__).parents[2] / "tests" / "sql" / "data" / "nexmark" / "queries.sql"


def statements_over(folder):
    """The DDL, and the queries by their names."""
    text = STATEMENTS.read_text().replace("${DIR}", str(folder)).replace(".csv.gz", ".csv")
    parts = dict(part.split("\n", 1) for part in re.split(r"(?m)^--@", text)[1:])
    ddl = [statement for statement in parts.pop("ddl").split(";") if statement.strip()]
    return ddl, {head.split()[0]: query.strip().rstrip(";") for head, query in parts.items()}


def cpu_seconds():
    """CPU time of this process and of all that it started, where ``/proc`` tells it, else 0."""
    children, ticks = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        pid = int(stat.parent.name)
        children.setdefault(int(fields[1]), []).append(pid)
        ticks[pid] = sum(map(int, fields[11:15]))  # with the time of children that have ended
    family = [os.getpid()]
    for pid in family:
        family += children.get(pid, [])
    return sum(ticks.get(pid, 0) for pid in family) / os.sysconf("SC_CLK_TCK")


def run(folder, options):
    ddl, queries = statements_over(folder)
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for pair in ["parallelism.default=2", *options.config]:
        key, _, value = pair.partition("=")
        tables.get_config().set(key, value)
    for statement in ddl:
        tables.execute_sql(statement)
    query = queries[options.query]
    started, used = time.perf_counter(), cpu_seconds()
    tables.execute_sql(f"CREATE TABLE kept_by_nobody WITH ('connector' = 'blackhole') AS {query}").wait()
    return {"seconds": time.perf_counter() - started, "cpu_seconds": cpu_seconds() - used}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--records", type=int, nargs="+", default=[100_000], help="events: of all three kinds"
    )
    parser.add_argument("--query", default="q0")
    parser.add_argument("--events", type=Path, required=True, metavar="DIR")
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    for records in options.records:
        measured = run(options.events / str(records), options)
        print(json.dumps({"records": records, **measured}), flush=True)


if __name__ == "__main__":
    main()
