"""The name and the description of what is kept."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.auto_memory.statements.memory_name_and_description import (
    MAX_DESCRIPTION_CHARS,
    MAX_SLUG_CHARS,
    derive_memory_name_and_description,
)
from memorist.auto_memory.statements.statement_parser import Statement

pytestmark = pytest.mark.covers("AM-2", "AM-3")


def rule(text: str) -> Statement:
    return Statement("rule", "feedback", text, text, "m")


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("never use `git add -A`, stage files by name", "never-git-add-stage-files-name"),
        ("Don't mock the database.", "mock-database"),
        ("提交信息一律用英文写。", "提交信息一律用英文写"),
        ("我们用 pnpm，不用 npm。", "我们用-pnpm-不用-npm"),
        ("Über Straße und Café", "uber-strasse-und-cafe"),
        ("use it", "use-it"),
        ("memory", "memory-note"),
        ("!!!", "feedback"),
    ],
)
def test_a_name_is_made_of_the_content_words(text: str, slug: str) -> None:
    """Kebab case; Chinese keeps its characters; a name that the folder needs itself is not taken."""
    assert derive_memory_name_and_description(rule(text))[0] == slug


def test_a_long_text_is_described_by_its_beginning() -> None:
    """Cut between words, with a mark; a short one is its own description, on one line."""
    long = derive_memory_name_and_description(rule("stage every file by its name " * 20))[1]

    assert long.endswith(" …")
    assert long[:-2] in "stage every file by its name " * 20
    assert derive_memory_name_and_description(rule("stage\n  by name"))[1] == "stage by name"


@given(st.one_of(st.text(max_size=300), st.text(alphabet="ab Aé中文/.\\-_#\n\0", max_size=300)))
def test_any_text_gives_a_safe_file_name_and_one_line(text: str) -> None:
    """No separators, dots, marks or spaces; never empty, never `memory`; one normal form; the
    limits hold.
    """
    slug, description = derive_memory_name_and_description(rule(text))

    assert 0 < len(slug) <= MAX_SLUG_CHARS
    assert re.fullmatch(r"[^\W_]+(?:-[^\W_]+)*", slug)
    assert slug != "memory"
    assert slug == unicodedata.normalize("NFC", slug)
    assert len(description) <= MAX_DESCRIPTION_CHARS
    assert len(description.splitlines()) <= 1
