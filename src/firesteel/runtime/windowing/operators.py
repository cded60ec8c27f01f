"""Which operator serves a window: a fast one where it gives the exact results, else the one for all."""

from __future__ import annotations

from firesteel.program.operators import Window
from firesteel.runtime.operators import panes, sessions
from firesteel.runtime.operators.panes import PaneOperator
from firesteel.runtime.operators.sessions import SessionOperator
from firesteel.runtime.operators.windows import WindowedOperator, WindowOperator
from firesteel.runtime.program import OperatorProgram


def window_operator(program: OperatorProgram, spec: Window) -> WindowedOperator:
    if panes.serves(spec):
        return PaneOperator(program, spec)
    if sessions.serves(spec):
        return SessionOperator(program, spec)
    return WindowOperator(program, spec)
