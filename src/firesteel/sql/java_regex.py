"""Regular expressions in Java's syntax, compiled for Python.

Most of it is the same. What ``re`` does not know (``\\p{..}``, sets in sets, ``&&``) goes to the package
``regex``, which has it; it is imported for such an expression only.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from firesteel.common.extras import extra

__all__ = ["compile_java", "for_arrow", "group_for_arrow", "is_valid"]

_ESCAPES: Final = {
    "z": r"\Z",
    "Z": r"(?=(?:\r\n|[\n\r\u0085\u2028\u2029])?\Z)",
    "h": r"[ \t\xA0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]",
    "H": r"[^ \t\xA0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]",
    "R": r"(?:\r\n|[\n\x0B\f\r\x85\u2028\u2029])",
    "e": r"\x1b",
    "V": r"[^\n\x0B\f\r\x85\u2028\u2029]",
    "v": r"[\n\x0B\f\r\x85\u2028\u2029]",
}
#: what these letters mean to Java; with properties the package ``regex`` is not held to ASCII
_ASCII: Final = {"d": "0-9", "w": "a-zA-Z0-9_", "s": r" \t\n\x0B\f\r"}
_POSIX: Final = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7F",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1F\x7F",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0B\f\r",
}


class _Translator:
    def __init__(self, text: str, extended: bool = False) -> None:
        self.text = text
        self.position = 0
        self.parts: list[str] = []
        self.depth = 0
        self.extended = extended

    def translated(self) -> str:
        while self.position < len(self.text):
            self._step()
        return "".join(self.parts)

    def _step(self) -> None:
        character = self.text[self.position]
        if character == "\\":
            self._escape()
        elif self.depth:
            self._in_set(character)
        elif (
            self.text.startswith("(?<", self.position)
            and self.text[self.position + 3 : self.position + 4] not in "=!"
        ):
            self._take("(?P<", 3)
        elif character == "$":
            # also before a line's end that is the last thing
            self._take(_ESCAPES["Z"], 1)
        else:
            if character == "[":
                self.depth = 1
                self._take(
                    "[^" if self.text.startswith("[^", self.position) else "[",
                    2 if self.text.startswith("[^", self.position) else 1,
                )
                return
            self._take(character, 1)

    def _in_set(self, character: str) -> None:
        if character == "[":
            self.extended = True
            self.depth += 1
        elif character == "]":
            self.depth -= 1
        elif self.text.startswith("&&", self.position):
            self.extended = True
            self._take("&&", 2)
            return
        self._take(character, 1)

    def _take(self, made: str, length: int) -> None:
        self.parts.append(made)
        self.position += length

    def _escape(self) -> None:
        following = self.text[self.position + 1 : self.position + 2]
        if following == "Q":
            end = self.text.find("\\E", self.position)
            end = len(self.text) if end < 0 else end
            self.parts.append(re.escape(self.text[self.position + 2 : end]))
            self.position = end + 2
        elif following in ("p", "P"):
            self._property(following)
        elif following in _ESCAPES and not self.depth:
            self._take(_ESCAPES[following], 2)
        elif self.extended and following in _ASCII:
            plain = _ASCII[following]
            self._take(plain if self.depth else f"[{plain}]", 2)
        elif self.extended and following in ("D", "W", "S") and not self.depth:
            self._take(f"[^{_ASCII[following.lower()]}]", 2)
        elif following == "k":
            self.parts.append("(?P=")
            end = self.text.find(">", self.position)
            self.parts.append(self.text[self.position + 3 : end] + ")")
            self.position = end + 1
        else:
            self._take("\\" + following, 2)

    def _property(self, kind: str) -> None:
        match = re.compile(r"\\[pP](?:\{(\w+)\}|(\w))").match(self.text, self.position)
        if match is None:
            raise re.error("Unknown character property", self.text, self.position)
        name = match[1] or match[2]
        plain = _POSIX.get(name)
        if plain is None:
            self.extended = True
            self.parts.append(f"\\{kind}{{{name.removeprefix('Is').removeprefix('java')}}}")
        elif self.depth and kind == "p":
            self.parts.append(plain)
        else:
            self.parts.append(f"[{'^' if kind == 'P' else ''}{plain}]")
        self.position = match.end()


@lru_cache(maxsize=1024)
def compile_java(text: str, flags: int = 0) -> Any:
    """Return a compiled expression with the methods of ``re.Pattern``.

    :raises re.error: it is none. :raises ConfigurationError: it needs a package that is not there.
    """
    translator = _Translator(text)
    made = translator.translated()
    if not translator.extended:
        return re.compile(made, re.ASCII | flags)
    regex = extra("regex", f"The regular expression {text!r}", "regex")
    try:
        extended = _Translator(text, extended=True).translated()
        return regex.compile(extended, regex.VERSION1 | flags)
    except regex.error as error:
        raise re.error(str(error), text) from error


def is_valid(text: str) -> bool:
    try:
        compile_java(text)
    except re.error:
        return False
    return True


#: what RE2 understands exactly as Java does
_COMMON: Final = re.compile(
    r"(?:[\w \-,:;/@#%&=!~<>\"'^.|()*+?]|\\[dwsDWS.\\/\-()\[\]{}+*?|^$]"
    r"|\[\^?(?:[\w \-,.:/&=?%#@!~;\"']|\\[dws])+\])*",
    re.ASCII,
)


@lru_cache(maxsize=1024)
def for_arrow(text: str) -> bool:
    """Whether Arrow's kernels (RE2) may match this expression: plain enough to mean the same there."""
    if _COMMON.fullmatch(text) is None or "(?" in text or re.search(r"[*+?]\+", text) or ".^" in text:
        return False
    return is_valid(text)


@lru_cache(maxsize=1024)
def group_for_arrow(text: str, index: int) -> str | None:
    """The expression with group *index* (0: all of it) named ``g`` and no other one; None: Arrow may not
    match it, or the group may take part in no match."""
    if not for_arrow(text) or "&&" in text:
        return None
    if index == 0:
        return f"(?P<g>{_one_group(text, 0)})"
    depth = count = 0
    inside = escaped = False
    opened = -1
    for i, character in enumerate(text):
        if escaped or character == "\\":
            escaped = not escaped
        elif inside:
            inside = character != "]"
        elif character == "[":
            inside = True
        elif character == "(":
            count += 1
            opened = i if count == index and depth == 0 else opened
            depth += 1
        elif character == ")":
            depth -= 1
            if depth == 0 and opened >= 0 and text[i + 1 : i + 2] in ("?", "*"):
                return None
            if depth == 0 and opened >= 0:
                break
        elif character == "|" and depth == 0:
            return None
    return _one_group(text, index) if opened >= 0 and "|" not in _outside(text) else None


def _outside(text: str) -> str:
    """The text without what is in parentheses."""
    while True:
        shorter = re.sub(r"\([^()]*\)", "", text)
        if shorter == text:
            return text
        text = shorter


def _one_group(text: str, index: int) -> str:
    count = 0
    made: list[str] = []
    inside = escaped = False
    for character in text:
        if character == "(" and not inside and not escaped:
            count += 1
            made.append("(?P<g>" if count == index else "(?:")
            continue
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif inside:
            inside = character != "]"
        elif character == "[":
            inside = True
        made.append(character)
    return "".join(made)
