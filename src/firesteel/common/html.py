"""What notebooks show of objects: small pieces of HTML (``_repr_html_``).

Everything that comes from a program or its data is escaped here, and cut where it is long: a piece of HTML
has a bounded size whatever it shows. Pictures are images and not part of the page, so their styles do not
reach it, and no script in them would run.
"""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final
from urllib.parse import quote

from firesteel.common._shown import shown
from firesteel.common.errors import FiresteelError
from firesteel.common.masking import masked
from firesteel.common.types import Row

__all__ = [
    "MOST_ROWS",
    "WAIT_S",
    "drawn",
    "facts",
    "folded",
    "note",
    "picture",
    "piece",
    "preformatted",
    "records",
    "rows_note",
    "table",
]

MOST_ROWS: Final = 20
#: How long the rows of a job that has just been started are waited for.
WAIT_S: Final = 10.0
_MOST_COLUMNS: Final = 30
_LONGEST_CELL: Final = 200  # characters
_LONGEST_TEXT: Final = 10_000
_LARGEST_PICTURE: Final = 200_000
_NOT_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_MARGIN: Final = "margin:0 0 .4em 0"
_TABLE: Final = f"white-space:pre-wrap;{_MARGIN}"
_CELL: Final = "text-align:left"


def piece(title: str, *parts: str) -> str:
    """One object: its *title*, which is escaped, over *parts* that functions of this module made."""
    head = f'<div style="font-weight:600;{_MARGIN}">{_text(title)}</div>'
    return f'<div class="firesteel">{head}{"".join(parts)}</div>'


def facts(*found: tuple[str, Any]) -> str:
    """Names and values in two columns; a value of None is left out."""
    rows = [
        f'<tr><th style="{_CELL}">{_text(name)}</th><td style="{_CELL}">{_text(_masked(value))}</td></tr>'
        for name, value in found[:MOST_ROWS]
        if value is not None
    ]
    return f'<table style="{_TABLE}"><tbody>{"".join(rows)}</tbody></table>' if rows else ""


def table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The first rows, and of each the first columns. What is cut off is said by an ellipsis in its place."""
    kept = list(names[:_MOST_COLUMNS])
    wide = ["…"] if len(names) > len(kept) else []
    head = "".join(f'<th style="{_CELL}">{_text(name)}</th>' for name in [*kept, *wide])
    body = []
    for row, _ in zip(rows, range(MOST_ROWS), strict=False):
        cells = [*row[: len(kept)], *wide]
        body.append("<tr>" + "".join(f'<td style="{_CELL}">{_text(c)}</td>' for c in cells) + "</tr>")
    return f'<table style="{_TABLE}"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'


def records(values: Sequence[Any]) -> str:
    """Records of a stream: fields as columns where all have the same names of fields, else one column."""
    names = {_names(value) for value in values}
    if len(names) == 1:
        (common,) = names
        if common:
            return table(common, (_fields(value, common) for value in values))
    return table(["record"], ([shown(value)] for value in values))


def rows_note(count: int, ended: bool, failure: BaseException | None = None, *, of: str = "row") -> str:
    """What is said below *count* rows that have arrived, of which the first are shown.

    :param ended: there are no others. :param failure: what the job ended with.
    """
    number = f"{min(count, MOST_ROWS)} {of}{'' if count == 1 else 's'}"
    if failure is not None:
        return note(f"{number}; then the job failed: {failure}")
    if count > MOST_ROWS:
        return note(f"The first {number}; there are more.")
    if ended:
        return note(number if count else f"No {of} is left to be read.")
    return note(f"{number} so far: the job is running.")


def preformatted(text: str) -> str:
    """A text of several lines."""
    return f'<pre style="{_MARGIN};overflow-x:auto">{html.escape(_cut(text, _LONGEST_TEXT))}</pre>'


def folded(title: str, part: str) -> str:
    """A *part* that this module made, which opens with a click on its *title*."""
    return f"<details><summary>{_text(title)}</summary>{part}</details>"


def note(text: str) -> str:
    """A sentence beside the object."""
    return f'<div style="opacity:.7;white-space:pre-wrap;{_MARGIN}">{html.escape(_cut(text, 2_000))}</div>'


def picture(svg: str, about: str) -> str:
    """An SVG as an image. One that is very large is not shown, and what XML cannot hold is replaced.

    :param about: what it shows, for those who do not see it.
    """
    if len(svg) > _LARGEST_PICTURE:
        return note(f"{about}: the picture is too large to be shown here.")
    sound = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", svg)
    address = "data:image/svg+xml;charset=utf-8," + quote(sound, safe=" =:;,/()'-.!*")
    return f'<img alt="{_text(about)}" style="max-width:100%;{_MARGIN}" src="{address}">'


def drawn(draw: Callable[[], str]) -> str:
    """What *draw* gives, or a note of why it cannot: showing an object raises nothing."""
    try:
        return draw()
    except FiresteelError as error:
        return note(f"There is no picture: {error}")


def _text(value: Any) -> str:
    """One value, escaped; texts as they are, others by their ``repr``."""
    return html.escape(_cut(value if isinstance(value, str) else shown(value), _LONGEST_CELL))


def _masked(value: Any) -> str:
    """What is said of an object may hold the secrets of its connectors; records are shown as they are."""
    return masked(_cut(value if isinstance(value, str) else shown(value), _LONGEST_TEXT))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _names(value: Any) -> tuple[str, ...]:
    """The names of the fields of a record; none: it has no names."""
    if isinstance(value, Row):
        return tuple(getattr(value, "_fields", None) or ())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return tuple(field.name for field in dataclasses.fields(value))
    return tuple(getattr(value, "_fields", ())) if isinstance(value, tuple) else ()


def _fields(value: Any, names: Sequence[str]) -> list[Any]:
    if isinstance(value, Row | tuple):
        return list(value)
    return [getattr(value, name, None) for name in names]
