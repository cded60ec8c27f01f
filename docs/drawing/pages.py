"""The pages as data: their examples, what these print, and the pictures that go with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[1]
PICTURES = DOCS / "pictures"

_EXAMPLE = re.compile(r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?", re.DOTALL)
_FILE_NAME = re.compile(r"# (\w+)\.py\n")
_PICTURE = re.compile(r"!\[([^\]]+)\]\(pictures/(\w+)\.svg\)")


@dataclass(frozen=True, slots=True)
class Example:
    """A program of a page. The first line of its block is the name of its file, as a comment."""

    page: Path
    name: str
    code: str
    output: str | None  # the text block that follows; None: the page does not say what it prints


def examples(page: Path) -> list[Example]:
    found = []
    for block in _EXAMPLE.finditer(page.read_text(encoding="utf-8")):
        code, output = block.groups()
        name = _FILE_NAME.match(code)
        assert name is not None, f"{page.name}: an example without the name of its file: {code[:60]!r}"
        found.append(Example(page, name[1], code, output))
    return found


def links(page: Path) -> list[tuple[str, str]]:
    """The links to files of this repository: path and anchor, either may be empty."""
    found = re.findall(r"\]\(([^)#:\s]*)(?:#([\w-]+))?\)", page.read_text(encoding="utf-8"))
    return [(path, anchor) for path, anchor in found]


def anchors(page: Path) -> set[str]:
    """What a link to a heading of the page is written with."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def pages() -> list[Path]:
    return sorted(path for folder in (".", "sql", "coming-from") for path in (DOCS / folder).glob("*.md"))


def pictures() -> Iterator[tuple[Example, str]]:
    """Each picture that a page shows: the example that it is of, and its title."""
    for page in pages():
        of_page = {example.name: example for example in examples(page)}
        for title, name in _PICTURE.findall(page.read_text(encoding="utf-8")):
            assert name in of_page, f"{page.name}: the picture {name} has no example of its name"
            yield of_page[name], title
