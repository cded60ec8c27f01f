"""Reads ``config.yaml`` and ``flink-conf.yaml`` into flat options.

Configuration needs little of YAML: nested maps, lists, quoted and plain scalars, comments. That part is read
here, without a YAML library; whatever goes beyond it (anchors, tags, block scalars) is refused by line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from firesteel.common.errors import ConfigurationError, PathNotFoundError
from firesteel.common.text_files import text_of

_LEGACY_NAME = "flink-conf.yaml"
_FILE_NAMES = ("config.yaml", _LEGACY_NAME)


class _Line(NamedTuple):
    number: int
    indent: int
    text: str


def load(path: str | Path) -> dict[str, Any]:
    """The options of a file, or of the ``config.yaml`` (else ``flink-conf.yaml``) in a directory."""
    path = Path(path)
    if path.is_dir():
        for name in _FILE_NAMES:
            if (path / name).is_file():
                return load(path / name)
        raise PathNotFoundError(f"no {' or '.join(_FILE_NAMES)} in the directory {path}")
    if not path.is_file():
        raise PathNotFoundError(f"there is no configuration file {path}")
    text = text_of(path, "the configuration file")
    return parse_flat(text) if path.name == _LEGACY_NAME else parse(text, str(path))


def parse_flat(text: str) -> dict[str, Any]:
    """The older format: ``key: value`` in each line; of a key that is there twice the last one counts."""
    options: dict[str, Any] = {}
    for line in _lines(text):
        key, separator, value = line.text.partition(": ")
        if not separator or not value.strip():
            raise _error(line, "a line is 'key: value', with a space after the colon", _LEGACY_NAME)
        options[key.strip()] = _unquote(value.strip())
    return options


def parse(text: str, name: str = "config.yaml") -> dict[str, Any]:
    """YAML, nested or flat; keys of nested maps are joined by dots, scalars stay text, lists stay lists."""
    return _Parser(_lines(text), name).options()


def parse_list(text: str) -> list[Any]:
    """The items of a list that is written as lines ``- item``."""
    lines = _lines(text)
    options = _Parser([_Line(0, 0, "list:"), *lines], "a list").options()
    items: list[Any] = options["list"]
    return items


def _lines(text: str) -> list[_Line]:
    lines = []
    for number, raw in enumerate(text.splitlines(), 1):
        content = _without_comment(raw).rstrip()
        if content.strip() and content.strip() != "---":
            lines.append(_Line(number, len(content) - len(content.lstrip()), content.strip()))
    return lines


def _without_comment(raw: str) -> str:
    quote, i = "", 0
    while i < len(raw):
        char = raw[i]
        if quote:
            # '' inside single quotes and a backslash inside double ones stand for a character of the text
            if raw.startswith("''" if quote == "'" else "\\", i):
                i += 1
            elif char == quote:
                quote = ""
        elif char in "'\"" and (i == 0 or raw[i - 1] in " \t:[{,"):
            quote = char
        elif char == "#" and (i == 0 or raw[i - 1] in " \t"):
            return raw[:i]
        i += 1
    return raw


def _unquote(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1].replace('\\"', '"').replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")
    return text


def _error(line: _Line, what: str, name: str) -> ConfigurationError:
    return ConfigurationError(f"{name}, line {line.number}: {what}", detail=line.text)


class _Parser:
    def __init__(self, lines: list[_Line], name: str) -> None:
        self._lines = lines
        self._name = name
        self._at = 0
        self._options: dict[str, Any] = {}

    def options(self) -> dict[str, Any]:
        if self._lines:
            self._map("", self._lines[0].indent)
        if self._at < len(self._lines):
            raise self._wrong("this line is not indented like the ones around it")
        return self._options

    def _map(self, prefix: str, indent: int) -> None:
        while self._at < len(self._lines) and self._lines[self._at].indent == indent:
            key, value = self._key_and_value()
            self._at += 1
            if value:
                self._put(prefix + key, parse_scalar(value))
                continue
            below = self._lines[self._at] if self._at < len(self._lines) else None
            if below is not None and below.text.startswith("-") and below.indent >= indent:
                self._put(prefix + key, self._list(below.indent))
            elif below is not None and below.indent > indent:
                self._map(f"{prefix}{key}.", below.indent)
            else:
                self._at -= 1
                raise self._wrong("the key has no value")

    def _key_and_value(self) -> tuple[str, str]:
        text = self._lines[self._at].text
        if text.startswith("-"):
            raise self._wrong("a list belongs under a key")
        key, separator, value = text.partition(": ")
        if not separator:
            if not text.endswith(":"):
                raise self._wrong("a line is 'key: value', with a space after the colon")
            key, value = text[:-1], ""
        value = value.strip()
        if value[:1] in ("&", "*", "!", "|", ">"):
            raise self._wrong("anchors, tags and block scalars of YAML are not read here; quote the value")
        return _unquote(key.strip()), value

    def _list(self, indent: int) -> list[Any]:
        items: list[Any] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.indent != indent or not line.text.startswith("-"):
                break
            item = line.text[1:].strip()
            if not item or not line.text.startswith("- "):
                raise self._wrong("a list item is '- value'")
            items.append(parse_scalar(item))
            self._at += 1
        return items

    def _put(self, key: str, value: Any) -> None:
        if key in self._options:
            self._at -= 1
            raise self._wrong(f"the key {key!r} is there twice")
        self._options[key] = value

    def _wrong(self, what: str) -> ConfigurationError:
        return _error(self._lines[self._at], what, self._name)


def parse_scalar(text: str) -> Any:
    """Text, or a list or dict for ``[a, b]`` and ``{a: b}``."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [parse_scalar(part) for part in split_outside_quotes(text[1:-1], ",") if part.strip()]
    if text.startswith("{") and text.endswith("}"):
        pairs = [part.partition(":") for part in split_outside_quotes(text[1:-1], ",") if part.strip()]
        return {_unquote(key.strip()): parse_scalar(value) for key, _, value in pairs}
    return _unquote(text)


def split_outside_quotes(text: str, separator: str) -> list[str]:
    """Split where the separator is not inside quotes or brackets."""
    parts, start, quote, depth = [], 0, "", 0
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "[{":
            depth += 1
        elif char in "]}":
            depth -= 1
        elif char == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return parts
