"""Comparisons as a table, as JSON and as markdown."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from statistics import median

import psutil

from benchmarks.measure import Comparison

RESULTS = Path(__file__).parent / "results"
HEADER = ("case", "ours", "peer", "ours (median)", "peer (median)", "ratio", "target", "met")


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def row(result: Comparison) -> tuple[str, ...]:
    middle = [
        f"{number(median(v))} {result.unit}" if v else "-" for v in (result.ours_values, result.peer_values)
    ]
    target = f"{'>=' if result.at_least else '<='} {result.target:g}"
    met = "failed" if result.error else "yes" if result.met else "NO"
    return (result.case, result.ours, result.peer, *middle, number(result.ratio), target, met)


def table(results: list[Comparison]) -> str:
    rows = [HEADER, *map(row, results)]
    widths = [max(len(r[i]) for r in rows) for i in range(len(HEADER))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows)


def machine() -> dict[str, object]:
    return {
        "cpus": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
    }


def write(results: list[Comparison], started: datetime, rounds: int) -> list[Path]:
    """Write ``results/<date>.json`` and ``.md``; a second run of a day gets the time in its name as well."""
    RESULTS.mkdir(exist_ok=True)
    name = f"{started:%Y-%m-%d}"
    if (RESULTS / f"{name}.json").exists():
        name = f"{started:%Y-%m-%d-%H%M%S}"
    about = {"started": started.isoformat(timespec="seconds"), "rounds": rounds, "machine": machine()}
    comparisons = [asdict(r) | {"ratio": r.ratio, "met": r.met} for r in results]
    as_json = RESULTS / f"{name}.json"
    as_json.write_text(json.dumps(about | {"comparisons": comparisons}, indent=2) + "\n")

    lines = [
        f"# Benchmarks of {started:%Y-%m-%d %H:%M}",
        "",
        f"{rounds} rounds; {json.dumps(about['machine'])}",
        "",
    ]
    lines += ["| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER)]
    lines += ["| " + " | ".join(row(r)) + " |" for r in results]
    lines += ["", *(f"- {r.case} / {r.peer} failed: `{r.error}`" for r in results if r.error)]
    as_markdown = RESULTS / f"{name}.md"
    as_markdown.write_text("\n".join(lines).rstrip() + "\n")
    return [as_json, as_markdown]
