"""Creates clients of AWS services from Flink's properties, and classifies their errors."""

from __future__ import annotations

import os
import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, TypeVar

from firesteel.common.errors import ConfigurationError, ConnectorError, FiresteelError
from firesteel.common.extras import extra
from firesteel.connectors.aws.credentials import PROVIDER, REGION, SUFFIXES, load_credentials

ENDPOINT: Final = "aws.endpoint"
READ_TIMEOUT: Final = "aws.http-client.read-timeout"
CONCURRENCY: Final = "aws.http-client.max-concurrency"
TRUST_ALL: Final = "aws.trust.all.certificates"
HTTP_VERSION: Final = "aws.http.protocol.version"

PATIENCE_S: Final = 8.0  # for AWS to answer when a job starts
_CONNECT_S: Final = 3
_READ_S: Final = 60

_KNOWN: Final = frozenset({REGION, ENDPOINT, READ_TIMEOUT, CONCURRENCY, TRUST_ALL, HTTP_VERSION})
_OF_CREDENTIALS: Final = re.compile(
    re.escape(PROVIDER) + r"(\.role\.provider)*(" + "|".join(map(re.escape, SUFFIXES)) + ")?"
)

_NOT_THERE: Final = frozenset(
    {
        "ResourceNotFoundException",
        "QueueDoesNotExist",
        "AWS.SimpleQueueService.NonExistentQueue",
        "com.amazonaws.sqs#QueueDoesNotExist",
    }
)
_REFUSED: Final = frozenset(
    {
        *("AccessDenied", "AccessDeniedException", "ExpiredToken", "ExpiredTokenException", "AuthFailure"),
        *("IncompleteSignature", "InvalidClientTokenId", "InvalidSignatureException", "NotAuthorized"),
        *("MissingAuthenticationToken", "MissingAuthenticationTokenException", "OptInRequired"),
        *("SignatureDoesNotMatch", "UnrecognizedClientException", "KMSAccessDeniedException"),
    }
)
_PASSING: Final = frozenset(
    {
        *("ProvisionedThroughputExceededException", "LimitExceededException", "RequestThrottled"),
        *("Throttling", "ThrottlingException", "TooManyRequestsException", "RequestLimitExceeded"),
        *("KMSThrottlingException", "SlowDown", "RequestTimeout", "RequestTimeoutException"),
        *("InternalFailure", "InternalFailureException", "InternalError", "ServiceUnavailable"),
        *("ServiceUnavailableException", "OverLimit"),
    }
)

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential back-off with full jitter, as in Flink. Milliseconds."""

    base_ms: float = 300
    max_ms: float = 1000
    factor: float = 1.5

    def pause_s(self, attempt: int) -> float:
        limit = min(self.max_ms, self.base_ms * self.factor ** min(attempt, 100))
        return limit / 1000 * (0.5 + random.random() / 2)


FLINKS_BACKOFF: Final = Backoff()


def check_properties(properties: Mapping[str, str], *more: str) -> None:
    """Check the names of the properties.

    :raises ConfigurationError: a property is neither one of AWS's nor in ``more``, or the region is missing.
    """
    for name in properties:
        if name not in _KNOWN and name not in more and not _OF_CREDENTIALS.fullmatch(name):
            raise ConfigurationError(
                f"There is no property {name!r} of AWS.",
                detail=f"{name}={properties[name]}" if "secret" not in name else None,
                hint="the names are those of Flink: aws.region, aws.endpoint, aws.credentials.provider ...",
            )
    if properties.get(HTTP_VERSION, "HTTP1_1") not in ("HTTP1_1", "HTTP2"):
        raise ConfigurationError(f"{HTTP_VERSION} is HTTP1_1 or HTTP2", detail=properties[HTTP_VERSION])
    for name in (READ_TIMEOUT, CONCURRENCY):
        if not properties.get(name, "1").isdigit():
            raise ConfigurationError(f"{name} is a whole number", detail=f"got {properties[name]!r}")


def client(service: str, properties: Mapping[str, str], timeout_s: float | None = None) -> Any:
    """Return the client of a service. There is one per process and configuration, which threads may share. It
    does not retry; ``ask`` does.

    :raises ConfigurationError: boto3 is not installed, or the properties cannot be used.
    """
    items = sorted(item for item in properties.items() if item[0].startswith("aws."))
    return _client(service, tuple(items), timeout_s, os.getpid())


@lru_cache(maxsize=64)
def _client(service: str, items: tuple[tuple[str, str], ...], timeout_s: float | None, pid: int) -> Any:
    botocore = _load()
    properties = dict(items)
    session = botocore.session.Session()
    credentials = load_credentials(properties)
    if credentials is not None:
        session.register_component("credential_provider", _Given(credentials))
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_instant)
    read_ms = float(properties.get(READ_TIMEOUT, _READ_S * 1000))
    config = botocore.config.Config(
        connect_timeout=_CONNECT_S,
        read_timeout=min(read_ms / 1000, timeout_s or read_ms),
        retries={"total_max_attempts": 1},
        max_pool_connections=int(properties.get(CONCURRENCY, "64")),
        user_agent_extra="firesteel",
    )
    try:
        return session.create_client(
            service,
            region_name=properties.get(REGION),
            endpoint_url=properties.get(ENDPOINT),
            verify=False if properties.get(TRUST_ALL) == "true" else None,
            config=config,
        )
    except botocore.exceptions.NoRegionError as error:
        raise ConfigurationError(
            f"The region of AWS is not known in which {service} is.",
            detail=f"{REGION} is not set",
            hint=f"set the property {REGION}, as in 'eu-central-1'",
        ) from error
    except (botocore.exceptions.BotoCoreError, ValueError) as error:
        raise ConfigurationError(
            f"No client of AWS {service} can be made of these properties.",
            detail=str(error),
            hint=f"check {REGION}, {ENDPOINT} and {PROVIDER}",
        ) from error


@dataclass(frozen=True, slots=True)
class _Given:
    """Provides a session with given credentials."""

    credentials: Any

    def load_credentials(self) -> Any:
        return self.credentials


def _instant(value: Any) -> datetime:
    """Parse a time in a response. With botocore's own parser this takes two thirds of the time for a page of
    records."""
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    found: datetime = _load().utils.parse_timestamp(value)
    return found


def _load() -> Any:
    extra("boto3", "The connector of AWS", "kinesis")
    import botocore.config
    import botocore.exceptions
    import botocore.session
    import botocore.utils

    return botocore


# ---- what errors mean


def code_of(error: BaseException) -> str:
    """Return AWS's error code; "" if the error did not come from AWS."""
    response: Mapping[str, Any] = getattr(error, "response", None) or {}
    return str(response.get("Error", {}).get("Code", ""))


