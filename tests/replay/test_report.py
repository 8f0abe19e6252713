"""The page that a replay leaves."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as some
from msgspec.structs import replace

from memorist.core.messages import Usage
from memorist.formats.transcript_format import RepairedLine, SessionHead, SkippedLine
from memorist.replay.replay_results import (
    CommandUse,
    CompactionRecord,
    ContextPoint,
    FailureAndFix,
    FileUse,
    NotesUpdateRecord,
    ReceiptTotals,
    ReplayedSessionRecord,
    ReplayRunSessions,
)
from memorist.replay.replay_tables import describe_background_cost, get_session_title, render_report
from memorist.views.page_rendering import render_markdown_html

VOID = {"meta", "input", "br", "hr", "link", "img"}
PLAIN = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "nav", "section", "div", "p", "span", "small", "a", "code", "pre",
    "h1", "h2", "h3", "h4", "h5", "h6", "dl", "dt", "dd", "ul", "ol", "li", "em", "strong", "s", "blockquote", "hr", "br", "fieldset", "legend",
    "input", "label", "figure", "figcaption", "table", "thead", "tbody", "tr", "th", "td", "details", "summary",
    "svg", "desc", "g", "line", "text", "path", "polyline", "circle",
}  # fmt: skip
HOSTILE = [
    "<script>alert(1)</script>",
    "</title></svg></style></pre></textarea><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" style="background:url(https://evil.example/x)',
    "'><iframe src=javascript:alert(1)></iframe>",
    "]]><!-- --><![CDATA[",
    "{{ 7 * 7 }}{% raw %}",
    "\u202egnp.exe\u2066\u200f",
    "\x1b[31mred\x1b[0m\x00\x07",
    "half \ud83d",
    "&lt;b&gt; &amp;amp;",
    "[a](javascript:alert(1)) ![b](https://evil.example/i.png) <https://evil.example>\n\n[r]: "
        "https://evil.example\n\n[r]",
    '```html\n<script>alert(1)</script>\n```\n~~~" onclick="x',
]  # fmt: skip


class Page(HTMLParser):
    """A page as its elements, and its words by the element that holds them. Elements must be closed
    in their turn.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[tuple[tuple[str, ...], str]] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element that holds nothing."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        """Every element is closed in its turn."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note words."""
        self.words.append((tuple(self._open), data))

    @property
    def text(self) -> str:
        """All words, single-spaced."""
        return " ".join(" ".join(data for path, data in self.words if "style" not in path).split())

    def count(self, tag: str, **named: str) -> int:
        """How many such elements there are."""
        return sum(
            name == tag and named.items() <= attributes.items()
            for name, attributes in self.elements
        )


def session(**changes: object) -> ReplayedSessionRecord:
    """A small session in which everything happened once; `changes` replace what a test is about."""
    whole = ReplayedSessionRecord(
        source="/home/someone/sessions/first.jsonl",
        head=SessionHead(
            session="abc",
            format="claude_code",
            cwd="/home/someone/importer",
            model="claude-x",
            version="2.0.1",
            branch="fix",
            started=1.75e9,
        ),
        records=44,
        skipped=(SkippedLine(7, "not JSON"),),
        mended=(RepairedLine(9, "half a pair"),),
        asides={"progress": 12, "system": 3},
        messages=30,
        turns=4,
        tokens_peak=54_321,
        points=tuple(ContextPoint(number, number * 1_800) for number in range(1, 31)),
        updates=(
            NotesUpdateRecord(
                "m8", 8, 17, 14_400, "it grew", "structural", 800, ("a header was put back",)
            ),
        ),
        final=NotesUpdateRecord("m30", 30, 61, 54_000, "the end", "structural", 1_234),
        compactions=(CompactionRecord(20, 41, "auto", 36_000, 9_000),),
        kinds={"user": 300, "tool results": 700, "images": 0},
        files=(FileUse("read.py", 3, 0), FileUse("changed.py", 1, 2)),
        commands=(CommandUse("make test", 5, 2, "2 failed"),),
        troubles=(
            FailureAndFix("make build", "no rule", "make all"),
            FailureAndFix("ls x", "no such file", ""),
        ),
        notes="# Session Title\n_Five words._\n\n<!-- structural -->\nMend the importer\n\n# "
        "Worklog\n\n- read **it**\n",
        notes_path="out/first/summary.md",
        receipts=ReceiptTotals(),
        seconds=0.25,
    )
    return replace(whole, **changes)


