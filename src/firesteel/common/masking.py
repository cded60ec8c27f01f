"""Text without the secrets in it: what is printed, logged and raised goes through here.

A key is secret by its name (Flink: ``GlobalConfiguration.SENSITIVE_KEYS``, and what addresses call theirs).
In any text the user part of an address is masked, and the value behind the name of a secret.
"""

from __future__ import annotations

import re
from typing import Any, Final

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
    r"""([A-Za-z][A-Za-z0-9+.\-]*://)([^\s/?#'"<>]+|[^\s/?#'"<>:@]*:(?!\d+/)[^\s?#'"<>@]+)@"""
)
#: ``name=value`` and ``'name': 'value'``.
_ASSIGNED: Final = re.compile(
    rf"""([\w.\-]*(?:{_SECRET_NAME})[\w.\-]*|\bsig)(['"]?\s*=\s*|['"]\s*:\s*)"""
    r"""("[^"]*"|'[^']*'|[^\s&;,'"()\[\]{}]+)""",
    re.IGNORECASE,
)


def is_secret(key: str) -> bool:
    """Whether the value of an option of this name must not be shown."""
    return _SECRET.search(key) is not None


def masked_value(key: str, value: Any) -> Any:
    """The value of an option as it may be shown."""
    if is_secret(key):
        return MASK
    return masked(value) if isinstance(value, str) else value


def masked(text: str) -> str:
    """A text as it may be shown."""
    if "://" in text:
        text = _USER.sub(_without_user, text)
    return _ASSIGNED.sub(_without_value, text) if "=" in text or ":" in text else text


def _without_user(found: re.Match[str]) -> str:
    scheme, user = found.groups()
    return f"{scheme}{user if user == _PLACEHOLDER else MASK}@"


def _without_value(found: re.Match[str]) -> str:
    name, between, value = found.groups()
    quote = value[0] if value[0] in "\"'" else ""
    return f"{name}{between}{quote}{MASK}{quote}"
