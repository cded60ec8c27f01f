"""Text without the secrets in it: what is printed, logged and raised goes through here.

A key is secret by its name (Flink: ``GlobalConfiguration.SENSITIVE_KEYS``, and what addresses call theirs).
In any text the user part of an address is masked, and the value behind the name of a secret. So are, wherever
they stand, the secrets that this process knows: those of configurations, of connectors and of addresses.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

MASK: Final = "******"

_FLINKS: Final = (
    "password",
    "secret",
    "fs.azure.account.key",
    "apikey",
    "api-key",
    "auth-params",
    "service-key",
    "token",
    "basic-auth",
    "jaas.config",
    "http-headers",
)
_OF_ADDRESSES: Final = (
    "passwd",
    "pwd",
    "access_key",
    "access-key",
    "accesskey",
    "account_key",
    "accountkey",
    "api_key",
    "credential",
    "private_key",
    "private-key",
    "signature",
    "basic.auth.user.info",
)
_SECRET_NAME: Final = "|".join(map(re.escape, (*_FLINKS, *_OF_ADDRESSES)))
_PLACEHOLDER: Final = "user:password"  # of the hints that say how an address is written
_SECRET: Final = re.compile(_SECRET_NAME, re.IGNORECASE)
#: ``scheme://user:password@``; passwords have slashes and further ``@`` in them unescaped too.
_USER: Final = re.compile(
    r"""([A-Za-z][A-Za-z0-9+.\-]{0,30}://)([^\s/?#'"<>]+|[^\s/?#'"<>:@]*:(?!\d+/)[^\s?#'"<>@]{1,2000})@"""
)
#: ``name=value`` and ``'name': 'value'``. Of a name what makes it secret is looked for, and little beside it:
#: else a long text without spaces would take the square of its length.
_ASSIGNED: Final = re.compile(
    rf"""((?:{_SECRET_NAME})[\w.\-]{{0,100}}|\bsig)(['"]?\s*=\s*|['"]\s*:\s*)"""
    r"""("[^"]*"|'[^']*'|[^\s&;,'"()\[\]{}]+)""",
    re.IGNORECASE,
)


# Names of secrets themselves, and not of what is about them (``aws.credentials.provider``).
_LITERAL: Final = re.compile(
    r"passw(?:or)?d|pwd|secret|api[_-]?key|account[._]?key|access[_-]?key|private[_-]key|service-key|"
    r"token$|basic-auth$|auth-params|basic\.auth\.user\.info",
    re.IGNORECASE,
)
_LEAST_CHARACTERS: Final = 4  # shorter ones stand in every other word
_NO_SECRETS: Final = frozenset(("true", "false", "none", "null"))
_MOST_KNOWN: Final = 1_000

_known: dict[str, None] = {}  # in the order in which they were learned
_known_pattern: re.Pattern[str] | None = None
_learning = threading.Lock()


def remember(key: str, value: Any) -> None:
    """Mask the value of an option from now on wherever it stands, if it is secret by its name, and what is
    secret in it."""
    if not isinstance(value, str):
        return
    if _LITERAL.search(key):
        remember_secret(value)
    if "://" in value or "=" in value:
        remember_address(value)


def remember_address(address: str) -> None:
    """Mask the password and the keys in an address from now on wherever they stand."""
    for _, user in _USER.findall(address):
        name, colon, password = user.partition(":")
        if user != _PLACEHOLDER:
            _remember_forms(password if colon else name)
    for _, _, value in _ASSIGNED.findall(address):
        _remember_forms(value.strip("\"'"))


def _remember_forms(secret: str) -> None:
    """A secret as it stands in an address, and as what it is there for."""
    remember_secret(secret)
    remember_secret(unquote(secret))


def remember_secret(secret: str | None) -> None:
    """Mask this text from now on wherever it stands; one of some characters only is not remembered."""
    global _known_pattern
    if secret is None or len(secret) < _LEAST_CHARACTERS or secret.lower() in _NO_SECRETS:
        return
    if secret in _known or secret == MASK or _SECRET.fullmatch(secret):
        return  # who has "password" for a password may see it
    with _learning:
        for form in (secret, quote(secret, safe="")):
            _known[form] = None
        while len(_known) > _MOST_KNOWN:
            del _known[next(iter(_known))]
        longest_first = sorted(_known, key=len, reverse=True)
        _known_pattern = re.compile("|".join(map(_as_a_word, longest_first)))


def _as_a_word(secret: str) -> str:
    """A pattern that finds it neither in a longer word nor in a longer number."""
    before = r"(?:(?<!\w)|(?<=%[0-9A-Fa-f]{2}))" if re.match(r"\w", secret) else ""
    return f"{before}{re.escape(secret)}" + (r"(?!\w)" if re.match(r"\w", secret[-1]) else "")


def forget() -> None:
    """Know no secret any more: for tests, whose process goes on."""
    global _known_pattern
    with _learning:
        _known.clear()
        _known_pattern = None


#: ``Authorization: Basic dXNlcjpwYXNz``.
_AUTHORIZATION: Final = re.compile(
    r"""(authorization['"]?\s*[:=]\s*['"]?(?:basic|bearer)\s+)[^\s'",;)}\]]+""", re.IGNORECASE
)


def is_secret(key: str) -> bool:
    """Whether the value of an option of this name must not be shown."""
    return _SECRET.search(key) is not None


def masked_value(key: str, value: Any) -> Any:
    """The value of an option as it may be shown."""
    if is_secret(key):
        return MASK
    return masked(value) if isinstance(value, str) else value


def shown_settings(settings: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return settings as they may be shown, sorted by key."""
    return tuple((key, str(masked_value(key, settings[key]))) for key in sorted(settings))


def masked(text: str) -> str:
    """A text as it may be shown."""
    if _known_pattern is not None:
        text = _known_pattern.sub(MASK, text)
    if "://" in text:
        text = _USER.sub(_without_user, text)
    if "=" in text or ":" in text:
        text = _AUTHORIZATION.sub(rf"\1{MASK}", _ASSIGNED.sub(_without_value, text))
    return text


def _without_user(found: re.Match[str]) -> str:
    scheme, user = found.groups()
    return f"{scheme}{user if user == _PLACEHOLDER else MASK}@"


def _without_value(found: re.Match[str]) -> str:
    name, between, value = found.groups()
    quote = value[0] if value[0] in "\"'" else ""
    return f"{name}{between}{quote}{MASK}{quote}"
