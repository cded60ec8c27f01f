"""Splits bytes into lines as Java's ``BufferedReader.readLine`` does: at LF, CR LF and CR only.

``str.splitlines`` splits at eight more characters.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_ANY_END: Final = re.compile(rb"\r\n|\r|\n")
_ANY_END_TEXT: Final = re.compile(r"\r\n|\r|\n")


def end_of_lines(block: bytes, at_end: bool) -> int:
    """Return the length of the part of the block that is whole lines. A ``\r`` at the very end may be half of
    a ``\r\n``."""
    if at_end:
        return len(block)
    newline = block.rfind(b"\n") + 1
    return max(newline, block.rfind(b"\r", newline, len(block) - 1) + 1)


def end_of_line_at(block: bytes, index: int) -> int:
    """Return where the line that contains the byte at ``index`` ends, including its line end."""
    match = _ANY_END.search(block, index)
    return match.end() if match else len(block)


class Lines(NamedTuple):
    """Lines without their line ends. ``separator`` is None if the line ends differ."""

    texts: list[str]
    text: str
    separator: str | None
    block: bytes
    one_to_one: bool  # each byte is one character

    def offset_after(self, start_line: int, start_offset: int, count: int) -> int:
        """Return the offset in the block of the line ``count`` lines after line ``start_line``, which begins
        at ``start_offset``."""
        block, end_line = self.block, start_line + count
        if end_line >= len(self.texts):
            return len(block)
        if self.separator is None:
            end = start_offset
            for match, _ in zip(_ANY_END.finditer(block, start_offset), range(count), strict=False):
                end = match.end()
            return end
        width = len(self.separator)
        if self.one_to_one:
            return start_offset + sum(map(len, self.texts[start_line:end_line])) + width * count
        rest = block[start_offset:].split(self.separator.encode(), count)[-1]
        return len(block) - len(rest)


def split_lines(block: bytes, encoding: str) -> Lines:  # hot
    """Split a block that ends at the end of a line or of the file."""
    text = block.decode(encoding, "replace")
    separator: str | None = "\n"
    if b"\r" in block:
        pairs = block.count(b"\r\n")
        if pairs == block.count(b"\r") == block.count(b"\n"):
            separator = "\r\n"
        else:
            separator = None
    texts = text.split(separator) if separator is not None else _ANY_END_TEXT.split(text)
    if not texts[-1]:
        texts.pop()
    # A decoder never yields more characters than bytes: equal lengths mean one byte per character.
    return Lines(texts, text, separator, block, len(text) == len(block))
