"""Flink's own dashboard, unchanged, against this server: every page, without an error."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from firesteel.common.errors import ConfigurationError
from firesteel.rest.dashboard.files import flink_files
from firesteel.rest.server import RestServer
from firesteel.rest.settings import RestSettings
from tests.rest.dashboard.browser import opened
from tests.rest.dashboard.flink_jar import flink_dist
from tests.rest.dashboard.shop import Shop

JOB = ("overview", "timeline", "exceptions", "configuration")
VERTEX = (
    "detail", "subtasks", "taskmanagers", "watermarks", "accumulators", "backpressure", "metrics",
    "flamegraph",
)  # fmt: skip
CLUSTER = (
    "overview", "job/running", "job/completed", "application/running", "application/completed",
    "task-manager",
    "job-manager/metrics", "job-manager/config", "job-manager/logs", "job-manager/log",
    "job-manager/thread-dump", "job-manager/profiler",
)  # fmt: skip

# Flink's pages raise errors of their own when they are left while something in them still moves: a graph that
# is drawn, an editor that is laid out. So a page is left when nothing has moved for thirty frames of its own.
AT_REST = """() => new Promise(resolve => {
    let still = 0;
    const look = () => {
        const moves = [...document.querySelectorAll("svg, svg *")].some(e => e.__transition || e.__zooming);
        still = moves ? 0 : still + 1;
        still < 30 ? requestAnimationFrame(look) : resolve(null);
    };
    look();
})"""


def at_rest(page: Page) -> None:
    """Wait until the page has all that it asked for, and has drawn it."""
    page.wait_for_load_state("networkidle")
    page.evaluate(AT_REST)


@pytest.fixture(scope="module")
def server(jobs: Shop) -> Iterator[RestServer]:
    with RestServer(jobs.cluster, RestSettings(ports=(0,), flink_ui=flink_dist())) as found:
        yield found


@pytest.mark.parametrize("job", ["orders", "failed", "cancelled", "finished", "restarting"])
def test_pages_of_a_job(browser: Browser, jobs: Shop, server: RestServer, job: str) -> None:
    running = job in ("orders", "restarting")
    view = jobs.cluster.job(jobs.ids[job])
    assert view is not None
    place = f"/#/job/{'running' if running else 'completed'}/{view.job_id}"
    with opened(browser, server.url) as watched:
        page = watched.page
        for route in JOB:
            page.goto(f"{place}/{route}")
            expect(page.locator("flink-root")).to_contain_text(view.name)
            if route == "overview":
                page.locator("flink-dagre .node").first.wait_for()
            at_rest(page)
        page.get_by_role("tab", name="Data Skew").click()
        at_rest(page)
        page.goto(f"{place}/checkpoints")
        for tab in ("Overview", "History", "Summary", "Configuration"):
            page.locator("flink-job-checkpoints").get_by_role("tab", name=tab).click()
            at_rest(page)
        if job not in ("orders", "failed"):
            return
        for tab in VERTEX:
            page.goto(f"{place}/overview/{view.vertices[0].id}/{tab}")
            expect(page.locator("flink-root")).to_contain_text(view.vertices[0].info.operators[0].name)
            at_rest(page)


def test_pages_of_the_cluster(browser: Browser, jobs: Shop, server: RestServer) -> None:
    with opened(browser, server.url) as watched:
        page = watched.page
        for route in CLUSTER:
            page.goto(f"/#/{route}")
            expect(page.locator("flink-root")).to_contain_text("Apache Flink Dashboard")
            at_rest(page)
        page.goto("/#/overview")
        expect(page.locator("flink-root")).to_contain_text("backfill of clicks")
        # Ours is there, too.
        page.goto("/firesteel/dashboard/")
        expect(page.locator(".jobs")).to_contain_text("backfill of clicks")
        expect(page.get_by_role("link", name="Flink's dashboard")).to_have_attribute("href", f"{server.url}/")


def test_a_jar_without_a_dashboard(tmp_path: Path) -> None:
    jar = tmp_path / "other.jar"
    with pytest.raises(ConfigurationError, match="cannot be read"):
        flink_files(jar)
    jar.write_bytes(b"no jar")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        flink_files(jar)
    with zipfile.ZipFile(jar, "w") as made:
        made.writestr("web/other.js", "1")
    with pytest.raises(ConfigurationError, match="no dashboard"):
        flink_files(jar)
