"""Programs that are refused before Spark starts; prints what was said, and whether Spark was there."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import psutil

from firesteel.common import Configuration, Encoder, Types, WatermarkStrategy
from firesteel.common.errors import FiresteelError
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors import FileSink, FileSource, StreamFormat

Environment = StreamExecutionEnvironment


def unpicklable(env: Environment) -> None:
    lock = threading.Lock()
    env.from_collection([1]).map(lambda v: (lock, v)).name("locks").print()
    env.execute()


def unpicklable_later(env: Environment) -> None:
    """Good when it was added, not any more when the job starts."""
    late: dict[str, Any] = {}
    env.from_collection([1]).map(lambda v: late.get("lock")).name("late").print()
    late["lock"] = threading.Lock()
    env.execute()


def missing_path(env: Environment) -> None:
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "no/such/file.txt").build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "the file").print()
    env.execute()


def wrong_type(env: Environment) -> None:
    env.from_collection([1, "two"], Types.INT()).print()
    env.execute()


def unstable_key(env: Environment) -> None:
    env.from_collection([1]).key_by(lambda v: [v], Types.PRIMITIVE_ARRAY(Types.INT()))


def output_is_a_file(env: Environment) -> None:
    sink = FileSink.for_row_format(__file__, Encoder.simple_string_encoder()).build()
    env.from_collection(["a"], Types.STRING()).sink_to(sink).name("the sink")
    env.execute()


def taken_uid(env: Environment) -> None:
    stream = env.from_collection([1]).map(lambda v: v).name("one").uid("same")
    stream.map(lambda v: v).name("two").uid("same").print()
    env.execute()


def jars(env: Environment) -> None:
    env.add_jars("file:///connector.jar")


def unknown_option(env: Environment) -> None:
    configuration = Configuration()
    configuration.set_string("firesteel.epoch.lenght", "1 s")
    env.configure(configuration)
    env.from_collection([1]).print()
    env.execute()


CASES: tuple[Callable[[Environment], None], ...] = (
    unpicklable,
    unpicklable_later,
    missing_path,
    wrong_type,
    unstable_key,
    output_is_a_file,
    taken_uid,
    jars,
    unknown_option,
)


def spark_runs() -> bool:
    return any("java" in child.name() for child in psutil.Process().children(recursive=True))


def outcome(case: Callable[[Environment], None]) -> dict[str, Any]:
    try:
        case(Environment.get_execution_environment())
    except FiresteelError as error:
        return {
            "error": type(error).__name__,
            "text": str(error),
            "operator": error.operator,
            "hint": error.hint,
            "spark": spark_runs(),
        }
    return {"error": None, "spark": spark_runs()}


if __name__ == "__main__":
    print(json.dumps({case.__name__: outcome(case) for case in CASES}))
