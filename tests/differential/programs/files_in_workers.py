"""Functions find archives in their working directory, required packages, and files of modules."""

# order: free

import pathlib
import sys
import tempfile
import zipfile

from timed import environment


def make_wheel(directory):
    info = "sample_of_workers-1.5.dist-info"
    with zipfile.ZipFile(directory / "sample_of_workers-1.5-py3-none-any.whl", "w") as wheel:
        wheel.writestr("sample_of_workers.py", "VERSION = '1.5'\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: sample_of_workers\nVersion: 1.5\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def read(value):
    import module_of_workers
    import sample_of_workers

    with open(f"data/words/{value}.txt") as file:
        words = file.read()
    with open(f"named.zip/words/{value}.txt") as file:
        assert file.read() == words
    return f"{words} {sample_of_workers.VERSION} {module_of_workers.NAME} {sys.stdin.read()!r}"


directory = pathlib.Path(tempfile.mkdtemp())
for name in ("a.zip", "named.zip"):
    with zipfile.ZipFile(directory / name, "w") as archive:
        archive.writestr("words/one.txt", "first")
        archive.writestr("words/two.txt", "second")
(directory / "module_of_workers.py").write_text("NAME = 'module'\n")
(directory / "requirements.txt").write_text("sample_of_workers==1.5\n")
downloaded = directory / "downloaded"
downloaded.mkdir()
make_wheel(downloaded)

env = environment(parallelism=1)
env.add_python_file(str(directory / "module_of_workers.py"))
env.add_python_archive(str(directory / "a.zip"), "data")
env.add_python_archive(str(directory / "named.zip"))
env.set_python_requirements(str(directory / "requirements.txt"), str(downloaded))
env.from_collection(["one", "two"]).map(read).print()
env.execute()
