"""Documents keep the contract of sinks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.datastream.connectors.elasticsearch import Elasticsearch7SinkBuilder, ElasticsearchEmitter
from firesteel.testing.connectors import SinkContract, SinkPromise
from tests.servers.elasticsearch.server import SearchServer


class _Documents(SinkContract):
    type_info = Types.MAP(Types.STRING(), Types.STRING())
    key_field: str | None = None

    def make_sink(self, directory: Path) -> Any:
        emitter = ElasticsearchEmitter.static_index(self.index, self.key_field)
        return Elasticsearch7SinkBuilder().set_hosts(self.server.address).set_emitter(emitter).build()

    def read(self, directory: Path) -> list[Any]:
        return list(self.server.documents(self.index).values())

    def record(self, number: int) -> Any:
        return {"key": str(number), "text": f"record {number}"}


@pytest.mark.row("S-CONN-04")
class TestDocumentsWithKeys(_Documents):
    """On OpenSearch. What is written again is the same document."""

    promise = SinkPromise.UPSERT
    key_field = "key"

    @pytest.fixture(autouse=True)
    def place(self, opensearch: SearchServer, index: str) -> None:
        self.server, self.index = opensearch, index


@pytest.mark.row("S-CONN-04")
class TestDocumentsWithoutKeys(_Documents):
    """On Elasticsearch. What is written again is another document."""

    promise = SinkPromise.AT_LEAST_ONCE

    @pytest.fixture(autouse=True)
    def place(self, server: SearchServer, index: str) -> None:
        self.server, self.index = server, index
