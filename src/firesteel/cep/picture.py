"""A pattern as a picture of its automaton: SVG that needs nothing else."""

from __future__ import annotations

from typing import Final, NamedTuple
from xml.sax.saxutils import escape

from firesteel.cep.compiler import compiled
from firesteel.cep.explain import condition_text, logic_text, reachable
from firesteel.cep.nfa import Action, Nfa, StateKind
from firesteel.cep.pattern import Pattern

__all__ = ["pictured"]

_WIDTH: Final = 118
_HEIGHT: Final = 40
_STEP: Final = 178
_MARGIN: Final = 30
_LINE: Final = 17

_STYLE: Final = (
    "text{font-family:ui-sans-serif,system-ui,sans-serif;font-size:12px;fill:#1d2733}svg{background:#fff}"
    ".state{fill:#eaf2fa;stroke:#2c6aa6}.stop{fill:#fbeaea;stroke:#c02b2b}.final{fill:#eaf5ed;stroke:#3b7d4f}"
    ".pending{fill:#f3ecfb;stroke:#6d45b8}.edge{fill:none;stroke:#5d6977;stroke-width:1.3}"
    ".ignore{stroke-dasharray:6 4}.proceed{stroke-dasharray:1.5 3.5}.quiet{fill:#5d6977;font-size:11px}"
    "@media (prefers-color-scheme:dark){text{fill:#e7ecf2}svg{background:#12171d}.state{fill:#18293a}"
    ".stop{fill:#3a1a1a}.final{fill:#1a2d21}.pending{fill:#2a2038}.quiet{fill:#9aa7b4}.edge{stroke:#9aa7b4}}"
)
_CLASSES: Final = {
    StateKind.STOP: "stop",
    StateKind.FINAL: "final",
    StateKind.PENDING: "pending",
}


class _Arrow(NamedTuple):
    action: Action
    source: int  # places in the row
    target: int
    label: str


def pictured(pattern: Pattern) -> str:
    nfa = compiled(pattern)
    order = reachable(nfa)
    arrows = _arrows(nfa, order)
    above = _MARGIN + 26 * max((a.target - a.source for a in arrows if a.target > a.source), default=1) + 24
    below = 26 * max((a.source - a.target for a in arrows if a.target < a.source), default=0) + 24
    shapes = [_state(nfa, number, place, above) for place, number in enumerate(order)]
    shapes += [_arrow(arrow, above) for arrow in arrows]
    legend, end = _legend(nfa, above + _HEIGHT + below + _MARGIN)
    width = max(2 * _MARGIN + _STEP * (len(order) - 1) + _WIDTH, 560)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {end}" width="{width}" '
        f'height="{end}" role="img"><title>The automaton of the pattern {escape(pattern.name)}</title>'
        f'<style>{_STYLE}</style><defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#5d6977"/></marker></defs>\n'
        + "\n".join([*shapes, *legend])
        + "\n</svg>\n"
    )


def _arrows(nfa: Nfa, order: list[int]) -> list[_Arrow]:
    """One for each pair of states and action; what they are used for is joined."""
    places = {number: place for place, number in enumerate(order)}
    joined: dict[tuple[Action, int, int], list[str]] = {}
    for number in order:
        if nfa.states[number].kind in (StateKind.STOP, StateKind.FINAL):
            continue
        for edge in nfa.states[number].edges:
            key = edge.action, places[number], places[edge.target]
            joined.setdefault(key, []).append("" if edge.condition is True else logic_text(edge.condition))
    return [_Arrow(*key, ", ".join(filter(None, labels))) for key, labels in joined.items()]


def _left(place: int) -> int:
    return _MARGIN + place * _STEP


def _state(nfa: Nfa, number: int, place: int, top: int) -> str:
    state = nfa.states[number]
    x, middle = _left(place), top + _HEIGHT / 2 + 4
    css = _CLASSES.get(state.kind, "state")
    name = "match" if state.kind is StateKind.FINAL else state.name
    box = f'<rect class="{css}" x="{x}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" rx="8"'
    shapes = [f"{box} stroke-width='{2.4 if state.kind is StateKind.START else 1.2}'/>"]
    shapes.append(f'<text x="{x + _WIDTH / 2}" y="{middle}" text-anchor="middle">{escape(name)}</text>')
    if state.window_ms is not None:
        shapes.append(f'<text class="quiet" x="{x}" y="{top - 4}">at most {state.window_ms} ms</text>')
    return "".join(shapes)


def _arrow(arrow: _Arrow, top: int) -> str:
    """Forwards above the row, backwards below it, loops on top of their state; a spread apart by action."""
    shift = {Action.TAKE: 0, Action.IGNORE: 16, Action.PROCEED: -16}[arrow.action]
    start, end = _left(arrow.source) + _WIDTH / 2, _left(arrow.target) + _WIDTH / 2
    if arrow.source == arrow.target:
        x, low = start + 1.6 * shift, top + _HEIGHT
        path = f"M{x - 9} {low}c-6 26 24 26 18 0"
        label = x + 14, low + 26.0
    else:
        forwards = arrow.target > arrow.source
        edge = top if forwards else top + _HEIGHT
        lift = (-1 if forwards else 1) * (26 * abs(arrow.target - arrow.source) + shift * 0.6)
        start, end = start + 22 + shift, end - 22 + shift
        path = f"M{start} {edge}C{start + 20} {edge + lift} {end - 20} {edge + lift} {end} {edge}"
        label = (start + end) / 2, edge + lift * 0.75 - 4
    text = (
        f'<text class="quiet" x="{label[0]}" y="{label[1]}" text-anchor="middle">{escape(arrow.label)}</text>'
    )
    return f'<path class="edge {arrow.action.value}" marker-end="url(#tip)" d="{path}"/>' + text


def _legend(nfa: Nfa, top: int) -> tuple[list[str], int]:
    shapes = []
    for number, action in enumerate(Action):
        x = _MARGIN + 150 * number
        shapes.append(f'<path class="edge {action.value}" d="M{x} {top}h36"/>')
        shapes.append(f'<text class="quiet" x="{x + 44}" y="{top + 4}">{action.value}</text>')
    for number, condition in enumerate(nfa.conditions):
        top += _LINE
        line = f"c{number}: {condition_text(condition)}"
        shapes.append(f'<text class="quiet" x="{_MARGIN}" y="{top + 6}">{escape(line)}</text>')
    return shapes, top + _MARGIN
