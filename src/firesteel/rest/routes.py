"""What a route is: a row of the table in ``handlers/``, from which server and OpenAPI are made."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from firesteel.jobmanager.job_view import JobView, VertexView
from firesteel.monitoring.rates import Rates
from firesteel.rest.cached import Answers
from firesteel.rest.cluster import Cluster, Programs, SqlGateway, Submissions
from firesteel.rest.credentials import Role
from firesteel.rest.dashboard.sessions import Sessions
from firesteel.rest.errors import bad_request, not_found, unknown_job
from firesteel.rest.guard import Guard
from firesteel.rest.history import History
from firesteel.rest.operations import Operations
from firesteel.rest.profiler import Profiler
from firesteel.rest.profiling import FlameGraphs
from firesteel.rest.settings import RestSettings

S = TypeVar("S", bound=Struct)

_ID: Final = re.compile("[0-9a-fA-F]{32}")
_NUMBER: Final = re.compile("[0-9]{1,18}")
_MEANING: Final = {_ID: "32 hexadecimal digits", _NUMBER: "a number"}
#: How the parts of a path look, by name; all others may be any text.
PARAMETERS: Final[Mapping[str, re.Pattern[str]]] = {
    "jobid": _ID,
    "applicationid": _ID,
    "vertexid": _ID,
    "triggerid": _ID,
    "datasetid": _ID,
    "rescaleuuid": _ID,
    "sinkid": _ID,
    "digest": re.compile("[0-9a-f]{64}"),
    "checkpointid": _NUMBER,
    "subtaskindex": _NUMBER,
    "attempt": _NUMBER,
    "token": _NUMBER,
}


@dataclass(frozen=True, slots=True)
class Encoded:
    """An answer that is JSON already."""

    body: bytes


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file, or a text, as ``text/plain``. ``tail``: only so many of its last bytes; ``offset``: only those
    from there on."""

    content: Path | str
    tail: int | None = None
    offset: int | None = None
    kind: str = "text/plain"
    saved_as: str | None = None

    def start(self, size: int) -> int:
        """Where the bytes begin that are wanted, of so many."""
        offset = min(size, max(0, self.offset or 0))
        return offset if self.tail is None else max(offset, size - max(0, self.tail))


@dataclass(frozen=True, slots=True)
class EventStream:
    """Server-sent events."""

    events: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class WithHeaders:
    """An answer with further headers."""

    body: Struct
    headers: Mapping[str, str]


Answer = Struct | list[Any] | dict[str, Any] | Encoded | TextFile | EventStream | WithHeaders


@dataclass(frozen=True)
class Context:
    """What all requests share."""

    cluster: Cluster
    settings: RestSettings
    operations: Operations
    answers: Answers
    rates: Rates
    history: History
    sessions: Sessions
    flame_graphs: FlameGraphs
    profiler: Profiler
    now_ms: Callable[[], int]
    openapi: Callable[[], bytes]
    submissions: Submissions | None = None
    programs: Programs | None = None
    sql: SqlGateway | None = None


async def _no_parts() -> AsyncIterator[bytes]:
    return
    yield b""


@dataclass(frozen=True)
class Call:
    """One request, checked: the parts of its path look as they should, query and body are of their types.

    :param parts: the body of an upload, as it comes; what is too large ends in a RestError.
    """

    context: Context
    guard: Guard
    route: Route
    parameters: Mapping[str, str]
    query: Any = None
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    base_url: str = ""
    parts: AsyncIterator[bytes] = field(default_factory=_no_parts)

    @property
    def cluster(self) -> Cluster:
        return self.context.cluster

    def id(self, name: str) -> str:
        return self.parameters[name].lower()

    def number(self, name: str) -> int:
        return int(self.parameters[name])

    @cached_property
    def job(self) -> JobView:
        """The view of the job in the path. A request reads one view, whatever the job does meanwhile."""
        job_id = self.id("jobid" if "jobid" in self.parameters else "applicationid")
        found = self.cluster.job(job_id)
        if found is None:
            raise unknown_job(job_id)
        return found

    @cached_property
    def vertex(self) -> VertexView:
        try:
            return self.job.vertex(self.id("vertexid"))
        except KeyError:
            what = (
                f"JobVertex {self.id('vertexid')} not found. GET /jobs/{self.job.job_id} lists the vertices."
            )
            raise not_found(what) from None

    def require_job(self) -> None:
        """Raises RestError when there is no such job."""
        _ = self.job

    def require_vertex(self) -> None:
        """Raises RestError when there is no such job, or it has no such vertex."""
        _ = self.vertex

    def once(self, make: Callable[[], Struct]) -> Encoded:
        """The answer to this path for the view of the job as it is, encoded once for all who ask."""
        # The same path may be under two prefixes: of Flink and of ours.
        key = (self.route.handler.__module__, self.route.path, *self.parameters.values())
        return Encoded(self.context.answers.of(self.job, key, make))


Handler = Callable[[Call], Answer | Awaitable[Answer]]


class NoQuery(Struct, frozen=True, kw_only=True):
    """Flink ignores parameters that it does not know, and so does this."""


@dataclass(frozen=True, slots=True)
class Route:
    """One endpoint.

    :param path: with ``{name}`` for its parts.
    :param handler: makes the answer; what it raises is an error of the API.
    :param answer: the type of the body; None: a text or a stream.
    :param status: of an answer that is none of the refusals.
    :param query: the struct of the parameters; their names as the API has them.
    :param body: the type of the body; None: it is not read.
    :param doc: a sentence for the OpenAPI description.
    :param changes: whether it changes something, whatever the method says.
    :param public: whether it needs no credentials.
    :param upload: the type of a body that is read as it comes; None: there is none.
    :param role: who may use it; None: whoever may read, or operate if it changes something.
    :param refusals: statuses that only this endpoint refuses with, and what they mean.
    """

    method: str
    path: str
    handler: Handler
    answer: Any
    doc: str
    status: int = 200
    query: type[Struct] = NoQuery
    body: Any = None
    changes: bool = False
    public: bool = False
    refusals: tuple[tuple[int, str], ...] = ()
    upload: str | None = None
    role: Role | None = None

    @property
    def is_change(self) -> bool:
        return self.changes or self.method not in ("GET", "HEAD")

    @property
    def needs(self) -> Role:
        if self.role is not None:
            return self.role
        return Role.OPERATE if self.is_change else Role.READ


def decoded(body: bytes, kind: type[S]) -> S:
    """The body of a request; an empty one is ``{}``.

    :raises RestError: 400.
    """
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except msgspec.MsgspecError as e:  # both what is no JSON and what is of another type
        raise bad_request(f"Request did not match expected format {kind.__name__}: {e}.") from e
    except (RecursionError, UnicodeDecodeError) as e:
        raise bad_request(f"The body is not JSON that can be read: {e}.") from e


def queried(query: Mapping[str, str], kind: type[S]) -> S:
    """The parameters of a request.

    :raises RestError: 400.
    """
    try:
        return msgspec.convert(dict(query), kind, strict=False)
    except msgspec.ValidationError as e:
        raise bad_request(f"A query parameter is not as it should be: {e}.") from e


def check_parameters(parameters: Mapping[str, str]) -> None:
    """Refuse a path whose parts do not look as they should: 400, as Flink does."""
    for name, value in parameters.items():
        pattern = PARAMETERS.get(name)
        if pattern is not None and pattern.fullmatch(value) is None:
            what = _MEANING.get(pattern, "64 hexadecimal digits")
            raise bad_request(f"The part {name} of the path is {value[:100]!r}, and it must be {what}.")
