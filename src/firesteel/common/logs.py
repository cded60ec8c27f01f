"""The loggers of Firesteel: what they are given is logged without the secrets in it."""

from __future__ import annotations

import logging
import sys
import traceback
from contextlib import suppress

from firesteel.common.masking import masked


def logger(name: str) -> logging.Logger:
    """The logger of a module, by its ``__name__``."""
    found = logging.getLogger(name)
    if _mask not in found.filters:
        found.addFilter(_mask)
    return found


def log_to_stderr() -> None:
    """Set up the log of a process of a cluster: a line for each event of at least INFO on standard error."""
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)-7s %(name)s - %(message)s"
    )
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it logs each closed connection as news


def _mask(record: logging.LogRecord) -> bool:
    """Mask a record that is about to be handled; one without a secret stays as it is."""
    with suppress(Exception):  # arguments that do not fit the text: the handler complains
        text = record.getMessage()
        shown = masked(text)
        if shown != text:
            record.msg, record.args = shown, ()
    if record.exc_info:
        text = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        shown = masked(text)
        if shown != text:
            record.exc_text, record.exc_info = shown, None
    return True
