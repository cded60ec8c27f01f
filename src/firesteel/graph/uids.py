"""Stable operator ids: 128 bits as 32 hexadecimal digits, the same in every process and after every restart.

The ids are Flink's own (``StreamGraphHasherV2``): state that is stored under them can be matched by anybody
who knows the uid. An operator with a uid has the hash of it, so its id survives any change of the program.
One without gets an id from its place in the graph, so adding or removing an operator may change the ids of
others.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Final

from firesteel.common.errors import ProgramError
from firesteel.graph.chaining import is_chainable
from firesteel.graph.murmur3 import murmur3_128
from firesteel.graph.stream_graph import StreamGraph, StreamNode
from firesteel.graph.validate import located

#: What the uids begin with that the planner of table programs makes of the places in its plans.
PLANNED: Final = "table-"
_UID_HASH = re.compile(r"[0-9A-Fa-f]{32}")


def operator_id_of_uid(uid: str) -> str:
    """The id of every operator, in any job, that has this uid.

    >>> operator_id_of_uid("s1")
    '90155cf7d25cd7b8435ec43e305342bf'
    """
    return murmur3_128(uid.encode()).hex()


def operator_ids(graph: StreamGraph) -> dict[int, str]:
    """Node id -> operator id. A ``uid_hash`` is taken as it is; raises ProgramError when it is malformed or
    when two operators end up with the same id."""
    generated = _generated_hashes(graph)
    result: dict[int, str] = {}
    owners: dict[str, StreamNode] = {}
    for node in graph.nodes:
        operator_id = generated[node.id].hex() if node.uid_hash is None else _checked(node.uid_hash, node)
        other = owners.setdefault(operator_id, node)
        if other is not node:
            raise ProgramError(
                f"Two operators have the same id {operator_id}.",
                detail=f"{located(other.name, other.created_at)} and {located(node.name, node.created_at)}",
                hint="change the uid or the uid hash of one of them",
                operator=node.name,
                uid=node.uid,
            )
        result[node.id] = operator_id
    return result


def _generated_hashes(graph: StreamGraph) -> dict[int, bytes]:
    """Breadth first from the sources; a node waits until all its inputs have their hash (one with a uid does
    not wait). The number of hashes made before it is a node's place."""
    hashes: dict[int, bytes] = {}
    queue = deque(node.id for node in graph.sources)
    queued = set(queue)
    while queue:
        node = graph.node(queue.popleft())
        if node.uid is not None:
            hashes[node.id] = murmur3_128(node.uid.encode())
        elif all(edge.source in hashes for edge in graph.in_edges(node.id)):
            hashes[node.id] = _hash_of_place(node, graph, hashes)
        else:
            queued.discard(node.id)  # another input will queue it again
            continue
        for edge in graph.out_edges(node.id):
            if edge.target not in queued:
                queued.add(edge.target)
                queue.append(edge.target)
    return hashes


def _hash_of_place(node: StreamNode, graph: StreamGraph, hashes: dict[int, bytes]) -> bytes:
    place = len(hashes).to_bytes(4, "little")
    chained = sum(is_chainable(edge, graph) for edge in graph.out_edges(node.id))
    result = murmur3_128(place * (1 + chained))
    for edge in graph.in_edges(node.id):
        pairs = zip(result, hashes[edge.source], strict=True)
        result = bytes((mine * 37 ^ theirs) & 0xFF for mine, theirs in pairs)
    return result


def _checked(uid_hash: str, node: StreamNode) -> str:
    if not _UID_HASH.fullmatch(uid_hash):
        raise ProgramError(
            "A uid hash must be 32 hexadecimal digits.",
            detail=f"it is {uid_hash!r}",
            operator=node.name,
            uid=node.uid,
        )
    return uid_hash.lower()
