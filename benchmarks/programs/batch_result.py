"""What the programs of case s print of a count of words."""

import json
import zlib
from pathlib import Path


def result(folder, output, seconds):
    """What a program prints of a count of *folder* whose lines ``word count`` are below *output*.

    :raises SystemExit: they do not count each word of the folder.
    """
    about = json.loads((Path(folder) / "_about.json").read_text())
    distinct = counted = sum_of_lines = 0
    for file in Path(output).rglob("*"):
        if file.is_file() and not file.name.startswith((".", "_")):
            for line in file.read_bytes().splitlines():
                distinct += 1
                counted += int(line.rpartition(b" ")[2])
                sum_of_lines += zlib.crc32(line)  # the order of lines does not matter
    if counted != about["words"]:
        raise SystemExit(f"{counted} words were counted, not {about['words']}")
    rows = about["rows"]
    found = {"distinct": distinct, "sum": sum_of_lines}
    return {"records": rows, "seconds": seconds, "rate": rows / seconds} | found
