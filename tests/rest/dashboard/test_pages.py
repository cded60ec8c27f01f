"""The pages in a real browser: each shows what it should, no error in the console, no failing request."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.rest.dashboard.browser import NARROW, WIDE, opened
from tests.rest.dashboard.shop import HOSTILE, Shop, behind, statements

#: What each page must show, by what comes behind # and the job.
JOB_PAGES = {
    "graph": "Vertices",
    "epochs": "poch",
    "timeline": "Events",
    "checkpoints": "How they are taken",
    "exceptions": "",
    "metrics": "Any metric of a vertex",
    "accumulators": "",
    "logs": "firesteel.log",
    "config": "How it runs",
}
CLUSTER_PAGES = {
    "jobs": "backfill of clicks",
    "workers": "Free slots",
    "driver/config": "state.backend.type",
    "driver/environment": "Packages",
    "driver/logs": "firesteel.log",
    "driver/metrics": "taskSlotsTotal",
    "driver/threads": "firesteel-rest",
    "driver/data": "None is kept",
}
EMPTY = {"exceptions": "Nothing has failed", "accumulators": "This job has no accumulators"}


def show(page: Page, route: str) -> None:
    page.goto(f"/#/{route}")
    expect(page.locator("#app")).to_have_count(1)


def until_loaded(page: Page) -> None:
    expect(page.locator("main h1")).to_have_count(1)
    expect(page.locator(".bones")).to_have_count(0)


@pytest.mark.row("S-REST-03")
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_pages_of_the_cluster(browser: Browser, jobs: Shop, width: int) -> None:
    with opened(browser, jobs.server.url, width) as watched:
        for route, text in CLUSTER_PAGES.items():
            show(watched.page, route)
            expect(watched.page.locator("main")).to_contain_text(text)
            until_loaded(watched.page)
            watched.fits()


@pytest.mark.parametrize(
    ("job", "width"),
    [
        ("orders", WIDE),
        ("orders", NARROW),
        ("failed", WIDE),
        ("failed", NARROW),
        ("restarting", WIDE),
        ("finished", WIDE),
        ("cancelled", WIDE),
    ],
)
def test_pages_of_a_job(browser: Browser, jobs: Shop, job: str, width: int) -> None:
    with opened(browser, jobs.server.url, width) as watched:
        for route, text in JOB_PAGES.items():
            show(watched.page, f"job/{jobs.ids[job]}/{route}")
            until_loaded(watched.page)
            current = watched.page.get_by_role("navigation", name="Pages of the job").locator(
                "[aria-current]"
            )
            expect(current).to_have_count(1)
            if text:
                expect(watched.page.locator("main")).to_contain_text(text)
            elif job == "finished":
                expect(watched.page.locator("main")).to_contain_text(EMPTY[route])
            watched.fits()


def test_a_job_says_how_it_is_doing(browser: Browser, jobs: Shop) -> None:
    with opened(browser, jobs.server.url) as watched:
        show(watched.page, f"job/{jobs.ids['orders']}")
        figures = watched.page.get_by_label("How the job is doing")
        expect(figures).to_contain_text("Freshness")
        expect(figures.locator(".figure").first.locator("dd")).to_have_text(
            re.compile(r"^\d+(\.\d)? (ms|s)$")
        )
        expect(watched.page.locator("button.vertex")).to_have_count(3)
        # It is live: the number of the epoch rises while somebody looks.
        epoch = figures.locator(".figure", has_text="Epoch").locator("dd")
        before = epoch.inner_text()
        expect(epoch).not_to_have_text(before)
        show(watched.page, f"job/{jobs.ids['behind']}")
        expect(watched.page.locator("h1 + .state")).to_have_text("Behind")
        expect(figures).to_contain_text("to catch up")


def test_the_graph_is_laid_out_by_levels(browser: Browser, jobs: Shop) -> None:
    with opened(browser, jobs.server.url) as watched:
        show(watched.page, f"job/{jobs.ids['orders']}")
        boxes = watched.page.locator("button.vertex")
        expect(boxes).to_have_count(3)
        found = [boxes.nth(n).bounding_box() for n in range(3)]
        source, *others = [box for box in found if box is not None]
        assert len(others) == 2
        first, second = sorted(others, key=lambda box: box["y"])
        assert source["x"] + source["width"] < first["x"]
        assert round(first["x"]) == round(second["x"]), "both are of level 1"
        assert first["y"] + first["height"] <= second["y"]


def test_a_vertex_shows_its_skew(browser: Browser, jobs: Shop) -> None:
    with opened(browser, jobs.server.url) as watched:
        page = watched.page
        show(page, f"job/{jobs.ids['orders']}")
        hot = page.get_by_role("button", name=re.compile("^revenue of customers"))
        expect(hot).to_contain_text("skew")
        hot.click()
        panel = page.get_by_role("region", name=re.compile("^Vertex revenue"))
        expect(panel.get_by_role("img")).to_have_attribute(
            "aria-label", re.compile("Records in of 4 subtasks")
        )
        expect(panel.locator("tbody tr")).to_have_count(4)
        panel.get_by_role("button", name="Operators").click()
        expect(panel).to_contain_text("alerts only")
        expect(panel.locator("code", has_text="revenue")).to_have_count(1)


@pytest.mark.row("S-FAIL-21")
def test_exceptions_show_the_users_code_first(browser: Browser, jobs: Shop) -> None:
    with opened(browser, jobs.server.url) as watched:
        page = watched.page
        show(page, f"job/{jobs.ids['failed']}/exceptions")
        expect(page.locator(".cause")).to_have_text("TypeError: 'NoneType' object is not iterable")
        frames = page.locator(".trace li")
        expect(frames.last).to_contain_text('return sum(order["items"])')
        assert frames.count() == 2, "the frames of the engine are hidden"
        expect(page.locator("main")).to_contain_text("In price, subtask 0 of 1")
        expect(page.locator(".tag", has_text="2 times")).to_have_count(1)
        page.get_by_role("button", name="All 5 frames").click()
        expect(page.locator(".trace pre")).to_contain_text("stateless.py")


@pytest.mark.parametrize(
    ("path", "is_own"),
    [
        ("/home/ann/firesteel/job.py", True),
        ("/home/ann/firesteel/tests/spark/job.py", True),
        ("C:\\work\\firesteel\\job.py", True),
        ("/venv/lib/python3.12/site-packages/orders/model.py", True),
        ("/home/ann/src/firesteel/runtime/task.py", False),
        ("/venv/lib/python3.12/site-packages/firesteel/runtime/task.py", False),
        ("/spark/python/lib/pyspark.zip/pyspark/worker.py", False),
        ("/spark/python/pyspark/worker.py", False),
        ("/usr/lib/python3.12/json/decoder.py", False),
        ("<frozen runpy>", False),
    ],
)
def test_whose_a_frame_is(browser: Browser, jobs: Shop, path: str, is_own: bool) -> None:
    """A directory of the user's may be called as the package is: that of a clone is."""
    with opened(browser, jobs.server.url) as watched:
        show(watched.page, "jobs")
        found = watched.page.evaluate(
            "async path => (await import('./app/pages/exceptions.js'))"
            '.split(`Traceback:\\n  File "${path}", line 3, in f\\n    g()\\nValueError: 1`).own.length',
            path,
        )
    assert found == is_own


