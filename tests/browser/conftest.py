"""A real Chromium without a network, and a report in it."""

from __future__ import annotations

import os
import shutil

import pytest

from extranets.report import summarise, write
from tests.report.examples import fitted

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def browser():
    """Skips where there is no browser, or no playwright to control it."""
    steering = pytest.importorskip("playwright.sync_api", reason='no playwright: pip install ".[browser]"')
    path = os.environ.get("EXTRANETS_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on the path (EXTRANETS_BROWSER names another)")
    with steering.sync_playwright() as playwright:
        # A sandbox inside a container fails; the only page is our own.
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("browser") / "report.html"
    write(summarise(fitted()), path)
    return path


@pytest.fixture
def open_page(browser):
    """Opens a file with the given settings. Fails at the end if anything was fetched or an error was logged."""
    contexts, requests, errors = [], [], []

    def opened(path, **settings):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
        context.set_offline(True)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on(
            "console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: (errors.append(dialog.message), dialog.dismiss()))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert all(url.startswith("file://") and url.endswith(".html") for url in requests), requests
    assert not errors, errors
