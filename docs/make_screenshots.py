"""Make the pictures of the dashboard that docs/dashboard.md shows, of jobs that really run.

    python docs/make_screenshots.py [NAME ...]

Each page at 1,400 and 360 pixels into docs/pictures/dashboard/, with few colours, so that all are some
hundred kilobytes. It needs Chromium and the packages of the extra ``dev``.
"""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))

from firesteel.rest.server import RestServer
from firesteel.rest.settings import RestSettings
from tests.rest.dashboard.browser import NARROW, WIDE, chromium
from tests.rest.dashboard.shop import Shop, behind, executor, shop

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "docs" / "pictures" / "dashboard"
WATCHED_S = 75.0  # so that charts have something to show
COMMON, RARE = 16, 24  # colours
TALLEST = 1_000

#: Where this machine keeps the programs is nothing for a picture.
_REPLACE = """(pairs) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode())
        for (const [from, to] of pairs)
            texts.currentNode.nodeValue = texts.currentNode.nodeValue.replaceAll(from, to);
}"""
#: The pages: where each is, and whether it is dark.
PAGES: dict[str, tuple[str, bool]] = {
    "jobs": ("jobs", False),
    "jobs-dark": ("jobs", True),
    "graph": ("job/{orders}/graph", False),
    "graph-dark": ("job/{orders}/graph", True),
    "vertex": ("job/{orders}/graph/{vertex}", False),
    "operators": ("job/{orders}/graph/{source}/operators", False),
    "flames": ("", False),
    "epochs": ("job/{orders}/epochs", False),
    "timeline": ("job/{restarting}/timeline", False),
    "checkpoints": ("job/{orders}/checkpoints", False),
    "exceptions": ("job/{failed}/exceptions", False),
    "metrics": ("job/{orders}/metrics", False),
    "accumulators": ("job/{orders}/accumulators", False),
    "logs": ("job/{restarting}/logs", False),
    "config": ("job/{orders}/config", False),
    "workers": ("workers", False),
    "worker": ("workers/{worker}", False),
    "driver": ("driver/config", False),
    "stop": ("job/{orders}/graph", False),
    "login": ("", False),
}


def main(names: list[str]) -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, shop() as found:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        time.sleep(WATCHED_S)
        for name in names or PAGES:
            route, dark = PAGES[name]
            for width in (WIDE, NARROW):
                if name == "login":
                    login(browser, found, width)
                elif name == "flames":
                    flames(browser, found, width)
                else:
                    take(browser, found.server.url, f"/#/{route.format(**places(found))}", name, width, dark)
        browser.close()


def places(found: Shop) -> dict[str, str]:
    orders = found.cluster.job(found.ids["orders"])
    assert orders is not None
    worker = executor().platform.machines().workers[0].id
    hot = next(vertex for vertex in orders.vertices if "revenue" in vertex.name)
    return found.ids | {"vertex": hot.id, "source": orders.vertices[0].id, "worker": worker}


def take(browser: Browser, url: str, route: str, name: str, width: int, dark: bool) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
        base_url=url,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(route)
    page.wait_for_timeout(1_500)
    page.locator(".bones").first.wait_for(state="detached", timeout=30_000)
    if name == "stop":
        page.get_by_role("button", name="Stop").click()
    if name == "checkpoints":
        page.locator("tbody button").first.click()
        page.wait_for_timeout(800)
    page.wait_for_timeout(500)
    save(page, TARGET / f"{name}-{width}.png", whole=name != "stop")
    context.close()


def flames(browser: Browser, found: Shop, width: int) -> None:
    """Of a job that has something to do all the time."""
    with found.job(lambda mini, directory: behind(mini, directory, "backfill of clicks", None)) as job_id:
        time.sleep(6)
        job = found.cluster.job(job_id)
        assert job is not None
        route = f"/#/job/{job_id}/graph/{job.vertices[0].id}/flames"
        take(browser, found.server.url, route, "flames", width, False)


def login(browser: Browser, found: Shop, width: int) -> None:
    with TemporaryDirectory() as directory:
        file = Path(directory, "credentials")
        file.write_text("operate ann:password-of-ann\n")
        file.chmod(0o600)
        with RestServer(found.cluster, RestSettings(ports=(0,), auth="basic", auth_file=file)) as server:
            take(browser, server.url, "/", "login", width, False)


def save(page: Page, file: Path, *, whole: bool) -> None:
    page.evaluate(_REPLACE, [[str(ROOT), "/home/ann/shop"], [gettempdir(), "/data"]])
    picture = Image.open(io.BytesIO(page.screenshot(full_page=whole))).convert("RGB")
    picture = picture.crop((0, 0, picture.width, min(picture.height, TALLEST)))
    picture.quantize(palette=palette(picture), dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file.name}: {file.stat().st_size / 1024:.0f} kB, {picture.width} x {picture.height}")


def palette(picture: Image.Image) -> Image.Image:
    """The colours that there is most of, as they are, and some that are nearest to all others."""
    counted = picture.getcolors(picture.width * picture.height) or []
    most = [colour for _, colour in sorted(counted, reverse=True)[:COMMON]]
    others = picture.quantize(RARE, Image.Quantize.MAXCOVERAGE).getpalette() or []
    found = Image.new("P", (1, 1))
    found.putpalette([part for colour in most for part in colour] + others[: RARE * 3])
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
