"""An S3 server in a process of its own, on the loopback: moto, which speaks the protocol over HTTP and keeps
the objects in memory. The client is the real one of ``pyarrow.fs``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.places import free_port
from tests.waiting import patience

_PATIENCE_S = 60
_MISSING = "these tests need an S3 server: pip install 'moto[server]'"


@contextmanager
def running(directory: Path, module: str = "moto.server") -> Iterator[str]:
    """The address of a server while it runs; its log is in the directory."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", module, "-H", "127.0.0.1", "-p", str(port)]
    with (directory / "s3.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            _wait(process, address, directory / "s3.log")
            yield address
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    until = time.monotonic() + patience(_PATIENCE_S)
    while time.monotonic() < until:
        assert process.poll() is None, f"{_MISSING}\n{log.read_text()[-2000:]}"
        try:
            urllib.request.urlopen(f"{address}/moto-api/", timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(f"the S3 server does not answer\n{log.read_text()[-2000:]}")


def make_bucket(address: str, name: str) -> None:
    request = urllib.request.Request(f"{address}/{name}", method="PUT")
    request.add_header("Authorization", "AWS4-HMAC-SHA256 Credential=key/20200101/us-east-1/s3/aws4_request")
    urllib.request.urlopen(request, timeout=10).close()
