"""Runs an example of PyFlink's wheel in this process, without Spark: ``example.py PATH``."""

from __future__ import annotations

import runpy
import sys

from firesteel.cli import pyflink_alias
from tests.runtime.support import local_platform

pyflink_alias.install()
with local_platform():
    runpy.run_path(sys.argv[1], run_name="__main__")
