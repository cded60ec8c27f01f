"""Runs programs one after the other in this process, each as if it were started alone: ``several.py FILE ...``.

A line ``== FILE`` comes before what each prints.
"""

import runpy
import sys
from pathlib import Path

for file in sys.argv[1:]:
    print(f"== {file}", flush=True)
    directory = str(Path(file).parent)  # what programs share is beside them
    sys.path.insert(0, directory)
    sys.argv = [file]
    runpy.run_path(file, run_name="__main__")
    sys.path.remove(directory)
