"""Numbers the records of each of seven keys; the lines go to an exactly-once file sink and
into a table of SQLite, in two phases."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from firesteel.common import Encoder, Types
from firesteel.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.connectors import FileSink
from firesteel.datastream.state import ValueStateDescriptor
from tests.jobmanager.programs.sqlite_sink import SqliteSink


class Numbers(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value % 7} {count}"


out, records = sys.argv[1], int(sys.argv[2])
env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_sequence(0, records - 1).key_by(lambda v: v % 7).process(Numbers(), Types.STRING())
stream.add_sink(SqliteSink(f"{out}.db", "lines"))
stream.sink_to(FileSink.for_row_format(out, Encoder.simple_string_encoder()).build())
env.execute("recovering")
