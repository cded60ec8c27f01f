"""The files of a program: carried by its client, put in their places for its job."""

from __future__ import annotations

import hashlib
import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from firesteel.cluster.blobs import BlobStore
from firesteel.cluster.program_files import CODE, Carried, code_archive, named_files
from firesteel.cluster.store import JobRecord
from firesteel.cluster.workplace import Workplace, set_up
from firesteel.common.configuration import Configuration
from firesteel.common.errors import StateCorruptionError
from firesteel.rest.messages.submission import ShippedFile, Submission


def carried_to(place: Path, found: list[Carried], settings: dict[str, str]) -> Workplace:
    """As a client and the process of a job do it."""
    blobs = BlobStore(place / "blobs")
    files = []
    for each in found:
        file = each.file
        digest = blobs.put(each.content)
        files.append(ShippedFile(file.name, digest, file.kind, file.target, file.executable))
    submission = Submission(
        job_id="0" * 32, name="job", program="0" * 64, files=tuple(files), settings=settings
    )
    defaults = {
        "rest.port": "1",
        "spark.master": "local",
        "parallelism.default": "3",
        "pipeline.name": "of all",
    }
    return set_up(JobRecord(submission, 1, 0), blobs, place / "work", defaults)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    source = tmp_path / "source"
    (source / "package").mkdir(parents=True)
    (source / "package" / "__init__.py").write_text("word = 'package'\n")
    (source / "package" / "inside_of_it.py").write_text("word = 'inside'\n")
    (source / "single.py").write_text("word = 'single'\n")
    (source / "data").mkdir()
    (source / "data" / "words.txt").write_text("data")
    (source / "needs.txt").write_text("nothing\n")
    (source / "wheels").mkdir()
    (source / "wheels" / "nothing.whl").write_text("wheel")
    (source / "tool.sh").write_text("#!/bin/sh\n")
    return source


def test_what_settings_name_is_named_where_it_is_now(made: Path, tmp_path: Path) -> None:
    settings = {
        "python.files": f"{made}/package,file://{made}/single.py",
        "python.archives": f"{made}/data#words",
        "python.requirements": f"{made}/needs.txt#{made}/wheels",
        "pipeline.cached-files": f"name:tool,path:{made}/tool.sh,executable:true",
        "pipeline.name": "its own",
    }
    found = list(named_files(Configuration.from_dict(settings)))
    workplace = carried_to(tmp_path, found, settings)
    now = workplace.configuration.to_dict()
    archive, _, target = now["python.archives"].partition("#")
    assert (Path(archive).is_file(), target) == (True, "words")
    requirements, _, wheels = now["python.requirements"].partition("#")
    assert Path(requirements).read_text() == "nothing\n"
    assert (Path(wheels) / "nothing.whl").read_text() == "wheel"
    fields = dict(field.split(":", 1) for field in now["pipeline.cached-files"].split(","))
    assert (fields["name"], fields["executable"]) == ("tool", "true")
    assert Path(fields["path"]).read_text() == "#!/bin/sh\n"
    assert not any(str(made) in value for value in now.values())
    assert (now["pipeline.name"], now["parallelism.default"]) == ("its own", "3")
    assert "rest.port" not in now
    assert "spark.master" not in now
    assert [Path(path).exists() for path in workplace.modules] == [True] * 3


def test_modules_can_be_imported(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"python.files": f"{made}/package,{made}/single.py"}
    workplace = carried_to(tmp_path, list(named_files(Configuration.from_dict(settings))), settings)
    monkeypatch.setattr(sys, "path", [*workplace.modules, *sys.path])
    try:
        import inside_of_it  # type: ignore[import-not-found]
        import package  # type: ignore[import-not-found]
        import single  # type: ignore[import-not-found]

        assert (package.word, single.word, inside_of_it.word) == ("package", "single", "inside")
    finally:
        for name in ("package", "single", "inside_of_it"):
            sys.modules.pop(name, None)


def test_code_is_the_script_what_is_beside_it_and_what_it_has_imported(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "scripts" / "program.py"
    script.parent.mkdir()
    script.write_text("import package\n")
    (script.parent / "lazily.py").write_text("word = 'beside'\n")
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(script), raising=False)
    monkeypatch.setattr(sys, "path", [str(made), *sys.path])
    imported = set(sys.modules)
    try:
        import package

        assert package.word == "package"
        archive = code_archive()
    finally:
        monkeypatch.undo()
        for name in set(sys.modules) - imported:
            del sys.modules[name]
    assert archive is not None
    names = names_in(archive)
    assert names >= {"lazily.py", "package/__init__.py", "program.py"}
    assert not {name.partition("/")[0] for name in names} & {"firesteel", "json", "pytest", "pyarrow"}
    digest = hashlib.sha256(archive).hexdigest()
    workplace = carried_to(tmp_path, [Carried(ShippedFile(CODE, digest, "code"), archive)], {})
    (code,) = workplace.modules
    assert (Path(code) / "package" / "__init__.py").is_file()


def test_a_package_is_searched_once_however_many_of_its_modules_are_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[Path] = []
    search = Path.rglob

    def remember(place: Path, pattern: str) -> Iterator[Path]:
        searched.append(place)
        return search(place, pattern)

    monkeypatch.setattr(Path, "rglob", remember)
    assert code_archive()
    assert searched.count(Path(__file__).parents[1]) == 1, "this package"
    assert len(searched) == len(set(searched))


def names_in(content: bytes) -> set[str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return set(archive.namelist())


def test_a_damaged_file_is_seen_before_it_is_used(made: Path, tmp_path: Path) -> None:
    settings = {"python.files": f"{made}/single.py"}
    (found,) = named_files(Configuration.from_dict(settings))
    blobs = BlobStore(tmp_path / "blobs")
    digest = blobs.put(found.content)
    blobs.path(digest).write_bytes(b"word = 'evil'\n")
    file = ShippedFile(found.file.name, digest, "module")
    submission = Submission(job_id="0" * 32, name="job", program="0" * 64, files=(file,))
    with pytest.raises(StateCorruptionError):
        set_up(JobRecord(submission, 1, 0), blobs, tmp_path / "work", {})