def test_logs_are_followed_and_searched(browser: Browser, jobs: Shop) -> None:
    from firesteel.common.logs import logger

    with opened(browser, jobs.server.url) as watched:
        page = watched.page
        show(page, "driver/logs")
        log = page.get_by_role("log")
        expect(log).to_contain_text("job is restarted")
        logger("firesteel").warning("a line for those who follow")
        expect(log).to_contain_text("a line for those who follow")
        page.get_by_role("searchbox", name="Search lines").fill("those who follow")
        expect(log.locator(".l")).to_have_count(1)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_text_of_a_job_from_sql(browser: Browser, jobs: Shop, width: int) -> None:
    with jobs.job(statements) as job_id, opened(browser, jobs.server.url, width) as watched:
        show(watched.page, f"job/{job_id}")
        tabs = watched.page.get_by_role("navigation", name="Pages of the job")
        tabs.get_by_role("link", name="SQL").click()
        texts = watched.page.locator("pre.statement")
        expect(texts).to_have_count(2)
        expect(texts.first).to_have_text("INSERT INTO kept SELECT n FROM numbers WHERE n > 1")
        expect(watched.page.locator("main")).to_contain_text("Its results leave by")
        until_loaded(watched.page)
        watched.fits()
        show(watched.page, f"job/{jobs.ids['orders']}")
        expect(tabs.get_by_role("link", name="Graph")).to_have_count(1)
        expect(tabs.get_by_role("link", name="SQL")).to_have_count(0)


def test_checkpoints_open_by_vertex(browser: Browser, jobs: Shop) -> None:
    with opened(browser, jobs.server.url) as watched:
        page = watched.page
        show(page, f"job/{jobs.ids['cancelled']}/checkpoints")
        page.locator("tbody button").first.click()
        expect(page.locator("tr.detail")).to_contain_text("revenue of customers")
        expect(page.locator("main")).to_contain_text("firesteel run -s")


def test_a_checkpoint_that_is_being_taken_says_what_its_vertices_say(browser: Browser, jobs: Shop) -> None:
    """The list was asked for before the checkpoint was complete, its details after that."""
    path = f"jobs/{jobs.ids['cancelled']}/checkpoints"

    def earlier(route: Route) -> None:
        response = route.fetch()
        found = response.json()
        found["history"][0] |= {"status": "IN_PROGRESS", "num_acknowledged_subtasks": 0}
        route.fulfill(response=response, json=found)

    with opened(browser, jobs.server.url) as watched:
        page = watched.page
        page.route(re.compile(f"{path}$"), earlier)
        show(page, f"job/{jobs.ids['cancelled']}/checkpoints")
        row = page.locator("tbody tr").first
        expect(row).to_contain_text(re.compile("^\\d+Checkpoint.*0/", re.DOTALL))
        row.locator("button").click()
        expect(page.locator("tr.detail")).to_contain_text("revenue of customers")
        vertices = page.locator("tr.detail tbody td:last-child").all_text_contents()
        of_vertices = [tuple(map(int, text.split("/"))) for text in vertices]
        answered, there = (sum(column) for column in zip(*of_vertices, strict=True))
        assert answered == there > 0
        expect(row.locator("td").last).to_have_text(f"{answered}/{there}")


