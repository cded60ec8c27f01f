"""The program of docs/pulsar.md."""

from __future__ import annotations

import pytest

from docs.drawing.pages import DOCS, examples
from firesteel.testing import MiniCluster
from tests.servers.pulsar.server import PulsarServer


def test_the_program_prints_what_its_page_says(
    server: PulsarServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = examples(DOCS / "pulsar.md")
    monkeypatch.setenv("PULSAR", server.settings.service_url)
    monkeypatch.setenv("PULSAR_ADMIN", server.settings.admin_url)
    for topic in ("orders", "bills"):
        server.call("PUT", f"persistent/public/default/{topic}")
        server.admin.subscribe(f"persistent://public/default/{topic}", "keeps")
    server.produce("orders", ["tea", "milk"])
    with MiniCluster.in_process():
        exec(compile(example.code, f"{example.name}.py", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == example.output
    assert server.values("bills") == example.output.splitlines()
