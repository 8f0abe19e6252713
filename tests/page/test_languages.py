"""The page speaks the reader's language, and every word of its own can be translated."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from memorist.page.page_access import PageAccess
from memorist.page.web_server import PageServer
from memorist.views import page_texts
from memorist.views.page_rendering import list_navigation_labels
from memorist.views.page_texts import LANGUAGES, choose_language, load_catalogue
from support.page_home import LONG, make_home

PACKAGE = Path(page_texts.__file__).parents[1]
ADDRESS = "http://127.0.0.1:8765"
DETAILS = (
    f"session?id={LONG}&turn=30",
    f"session-notes?id={LONG}&turn=30",
    f"past-session?id={LONG}",
    f"message?id={LONG}&line=59",
    "memory?path=use-npm.md",
    "memory?path=use-npm.md&at=1",
    "why?message=install+with+npm",
    "memories?q=npm",
    "nowhere.else",
)
OWN_WORDS = {"th", "button", "label", "dt", "legend", "summary", "h2", "h3", "figcaption"}
"""Elements that hold words of the page itself, never only text of a session."""


DATA = {"Choose a database: success", "Claude Code, project", "use-npm.md"}
"""What stands in such an element and is of the session or the memory."""


class OwnTexts(HTMLParser):
    """Collects what stands in elements that are the page's own."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        names = dict(attrs).get("class") or ""
        own = tag in OWN_WORDS or names in {"lead", "nothing", "skip", "same"}
        if own:
            self.found.append("")
        self._open.append(tag if own else "")
        if tag in {"input", "meta", "link", "rect", "br"}:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if self._open and tag not in {"input", "meta", "link", "rect", "br"}:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if any(self._open):
            self.found[-1] += data


@pytest.fixture
def access(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PageAccess:
    """The tokens of the page of a project with memories."""
    make_home(tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    return PageAccess(8765)


def open_page(access: PageAccess, language: str = "", accepted: str = "") -> Iterator[TestClient]:
    app = PageServer(access, language).build_asgi_app()
    headers = {"accept-language": accepted}
    with TestClient(app, ADDRESS, headers=headers) as client:
        client.get(access.start_address)
        yield client


def list_messages() -> Iterator[str]:
    """Every text that the views and templates hand to the catalogue, by its key."""
    for path in sorted([*PACKAGE.glob("page/*.py"), *PACKAGE.glob("views/*.py")]):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                kept = {
                    "translate": node.args[:1],
                    "translate_each": node.args,
                    "translate_count": node.args[1:2],
                }
                for each in kept.get(node.func.id, ()):
                    if isinstance(each, ast.Constant):
                        yield str(each.value)
    for path in PACKAGE.glob("views/*.j2"):
        yield from re.findall(r"translate\('([^']*)'\)", path.read_text("utf-8"))


def placeholders(text: str) -> set[tuple[str, str | None]]:
    return {(name, spec) for _, name, spec, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("language", [each for each in LANGUAGES if each != "en"])
def test_a_catalogue_has_every_text_with_its_values(language: str) -> None:
    """No text of the page lacks a translation, none is left over, and each translation has the
    places for values that the English text has; one form of a plural may leave the count out.
    """
    catalogue = load_catalogue(language)

    assert catalogue.keys() == set(list_messages())
    for message, translated in catalogue.items():
        forms = translated if isinstance(translated, list) else [translated]
        assert placeholders(forms[-1]) == placeholders(message), message
        assert all(placeholders(form) <= placeholders(message) for form in forms), message


def test_every_word_of_the_page_comes_from_the_catalogue(
    access: PageAccess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a made-up language that puts signs around each text, no heading, column, label, button
    or hint of any view stands without them.
    """

    class Marked(dict[str, str]):
        def get(self, message: str, default: object = None) -> str:
            del default
            return f"⟦{message}⟧"

    monkeypatch.setitem(LANGUAGES, "qps", lambda count: 0)
    monkeypatch.setattr(page_texts, "load_catalogue", lambda language: Marked())
    bare = []
    for client in open_page(access, "qps"):
        for view in (*list_navigation_labels(), *DETAILS):
            page = OwnTexts()
            page.feed(client.get(f"/{view}").text)
            shown = (" ".join(text.split()) for text in page.found)
            shown = (text for text in shown if text not in DATA)
            bare += [
                (view, text) for text in shown if re.search("[A-Za-z]{2}", text) and "⟦" not in text
            ]
    assert bare == []


def test_the_page_speaks_the_language_that_the_browser_prefers(access: PageAccess) -> None:
    """A page, what a button did, and a saved file are in German; JSON is for programs and stays as
    it is.
    """
    for client in open_page(access, accepted="de-CH,de;q=0.9,en;q=0.5"):
        page = client.get("/memories").text
        assert '<html lang="de">' in page
        assert "Erinnerungen" in page
        assert "Zuletzt gezeigt" in page
        assert '<html lang="de">' in client.get("/spend?save=1").text
        assert client.get("/memories.json").json()["title"] == "Memories"
        form = {"origin": ADDRESS}
        fields = {"csrf": access.csrf, "path": "deploys.md", "back": "/memories"}
        assert "Vergessen; " in client.post("/do/forget", data=fields, headers=form).text


def test_a_language_can_be_chosen_for_one_run(access: PageAccess) -> None:
    """What was chosen goes before what the browser prefers."""
    for client in open_page(access, "en", accepted="de"):
        assert '<html lang="en">' in client.get("/now").text


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("fr, nl", "en"),
        ("fr, de;q=0.2", "de"),
        ("en;q=0.8, de-AT;q=0.9", "de"),
        ("de;q=0", "en"),
        ("DE", "de"),
        ("de;q=x, *;q=1, \x00", "en"),
        (",;;q=,=" * 5_000, "en"),
    ],
)
def test_a_language_is_chosen_from_any_header(accepted: str, language: str) -> None:
    """By weight among those there are; English for what names none or cannot be read."""
    assert choose_language(accepted) == language