def page(*sessions: ReplayedSessionRecord) -> Page:
    """The report of these sessions, read."""
    return Page(render_report(ReplayRunSessions(version="1.2.3", model="", sessions=sessions)))


def hostile(text: str) -> ReplayedSessionRecord:
    """A session that says the text wherever a session can say anything."""
    return session(
        source=f"/x/{text}",
        head=SessionHead(
            session=text, format=text, cwd=text, model=text, version=text, branch=text, title=text
        ),
        skipped=(SkippedLine(1, text),),
        mended=(RepairedLine(1, text),),
        asides={text: 1},
        updates=(NotesUpdateRecord(text, 3, 4, 9_000, text, text, 5, (text,)),),
        compactions=(CompactionRecord(5, 6, text, 7, 8),),
        kinds={text: 9},
        files=(FileUse(text, 1, 1),),
        commands=(CommandUse(text, 1, 1, text),),
        troubles=(FailureAndFix(text, text, text),),
        notes=f"# {text}\n\n{text}\n\n- {text}\n\n| a |\n|---|\n| {text} |\n\n{text}",
        notes_path=text,
    )


@pytest.mark.covers("SF-3")
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_inert_wherever_it_stands(text: str) -> None:
    """No element, attribute or address of the page comes from a session, and nothing turns or hides
    its text.
    """
    html = render_report(
        ReplayRunSessions(version=text, model=text, sessions=(hostile(text), hostile(text)))
    )

    read = Page(html)
    assert {tag for tag, _ in read.elements} <= PLAIN
    names = {name for _, named in read.elements for name in named}
    assert not [name for name in names if name.startswith("on")]
    assert not names & {"src", "srcset", "action", "formaction", "xlink:href"}
    assert {named["href"] for _, named in read.elements if "href" in named} == {"#s1", "#s2"}
    assert not {named["style"] for _, named in read.elements if "style" in named}
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", html
    )
    html.encode("utf-8")


@given(text=some.text(max_size=80) | some.text("<>&\"'`*_[]()#|-~!\\ \n{}%x", max_size=80))
def test_no_notes_make_markup_of_their_own(text: str) -> None:
    """Whatever the notes hold, only headings, lists, tables, emphasis and code come of it, and the
    page stays well formed.
    """
    read = Page(render_markdown_html(text))

    assert {tag for tag, _ in read.elements} <= PLAIN
    assert {name for _, named in read.elements for name in named} <= {"class", "start", "style"}


def test_hostile_words_can_still_be_read() -> None:
    """Escaping loses nothing: the page shows what stood there."""
    read = page(session(commands=(CommandUse("echo '<b>' \u202etxt", 1, 0, "\x1b[31m<b>\x1b[0m"),)))

    assert "echo '<b>' ‹U+202E›txt" in read.text
    assert any(data == "<b>" for path, data in read.words if "td" in path)


def test_the_page_needs_nothing_from_outside_and_no_script() -> None:
    """One file: no address but anchors, no script, and a policy that refuses both."""
    html = render_report(ReplayRunSessions(version="1", model="", sessions=(session(), session())))
    read = Page(html)

    assert read.count("script") == read.count("link") == read.count("img") == 0
    assert all(named["href"].startswith("#") for _, named in read.elements if "href" in named)
    assert set(re.findall(r"https?://[^\s\"'<]*", html)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"url\(|@import", html)
    assert (
        read.count(
            "meta",
            content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
            "form-action 'none'",
        )
        == 1
    )


def test_every_anchor_leads_somewhere_and_every_id_is_its_own() -> None:
    """Links and labels inside the page hold, with several sessions too."""
    read = page(session(), session(), session())

    ids = [named["id"] for _, named in read.elements if "id" in named]
    wanted = {named["href"][1:] for _, named in read.elements if "href" in named}
    wanted |= {named["for"] for _, named in read.elements if "for" in named}
    wanted |= {
        each for _, named in read.elements for each in named.get("aria-labelledby", "").split()
    }
    assert len(ids) == len(set(ids))
    assert wanted <= set(ids)


def test_counts_agree_with_the_record() -> None:
    """Each key number is the record's."""
    text = page(session()).text

    for said in (
        "messages 30", "turns 4", "tokens at the peak 54,321", "updates of the notes 1", "tokens of notes 1,234", "compactions 1",
        "lines skipped 1", "lines mended 1", "1 file changed, 2 files read.", "5 runs of 1 command, 2 failures.",
        "44 lines with content: 1 skipped, 1 mended, 15 beside the conversation.", "Replayed in 0.25 s.",
    ):  # fmt: skip
        assert said in text


