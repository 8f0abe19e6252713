"""Sections of Markdown."""

from __future__ import annotations

import pytest

from memorist.core.markdown import (
    mark_fenced_code,
    parse_top_level_outline,
    split_lines_at_line_feeds,
)


def test_sections_begin_at_level_one_headers() -> None:
    """What stands before the first header is the preamble."""
    parsed = parse_top_level_outline("intro\n\n# One\nbody\n\n## Inner\nmore\n# Two\n")

    assert parsed.preamble == "intro"
    assert [(section.title, section.body) for section in parsed.sections] == [
        ("One", "body\n\n## Inner\nmore"),
        ("Two", ""),
    ]


def test_a_comment_in_fenced_code_is_no_header() -> None:
    """Shell comments look like headers."""
    parsed = parse_top_level_outline("# One\n```sh\n# not a header\n```\n# Two\n")

    assert [section.title for section in parsed.sections] == ["One", "Two"]


def test_only_known_headers_count_when_they_are_given() -> None:
    """A body may hold lines that begin with a hash sign; an unclosed fence swallows no known
    section.
    """
    parsed = parse_top_level_outline(
        "# One\n# stray\n```\nnever closed\n# TWO\nbody", ["One", "Two"]
    )

    assert [(section.title, section.body) for section in parsed.sections] == [
        ("One", "# stray\n```\nnever closed"),
        ("TWO", "body"),
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("````md\n```\n# in\n````\n# out\n", "````md\n```\n# in\n````\n"),
        ("~~~\n```\n# in\n~~~\n# out\n", "~~~\n```\n# in\n~~~\n"),
        ("```py\n    ```\n# in\n  ```\n# out", "```py\n    ```\n# in\n  ```\n"),
        ("1. Run\n\n      ```\n# in\n      ```\n# out", "      ```\n# in\n      ```\n"),
        ("```sh\r\n# in\r\n```\r\n# out", "```sh\r\n# in\r\n```\r\n"),
        ("``` a ``` is code\n# out\n", ""),
        ("# out\n```\n# in\n", "```\n# in\n"),
    ],
)
def test_a_fence_is_closed_by_its_like(text: str, code: str) -> None:
    """By as many of its signs, alone on a line, and not further in than a list needs; one that is
    open reaches to the end, and a line that holds both ends opens none.
    """
    marked = list(mark_fenced_code(split_lines_at_line_feeds(text)))

    assert "".join(line for line, fenced in marked if fenced) == code
    assert "".join(line for line, _ in marked) == text


def test_a_header_in_a_fence_that_shows_a_fence_is_none() -> None:
    """And the one after it counts."""
    parsed = parse_top_level_outline("# One\n````\n```\n# not a header\n````\n# Two\n")

    assert [section.title for section in parsed.sections] == ["One", "Two"]
