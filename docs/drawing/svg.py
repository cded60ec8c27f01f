"""Shapes, colours and type of all pictures."""

from __future__ import annotations

from xml.sax.saxutils import escape

WIDTH = 760
MARGIN = 28

_LIGHT = {
    "card": "fill:#ffffff;stroke:#d8dee6",
    "ink": "fill:#1d2733",
    "quiet": "fill:#5d6977",
    "rule": "stroke:#e3e8ee",
    "axis": "stroke:#8a96a3",
    "mark": "fill:#6d45b8",
    "mark-line": "stroke:#6d45b8",
    "mark-text": "fill:#6d45b8",
    "late": "stroke:#c02b2b",
    "late-text": "fill:#b02525",
    "badge": "fill:#1d2733",
    "badge-text": "fill:#ffffff",
    "dot0": "fill:#2c6aa6", "dot1": "fill:#bd4f16", "dot2": "fill:#3b7d4f",
    "dot-text": "fill:#ffffff",
    "line0": "stroke:#2c6aa6", "line1": "stroke:#bd4f16", "line2": "stroke:#3b7d4f",
    "box0": "fill:#eaf2fa;stroke:#9dbfe0", "box1": "fill:#fcefe6;stroke:#e5b48f",
    "box2": "fill:#eaf5ed;stroke:#a3cdb0",
}  # fmt: skip
_DARK = {
    "card": "fill:#12171d;stroke:#2b343e",
    "ink": "fill:#e7ecf2",
    "quiet": "fill:#9aa7b4",
    "rule": "stroke:#27303a",
    "axis": "stroke:#6f7c8a",
    "mark": "fill:#b79bf2",
    "mark-line": "stroke:#b79bf2",
    "mark-text": "fill:#c3abf5",
    "late": "stroke:#ff7d74",
    "late-text": "fill:#ff948c",
    "badge": "fill:#e7ecf2",
    "badge-text": "fill:#12171d",
    "dot0": "fill:#78b4ea", "dot1": "fill:#f0975e", "dot2": "fill:#83cb98",
    "dot-text": "fill:#12171d",
    "line0": "stroke:#78b4ea", "line1": "stroke:#f0975e", "line2": "stroke:#83cb98",
    "box0": "fill:#18293a;stroke:#3f6a92", "box1": "fill:#33221a;stroke:#8f5a36",
    "box2": "fill:#1a2d21;stroke:#44785a",
}  # fmt: skip
_FONT = "font-family:ui-sans-serif,system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"


def _css(colours: dict[str, str]) -> str:
    return "".join(f".{name}{{{style}}}" for name, style in colours.items())


class Canvas:
    """Gathers shapes; ``render`` makes a picture of its own that needs nothing else."""

    def __init__(self) -> None:
        self._shapes: list[str] = []

    def add(self, shape: str) -> None:
        self._shapes.append(shape)

    def text(
        self, x: float, y: float, text: str, css: str = "ink", *, size: float = 12, anchor: str = "start",
        bold: bool = False,
    ) -> None:  # fmt: skip
        weight = ' font-weight="600"' if bold else ""
        place = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.add(
            f'<text class="{css}" x="{x:.1f}" y="{y:.1f}" font-size="{size}"{weight}{place}>'
            f"{escape(text)}</text>"
        )

    def heading(self, y: float, text: str) -> None:
        self.text(MARGIN, y, text, "quiet", size=12, bold=True)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, css: str, *, width: float = 1, dash: str = ""
    ) -> None:
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.add(
            f'<line class="{css}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke-width="{width}"{dashes}/>'
        )

    def path(self, points: str, css: str, *, width: float = 2) -> None:
        self.add(f'<path class="{css}" d="{points}" fill="none" stroke-width="{width}"/>')

    def box(
        self, x: float, y: float, width: float, height: float, css: str, *, radius: float = 6,
        dashed: bool = False,
    ) -> None:  # fmt: skip
        dashes = ' stroke-dasharray="4 3"' if dashed else ""
        self.add(
            f'<rect class="{css}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="{radius}"{dashes}/>'
        )

    def dot(self, x: float, y: float, label: str, colour: int, *, radius: float = 11) -> None:
        self.add(f'<circle class="dot{colour}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>')
        self._label(x, y, label, "dot-text", radius)

    def gap(self, x: float, y: float) -> None:
        """Hides a line behind what is drawn here next."""
        self.add(f'<circle class="card" cx="{x:.1f}" cy="{y:.1f}" r="14" style="stroke:none"/>')

    def hollow_dot(self, x: float, y: float, label: str, css: str, *, radius: float = 11) -> None:
        """An element that is left out: struck through behind its label, not only of another colour."""
        self.add(
            f'<circle class="{css}" cx="{x:.1f}" cy="{y:.1f}" r="{radius - 0.75}" fill="none" '
            'stroke-width="1.5"/>'
        )
        self._label(x, y, label, "late-text" if css == "late" else "quiet", radius)
        near, far = radius * 0.68 if label else 0, radius * 0.7 + 4
        for sign in (1, -1):
            self.line(x + sign * near, y - sign * near, x + sign * far, y - sign * far, css, width=1.5)

    def _label(self, x: float, y: float, label: str, css: str, radius: float) -> None:
        if not label:
            return
        size = radius * {1: 1.1, 2: 0.98}.get(len(label), 0.8)
        self.text(x, y + size * 0.36, label, css, size=round(size, 1), anchor="middle", bold=True)

    def badge(self, x: float, y: float, number: int) -> None:
        """The number of a firing, centred on a point."""
        self.box(x - 8.5, y - 8.5, 17, 17, "badge", radius=4)
        self.text(x, y + 4, str(number), "badge-text", size=11, anchor="middle", bold=True)

    def mark(self, x: float, y: float) -> None:
        """A watermark: a small triangle that points to a place on an axis above it."""
        self.add(f'<path class="mark" d="M{x:.1f} {y:.1f}l5 8h-10z"/>')

    def render(self, height: float, title: str, description: str) -> str:
        dark = f"@media (prefers-color-scheme:dark){{{_css(_DARK)}}}"
        shapes = "\n".join(self._shapes)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
            f'height="{height:.0f}" role="img" aria-labelledby="title desc">\n'
            f'<title id="title">{escape(title)}</title>\n<desc id="desc">{escape(description)}</desc>\n'
            f"<style>text{{{_FONT}}}{_css(_LIGHT)}{dark}.open{{fill:none}}.faint{{opacity:.45}}</style>\n"
            f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1:.0f}" rx="10"/>\n'
            f"{shapes}\n</svg>\n"
        )


def seconds(time_ms: int) -> str:
    """``4999`` -> ``4.999``, ``5000`` -> ``5``."""
    return f"{time_ms / 1000:g}"
