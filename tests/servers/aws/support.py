"""What the tests of AWS share: streams and queues, and what is in them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from firesteel.common import SimpleStringSchema
from firesteel.connectors.aws.client import client
from firesteel.datastream.connectors.kinesis import FlinkKinesisConsumer

_numbers = itertools.count()


class Aws:
    """The double, as users reach AWS."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.properties = {
            "aws.region": "us-east-1",
            "aws.endpoint": address,
            "aws.credentials.provider.basic.accesskeyid": "key",
            "aws.credentials.provider.basic.secretkey": "secret",
        }

    def client(self, service: str) -> Any:
        return client(service, self.properties)

    # ---- Kinesis

    def stream(self, shards: int = 1, kind: str = "stream") -> str:
        name = f"{kind}-{next(_numbers)}"
        self.client("kinesis").create_stream(StreamName=name, ShardCount=shards)
        return name

    def put(self, stream: str, texts: Sequence[str]) -> list[str]:
        """Each with itself as its partition key; past the faults of a faulty stream."""
        kinesis = self.client("kinesis")
        for text in texts:
            kinesis.put_record(StreamName=stream, Data=text.encode(), PartitionKey=text)
        return list(texts)

    def open_shards(self, stream: str) -> list[dict[str, Any]]:
        shards = self.client("kinesis").list_shards(StreamName=stream)["Shards"]
        still_open = [s for s in shards if "EndingSequenceNumber" not in s["SequenceNumberRange"]]
        return sorted(still_open, key=lambda s: int(s["HashKeyRange"]["StartingHashKey"]))

    def split(self, stream: str) -> None:
        """The first of its open shards."""
        shard = self.open_shards(stream)[0]
        hashes = shard["HashKeyRange"]
        middle = (int(hashes["StartingHashKey"]) + int(hashes["EndingHashKey"])) // 2
        self.client("kinesis").split_shard(
            StreamName=stream, ShardToSplit=shard["ShardId"], NewStartingHashKey=str(middle)
        )

    def merge(self, stream: str) -> None:
        """The last two of its open shards."""
        first, second = self.open_shards(stream)[-2:]
        self.client("kinesis").merge_shards(
            StreamName=stream, ShardToMerge=first["ShardId"], AdjacentShardToMerge=second["ShardId"]
        )

    def records(self, stream: str) -> list[dict[str, Any]]:
        """All records of all shards."""
        kinesis = self.client("kinesis")
        found: list[dict[str, Any]] = []
        for shard in kinesis.list_shards(StreamName=stream)["Shards"]:
            iterator = kinesis.get_shard_iterator(
                StreamName=stream, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
            while iterator:
                answer = kinesis.get_records(ShardIterator=iterator)
                found += [record | {"ShardId": shard["ShardId"]} for record in answer["Records"]]
                iterator = answer.get("NextShardIterator") if answer["MillisBehindLatest"] else None
        return found

    def texts(self, stream: str) -> list[str]:
        return [record["Data"].decode() for record in self.records(stream)]

    def consumer(self, *streams: str, schema: Any = None, **options: Any) -> FlinkKinesisConsumer:
        """From the beginning; ``options``: with ``_`` for ``.``, without ``flink.``."""
        properties = {
            "flink.stream.initpos": "TRIM_HORIZON",
            "flink.shard.getrecords.intervalmillis": "50",
            "flink.shard.getrecords.backoff.base": "10",
            "flink.shard.getrecords.backoff.max": "20",
        }
        properties |= {f"flink.{name.replace('_', '.')}": value for name, value in options.items()}
        return FlinkKinesisConsumer(
            list(streams), schema or SimpleStringSchema(), self.properties | properties
        )

    # ---- Firehose

    def delivery_stream(self, kind: str = "delivery") -> str:
        """Into a bucket of the same name."""
        name = f"{kind}-{next(_numbers)}"
        self.client("s3").create_bucket(Bucket=name)
        self.client("firehose").create_delivery_stream(
            DeliveryStreamName=name,
            S3DestinationConfiguration={
                "RoleARN": "arn:aws:iam::123456789012:role/any",
                "BucketARN": f"arn:aws:s3:::{name}",
            },
        )
        return name

    def delivered(self, name: str) -> list[str]:
        s3 = self.client("s3")
        found: list[str] = []
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=name):
            for item in page.get("Contents", ()):
                body = s3.get_object(Bucket=name, Key=item["Key"])["Body"].read()
                found += body.decode().splitlines()
        return found

    # ---- SQS

    def queue(self) -> str:
        """Its URL."""
        made = self.client("sqs").create_queue(QueueName=f"queue-{next(_numbers)}")
        url: str = made["QueueUrl"]
        return url

    def messages(self, url: str) -> list[str]:
        """Those that are there; they are taken out."""
        sqs = self.client("sqs")
        found: list[str] = []
        while received := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            found += [message["Body"] for message in received]
            for message in received:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return found
