"""What makes a file a Magic Doc."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.magic_docs.document_header import find_magic_doc_header

LINES = st.lists(
    st.sampled_from(
        [
            "",
            "# MAGIC DOC: Shop",
            "#magic doc:x",
            "_terse_",
            "*only ports*",
            "**bold**",
            "```",
            "~~~~",
            "\ufeff",
            "text",
            "\r",
            "_",
        ]
    ),
    max_size=12,
)


@pytest.mark.covers("MD-1")
@pytest.mark.parametrize(
    ("text", "title", "instruction"),
    [
        ("# MAGIC DOC: The shop\n", "The shop", ""),
        ("\ufeff# Magic Doc: The shop\r\n_Only the ports._\r\nx", "The shop", "Only the ports."),
        ("intro\n\n#magic   doc:The shop  \n\n*Only the ports.*\n", "The shop", "Only the ports."),
        ("# MAGIC DOC: a\n\n\n_two blank lines_\n", "a", ""),
        ("# MAGIC DOC: a\n_begins_ in italics\n", "a", ""),
        ("# MAGIC DOC: a\n**bold**\n", "a", ""),
        ("# MAGIC DOC: a\n_one* _\n", "a", ""),
        ("# MAGIC DOC: a\n# MAGIC DOC: b\n", "a", ""),
        ("```\n# MAGIC DOC: an example\n```\n# magic doc: real\n", "real", ""),
    ],
)
def test_header_and_instruction_are_found(text: str, title: str, instruction: str) -> None:
    """The header begins a line in any case; the instruction is the next line, or the one after a
    blank, wholly in italics.
    """
    found = find_magic_doc_header(text)

    assert found is not None
    assert (found.title, found.instruction) == (title, instruction)
    assert found.frame == text[: len(found.frame)]
    assert found.frame.rstrip().endswith(
        (f"_{instruction}_", f"*{instruction}*") if instruction else title
    )


@pytest.mark.covers("MD-1")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "text # MAGIC DOC: x",
        " # MAGIC DOC: x",
        "# MAGIC DOC:",
        "# MAGIC DOC:   \n",
        "## MAGIC DOC: x",
        "# MAGIC DOCS: x",
        "~~~\n# MAGIC DOC: x",
    ],
)
def test_other_text_is_no_magic_doc(text: str) -> None:
    """A header inside a line, at a lower level, without a title or in fenced code makes nothing a
    Magic Doc.
    """
    assert find_magic_doc_header(text) is None


@pytest.mark.covers("MD-1")
@given(LINES, st.sampled_from(["\n", "\r\n"]), st.text())
def test_the_frame_alone_makes_the_header(lines: list[str], end: str, after: str) -> None:
    """Whatever follows the frame on lines of its own that are no italics, the same header is found:
    it says all that must survive.
    """
    text = end.join(lines)
    found = find_magic_doc_header(text)
    if found is None:
        return

    assert text.startswith(found.frame)
    assert find_magic_doc_header(found.frame) == found
    assert find_magic_doc_header(f"{found.frame}{end}{end}{end}{after}") == found
