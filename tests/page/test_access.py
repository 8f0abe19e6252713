"""Nobody but the browser that was let in reads or changes the page; what it shows is harmless."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import re
import socket
import threading
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from memorist.cli.main import memorist_group
from memorist.core.messages import Message, Origin, TextBlock, Usage
from memorist.engine.engine import Memorist
from memorist.errors import SettingsError
from memorist.page import web_server
from memorist.page.page_access import PageAccess, restrict_redirect_to_page
from memorist.page.session_timeline import build_session_timeline
from memorist.page.web_server import MAX_BODY_BYTES, PageServer
from memorist.views.page_rendering import list_navigation_labels
from memorist.views.view_blocks import PageView, mask_and_bound_untrusted_text
from support.page_home import KEY, LONG, make_home

PORT = 8765
OWN = {"host": f"127.0.0.1:{PORT}"}
FORM = OWN | {
    "origin": f"http://127.0.0.1:{PORT}",
    "content-type": "application/x-www-form-urlencoded",
}
VENDORED = {
    "htmx.min.js": "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
    "htmx-sse.min.js": "98a46496de0c3605fbffdce9167ba427bdd9553184f83f149c261891a92c0136",
}
"""SHA-256 of the vendored files as their packages have them."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with memories, where the page was started."""
    folder = tmp_path / "project"
    make_home(folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def access(project: Path) -> PageAccess:
    """The tokens of the page of the project."""
    assert project.is_dir()
    return PageAccess(PORT)


@pytest.fixture
def stranger(access: PageAccess) -> Iterator[TestClient]:
    """A client that was not let in."""
    address = f"http://127.0.0.1:{PORT}"
    with TestClient(PageServer(access).build_asgi_app(), address, follow_redirects=False) as client:
        yield client


@pytest.fixture
def browser(stranger: TestClient, access: PageAccess) -> TestClient:
    """The browser that opened the address."""
    answer = stranger.get(access.start_address)
    assert (answer.status_code, answer.headers["location"]) == (303, "/now")
    return stranger


def post(browser: TestClient, action: str, **fields: str) -> int:
    """Status of a form sent by the page itself."""
    return browser.post(f"/do/{action}", data=fields, headers=FORM).status_code


def version_on_page(browser: TestClient, address: str) -> str:
    """What the form for a memory's text sends along."""
    found = re.search(r'name="version" value="(\w+)"', browser.get(address).text)
    assert found is not None
    return found[1]


def ids_on_button(browser: TestClient) -> list[str]:
    """What the button that accepts all of one origin sends along."""
    found = re.search(r'name="ids" value="([^"]+)"', browser.get("/inbox").text)
    return [] if found is None else found[1].split()


def test_the_address_lets_one_browser_in_once(stranger: TestClient, access: PageAccess) -> None:
    """The token of the address is gone after its first use, and its cookie is out of scripts' and
    other sites' reach.
    """
    first = stranger.get(access.start_address)
    cookie = first.headers["set-cookie"]
    stranger.cookies.clear()

    assert first.status_code == 303
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert stranger.get(access.start_address).status_code == 401
    assert stranger.get("/?token=").status_code == 401
    assert stranger.get("/now").status_code == 401


def test_another_user_of_the_machine_is_not_let_in(
    stranger: TestClient, access: PageAccess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address stands in the list of processes when a browser is started with it; who reads it
    there gets nothing, and does not use it up.
    """
    with monkeypatch.context() as patched:
        patched.setattr(web_server, "is_connection_of_other_user", lambda *_: True)
        assert stranger.get(access.start_address).status_code == 403
    assert stranger.get(access.start_address).status_code == 303


def test_nothing_is_shown_without_the_cookie(stranger: TestClient) -> None:
    """No view, no stream and no JSON opens to a program that only knows the port."""
    views = [*list_navigation_labels(), "session", "memory", "now/stream", "static/keys.js"]
    for cookie in ("", "guessed"):
        stranger.cookies.set(f"memorist-{PORT}", cookie)
        for view in views:
            assert stranger.get(f"/{view}").status_code == 401
            assert stranger.get(f"/{view}.json").status_code == 401


def test_a_rebound_name_is_refused_before_all_else(browser: TestClient) -> None:
    """A web page whose name was pointed at this machine gets 421, with the cookie too."""
    for host in ("evil.example", "evil.example:8765", "127.0.0.1.evil.example", ""):
        assert browser.get("/memories", headers={"host": host}).status_code == 421
        assert browser.get("/?token=x", headers={"host": host}).status_code == 421


def test_other_pages_reach_nothing(browser: TestClient) -> None:
    """Another origin, another port of this machine and another site are refused, reading and
    writing, and no answer allows them anything.
    """
    for name, value in (
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://127.0.0.1:9999"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ):
        read = browser.get("/memories.json", headers=OWN | {name: value})
        wrote = browser.post("/do/undo", headers=OWN | {name: value})
        assert (read.status_code, wrote.status_code) == (403, 403)
        assert not [each for each in read.headers if each.startswith("access-control")]
    assert browser.options("/memories", headers=OWN).status_code == 405


def test_a_form_of_another_page_changes_nothing(browser: TestClient) -> None:
    """Without the page's own token, or without saying where it comes from, no form does anything;
    and a change is never made by an address alone.
    """
    before = browser.get("/inbox.json").json()

    assert post(browser, "accept-origin", origin="import from Codex") == 403
    assert post(browser, "accept-origin", origin="import from Codex", csrf="guessed") == 403
    assert browser.post("/do/undo", data={"csrf": "x"}, headers=OWN).status_code == 403
    assert browser.get("/do/undo").status_code == 405
    assert browser.get("/inbox.json").json() == before


def test_every_answer_forbids_scripts_frames_and_other_places(browser: TestClient) -> None:
    """The policy stands on pages, JSON, refusals and files."""
    for address in ("/memories", "/memories.json", "/static/keys.js", "/nowhere"):
        headers = browser.get(address).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["referrer-policy"] == "same-origin"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
    refused = browser.get("/now", headers={"host": "evil.example"})
    assert "default-src 'none'" in refused.headers["content-security-policy"]


def test_a_body_of_unknown_or_huge_size_is_not_read(browser: TestClient) -> None:
    """A form has a size, and a bounded one."""
    huge = FORM | {"content-length": str(MAX_BODY_BYTES + 1)}
    assert browser.post("/do/undo", content=b"x", headers=huge).status_code == 413
    chunked = browser.post("/do/undo", content=iter([b"x"]), headers=FORM)
    assert chunked.status_code == 413


def test_hostile_text_is_text(browser: TestClient, access: PageAccess) -> None:
    """A memory cannot bring a picture, a link, a script or a hidden direction onto the page."""
    for address in ("/memories", "/memory?path=hostile.md", "/memory?path=hostile.md&save=1"):
        text = browser.get(address).text
        assert "<img" not in text
        assert 'href="https:' not in text
        assert "\u202e" not in text
    said = browser.get(f"/message?id={LONG}&line=11").text
    assert "‹U+202E›" in said
    assert "&lt;img" in said
    assert access.csrf not in browser.get("/memory?path=hostile.md&save=1").text


def test_no_view_shows_a_hidden_character_or_a_secret(browser: TestClient) -> None:
    """Wherever it stands: a memory, a waiting change and its words, a session, what was learned of
    it; as a page and as JSON.
    """
    details = (f"session?id={LONG}", f"session-notes?id={LONG}", f"past-session?id={LONG}")
    for view in (*list_navigation_labels(), "memory?path=hostile.md", *details):
        name, _, query = view.partition("?")
        for address in (f"/{view}", f"/{name}.json?{query}"):
            text = browser.get(address).text
            assert "\u202e" not in text, address
            assert KEY not in text, address
            assert "cannot be shown" not in text, address
    assert "‹U+202E›" in browser.get("/inbox").text


def test_secrets_are_masked_and_texts_bounded() -> None:
    """A key that stands in a session is not shown, and no text floods the page."""
    shown = mask_and_bound_untrusted_text(f"the key is {KEY}")

    assert KEY not in shown
    assert len(mask_and_bound_untrusted_text("long " * 100_000)) < 70_000
    assert "‹U+200B›" in mask_and_bound_untrusted_text("a\u200bb")
    split = mask_and_bound_untrusted_text(f"the key is {KEY[:9]}\u200b{KEY[9:]}")
    assert KEY[9:] not in split


@pytest.mark.parametrize(
    "back", ["https://evil.example", "//evil.example", "/\\evil", "/a\r\nx: y"]
)
def test_a_change_leads_back_into_the_page(back: str) -> None:
    """No form makes the page send a browser elsewhere."""
    assert restrict_redirect_to_page(back) == "/now"
    assert restrict_redirect_to_page("/inbox?project=p") == "/inbox?project=p"


def test_the_page_reads_through_the_library() -> None:
    """No module of the page opens a file, knows where one lies, or reads a format; and nothing
    below the page knows of it.
    """
    package = Path(web_server.__file__).parents[1]
    inner = re.compile(
        r"from memorist\.(store\.(files|layout|transcript)|formats\.\w+) import (?!Tr|Comp)"
    )
    pages = [path for path in package.glob("page/*.py") if inner.search(path.read_text("utf-8"))]
    below = [
        path
        for path in package.rglob("*.py")
        if path.parent.name != "page"
        and path.name != "ui_command.py"
        and "memorist.page" in path.read_text("utf-8")
    ]

    assert (pages, below) == ([], [])


def test_each_view_is_a_page_json_and_a_file(browser: TestClient) -> None:
    """Each view opens, says the command that gives the same, and can be kept as one file that
    loads nothing.
    """
    for view in list_navigation_labels():
        page = browser.get(f"/{view}")
        data = browser.get(f"/{view}.json").json()
        kept = browser.get(f"/{view}?save=1")
        assert page.status_code == 200
        assert data["command"].split('"')[0] in page.text
        assert data["command"].startswith("memorist")
        assert "attachment" in kept.headers["content-disposition"]
        assert not re.search(r"<(script|link|img|form|button)|<[^>]* (src|href)=", kept.text)


def test_a_session_is_shown_as_its_model_saw_it(browser: TestClient) -> None:
    """Turn 30 tells what fills the window, what came and went, and leads to the message."""
    page = browser.get(f"/session?id={LONG}&turn=30").text

    assert "What fills the window" in page
    assert "Came and went since the turn before" in page
    assert "Cache breaks" in page
    assert f"/message?id={LONG}&amp;line=59" in page
    assert "PostgreSQL" in browser.get(f"/message?id={LONG}&line=59").text


def test_a_session_tells_its_window_failures_forks_and_memories(browser: TestClient) -> None:
    """Every turn's window by kind of content, what failed and what fixed it, what a model did for
    memorist and at which price, and which memories it was shown.
    """
    view = browser.get(f"/session.json?id={LONG}").json()
    blocks = {each["heading"]: each for each in view["blocks"] if "heading" in each}
    window = blocks["What filled the window, turn by turn"]
    last = dict(zip(window["parts"], window["bars"][-1]["values"], strict=True))

    assert len(window["bars"]) == 34
    assert last["user"] > 400
    assert sum(last.values()) == 400 + 3_000 + 33 * 900 + 900 + 120 + 33
    assert "pytest -q" in str(blocks["What failed, and what fixed it"]["rows"])
    assert "21,000 from cache" in str(
        blocks["Forks and other work by a model, with their receipts"]["rows"]
    )
    assert "use-npm.md" in str(blocks["Memories it was shown"]["rows"])


def test_spend_tells_what_memory_cost_and_saved(browser: TestClient) -> None:
    """In all and in one session: runs, dollars, what the shared cache saved at the model's price,
    and each receipt with the way to its session.
    """
    spend = browser.get("/spend.json").json()
    session = browser.get(f"/session.json?id={LONG}").json()
    numbers = [dict(each["pairs"]) for each in session["blocks"] if each["type"] == "numbers"]

    assert f"/session?id={LONG}" in str(spend["blocks"])
    assert {
        "runs of memorist here": "1",
        "what they cost": "$0.0040",
        "saved by the shared cache": "$0.0189",
    } in numbers


def test_notes_are_shown_as_they_stood(browser: TestClient) -> None:
    """The notes at a turn hold nothing that came later, and name what came with it."""
    before = browser.get(f"/session-notes.json?id={LONG}&turn=29").text
    after = browser.get(f"/session-notes.json?id={LONG}&turn=30").json()
    came = next(each for each in after["blocks"] if each.get("heading", "").startswith("Came"))

    assert "PostgreSQL" not in before
    assert "PostgreSQL" in str(came["rows"])
    assert "cannot be shown" in browser.get(f"/session-notes?id={LONG}&turn=35").text


def test_now_follows_what_runs(browser: TestClient, project: Path) -> None:
    """A session that runs is shown as far as it got, with its window, and again when it grew."""
    path = Path(os.environ["HOME"]) / ".claude" / "projects" / "-p" / f"{LONG}.jsonl"
    before = browser.get("/now.json").json()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    row = rows[0] | {"uuid": "next", "parentUuid": rows[-1]["uuid"]}
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
    after = browser.get("/now.json").json()

    assert "['turn', '34']" in str(before)
    assert "['turn', '35']" in str(after)
    assert "3 changes wait for your word" in str(after)
    assert '<span class="count">3' in browser.get("/spend").text


def test_the_list_of_sessions_tells_what_became_of_each(browser: TestClient) -> None:
    """A session that was extracted stands with its outcome; nothing is claimed of the others."""
    (table,) = (
        each for each in browser.get("/sessions.json").json()["blocks"] if each["type"] == "table"
    )
    outcomes = {
        row["cells"][1]["href"]: row["cells"][table["columns"].index("Outcome")]["text"]
        for row in table["rows"]
    }

    assert outcomes.pop(f"/session?id={LONG}") == "success"
    assert set(outcomes.values()) <= {"—"}


def test_a_past_session_tells_its_outcome_and_what_mended_what(browser: TestClient) -> None:
    """Past sessions are found by what was learned; one tells its tasks, and where that stands."""
    found = browser.get("/past?q=postgresql").text
    view = browser.get(f"/past-session?id={LONG}").text

    assert f"/past-session?id={LONG}" in found
    assert f"/past-session?id={LONG}" not in browser.get("/past?q=mariadb").text
    assert "Choose a database: success" in view
    assert f"/message?id={LONG}&amp;line=59" in view
    assert "passed after a change" in view


def test_what_is_wrong_with_a_memory_is_named(browser: TestClient) -> None:
    """A memory that says what another says is named in the list and on its own view."""
    engine = Memorist(model="structural")
    memory = engine.memory(str(Path.cwd()))
    first = memory.folder.read_memory_file("deploys.md")
    for name in ("one", "two"):
        path = memory.layout.folder / f"{name}.md"
        path.write_text(first.text().replace("name: deploys", f"name: {name}"))
    asyncio.run(engine.close())
    everything = browser.get("/memories.json").json()["blocks"]
    wrong = next(each for each in everything if each.get("heading") == "What is wrong")

    assert "two.md" in str(wrong["rows"])
    assert "What is wrong" in browser.get("/memory?path=two.md").text
    assert "What is wrong" not in browser.get("/memory?path=use-npm.md").text


def test_a_memory_that_is_no_utf_8_is_shown_and_offers_no_form_for_its_text(
    browser: TestClient, project: Path
) -> None:
    """Its bytes are written out, and the page does not end in an error; a form would lose them."""
    engine = Memorist(model="structural")
    folder = engine.memory(str(project)).layout.folder
    asyncio.run(engine.close())
    (folder / "latin.md").write_bytes(b"---\nname: latin\ntype: project\n---\n\nCaf\xe9 au lait.\n")
    page = browser.get("/memory?path=latin.md")

    assert page.status_code == 200
    assert re.search("Caf.{1,8} au lait", page.text)
    assert "save it in UTF-8 with your editor" in page.text
    assert "Change its text" not in page.text
    assert "Forget for good" in page.text


def test_what_holds_in_every_project_is_listed_and_changed_like_the_rest(
    browser: TestClient, access: PageAccess
) -> None:
    """A memory of the user stands below the project's, is found by its words, tells its source, and
    is edited, forgotten and brought back.
    """
    words = ["memory", "add", "--everywhere", "--name", "language", "Answer in German."]
    assert CliRunner().invoke(memorist_group, words).exit_code == 0
    path, address = "everywhere/language.md", "/memory?path=everywhere/language.md"
    listed = browser.get("/memories").text
    assert "Of you, in every project" in listed
    assert "path=everywhere%2Flanguage.md" in listed
    assert "language.md" in browser.get("/memories?q=german").text
    assert "holds in every project" in browser.get(address).text

    fields = {"csrf": access.csrf, "path": path}
    text = "---\nname: language\ndescription: French\ntype: user\n---\n\nAnswer in French.\n"
    seen = version_on_page(browser, address)
    assert post(browser, "edit", text=text, version=seen, **fields) == 303
    assert "Answer in French." in browser.get(address).text
    assert post(browser, "forget", **fields) == 303
    assert "Of you, in every project" not in browser.get("/memories").text
    change = re.search(r'name="change" value="(\w+)"', browser.get(address).text)
    assert change is not None
    assert post(browser, "undo", csrf=access.csrf, change=change[1]) == 303
    assert "Of you, in every project" in browser.get("/memories").text


def test_a_memory_of_a_file_that_changed_is_named_and_confirmed(
    browser: TestClient, access: PageAccess, project: Path
) -> None:
    """It stands in the list with a button that says it is still true, which settles it."""
    (project / "ledger.py").write_text("ROUND = 2\n")
    words = ["memory", "add", "--name", "rounding", "Amounts are rounded in ledger.py, half up."]
    assert CliRunner().invoke(memorist_group, words).exit_code == 0
    assert "What is wrong" not in browser.get("/memories").text
    (project / "ledger.py").write_text("ROUND = 3\n")

    assert "ledger.py changed since" in browser.get("/memories").text
    assert "Still true" in browser.get("/memory?path=rounding.md").text
    assert post(browser, "confirm", path="rounding.md", project="", csrf=access.csrf) == 303
    assert "ledger.py changed since" not in browser.get("/memories").text


def test_machines_are_brought_in_line_by_a_button(
    browser: TestClient, access: PageAccess, tmp_path: Path
) -> None:
    """Without another machine the view says how to begin; with one, a button syncs."""
    assert "shares with no other" in browser.get("/machines").text
    begun = CliRunner().invoke(memorist_group, ["machines", "init", str(tmp_path / "shared")])
    assert begun.exit_code == 0, begun.output
    assert "Bring them in line now" in browser.get("/machines").text
    post(browser, "sync", csrf=access.csrf)
    assert "In line with 0 other machines" in browser.get("/machines").text


def test_the_inbox_accepts_all_of_one_origin_and_undoes(
    browser: TestClient, access: PageAccess
) -> None:
    """What came from one agent is accepted at once, as far as the page showed it; the last change
    can be taken back.
    """
    token = access.csrf
    fields = {"csrf": token, "origin": "import from Codex"}
    first, *shown = ids_on_button(browser)  # as if one had come since
    assert post(browser, "accept-origin", ids=" ".join(shown), **fields) == 303
    assert "Accepted 2: import from Codex" in browser.get("/inbox").text
    assert ids_on_button(browser) == [first]
    assert post(browser, "accept-origin", ids=first, **fields) == 303
    assert "codex-2.md" in json.dumps(browser.get("/memories.json").json())

    change = re.search(r'name="change" value="(\w+)"', browser.get("/inbox").text)
    assert change is not None
    assert post(browser, "undo", csrf=token, change=change[1]) == 303
    assert "Taken back" in browser.get("/inbox").text


def test_the_inbox_names_what_was_said_otherwise_since_and_leaves_it_out_of_all(
    browser: TestClient, access: PageAccess
) -> None:
    """It is accepted by its own button alone, which stands below the later words."""
    words = ["memory", "add", "The service 1 listens on 900"]
    assert CliRunner().invoke(memorist_group, words).exit_code == 0
    shown = browser.get("/inbox").text
    assert shown.count("you said otherwise since") == 1
    assert "Accept all 2: import from Codex" in shown

    fields = {"csrf": access.csrf, "origin": "import from Codex"}
    assert post(browser, "accept-origin", ids=" ".join(ids_on_button(browser)), **fields) == 303

    listed = json.dumps(browser.get("/memories.json").json())
    assert "codex-2.md" in listed
    assert "codex-1.md" not in listed
    assert "you said otherwise since" in browser.get("/inbox").text


def test_what_was_said_otherwise_since_is_accepted_only_by_a_button_that_says_so(
    browser: TestClient, access: PageAccess
) -> None:
    """Also where the words came after the page was shown."""
    shown = browser.get("/inbox").text
    ids = re.findall(r'name="id" value="([^"]+)"', shown)
    words = "The service 1 listens on 900"
    assert CliRunner().invoke(memorist_group, ["memory", "add", words]).exit_code == 0

    for id in dict.fromkeys(ids):
        post(browser, "accept", csrf=access.csrf, id=id)

    assert "codex-1.md" not in json.dumps(browser.get("/memories.json").json())
    left = browser.get("/inbox").text
    assert "Accept all the same" in left
    (id,) = set(re.findall(r'name="id" value="([^"]+)"', left))
    post(browser, "accept", csrf=access.csrf, id=id, despite=words)
    assert "codex-1.md" in json.dumps(browser.get("/memories.json").json())


def test_a_memory_tells_its_source_and_is_edited_and_forgotten(
    browser: TestClient, access: PageAccess
) -> None:
    """Blame leads to the quoted words; an edit, forgetting and forgetting for good do what they
    say.
    """
    page = browser.get("/memory?path=use-npm.md").text
    assert "“always use npm here”" in page
    fields = {"csrf": access.csrf, "path": "deploys.md"}
    text = "---\nname: deploys\ndescription: On Mondays\ntype: project\n---\n\nOn Mondays.\n"
    seen = version_on_page(browser, "/memory?path=deploys.md")
    assert post(browser, "edit", text=text, version=seen, **fields) == 303
    assert "On Mondays" in browser.get("/memory?path=deploys.md").text
    later = text.replace("Mondays", "Fridays")
    assert post(browser, "edit", text=later, version=seen, **fields) == 303
    assert post(browser, "edit", text=later, version="", **fields) == 303
    page = browser.get("/memory?path=deploys.md").text
    assert "was changed after you saw the text" in page
    assert "On Fridays" not in page
    assert "On Fridays" in browser.get("/inbox").text
    assert "Thursdays" in browser.get("/memory?path=deploys.md&at=1").text
    assert post(browser, "forget", **fields) == 303
    assert "It is forgotten" in browser.get("/memory?path=deploys.md").text
    assert post(browser, "forget-hard", version="", **fields) == 303
    assert "cannot be shown" in browser.get("/memory?path=deploys.md").text


def test_a_file_that_is_too_large_is_named_as_such(browser: TestClient, project: Path) -> None:
    """The list links to it; its view says what is wrong with it, and the check nothing else."""
    engine = Memorist(model="structural")
    path = engine.memory(str(project)).layout.folder / "large.md"
    asyncio.run(engine.close())
    path.write_text(f"---\nname: large\ntype: project\n---\n\n{'x' * 1_000_000}\n")

    assert "more than a memory may have" in browser.get("/memory?path=large.md").text
    found = CliRunner().invoke(memorist_group, ["memory", "check"]).output
    assert "is neither searched nor recorded" in found
    assert "not there" not in found


def test_what_another_tab_wrote_is_not_forgotten_for_good(
    browser: TestClient, access: PageAccess
) -> None:
    """The button takes the text that its user saw, and says so where there is another one now."""
    address, fields = "/memory?path=deploys.md", {"csrf": access.csrf, "path": "deploys.md"}
    seen = version_on_page(browser, address)
    text = "---\nname: deploys\ntype: project\n---\n\nOn Mondays.\n"
    assert post(browser, "edit", text=text, version=seen, **fields) == 303
    assert post(browser, "forget-hard", version=seen, **fields) == 303
    assert "was changed after you saw it" in browser.get("/memories").text
    assert "On Mondays" in browser.get(address).text

    seen = version_on_page(browser, address)
    assert post(browser, "forget-hard", version=seen, **fields) == 303
    assert "cannot be shown" in browser.get(address).text


def test_the_field_for_a_text_shows_it_in_its_order(browser: TestClient, project: Path) -> None:
    """Characters that turn the direction are not in the field, and saving what it shows takes them
    out of the file.
    """
    engine = Memorist(model="structural")
    path = engine.memory(str(project)).layout.folder / "turned.md"
    asyncio.run(engine.close())
    path.write_text("---\nname: turned\ntype: project\n---\n\nRun \u202egnp.exe now.\n")
    page = browser.get("/memory?path=turned.md").text

    assert "Run ‹U+202E›gnp.exe now." in page
    assert "Run gnp.exe now." in page
    assert "\u202e" not in page


def test_a_dream_is_taken_back(browser: TestClient, access: PageAccess) -> None:
    """The button of the view Dreams takes the newest dream back."""
    change = re.search(r'name="change" value="(\w+)"', browser.get("/dreams").text)
    assert change is not None
    assert post(browser, "undo", csrf=access.csrf, change=change[1]) == 303
    assert "taken back" in browser.get("/dreams").text


def test_why_tells_what_would_be_shown_and_what_not(browser: TestClient) -> None:
    """A typed message is judged as the agent's would be."""
    page = browser.get("/why?message=install+the+packages+with+npm").text

    assert "Would be shown" in page
    assert "use-npm.md" in page


def test_why_tells_what_was_said_before(browser: TestClient) -> None:
    """A message brings back the user's own words of a past session, on the page as by the command,
    with the way to where they stand.
    """
    prompt = "why did we want PostgreSQL, not SQLite, for the orders?"
    assert CliRunner().invoke(memorist_group, ["search", "PostgreSQL"]).exit_code == 0
    told = CliRunner().invoke(memorist_group, ["recall", prompt, "--json"]).output
    page = browser.get("/why", params={"message": prompt}).text

    (said,) = json.loads(told)["past"]
    assert "PostgreSQL" in said["said"]
    assert f"/message?id={said['session']}&amp;line={said['line']}" in page


def test_bad_queries_get_a_clear_answer(browser: TestClient) -> None:
    """What is not there is told, and nothing breaks."""
    assert browser.get("/nowhere").status_code == 404
    assert browser.get("/sessions?page=x").status_code == 404
    assert "cannot be shown" in browser.get("/session?id=none").text
    assert "cannot be shown" in browser.get(f"/session?id={LONG}&turn=99").text


def test_a_forgotten_page_ends_by_itself(
    access: PageAccess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that nobody looks at ends, though a browser still follows its live view."""
    listening = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listening.getsockname()[1]}"
    lines: list[str] = []

    def follow() -> None:
        with httpx.Client(base_url=base, follow_redirects=True, timeout=60) as client:
            client.get(access.start_address.removeprefix(f"http://127.0.0.1:{PORT}"))
            with client.stream("GET", "/now/stream") as stream:
                for line in stream.iter_lines():
                    lines.append(line)
                    monkeypatch.setattr(web_server, "MAX_IDLE_SECONDS", -1.0)

    browser = threading.Thread(target=follow)
    browser.start()
    web_server.serve_page(PageServer(access), listening)
    browser.join()

    assert lines[0] == "event: now"


def test_a_live_view_goes_on_once_it_can_be_shown_again(
    access: PageAccess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a settings file is being edited, which ended it with a traceback."""
    monkeypatch.setattr(web_server, "STREAM_INTERVAL_SECONDS", 0.01)
    settings = Path(os.environ["MEMORIST_HOME"]) / "config.toml"
    failed = threading.Event()
    build = web_server._build_view

    def build_view(name: str, query: dict[str, str]) -> PageView:
        try:
            return build(name, query)
        except SettingsError:
            failed.set()
            raise

    monkeypatch.setattr(web_server, "_build_view", build_view)
    listening = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listening.getsockname()[1]}"
    lines: list[str] = []

    def follow() -> None:
        with httpx.Client(base_url=base, follow_redirects=True, timeout=60) as client:
            client.get(access.start_address.removeprefix(f"http://127.0.0.1:{PORT}"))
            settings.write_text("recall = [")
            with (
                contextlib.suppress(httpx.HTTPError),
                client.stream("GET", "/now/stream") as stream,
            ):
                assert failed.wait(60)
                settings.unlink()
                for line in stream.iter_lines():
                    lines.append(line)
                    monkeypatch.setattr(web_server, "MAX_IDLE_SECONDS", -1.0)
            monkeypatch.setattr(web_server, "MAX_IDLE_SECONDS", -1.0)

    browser = threading.Thread(target=follow)
    browser.start()
    web_server.serve_page(PageServer(access), listening)
    browser.join()

    assert "event: now" in lines


def test_two_calls_of_one_size_cost_twice() -> None:
    """Each reply of a recorded session is counted, whatever the numbers of another."""
    usage = Usage(input=1_000_000, output=1)
    calls = [
        Message(
            id=f"a{number}",
            role="assistant",
            blocks=(),
            origin=Origin.MODEL,
            model="claude-sonnet-4-5",
            reply_id=f"msg_{number}",
            usage=usage,
        )
        for number in range(2)
    ]
    said = Message(
        id="u", role="user", blocks=(TextBlock("go"),), origin=Origin.USER, is_typed=True
    )
    costs = [build_session_timeline([said, *calls[:count]]).turns[0].cost for count in (1, 2)]

    assert costs[0] > 0
    assert costs[1] == pytest.approx(2 * costs[0])


def test_what_was_done_is_said_to_who_did_it(browser: TestClient, access: PageAccess) -> None:
    """A live view that renews itself meanwhile does not swallow the word on a change."""
    post(browser, "forget", path="deploys.md", project="", csrf=access.csrf)

    assert "Forgotten" not in browser.get("/now.json").text
    assert "Forgotten" in browser.get("/memories").text
    assert "Forgotten" not in browser.get("/memories").text


def test_the_scripts_are_those_of_their_packages() -> None:
    """The vendored scripts are the published ones, with their licences."""
    folder = files("memorist.views").joinpath("static")
    found = {
        name: hashlib.sha256(folder.joinpath(name).read_bytes()).hexdigest() for name in VENDORED
    }

    assert found == VENDORED
    assert "htmx.org 2.0.11" in folder.joinpath("LICENSE.txt").read_text("utf-8")
