"""An assigner sees the timestamp the record had; a second strategy replaces timestamps and watermarks."""

from pyflink.common import Duration, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from timed import Stamped, environment, events, show


class Doubled(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return 2 * record_timestamp


class Noted(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        value[0].append(show(record_timestamp))
        return value[1]


env = environment()
again = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(1)).with_timestamp_assigner(
    Doubled()
)
twice = events(env, [("k", "a", 10), ("k", "b", 30), ("k", "c", 20), ("k", "d", 40)])
twice.assign_timestamps_and_watermarks(again).process(Stamped()).print("again")
noted = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Noted())
first = env.from_collection([[[], 1], [[], 2]]).assign_timestamps_and_watermarks(noted)
first.map(lambda v: str(v)).process(Stamped()).print("first")
env.execute()
