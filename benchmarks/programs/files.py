"""Rows of CSV or Parquet files through a map and a filter in Python. The files are written first, one for
each subtask.

One text for two engines, as ``keyed_count.py``. PyFlink reads Parquet with jars that it does not bring along:
``--jar`` names them.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource
from pyflink.datastream.formats.csv import CsvReaderFormat, CsvSchema
from pyflink.datastream.formats.parquet import ParquetColumnarRowInputFormat
from pyflink.table import DataTypes

COLUMNS = {
    "id": DataTypes.BIGINT(),
    "user": DataTypes.INT(),
    "amount": DataTypes.DOUBLE(),
    "city": DataTypes.STRING(),
}
CITIES = ["Berlin", "Paris", "Rome", "Vienna", "Prague"]


def write_files(folder, kind, records, files):
    for part in range(files):
        ids = range(part, records, files)
        table = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "user": pa.array([i % 1_000 for i in ids], pa.int32()),
                "amount": pa.array([i * 0.25 for i in ids], pa.float64()),
                "city": pa.array([CITIES[i % len(CITIES)] for i in ids], pa.string()),
            }
        )
        path = folder / f"part-{part}.{kind}"
        if kind == "parquet":
            pyarrow.parquet.write_table(table, path, row_group_size=100_000)
        else:
            options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
            pyarrow.csv.write_csv(table, path, options)


def source_of(kind, folder):
    if kind == "parquet":
        row_type = DataTypes.ROW([DataTypes.FIELD(name, type_) for name, type_ in COLUMNS.items()])
        return FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(row_type), folder).build()
    schema = CsvSchema.builder()
    for name, type_ in COLUMNS.items():
        schema = schema.add_string_column(name) if name == "city" else schema.add_number_column(name, type_)
    format_ = CsvReaderFormat.for_schema(schema.build())
    return FileSource.for_record_stream_format(format_, folder).build()


def run(folder, options):
    configuration = Configuration()
    for pair in options.config:
        key, _, value = pair.partition("=")
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(options.parallelism)
    if options.jar:
        env.add_jars(*(Path(jar).as_uri() for jar in options.jar))
    source = source_of(options.kind, folder)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), options.kind)
    stream.map(lambda row: row[0], output_type=Types.LONG()).filter(lambda i: i < 0).print()
    started = time.perf_counter()
    env.execute("files")
    return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[100_000])
    parser.add_argument("--kind", choices=["csv", "parquet"], default="csv")
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--jar", action="append", default=[], metavar="PATH")
    options = parser.parse_args()
    for records in options.records:
        with tempfile.TemporaryDirectory() as folder:
            write_files(Path(folder), options.kind, records, options.parallelism)
            seconds = run(folder, options)
        print(json.dumps({"records": records, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
