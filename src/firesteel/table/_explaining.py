"""EXPLAIN: the syntax tree, the physical plan, the execution plan."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from firesteel.program.transformations import Transformation
from firesteel.sql import logical as l, physical as p
from firesteel.sql.expression_text import infix_text
from firesteel.sql.logical_text import logical_text
from firesteel.sql.plan_text import describe, execution_texts, plan_text
from firesteel.sql.translate import Program, Translator
from firesteel.table.explain_detail import ExplainDetail

__all__ = ["explain"]


def explain(session: Any, nodes: Sequence[l.Node], details: Sequence[ExplainDetail] = ()) -> str:
    """As Flink explains a query or several sinks."""
    changelog = ExplainDetail.CHANGELOG_MODE in details
    plans = session.physical_of(nodes)
    parts = ["== Abstract Syntax Tree =="]
    parts += [logical_text(n) for n in nodes]
    parts += ["", "== Optimized Physical Plan =="]
    parts.append("\n\n".join(plan_text(plan, changelog) for plan in plans))
    parts += ["", "== Optimized Execution Plan =="]
    parts.append("\n\n".join(execution_texts(plans)))
    if ExplainDetail.JSON_EXECUTION_PLAN in details:
        parts += ["", "== Physical Execution Plan ==", execution_json(session, plans)]
    return "\n".join(parts) + "\n"


class _Aside:
    """Takes the operators of a plan, and leaves the program of the environment as it is."""

    def __init__(self, environment: Program) -> None:
        self._uids = dict(environment._uids)

    def _add(self, transformation: Transformation) -> None:
        """Nothing is run."""

    def _register_uid(self, uid: str, transformation: Transformation) -> None:
        self._uids[uid] = transformation


def execution_json(session: Any, plans: Sequence[p.Physical]) -> str:
    """The nodes of all plans with numbers, as Flink's execution plan, and with the uids that their operators
    have in the job: in its graph, in the REST API, and in savepoints."""
    translator = Translator(session.planning, _Aside(session.environment), plans)
    for plan in plans:
        translator.translate(plan)
    numbers: dict[int, int] = {}
    nodes: list[dict[str, Any]] = []

    def visit(node: p.Physical) -> int:
        if id(node) in numbers:
            return numbers[id(node)]
        before = [visit(i) for i in node.inputs]
        number = len(nodes) + 1
        numbers[id(node)] = number
        uid = translator.uid_of(node)
        nodes.append(
            {
                "id": number,
                **({} if uid is None else {"uid": uid}),
                "type": f"{node.name}[{number}]",
                "pact": "Data Source"
                if not before
                else "Data Sink"
                if isinstance(node, p.Sink)
                else "Operator",
                "contents": f"[{number}]:{describe(node, infix_text)}",
                "predecessors": [
                    {"id": b, "ship_strategy": _strategy(i), "side": "second"}
                    for b, i in zip(before, node.inputs, strict=True)
                ],
            }
        )
        return number

    for plan in plans:
        visit(plan)
    return json.dumps({"nodes": nodes}, indent=2)


def _strategy(node: p.Physical) -> str:
    return (
        "HASH"
        if isinstance(node, p.Exchange) and node.keys
        else "GLOBAL"
        if isinstance(node, p.Exchange)
        else "FORWARD"
    )
