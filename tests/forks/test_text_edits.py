"""Edits that stand in an answer's text: read exactly, or reported."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.forks.file_tool_calls import (
    EDITS_JSON_SCHEMA,
    EditFileCall,
    TextReplacement,
    WriteFileCall,
    parse_edit_elements,
    parse_json_edits,
)


@pytest.mark.covers("FK-6")
def test_several_edits_are_read_from_prose_and_fences() -> None:
    """Words and fences around the elements do not matter; order is kept; either quote does for an
    attribute.
    """
    text = """I will change two files.
```xml
<edit path="/n/a.md">
<old>
one
two
</old>
<new>
three
</new>
<old>x</old> <new></new>
</edit>
```
and <edit path='/n/b.md' all="true"><old>&lt;</old><new>{{y}}</new></edit>
<write path="/n/c.md">
whole
</write>"""

    found = parse_edit_elements(text)

    assert found.problems == ()
    assert found.calls == (
        EditFileCall("/n/a.md", (TextReplacement("one\ntwo", "three"), TextReplacement("x", ""))),
        EditFileCall("/n/b.md", (TextReplacement("&lt;", "{{y}}", replace_all=True),)),
        WriteFileCall("/n/c.md", "whole\n"),
    )


@pytest.mark.covers("FK-6")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<edit path="a"><old>x</old></edit>', "pairs of <old> and <new>"),
        ('<edit path="a"><new>x</new><old>y</old></edit>', "pairs of <old> and <new>"),
        ('<edit path="a"></edit>', "pairs of <old> and <new>"),
        ('<edit path="a">words<old>x</old><new>y</new></edit>', "pairs of <old> and <new>"),
        ('<edit path="a"><old>x</old><new>y</new>words</edit>', "pairs of <old> and <new>"),
        ('<edit path="a"><old>x</old><new>a </new> b</new></edit>', "pairs of <old> and <new>"),
        ("<edit><old>x</old><new>y</new></edit>", "names no path"),
        ("<edit path=a><old>x</old><new>y</new></edit>", "cannot be read"),
        ('<edit path="a" path="b"><old>x</old><new>y</new></edit>', "cannot be read"),
        ('<edit path="a" mode="b"><old>x</old><new>y</new></edit>', "cannot be read"),
        ('<edit path="a"><old>x</old><new>y</new>', "not closed"),
        ('<write path="a">x', "not closed"),
        ("<write>x</write>", "names no path"),
    ],
)
def test_a_piece_that_does_not_fit_is_reported_and_the_next_one_read(
    text: str, problem: str
) -> None:
    """A broken element is never guessed at, and does not hide a whole one after it."""
    alone = parse_edit_elements(text)
    followed = parse_edit_elements(text + '\n<edit path="/n/ok.md"><old>1</old><new>2</new></edit>')

    assert alone.calls == ()
    assert len(alone.problems) == 1
    assert problem in alone.problems[0]
    assert followed.calls == (EditFileCall("/n/ok.md", (TextReplacement("1", "2"),)),)
    assert len(followed.problems) == 1


_TEXTS = st.text(
    alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="<"), max_size=30
)
_PATHS = st.text(alphabet="abc/._-é '", min_size=1, max_size=10)


@pytest.mark.covers("FK-6")
@given(edits=st.lists(st.tuples(_PATHS, _TEXTS, _TEXTS), max_size=4), between=_TEXTS)
def test_what_is_written_in_the_form_is_read_as_it_was_meant(
    edits: list[tuple[str, str, str]], between: str
) -> None:
    """Any texts without the tags come back letter by letter, whatever stands between the elements."""
    text = between.join(
        f'<edit path="{path}">\n<old>\n{old}\n</old>\n<new>\n{new}\n</new>\n</edit>'
        for path, old, new in edits
    )

    found = parse_edit_elements(text)

    assert found.problems == ()
    assert found.calls == tuple(
        EditFileCall(path, (TextReplacement(old, new),)) for path, old, new in edits
    )


@pytest.mark.covers("FK-6")
@given(
    pieces=st.lists(
        st.sampled_from(
            [
                '<edit path="a">',
                "</edit>",
                "<old>",
                "</old>",
                "<new>",
                "</new>",
                '<write path="b">',
                "</write>",
                "x",
                "\n",
            ]
        ),
        max_size=25,
    )
)
def test_any_mixture_of_tags_ends_in_edits_and_problems(pieces: list[str]) -> None:
    """Reading never fails, and every opened element is either an edit or a problem or part of one."""
    found = parse_edit_elements("".join(pieces))

    opened = sum(piece.startswith(("<edit", "<write")) for piece in pieces)
    assert len(found.calls) + len(found.problems) <= opened
    assert bool(found.calls or found.problems) == bool(opened)


@pytest.mark.covers("FK-6")
def test_json_edits_are_read_with_or_without_words_around_them() -> None:
    """A fence and a remark around the object do no harm; what lacks a field is reported and
    skipped.
    """
    edits = [
        {"path": "a", "old": "x", "new": "y"},
        {"path": "a", "old": "x"},
        "z",
        {"path": "b", "old": "", "new": "n"},
    ]
    body = msgspec.json.encode({"edits": edits}).decode()

    found = parse_json_edits(f"Here it is:\n```json\n{body}\n```\nDone.")

    assert found.calls == (
        EditFileCall("a", (TextReplacement("x", "y"),)),
        EditFileCall("b", (TextReplacement("", "n"),)),
    )
    assert [problem.split()[1] for problem in found.problems] == ["2", "3"]


@pytest.mark.covers("FK-6")
@pytest.mark.parametrize(
    "text", ["", "no edits", '{"edits": 1}', '{"edits": [', "{}", "[]", "{" * 2_000 + "}" * 2_000]
)
def test_json_that_does_not_fit_is_one_problem(text: str) -> None:
    """An answer that is not the object is reported, not guessed at."""
    found = parse_json_edits(text)

    assert found.calls == ()
    assert len(found.problems) == 1


@pytest.mark.covers("FK-6")
def test_the_schema_names_the_fields_that_are_read() -> None:
    """The JSON schema given to a model and the reader agree."""
    item = EDITS_JSON_SCHEMA["properties"]["edits"]["items"]

    assert sorted(item["required"]) == ["new", "old", "path"]
    assert item["additionalProperties"] is False
