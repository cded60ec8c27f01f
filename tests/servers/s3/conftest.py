from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from firesteel.storage import filesystems as _storage
from tests.servers.s3.server import make_bucket, running

_numbers = itertools.count()


@pytest.fixture(scope="package")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("s3")) as address:
        yield address


@pytest.fixture
def bucket(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URI of an empty bucket; the environment says where its server is, as a user's would."""
    for name, value in (
        ("AWS_ENDPOINT_URL", s3_server),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ):
        monkeypatch.setenv(name, value)
    name = f"bucket-{next(_numbers)}"
    make_bucket(s3_server, name)
    _storage._arrow_root.cache_clear()
    yield f"s3://{name}"
    _storage._arrow_root.cache_clear()
