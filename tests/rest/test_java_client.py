"""What Flink's Java client cannot do without: fields, and exceptions as Java objects."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from firesteel.rest.serialized_throwable import modified_utf8, serialized_throwable
from tests.rest.jobs import Jobs

#: Found by leaving out each field of each recorded answer in turn, and having Flink's classes read the rest.
NEEDS = json.loads((Path(__file__).parent / "java_client_needs.json").read_text())
#: Read back by a JVM with Flink 2.3.
VECTOR = (
    "rO0ABXNyAClvcmcuYXBhY2hlLmZsaW5rLnV0aWwuU2VyaWFsaXplZFRocm93YWJsZWUWnfUfpxPzAgADTAAZZnVsbFN0cmluZ2lmaWVk"
    "U3RhY2tUcmFjZXQAEkxqYXZhL2xhbmcvU3RyaW5nO0wAFm9yaWdpbmFsRXJyb3JDbGFzc05hbWV0ABJMamF2YS9sYW5nL1N0cmluZztb"
    "ABNzZXJpYWxpemVkRXhjZXB0aW9udAACW0J4cgATamF2YS5sYW5nLkV4Y2VwdGlvbtD9Hz4aOxzEAgAAeHIAE2phdmEubGFuZy5UaHJv"
    "d2FibGXVxjUnOXe4ywMABEwABWNhdXNldAAVTGphdmEvbGFuZy9UaHJvd2FibGU7TAANZGV0YWlsTWVzc2FnZXQAEkxqYXZhL2xhbmcv"
    "U3RyaW5nO1sACnN0YWNrVHJhY2V0AB5bTGphdmEvbGFuZy9TdGFja1RyYWNlRWxlbWVudDtMABRzdXBwcmVzc2VkRXhjZXB0aW9uc3QA"
    "EExqYXZhL3V0aWwvTGlzdDt4cHB0AAdubyByb29tcHB4dAAFdHJhY2V0AApWYWx1ZUVycm9ycA=="
)


def test_an_exception_as_the_bytes_that_java_writes() -> None:
    assert serialized_throwable("ValueError", "no room", "trace") == VECTOR


@pytest.mark.parametrize(
    ("text", "encoded"),
    [("a", b"a"), ("\0", b"\xc0\x80"), ("é", b"\xc3\xa9"), ("😀", b"\xed\xa0\xbd\xed\xb8\x80")],
)
def test_texts_as_java_encodes_them(text: str, encoded: bytes) -> None:
    assert modified_utf8(text) == encoded


@given(st.text(), st.integers(0, 70_000))
def test_texts_of_any_length_and_kind_are_read_back(text: str, length: int) -> None:
    """By what the layout says: two bytes of length, or eight for a long one."""
    message = text + "m" * length
    written = base64.b64decode(serialized_throwable("N", message, "trace"))
    start = len(base64.b64decode(VECTOR)) - len(b"t\0\7no roomppxt\0\5tracet\0\nValueErrorp")
    size = len(modified_utf8(message))
    if size <= 0xFFFF:
        assert written[start : start + 3] == b"t" + struct.pack(">H", size)
        found = written[start + 3 : start + 3 + size]
    else:
        assert written[start : start + 9] == b"\x7c" + struct.pack(">Q", size)
        found = written[start + 9 : start + 9 + size]
    assert found == modified_utf8(message)
    assert written.endswith(found + b"ppx" + b"t\0\5tracet\0\1Np")


#: Of which checkpoints Flink's classes want a field: there is one class for each status.
OF_STATUS = {"discarded": "COMPLETED", "failure_timestamp": "FAILED"}


def missing(value: Any, path: str) -> bool:
    """Whether one of the values at a path such as ``jobs[].tasks.total`` is absent or null, of those whose
    object is there: a source has no inputs, and so no numbers of them."""
    *before, last = path.replace("[]", ".[]").strip(".").split(".")
    values = [value]
    for part in before:
        if part == "[]":
            values = [item for found in values for item in found]
        else:
            values = [found[part] for found in values if found.get(part) is not None]
    if last in OF_STATUS:
        values = [found for found in values if found["status"] == OF_STATUS[last]]
    return last != "[]" and any(found.get(last) is None for found in values)


READ = sorted(
    endpoint
    for endpoint in NEEDS
    if endpoint.startswith("GET ") and "/jars" not in endpoint
    and not any(part in endpoint for part in ("rescal", "datasets/delete", "resource-requirements"))
)  # fmt: skip


@pytest.mark.parametrize("endpoint", READ)
def test_no_field_is_missing(jobs: Jobs, endpoint: str) -> None:
    job = "failing" if "execution-result" in endpoint else "orders"
    ids = {
        "vertexid": jobs.vertex("count"),
        "taskmanagerid": "in-process",
        "subtaskindex": "0",
        "attempt": "0",
        "checkpointid": str(jobs.get("/jobs/{jobid}/checkpoints")["latest"]["completed"]["id"]),
    }
    body = jobs.get(endpoint.removeprefix("GET "), job, **ids)
    assert [field for field in NEEDS[endpoint] if missing(body, field)] == []


@pytest.mark.parametrize(("status", "field"), [(status, field) for field, status in OF_STATUS.items()])
def test_a_field_of_one_status_is_missing_where_it_belongs_alone(status: str, field: str) -> None:
    body = {"history": [{"status": "IN_PROGRESS"}, {"status": status, field: 1}]}
    assert not missing(body, f"history[].{field}")
    body["history"].append({"status": status})
    assert missing(body, f"history[].{field}")
