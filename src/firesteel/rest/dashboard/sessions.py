"""Sessions of browsers: who has shown credentials once gets a cookie, which no script can read.

So no credentials are in an address, in the storage of a browser, or in each request of a page. The cookie is
sent by pages of this server alone (``SameSite=Strict``), and what a request may change is still asked of its
origin (``guard.py``).
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Final

from firesteel.rest.credentials import Role
from firesteel.rest.errors import RestError

COOKIE: Final = "firesteel_session"
_IDLE_S: Final = 12 * 3600.0  # after which nobody is behind it any more
_LONGEST_S: Final = 7 * 24 * 3600.0
_KEPT: Final = 1_000
_FAILURES: Final = 10  # that may happen in a minute: a password is not to be guessed
_MINUTE_S: Final = 60.0


@dataclass(slots=True)
class Session:
    """:param name: of the user, where the credentials have one."""

    role: Role
    name: str
    begun_s: float
    seen_s: float


class Sessions:
    """Belongs to the event loop. What is kept is a digest: who reads the memory cannot use it."""

    def __init__(self, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._monotonic_s = monotonic_s
        self._known: OrderedDict[bytes, Session] = OrderedDict()  # the one seen longest ago first
        self._failures: deque[float] = deque()

    def begin(self, role: Role, name: str) -> str:
        """A new session; what the cookie says."""
        token = secrets.token_urlsafe(32)
        now_s = self._monotonic_s()
        self._known[_digest(token)] = Session(role, name, now_s, now_s)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return token

    def of(self, cookies: str) -> Session | None:
        """The session that a header ``Cookie`` belongs to; None: there is none, or it has ended."""
        token = _token(cookies)
        if token is None:
            return None
        key, now_s = _digest(token), self._monotonic_s()
        found = self._known.get(key)
        if found is None:
            return None
        if now_s - found.seen_s > _IDLE_S or now_s - found.begun_s > _LONGEST_S:
            del self._known[key]
            return None
        found.seen_s = now_s
        self._known.move_to_end(key)
        return found

    def end(self, cookies: str) -> None:
        token = _token(cookies)
        if token is not None:
            self._known.pop(_digest(token), None)

    # ---- guesses

    def check_guesses(self) -> None:
        """Raises RestError when there were too many wrong ones in the last minute, whoever made them."""
        now_s = self._monotonic_s()
        while self._failures and now_s - self._failures[0] > _MINUTE_S:
            self._failures.popleft()
        if len(self._failures) >= _FAILURES:
            raise RestError(
                429, "Too many wrong credentials. Wait a minute.", {"retry-after": str(int(_MINUTE_S))}
            )

    def failed(self) -> None:
        self._failures.append(self._monotonic_s())


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()


def _token(cookies: str) -> str | None:
    if COOKIE not in cookies:
        return None
    try:
        found = SimpleCookie(cookies).get(COOKIE)
    except CookieError:
        return None
    return None if found is None else found.value
