"""Templates: one pass, strict for ours, lenient for the user's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.core.prompt_templates import find_placeholders, render_template
from memorist.errors import SettingsError


@pytest.mark.covers("SM-6")
def test_a_value_that_holds_braces_is_not_expanded_again() -> None:
    """Notes that contain a template's syntax come out as they are."""
    assert (
        render_template("a {{x}} b", {"x": "{{y}} $1 \\1", "y": "no"}, strict=True)
        == "a {{y}} $1 \\1 b"
    )


@pytest.mark.covers("SM-6")
def test_an_unknown_name_stays_in_a_users_own_template() -> None:
    """Nothing of the user's text is lost."""
    assert (
        render_template("{{ known }} {{unknown}}", {"known": "k"}, strict=False) == "k {{unknown}}"
    )


def test_an_unknown_name_in_our_own_prompt_is_an_error() -> None:
    """A prompt of ours is never sent with a hole in it."""
    with pytest.raises(SettingsError, match="unknown"):
        render_template("{{unknown}}", {}, strict=True)


@given(st.text(), st.text())
def test_rendering_leaves_everything_else_alone(before: str, after: str) -> None:
    """Only the braces and their name change."""
    if (
        find_placeholders(before)
        or find_placeholders(after)
        or find_placeholders(before + "{{x}}" + after) != {"x"}
    ):
        return

    assert (
        render_template(before + "{{x}}" + after, {"x": "value"}, strict=True)
        == before + "value" + after
    )
