"""Connectors of other packages are found by their entry points."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from firesteel.common import WatermarkStrategy
from firesteel.common.errors import ConfigurationError
from firesteel.connectors.plugins import installed_connectors, load_connector
from firesteel.testing import MiniCluster

MODULE = """
from firesteel.connectors.generated.sequence import SequenceSource

def dozen():
    return SequenceSource(1, 12)
"""


def install(site: Path, package: str, points: str, **modules: str) -> None:
    """As pip leaves a package behind."""
    info = site / f"{package.replace('-', '_')}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[firesteel.connectors]\n{points}\n")
    for name, code in modules.items():
        (site / f"{name}.py").write_text(code)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("plugged_"):
            del sys.modules[name]


@pytest.mark.row("S-CONN-17")
def test_a_connector_of_another_package_is_imported_like_our_own(site: Path) -> None:
    install(site, "firesteel-dozens", "dozens = plugged_dozens", plugged_dozens=MODULE)
    assert installed_connectors() == {"dozens": "firesteel-dozens 1.2"}

    from firesteel.datastream.connectors import dozens  # type: ignore[attr-defined]

    assert dozens is load_connector("dozens")
    with MiniCluster.in_process() as cluster:
        env = cluster.environment()
        stream = env.from_source(dozens.dozen(), WatermarkStrategy.no_watermarks(), "dozen")
        assert sorted(stream.execute_and_collect()) == list(range(1, 13))


@pytest.mark.row("S-CONN-17")
def test_what_is_not_installed(site: Path) -> None:
    install(site, "firesteel-dozens", "dozens = plugged_dozens", plugged_dozens=MODULE)
    with pytest.raises(ConfigurationError, match="no connector 'mqtt'") as refused:
        load_connector("mqtt")
    assert "dozens" in str(refused.value)
    with pytest.raises(ImportError, match="mqtt"):
        from firesteel.datastream.connectors import mqtt  # type: ignore[attr-defined]  # noqa: F401


def test_one_that_cannot_be_imported(site: Path) -> None:
    install(site, "firesteel-broken", "broken = plugged_broken", plugged_broken="import no_such_driver")
    with pytest.raises(ConfigurationError, match="cannot be loaded") as refused:
        load_connector("broken")
    assert "firesteel-broken 1.2: ModuleNotFoundError: No module named 'no_such_driver'" in str(refused.value)


def test_two_of_one_name(site: Path) -> None:
    install(site, "firesteel-one", "dozens = plugged_one", plugged_one=MODULE)
    install(site, "firesteel-two", "dozens = plugged_two", plugged_two=MODULE)
    with pytest.raises(ConfigurationError, match="Two packages") as refused:
        load_connector("dozens")
    assert "firesteel-one 1.2" in str(refused.value)
    assert "firesteel-two 1.2" in str(refused.value)
