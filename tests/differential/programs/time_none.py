"""Without a strategy a record has no timestamp and the watermark is the smallest number."""

from pyflink.common import WatermarkStrategy
from timed import LastField, Stamped, environment

env = environment()
stream = env.from_collection([("k", 5), ("k", 6)])
stream.process(Stamped()).print("nothing")
no_watermarks = WatermarkStrategy.no_watermarks().with_timestamp_assigner(LastField())
stream.assign_timestamps_and_watermarks(no_watermarks).process(Stamped()).print("no watermarks")
env.execute()
