"""A real browser over the page of a home of ten thousand sessions and memories."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.page_home import add_many_memories, add_many_sessions, make_home

CHROMIUM = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP *.example 127.0.0.1",
)  # fmt: skip
"""The last makes every name under `.example` this machine: a rebound name, or another site."""
NAMES = ("chromium", "chromium-browser", "google-chrome")


class PageHome:
    """A home with a running page."""

    def __init__(self, folder: Path, start: str, environment: Mapping[str, str]) -> None:
        self.folder, self.start, self._environment = folder, start, environment
        self.base = start.partition("/?")[0]
        self.many = str(folder / "many")
        """The project with ten thousand memories."""

    def call(self, *words: str) -> None:
        """Run a command of memorist in the project, as in a terminal beside the page."""
        subprocess.run(
            [sys.executable, "-m", "memorist", *words],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.folder / "project",
            env=self._environment,
        )


class Keyboard:
    """A browser that is used by its keys alone."""

    def __init__(self, driver: Any, home: PageHome) -> None:
        ui = pytest.importorskip("selenium.webdriver.support.ui")
        conditions = pytest.importorskip("selenium.webdriver.support.expected_conditions")
        webdriver = pytest.importorskip("selenium.webdriver")
        self.driver, self.home, self.base = driver, home, home.base
        self.keys = webdriver.Keys
        self._actions: Any = webdriver.ActionChains
        self._wait = ui.WebDriverWait(driver, 30)
        self._is_gone = conditions.staleness_of

    def open(self, address: str) -> None:
        """Open an address of the page, and wait until all of it is there."""
        self.driver.get(f"{self.base}/{address}")
        self.wait_for(lambda: self.run("return document.readyState") == "complete")

    def run(self, script: str) -> Any:
        """What a script in the page returns."""
        return self.driver.execute_script(script)

    def tell(self, command: str, **values: object) -> Any:
        """A command of the browser's own protocol."""
        return self.driver.execute_cdp_cmd(command, values)

    def wait_for(self, is_so: Callable[[], object]) -> None:
        """Wait until something is so, at most half a minute."""
        self._wait.until(lambda _: is_so())

    def press(self, *keys: str) -> None:
        """Press keys one after another on whatever has the focus."""
        chain = self._actions(self.driver)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    def go(self, *keys: str) -> None:
        """Press keys of which the last leads to another page, and wait for that."""
        left = self.driver.find_element("tag name", "html")
        self.press(*keys)
        self._wait.until(self._is_gone(left))
        self.wait_for(lambda: self.run("return document.readyState") == "complete")

    def follow(self, words: str) -> None:
        """Go to a link, button or field by Tab until it has the focus, and press Enter on it."""
        self.reach(words)
        self.go(self.keys.ENTER)

    def reach(self, words: str) -> None:
        """Press Tab until what has the focus says these words."""
        for _ in range(400):
            self.press(self.keys.TAB)
            said = self.run(
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
        return str(self.run("return document.body.innerText"))


@pytest.fixture(scope="session")
def page_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageHome]:
    """A home of ten thousand sessions and memories, and its page."""
    folder = tmp_path_factory.mktemp("page")
    project = folder / "project"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        patch.setenv("MEMORIST_HOME", str(folder / ".memorist"))
        make_home(project)
        add_many_sessions(10_000)
        (folder / "many" / ".git").mkdir(parents=True)
        add_many_memories(folder / "many", 10_000)
        environment = dict(os.environ)
    command = [sys.executable, "-m", "memorist", "ui", "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=project, env=environment
    ) as page:
        assert page.stdout is not None
        start = page.stdout.readline().split()[-1]
        try:
            yield PageHome(folder, start, environment)
        finally:
            page.terminate()


@pytest.fixture(scope="session")
def let_in(page_home: PageHome) -> Iterator[Keyboard]:
    """The browser that was let in to the page."""
    webdriver = pytest.importorskip(
        "selenium.webdriver", reason="Selenium is missing; `make test-page` installs it"
    )
    browser = next((found for name in NAMES if (found := shutil.which(name))), None)
    driver_path = shutil.which("chromedriver")
    if browser is None or driver_path is None:
        pytest.skip("Chromium and ChromeDriver are missing: install the system's packages of them")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for each in (*CHROMIUM, f"--user-data-dir={page_home.folder / 'browser'}"):
        options.add_argument(each)
    driver = webdriver.Chrome(options, webdriver.ChromeService(driver_path))
    try:
        driver.get(page_home.start)
        yield Keyboard(driver, page_home)
    finally:
        driver.quit()


@pytest.fixture
def keyboard(let_in: Keyboard) -> Iterator[Keyboard]:
    """The browser at a view, as one finds it: no emulation, scripts on."""
    let_in.open("spend")
    let_in.tell("Network.enable")
    yield let_in
    let_in.tell("Emulation.setEmulatedMedia", features=[])
    let_in.tell("Emulation.clearDeviceMetricsOverride")
    let_in.tell("Emulation.setScriptExecutionDisabled", value=False)
    let_in.tell("Network.setExtraHTTPHeaders", headers={})
