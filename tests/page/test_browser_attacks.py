"""The attacks that were published on pages like this one, done by a real browser that was let in."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from memorist.views.page_rendering import list_navigation_labels
from page.conftest import Keyboard
from support.page_home import LONG

pytestmark = [pytest.mark.page, pytest.mark.timeout(120, func_only=True)]

READ = """
const done = arguments[arguments.length - 1], address = arguments[0];
const tried = [];
const ways = [
  fetch(address + "/memories.json", {credentials: "include"}).then((got) => got.text()),
  fetch(address + "/memories.json", {credentials: "include", mode: "no-cors"})
    .then((got) => got.text()),
  new Promise((yes, no) => {
    const source = new EventSource(address + "/now/stream", {withCredentials: true});
    source.addEventListener("now", (event) => yes(event.data)); source.onerror = no; }),
  new Promise((yes, no) => {
    const frame = document.createElement("iframe"); frame.src = address + "/memories";
    frame.onload = () => { try { yes(frame.contentDocument.body.innerText); } catch (e) { no(e); } };
    document.body.append(frame); }),
  new Promise((yes, no) => {
    const script = document.createElement("script"); script.src = address + "/static/keys.js";
    script.onload = () => yes("the script"); script.onerror = no; document.head.append(script); }),
];
Promise.allSettled(ways).then((all) => done(all.map((each) => each.value || "")));
"""
FORM = """
const form = document.createElement("form");
form.method = "post"; form.action = arguments[0] + "/do/forget"; form.enctype = arguments[1];
for (const [name, value] of Object.entries({path: "use-npm.md", csrf: "guess", back: "/now"})) {
  const field = document.createElement("input"); field.name = name; field.value = value;
  form.append(field); }
document.body.append(form); form.submit();
"""


class OtherSite:
    """A web server of somebody else, on this machine, that notes what is asked of it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        """Path and Referer of each request."""
        asked = self.asked

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append((self.path, self.headers.get("referer", "")))
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.end_headers()
                self.wfile.write(b"<title>other</title><body>other")

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.port = self.server.server_address[1]


@pytest.fixture
def other() -> Iterator[OtherSite]:
    """The other site, while a test runs."""
    site = OtherSite()
    thread = threading.Thread(target=site.server.serve_forever)
    thread.start()
    yield site
    site.server.shutdown()
    thread.join()
    site.server.server_close()


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1"])
def test_another_site_reads_nothing(keyboard: Keyboard, other: OtherSite, name: str) -> None:
    """Neither another site nor another port of this machine reads a view, the stream or a script,
    by fetch, EventSource, frame or script element, though the browser was let in.
    """
    keyboard.driver.get(f"http://{name}:{other.port}/")
    read = keyboard.driver.execute_async_script(READ, keyboard.base)

    assert "".join(read) == ""


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1"])
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain"])
def test_another_site_changes_nothing(
    keyboard: Keyboard, other: OtherSite, name: str, kind: str
) -> None:
    """A form that another site sends by itself is refused, and the memory stands."""
    driver = keyboard.driver
    driver.get(f"http://{name}:{other.port}/")
    driver.execute_script(FORM, keyboard.base, kind)
    keyboard.wait_for(lambda: "/do/forget" in driver.current_url)

    assert "not let in" in keyboard.text or "Open the address" in keyboard.text
    keyboard.open("memory?path=use-npm.md")
    assert "Forget for good" in keyboard.text


def test_a_rebound_name_gets_nothing(keyboard: Keyboard) -> None:
    """A name of a stranger that leads to this machine and port is answered 421, by navigation and
    by a fetch of its own origin.
    """
    port = keyboard.base.rpartition(":")[2]
    keyboard.driver.get(f"http://rebound.example:{port}/memories")

    assert keyboard.text == "This page answers to 127.0.0.1 and localhost alone."
    status = keyboard.driver.execute_async_script(
        "const done = arguments[0]; fetch('/memories.json').then((got) => done(got.status))"
    )
    assert status == 421


def test_nothing_leaves_with_a_link(keyboard: Keyboard, other: OtherSite) -> None:
    """Neither the one-time token nor an address of the page goes to another site as Referer, and
    the token stands in no address that the page keeps.
    """
    keyboard.driver.get(keyboard.home.start)
    keyboard.open("memory?path=use-npm.md")
    keyboard.run(
        "const link = document.createElement('a');"
        f"link.href = 'http://evil.example:{other.port}/left'; link.textContent = 'x';"
        "document.body.append(link); link.click()"
    )
    keyboard.wait_for(lambda: keyboard.driver.title == "other")

    assert [sent for path, sent in other.asked if path == "/left"] == [""]
    keyboard.open("now")
    kept = keyboard.run(
        "return [document.referrer, location.href, document.documentElement.outerHTML,"
        " ...performance.getEntries().map((each) => each.name)].join(' ')"
    )
    assert keyboard.home.start.partition("token=")[2] not in kept


def test_hostile_text_neither_runs_nor_loads(keyboard: Keyboard) -> None:
    """A memory, a title, a message and a waiting change with markup, a picture and a hidden
    character are words on every view: no element of theirs, no request, no dialog, no link.
    """
    for view in (
        *list_navigation_labels(),
        "memory?path=hostile.md",
        f"session?id={LONG}&turn=7",
        f"session-notes?id={LONG}&turn=7",
        f"message?id={LONG}&line=11",
        f"past-session?id={LONG}",
        "why?message=<img+src=x+onerror=alert(1)>",
        "sessions?q=</title><script>alert(1)</script>",
    ):
        keyboard.open(view)
        made, links, loaded = keyboard.run(
            "return [document.querySelectorAll('img, iframe, object, [onerror]').length,"
            " [...document.links].filter((each) => each.origin !== location.origin).length,"
            " performance.getEntriesByType('resource').filter("
            "   (each) => !each.name.startsWith(location.origin)).length]"
        )
        assert (made, links, loaded) == (0, 0, 0), view
        assert "\u202e" not in keyboard.text, view


def test_paths_stay_within(keyboard: Keyboard) -> None:
    """No address leads to a file that is no memory, no session and no asset."""
    home = keyboard.home.folder
    for address in (
        "memory?path=../../../../etc/passwd",
        "memory?path=%2Fetc%2Fpasswd",
        "static/..%2f..%2fweb_server.py",
        "static/%2e%2e/page.html.j2",
        f"session?id={home}/.memorist/state.sqlite",
        "session?id=../../../../etc/passwd",
        "message?id=/etc/passwd&line=1",
        "memories?project=/etc",
    ):
        keyboard.open(address)
        assert "root:" not in keyboard.text, address
        assert "import " not in keyboard.text, address