def is_passing(error: BaseException) -> bool:
    """Return true if a retry may help: throttling, or a server or connection failure."""
    exceptions = _load().exceptions
    if isinstance(error, exceptions.ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return code_of(error) in _PASSING or status >= 500
    return isinstance(error, exceptions.HTTPClientError | exceptions.ConnectionError)


def errors() -> tuple[type[BaseException], ...]:
    """Return the exceptions that a client raises."""
    exceptions = _load().exceptions
    return exceptions.ClientError, exceptions.BotoCoreError


def failure(error: BaseException, what: str, properties: Mapping[str, str]) -> FiresteelError:
    """Return the error to raise. ``what`` says what failed, as a sentence without full stop."""
    code = code_of(error)
    where = properties.get(ENDPOINT) or f"region {properties.get(REGION, 'of the environment')}"
    detail = f"{error} ({where})"
    exceptions = _load().exceptions
    if code in _NOT_THERE:
        return ConfigurationError(
            f"{what}: it does not exist.", detail=detail, hint="create it first, or check name and region"
        )
    no_credentials = exceptions.NoCredentialsError | exceptions.PartialCredentialsError
    if code in _REFUSED or isinstance(error, no_credentials):
        return ConfigurationError(
            f"{what}: AWS does not let us.", detail=detail, hint=f"check {PROVIDER} and what it may do"
        )
    return ConnectorError(f"{what}.", detail=detail, hint=f"check {REGION} and {ENDPOINT}")


def ask(
    call: Callable[[], Answer],
    what: str,
    properties: Mapping[str, str],
    patience_s: float = PATIENCE_S,
    backoff: Backoff = FLINKS_BACKOFF,
    stop: threading.Event | None = None,
) -> Answer:
    """Send a request and return the answer; transient errors are retried.

    :param what: see ``failure``.
    :param stop: set when the answer is no longer needed: give up.
    """
    deadline = time.monotonic() + patience_s
    attempt = 0
    while True:
        try:
            return call()
        except errors() as error:
            if not is_passing(error) or time.monotonic() >= deadline:
                raise failure(error, what, properties) from error
            (stop or threading.Event()).wait(backoff.pause_s(attempt))
            if stop is not None and stop.is_set():
                raise failure(error, what, properties) from error
            attempt += 1
