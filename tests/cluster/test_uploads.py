"""Programs that come at the same time: each has a file of its own until it is a program."""

from __future__ import annotations

import asyncio
import io
import threading
import zipfile
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from firesteel.cluster import programs
from firesteel.cluster.programs import ProgramStore
from firesteel.rest.errors import RestError
from tests.waiting import patience


async def nobody(submission: Any) -> None:
    raise AssertionError("nothing is run")


def archive() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr("__main__.py", "print(1)\n" * 1000)
    return made.getvalue()


async def in_pieces(content: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(content), 7):
        yield content[at : at + 7]
        await asyncio.sleep(0)


def left_behind(directory: Path) -> list[str]:
    return [path.name for path in (directory / "programs" / "coming").iterdir()]


@pytest.mark.parametrize(("name", "content"), [("p.py", b"print(1)\n"), ("p.zip", archive())])
@pytest.mark.parametrize("count", [2, 20])
def test_the_same_program_several_times_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, count: int
) -> None:
    """All are looked at before any of them is kept. Broken by hand: files are known by their content while
    they come; then all but one fail."""
    together = threading.Barrier(count)
    check = programs._check

    def at_the_same_time(path: Path, of: str) -> None:
        together.wait(patience(20))
        check(path, of)

    monkeypatch.setattr(programs, "_check", at_the_same_time)
    store = ProgramStore(tmp_path, nobody, {})

    async def upload_all() -> list[str]:
        asyncio.get_running_loop().set_default_executor(pool)
        return await asyncio.gather(*(store.upload(name, in_pieces(content)) for _ in range(count)))

    with ThreadPoolExecutor(count) as pool:
        found = asyncio.run(upload_all())
    assert len(found) == count
    (program_id,) = set(found)
    assert [program.id for program in store.all()] == [program_id]
    assert (tmp_path / "programs" / program_id).read_bytes() == content
    assert left_behind(tmp_path) == []


def test_one_that_is_refused_takes_nothing_from_the_other(tmp_path: Path) -> None:
    store = ProgramStore(tmp_path, nobody, {})
    content = b"print(1)\n"

    async def both() -> list[Any]:
        good, same = store.upload("a.py", in_pieces(content)), store.upload("a.zip", in_pieces(content))
        return await asyncio.gather(good, same, return_exceptions=True)

    good, refused = asyncio.run(both())
    assert good.endswith("_a.py")
    assert isinstance(refused, RestError)
    assert [program.name for program in store.all()] == ["a.py"]
    assert left_behind(tmp_path) == []


def test_a_client_that_leaves_takes_nothing_from_the_other(tmp_path: Path) -> None:
    store = ProgramStore(tmp_path, nobody, {})

    async def leaves() -> AsyncIterator[bytes]:
        yield b"print(1)"
        await asyncio.sleep(0)
        raise RestError(400, "The client has gone.")

    async def both() -> list[Any]:
        good, gone = store.upload("a.py", in_pieces(b"print(1)")), store.upload("a.py", leaves())
        return await asyncio.gather(good, gone, return_exceptions=True)

    good, gone = asyncio.run(both())
    assert [program.id for program in store.all()] == [good]
    assert isinstance(gone, RestError)
    assert left_behind(tmp_path) == []