def test_totals_are_the_sums_of_the_sessions() -> None:
    """The header of several sessions adds them up."""
    text = page(session(), session(messages=1_000, turns=6, tokens_peak=7)).text

    assert (
        "sessions 2 messages 1,030 turns 10 tokens at the highest peak 54,321 updates of the "
        "notes 2 compactions 2" in text
    )


def test_where_the_session_comes_from_is_told_without_its_folders() -> None:
    """File, format, model, folder, branch and date are there; the rest of the paths is not."""
    text = page(session(notes_path="")).text

    assert (
        "File first.jsonl Format Claude Code 2.0.1 Model claude-x Folder importer Branch fix "
        "Started 2025-06-15 15:06 UTC" in text
    )
    assert "/home/someone" not in text


def test_one_session_needs_no_overview_and_several_have_one() -> None:
    """The overview links to each session."""
    one, three = page(session()), page(session(), session(), session())

    assert one.count("a") == 0
    assert [named["href"] for tag, named in three.elements if tag == "a"] == ["#s1", "#s2", "#s3"]


def test_every_update_is_listed_and_marked() -> None:
    """The table has each update and the one at the end; both pictures have each update."""
    updates = tuple(
        NotesUpdateRecord(f"m{n}", n, n * 2, n * 1_800, f"reason {n}", "structural", 10)
        for n in range(1, 29)
    )

    read = page(session(updates=updates))

    words = read.text
    assert all(
        f"{n} {n} {n * 2} {n * 1_800:,} 10 reason {n} structural" in words for n in range(1, 29)
    )
    assert "end 30 61 54,000 1,234 the end" in words
    assert read.count("g", **{"class": "update"}) == 2 * len(updates)


def test_changed_files_come_first() -> None:
    """What was changed matters more than what was read."""
    text = page(session()).text

    assert text.index("changed.py 2 1") < text.index("read.py 0 3")


def test_a_failure_says_what_mended_it_or_that_nothing_did() -> None:
    """Neither is left to be guessed."""
    text = page(session()).text

    assert "make build no rule make all" in text
    assert "ls x no such file nothing that the record shows" in text


def test_a_long_table_hides_its_end_and_loses_none_of_it() -> None:
    """After fifteen rows the rest waits behind a summary."""
    commands = tuple(CommandUse(f"run {n}", 1, 0, "") for n in range(40))

    read = page(session(commands=commands))

    rows = [
        (path, data)
        for path, data in read.words
        if "code" in path and re.fullmatch(r"run \d+", data)
    ]
    assert [data for _, data in rows] == [f"run {n}" for n in range(40)]
    assert [("details" in path) for path, _ in rows] == [False] * 15 + [True] * 25
    assert "25 more commands" in read.text


def test_a_very_long_cell_is_cut_and_says_so() -> None:
    """A megabyte of output is not a table cell."""
    html = render_report(
        ReplayRunSessions(
            version="1",
            model="",
            sessions=(session(commands=(CommandUse("c", 1, 1, "x" * 1_000_000),)),),
        )
    )

    assert len(html) < 100_000
    assert "(999,600 more characters)" in html


def test_the_notes_are_shown_and_kept_as_source() -> None:
    """Rendered for reading, and the Markdown itself beside it."""
    read = page(session())

    assert "it" in [data for path, data in read.words if "strong" in path]
    assert read.count("span", **{"class": "badge"}) == 1
    source = "".join(data for path, data in read.words if "pre" in path)
    assert source == session().notes
    assert [data for path, data in read.words if path[-1:] == ("h4",)] == [
        "Session Title",
        "Worklog",
    ]


def test_links_in_notes_are_shown_as_text() -> None:
    """Where a link leads can be read; it cannot be followed by chance."""
    html = render_markdown_html(
        "See [the page](https://example.org/a) and <https://example.org/b> and "
        "![i](https://example.org/c.png)"
    )

    read = Page(html)
    assert read.count("a") == read.count("img") == 0
    assert (
        read.text == "See [the page](https://example.org/a) and <https://example.org/b> and "
        "![i](https://example.org/c.png)"
    )


