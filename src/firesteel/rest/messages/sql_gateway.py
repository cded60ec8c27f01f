"""Bodies of the SQL gateway, as Flink 2.3 has them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from firesteel.rest.messages.base import Message

Milliseconds = Annotated[int, msgspec.Meta(ge=-1)]


class GatewayInfo(Message, frozen=True, rename="camel"):
    product_name: str
    version: str


class ApiVersions(Message, frozen=True):
    versions: list[str]


class OpenSession(Message, frozen=True, rename="camel"):
    session_name: str | None = None
    properties: dict[str, str] | None = None


class SessionOpened(Message, frozen=True, rename="camel"):
    session_handle: str


class SessionConfig(Message, frozen=True):
    properties: dict[str, str]


class StatusAnswer(Message, frozen=True):
    """Of a session or an operation."""

    status: str


class ConfigureSession(Message, frozen=True, rename="camel"):
    statement: str
    execution_timeout: Milliseconds | None = None


class CompleteStatement(Message, frozen=True):
    statement: str
    position: int


class Candidates(Message, frozen=True):
    candidates: list[str]


class ExecuteStatement(Message, frozen=True, rename="camel"):
    statement: str
    execution_timeout: Milliseconds | None = None
    execution_config: dict[str, str] | None = None


class StatementStarted(Message, frozen=True, rename="camel"):
    operation_handle: str


class FetchQuery(Message, frozen=True, rename="camel"):
    row_format: str = "JSON"


class Results(Message, frozen=True, rename="camel"):
    """:param columns: each with ``name``, ``logicalType`` and ``comment``.
    :param data: each with ``kind`` and ``fields``.
    """

    columns: list[dict[str, Any]]
    row_format: str
    data: list[dict[str, Any]]


class FetchedResults(Message, frozen=True, rename="camel"):
    """:param result_type: NOT_READY, PAYLOAD or EOS; of the first nothing but this and the next address."""

    result_type: str
    is_query_result: bool | UnsetType = UNSET
    job_id: str | UnsetType = msgspec.field(default=UNSET, name="jobID")
    result_kind: str | UnsetType | None = UNSET
    results: Results | UnsetType = UNSET
    next_result_uri: str | UnsetType = UNSET
