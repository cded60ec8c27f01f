"""The site of the documentation is built without a warning: links, anchors, navigation, reference."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import patience

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(target)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=patience(250), env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def test_every_page_is_there(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        place = page.relative_to(ROOT / "docs").with_suffix("")
        folder = place.parent if place.name == "index" else place
        assert (site / folder / "index.html").is_file(), page


def test_the_reference_has_signatures_and_docstrings(site: Path) -> None:
    page = (site / "reference" / "datastream" / "index.html").read_text(encoding="utf-8")
    assert 'id="firesteel.datastream.DataStream.key_by"' in page
    assert 'id="firesteel.datastream.StreamExecutionEnvironment"' in page


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for start in ('src="http', 'rel="stylesheet" href="http', 'href="https://fonts'):
            assert start not in text, page
