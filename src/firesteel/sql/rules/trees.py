"""Walking and rebuilding plans. A node that is met twice (a common table) stays one node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from firesteel.sql.logical import Correlate, Join, Node, OneInput, ProcessTable, SetOperation

__all__ = ["over", "transform", "walk_plan", "with_inputs"]


def with_inputs(node: Node, inputs: Sequence[Node]) -> Node:
    """The node over other inputs; itself where they are the same."""
    if all(a is b for a, b in zip(node.inputs, inputs, strict=True)):
        return node
    match node:
        case Join():
            return replace(node, left=inputs[0], right=inputs[1])
        case Correlate():
            return replace(node, left=inputs[0])
        case SetOperation():
            return replace(node, operands=tuple(inputs))
        case ProcessTable():
            return replace(node, tables=tuple(inputs))
        case _:
            assert isinstance(node, OneInput)
            return replace(node, input=inputs[0])


def over(node: Node, visit: Callable[[Node], Node]) -> Node:
    """The node over what *visit* makes of its inputs; the plan to the right of a Correlate is one of them."""
    made = with_inputs(node, [visit(i) for i in node.inputs])
    if isinstance(made, Correlate):
        right = visit(made.right)
        made = made if right is made.right else replace(made, right=right)
    return made


def transform(plan: Node, change: Callable[[Node], Node]) -> Node:
    """Apply *change* to every node, inputs first."""
    done: dict[int, tuple[Node, Node]] = {}

    def visit(node: Node) -> Node:
        found = done.get(id(node))
        if found is not None:
            return found[1]
        made = change(over(node, visit))
        done[id(node)] = (node, made)
        return made

    return visit(plan)


def walk_plan(plan: Node) -> Iterator[Node]:
    """All nodes, each once."""
    seen: set[int] = set()
    stack = [plan]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        stack += node.inputs
        if isinstance(node, Correlate):
            stack.append(node.right)
