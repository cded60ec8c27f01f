"""A flame graph as a page of its own: one picture without scripts, that any browser shows."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final, NamedTuple
from zlib import crc32

from firesteel.rest.profiling import Node

_WIDTH: Final = 1200
_ROW: Final = 18
_LEAST: Final = 1.0  # a frame that is narrower is not drawn
_LETTER: Final = 7.0
_DEEPEST: Final = 400


class _Box(NamedTuple):
    node: Node
    depth: int
    x: float
    width: float


def flame_page(title: str, root: Node) -> str:
    """The page as HTML. The width of a frame is how often it was seen; what it called is below it."""
    boxes = list(_boxes(root))
    height = (1 + max(box.depth for box in boxes)) * _ROW
    drawn = "\n".join(_drawn(box, root.count) for box in boxes)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>
<style>body {{ font: 13px system-ui, sans-serif; margin: 16px }} text {{ font: 11px ui-monospace, monospace }}
svg {{ width: 100%; height: auto }} rect {{ stroke: #fff; stroke-width: .5 }}</style></head>
<body><h1>{escape(title)}</h1>
<p>{root.count} samples. The wider a frame, the more often it was seen; below it is what it called.
Point at a frame for its name.</p>
<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="Flame graph">
{drawn}
</svg></body></html>
"""


def _boxes(root: Node) -> Iterator[_Box]:
    pending = [_Box(root, 0, 0.0, float(_WIDTH))]
    while pending:
        box = pending.pop()
        yield box
        x = box.x
        if box.depth >= _DEEPEST:
            continue
        for child in sorted(box.node.children.values(), key=lambda node: -node.count):
            width = box.width * child.count / max(1, box.node.count)
            if width >= _LEAST:
                pending.append(_Box(child, box.depth + 1, x, width))
            x += width


def _drawn(box: _Box, samples: int) -> str:
    node, y = box.node, box.depth * _ROW
    name = escape(node.name)
    share = 100 * node.count / max(1, samples)
    letters = int(box.width / _LETTER) - 1
    text = escape(node.name if len(node.name) <= letters else node.name[: max(0, letters - 1)] + "…")
    label = f'<text x="{box.x + 3:.1f}" y="{y + 13}">{text}</text>' if letters >= 3 else ""
    colour = f"hsl({15 + crc32(node.name.encode()) % 40} 85% 65%)"
    place = f'x="{box.x:.1f}" y="{y}" width="{box.width:.1f}" height="{_ROW - 1}"'
    title = f"{name}: {node.count} samples, {share:.1f} %"
    return f'<g><title>{title}</title><rect {place} fill="{colour}"/>{label}</g>'
