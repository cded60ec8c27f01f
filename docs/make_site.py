"""What makes a site of the documentation: pages from outside of ``docs/``, the reference, the navigation.

MkDocs calls these functions (``hooks`` in mkdocs.yml).
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[1]
#: Pages at the root of the repository, which links of the documentation lead to.
OUTSIDE: Final = {
    "README.md": "readme.md",  # a README would be the index of the site
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "CHANGELOG.md": "CHANGELOG.md",
}
SECTIONS: Final[dict[str, tuple[str, ...]]] = {
    "Begin": ("index", "installation", "tutorial", "notebooks"),
    "Coming from": (
        *("coming-from", "coming-from/pyflink", "coming-from/structured-streaming", "coming-from/bytewax"),
        *("coming-from/kafka-streams", "coming-from/quix-and-pathway"),
    ),
    "Concepts": ("concepts", "guarantees", "limits", "glossary"),
    "How to": ("how-to", "examples", "testing", "extending"),
    "Time and windows": ("event-time", "windows", "triggers", "evictors-and-lateness"),
    "Streams": ("joins", "cep", "async-io", "skew", "caching"),
    "State": ("state", "state-processor", "state-format"),
    "Connectors": (
        *("systems", "kafka", "files", "jdbc", "pulsar", "kinesis", "cassandra"),
        *("formats", "sinks", "connectors"),
    ),
    "Operation": (
        *("recovery", "real-time", "cluster", "deployment", "dashboard", "history-server"),
        *("metrics", "scaling", "rest", "security"),
        *("workers", "memory", "configuration"),
    ),
    "Tables and SQL": (
        *("sql/index", "sql/connectors", "sql/options", "sql/client", "sql/gateway", "sql/functions"),
    ),
}
#: Packages whose public names make the reference.
REFERENCE: Final = (
    *("common", "datastream", "datastream.functions", "datastream.state", "datastream.window"),
    *("datastream.connectors", "cep", "state_processor", "testing"),
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, target in OUTSIDE.items():
        files.append(File.generated(config, target, content=_from_root(name)))
    for package in REFERENCE:
        files.append(File.generated(config, f"reference/{package}.md", content=_reference(package)))
    config.nav = _navigation(files)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links to pages at the root of the repository lead to their copies; to other files of it, nowhere."""
    for name, target in OUTSIDE.items():
        up = "../" * page.file.src_uri.count("/")
        markdown = re.sub(rf"\]\((\.\./)+{re.escape(name)}", f"]({up}{target}", markdown)
    return markdown


def _from_root(name: str) -> str:
    """A page of the root with links that fit its new place."""
    text = (ROOT / name).read_text(encoding="utf-8")
    text = text.replace("](docs/", "](").replace("](README.md", "](readme.md")
    return re.sub(r"\]\(LICENSE\)", "](https://www.apache.org/licenses/LICENSE-2.0)", text)


def _reference(package: str) -> str:
    names = _public_names(package)
    about = "\n\n".join(f"::: firesteel.{package}.{name}" for name in names)
    return f"# firesteel.{package}\n\n{about}\n"


def _public_names(package: str) -> list[str]:
    base = ROOT / "src" / "firesteel" / package.replace(".", "/")
    file = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "__all__" for t in node.targets):
            return sorted(element.value for element in node.value.elts)  # type: ignore[attr-defined]
    raise ValueError(f"{file} has no __all__")


def _navigation(files: Files) -> list[dict[str, Any]]:
    pages = {file.src_uri.removesuffix(".md") for file in files.documentation_pages()}
    shown = {name for names in SECTIONS.values() for name in names}
    design = sorted(page for page in pages if page.startswith("design/") and page != "design/index")
    nav: list[dict[str, Any]] = [
        {title: [f"{name}.md" for name in names]} for title, names in SECTIONS.items()
    ]
    others = sorted(
        page
        for page in pages - shown
        if not page.startswith(("reference/", "design/")) and f"{page}.md" not in OUTSIDE.values()
    )
    nav.append({"Reference": [{f"firesteel.{name}": f"reference/{name}.md"} for name in REFERENCE]})
    nav.append({"Design": ["design/index.md", *(f"{page}.md" for page in design)]})
    if others:
        raise ValueError(f"docs/make_site.py: in which section are {', '.join(others)}?")
    nav.append({"Project": [*OUTSIDE.values()]})
    return nav
