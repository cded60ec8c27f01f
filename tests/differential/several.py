"""Runs programs of ``programs/`` one after the other in this process: ``several.py NAME ...``."""

import runpy
import sys
from pathlib import Path

programs = Path(__file__).with_name("programs")
sys.path.insert(0, str(programs))  # what they share
for name in sys.argv[1:]:
    print(f"== {name}", flush=True)
    runpy.run_path(str(programs / f"{name}.py"), run_name="__main__")
