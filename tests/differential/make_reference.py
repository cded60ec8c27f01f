"""Writes ``reference/*.txt``: what PyFlink itself prints for the programs of ``programs/``, and for the examples of its
wheel (``reference/examples/``).

    ENV_DIR/bin/python tests/differential/make_reference.py [NAME ...]

ENV_DIR is a virtual environment with ``apache-flink==2.3.0`` (never the one of this project); ``javac`` of a JDK that
Flink runs on must be on the PATH. Each program runs twice, on a mini cluster of its own: one that prints something
else the second time is no reference, and an error. A few seconds for each. A few programs share a process, whose JVM
takes a while to start; not all of them, because PyFlink never ends the threads of a job that is done.

Settings take out of a program what depends on the clock, and what depends on which operators PyFlink joins:

- A watermark after each record (``AfterEachRecord.java``): the built-in strategies emit by a timer, and PyFlink has no
  generators in Python.
- Bundles of one record: an operator in Python holds watermarks and timers back until its bundle ends.
- Operators in Python are not chained: in a chain a declared type is not applied to what passes on, and what a timer
  emits comes to the next function with the watermark that fired it and not, as else, with the one before.

The examples run without them, and so do the programs of ``by_the_clock/`` (``reference/by_the_clock/``), which take
care themselves that what they print is always the same.
"""

from __future__ import annotations

import logging
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.differential.comparison import (
    BY_THE_CLOCK,
    EXAMPLES,
    HERE,
    PROGRAMS,
    REFERENCE,
    SETTINGS,
    comparable,
    printed,
)

PROGRAMS_OF_A_PROCESS = 8
HERE_ONLY = "--in-this-process"
BUNDLES = {"python.fn-execution.bundle.size": "1"}


class Output:
    """What this process and its JVM write to standard output."""

    def __init__(self) -> None:
        self.terminal = os.fdopen(os.dup(1), "w")
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  open as long as this process
        os.dup2(self._file.fileno(), 1)  # before the JVM starts: it inherits it

    def take(self) -> str:
        """All that was written since the last call."""
        sys.stdout.flush()
        written = os.fstat(self._file.fileno()).st_size
        content = os.pread(self._file.fileno(), written, 0)
        os.ftruncate(self._file.fileno(), 0)
        os.lseek(self._file.fileno(), 0, os.SEEK_SET)
        return content.decode("utf-8")


def compile_strategy(target: str) -> None:
    """PyFlink puts HADOOP_CLASSPATH on the class path of its JVM."""
    import pyflink

    jars = ":".join(map(str, (Path(pyflink.__file__).parent / "lib").glob("*.jar")))
    subprocess.run(["javac", "-cp", jars, "-d", target, HERE / "AfterEachRecord.java"], check=True)
    os.environ["HADOOP_CLASSPATH"] = target


@contextmanager
def without_a_clock() -> Iterator[None]:
    from pyflink.common import Configuration, WatermarkStrategy
    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.java_gateway import get_gateway

    make_environment = StreamExecutionEnvironment.get_execution_environment
    strategies = {
        name: getattr(WatermarkStrategy, name)
        for name in ("for_bounded_out_of_orderness", "for_monotonous_timestamps")
    }

    def with_settings(configuration: Any = None) -> Any:
        configuration = configuration or Configuration()
        for key, value in (SETTINGS | BUNDLES).items():
            if not configuration.contains_key(key):
                configuration.set_string(key, value)
        return make_environment(configuration)

    def after_each_record(make: Any) -> Any:
        jvm = get_gateway().jvm
        return lambda *args: WatermarkStrategy(jvm.AfterEachRecord(make(*args)._j_watermark_strategy))

    StreamExecutionEnvironment.get_execution_environment = staticmethod(with_settings)
    for name, make in strategies.items():
        setattr(WatermarkStrategy, name, staticmethod(after_each_record(make)))
    try:
        yield
    finally:
        StreamExecutionEnvironment.get_execution_environment = staticmethod(make_environment)
        for name, make in strategies.items():
            setattr(WatermarkStrategy, name, staticmethod(make))


def run(program: Path, output: Output) -> str:
    arguments, sys.argv = sys.argv, [str(program)]
    output.take()
    try:
        runpy.run_path(str(program), run_name="__main__")
    finally:
        sys.argv = arguments
        logging.getLogger().handlers.clear()  # some examples log to standard output
    return output.take()


def causes(trace: str) -> str:
    """The lines of a long Java trace that say something."""
    return "\n".join(line for line in trace.splitlines() if not line.startswith("\t"))


class NoReferenceError(Exception):
    """What a program prints cannot be a reference."""


def lines_of(name: str, examples: Path, output: Output) -> list[str]:
    """What a program prints each time, as it is compared."""
    if name in EXAMPLES:
        program = examples / f"{name}.py"
        first, second = run(program, output), run(program, output)
        lines, again = sorted(printed(first)), sorted(printed(second))
    elif name in BY_THE_CLOCK:
        program = BY_THE_CLOCK[name]
        first, second = run(program, output), run(program, output)
        lines, again = comparable(program, first), comparable(program, second)
    else:
        program = PROGRAMS[name]
        with without_a_clock():
            first, second = run(program, output), run(program, output)
        lines, again = comparable(program, first), comparable(program, second)
    if lines != again:
        raise NoReferenceError(f"prints one thing and then another\n{first}\n{second}")
    if not lines:
        raise NoReferenceError("prints nothing")
    return lines


def directory_of(name: str) -> Path:
    """Where the reference is."""
    if name in EXAMPLES:
        return REFERENCE / "examples"
    return REFERENCE / "by_the_clock" if name in BY_THE_CLOCK else REFERENCE


def make_all(names: list[str]) -> int:
    """Write the references of programs, all in this process; how many could not be made."""
    import pyflink

    examples = Path(pyflink.__file__).parent / "examples" / "datastream"
    sys.path.insert(0, str(HERE / "programs"))  # what they share
    output = Output()
    failed = 0
    for name in names:
        try:
            lines = lines_of(name, examples, output)
        except Exception as e:
            failed += 1
            said = str(e) if isinstance(e, NoReferenceError) else f"failed\n{causes(traceback.format_exc())}"
        else:
            target = directory_of(name) / f"{name}.txt"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("".join(f"{line}\n" for line in lines), "utf-8")
            said = f"{len(lines)} lines"
        print(f"{name}: {said}", file=output.terminal, flush=True)
    return failed


def main(names: list[str]) -> int:
    unknown = set(names).difference(PROGRAMS, EXAMPLES, BY_THE_CLOCK)
    if unknown:
        sys.exit(f"no such programs: {', '.join(sorted(unknown))}")
    names = names or [*PROGRAMS, *BY_THE_CLOCK, *EXAMPLES]
    os.environ["PATH"] = (
        f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # Flink starts `python`
    )
    failed = 0
    with tempfile.TemporaryDirectory() as classes:
        compile_strategy(classes)
        for start in range(0, len(names), PROGRAMS_OF_A_PROCESS):
            group = names[start : start + PROGRAMS_OF_A_PROCESS]
            failed += subprocess.run([sys.executable, __file__, HERE_ONLY, *group]).returncode
    return failed


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(make_all(arguments[1:]) if arguments[:1] == [HERE_ONLY] else min(1, main(arguments)))
