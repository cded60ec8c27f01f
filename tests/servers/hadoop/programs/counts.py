"""Numbers the records of each of seven keys; the lines go to HDFS.

counts.py DIRECTORY RECORDS RECORDS_PER_SECOND [SAVEPOINT]
"""

from __future__ import annotations

import sys

from firesteel.common import Configuration, Encoder, Types, WatermarkStrategy
from firesteel.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.connectors import DataGeneratorSource, FileSink, RateLimiterStrategy
from firesteel.datastream.state import ValueStateDescriptor


class Numbers(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def map(self, value: int) -> str:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return f"{value % 7} {count}"


place, records, rate, *savepoint = sys.argv[1:]
settings = {
    "firesteel.state.dir": f"{place}/state",
    "execution.checkpointing.dir": f"{place}/checkpoints",
    "execution.checkpointing.interval": "3 s",
}
if savepoint:
    settings["execution.state-recovery.path"] = savepoint[0]
    # While everything starts the first records are slow. From what is believed of them came a hundred epochs.
    settings |= {"firesteel.epoch.time-limit": "false", "firesteel.epoch.max-records": "500"}
env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
env.set_parallelism(2)
source = DataGeneratorSource(
    lambda n: n, int(records), RateLimiterStrategy.per_second(float(rate)), Types.LONG()
)
stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("source")
lines = stream.key_by(lambda v: v % 7).map(Numbers(), Types.STRING()).uid("map")
lines.sink_to(FileSink.for_row_format(f"{place}/out", Encoder.simple_string_encoder()).build()).uid("sink")
env.execute("counts")
