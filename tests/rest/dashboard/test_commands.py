"""What pages do: log in, commands with their confirmation, keyboard, colours, files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from firesteel.rest.credentials import password_hash
from firesteel.rest.server import RestServer
from firesteel.rest.settings import RestSettings
from tests.rest.dashboard.browser import NARROW, WIDE, Watched, opened
from tests.rest.dashboard.shop import Shop, orders


def command(page: Page, job_id: str, name: str) -> None:
    page.goto(f"/#/job/{job_id}")
    page.get_by_role("group", name="Commands").get_by_role("button", name=name).click()
    expect(page.get_by_role("dialog")).to_be_visible()


def test_a_savepoint_then_a_stop(browser: Browser, jobs: Shop) -> None:
    with (
        jobs.job(lambda mini, directory: orders(mini, directory, "to stop", 50)) as job_id,
        opened(browser, jobs.server.url) as watched,
    ):
        page = watched.page
        command(page, job_id, "Savepoint")
        dialog = page.get_by_role("dialog")
        host = jobs.server.url.removeprefix("http://")
        expect(dialog.locator("code")).to_have_text(f"firesteel savepoint -m {host} {job_id}")
        # Nothing happens until it is confirmed.
        dialog.get_by_role("button", name="Leave it as it is").click()
        expect(dialog).to_have_count(0)
        assert not any("savepoints" in url for url in watched.requests)
        command(page, job_id, "Savepoint")
        dialog.get_by_role("button", name="Take the savepoint").click()
        expect(dialog).to_contain_text("The savepoint is there:")
        assert Path(dialog.locator("code").inner_text().removeprefix("file://")).is_dir()
        dialog.get_by_role("button", name="Close").click()
        command(page, job_id, "Stop")
        dialog.get_by_label("Directory").fill(f"{jobs.directory}/it's here")
        expect(dialog.locator("code")).to_contain_text(f"-p '{jobs.directory}/it'\\''s here'")
        dialog.get_by_role("button", name="Stop the job").click()
        expect(dialog).to_contain_text("has ended with the savepoint")
        dialog.get_by_role("button", name="Close").click()
        expect(page.locator("h1 + .state")).to_have_text("Finished")
        expect(page.get_by_role("group", name="Commands")).to_have_count(0)


def test_a_rescale(browser: Browser, jobs: Shop) -> None:
    with (
        jobs.job(lambda mini, directory: orders(mini, directory, "to rescale", 50)) as job_id,
        opened(browser, jobs.server.url) as watched,
    ):
        page = watched.page
        command(page, job_id, "Rescale")
        dialog = page.get_by_role("dialog")
        for field in dialog.get_by_role("spinbutton").all():
            field.fill("2")
        expect(dialog.locator("code")).to_have_text(re.compile(f"^firesteel rescale -m .* {job_id} 2$"))
        dialog.get_by_role("button", name="Change the parallelism").click()
        expect(dialog).to_contain_text("The parallelism has changed")
        dialog.get_by_role("button", name="Close").click()
        expect(page.locator("button.vertex .tag", has_text="\u00d72")).to_have_count(3)


def test_a_cancel_by_the_keyboard_alone(browser: Browser, jobs: Shop) -> None:
    with (
        jobs.job(lambda mini, directory: orders(mini, directory, "to cancel", 50)) as job_id,
        opened(browser, jobs.server.url, NARROW) as watched,
    ):
        page = watched.page
        page.goto(f"/#/job/{job_id}")
        button = page.get_by_role("button", name="Cancel", exact=True)
        button.focus()
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        expect(dialog.locator("code")).to_contain_text("firesteel cancel -m")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(button).to_be_focused()
        page.keyboard.press("Enter")
        for _ in range(6):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == "Cancel the job":
                break
        page.keyboard.press("Enter")
        expect(dialog).to_contain_text("was told to end")
        page.keyboard.press("Enter")
        expect(page.locator("h1 + .state")).to_have_text("Cancelled")


def test_a_command_that_fails_says_why(browser: Browser, jobs: Shop) -> None:
    with opened(browser, jobs.server.url) as watched:
        page = watched.page
        command(page, jobs.ids["restarting"], "Savepoint")
        page.get_by_role("button", name="Take the savepoint").click()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("restart")


def test_a_vertex_by_the_keyboard(browser: Browser, jobs: Shop) -> None:
    with opened(browser, jobs.server.url) as watched:
        page = watched.page
        page.goto(f"/#/job/{jobs.ids['orders']}")
        expect(page.locator("button.vertex")).to_have_count(3)
        page.keyboard.press("Tab")
        expect(page.get_by_text("Skip to the page")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
        page.get_by_role("group", name=re.compile("^Vertices")).focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_role("region", name=re.compile("^Vertex"))).to_be_visible()
        expect(page.locator("button.vertex[aria-pressed=true]")).to_be_focused()


def test_everything_to_press_has_a_name(browser: Browser, jobs: Shop) -> None:
    kinds = "button, a, input, select, [role=img], [role=region]"
    nameless = f"""[...document.querySelectorAll("{kinds}")].filter(
        (e) => !(e.getAttribute("aria-label") || e.textContent.trim() || e.title || e.closest("label")
            || e.getAttribute("placeholder"))).map((e) => e.outerHTML)"""
    with opened(browser, jobs.server.url) as watched:
        page = watched.page
        for route in (
            "jobs",
            "driver/logs",
            *(f"job/{jobs.ids['orders']}/{tab}" for tab in ("graph", "metrics")),
        ):
            page.goto(f"/#/{route}")
            expect(page.locator("h1")).to_have_count(1)
            expect(page.locator(".bones")).to_have_count(0)
            assert page.evaluate(nameless) == []


def contrast(page: Page, selector: str) -> float:
    """Between a text and what is behind it."""
    return page.evaluate(  # type: ignore[no-any-return]
        """(selector) => {
        const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
        const light = (rgb) => rgb.slice(0, 3).map((v) => v / 255)
            .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
            .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
        let element = document.querySelector(selector);
        const text = light(numbers(getComputedStyle(element).color));
        let behind = null;
        for (; element && !behind; element = element.parentElement) {
            const found = numbers(getComputedStyle(element).backgroundColor);
            if (found.length < 4 || found[3] === 1) behind = found;
        }
        const ground = light(behind ?? [255, 255, 255]);
        return (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
    }""",
        selector,
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_read(browser: Browser, jobs: Shop, scheme: str) -> None:
    with opened(browser, jobs.server.url, color_scheme=scheme) as watched:
        page = watched.page
        page.goto(f"/#/job/{jobs.ids['failed']}/exceptions")
        expect(page.locator(".cause")).to_be_visible()
        for selector in (
            ".cause",
            "h1",
            ".figure dt",
            ".tabs a",
            ".state.bad.pill",
            ".trace li",
            ".foot",
            "a",
        ):
            assert contrast(page, selector) >= 4.5, selector


def test_the_scheme_is_chosen_and_kept(browser: Browser, jobs: Shop) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, jobs.server.url, color_scheme="light") as watched:
        page = watched.page
        page.goto("/")
        light = page.evaluate(ground)
        page.get_by_role("button", name="Dark colours").click()
        assert page.evaluate(ground) != light
        page.reload()
        expect(page.get_by_role("button", name="Light colours")).to_be_visible()
        assert page.evaluate(ground) != light


def test_a_server_that_is_gone_is_said_to_be(browser: Browser, jobs: Shop) -> None:
    with RestServer(jobs.cluster, RestSettings(ports=(0,))) as server, opened(browser, server.url) as watched:
        watched.page.goto("/")
        expect(watched.page.locator(".jobs")).to_contain_text("orders")
        server.stop()
        expect(watched.page.locator(".alert.warn").first).to_contain_text("does not answer")
        expect(watched.page.locator(".jobs")).to_contain_text("orders")
        watched.problems.clear()


# ---- who may


def login(watched: Watched, **fields: str) -> None:
    for label, value in fields.items():
        watched.page.get_by_label(label).fill(value)
    watched.page.get_by_role("button", name="Log in").click()


def guarded(tmp_path: Path, auth: str, *lines: str) -> RestSettings:
    file = tmp_path / "credentials"
    file.write_text("\n".join(lines))
    file.chmod(0o600)
    return RestSettings(ports=(0,), auth=auth, auth_file=file)


def test_a_token_becomes_a_session(browser: Browser, jobs: Shop, tmp_path: Path) -> None:
    settings = guarded(tmp_path, "token", "operate s3cret-of-operators", "read only-for-reading")
    with RestServer(jobs.cluster, settings) as server, opened(browser, server.url) as watched:
        page = watched.page
        page.goto(f"/#/job/{jobs.ids['orders']}")
        login(watched, Token="wrong")
        expect(page.get_by_role("alert")).to_contain_text("not known")
        assert watched.problems[0].startswith("403"), "the browser's own line about the answer"
        watched.problems.clear()
        login(watched, Token="only-for-reading")
        expect(page.get_by_role("button", name="Savepoint")).to_be_disabled()
        assert "secret" not in page.url
        assert page.evaluate("document.cookie") == "", "no script can read it"
        (cookie,) = page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert "only-for-reading" not in json.dumps(page.context.storage_state())
        page.get_by_role("button", name="Log out").click()
        login(watched, Token="s3cret-of-operators")
        expect(page.get_by_role("button", name="Savepoint")).to_be_enabled()
        # The session ends on the server, whatever the browser keeps.
        page.context.request.delete(f"{server.url}/firesteel/v1/session")
        page.context.clear_cookies()
        expect(page.get_by_role("heading", name="Firesteel")).to_be_visible()
        expect(page.locator("main")).to_contain_text("Your session has ended")
        assert all(problem.startswith(("401", "console")) for problem in watched.problems)
        watched.problems.clear()


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_name_with_a_password(browser: Browser, jobs: Shop, tmp_path: Path, width: int) -> None:
    settings = guarded(tmp_path, "basic", f"operate bob:{password_hash('hidden: words')}")
    with RestServer(jobs.cluster, settings) as server, opened(browser, server.url, width) as watched:
        watched.page.goto("/")
        watched.fits()
        login(watched, Name="bob", Password="hidden: words")
        expect(watched.page.locator(".jobs")).to_contain_text("orders")
        watched.page.reload()
        expect(watched.page.locator(".jobs")).to_contain_text("orders")
