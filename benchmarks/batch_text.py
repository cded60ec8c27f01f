"""Folders of text for a word count (case s)."""

from __future__ import annotations

import json
import random
import zlib
from itertools import accumulate
from pathlib import Path
from typing import Final

_FILES: Final = 16
_WORDS: Final = 50_000
_LINES: Final = 20_000  # different ones in a file
_WORDS_OF_A_LINE: Final = 14  # about 100 bytes
_ABOUT: Final = "_about.json"  # no reader of folders looks at names that begin like that


def make(folder: Path, size: int) -> None:
    """Write text of about so many bytes, always the same, unless it is there; the frequencies of words are
    those of a natural language (Zipf)."""
    about = folder / _ABOUT
    if about.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    words = [f"w{zlib.crc32(str(rank).encode()) % 10**6}x{rank}" for rank in range(_WORDS)]
    weights = list(accumulate(1 / (rank + 1) for rank in range(_WORDS)))
    different = min(_LINES, size // _FILES // 100 + 1)
    rows = 0
    for number in range(_FILES):
        chance = random.Random(number)
        lines = [
            " ".join(chance.choices(words, cum_weights=weights, k=_WORDS_OF_A_LINE)) for _ in range(different)
        ]
        wanted = round(size / _FILES / (sum(map(len, lines)) / different + 1))
        with open(folder / f"part-{number:02}.txt", "w") as file:
            for begin in range(0, wanted, _LINES):
                chosen = chance.choices(lines, k=min(_LINES, wanted - begin))
                file.write("\n".join(chosen) + "\n")
        rows += wanted
    about.write_text(json.dumps({"rows": rows, "words": rows * _WORDS_OF_A_LINE}))
