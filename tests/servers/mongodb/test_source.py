"""MongoSource against a double of the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymongo
import pytest

from firesteel.common import Types, WatermarkStrategy
from firesteel.common.errors import ConnectorError, FiresteelError, ProgramError
from firesteel.datastream.connectors.mongodb import MongoSource, MongoSourceBuilder
from firesteel.testing.connectors import SourceContract
from tests.places import free_port
from tests.runtime.support import environment


def numbered(document: dict[str, Any]) -> tuple[int, str]:
    return document["_id"], document["text"]


def whole(document: dict[str, Any]) -> dict[str, Any]:
    return document


def builder(uri: str, collection: Any, function: Any = numbered) -> MongoSourceBuilder:
    made = MongoSource.builder().set_uri(uri).set_database("tests").set_collection(collection.name)
    return made.set_deserialization_schema(function)


def read(source: MongoSource, parallelism: int = 1) -> list[Any]:
    env = environment(parallelism)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "documents")
    with stream.execute_and_collect("documents") as found:
        return list(found)


@pytest.mark.row("S-CONN-07")
class TestCollection(SourceContract):
    @pytest.fixture(autouse=True)
    def place(self, uri: str, collection: pymongo.collection.Collection) -> None:
        self.uri, self.collection = uri, collection

    def produce(self, directory: Path, portion: int) -> list[Any]:
        documents = [
            {"_id": number, "text": f"text {number}"} for number in range(portion * 40, portion * 40 + 40)
        ]
        self.collection.insert_many(documents)
        return [numbered(document) for document in documents]

    def make_source(self, directory: Path) -> Any:
        return builder(self.uri, self.collection).set_fetch_size(7).build()


@pytest.mark.row("S-CONN-07")
def test_what_is_asked_for(uri: str, collection: pymongo.collection.Collection) -> None:
    collection.insert_many([{"_id": n, "text": str(n), "more": n * n} for n in reversed(range(5_000))])
    named = builder(uri, collection, whole).set_projected_fields("more").set_limit(3_000).build()
    assert read(named) == [{"more": n * n} for n in range(3_000)], "in the order of _id"
    assert read(builder(uri, collection, whole).set_limit(1).build()) == [{"_id": 0, "text": "0", "more": 0}]
    assert sorted(read(builder(uri, collection).build(), 3)) == [(n, str(n)) for n in range(5_000)]
    assert read(builder(uri, collection).set_limit(-1).set_no_cursor_timeout(False).build())[-1][0] == 4_999


def test_documents_have_the_declared_type(uri: str, collection: pymongo.collection.Collection) -> None:
    collection.insert_one({"_id": 1, "text": "one"})
    env = environment(1)
    stream = env.from_source(
        builder(uri, collection).build(),
        WatermarkStrategy.no_watermarks(),
        "documents",
        Types.TUPLE([Types.LONG(), Types.STRING()]),
    )
    with stream.key_by(lambda v: v[1]).map(lambda v: v[0] + 1).execute_and_collect("documents") as found:
        assert list(found) == [2]


def test_a_document_that_the_function_cannot_take_fails_the_job(
    uri: str, collection: pymongo.collection.Collection
) -> None:
    collection.insert_one({"_id": 1})
    with pytest.raises(FiresteelError, match="text"):
        read(builder(uri, collection).build())


def test_what_is_wrong_is_said_when_the_source_is_made(uri: str) -> None:
    with pytest.raises(ProgramError, match=r"set_database, set_collection, set_deserialization_schema"):
        MongoSource.builder().set_uri(uri).build()
    with pytest.raises(FiresteelError, match="must be a function"):
        MongoSource.builder().set_deserialization_schema(dict)
    with pytest.raises(FiresteelError, match="limit must be at least 1"):
        MongoSource.builder().set_limit(0)
    with pytest.raises(FiresteelError, match="Not the URI"):
        builder("http://host", type("", (), {"name": "c"})).build()


def test_no_server_is_an_error_before_the_job_starts() -> None:
    nowhere = builder(
        f"mongodb://127.0.0.1:{free_port()}/?serverSelectionTimeoutMS=200", type("", (), {"name": "c"})
    )
    with pytest.raises(ConnectorError, match="MongoDB"):
        nowhere.build().wrapped_source.validate()
