"""The API as an ASGI application: from a request to a ``Call``, from an answer to a response."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route as Path_

from firesteel.common.errors import FiresteelError
from firesteel.common.logs import logger
from firesteel.monitoring.rates import SAMPLE_EVERY_S, Rates
from firesteel.rest.cached import Answers, encode
from firesteel.rest.cluster import Cluster, Programs, SqlGateway, Submissions
from firesteel.rest.credentials import Credentials
from firesteel.rest.dashboard.pages import Pages
from firesteel.rest.dashboard.sessions import Sessions
from firesteel.rest.errors import RestError, not_found
from firesteel.rest.guard import Guard, too_large
from firesteel.rest.handlers.table import places
from firesteel.rest.history import History
from firesteel.rest.messages.base import Errors
from firesteel.rest.openapi import description
from firesteel.rest.operations import Operations
from firesteel.rest.profiler import Profiler
from firesteel.rest.profiling import FlameGraphs
from firesteel.rest.routes import (
    Answer,
    Call,
    Context,
    Encoded,
    EventStream,
    Route,
    TextFile,
    WithHeaders,
    check_parameters,
    decoded,
    queried,
)
from firesteel.rest.settings import RestSettings
from firesteel.runtime.error_report import summary_of

log = logger(__name__)

_JSON: Final = "application/json; charset=UTF-8"
_CHUNK: Final = 1 << 16
_HEADERS: Final = {"x-content-type-options": "nosniff", "cache-control": "no-store"}


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def make_context(
    cluster: Cluster,
    settings: RestSettings,
    submissions: Submissions | None = None,
    programs: Programs | None = None,
    sql: SqlGateway | None = None,
) -> Context:
    return Context(
        sql=sql,
        submissions=submissions,
        programs=programs,
        cluster=cluster,
        settings=settings,
        operations=Operations(settings.keep_results_s),
        answers=Answers(),
        rates=Rates(),
        history=History(),
        sessions=Sessions(),
        flame_graphs=FlameGraphs(settings.flame_graphs),
        profiler=Profiler(settings, _now_ms),
        now_ms=_now_ms,
        openapi=cache(lambda: encode(description(places()))),
    )


def make_app(
    context: Context, credentials: Credentials, served: Iterable[tuple[str, Route]] | None = None
) -> Any:
    """The ASGI application. All of it runs in one event loop.

    :param served: the paths with their routes; None: all that a cluster has.
    """
    guard = Guard(context.settings, credentials, context.sessions)
    by_path: dict[str, dict[str, Route]] = {}
    for path, route in places() if served is None else served:
        by_path.setdefault(path, {})[route.method] = route
    # What is literal comes before what is a parameter at its place: /jobs/overview, then /jobs/{jobid}.
    ordered = sorted(by_path, key=lambda path: [part.startswith("{") for part in path.split("/")])
    return Starlette(
        routes=[
            *(_endpoint(path, by_path[path], context, guard) for path in ordered),
            _pages(Pages(context.settings), guard),
        ],
        middleware=_cors(context.settings),
        exception_handlers={HTTPException: _unknown_path},
        lifespan=lambda app: _sampling(context),
    )


def _cors(settings: RestSettings) -> list[Middleware]:
    """Only pages that were named may call the API from a browser."""
    if not settings.origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=sorted(settings.origins),
            allow_methods=["GET", "POST", "PATCH", "PUT", "DELETE"],
            allow_headers=["authorization", "content-type", "last-event-id"],
            allow_credentials=True,
        )
    ]


@asynccontextmanager
async def _sampling(context: Context) -> AsyncIterator[None]:
    """Counters are looked at every few seconds, so that there are rates."""

    async def sample() -> None:
        while True:
            try:
                views, now_ms = context.cluster.jobs(), context.now_ms()
                context.rates.sample([view for view in views if view.ended_ms is None], now_ms)
                context.history.sample(views, now_ms)
            except Exception as e:  # the next time perhaps not
                log.warning("no rates of metrics: %s", summary_of(e))
            await asyncio.sleep(SAMPLE_EVERY_S)

    task = asyncio.ensure_future(sample())
    try:
        yield
    finally:
        task.cancel()
        await context.profiler.close()


# ---- requests


def _endpoint(path: str, routes: Mapping[str, Route], context: Context, guard: Guard) -> Path_:
    async def endpoint(request: Request) -> Response:
        try:
            route = routes.get("GET" if request.method == "HEAD" else request.method)
            if route is None:
                raise _nothing_at(request)
            limit = context.settings.upload_bytes if route.upload else None
            if route.public:
                guard.check_anybody(request.headers, change=route.is_change)
            else:
                guard.check(request.headers, change=route.is_change, needs=route.needs, limit=limit)
            call = await _call(request, route, context, guard)
            answer = route.handler(call)
            return _response(await answer if inspect.isawaitable(answer) else answer, route.status)
        except Exception as e:
            return _refusal(request, e)

    return Path_(path, endpoint, methods=list(routes))


def _pages(pages: Pages, guard: Guard) -> Path_:
    """Whatever is no endpoint: a file of the dashboard, as in Flink."""

    async def page(request: Request) -> Response:
        try:
            guard.check_anybody(request.headers, change=False)
            known = guard.role(request.headers) is not None
            found = pages.answer(request, known=known)
            if found is None:
                raise _nothing_at(request)
            return found
        except Exception as e:
            return _refusal(request, e)

    return Path_("/{path:path}", page, methods=["GET"])


async def _call(request: Request, route: Route, context: Context, guard: Guard) -> Call:
    """The request, checked."""
    check_parameters(request.path_params)
    return Call(
        context=context,
        guard=guard,
        route=route,
        parameters=request.path_params,
        query=queried(request.query_params, route.query),
        body=None if route.body is None else decoded(await _body(request, context.settings), route.body),
        headers=request.headers,
        base_url=str(request.base_url).rstrip("/"),
        parts=_parts(request, context.settings.upload_bytes),
    )


async def _parts(request: Request, limit: int) -> AsyncIterator[bytes]:
    """A body as it comes. Connections without progress are cut off elsewhere (``connections.py``)."""
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > limit:
                raise too_large(limit)
            if part:
                yield part
    except ClientDisconnect:
        raise RestError(400, "The client has gone.") from None


async def _body(request: Request, settings: RestSettings) -> bytes:
    """The body, if it is not too large and comes in time."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(settings.request_timeout_s):
            async for part in request.stream():
                size += len(part)
                if size > settings.body_bytes:
                    raise too_large(settings.body_bytes)
                parts.append(part)
    except TimeoutError:
        raise RestError(408, "The body did not come in time.", {"connection": "close"}) from None
    except ClientDisconnect:
        raise RestError(400, "The client has gone.") from None
    return b"".join(parts)


