"""Files that a browser may have: those of the dashboard, or those of Flink's dashboard in a jar.

What can be asked for is found out once, at the start. A path of a request is looked up in that list and never
reaches a file system, so there is nothing to climb out of.
"""

from __future__ import annotations

import gzip
import hashlib
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from firesteel.common.errors import ConfigurationError

OWN: Final = Path(__file__).parent / "web"
_IN_JAR: Final = "web/"
_LARGE: Final = 8 << 20  # a file above it is not kept in memory once it was read
_COMPRESSED: Final = frozenset((".js", ".css", ".html", ".json", ".svg", ".txt", ".map"))
_SMALL: Final = 1_000  # bytes that are not worth compressing
#: What is served, by the ending of its name. A file of another kind is not served: no browser guesses.
TYPES: Final[Mapping[str, str]] = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".txt": "text/plain; charset=utf-8",
    ".license": "text/plain; charset=utf-8",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    ".ttf": "font/ttf",
    ".eot": "application/vnd.ms-fontobject",
}


@dataclass(frozen=True, slots=True)
class WebFile:
    """:param etag: of its bytes; ``packed``: by gzip, None where that is not worth it."""

    kind: str
    etag: str
    body: bytes
    packed: bytes | None


class WebFiles:
    """The files of one dashboard, read when they are asked for first.

    :param readers: by path, without a slash at its beginning.
    :param policy: the header ``Content-Security-Policy`` of its pages.
    """

    def __init__(self, readers: Mapping[str, Callable[[], bytes]], policy: str) -> None:
        self._readers = readers
        self._known: dict[str, WebFile] = {}
        self.policy = policy

    def find(self, path: str) -> WebFile | None:
        """The file of a path; None: there is none. An empty path is the first page."""
        path = path or "index.html"
        found = self._known.get(path)
        if found is None and path in self._readers:
            found = _file(path, self._readers[path]())
            if len(found.body) <= _LARGE:
                self._known[path] = found
        return found


def _file(path: str, body: bytes) -> WebFile:
    ending = Path(path).suffix.lower()
    digest = hashlib.sha256(body).hexdigest()[:32]
    worth = ending in _COMPRESSED and len(body) > _SMALL
    return WebFile(TYPES[ending], f'"{digest}"', body, gzip.compress(body, 6, mtime=0) if worth else None)


#: Nothing from elsewhere, no script or style but our files.
_OWN_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: Flink's pages have styles in their markup and an event handler in the first page; the editor of its logs
#: makes workers. Nothing from elsewhere here, too.
_FLINK_POLICY: Final = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "base-uri 'self'; form-action 'none'; frame-ancestors 'none'"
)


def own_files(directory: Path = OWN) -> WebFiles:
    """The dashboard of this package."""
    found = {
        file.relative_to(directory).as_posix(): file.read_bytes
        for file in directory.rglob("*")
        if file.suffix.lower() in TYPES and file.is_file()
    }
    return WebFiles(found, _OWN_POLICY)


def flink_files(jar: Path) -> WebFiles:
    """Flink's dashboard, unchanged, out of a jar that has it: ``flink-dist`` or ``flink-runtime-web``.

    :raises ConfigurationError: the file is no jar, or has no dashboard.
    """
    hint = "name flink-dist-VERSION.jar of a Flink, or flink-runtime-web-VERSION.jar of Maven Central"
    try:
        with zipfile.ZipFile(jar) as opened:
            names = [name for name in opened.namelist() if name.startswith(_IN_JAR)]
    except (OSError, zipfile.BadZipFile) as e:
        raise ConfigurationError(f"{jar} cannot be read as a jar", detail=str(e), hint=hint) from e
    found: dict[str, Callable[[], bytes]] = {
        name.removeprefix(_IN_JAR): _Entry(jar, name)
        for name in names
        if Path(name).suffix.lower() in TYPES and not name.endswith("/")
    }
    if "index.html" not in found:
        raise ConfigurationError(f"{jar} has no dashboard of Flink", hint=hint)
    return WebFiles(found, _FLINK_POLICY)


@dataclass(frozen=True, slots=True)
class _Entry:
    jar: Path
    name: str

    def __call__(self) -> bytes:
        with zipfile.ZipFile(self.jar) as opened:
            return opened.read(self.name)
