"""Where things are."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.store.home_layout import Layout, make_folder_name


@pytest.mark.parametrize(
    "text",
    ["../../etc/passwd", "a/b", "..", ".", "", "x" * 300, "a\0b", "C:\\x", "~", "名前", "-rf"],
)
def test_no_name_leads_out_of_its_folder(text: str) -> None:
    """Session ids and project paths are anybody's text."""
    name = make_folder_name(text)
    folder = Layout(Path("/home")).session_layout("p", text).folder

    assert folder.parent == Layout(Path("/home")).session_layout("p", "x").folder.parent
    assert name
    assert not name.startswith((".", "-"))
    assert len(name.encode()) < 100


@given(st.text(max_size=100), st.text(max_size=100))
def test_different_texts_have_different_folders(first: str, second: str) -> None:
    """`a_b` and `a-b`, or paths that differ in a sign, are never mixed up."""
    assert (make_folder_name(first) == make_folder_name(second)) == (first == second)


def test_a_plain_id_stays_as_it_is() -> None:
    """So that a session can be found by hand."""
    assert (
        make_folder_name("0199f3c0-1111-7abc-8def-000000000000")
        == "0199f3c0-1111-7abc-8def-000000000000"
    )
