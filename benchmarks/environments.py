"""A virtual environment for each peer, so that no peer's dependencies touch ours or another's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent / ".envs"
OURS = "firesteel"
REQUIREMENTS = {
    "pyflink": ("apache-flink==2.3.0",),
    "bytewax": ("bytewax[kafka]==0.21.1",),
    "quix": ("quixstreams==3.28.1",),
    # transformWithState in Python needs protobuf and grpcio
    "pyspark": ("pyspark==4.3.*", "pandas<3", "pyarrow>=18", "protobuf", "grpcio"),
}


class Environments:
    """``python(name)`` makes an environment on its first use. ``given`` names some that exist elsewhere."""

    def __init__(self, given: dict[str, Path]) -> None:
        unknown = given.keys() - REQUIREMENTS.keys() - {OURS}
        if unknown:
            raise SystemExit(f"no such environment: {', '.join(sorted(unknown))}")
        self._given = given

    def python(self, name: str) -> Path:
        if name in self._given:
            return self._given[name] / "bin" / "python"
        if name == OURS:
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
        return kept | {"PATH": f"{self.python(name).parent}{os.pathsep}{kept.get('PATH', '')}"}
