"""Settings of the public surface that are taken and change nothing."""

from __future__ import annotations

from firesteel.common.logs import logger

log = logger(__name__)


def tell_no_effect(setting: str, why: str) -> None:
    """Log a warning that a call of the program's has no effect; *why* is the reason, without a full stop."""
    log.warning("%s has no effect: %s", setting, why)
