"""Savepoints that earlier releases wrote stay readable: those in ``tests/data``, with every kind of state."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from firesteel.jobmanager.checkpoints.storage import read_manifest
from firesteel.state.canonical import catalog
from firesteel.state.files import StateFiles
from tests.jobmanager.programs.kept import DATA, half_way, to_the_end

KEPT = sorted(path.name for path in DATA.glob("savepoint-*") if path.is_dir())


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("parallelism", [2, 3])
def test_a_job_goes_on_from_a_savepoint_of_an_earlier_release(
    tmp_path: Path, name: str, parallelism: int
) -> None:
    before = (DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    whole = Counter(to_the_end(tmp_path))
    after = to_the_end(tmp_path, str(DATA / name), parallelism)
    assert Counter(before) + Counter(after) == whole


def kinds(path: str) -> Counter[str]:
    manifest = read_manifest(path)
    files = StateFiles("/")
    entries = {
        (entry.uid, entry.name, entry.kind, entry.ttl)
        for line in (line for vertex in manifest.vertices for line in vertex.lines if line.manifest_id)
        for entry in catalog(line, files).values()
    }
    return Counter(f"{kind}{' with ttl' if ttl else ''}" for _, _, kind, ttl in entries)


@pytest.mark.parametrize("name", KEPT)
def test_it_has_every_kind_of_state(tmp_path: Path, name: str) -> None:
    """Else there would be a kind that no kept savepoint keeps readable."""
    path, _ = half_way(tmp_path)
    assert kinds(str(DATA / name)).keys() == kinds(path).keys()
    assert len(kinds(path)) >= 13
