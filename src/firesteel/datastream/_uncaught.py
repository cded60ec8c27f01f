"""What Python prints of an exception that ends the program, without the secrets in it: libraries put
addresses and passwords into their errors, and Python shows those as the causes of ours."""

from __future__ import annotations

import sys
import traceback
from types import TracebackType

from firesteel.common.masking import masked


def mask_uncaught() -> None:
    """From now on mask what is printed of an exception that ends this process, unless the program has chosen
    what is printed."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _show


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    try:
        text = "".join(traceback.format_exception(kind, error, trace))
        shown = masked(text)
    except Exception:  # raised by what the exception has for text or notes
        sys.__excepthook__(kind, error, trace)
        return
    if shown == text or sys.stderr is None:
        sys.__excepthook__(kind, error, trace)
    else:
        sys.stderr.write(shown)
