"""What stands before all endpoints: who asks, from which page, how much.

Each web page that a user looks at can send requests to a server on 127.0.0.1. So a request must name the
server (else a page could have its own name lead to it), and one that changes something must not come from
another page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from firesteel.rest.credentials import Credentials, Role
from firesteel.rest.dashboard.sessions import Sessions
from firesteel.rest.errors import RestError
from firesteel.rest.settings import RestSettings

_LOCAL: Final = frozenset(("localhost", "127.0.0.1", "::1"))


class Guard:
    """Refuses what may not pass; knows nothing of what is asked."""

    def __init__(
        self, settings: RestSettings, credentials: Credentials, sessions: Sessions | None = None
    ) -> None:
        self._settings = settings
        self._sessions = sessions
        self.credentials = credentials
        self._hosts = {settings.host.strip("[]"), *([settings.address] if settings.address else ())}

    def check(
        self, headers: Mapping[str, str], *, change: bool, needs: Role, limit: int | None = None
    ) -> None:
        """Raises RestError.

        :param change: whether something would be changed. :param limit: of the body; None: the usual one.
        """
        self.check_anybody(headers, change=False, limit=limit)
        role = self.role(headers)
        if role is None:
            raise RestError(
                401,
                "The server asks for credentials: send the header Authorization.",
                {"www-authenticate": _challenge(self.credentials.challenge, headers)},
            )
        if change:
            self._check_page(headers)
        if role < needs:
            raise RestError(
                403,
                f"These credentials have the role {role.name.lower()}; this needs {needs.name.lower()}.",
            )

    def check_anybody(self, headers: Mapping[str, str], *, change: bool, limit: int | None = None) -> None:
        """What is asked of requests that need no credentials, too. Raises RestError."""
        self._check_host(headers.get("host", ""))
        self._check_length(headers.get("content-length", "0"), limit or self._settings.body_bytes)
        if change:
            self._check_page(headers)

    def role(self, headers: Mapping[str, str]) -> Role | None:
        """What the sender may do: by the header ``Authorization``, or by a session."""
        role = self.credentials.role(headers.get("authorization", ""))
        if role is None and self._sessions is not None:
            session = self._sessions.of(headers.get("cookie", ""))
            role = None if session is None else session.role
        return role

    def _check_host(self, host: str) -> None:
        if not self._settings.is_local or self._settings.auth != "none":
            return  # who has credentials has not been led here
        name = _host_of(host)
        if name not in _LOCAL and name not in self._hosts:
            raise RestError(
                403,
                f"The header Host names {name[:100]!r}, not this server; rest.address may name it.",
            )

    def _check_page(self, headers: Mapping[str, str]) -> None:
        origin = headers.get("origin")
        if origin is not None and origin not in self._settings.origins:
            if urlsplit(origin).netloc != headers.get("host"):
                raise RestError(
                    403,
                    "A web page of another origin may not change anything here. "
                    "web.access-control-allow-origin names those that may.",
                )
        elif origin is None and headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise RestError(403, "A link on a web page of another origin may not change anything here.")

    def _check_length(self, length: str, limit: int) -> None:
        if length.isdecimal() and int(length) > limit:
            raise too_large(limit)


def _challenge(challenge: str, headers: Mapping[str, str]) -> str:
    """A browser that reads of passwords asks for one in a window of its own, even for a script of a page,
    which has a better way to ask."""
    of_script = headers.get("sec-fetch-dest") == "empty"
    return 'Session realm="firesteel"' if of_script else challenge


def too_large(limit: int) -> RestError:
    return RestError(
        413,
        f"The body has more than {limit} bytes (rest.server.max-content-length; "
        "of a file: web.upload.max-size).",
        {"connection": "close"},
    )


def _host_of(header: str) -> str:
    """``localhost`` of ``localhost:8081``, ``::1`` of ``[::1]:8081``."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower()