# ---- answers


def _response(answer: Answer, status: int) -> Response:
    match answer:
        case Encoded(body):
            return _json(body, status)
        case WithHeaders(body, headers):
            return _json(encode(body), status, headers)
        case EventStream(events):
            return StreamingResponse(events, media_type="text/event-stream", headers=_HEADERS)
        case TextFile():
            return _text(answer)
        case _:
            return _json(encode(answer), status)


def _json(body: bytes, status: int, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status, {**_HEADERS, "content-type": _JSON, **(headers or {})})


def _text(text: TextFile) -> Response:
    content = text.content
    if isinstance(content, str):
        encoded = content.encode(errors="replace")
        saved = {"content-disposition": f'attachment; filename="{text.saved_as}"'} if text.saved_as else {}
        return Response(encoded[text.start(len(encoded)) :], 200, {**_HEADERS, **saved}, media_type=text.kind)
    size = content.stat().st_size
    start = text.start(size)
    headers = {**_HEADERS, "content-length": str(size - start)}
    return StreamingResponse(_chunks(content, start, size), headers=headers, media_type=text.kind)


def _chunks(file: Path, start: int, end: int) -> Iterator[bytes]:
    """The bytes that were there when the answer began: a log grows meanwhile."""
    with file.open("rb") as opened:
        opened.seek(start)
        while start < end:
            chunk = opened.read(min(_CHUNK, end - start))
            if not chunk:  # the log has been cut
                return
            start += len(chunk)
            yield chunk


# ---- refusals


def _nothing_at(request: Request) -> RestError:
    return not_found(f"Not found: {request.url.path[:200]}")


async def _unknown_path(request: Request, error: Exception) -> Response:
    """Flink answers 404 to a verb that a path does not know, too."""
    return _refusal(request, _nothing_at(request))


def _refusal(request: Request, error: Exception) -> Response:
    match error:
        case RestError():
            return _json(encode(Errors(errors=[str(error)])), error.status, error.headers)
        case FiresteelError():  # of a job: its text says what to do
            return _json(encode(Errors(errors=[str(error)])), 500)
        case _:
            log.warning("request failed path=%s", request.url.path, exc_info=error)
            return _json(encode(Errors(errors=["Internal server error.", summary_of(error)])), 500)
