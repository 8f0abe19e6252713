"""Edits that stand in an answer's text: read exactly, or reported."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.forks.answer_form import FormTask, coerce_to_text_list, read_edits_from_form_answer
from memorist.forks.file_tool_calls import EditFileCall, TextReplacement, WriteFileCall
from memorist.forks.text_edits import (
    ParsedAnswerEdits,
    parse_edit_elements,
    parse_edit_objects,
    parse_tool_calls_in_text,
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


FORM = FormTask(
    instruction="List facts.",
    material="",
    schema={},
    read=lambda answer: ParsedAnswerEdits(
        tuple(WriteFileCall("/n/a.md", line) for line in coerce_to_text_list(answer.get("facts")))
    ),
)


@pytest.mark.covers("FK-6")
@pytest.mark.parametrize(
    "text",
    [
        '{"facts": ["one", "two"]}',
        'Here it is:\n```json\n{"facts": ["one", "two", "one"]}\n```\nDone.',
        'I think {of braces} first. {"facts": ["one", "two"]} and {} after.',
        '{"facts": ["one", "two", "thr',
        '{"facts": ["one", "two"], "more": {"a": ["b',
        '{"facts": "one\n two \n"}',
        '{"facts": ["one", 7, null, "two", ""]}',
    ],
)
def test_an_answer_to_a_form_is_read_as_far_as_it_is_complete(text: str) -> None:
    """Words, fences and braces around it do not matter, nor does a cut at the output limit."""
    assert [
        call.text
        for call in read_edits_from_form_answer(FORM, text).calls
        if isinstance(call, WriteFileCall)
    ] == ["one", "two"]


@pytest.mark.covers("FK-6")
@pytest.mark.parametrize("text", ["", "Nothing new.", "{", "{" * 5_000, "[1, 2]", '{"facts'])
def test_an_answer_without_an_object_is_a_problem(text: str) -> None:
    """The model is told, and nothing is written."""
    found = read_edits_from_form_answer(FORM, text)

    assert found.calls == ()
    assert found.problems == ("The answer holds no JSON object.",)


@pytest.mark.covers("FK-6")
@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "Edit", "arguments": {"file_path": "/n/a.md", "old_string": "1", '
        '"new_string": "{2}"}}\n</tool_call>',
        '```json\n{"name": "edit_file", "parameters": {"path": "/n/a.md", "old_text": "1", '
        '"new_text": "{2}"}}\n```',
        '<tool_call>{"name": "Edit", "arguments": "{\\"file_path\\": \\"/n/a.md\\", '
        '\\"old_string\\": \\"1\\", \\"new_string\\": \\"{2}\\"}"}</tool_call>',
    ],
)
def test_a_call_that_a_server_passed_on_as_text_is_an_edit(text: str) -> None:
    """In the tags of Qwen and Hermes or in a fence; whether the arguments are an object or a text."""
    assert parse_tool_calls_in_text(f"I will edit it.\n{text}\nDone.").calls == (
        EditFileCall("/n/a.md", (TextReplacement("1", "{2}"),)),
    )


@pytest.mark.covers("FK-6")
@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"name": "memorist", "version": "1"}\n```',
        '<tool_call>{"name"</tool_call>',
        '<tool_call>{"name": "Bash", "arguments": {"command": "rm x"}}</tool_call>',
    ],
)
def test_other_objects_and_other_calls_in_a_text_are_no_edits(text: str) -> None:
    """A file shown in a fence is data, and a command in a text is never run."""
    assert parse_tool_calls_in_text(text) == ParsedAnswerEdits(())


EDIT = {"path": "/n/a.md", "old": "one", "new": "two"}
MADE = EditFileCall("/n/a.md", (TextReplacement("one", "two"),))


@pytest.mark.covers("FK-6")
@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"edits": [EDIT]}),
        f"Here are the edits:\n```json\n{json.dumps([EDIT], indent=1)}\n```\nDone.",
        json.dumps(EDIT),
        json.dumps({"edit": EDIT, "comment": "shorter"}),
        json.dumps([{"file_path": "/n/a.md", "old_string": "one", "new_string": "two"}]),
        json.dumps({"edits": [{"file": "/n/a.md", "search": "one", "replace": "two"}]}),
        json.dumps({"path": "/n/a.md", "edits": [{"old_text": "one", "new_text": "two"}]}),
        json.dumps({"edits": [EDIT] * 300}),
        json.dumps({"edits": [EDIT, {"path": "/n/a.md", "old": "x", "new": "half a"}]})[:-5],
        "{'edits': [{'path': '/n/a.md', 'old': 'one', 'new': 'two',},],}",
    ],
)
def test_edits_written_as_json_are_read(text: str) -> None:
    """In a list or alone, fenced, in the keys of common tools; one in a loop once, and of an answer
    that was cut off only what is complete.
    """
    assert parse_edit_objects(text).calls == (MADE,)


@pytest.mark.parametrize(
    "text",
    [
        '{"edits": [{"path": "/n/a.md", "old": "one", "new": "hal',
        '{"path": "/n/a.md", "content": "half a fi',
        json.dumps({"edits": [{"old": "one", "new": "two"}]}),
        json.dumps({"edits": [{"path": "/n/a.md", "old": "", "new": "two"}]}),
        json.dumps({"path": "/n/a.md", "why": "it is right as it is"}),
        json.dumps({"path": 1, "old": ["one"], "new": {"a": "two"}}),
        "[" * 5_000 + json.dumps(EDIT)[:-9],
        "All is well.",
    ],
)
def test_what_is_no_whole_edit_is_none(text: str) -> None:
    """Cut off, without a path or without what it replaces, or no edit at all."""
    assert parse_edit_objects(text).calls == ()


def test_a_file_written_as_json_is_read() -> None:
    """Its whole text beside its path."""
    text = json.dumps({"files": [{"path": "/n/b.md", "content": "whole\n"}]})

    assert parse_edit_objects(text).calls == (WriteFileCall("/n/b.md", "whole\n"),)
