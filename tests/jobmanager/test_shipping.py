"""What travels with a program beside its functions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from firesteel.common.errors import FiresteelError
from firesteel.jobmanager import shipping
from firesteel.state.files import StateFiles
from tests.runtime.support import environment

SCRIPT = """
import sys
import xml.dom.minidom
import wsgiref.simple_server
from firesteel.jobmanager.shipping import parcel

def outer():
    return lambda text: xml.dom.minidom.parseString(text).documentElement.tagName

def other():
    import email.mime.text

open(sys.argv[1], "wb").write(parcel(outer()))
"""

READER = """
import sys
from firesteel.jobmanager.shipping import opened
for name in [n for n in sys.modules if n.startswith(("xml", "wsgiref"))]:
    del sys.modules[name]
print(opened(open(sys.argv[1], "rb").read())("<a/>"), "wsgiref.simple_server" in sys.modules)
"""


def test_submodules_that_the_script_has_imported_are_there_in_nested_functions(tmp_path: Path) -> None:
    script, parcel = tmp_path / "script.py", tmp_path / "parcel"
    script.write_text(SCRIPT)
    subprocess.run([sys.executable, script, parcel], check=True)
    done = subprocess.run([sys.executable, "-c", READER, parcel], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["a", "False"]


def test_what_is_not_a_script_has_no_imports(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("import a.b\n(not python\n")
    binary = tmp_path / "program.pyc"
    binary.write_bytes(b"\0\xff\0")
    for script in (None, str(broken), str(binary), str(tmp_path)):
        assert shipping._dotted_imports(script) == set()


@pytest.mark.row("S-CTRL-21")
def test_a_program_that_is_damaged_on_its_way_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    write = StateFiles.write_once

    def damaged(files: StateFiles, name: str, data: bytes) -> str:
        is_program = name.startswith("program-")
        return write(files, name, data[:-1] + bytes([data[-1] ^ 1]) if is_program else data)

    env = environment(1)
    env.from_collection([1]).map(lambda value: value).print()
    with monkeypatch.context() as patched:
        patched.setattr(StateFiles, "write_once", damaged)
        with pytest.raises(FiresteelError, match="checksum") as refused:
            env.execute()
    assert "program-" in str(refused.value)
    assert env.from_collection([1]).execute_and_collect().__next__() == 1
