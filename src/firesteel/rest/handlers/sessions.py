"""Sessions of browsers: log in, log out, who am I."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import Final, Literal

from firesteel.rest.credentials import Role
from firesteel.rest.dashboard.sessions import COOKIE
from firesteel.rest.errors import RestError, bad_request
from firesteel.rest.messages.live import Login, SessionInfo
from firesteel.rest.routes import Call, Route, WithHeaders
from firesteel.version import __version__


def session(call: Call) -> SessionInfo:
    """What this browser may do. Anybody may ask: a page has to know whether to ask for credentials."""
    found = call.context.sessions.of(call.headers.get("cookie", ""))
    return _info(call, call.guard.role(call.headers), "" if found is None else found.name)


async def log_in(call: Call) -> WithHeaders:
    """Credentials become a cookie."""
    if call.context.settings.auth == "none":
        raise bad_request("This server asks for no credentials.")
    call.context.sessions.check_guesses()
    given: Login = call.body
    # A password takes time to check, which other requests must not wait for.
    role = await asyncio.to_thread(call.guard.credentials.role, _authorization(given))
    if role is None:
        call.context.sessions.failed()
        raise RestError(403, "These credentials are not known.")
    token = call.context.sessions.begin(role, given.name or "")
    return WithHeaders(_info(call, role, given.name or ""), {"set-cookie": _cookie(call, token)})


def log_out(call: Call) -> WithHeaders:
    call.context.sessions.end(call.headers.get("cookie", ""))
    return WithHeaders(_info(call, None, ""), {"set-cookie": f"{_cookie(call, '')}; Max-Age=0"})


_ROLES: Final[Mapping[Role, Literal["read", "operate", "submit"]]] = {
    Role.READ: "read",
    Role.OPERATE: "operate",
    Role.SUBMIT: "submit",
}


def _info(call: Call, role: Role | None, name: str) -> SessionInfo:
    settings = call.context.settings
    return SessionInfo(
        auth=settings.auth,  # type: ignore[arg-type]  # one of the words of its option
        role=None if role is None else _ROLES[role],
        name=name,
        flink_ui=settings.flink_ui is not None,
        version=__version__,
    )


def _authorization(given: Login) -> str:
    """As the header would be."""
    if given.token is not None:
        return f"Bearer {given.token}"
    pair = f"{given.name or ''}:{given.password or ''}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


def _cookie(call: Call, token: str) -> str:
    secure = "; Secure" if call.context.settings.tls is not None else ""
    return f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict{secure}"


_PATH: Final = "/session"
ROUTES: Final = (
    Route("GET", _PATH, session, SessionInfo, "What this client may do.", public=True),
    Route(
        "POST",
        _PATH,
        log_in,
        SessionInfo,
        "Log a browser in: the answer sets a cookie.",
        body=Login,
        public=True,
        refusals=((403, "The credentials are not known."),),
    ),
    Route("DELETE", _PATH, log_out, SessionInfo, "Log a browser out.", public=True),
)
