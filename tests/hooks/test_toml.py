"""Codex's config.toml: a table goes in and out at the end, and comments keep their bytes."""

from __future__ import annotations

import contextlib
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import InputError
from memorist.hooks.codex_settings import add_codex_mcp_server, remove_codex_mcp_server
from memorist.hooks.install_scope import LaunchCommand

PROGRAM = LaunchCommand(arguments=("/home/dev/.local/bin/memorist",), home="/srv/data “a” \\ 🙂")
LINES = st.lists(
    st.sampled_from(
        [
            "# a comment",
            'model = "m"  # why',
            "",
            "[features]",
            "plugins = false",
            "[mcp_servers.other]",
            'command = "x"',
        ]
    ),
    max_size=7,
    unique=True,
)


@given(LINES, st.booleans(), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\ufeff"]))
@pytest.mark.covers("IN-2")
def test_comments_and_bytes_stay(lines: list[str], ends: bool, end: str, mark: str) -> None:
    """Whatever stood there is the start of the new text, the server is in it once, in the text's
    line ends, and taking it out gives the old text.
    """
    text = mark + end.join(lines) + (end if ends and lines else "")

    put = add_codex_mcp_server(text, PROGRAM)

    assert put.startswith(text)
    assert "\r\n" not in text or put.count("\n") == put.count("\r\n")
    assert tomllib.loads(put.removeprefix("\ufeff"))["mcp_servers"]["memorist"]["env"] == {
        "MEMORIST_HOME": PROGRAM.home
    }
    assert add_codex_mcp_server(put, PROGRAM) == put
    assert remove_codex_mcp_server(put).rstrip("\r\n") == text.rstrip("\r\n")


def test_what_the_user_wrote_below_it_stays() -> None:
    """Tables and comments that came after it are no part of it."""
    put = add_codex_mcp_server('model = "m"\n', PROGRAM) + "\n# mine\n[features]\nplugins = false\n"

    assert remove_codex_mcp_server(put) == 'model = "m"\n\n# mine\n[features]\nplugins = false\n'


BY_CODEX = """# mine
model = "m"

[mcp_servers.memorist]
command = "/home/dev/.local/bin/memorist"
args = [
    "mcp",
]
# the start is slow here
startup_timeout_sec = 30

[mcp_servers.memorist.env]
MEMORIST_HOME = "/srv/data"
LOG = "debug"

[mcp_servers.memorist.tools.memory_search]
approval_mode = "approve"

# another one
[mcp_servers.other]
command = "foo"
weight = nan
"""
"""As Codex 0.169.0 leaves it: `codex mcp add` makes a table under a header of the one in braces,
and consent to a tool stands in one more.
"""


@pytest.mark.covers("IN-2")
def test_what_codex_wrote_anew_is_taken_out_whole() -> None:
    """The server goes with its environment and the consent to its tools; the next server and its
    comment stay.
    """
    assert (
        remove_codex_mcp_server(BY_CODEX)
        == '# mine\nmodel = "m"\n\n# another one\n[mcp_servers.other]\ncommand = "foo"\nweight '
        "= nan\n"
    )


@pytest.mark.covers("IN-2")
def test_a_program_that_moved_keeps_what_the_user_put_beside_it() -> None:
    """Installing again puts path and home right; time limits, other variables, consent and comments
    stay, and a second time changes nothing.
    """
    moved = LaunchCommand(arguments=("/opt/memorist/bin/memorist",), home="/srv/other")

    put = add_codex_mcp_server(BY_CODEX, moved)

    assert tomllib.loads(put)["mcp_servers"]["memorist"] == {
        "command": "/opt/memorist/bin/memorist",
        "args": ["mcp"],
        "env": {"LOG": "debug", "MEMORIST_HOME": "/srv/other"},
        "startup_timeout_sec": 30,
        "tools": {"memory_search": {"approval_mode": "approve"}},
    }
    assert "# the start is slow here\n" in put
    assert put.endswith(BY_CODEX[BY_CODEX.index("[mcp_servers.memorist.tools") :])
    assert add_codex_mcp_server(put, moved) == put
    usual = add_codex_mcp_server(
        put.replace('LOG = "debug", ', ""), LaunchCommand(arguments=("m",))
    )
    assert "env" not in tomllib.loads(usual)["mcp_servers"]["memorist"]


@pytest.mark.covers("IN-2")
def test_what_the_user_put_beside_ours_needs_no_new_path() -> None:
    """With the path as it is, nothing changes, whatever stands beside it."""
    there = LaunchCommand(arguments=("/home/dev/.local/bin/memorist",), home="/srv/data")

    assert add_codex_mcp_server(BY_CODEX, there) == BY_CODEX


@given(
    st.lists(
        st.sampled_from(
            [
                '[mcp_servers.memorist]\ncommand = "old"\nargs = ["mcp"]\n',
                '["mcp_servers"."memorist".env]\nA = "b"\n',
                "[mcp_servers.memorist.tools.why]\nx = 1\n",
                '[mcp_servers.other]\ntext = """\n[mcp_servers.memorist]\n"""\n',
                "[[list]]\n# a\n",
                "[features]\na = [\n  [1],\n]\n",
                "\n",
                "# b\n",
                'x = "\\u007f"\n',
            ]
        ),
        max_size=7,
        unique=True,
    )
)
@pytest.mark.covers("IN-2")
def test_nothing_but_the_server_changes_or_the_file_is_refused(pieces: list[str]) -> None:
    """In any order of tables: what is made says what was said before, with the server renewed or
    without it, or there is a sentence.
    """
    text = "".join(pieces)
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    others = {
        key: value for key, value in before.get("mcp_servers", {}).items() if key != "memorist"
    }

    with contextlib.suppress(InputError):
        made = tomllib.loads(remove_codex_mcp_server(text))
        assert {k: v for k, v in made.items() if k != "mcp_servers"} == {
            k: v for k, v in before.items() if k != "mcp_servers"
        }
        assert {k: v for k, v in made.get("mcp_servers", {}).items() if k != "memorist"} == others
    with contextlib.suppress(InputError):
        renewed = tomllib.loads(add_codex_mcp_server(text, PROGRAM))
        assert {k: v for k, v in renewed["mcp_servers"].items() if k != "memorist"} == others
        assert renewed["mcp_servers"]["memorist"]["command"] == PROGRAM.arguments[0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("model = ", "not valid TOML"),
        ("mcp_servers = {}\n", "cannot be added"),
        ('[mcp_servers.memorist]\ncommand = "other"\n', "names another MCP server"),
        ('[mcp_servers]\nmemorist = { command = "old", args = ["mcp"] }\n', "remove it yourself"),
        (
            '[mcp_servers.memorist]\ncommand = "old"\nargs = ["mcp"]\nenv = { A = 1 }\n',
            "remove it yourself",
        ),
    ],
)
@pytest.mark.covers("IN-2")
def test_what_cannot_be_added_is_refused(text: str, why: str) -> None:
    """A broken file, an inline table and a foreign server are left alone, with a sentence."""
    with pytest.raises(InputError, match=why):
        add_codex_mcp_server(text, PROGRAM)
