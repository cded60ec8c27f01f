"""Programs with PyFlink's imports build their transformations under the alias."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.cli import pyflink_alias

WORD_COUNT = """
from pyflink.common import Encoder, Types, WatermarkStrategy
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import (
    FileSink, FileSource, OutputFileConfig, RollingPolicy, StreamFormat)

env = StreamExecutionEnvironment.get_execution_environment()
env.set_runtime_mode(RuntimeExecutionMode.BATCH)
env.set_parallelism(1)
source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), PATH)
ds = env.from_source(source.process_static_file_set().build(), WatermarkStrategy.no_watermarks(), "lines")
ds = (
    ds.flat_map(str.split)
    .map(lambda w: (w, 1), output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
    .key_by(lambda p: p[0])
    .reduce(lambda a, b: (a[0], a[1] + b[1]))
)
config = OutputFileConfig.builder().with_part_prefix("words").build()
ds.sink_to(
    FileSink.for_row_format(base_path=PATH, encoder=Encoder.simple_string_encoder())
    .with_output_file_config(config)
    .with_rolling_policy(RollingPolicy.default_rolling_policy())
    .build()
)
env.execute("count")
"""

TIMERS = """
from pyflink.common import Duration, Time, WatermarkStrategy
from pyflink.common.typeinfo import Types
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedProcessFunction, RuntimeContext
from pyflink.datastream.state import StateTtlConfig, ValueStateDescriptor

class Total(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        descriptor = ValueStateDescriptor("total", Types.FLOAT())
        config = StateTtlConfig.new_builder(Time.seconds(5))
        config.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)
        descriptor.enable_time_to_live(config.build())
        self.total = runtime_context.get_state(descriptor)

    def process_element(self, value, ctx: 'KeyedProcessFunction.Context'):
        self.total.update((self.total.value() or 0) + value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)

    def on_timer(self, timestamp, ctx: 'KeyedProcessFunction.OnTimerContext'):
        yield ctx.get_current_key(), self.total.value()

class ByFirst(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[0]

env = StreamExecutionEnvironment.get_execution_environment()
ds = env.from_collection([(1, 2.5)], type_info=Types.TUPLE([Types.LONG(), Types.FLOAT()]))
strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
ds = ds.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(ByFirst()))
ds.key_by(lambda v: v[0]).process(Total()).print()
env.execute("timers")
"""

TABLE = """
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, Schema, StreamTableEnvironment, TableDescriptor

env = StreamExecutionEnvironment.get_execution_environment()
tables = StreamTableEnvironment.create(stream_execution_environment=env)
schema = Schema.new_builder().column('id', DataTypes.INT()).build()
descriptor = TableDescriptor.for_connector('datagen').schema(schema)
descriptor.option('fields.id.kind', 'sequence').option('fields.id.start', '0').option('fields.id.end', '9')
tables.create_temporary_table('numbers', descriptor.build())
tables.to_data_stream(tables.from_path('numbers')).map(lambda r: r[0]).print()
env.execute("table")
"""

SEVERAL_JOBS = """
from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
ds = env.from_collection([(1, 'a')], type_info=Types.ROW_NAMED(['id', 'name'], [Types.INT(), Types.STRING()]))
for stream in (ds.map(lambda r: r.id), ds.filter(lambda r: r.id > 1), ds.key_by(lambda r: r.id).sum('id')):
    stream.print()
    env.execute("one of several")
"""


@pytest.fixture
def alias() -> Iterator[None]:
    finders = list(sys.meta_path)
    pyflink_alias.install()
    yield
    sys.meta_path[:] = finders
    for name in [n for n in sys.modules if n == "pyflink" or n.startswith("pyflink.")]:
        del sys.modules[name]


@pytest.mark.usefixtures("alias")
@pytest.mark.parametrize(
    ("program", "jobs"),
    [
        (
            WORD_COUNT,
            [("count", ["lines", "FlatMap", "Map", "Partition(HASH)", "Reduce", "Writer"])],
        ),
        (
            TIMERS,
            [
                (
                    "timers",
                    [
                        "Collection Source",
                        "Timestamps/Watermarks",
                        "Partition(HASH)",
                        "KEYED PROCESS",
                        "Print to Std. Out",
                    ],
                )
            ],
        ),
        (TABLE, [("table", ["Source: numbers", "TableToDataStream", "Map", "Print to Std. Out"])]),
        (
            SEVERAL_JOBS,
            [
                (
                    "one of several",
                    ["Collection Source", "Map", "Filter", "Partition(HASH)", "Reduce", "Print to Std. Out"],
                ),
                ("one of several", ["Print to Std. Out"]),
                ("one of several", ["Print to Std. Out"]),
            ],
        ),
    ],
)
@pytest.mark.row("S-API-10")
def test_a_program_with_pyflinks_imports(
    executor: Any, tmp_path: Any, program: str, jobs: list[tuple[str, list[str]]]
) -> None:
    exec(compile(program, "program.py", "exec"), {"__name__": "program", "PATH": str(tmp_path)})
    assert [(name, [t.name for t in ts]) for name, ts in executor.jobs] == jobs
    assert all(t.created_at.startswith("program.py:") for _, ts in executor.jobs for t in ts)
