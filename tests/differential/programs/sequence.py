"""from_source with NumberSequenceSource, and several jobs of one environment, each with its own operators."""

# order: free

from pyflink.common import WatermarkStrategy
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from timed import environment

env = environment(parallelism=2)
numbers = env.from_source(NumberSequenceSource(-2, 7), WatermarkStrategy.no_watermarks(), "numbers")
numbers.map(lambda v: v * v).print("squares")
env.execute("first")
more = env.from_source(
    NumberSequenceSource(5, 5), WatermarkStrategy.for_monotonous_timestamps(), "one number"
)
more.map(lambda v: ("one", v)).print()
env.execute("second")
