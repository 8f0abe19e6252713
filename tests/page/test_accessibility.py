"""The page is for everybody: axe-core finds nothing, narrow and enlarged views lose nothing, scripts
and motion are not needed, and what is live says so without noise.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist.views.page_rendering import list_navigation_labels
from page.conftest import Keyboard
from support.page_home import LONG

pytestmark = [pytest.mark.page, pytest.mark.timeout(300, func_only=True)]

AXE = Path(__file__).parents[2] / "build" / "page" / "node_modules" / "axe-core" / "axe.min.js"
DETAILS = (
    "sessions?q=postgresql",
    f"session?id={LONG}&turn=30",
    f"session-notes?id={LONG}&turn=30",
    f"message?id={LONG}&line=59",
    f"past-session?id={LONG}",
    "memory?path=use-npm.md&at=1",
    "why?message=install+the+packages+with+npm",
)
"""Views that lead from those of the navigation."""
EVERY = (*list_navigation_labels(), *DETAILS)


def set_width(keyboard: Keyboard, width: int, scale: float = 1) -> None:
    """Show the page as on a screen of this many pixels of its own, each of `scale` real ones."""
    keyboard.tell(
        "Emulation.setDeviceMetricsOverride",
        width=width, height=900, deviceScaleFactor=scale, mobile=False,
    )  # fmt: skip


def set_media(keyboard: Keyboard, name: str, value: str) -> None:
    """Have the browser say what its user prefers."""
    keyboard.tell("Emulation.setEmulatedMedia", features=[{"name": name, "value": value}])


def find_wide(keyboard: Keyboard, view: str) -> list[str]:
    """What is wider than the window: a page that must be scrolled sideways."""
    wide, width = keyboard.run("return [document.documentElement.scrollWidth, window.innerWidth]")
    return [f"{view}: {wide} of {width} wide"] * (wide > width)


@pytest.mark.parametrize(("theme", "language"), [("light", "en"), ("dark", "en"), ("light", "de")])
def test_axe_finds_nothing(keyboard: Keyboard, theme: str, language: str) -> None:
    """Every view, in both themes and with the longer words of German, at two widths: nothing
    against WCAG, nothing wider than 320.
    """
    axe = AXE.read_text("utf-8")
    set_media(keyboard, "prefers-color-scheme", theme)
    keyboard.tell("Network.setExtraHTTPHeaders", headers={"Accept-Language": language})
    found = []
    for width in (1280, 320):
        set_width(keyboard, width)
        for view in EVERY:
            keyboard.open(view)
            assert keyboard.run("return document.documentElement.lang") == language
            keyboard.run(axe)
            wrong = keyboard.driver.execute_async_script(
                "const done = arguments[0]; axe.run({resultTypes: ['violations']})"
                ".then((all) => done(all.violations.map((each) => each.id)))"
            )
            found += [f"{view} {width}: {each}" for each in wrong]
            found += find_wide(keyboard, view)

    assert not found


def test_twice_the_size_loses_nothing(keyboard: Keyboard) -> None:
    """At 200 % in a window of 1,280 pixels no view must be scrolled sideways, and none of its
    headings, buttons or links goes.
    """
    found = []
    shown = "return [...document.querySelectorAll('h1, h2, main button, nav a')].filter(\
        (each) => each.getClientRects().length).length"
    for view in EVERY:
        lost = ""
        for _ in range(3):  # a view may have changed between the two looks, as Now does by itself
            set_width(keyboard, 1280)
            keyboard.open(view)
            before = keyboard.run(shown)
            set_width(keyboard, 640, 2)
            keyboard.open(view)
            now = keyboard.run(shown)
            lost = f"{view}: {before} became {now}" if now < before else ""
            if not lost:
                break
        found += [lost] * bool(lost)
        found += find_wide(keyboard, view)

    assert not found


def test_nothing_moves_for_those_who_ask(keyboard: Keyboard) -> None:
    """With reduced motion no view has a transition or an animation."""
    set_media(keyboard, "prefers-reduced-motion", "reduce")
    for view in EVERY:
        keyboard.open(view)
        moving = keyboard.run(
            "return [...document.querySelectorAll('*')].filter((each) => {"
            " const style = getComputedStyle(each); return parseFloat(style.transitionDuration)"
            " || style.animationName !== 'none'; }).length"
        )
        assert moving == 0, view


def test_it_works_without_scripts(keyboard: Keyboard) -> None:
    """Search, the slider over turns and a change of a memory are forms, and work as such."""
    keyboard.tell("Emulation.setScriptExecutionDisabled", value=True)
    driver = keyboard.driver

    keyboard.open("sessions")
    driver.find_element("css selector", "[name=q]").send_keys("PostgreSQL", keyboard.keys.ENTER)
    keyboard.wait_for(lambda: "I want PostgreSQL" in driver.page_source)

    keyboard.open(f"session?id={LONG}&turn=3")
    driver.find_element("css selector", "[name=turn]").send_keys(keyboard.keys.ARROW_RIGHT)
    driver.find_element("xpath", "//button[.='Show this turn']").click()
    keyboard.wait_for(lambda: "when turn 4 began" in driver.page_source)

    keyboard.open("memory?path=deploys.md")
    area = driver.find_element("css selector", "textarea")
    area.clear()
    area.send_keys("Deploys go out on Mondays.")
    driver.find_element("xpath", "//button[.='Save the change']").click()
    keyboard.wait_for(lambda: "Deploys go out on Mondays." in driver.page_source)


def test_now_renews_itself(keyboard: Keyboard) -> None:
    """What is remembered in a terminal stands on the open view Now without a reload, and is not
    read out at each renewal; who is in it by keyboard stays where they are.
    """
    keyboard.open("now")
    keyboard.reach("Please look at module 0")
    keyboard.run("window.same = true")
    keyboard.home.call("memory", "add", "--name", "lunch", "The kitchen closes at two.")
    keyboard.wait_for(lambda: "The kitchen closes at two" in keyboard.text)

    assert keyboard.run("return window.same")
    assert "Please look" in keyboard.run("return document.activeElement.innerText")
    assert keyboard.run("return document.querySelector('[sse-connect]').ariaLive") == "off"
