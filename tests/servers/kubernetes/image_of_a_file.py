"""An image with one executable, in the format of ``docker save``."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path


def archive_of(executable: Path, name: str, target: Path) -> Path:
    """Write an image whose only file, and whose command, is *executable*."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as files:
        _add(files, executable.name, executable.read_bytes(), 0o755)
    digest = hashlib.sha256(layer.getvalue()).hexdigest()
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": [f"/{executable.name}"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        }
    ).encode()
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    with tarfile.open(target, "w") as image:
        _add(image, "layer.tar", layer.getvalue())
        _add(image, "config.json", config)
        _add(image, "manifest.json", json.dumps(manifest).encode())
    return target


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
