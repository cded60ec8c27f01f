"""What is wrong is said in one error within ten seconds, before the first epoch; and who we are to AWS."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import SimpleStringSchema, Types
from firesteel.common.errors import (
    ConfigurationError,
    ConnectorError,
    FiresteelError,
    UnsupportedFeatureError,
)
from firesteel.connectors.aws import client
from firesteel.connectors.aws.credentials import PROVIDER, load_credentials
from firesteel.datastream.connectors.kinesis import FlinkKinesisConsumer, KinesisFirehoseSink
from firesteel.datastream.connectors.sqs import SqsSink
from firesteel.testing.local_platform import LocalPlatform
from tests.places import free_port
from tests.runtime.support import environment
from tests.servers.aws.support import Aws
from tests.servers.aws.test_sinks import into, write
from tests.waiting import in_time

LIMIT_S = 10.0


@pytest.fixture
def refused(platform: LocalPlatform, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], FiresteelError]:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    def run(program: Callable[[], Any]) -> FiresteelError:
        with in_time(), pytest.raises(FiresteelError) as caught:
            program()
        assert sum(engine.epochs for engine in platform.engines) == 0
        assert caught.value.hint
        return caught.value

    return run


def read(aws: Aws, stream: str = "s", **properties: str) -> None:
    env = environment(1)
    found = {**aws.properties, **{name.replace("__", "."): value for name, value in properties.items()}}
    found = {name: value for name, value in found.items() if value}
    env.add_source(FlinkKinesisConsumer(stream, SimpleStringSchema(), found), "kinesis").print()
    env.execute()


def test_streams_and_queues_that_do_not_exist(aws: Aws, refused: Any) -> None:
    error = refused(lambda: read(aws, "no-such-stream"))
    assert isinstance(error, ConfigurationError)
    assert "'no-such-stream'" in error.message
    assert "does not exist" in error.message
    assert error.operator == "Source: kinesis"
    error = refused(lambda: write(into(aws, "no-such-stream").build()))
    assert "does not exist" in error.message
    firehose = KinesisFirehoseSink.builder().set_delivery_stream_name("no-such-delivery")
    firehose.set_firehose_client_properties(aws.properties).set_serialization_schema(SimpleStringSchema())
    assert "'no-such-delivery'" in refused(lambda: write(firehose.build())).message
    sqs = SqsSink.builder().set_sqs_url(f"{aws.address}/123456789012/no-such-queue")
    sqs.set_sqs_client_properties(aws.properties).set_serialization_schema(SimpleStringSchema())
    assert "does not exist" in refused(lambda: write(sqs.build())).message


def test_an_endpoint_where_nobody_is(aws: Aws, refused: Any) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    error = refused(lambda: read(aws, aws__endpoint=nobody))
    assert isinstance(error, ConnectorError)
    assert nobody in error.detail
    error = refused(lambda: read(aws, aws__endpoint="somewhere"))
    assert "somewhere" in error.detail


def test_no_region_and_no_credentials(aws: Aws, refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    error = refused(lambda: read(aws, aws__region=""))
    assert error.detail == "aws.region is not set"
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    keys = dict.fromkeys(("accesskeyid", "secretkey"), "")
    absent = {f"aws__credentials__provider__basic__{name}": value for name, value in keys.items()}
    error = refused(lambda: read(aws, **absent))
    assert isinstance(error, ConfigurationError)
    assert "AWS does not let us" in error.message
    error = refused(lambda: read(aws, aws__credentials__provider="ENV_VAR"))
    assert "AWS_ACCESS_KEY_ID" in error.hint


def test_credentials_that_are_refused() -> None:
    from botocore.exceptions import ClientError

    said = {"Error": {"Code": "UnrecognizedClientException", "Message": "The security token is invalid."}}
    error = client.failure(ClientError(said, "ListShards"), "The stream cannot be read", {})
    assert isinstance(error, ConfigurationError)
    assert "security token" in (error.detail or "")


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"flink.stream.initpos": "FIRST"}, "LATEST, TRIM_HORIZON or AT_TIMESTAMP"),
        ({"flink.stream.initpos": "AT_TIMESTAMP"}, "needs a timestamp"),
        ({"flink.shard.getrecords.maxrecordcount": "10001"}, "from 1 to 10000"),
        ({"flink.shard.getrecords.intervalmillis": "often"}, "a whole number"),
        ({"flink.stream.initpositon": "LATEST"}, "no property 'flink.stream.initpositon'"),
        ({"aws.http-client.read-timeout": "1 s"}, "a whole number"),
    ],
)
def test_properties_that_cannot_be_used(properties: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        FlinkKinesisConsumer("s", SimpleStringSchema(), {"aws.region": "eu-central-1", **properties})


def test_what_only_java_has_is_refused() -> None:
    efo = {"aws.region": "eu-central-1", "flink.stream.recordpublisher": "EFO"}
    with pytest.raises(UnsupportedFeatureError, match="Shards are polled"):
        FlinkKinesisConsumer("s", SimpleStringSchema(), efo)
    with pytest.raises(UnsupportedFeatureError, match="come from Java"):
        load_credentials({PROVIDER: "SYS_PROP"})
    with pytest.raises(ConfigurationError, match="no such provider"):
        load_credentials({PROVIDER: "MINE"})


def test_the_client_is_not_installed(aws: Aws, monkeypatch: pytest.MonkeyPatch, refused: Any) -> None:
    client._client.cache_clear()
    monkeypatch.setitem(sys.modules, "boto3", None)
    error = refused(lambda: read(aws))
    assert "pip install 'boto3>=" in error.hint


# ---- credentials


def test_keys_from_properties_the_environment_and_a_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    basic = {PROVIDER + ".basic.accesskeyid": "a", PROVIDER + ".basic.secretkey": "b"}
    found = load_credentials(basic)
    assert (found.access_key, found.secret_key) == ("a", "b")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "c")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "d")
    assert load_credentials({PROVIDER: "ENV_VAR"}).access_key == "c"
    file = tmp_path / "credentials"
    file.write_text("[other]\naws_access_key_id = e\naws_secret_access_key = f\n")
    profile = {
        PROVIDER: "PROFILE",
        PROVIDER + ".profile.path": str(file),
        PROVIDER + ".profile.name": "other",
    }
    assert load_credentials(profile).access_key == "e"
    assert load_credentials({}) is None, "boto3 looks"


def test_a_role_is_assumed(aws: Aws) -> None:
    stream = aws.stream()
    prefix = PROVIDER + ".role.provider"
    properties = {
        "aws.region": "us-east-1",
        "aws.endpoint": aws.address,
        PROVIDER: "ASSUME_ROLE",
        PROVIDER + ".role.arn": "arn:aws:iam::123456789012:role/reader",
        PROVIDER + ".role.sessionName": "session",
        PROVIDER + ".role.externalId": "external",
        PROVIDER + ".role.stsEndpoint": aws.address,
        prefix: "BASIC",
        prefix + ".basic.accesskeyid": "key",
        prefix + ".basic.secretkey": "secret",
    }
    client.check_properties(properties)
    kinesis = client.client("kinesis", properties)
    assert kinesis.list_shards(StreamName=stream)["Shards"]
    assert kinesis._request_signer._credentials.get_frozen_credentials().token, "not the keys themselves"


def test_a_role_is_assumed_with_a_token(aws: Aws, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("the token")
    properties = {
        "aws.region": "us-east-1",
        PROVIDER: "WEB_IDENTITY_TOKEN",
        PROVIDER + ".role.arn": "arn:aws:iam::123456789012:role/reader",
        PROVIDER + ".role.sessionName": "session",
        PROVIDER + ".role.stsEndpoint": aws.address,
        PROVIDER + ".webIdentityToken.file": str(token),
    }
    assert load_credentials(properties).get_frozen_credentials().token


def test_a_type_that_the_schema_cannot_write_is_refused(aws: Aws, refused: Any) -> None:
    from firesteel.datastream.formats.json import JsonRowSerializationSchema

    builder = into(aws, aws.stream())
    type_info = Types.ROW_NAMED(["n"], [Types.INT()])
    schema = JsonRowSerializationSchema.builder().with_type_info(type_info).build()
    env = environment(1)
    stream = env.from_collection(["a"], Types.STRING())
    refused(lambda: stream.sink_to(builder.set_serialization_schema(schema).build()))
