"""What travels with a program beside its functions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from firesteel.jobmanager import shipping

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
