"""Sections of Markdown."""

from __future__ import annotations

from memorist.core.markdown import parse_top_level_outline


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
