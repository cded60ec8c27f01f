"""Ports as options name them."""

from __future__ import annotations

from firesteel.common.errors import ConfigurationError


def ports_of(text: str, key: str) -> tuple[int, ...]:
    """``8081``, ``50100,50101``, ``50100-50200`` and mixtures.

    :param key: the option that says so.
    :raises ConfigurationError: it is not like that.

    >>> ports_of("8081, 9000-9002", "rest.bind-port")
    (8081, 9000, 9001, 9002)
    """
    found: list[int] = []
    try:
        for part in text.split(","):
            first, dash, last = part.partition("-")
            found += range(int(first), int(last or first) + 1) if dash else [int(first)]
    except ValueError:
        found = []
    if not found or not all(0 <= port <= 65535 for port in found):
        raise ConfigurationError(
            f"{key} is not a port",
            detail=f"it is {text!r}",
            hint="write 8081, a list 50100,50101 or a range 50100-50200; 0 is any free port",
        )
    return tuple(dict.fromkeys(found))
