"""MongoSink against a double of the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymongo
import pytest
from pymongo import DeleteOne, InsertOne, ReplaceOne, UpdateOne
from pymongo.errors import AutoReconnect, ServerSelectionTimeoutError

from firesteel.common import Types
from firesteel.common.errors import ConnectorError, FiresteelError, ProgramError
from firesteel.connectors.mongodb.sink import Collection, MongoOptions
from firesteel.datastream.connectors import DeliveryGuarantee
from firesteel.datastream.connectors.mongodb import MongoSink, MongoSinkBuilder
from firesteel.testing.connectors import SinkContract, SinkPromise
from tests.places import free_port
from tests.runtime.support import environment
from tests.waiting import in_time


def replacement(record: Any) -> ReplaceOne:
    return ReplaceOne({"_id": record["_id"]}, record, upsert=True)


def builder(uri: str, collection: Any, model: Any = replacement) -> MongoSinkBuilder:
    made = MongoSink.builder().set_uri(uri).set_database("tests").set_collection(collection.name)
    return made.set_serialization_schema(model)


def write(records: list[Any], sink: Any, parallelism: int = 1) -> None:
    # How records are cut into requests must not depend on how fast the first one was.
    env = environment(parallelism, **{"firesteel.epoch.time-limit": "false"})
    env.from_collection(records).sink_to(sink)
    env.execute("documents")


@pytest.mark.row("S-CONN-07")
class TestReplacements(SinkContract):
    promise = SinkPromise.UPSERT
    type_info = Types.MAP(Types.STRING(), Types.STRING())

    @pytest.fixture(autouse=True)
    def place(self, uri: str, collection: pymongo.collection.Collection) -> None:
        self.uri, self.collection = uri, collection

    def make_sink(self, directory: Path) -> Any:
        return builder(self.uri, self.collection).build()

    def read(self, directory: Path) -> list[Any]:
        return list(self.collection.find())

    def record(self, number: int) -> Any:
        return {"_id": str(number), "text": f"record {number}"}


@pytest.mark.row("S-CONN-07")
def test_writes_of_all_kinds_in_their_order(uri: str, collection: pymongo.collection.Collection) -> None:
    def model(record: Any) -> Any:
        kind, key, n = record
        return {
            "insert": InsertOne({"_id": key, "n": n}),
            "replace": ReplaceOne({"_id": key}, {"replaced": n}, upsert=True),
            "update": UpdateOne({"_id": key}, {"$set": {"n": n}}, upsert=True),
            "delete": DeleteOne({"_id": key}),
        }[kind]

    records = [
        ("insert", "a", 1),
        ("insert", "b", 1),
        ("update", "a", 2),
        ("delete", "b", 0),
        ("replace", "c", 3),
    ]
    write(records, builder(uri, collection, model).set_batch_size(2).build())
    assert list(collection.find()) == [{"_id": "a", "n": 2}, {"_id": "c", "replaced": 3}]


@pytest.mark.parametrize(("size", "requests"), [(1000, [1000, 1000, 500]), (-1, [2500]), (2000, [2000, 500])])
def test_batches(
    uri: str,
    collection: pymongo.collection.Collection,
    size: int,
    requests: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[int] = []
    real = Collection.write
    monkeypatch.setattr(
        Collection, "write", lambda self, models: (sent.append(len(models)), real(self, models))
    )
    sink = builder(uri, collection).set_batch_size(size).build()
    write([{"_id": n, "x": [n, {"y": None}]} for n in range(2500)], sink)
    assert sent == requests
    assert collection.count_documents({}) == 2500


def test_a_refused_write_is_named(uri: str, collection: pymongo.collection.Collection) -> None:
    with pytest.raises(FiresteelError) as failed:
        write([{"_id": 1}, {"_id": 2}, {"_id": 1}], builder(uri, collection, _insert).build())
    text = str(failed.value)
    for part in (
        f"tests.{collection.name}",
        "E11000 duplicate key",
        "code 11000",
        "{'_id': 1}",
        "may come again",
    ):
        assert part in text


def _insert(record: Any) -> InsertOne:
    return InsertOne(record)


def test_what_is_no_write(uri: str, collection: pymongo.collection.Collection) -> None:
    with pytest.raises(FiresteelError, match="makes no write of a record"):
        write([{"_id": 1}], builder(uri, collection, dict.copy).build())


@pytest.mark.parametrize(
    ("error", "model", "attempts"),
    [
        (AutoReconnect("gone"), replacement, 3),
        (AutoReconnect("gone"), _insert, 1),  # it may have been done
        (ServerSelectionTimeoutError("nowhere"), replacement, 3),
    ],
)
@pytest.mark.row("S-CONN-07")
def test_what_is_sent_again(
    error: Exception, model: Any, attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def bulk_write(_: Any, models: Any) -> None:
        asked.append(len(models))
        raise error

    monkeypatch.setattr(pymongo.collection.Collection, "bulk_write", bulk_write)
    target = Collection(MongoOptions("mongodb://user:secret@h:1", "d", "c", max_retries=2))
    with pytest.raises(ConnectorError, match=r"MongoDB at h:1 does not serve d\.c") as failed:
        target.write([model({"_id": 1})])
    assert asked == [1] * attempts
    assert "secret" not in str(failed.value)


def test_a_server_that_cannot_be_used_is_named_before_the_job_begins(
    collection: pymongo.collection.Collection,
) -> None:
    port = free_port()
    with in_time(), pytest.raises(ConnectorError, match=f"MongoDB at 127.0.0.1:{port} does not serve"):
        write([{"_id": 1}], builder(f"mongodb://u:secret@127.0.0.1:{port}/?appname=test", collection).build())
    with pytest.raises(ProgramError, match="Not the URI of a MongoDB server"):
        write([{"_id": 1}], builder("http://somewhere", collection).build())


def test_settings_that_make_no_sense() -> None:
    made = MongoSink.builder()
    with pytest.raises(
        ProgramError, match="call set_uri, set_database, set_collection, set_serialization_schema"
    ):
        made.build()
    with pytest.raises(ProgramError, match="cannot write exactly once"):
        made.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    with pytest.raises(ProgramError, match="batch size"):
        made.set_batch_size(0)
    with pytest.raises(ProgramError, match="must be a function"):
        made.set_serialization_schema(InsertOne)
