"""A job that ends, and behind it one without end, in the session that the first one has made."""

from __future__ import annotations

import itertools
import json

from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors import DataGeneratorSource, RateLimiterStrategy

env = StreamExecutionEnvironment.get_execution_environment()
with env.from_collection([1, 2]).map(lambda v: 2 * v).execute_and_collect() as doubled:
    ended = sorted(doubled)
source = DataGeneratorSource(lambda i: i, None, RateLimiterStrategy.per_second(100))
endless = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").key_by(lambda v: v % 3)
with endless.map(lambda v: v).execute_and_collect() as numbers:
    first = sorted(itertools.islice(numbers, 50))
print(json.dumps({"ended": ended, "first": first}))
