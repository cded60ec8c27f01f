"""Copies of slow tasks (``spark.speculation``): the slower one of two is killed when the other has succeeded,
and Spark does not wait for its end."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from firesteel.common.logs import logger
from firesteel.spark.jvm import FAILURES

log = logger(__name__)

_PAUSE_S: Final = 0.005
_PATIENCE_S: Final = 10.0
_ACTIVE: Final = "ACTIVE"


def makes_copies(context: Any) -> bool:
    """Whether Spark may run a task twice at once."""
    return str(context.getConf().get("spark.speculation", "false")).lower() == "true"


def wait_for_copies(context: Any, stages: Iterable[int | None]) -> None:
    """Wait until no task of these stages runs, and so each that was killed has lost its connection."""
    waiting = {stage for stage in stages if stage is not None}
    until_s = time.monotonic() + _PATIENCE_S
    # What the store knows comes by events in their order. That of a task that has begun may be on its way,
    # for long where other listeners are slow.
    with suppress(*FAILURES):
        context._jsc.sc().listenerBus().waitUntilEmpty()
    store = context._jsc.sc().statusStore()
    while waiting := {stage for stage in waiting if _runs(store, stage)}:
        if time.monotonic() > until_s:
            log.warning("copies of tasks do not end stages=%s after=%.0fs", sorted(waiting), _PATIENCE_S)
            return
        time.sleep(_PAUSE_S)


def _runs(store: Any, stage: int) -> bool:
    try:
        found = store.lastStageAttempt(stage)
    except FAILURES:  # it was long ago
        return False
    return bool(found.numActiveTasks()) or found.status().name() == _ACTIVE
