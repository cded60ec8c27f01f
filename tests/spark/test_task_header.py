"""What is read ahead of a worker: bytes as the JVM sends them, which PySpark's own reader understands."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from struct import pack
from typing import Any

import pytest
from pyspark.messages.socket.spark_socket_message_receiver import SparkSocketMessageReceiver
from pyspark.serializers import SpecialLengths
from pyspark.util import PythonEvalType
from pyspark.worker_message import WorkerInitInfo

from firesteel.spark.task_header import TaskHeader, header_of

PROPERTIES = {"spark.jobGroup.id": "a1", "firesteel.subtasks-of": "a1", "spark.job.description": "Zähler ✓"}
COMMAND = b"command"


def text(data: str | bytes) -> bytes:
    encoded = data.encode() if isinstance(data, str) else data
    return pack("!i", len(encoded)) + encoded


def context_of(partition: int, properties: Mapping[str, str]) -> dict[str, Any]:
    return {
        "isBarrier": False,
        "connInfo": None,
        "secret": None,
        "stageId": 7,
        "partitionId": partition,
        "attemptNumber": 0,
        "taskAttemptId": 123456,
        "cpus": 1,
        "cpuAmount": "1",
        "resources": {},
        "localProperties": dict(properties),
    }


def begin_of_task(partition: int, properties: Mapping[str, str], context: object = None) -> bytes:
    """All that the JVM tells of a task before its input.

    :param context: in place of the context of the task.
    """
    said = context_of(partition, properties) if context is None else context
    told = pack("!i", partition) + text("3.11") + text(json.dumps(said, ensure_ascii=False))
    told += text("/tmp/spark-files") + pack("!i", 0)  # no archives of Python code
    told += pack("!?i", False, 0)  # no broadcast variables
    told += pack("!iii", PythonEvalType.NON_UDF, 0, 0) + text(COMMAND)  # no settings
    return pack("!i", SpecialLengths.START_OF_INIT_MESSAGE) + text(told)


TASK = begin_of_task(2, PROPERTIES)
HEADER = TaskHeader(2, PROPERTIES)
CONTEXT = json.dumps(context_of(2, PROPERTIES), ensure_ascii=False).encode()
HEADER_BYTES = TASK.index(CONTEXT) + len(CONTEXT)


def test_pyspark_reads_these_bytes_in_the_same_way() -> None:
    read = WorkerInitInfo.from_stream(SparkSocketMessageReceiver(io.BytesIO(TASK)).get_init_message())
    assert (read.split_index, read.task_context.partition_id) == (2, HEADER.partition)
    assert read.task_context.local_properties == HEADER.properties
    assert bytes(read.udf_info) == COMMAND  # type: ignore[arg-type]  # of this kind it is bytes


@pytest.mark.parametrize("behind", [b"", b"\0", b"input" * 1000])
def test_a_header_is_read_whatever_comes_after_it(behind: bytes) -> None:
    assert header_of(TASK + behind) == HEADER


def test_each_byte_of_a_header_is_needed_and_none_after_it() -> None:
    for size in range(HEADER_BYTES):
        assert header_of(TASK[:size]) is None, size
    for size in range(HEADER_BYTES, len(TASK)):
        assert header_of(TASK[:size]) == HEADER, size


def test_a_task_may_have_no_properties() -> None:
    assert header_of(begin_of_task(0, {})) == TaskHeader(0, {})


CUT = TASK.index(b"3.11") - 4, TASK.index(CONTEXT) - 4  # where the lengths of both texts are


@pytest.mark.parametrize(
    "begin",
    [
        pack("!i", SpecialLengths.END_OF_STREAM),
        pack("!i", 0) + TASK[4:],
        TASK[4:],
        b"GET / HTTP/1.1\r\n",
        TASK[: CUT[0]] + pack("!i", -1),
        TASK[: CUT[1]] + pack("!i", -5),
        TASK[: CUT[1]] + text(CONTEXT[:-1]),
        TASK[: CUT[1]] + text(b""),
        TASK[: CUT[1]] + text(b"\xff" * 20),
        begin_of_task(2, {}, [2, {}]),
        begin_of_task(2, {}, 2),
        begin_of_task(2, {}, {"partitionId": 2}),
        begin_of_task(2, {}, {"localProperties": {}}),
        begin_of_task(2, {}, {"partitionId": None, "localProperties": {}}),
        begin_of_task(2, {}, {"partitionId": "second", "localProperties": {}}),
        begin_of_task(2, {}, {"partitionId": 2, "localProperties": None}),
        begin_of_task(2, {}, {"partitionId": 2, "localProperties": "none"}),
    ],
    ids=[
        "another message",
        "no message",
        "no start",
        "another protocol",
        "negative version",
        "negative context",
        "cut JSON",
        "no JSON",
        "no text",
        "a list",
        "a number",
        "no properties",
        "no partition",
        "null partition",
        "partition in words",
        "null properties",
        "properties in words",
    ],
)
def test_what_is_no_header_is_told(begin: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the caller tells it from a header by its kind alone
        header_of(begin)
