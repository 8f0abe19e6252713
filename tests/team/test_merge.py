"""Two changes of one memory: brought together where they touch different sections, else both kept
(TM-2).
"""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.team.memory_merge import merge_memory_texts, name_conflict_copy, split_named_sections
from memorist.team.shared_memory_form import (
    build_local_file_keeping_pin,
    compute_text_checksum,
    find_sharing_problem,
    to_shared_text,
)
from team.conftest import TOKEN, note

BASE = note("We release on Tuesdays.\n\nWhy: the shop is quiet.\n\nHow to apply: plan for it.")
part = st.sampled_from(
    [
        "",
        "Rule one.\n",
        "Rule two.\n\n",
        "Why: this.\n",
        "Why: that.\n\n",
        "## Head\n\ntext\n",
        "## Head\n\nother\n",
        "```\n# no head\n```\n",
    ]
)
bodies = st.lists(part, max_size=4).map("".join)
texts = st.tuples(st.sampled_from(["", "---\nname: a\n---\n", "---\nname: b\n---\n"]), bodies).map(
    lambda pair: to_shared_text("".join(pair).encode())
)


@pytest.mark.covers("TM-2")
def test_changes_of_different_sections_are_brought_together() -> None:
    """A change of the rule and one of how to apply it both stand in the result; so does one of the
    header.
    """
    mine = BASE.replace("Tuesdays", "Mondays")
    theirs = BASE.replace("plan for it", "plan ahead").replace("about Release", "when we release")

    found = merge_memory_texts(BASE, mine, theirs)

    assert found == BASE.replace("Tuesdays", "Mondays").replace(
        "plan for it", "plan ahead"
    ).replace("about Release", "when we release")


@pytest.mark.covers("TM-2")
def test_changes_of_one_section_are_not_guessed_at() -> None:
    """Two ways to say one section, an edit against a deletion of it, or no common text: nothing is
    made up.
    """
    assert (
        merge_memory_texts(
            BASE, BASE.replace("Tuesdays", "Mondays"), BASE.replace("Tuesdays", "Fridays")
        )
        is None
    )
    assert (
        merge_memory_texts(
            BASE,
            BASE.replace("plan for it", "plan"),
            BASE.replace("How to apply: plan for it.\n", ""),
        )
        is None
    )
    assert merge_memory_texts(None, BASE, BASE.replace("Tuesdays", "Fridays")) is None


@pytest.mark.covers("TM-2")
@given(texts, texts, texts)
def test_what_is_brought_together_holds_both_changes_and_says_so_again(
    base: str, mine: str, theirs: str
) -> None:
    """Each section of the result is one side's; where one side changed nothing the other's stands;
    once more, as after a kill, changes nothing.
    """
    found = merge_memory_texts(base, mine, theirs)

    if mine == base and theirs.strip():
        assert found is not None
        assert found == theirs
    if found is not None:
        given_parts = {
            each.strip() for text in (mine, theirs) for each in split_named_sections(text).values()
        }
        assert set(map(str.strip, split_named_sections(found).values())) <= {"", *given_parts}
        assert merge_memory_texts(base, found, theirs) == found


@pytest.mark.covers("TM-2")
@given(st.text(max_size=200))
def test_sections_lose_nothing(text: str) -> None:
    """Joined again they are the text."""
    assert "".join(split_named_sections(text).values()) == "".join(text.splitlines(keepends=True))


@pytest.mark.covers("TM-2")
def test_what_is_kept_beside_has_one_name_everywhere() -> None:
    """Two machines that keep the same text beside the same memory call it the same."""
    assert (
        name_conflict_copy("rules/a.md", "x")
        == name_conflict_copy("rules/a.md", "x")
        != name_conflict_copy("rules/a.md", "y")
    )
    assert name_conflict_copy("rules/a.md", "x").startswith("rules/a-")


@pytest.mark.covers("TM-2", "TM-4")
def test_what_is_shared_leaves_out_what_is_the_machines_own() -> None:
    """Session, messages, quoted words, trust and pin stay here; what else stands in the header goes
    along; a pin set here survives what comes.
    """
    own = (
        b"---\nname: a\npinned: true\nlabel: x  # kept\nmemorist:\n  session: s-1\n  quote: "
        b"in my own words\n  trust: stated\n---\n\nText.\r\n\r\n"
    )

    text = to_shared_text(own)

    assert text == "---\nname: a\nlabel: x  # kept\n---\n\nText.\n"
    assert b"pinned" in build_local_file_keeping_pin(text, own)
    assert b"pinned" not in build_local_file_keeping_pin(text, None)
    assert to_shared_text(build_local_file_keeping_pin(text, own)) == text


@pytest.mark.covers("TM-2")
@example("\r")
@example("\n\ufeff\ufeffx")
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300) | texts)
def test_the_shared_form_of_a_shared_form_is_itself(text: str) -> None:
    """So two machines agree on what is the same."""
    once = to_shared_text(text.encode())

    assert to_shared_text(once.encode()) == once
    assert compute_text_checksum(
        to_shared_text(build_local_file_keeping_pin(once, None))
    ) == compute_text_checksum(once)


@pytest.mark.covers("TM-4")
def test_what_is_not_sent_is_named_by_rule_never_by_text() -> None:
    """A secret, a memory about a person, one that is too large or no text stays here, and the
    reason does not hold it.
    """
    why = find_sharing_problem(
        encode_file_text_as_utf8(note(f"The token is {TOKEN}.")), limit=10_000
    )

    assert "github-token" in why
    assert TOKEN not in why
    assert "stays private" in find_sharing_problem(
        encode_file_text_as_utf8(note("Likes tea.", kind="user")), limit=10_000
    )
    assert "bytes" in find_sharing_problem(
        encode_file_text_as_utf8(note("x" * 11_000)), limit=10_000
    )
    assert "UTF-8" in find_sharing_problem(b"\xff\xfe", limit=10_000)
    assert find_sharing_problem(encode_file_text_as_utf8(note("Plain.")), limit=10_000) == ""
