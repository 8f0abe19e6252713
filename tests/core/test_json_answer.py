"""The JSON object of a model's answer, in the forms in which models of some size write it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.core.json_answer import (
    find_json_object_with_any_key,
    find_largest_json_object,
    list_json_objects_with_all_keys,
)
from memorist.recall.model_selection import parse_selection

CHOICE = {"selected_memories": ["a.md", "b.md"]}
PLAIN = json.dumps(CHOICE)


@pytest.mark.covers("RC-2", "SF-5")
@pytest.mark.parametrize(
    "answer",
    [
        f"Sure:\n```json\n{PLAIN}\n```\nThese two.",
        '{\n  // both fit\n  "selected_memories": ["a.md", /* best */ "b.md"] # so\n}',
        '{"selected_memories": ["a.md", "b.md",],}',
        "{'selected_memories': ['a.md', 'b.md'], 'note': None, 'sure': True}",
        f"[{PLAIN}]",
        json.dumps({"answer": CHOICE}),
        f"{PLAIN}\n" * 50,
        '{"selected_memories": ["[project] a.md", "b.md", "invented.md"], "score": NaN}',
        '{"selected_memories": ["a.md", "b.md", "c',
    ],
)
def test_a_choice_is_read_in_whatever_form_it_comes(answer: str) -> None:
    """A fence, comments, commas and quotes as in Python, a list or object around it, repeated, cut
    off: the two memories are found, and nothing that is not among those offered.
    """
    assert parse_selection(answer, {"a.md", "b.md", "c.md"}, 5) == ("a.md", "b.md")


@pytest.mark.covers("RC-2")
@pytest.mark.parametrize(
    "answer",
    ["", "Keine passt.", '{"memories": ["a.md"]}', '{"selected_memories": "a.md"}', PLAIN[:20]],
)
def test_an_answer_without_a_choice_is_none(answer: str) -> None:
    """Another language, other keys, a choice of another type, the beginning alone: the ranker
    chooses instead.
    """
    assert parse_selection(answer, {"a.md", "b.md"}, 5) is None


def test_marks_of_comments_inside_a_text_are_text() -> None:
    """Only outside strings they mean anything."""
    text = '{"url": "https://x.y/z", "css": "/* # */", "list": [1, 2,], "said": "it\'s, }"}'

    assert find_largest_json_object(text) == {
        "url": "https://x.y/z",
        "css": "/* # */",
        "list": [1, 2],
        "said": "it's, }",
    }


@given(st.text(alphabet="{}[]\"'/*#,: \\\nabN", max_size=200))
def test_any_text_is_an_object_or_none(text: str) -> None:
    """Reading never fails."""
    found = find_largest_json_object(text)

    assert found is None or isinstance(found, dict)
    assert find_json_object_with_any_key(found, "a") is None or isinstance(found, dict)


@pytest.mark.parametrize("opening", ['{"z":', '{"z":['])
@pytest.mark.parametrize("levels", [41, 600, 5_000])
def test_an_answer_of_nothing_but_brackets_holds_none(opening: str, levels: int) -> None:
    """What a model in a loop writes, or a hostile server: no key is found in it, and nothing
    fails.
    """
    closing = "]}" if opening.endswith("[") else "}"
    found = find_largest_json_object(opening * levels + '{"a": 1}' + closing * levels)

    assert find_json_object_with_any_key(found, "a") is None
    assert list_json_objects_with_all_keys(found, "a") == []
