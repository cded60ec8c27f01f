"""The SQL gateway: sessions, statements, and their results by token, as Flink's has them."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import msgspec

from firesteel.jobmanager.reported import ReportedError
from firesteel.rest.cluster import SqlGateway
from firesteel.rest.credentials import Role
from firesteel.rest.errors import RestError, bad_request
from firesteel.rest.messages.base import Empty
from firesteel.rest.messages.sql_gateway import (
    ApiVersions,
    Candidates,
    CompleteStatement,
    ConfigureSession,
    ExecuteStatement,
    FetchedResults,
    FetchQuery,
    GatewayInfo,
    OpenSession,
    Results,
    SessionConfig,
    SessionOpened,
    StatementStarted,
    StatusAnswer,
)
from firesteel.rest.routes import Call, NoQuery, Route
from firesteel.version import __version__

VERSIONS: Final = ("v1", "v2", "v3", "v4")
_ROW_FORMATS: Final = ("JSON", "PLAIN_TEXT")
#: What a session refuses that is not a failure of a statement.
_REFUSALS: Final = {"UnknownOperationError": 404, "OperationError": 400}


def gateway_of(call: Call) -> SqlGateway:
    found = call.context.sql
    if found is None:
        raise RestError(
            404, "This server has no SQL gateway: a session cluster has one. See docs/sql/gateway.md."
        )
    if not call.context.settings.submit:
        raise RestError(403, "Statements cannot be run here: web.submit.enable is false.")
    return found


async def _ask(call: Call, what: str, **given: Any) -> Any:
    """The answer of the session in the path."""
    try:
        return await gateway_of(call).ask(call.parameters["session_handle"], what, **given)
    except ReportedError as error:
        failure = error.failure
        status = _REFUSALS.get(failure.name, 500)
        text = failure.message if failure.name in _REFUSALS else f"{failure.name}: {failure.message}"
        raise RestError(status, text) from error


# ---- the gateway


def info(call: Call) -> GatewayInfo:
    gateway_of(call)
    return GatewayInfo(product_name="Apache Flink", version=__version__)


def api_versions(call: Call) -> ApiVersions:
    gateway_of(call)
    return ApiVersions(versions=[version.upper() for version in VERSIONS])


# ---- sessions


async def open_session(call: Call) -> SessionOpened:
    asked: OpenSession = call.body
    handle = await gateway_of(call).open(asked.session_name, asked.properties or {})
    return SessionOpened(session_handle=handle)


async def close_session(call: Call) -> StatusAnswer:
    await gateway_of(call).close(call.parameters["session_handle"])
    return StatusAnswer(status="CLOSED")


async def session_config(call: Call) -> SessionConfig:
    return SessionConfig(properties=await _ask(call, "config"))


def heartbeat(call: Call) -> Empty:
    gateway_of(call).touch(call.parameters["session_handle"])
    return Empty()


async def configure_session(call: Call) -> Empty:
    asked: ConfigureSession = call.body
    await _ask(call, "configure", statement=asked.statement, timeout_ms=asked.execution_timeout)
    return Empty()


async def complete_statement(call: Call) -> Candidates:
    asked: CompleteStatement = call.body
    found = await _ask(call, "complete", statement=asked.statement, position=asked.position)
    return Candidates(candidates=found)


# ---- statements


async def execute_statement(call: Call) -> StatementStarted:
    asked: ExecuteStatement = call.body
    handle = await _ask(
        call,
        "execute",
        statement=asked.statement,
        timeout_ms=asked.execution_timeout,
        settings=asked.execution_config,
    )
    return StatementStarted(operation_handle=handle)


async def operation_status(call: Call) -> StatusAnswer:
    return await _operation(call, "status")


async def cancel_operation(call: Call) -> StatusAnswer:
    return await _operation(call, "cancel")


async def close_operation(call: Call) -> StatusAnswer:
    return await _operation(call, "close")


async def _operation(call: Call, what: str) -> StatusAnswer:
    return StatusAnswer(status=await _ask(call, what, operation=call.parameters["operation_handle"]))


async def fetch_results(call: Call, version: str) -> FetchedResults:
    row_format = "JSON" if version == "v1" else call.query.row_format.upper()
    if row_format not in _ROW_FORMATS:
        raise bad_request(
            f"rowFormat is {row_format[:50]!r}, and it must be one of {', '.join(_ROW_FORMATS)}."
        )
    operation, token = call.parameters["operation_handle"], call.number("token")
    page = await _ask(call, "fetch", operation=operation, token=token, format=row_format)

    def address(of: int) -> str:
        session = call.parameters["session_handle"]
        path = f"/{version}/sessions/{session}/operations/{operation}/result/{of}"
        return path if version == "v1" else f"{path}?rowFormat={row_format}"

    if page is None:
        return FetchedResults(result_type="NOT_READY", next_result_uri=address(token))
    results = Results(
        columns=page["columns"],
        row_format=row_format,
        data=msgspec.Raw(page["data"]),  # type: ignore[arg-type]  # encoded already
    )
    found = FetchedResults(
        result_type="EOS" if page["next"] is None else "PAYLOAD",
        is_query_result=page["is_query"],
        result_kind=page["kind"],
        results=results,
    )
    if page["job_id"] is not None:
        found = msgspec.structs.replace(found, job_id=page["job_id"])
    if page["next"] is not None:
        found = msgspec.structs.replace(found, next_result_uri=address(page["next"]))
    return found


_SUBMIT: Final[dict[str, Any]] = {"role": Role.SUBMIT}
_SESSION: Final = "/sessions/{session_handle}"
_OPERATION: Final = f"{_SESSION}/operations/{{operation_handle}}"
#: Of all versions.
_COMMON: Final = (
    Route("GET", "/info", info, GatewayInfo, "What the SQL gateway is."),
    Route("GET", "/api_versions", api_versions, ApiVersions, "The versions of the SQL gateway's API."),
    Route(
        "POST",
        "/sessions",
        open_session,
        SessionOpened,
        "Open a session of SQL.",
        body=OpenSession,
        **_SUBMIT,
    ),
    Route("GET", _SESSION, session_config, SessionConfig, "The options of a session.", **_SUBMIT),
    Route("DELETE", _SESSION, close_session, StatusAnswer, "Close a session.", **_SUBMIT),
    Route("POST", f"{_SESSION}/heartbeat", heartbeat, Empty, "Say that a session is used.", **_SUBMIT),
    Route(
        "POST",
        f"{_SESSION}/statements",
        execute_statement,
        StatementStarted,
        "Start a statement.",
        body=ExecuteStatement,
        **_SUBMIT,
    ),
    Route("GET", f"{_OPERATION}/status", operation_status, StatusAnswer, "Where a statement is.", **_SUBMIT),
    Route("POST", f"{_OPERATION}/cancel", cancel_operation, StatusAnswer, "End a statement.", **_SUBMIT),
    Route("DELETE", f"{_OPERATION}/close", close_operation, StatusAnswer, "Forget a statement.", **_SUBMIT),
)
#: From v2 on.
_SINCE_V2: Final = (
    Route(
        "POST",
        f"{_SESSION}/configure-session",
        configure_session,
        Empty,
        "Run a statement that changes the session alone.",
        body=ConfigureSession,
        **_SUBMIT,
    ),
    Route(
        "GET",
        f"{_SESSION}/complete-statement",
        complete_statement,
        Candidates,
        "What may stand at a place of a statement; the body says which.",
        body=CompleteStatement,
        **_SUBMIT,
    ),
)


def routes(version: str) -> tuple[Route, ...]:
    """The routes of a version: its first one has one row format, and neither configures nor completes."""
    result = Route(
        "GET",
        f"{_OPERATION}/result/{{token}}",
        partial(fetch_results, version=version),
        FetchedResults,
        "A page of the rows of a statement.",
        query=NoQuery if version == "v1" else FetchQuery,
        **_SUBMIT,
    )
    return (*_COMMON, result) if version == "v1" else (*_COMMON, *_SINCE_V2, result)
