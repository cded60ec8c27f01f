"""The page that takes programs: hand one in, run it, remove it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from firesteel.common.errors import ProgramError
from firesteel.jobmanager.job_view import JobInfo
from firesteel.rest.cluster import ProgramRun, UploadedProgram
from firesteel.rest.local import LocalCluster
from firesteel.rest.server import RestServer
from firesteel.rest.settings import RestSettings
from tests.rest.dashboard.browser import NARROW, WIDE, opened
from tests.rest.dashboard.shop import Shop


class Takes:
    """A cluster that takes programs, and else is another one."""

    takes_programs = True

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster

    def __getattr__(self, name: str) -> object:
        return getattr(self._cluster, name)


class Kept:
    """Programs in memory; the only job that one of them starts is there already."""

    def __init__(self, job_id: str) -> None:
        self._job_id = job_id
        self.programs: dict[str, UploadedProgram] = {}
        self.runs: list[ProgramRun] = []

    def all(self) -> Sequence[UploadedProgram]:
        return list(self.programs.values())

    async def upload(self, name: str, parts: AsyncIterator[bytes]) -> str:
        content = b"".join([part async for part in parts])
        assert content == b"print('hello')\n"
        self.programs["1_" + name] = UploadedProgram("1_" + name, name, 1_700_000_000_000, ("__main__",))
        return "1_" + name

    def delete(self, program_id: str) -> None:
        del self.programs[program_id]

    async def plan(self, program_id: str, run: ProgramRun) -> JobInfo:
        raise AssertionError("nobody asks for a plan")

    async def run(self, program_id: str, run: ProgramRun) -> str:
        self.runs.append(run)
        if run.settings["parallelism.default"] == "7":
            raise ProgramError("The program has raised ValueError: no seven")
        return self._job_id


@pytest.fixture
def kept(jobs: Shop) -> Kept:
    return Kept(jobs.ids["orders"])


@pytest.fixture
def server(jobs: Shop, kept: Kept) -> Iterator[RestServer]:
    cluster = Takes(jobs.cluster)
    with RestServer(cluster, RestSettings(ports=(0,)), programs=kept) as found:  # type: ignore[arg-type]
        yield found


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_program_is_handed_in_and_run(
    browser: Browser, jobs: Shop, kept: Kept, server: RestServer, tmp_path: Path, width: int
) -> None:
    program = tmp_path / "hello <b>.py"
    program.write_text("print('hello')\n")
    with opened(browser, server.url, width) as watched:
        page = watched.page
        page.goto("/")
        page.get_by_role("link", name="Submit").click()
        expect(page.locator("main")).to_contain_text("No program is here yet")
        watched.fits()
        page.locator("input[type=file]").set_input_files(program)
        expect(page.locator("tbody")).to_contain_text("hello <b>.py")
        watched.fits()
        page.get_by_role("button", name="Run ...").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Arguments").fill("--rate 5 'a b'")
        dialog.get_by_label("Parallelism").fill("7")
        expect(dialog.locator("code")).to_contain_text("-d -p 7 'hello <b>.py' --rate 5 'a b'")
        dialog.get_by_role("button", name="Run", exact=True).click()
        expect(dialog.get_by_role("alert")).to_contain_text("no seven")
        assert watched.problems[0].startswith("500")
        watched.problems.clear()
        dialog.get_by_label("Parallelism").fill("2")
        dialog.get_by_role("button", name="Run", exact=True).click()
        expect(page.locator("h1")).to_have_text("orders")
        assert [run.settings["parallelism.default"] for run in kept.runs] == ["7", "2"]
        assert kept.runs[0].arguments == ("--rate", "5", "a b")
        page.get_by_role("link", name="Submit").click()
        page.on("dialog", lambda asked: asked.accept())
        page.get_by_role("button", name="Remove").click()
        expect(page.locator("main")).to_contain_text("No program is here yet")
        assert kept.programs == {}


def test_the_page_is_not_there_where_programs_are_not_taken(browser: Browser, jobs: Shop) -> None:
    with opened(browser, jobs.server.url) as watched:
        watched.page.goto("/#/submit")
        expect(watched.page.locator("main")).to_contain_text("Programs cannot be handed in here")
        expect(watched.page.get_by_role("link", name="Submit")).to_have_count(0)
