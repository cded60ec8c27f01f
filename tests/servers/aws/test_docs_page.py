"""The program of docs/kinesis.md."""

from __future__ import annotations

import pytest

from docs.drawing.pages import DOCS, examples
from firesteel.testing import MiniCluster
from tests.servers.aws.support import Aws


def test_the_program_prints_what_its_page_says(
    aws: Aws, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = examples(DOCS / "kinesis.md")
    monkeypatch.setenv("AWS_ENDPOINT", aws.address)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    there = Aws(aws.address)
    there.properties = aws.properties | {"aws.region": "eu-central-1"}
    there.client("kinesis").create_stream(StreamName="orders", ShardCount=1)
    with MiniCluster.in_process():
        exec(compile(example.code, f"{example.name}.py", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == example.output
