"""A virtual environment for each peer, so that no peer's dependencies touch ours or another's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent / ".envs"
OURS = "firesteel"
EARLIER = "firesteel-earlier"  #: our interpreter with the source of an earlier commit
#: Where instructions are counted: Valgrind takes some forty times as long as a program does.
RECORDS_COUNTED = 30_000
REQUIREMENTS = {
    "pyflink": ("apache-flink==2.3.0",),
    "bytewax": ("bytewax[kafka]==0.21.1",),
    "quix": ("quixstreams==3.28.1",),
    # transformWithState in Python needs protobuf and grpcio
    "pyspark": ("pyspark==4.3.*", "pandas<3", "pyarrow>=18", "protobuf", "grpcio"),
}


class Environments:
    """``python(name)`` makes an environment on its first use. ``given`` names some that exist elsewhere;
    ``earlier`` is a commit of ours that takes the place of the peers; ``counting``: by instructions."""

    def __init__(self, given: dict[str, Path], earlier: str = "", *, counting: bool = False) -> None:
        unknown = given.keys() - REQUIREMENTS.keys() - {OURS}
        if unknown:
            raise SystemExit(f"no such environment: {', '.join(sorted(unknown))}")
        self._given = given
        self.earlier = earlier
        self.counting = counting
        self._earlier_source = _source_of(earlier) if earlier else None

    def share_of(self, records: int) -> int:
        """How many of the records do: both commits of ours are quick, so nobody waits for the slower one."""
        if self.counting:
            return RECORDS_COUNTED
        return records // 4 if self.earlier else records

    def python(self, name: str) -> Path:
        if name in self._given:
            return self._given[name] / "bin" / "python"
        if name in (OURS, EARLIER):
            return Path(sys.executable)
        home = ROOT / name
        stamp = home / ".requirements"
        wanted = "\n".join(REQUIREMENTS[name])
        if not stamp.exists() or stamp.read_text() != wanted:
            print(f"installing {wanted.replace(chr(10), ' ')} into {home} ...", file=sys.stderr, flush=True)
            # The peers have wheels for Python 3.11; not all of them have any for later versions.
            subprocess.run(
                [shutil.which("python3.11") or sys.executable, "-m", "venv", "--clear", home], check=True
            )
            pip = [home / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, *REQUIREMENTS[name]], check=True)
            stamp.write_text(wanted)
        return home / "bin" / "python"

    def jars(self, *artifacts: str) -> tuple[Path, ...]:
        """Jars of Maven's central repository, by group, artifact and version."""
        home = ROOT / "jars"
        found = []
        for artifact in artifacts:
            _, name, version = artifact.split(":")
            jar = home / f"{name}-{version}.jar"
            if not jar.exists():
                command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}"]
                subprocess.run([*command, f"-DoutputDirectory={home}"], check=True)
            found.append(jar)
        return tuple(found)

    def variables(self, name: str) -> dict[str, str]:
        """The environment variables of a program: its own ``bin`` first, and nothing of our Python's."""
        kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
        if name == EARLIER:
            kept["PYTHONPATH"] = str(self._earlier_source)
        return kept | {"PATH": f"{self.python(name).parent}{os.pathsep}{kept.get('PATH', '')}"}


def _source_of(commit: str) -> Path:
    """The source of a commit, in a directory of its own; its dependencies are those that are installed."""
    root = Path(__file__).parents[1]
    found = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"],
        cwd=root,
        capture_output=True,
        text=True,
    )
    if found.returncode:
        raise SystemExit(f"no such commit: {commit}")
    home = ROOT / f"firesteel-{found.stdout.strip()[:12]}"
    if not home.exists():
        fresh = home.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        archive = subprocess.run(
            ["git", "archive", found.stdout.strip(), "src"], cwd=root, capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", fresh], input=archive.stdout, check=True)
        fresh.rename(home)
    return home / "src"
