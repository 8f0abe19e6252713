"""Codex's config.toml: a table goes in and out at the end, and comments keep their bytes."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import InputError
from memorist.hooks.entries import Program, with_toml_server, without_toml_server

PROGRAM = Program(words=("/home/dev/.local/bin/memorist",), home="/srv/data “a” \\ 🙂")
LINES = st.lists(
    st.sampled_from(["# a comment", 'model = "m"  # why', "", "[features]", "plugins = false", "[mcp_servers.other]", 'command = "x"']),
    max_size=7,
    unique=True,
)


@given(LINES, st.booleans())
@pytest.mark.covers("IN-2")
def test_comments_and_bytes_stay(lines: list[str], ends: bool) -> None:
    """Whatever stood there is the start of the new text, the server is in it once, and taking it out gives the old text."""
    text = "\n".join(lines) + ("\n" if ends and lines else "")

    put = with_toml_server(text, PROGRAM)

    assert put.startswith(text)
    assert tomllib.loads(put)["mcp_servers"]["memorist"]["env"] == {"MEMORIST_HOME": PROGRAM.home}
    assert with_toml_server(put, PROGRAM) == put
    assert without_toml_server(put).rstrip("\n") == text.rstrip("\n")


def test_what_the_user_wrote_below_it_stays() -> None:
    """Tables and comments that came after it are no part of it."""
    put = with_toml_server('model = "m"\n', PROGRAM) + "\n# mine\n[features]\nplugins = false\n"

    assert without_toml_server(put) == 'model = "m"\n# mine\n[features]\nplugins = false\n'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("model = ", "not valid TOML"),
        ("mcp_servers = {}\n", "cannot be added"),
        ('[mcp_servers.memorist]\ncommand = "other"\n', "names another MCP server"),
    ],
)
@pytest.mark.covers("IN-2")
def test_what_cannot_be_added_is_refused(text: str, why: str) -> None:
    """A broken file, an inline table and a foreign server are left alone, with a sentence."""
    with pytest.raises(InputError, match=why):
        with_toml_server(text, PROGRAM)
