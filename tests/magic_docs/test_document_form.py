"""A document's update as a form: lines put where they belong."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from memorist.forks.answer_form import read_edits_from_form_answer
from memorist.forks.file_tool_calls import EditFileCall
from memorist.magic_docs.document_answer_form import build_document_form, elide_seen_sections
from memorist.magic_docs.document_files import load_magic_doc_prompts
from memorist.magic_docs.document_header import MagicDocHeader
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout

DOCUMENT = (
    "# MAGIC DOC: Bills\n\n## Rounding\n\n- Half a cent goes up.\n\n## Tests\n\nNone yet.\n\n"
    "## Build\n\n```sh\nmake\n# then the rest\nmake all\n```\n"
)


def change(tmp_path: Path, *changes: tuple[str, str, str]) -> tuple[str, tuple[str, ...]]:
    """The document after changes of section, old and new, and why one of them was not made."""
    header = MagicDocHeader(title="Bills", instruction="", frame="")
    prompts = load_magic_doc_prompts(DiskFiles(), Layout(tmp_path))
    form = build_document_form(DOCUMENT, "/n/bills.md", header, prompts)
    given = [dict(zip(("section", "old", "new"), each, strict=True)) for each in changes]
    edits = read_edits_from_form_answer(form, msgspec.json.encode({"changes": given}).decode())
    for call in edits.calls:
        assert isinstance(call, EditFileCall)
        return call.replacements[0].new, edits.problems
    return DOCUMENT, edits.problems or edits.dropped


@pytest.mark.covers("MD-2")
@pytest.mark.parametrize(
    ("given", "before", "after"),
    [
        (("Tests", "None yet.", "`pytest -q`"), "None yet.", "`pytest -q`"),
        (("", "- Half a cent goes up.", ""), "- Half a cent goes up.\n", ""),
        (("rounding", "", "- To two places."), "up.\n", "up.\n- To two places.\n"),
        (("## Tests", "", "`pytest -q`"), "None yet.\n", "None yet.\n\n`pytest -q`\n"),
        (("Build", "", "Needs Go."), "make all\n```\n", "make all\n```\n\nNeeds Go.\n"),
        (("Bills", "", "## Rounding\n\n- To two places."), "up.\n", "up.\n- To two places.\n"),
    ],
)
def test_a_line_is_replaced_taken_out_or_added_to_its_section(
    tmp_path: Path, given: tuple[str, str, str], before: str, after: str
) -> None:
    """Everything else stays as it is, and a paragraph stays one. A heading of the document that
    stands in the new text says where it goes; a comment in a script is no heading.
    """
    assert change(tmp_path, given) == (DOCUMENT.replace(before, after), ())


@pytest.mark.covers("MD-2")
@pytest.mark.parametrize("given", [("Tests", "Nothing like it.", "x"), ("Colours", "", "blue")])
def test_a_line_or_a_section_that_is_not_there_is_told(
    tmp_path: Path, given: tuple[str, str, str]
) -> None:
    """Nothing is guessed."""
    text, problems = change(tmp_path, given)

    assert text == DOCUMENT
    assert len(problems) == 1


@pytest.mark.covers("MD-2")
def test_what_stands_there_already_is_no_change(tmp_path: Path) -> None:
    """A line is not added twice, and a heading is no new line; the receipt has the reason."""
    for section, old, new in (
        ("Rounding", "", "- Half a cent goes up."),
        ("Bills", "A line of nothing.", "A line of nothing."),
        ("Bills", "", "## Rounding"),
    ):
        told = (f"“{new}” changes nothing",)
        assert change(tmp_path, (section, old, new)) == (DOCUMENT, told)


@pytest.mark.covers("MD-2", "FK-1")
def test_what_the_conversation_holds_of_a_document_is_not_sent_again(tmp_path: Path) -> None:
    """A section that was read stands as its heading, however the tool numbered its lines; one that
    was changed since, or of which only a line was quoted, in full. An edit works as before.
    """
    header = MagicDocHeader(title="Bills", instruction="", frame="")
    prompts = load_magic_doc_prompts(DiskFiles(), Layout(tmp_path))
    read = "".join(f"{at:6}→{line}\n" for at, line in enumerate(DOCUMENT.split("\n"), 1))
    seen = read.replace("None yet.", "None at all.") + "\nSomebody said: None yet."

    form = build_document_form(
        DOCUMENT, "/n/bills.md", header, prompts, shown=elide_seen_sections(DOCUMENT, seen)
    )

    assert "## Rounding …" in form.material
    assert "Half a cent" not in form.material
    assert "## Tests\n\nNone yet." in form.material
    given = {"section": "", "old": "- Half a cent goes up.", "new": "- Half a cent goes down."}
    edits = read_edits_from_form_answer(form, msgspec.json.encode({"changes": [given]}).decode())
    (call,) = edits.calls
    assert isinstance(call, EditFileCall)
    assert call.replacements[0].new == DOCUMENT.replace("up", "down")
