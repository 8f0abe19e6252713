"""What the pages say of typed sentences holds: each example is kept, waits, or is left alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist import Memorist
from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
from memorist.core.messages import Message, Origin, TextBlock

pytestmark = pytest.mark.covers("WD-1")

PAGES = Path(__file__).parents[2] / "docs"
EXAMPLE = re.compile(r"`([^`]+)`|\"([^\"]+)\"|(勝手に消すな)")


def _read_part(page: str, heading: str, pattern: str) -> str:
    text = (PAGES / f"{page}.md").read_text("utf-8").partition(f"{heading}\n")[2]
    found = re.search(pattern, text, re.MULTILINE | re.DOTALL)
    assert found is not None, heading
    return found[1]


def _list_examples() -> Iterator[tuple[str, str]]:
    """Each whole sentence with what becomes of it; one with an ellipsis is a form, not a sentence."""
    table = _read_part("auto-memory", "### Kept at once or waiting", r"^\| said [^\n]*\n(.*?)\n\n")
    cells = [row.split("|") for row in table.splitlines()[1:]]
    rows = [(said, outcome.strip()) for _, said, outcome, *_ in cells]
    found = _read_part("extraction", "## What is found", r"^No \"remember\"[^\n]*\n\n(.*?)\n\n")
    waits = _read_part("extraction", "## What waits", r"^\| found [^\n]*\n(.*?)^\| a lone")
    rows += [(found, "kept"), (waits, "waits")]
    for cell, outcome in rows:
        for match in EXAMPLE.finditer(cell):
            sentence = next(filter(None, match.groups()))
            if "…" not in sentence and "/" not in sentence:
                yield sentence, outcome


@pytest.mark.parametrize(("sentence", "outcome"), list(_list_examples()))
def test_a_sentence_of_the_pages_is_treated_as_they_say(sentence: str, outcome: str) -> None:
    """A user who types it sees what the page promised."""
    message = Message(
        id="m1", role="user", blocks=(TextBlock(sentence),), origin=Origin.USER, is_typed=True
    )
    waits = "waits" if find_unconfirmed_statements(message) else "neither"

    assert ("kept" if find_statements(message) else waits) == outcome


def _list_contradictions() -> Iterator[tuple[str, str, str]]:
    """What is there, what the user says, and what happens."""
    part = "## Contradictions"
    table = _read_part("auto-memory", part, r"^\| there is [^\n]*\n(.*?)\n\n")
    for row in table.splitlines()[1:]:
        _, there, said, outcome, *_ = (cell.strip(" `") for cell in row.split("|"))
        yield there, said, re.split(r"[ :,]", outcome)[0]
    replaced = _read_part("auto-memory", part, r"^(- .*?)\n\n")
    for said, there in re.findall(r"^- `?(.+?)`? replaces `?(.+?)`?$", replaced, re.MULTILINE):
        yield there, said, "the"


@pytest.mark.parametrize(("there", "said", "outcome"), list(_list_contradictions()))
def test_a_contradiction_of_the_page_ends_as_it_says(
    tmp_path: Path, there: str, said: str, outcome: str
) -> None:
    """`the` new one replaces the old, `only` a part of it goes, `one` memory is left of two alike
    or where the new one waits, or `both` stay, as they do where `nothing` happens.
    """
    with Memorist(model="structural", home=tmp_path) as engine:
        memory = engine.memory("/home/dev/shop")
        memory.add(there)
        with engine.open("s1", project="/home/dev/shop") as session:
            messages: list[dict[str, object]] = [{"role": "user", "content": said}]
            session.prepare({"model": "m", "max_tokens": 100, "messages": messages})
            session.observe({"role": "assistant", "content": [{"type": "text", "text": "Noted."}]})
            session.end_turn()
        left = [each.description for each in memory.headers()]

    assert (len(left), there in left) == {
        "the": (1, False),
        "one": (1, True),
        "only": (2, False),
    }.get(outcome, (2, True))
