"""Takes a picture of every page into a folder: ``python -m tests.console.browser.pictures FOLDER``.

They are to be looked at; docs/console.png is one of them.
"""

import asyncio
import sys
from pathlib import Path

from playwright.async_api import Browser, async_playwright

from keepstep.console.serve import served
from tests.console.browser.conftest import CHROMIUM, FLAGS, obey
from tests.console.pages.site import Site
from tests.console.pages.stories import LARGE, told

PAGES = {
    "overview": "/", "jobs": "/jobs", "job": f"/jobs/{LARGE.uid}", "incidents": "/incidents",
    "incident": "/incidents/0f9e8d7c", "open": "/incidents/a1b2c3d4", "faults": "/faults", "nodes": "/nodes",
    "node": "/nodes/gpu-03", "events": "/events", "create": "/create", "failed": "/jobs/none",
}  # fmt: skip
WINDOW, NARROW = {"width": 1200, "height": 780}, {"width": 390, "height": 800}


async def main(folder: Path) -> None:
    """Take them: all in light and English, some as they are otherwise seen."""
    async with served(told(Site(answers=obey)).app(), "127.0.0.1", 0) as address, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        for name, path in PAGES.items():
            await take(browser, address + path, folder / f"{name}.png")
        for name in ("overview", "job", "incident", "open", "nodes", "faults"):
            await take(browser, f"{address}{PAGES[name]}?lang=zh&theme=dark", folder / f"{name}-zh-dark.png")
            await take(browser, address + PAGES[name], folder / f"{name}-narrow.png", NARROW)
        await browser.close()


async def take(browser: Browser, address: str, to: Path, window: dict[str, int] | None = None) -> None:
    """Take the whole length of a page."""
    page = await browser.new_page(viewport=window or WINDOW, locale="en-GB")  # type: ignore[arg-type]  # a TypedDict of the same two
    await page.goto(address)
    await page.screenshot(path=to, full_page=True)
    await page.close()


if __name__ == "__main__":
    FOLDER = Path(sys.argv[1])
    FOLDER.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(FOLDER))
