"""Finding a Java runtime that Spark 4.3 can use (17 or newer)."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

from firesteel.common.errors import EngineError

_MINIMUM: Final = 17
_USUAL: Final = (
    "/usr/lib/jvm/*",
    "/opt/java/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
)


def java_version(home: str) -> int | None:
    """The major version of the Java under ``home``, None when there is none that runs."""
    java = Path(home) / "bin" / "java"
    try:
        done = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(\d+)(?:\.(\d+))?', done.stderr + done.stdout)
    if found is None:
        return None
    major = int(found.group(1))
    return int(found.group(2) or 0) if major == 1 else major


def _stated_version(home: str) -> int | None:
    """What the ``release`` file of a Java says of it: starting a JVM to ask takes half a second."""
    try:
        release = (Path(home) / "release").read_text()
    except (OSError, UnicodeDecodeError):
        return None
    found = re.search(r'^JAVA_VERSION="(\d+)', release, re.MULTILINE)
    return int(found.group(1)) if found and os.access(Path(home) / "bin" / "java", os.X_OK) else None


@cache
def find_version(home: str) -> int:
    """The major version of the Java under ``home``, 0 when there is none."""
    return _stated_version(home) or java_version(home) or 0


@cache
def find_java() -> str:
    """JAVA_HOME for Spark: the one that is set, the ``java`` of the PATH, or one in the usual places."""
    candidates = [os.environ.get("JAVA_HOME")]
    on_path = shutil.which("java")
    if on_path:
        candidates.append(str(Path(os.path.realpath(on_path)).parent.parent))
    for pattern in _USUAL:
        candidates.extend(sorted(glob.glob(pattern), reverse=True))
    for home in candidates:
        if home and find_version(home) >= _MINIMUM:
            return home
    raise EngineError(
        f"No Java runtime of version {_MINIMUM} or newer was found",
        detail="looked at JAVA_HOME, at java in the PATH and in the usual folders",
        hint="install one, for example: apt-get install openjdk-17-jre-headless, or brew install openjdk@17",
    )