def test_the_structural_mark_in_code_stays_code() -> None:
    """Only the mark itself becomes a badge, not its quotation."""
    assert "badge" not in render_markdown_html(
        "```\n<!-- structural -->\n```\n\nand `<!-- structural -->`"
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Mend the importer"),
        ({"notes": "# Session Title\n_Five words._\n**A bold name**\n"}, "A bold name"),
        ({"notes": "# Session Title\n_Five words._\n\n# Worklog\n- x"}, "From the file"),
        ({"notes": "", "head": SessionHead(session="abc", format="codex")}, "abc"),
        ({"notes": "", "head": SessionHead(session="", format="codex")}, "first.jsonl"),
    ],
)
def test_a_session_has_the_best_title_there_is(changes: dict[str, object], expected: str) -> None:
    """The notes' title, else the file's, else the id, else the file's name."""
    assert (
        get_session_title(
            session(
                **(
                    {"head": SessionHead(session="abc", format="codex", title="From the file")}
                    | changes
                )
            )
        )
        == expected
    )


@pytest.mark.parametrize(
    ("receipts", "said"),
    [
        (ReceiptTotals(), "0 requests, $0.00: no model was used"),
        (
            ReceiptTotals(requests=1, usage=Usage(input=5, output=7), cost_usd=0.0031),
            "1 request, $0.0031: 5 tokens in, 7 out",
        ),
        (
            ReceiptTotals(
                requests=2, usage=Usage(input=10, cache_read=1_000, output=7), cost_usd=1.5
            ),
            "2 requests, $1.50: 1,010 tokens in, 1,000 of them from the cache, 7 out",
        ),
        (
            ReceiptTotals(requests=2, cost_usd=None),
            "2 requests, cost not known: 0 tokens in, 0 out",
        ),
    ],
)
def test_background_work_is_told_with_its_cost(receipts: ReceiptTotals, said: str) -> None:
    """Requests, dollars and tokens, and an unknown price is not called zero."""
    assert describe_background_cost(receipts) == said
    assert said in page(session(receipts=receipts)).text


def test_a_session_without_anything_has_a_page() -> None:
    """What is not there is told as not there, by section; a file without a conversation in one
    sentence; a replay of nothing too.
    """
    bare = session(
        skipped=(), mended=(), asides={}, points=(), updates=(), final=None, compactions=(), kinds={}, files=(), commands=(), troubles=(), notes="",
    )  # fmt: skip

    text = page(bare).text

    for said in (
        "nothing to draw",
        "None: the context",
        "There are no notes.",
        "No file was read",
        "No command was run.",
        "Nothing failed.",
    ):
        assert said in text
    assert page(bare).count("table") == 0
    assert (
        "The file holds no message of a conversation. Lines of the file 44 lines"
        in page(replace(bare, messages=0)).text
    )
    assert "There was no session" in page().text


def colours(css: str) -> list[dict[str, str]]:
    """The colours of each scheme: light, dark by the system, dark by choice."""
    return [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})\b", block))
        for block in re.findall(r":root[^{]*\{([^}]*)\}", css)
    ]


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2.2, from 1 to 21."""

    def light(colour: str) -> float:
        parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_both_colour_schemes_are_there_and_can_be_chosen() -> None:
    """The system's wish holds until the reader chooses; the choice needs no script."""
    html = render_report(ReplayRunSessions(version="1", model="", sessions=(session(),)))
    light, dark, chosen = colours(html)

    assert "prefers-color-scheme: dark" in html
    assert dark == chosen
    assert light.keys() == dark.keys()
    assert light["paper"] != dark["paper"]
    assert Page(html).count("input", type="radio", name="theme") == 3


def test_words_and_marks_stand_out_in_both_schemes() -> None:
    """WCAG AA: 4.5 for text on paper and panel, 3 for what a picture is made of."""
    for scheme in colours(
        render_report(ReplayRunSessions(version="1", model="", sessions=(session(),)))
    ):
        for ground in ("paper", "panel"):
            assert all(
                contrast(scheme[name], scheme[ground]) >= 4.5 for name in ("text", "quiet", "link")
            )
        assert all(
            contrast(scheme[name], scheme["paper"]) >= 3
            for name in ("accent", "mark", "mark-edge", "start")
        )


def test_a_large_replay_makes_a_page_of_bounded_size() -> None:
    """Sixty sessions of two thousand points stay a file that a browser opens at once."""
    points = tuple(ContextPoint(number, number * 37 % 150_000) for number in range(1, 2_001))
    large = session(points=points, messages=2_000)

    html = render_report(ReplayRunSessions(version="1", model="", sessions=(large,) * 60))

    assert len(html) < 4_000_000
