"""Settings that come from outside the program: a configuration file and the command line.

``firesteel run -D key=value`` puts its settings here before it runs the script; the file (or directory with a
``config.yaml``) that the environment variable ``FIRESTEEL_CONF`` names lies below them. What a program sets
itself wins over both.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from firesteel.common.configuration import Configuration
from firesteel.storage.bounded_calls import bound_calls_outside

CONF_VARIABLE: Final = "FIRESTEEL_CONF"

_settings: dict[str, str] = {}


def set_session_defaults(settings: Mapping[str, str]) -> None:
    """Put ``settings`` in the place of those of the command line."""
    _settings.clear()
    _settings.update(settings)
    bound_calls_outside(session_defaults)


def session_defaults() -> Configuration:
    """All settings from outside; those of the command line win over those of the file."""
    path = os.environ.get(CONF_VARIABLE)
    found = Configuration.load(path) if path else Configuration()
    return found.add_all(Configuration.from_dict(dict(_settings)).from_origin("the command line (-D)"))


bound_calls_outside(session_defaults)
