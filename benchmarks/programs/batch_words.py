"""Word count over the text files of a folder in BATCH mode: the job that MapReduce was known for.

    python batch_words.py --folders SMALL LARGE --config firesteel.window.pre-aggregation=true

Counts the words of each folder in turn, which have rows of words with a space between them. The lines
``word count`` go to files. Prints a line of JSON for each folder.
"""

import argparse
import json
import tempfile
import time

from batch_result import result

from firesteel.common import Configuration, Encoder, Types, WatermarkStrategy
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors import FileSink, FileSource, StreamFormat

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


def words(line):
    for word in line.split(" "):
        yield word, 1


def run(folder, output, options):
    configuration = Configuration()
    for pair in options.config:
        key, _, value = pair.partition("=")
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(options.parallelism)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), folder).build()
    sink = FileSink.for_row_format(output, Encoder.simple_string_encoder()).build()
    (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
        .flat_map(words, output_type=PAIR)
        .key_by(lambda pair: pair[0], key_type=Types.STRING())
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .map(lambda pair: f"{pair[0]} {pair[1]}", output_type=Types.STRING())
        .sink_to(sink)
    )
    started = time.perf_counter()
    env.execute("word count")
    return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--folders", nargs="+", required=True)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    for folder in options.folders:
        with tempfile.TemporaryDirectory() as output:
            seconds = run(folder, output, options)
            print(json.dumps(result(folder, output, seconds)), flush=True)


if __name__ == "__main__":
    main()
