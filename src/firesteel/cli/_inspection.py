"""Describes the contents of a checkpoint or savepoint as text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from firesteel.common._type_text import shown_type
from firesteel.common.key_groups import key_group_range
from firesteel.jobmanager.checkpoints.storage import read_manifest
from firesteel.state.canonical import catalog
from firesteel.state.files import StateFiles
from firesteel.state.manifest import Manifest, VertexEntry


def describe(path: str) -> str:
    """Return one line for each vertex, operator and state; raises what ``read_manifest`` raises."""
    manifest = read_manifest(path)
    return "\n".join([*_head(manifest), *(line for v in manifest.vertices for line in _vertex(v, manifest))])


def _head(manifest: Manifest) -> list[str]:
    taken = datetime.fromtimestamp(manifest.triggered_ms / 1000, UTC).isoformat(timespec="seconds")
    size = sum({(ref.path, ref.offset): ref.length for ref in manifest.runs}.values())
    return [
        f"{'savepoint' if manifest.savepoint else 'checkpoint'} {manifest.id} of job {manifest.job_id}"
        f" ({manifest.job_name})",
        f"taken {taken}, {size:,} bytes of state in {len(manifest.files)} files",
    ]


def _vertex(vertex: VertexEntry, manifest: Manifest) -> Iterator[str]:
    ranges = [
        key_group_range(vertex.max_parallelism, vertex.parallelism, i) for i in range(vertex.parallelism)
    ]
    groups = ", ".join(f"{r.start}-{r.stop - 1}" for r in ranges)
    yield f"vertex {vertex.name}: parallelism {vertex.parallelism}, key groups {groups}"
    files = StateFiles("/")
    states = {
        (entry.uid, entry.name): entry
        for line in vertex.lines
        if line.manifest_id
        for entry in catalog(line, files).values()
    }
    for operator in vertex.operators:
        uid = f", uid {operator.uid}" if operator.uid else ""
        yield f"  operator {operator.name}: id {operator.id}{uid}"
        if operator.id in manifest.sources:
            yield "    progress of a source"
        if operator.id in manifest.sinks:
            yield "    output of a sink"
        for (owner, _), entry in sorted(states.items()):
            if owner == operator.id:
                yield f"    {entry.described}"
                keyed_by = [shown_type(entry.key)] * bool(entry.key) + [entry.window] * bool(entry.window)
                if keyed_by:
                    yield f"      for each {' and '.join(keyed_by)}"
