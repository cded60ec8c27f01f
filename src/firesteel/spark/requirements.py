"""The packages that a program requires, installed once for each requirements file in a directory of its own.

The directory is named by the content of the file, by what is in the directory of downloaded packages, and by
this Python; a program that requires the same finds it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from firesteel.common.errors import ConfigurationError
from firesteel.spark.user_cache import cache_directory, mark_used, remove_unused
from firesteel.storage.held_directories import held_directory

_LINES_OF_AN_ERROR: Final = 12


def installed(requirements: str, downloaded: str | None = None) -> Path:
    """The directory that has the packages of a *requirements* file, installed if it is not there yet.

    :param downloaded: a directory of ``pip download``: packages come from there alone, without a network.
    :raises ConfigurationError: pip could not install them, with what it says.
    """
    cache = cache_directory() / "requirements"
    target = cache / _name(requirements, downloaded)
    if not target.is_dir():
        cache.mkdir(0o700, parents=True, exist_ok=True)
        remove_unused(cache, "*")
        with held_directory(cache, "building-") as building:
            packages = building / "packages"
            _install(requirements, downloaded, str(packages))
            with suppress(OSError):  # another program has put it there meanwhile
                packages.rename(target)
    mark_used(target)
    return target


def _name(requirements: str, downloaded: str | None) -> str:
    content = hashlib.blake2b(Path(requirements).read_bytes(), digest_size=16)
    content.update(repr((sys.version, sys.platform)).encode())
    if downloaded is not None:
        files = sorted((f.name, f.stat().st_size) for f in os.scandir(downloaded))
        content.update(repr(files).encode())
    return content.hexdigest()


def _install(requirements: str, downloaded: str | None, target: str) -> None:
    offline = [] if downloaded is None else ["--no-index", "--find-links", downloaded]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, "--target", target, "-r", requirements, *offline],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise ConfigurationError(
            f"The requirements of {requirements} cannot be installed.",
            detail="\n".join(done.stdout.strip().splitlines()[-_LINES_OF_AN_ERROR:]),
            hint="see what pip says; without a network give a directory of `pip download` as "
            "requirements_cached_dir",
        )
