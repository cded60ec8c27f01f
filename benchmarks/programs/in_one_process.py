"""Run a program that is written for PyFlink in this process, without Spark:

python in_one_process.py PROGRAM [ARGUMENT ...]
"""

import runpy
import sys

from firesteel.testing import MiniCluster

try:
    from firesteel.cli._scripts import become_pyflink
except ImportError:  # commits until 316d02d
    from firesteel.common.pyflink_alias import install
else:

    def install():
        become_pyflink(workers=False)


if __name__ == "__main__":
    install()
    sys.argv = sys.argv[1:]
    with MiniCluster.in_process(processes=1):
        runpy.run_path(sys.argv[0], run_name="__main__")
