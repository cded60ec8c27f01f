"""The queries of a dashboard, and whether a scrape of Prometheus has what they ask for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

import promql_parser

#: By name, the labels of each series and its value.
Scrape = Mapping[str, Sequence[tuple[dict[str, str], float]]]


def dashboard() -> dict[str, Any]:
    text = files("firesteel.monitoring.dashboards").joinpath("grafana.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def queries(of: Mapping[str, Any]) -> list[str]:
    """All of them: of panels, of variables, of annotations; any job is chosen."""
    found = [target["expr"] for panel in of["panels"] for target in panel.get("targets", ())]
    found += [note["expr"] for note in of["annotations"]["list"]]
    for variable in of["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["definition"]).groups()  # type: ignore[union-attr]
            found.append(f"count by ({label}) ({metric})")
    return [query.replace("$job", ".*") for query in found]


def _walk(expr: Any) -> Iterator[Any]:
    yield expr
    for name in ("lhs", "rhs", "expr", "vector_selector"):
        inner = getattr(expr, name, None)
        if inner is not None:
            yield from _walk(inner)
    for argument in getattr(expr, "args", None) or ():
        yield from _walk(argument)


def missing(query: str, scrape: Scrape) -> list[str]:
    """What a query asks for that a scrape does not have: series, or labels to group them by."""
    parsed = promql_parser.parse(query)
    nodes = list(_walk(parsed))
    selectors = [node for node in nodes if type(node).__name__ == "VectorSelector"]
    assert selectors, f"nothing is asked for by {query}"
    found = []
    for selector in selectors:
        series = [labels for labels, _ in scrape.get(selector.name, ()) if _fits(selector, labels)]
        if not series:
            found.append(f"{selector.name} of {query}")
            continue
        for node in nodes:
            modifier = getattr(node, "modifier", None)
            labels = getattr(modifier, "labels", None) if type(node).__name__ == "AggregateExpr" else None
            found += [f"label {x} of {query}" for x in labels or () if any(x not in one for one in series)]
    return found


def _fits(selector: Any, labels: Mapping[str, str]) -> bool:
    for matcher in selector.matchers.matchers:
        value = labels.get(matcher.name, "")
        if re.fullmatch(matcher.value, value) is None:  # an equality is a pattern without signs, here
            return False
    return True
