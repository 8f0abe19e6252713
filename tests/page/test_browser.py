"""A real browser does the five tasks of the page by keyboard alone; axe-core finds nothing; ten
thousand sessions and memories stay quick.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memorist.page.rendering import VIEW_NAMES
from support.page_home import LONG, add_many_memories, add_many_sessions, make_home

webdriver = pytest.importorskip("selenium.webdriver")
support_ui = pytest.importorskip("selenium.webdriver.support.ui")
expected_conditions = pytest.importorskip("selenium.webdriver.support.expected_conditions")
pytestmark = [pytest.mark.page, pytest.mark.timeout(600)]

AXE = Path(__file__).parents[2] / "build" / "page" / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
DETAILS = (
    "sessions?q=postgresql",
    f"session?id={LONG}&turn=30",
    f"message?id={LONG}&line=59",
    "memory?path=use-npm.md",
    "why?message=install+the+packages+with+npm",
)
"""Views that lead from those of the navigation."""
TASK_SECONDS = 60


class Keyboard:
    """A browser that is used by its keys alone."""

    def __init__(self, driver: Any, base: str) -> None:
        self.driver, self.base = driver, base
        self.many = ""

    def press(self, *keys: str) -> None:
        """Press keys one after another on whatever has the focus."""
        chain = webdriver.ActionChains(self.driver)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    def go(self, *keys: str) -> None:
        """Press keys of which the last leads to another page, and wait for that."""
        left = self.driver.find_element("tag name", "html")
        self.press(*keys)
        wait = support_ui.WebDriverWait(self.driver, 30)
        wait.until(expected_conditions.staleness_of(left))
        wait.until(lambda driver: driver.execute_script("return document.readyState") == "complete")

    def follow(self, words: str) -> None:
        """Go to a link, button or field by Tab until it has the focus, and press Enter on it."""
        self.reach(words)
        self.go(webdriver.Keys.ENTER)

    def reach(self, words: str) -> None:
        """Press Tab until what has the focus says these words."""
        for _ in range(400):
            self.press(webdriver.Keys.TAB)
            said = self.driver.execute_script(
                "const e = document.activeElement;"
                "return [e.innerText, e.labels && e.labels[0] && e.labels[0].innerText,"
                " e.ariaLabel].filter(Boolean).join(' ')"
            )
            if words in said:
                return
        raise AssertionError(f"no Tab leads to {words!r} on {self.driver.current_url}")

    @property
    def text(self) -> str:
        """What the page says."""
        return str(self.driver.execute_script("return document.body.innerText"))


@pytest.fixture(scope="module")
def keyboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyboard]:
    """A browser that was let in to the page of a home of ten thousand sessions and memories."""
    home = tmp_path_factory.mktemp("page")
    project = home / "project"
    patch = pytest.MonkeyPatch()
    patch.setenv("HOME", str(home))
    patch.setenv("MEMORIST_HOME", str(home / ".memorist"))
    make_home(project)
    patch.chdir(project)
    add_many_sessions(10_000)
    (home / "many" / ".git").mkdir(parents=True)
    add_many_memories(home / "many", 10_000)
    command = [sys.executable, "-m", "memorist", "ui", "--no-browser"]
    page = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert page.stdout is not None
    address = page.stdout.readline().split()[-1]
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for each in (*CHROMIUM, f"--user-data-dir={home / 'browser'}"):
        options.add_argument(each)
    driver = webdriver.Chrome(options, webdriver.ChromeService("/usr/bin/chromedriver"))
    driver.get(address)
    try:
        found = Keyboard(driver, address.partition("/?")[0])
        found.many = str(home / "many")
        yield found
    finally:
        driver.quit()
        page.terminate()
        page.wait()
        page.stdout.close()
        patch.undo()


@pytest.fixture(autouse=True)
def begin(keyboard: Keyboard) -> Iterator[None]:
    """Each task begins at the first view, and takes less than a minute."""
    keyboard.driver.get(f"{keyboard.base}/spend")
    started = time.monotonic()
    yield
    assert time.monotonic() - started < TASK_SECONDS * 5


def test_why_did_it_say_npm(keyboard: Keyboard) -> None:
    """From a message to the memory that answers it, and to the words that made it."""
    keyboard.follow("Why")
    keyboard.go("/", *"install the packages with npm", webdriver.Keys.ENTER)
    keyboard.follow("Use npm, never yarn")

    assert "“always use npm here”" in keyboard.text


def test_take_back_last_nights_dream(keyboard: Keyboard) -> None:
    """One key takes the whole dream back."""
    keyboard.follow("Dreams")
    assert "✓ stands" in keyboard.text
    keyboard.go("u")

    assert "taken back" in keyboard.text


def test_what_filled_my_window_at_turn_30(keyboard: Keyboard) -> None:
    """From the list of sessions to one turn's pieces."""
    keyboard.follow("Sessions")
    keyboard.go("/", *"Please module", webdriver.Keys.ENTER)
    keyboard.follow("Please look at module 0")
    keyboard.reach("Turn")
    keyboard.go(webdriver.Keys.ARROW_LEFT)
    for _ in range(3):
        keyboard.reach("Turn")
        keyboard.go(webdriver.Keys.ARROW_LEFT)

    assert "when turn 30 began" in keyboard.text
    assert "What fills the window" in keyboard.text


def test_accept_what_waits_from_codex(keyboard: Keyboard) -> None:
    """One button accepts all of one origin."""
    keyboard.follow("Inbox")
    keyboard.follow("Accept all 3 from import from Codex")

    assert "Accepted 3 from import from Codex" in keyboard.text


def test_find_where_we_decided_on_postgresql(keyboard: Keyboard) -> None:
    """Search leads to the very message."""
    keyboard.follow("Sessions")
    keyboard.go("/", *"PostgreSQL", webdriver.Keys.ENTER)
    keyboard.follow("Which database do we take?")

    assert "I want PostgreSQL, not SQLite" in keyboard.text


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(keyboard: Keyboard, theme: str) -> None:
    """Every view, in both themes, at two widths: nothing against WCAG, nothing wider than 320."""
    driver, axe = keyboard.driver, AXE.read_text("utf-8")
    media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    found = []
    for width in (1280, 320):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for view in (*VIEW_NAMES, *DETAILS):
            driver.get(f"{keyboard.base}/{view}")
            driver.execute_script(axe)
            wrong = driver.execute_async_script(
                "const done = arguments[0]; axe.run({resultTypes: ['violations']})"
                ".then((all) => done(all.violations.map((each) => each.id)))"
            )
            wide = driver.execute_script("return document.documentElement.scrollWidth")
            found += [f"{view} {width}: {each}" for each in wrong]
            found += [f"{view}: {wide} wide"] * (wide > width)

    assert not found


def test_ten_thousand_open_at_once(keyboard: Keyboard) -> None:
    """The list of 10,000 sessions and of 10,000 memories are there in a second or two of a busy
    machine; the figure is printed.
    """
    driver = keyboard.driver
    for address in ("sessions", "past", f"memories?project={keyboard.many}"):
        driver.get(f"{keyboard.base}/{address}")
        began = time.monotonic()
        driver.get(f"{keyboard.base}/{address}")
        sys.stdout.write(f"{address.partition('?')[0]}: {time.monotonic() - began:.2f} s\n")
        assert "Page 1 of 1" in keyboard.text
