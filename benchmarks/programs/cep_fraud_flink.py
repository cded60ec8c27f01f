"""Compile and run ``CepFraud.java``: the pattern of ``cep_fraud.py`` on Flink's own CEP library, which is in
the wheel of PyFlink, without an API in Python. Needs a JDK, for ``javac``."""

import argparse
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pyflink


def tool(name):
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=f"{home}/bin") if home else None
    found = found or shutil.which(name)
    if found is None:
        raise SystemExit(f"{name} was not found: install a JDK (17 or newer), or set JAVA_HOME to one")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[100_000])
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--object-reuse", action="store_true")
    options = parser.parse_args()
    jars = Path(pyflink.__file__).parent / "lib" / "*"
    with tempfile.TemporaryDirectory() as classes:
        source = Path(__file__).with_name("CepFraud.java")
        subprocess.run([tool("javac"), "-cp", str(jars), "-d", classes, str(source)], check=True)
        arguments = [options.keys, str(options.object_reuse).lower(), *options.records]
        command = [tool("java"), "-cp", f"{jars}{os.pathsep}{classes}", "CepFraud", *map(str, arguments)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
