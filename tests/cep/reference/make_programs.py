"""Writes ``programs.jsonl``: pattern programs and what Flink matches in them.

    python -m tests.cep.reference.make_programs PATH_OF_FLINKS_JARS

The jars are those of Flink 2.3 (``lib`` of the package ``apache-flink-libraries``, with ``flink-cep``);
``java`` and ``javac`` 17 are on the path. Left out are programs that Flink does not come back from (a
repeated group that can be empty) and those of which ``docs/cep.md`` says that they differ.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from firesteel.cep.compiler import compiled
from firesteel.cep.errors import MalformedPatternError
from firesteel.common.errors import UnsupportedFeatureError
from tests.cep.programs import pattern_of, program
from tests.waiting import patience

HERE = Path(__file__).parent
SEEDS = range(2000)
MATCHING, SILENT, REFUSED = 360, 40, 40  # how many programs of each sort are kept


def main(jars: str) -> None:
    chosen = {seed: program(seed) for seed in SEEDS}
    chosen = {seed: p for seed, p in chosen.items() if is_comparable(p["pattern"])}
    answers = of_flink(jars, list(chosen.values()))
    room = {"matching": MATCHING, "silent": SILENT, "refused": REFUSED}
    with (HERE / "programs.jsonl").open("w") as out:
        for (seed, made), answer in zip(chosen.items(), answers, strict=True):
            sort = "refused" if "refused" in answer else "matching" if answer["steps"] else "silent"
            if room[sort]:
                room[sort] -= 1
                out.write(json.dumps({"seed": seed, "program": made, "flink": answer}) + "\n")


def is_comparable(pattern: dict[str, Any]) -> bool:
    links = [stage["link"] for stage in pattern["stages"]]
    if links[-2:] == ["not_followed_by", "not_followed_by"]:
        return False
    try:
        compiled(pattern_of(pattern))
    except MalformedPatternError as error:
        return "cannot be repeated" not in error.message
    except UnsupportedFeatureError:
        pass
    return True


def of_flink(jars: str, programs: list[Any]) -> list[Any]:
    with tempfile.TemporaryDirectory() as classes:
        path = f"{jars}/*"
        subprocess.run(["javac", "-cp", path, "-d", classes, str(HERE / "CepReference.java")], check=True)
        done = subprocess.run(
            ["java", "-cp", f"{path}:{classes}", "CepReference"],
            input="\n".join(map(json.dumps, programs)),
            capture_output=True,
            check=True,
            text=True,
            timeout=patience(300),
        )
    return [json.loads(line) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    main(sys.argv[1])