def test_a_flame_graph_shows_what_tasks_do(browser: Browser, jobs: Shop) -> None:
    with (
        jobs.job(lambda mini, directory: behind(mini, directory, "busy", None)) as job_id,
        opened(browser, jobs.server.url) as watched,
    ):
        page = watched.page
        show(page, f"job/{job_id}")
        page.get_by_role("button", name=re.compile("^Source: clicks")).click()
        page.get_by_role("button", name="Flame graph").click()
        flames = page.get_by_role("group", name="Frames, callers first")
        nothing = page.get_by_role("heading", name="Nothing was at work")
        for _ in range(5):  # it is seen as often as the machine lets it work
            expect(flames.or_(nothing)).to_be_visible()
            if flames.is_visible():
                break
            page.get_by_role("button", name="Sample again").click()
            expect(page.locator(".bones")).to_have_count(0)
        frames = flames.get_by_role("button", name=re.compile("parsed|read_sources"))
        frames.first.click()
        page.get_by_role("button", name="Back to what called it").click()


def test_jobs_are_searched_and_filtered(browser: Browser, jobs: Shop) -> None:
    with opened(browser, jobs.server.url) as watched:
        page = watched.page
        show(page, "jobs")
        rows = page.locator(".jobs tbody tr")
        expect(rows.nth(len(jobs.ids) - 1)).to_be_visible()
        page.get_by_role("searchbox").fill("clicks")
        expect(rows).to_have_count(1)
        page.get_by_role("searchbox").fill("no such job")
        expect(page.locator("main")).to_contain_text("No job is like that")
        page.get_by_role("button", name="Show all jobs").click()
        page.get_by_role("button", name=re.compile("^Needs a look")).click()
        expect(rows).to_have_count(3)
        # By health, the worst first, until a column is chosen.
        expect(rows.first).to_contain_text("Failed")
        page.get_by_role("button", name="Job", exact=True).click()
        expect(rows.first).to_contain_text("backfill of clicks")


def test_markup_in_names_is_text(browser: Browser, jobs: Shop) -> None:
    with opened(browser, jobs.server.url) as watched:
        page = watched.page
        for route in ("jobs", *(f"job/{jobs.ids['hostile']}/{tab}" for tab in JOB_PAGES)):
            show(page, route)
            until_loaded(page)
            expect(page.locator("main")).to_contain_text(HOSTILE)
            assert page.evaluate("window.broken") is None
            assert page.locator("main img, main script").count() == 0


def test_an_unknown_job_and_an_unknown_page(browser: Browser, jobs: Shop) -> None:
    with opened(browser, jobs.server.url) as watched:
        page = watched.page
        show(page, "nowhere")
        expect(page.locator("main")).to_contain_text("There is no such page")
        show(page, f"job/{'0' * 32}")
        expect(page.locator("main")).to_contain_text("This job is not known")
        assert any(problem.startswith("404") for problem in watched.problems)
        watched.problems.clear()


@pytest.mark.parametrize(
    ("flink", "text"),
    [
        ("#/job/running/{orders}/overview", "Vertices"),
        ("#/job/completed/{failed}/exceptions", "Your code"),
        ("#/job-manager/logs", "firesteel.log"),
        ("#/overview", "backfill of clicks"),
    ],
)
def test_links_that_were_made_for_flink_lead_to_the_same(
    browser: Browser, jobs: Shop, flink: str, text: str
) -> None:
    with opened(browser, jobs.server.url) as watched:
        watched.page.goto("/" + flink.format(**jobs.ids))
        expect(watched.page.locator("main")).to_contain_text(text)


@pytest.mark.row("S-REST-03", "S-REST-06", "S-SLOT-31")
def test_the_overview_counts_jobs_slots_and_task_managers(browser: Browser, jobs: Shop) -> None:
    """At the place where Flink has it, and as the REST API has them."""
    with opened(browser, jobs.server.url) as watched:
        told = watched.page.request.get(f"{jobs.server.url}/overview").json()
        watched.page.goto("/#/overview")
        figures = watched.page.get_by_label("The cluster", exact=True)
        slots = figures.locator(".figure", has_text="Free slots")
        assert (told["slots-total"], told["taskmanagers"]) == (4, 1)
        expect(slots.locator("dd")).to_have_text(f"{told['slots-available']} of 4")
        expect(slots).to_contain_text("1 task manager")
        running = figures.locator(".figure", has_text="Running")
        expect(running.locator("dd")).to_have_text(str(told["jobs-running"]))
        ended = figures.locator(".figure", has_text="Ended")
        expect(ended).to_contain_text(f"{told['jobs-finished']} finished, {told['jobs-failed']} failed")
