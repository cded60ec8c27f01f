"""The shell completion that docs/installation.md describes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

COMMAND = "from firesteel.cli import main; main(prog_name='firesteel')"


def completed(instruction: str, **words: str) -> str:
    variables = {**os.environ, "_FIRESTEEL_COMPLETE": instruction, **words}
    done = subprocess.run([sys.executable, "-c", COMMAND], env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("shell", "word"), [("zsh", "1"), ("fish", "do")])
def test_subcommands_are_completed(shell: str, word: str) -> None:
    assert "doctor" in completed(f"{shell}_complete", COMP_WORDS="firesteel do", COMP_CWORD=word)
    assert "firesteel" in completed(f"{shell}_source")


def test_bash_takes_the_script() -> None:
    script = completed("bash_source")
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    assert "plain,doctor" in completed("bash_complete", COMP_WORDS="firesteel do", COMP_CWORD="1")
