"""Where in the user's program a call was made."""

from __future__ import annotations

import os
import sys
from typing import Final

import firesteel

_PACKAGE: Final = os.path.dirname(os.path.abspath(firesteel.__file__)) + os.sep


def call_site() -> str | None:
    """``"file.py:12"`` of the innermost caller that is not part of Firesteel; None when there is none."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
