"""JSON changed as a text: memorist's entries go in and out, and nothing else moves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import InputError
from memorist.hooks.hook_entries import (
    INSTALLED_EVENTS,
    add_hook_entries,
    build_hook_entries,
    map_own_hooks_by_event,
    remove_own_hook_entries,
)
from memorist.hooks.hook_install import list_existing_entry_containers
from memorist.hooks.install_scope import LaunchCommand
from memorist.hooks.json_edit import blank_json_comments, edit_json_with_comments, parse_json_tree
from memorist.hooks.mcp_entries import add_json_server, build_server_entry, remove_json_server

PROGRAM = LaunchCommand(arguments=("/home/dev/.local/bin/memorist",))
WANTED = build_hook_entries(PROGRAM, "claude-code", dict.fromkeys(INSTALLED_EVENTS, 1.0))
OWN_HOOK = {"hooks": [{"type": "command", "command": "say done"}]}
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
HOOKS = st.dictionaries(
    st.sampled_from([*INSTALLED_EVENTS, "Notification"]),
    st.lists(st.just(OWN_HOOK), min_size=1, max_size=2),
    min_size=1,
)
SETTINGS = st.dictionaries(st.text(max_size=6), VALUES, max_size=4).flatmap(
    lambda rest: (
        HOOKS.map(lambda hooks: {**rest, "hooks": hooks})
        | st.just({key: value for key, value in rest.items() if key != "hooks"})
    )
)
LAYOUTS = st.sampled_from([None, 2, 4, "\t"])


@given(SETTINGS, LAYOUTS, st.booleans())
@pytest.mark.covers("IN-2")
def test_what_goes_in_comes_out_and_leaves_every_byte(
    settings: dict[str, Any], layout: Any, windows: bool
) -> None:
    """In any layout: the result is JSON with the user's own entries in their order, a second time
    changes nothing, and taking out gives the old text.
    """
    text = json.dumps(settings, indent=layout, ensure_ascii=False)
    text = text.replace("\n", "\r\n") if windows else text

    put = add_hook_entries(text, WANTED)

    found = json.loads(put)
    assert set(map_own_hooks_by_event(put)) == set(INSTALLED_EVENTS)
    assert add_hook_entries(put, WANTED) == put
    assert {key: value for key, value in found.items() if key != "hooks"} == {
        key: value for key, value in settings.items() if key != "hooks"
    }
    assert list(found)[: len(settings)] == list(settings)
    assert remove_own_hook_entries(put) == text


@pytest.mark.parametrize("key", ["hooks", "Stop", "SessionStart", "mcpServers", "memorist"])
@pytest.mark.covers("IN-2")
def test_a_key_that_the_user_wrote_a_second_time_stays(key: str) -> None:
    """The agent reads the last one: there memorist's entries are, and only they come out, whatever
    the user wrote above.
    """
    mine = {"Stop": [OWN_HOOK]} if key == "hooks" else [OWN_HOOK]
    put = add_json_server(add_hook_entries("{}", WANTED), build_server_entry(PROGRAM))
    twice = put.replace(f'"{key}":', f'"{key}": {json.dumps(mine)}, "{key}":', 1)

    left = remove_json_server(remove_own_hook_entries(twice))

    assert json.dumps(mine) in left
    assert "bin/memorist" not in left


@given(st.dictionaries(st.sampled_from(INSTALLED_EVENTS), st.just([])), LAYOUTS)
@pytest.mark.covers("IN-2")
def test_what_was_empty_before_stays_when_it_is_to_be_kept(
    hooks: dict[str, list[object]], layout: Any
) -> None:
    """Empty lists and objects of the user come back as they were."""
    text = json.dumps({"model": "m", "hooks": hooks}, indent=layout)

    assert (
        remove_own_hook_entries(
            add_hook_entries(text, WANTED), list_existing_entry_containers(text)
        )
        == text
    )


@given(SETTINGS, LAYOUTS)
def test_a_server_goes_in_and_out_the_same_way(settings: dict[str, Any], layout: Any) -> None:
    """The entry of the MCP server too leaves everything else as it was."""
    settings.pop("mcpServers", None)
    text = json.dumps(settings, indent=layout)

    put = add_json_server(text, build_server_entry(PROGRAM))

    assert json.loads(put)["mcpServers"]["memorist"]["args"] == ["mcp"]
    assert add_json_server(put, build_server_entry(PROGRAM)) == put
    assert remove_json_server(put) == text


@pytest.mark.covers("IN-2")
def test_a_program_that_moved_is_put_right() -> None:
    """Installing again with another path changes the commands in their place, and leaves none of
    the old ones.
    """
    moved = build_hook_entries(
        LaunchCommand(arguments=("/opt/memorist/bin/memorist",), home="/srv/data"),
        "claude-code",
        dict.fromkeys(INSTALLED_EVENTS, 1.0),
    )
    text = add_hook_entries(json.dumps({"hooks": {"Stop": [OWN_HOOK]}}, indent=2), WANTED)

    put = add_hook_entries(text, moved)

    assert "/home/dev" not in put
    assert all(
        "/opt/memorist/bin/memorist hook" in command and "--home /srv/data" in command
        for command in map_own_hooks_by_event(put).values()
    )
    assert json.loads(put)["hooks"]["Stop"][0] == OWN_HOOK


@pytest.mark.covers("IN-2")
def test_a_server_that_moved_keeps_what_the_user_put_beside_it() -> None:
    """Installing again puts path and home right; the user's own variables and limits stay, and a
    second time changes nothing.
    """
    own = {
        "type": "stdio",
        "command": "old",
        "args": ["mcp"],
        "env": {"A": "b", "MEMORIST_HOME": "/srv/old"},
        "timeout": 9,
    }
    text = json.dumps({"mcpServers": {"memorist": own}})

    put = add_json_server(text, build_server_entry(PROGRAM))

    assert json.loads(put)["mcpServers"]["memorist"] == {
        **own,
        "command": "/home/dev/.local/bin/memorist",
        "env": {"A": "b"},
    }
    assert add_json_server(put, build_server_entry(PROGRAM)) == put


def test_a_hook_that_the_user_put_beside_ours_stays() -> None:
    """Only the command of ours goes from a group that holds others too."""
    ours = json.loads(add_hook_entries("{}", WANTED))["hooks"]["Stop"][0]["hooks"][0]
    text = json.dumps({"hooks": {"Stop": [{"hooks": [ours, *OWN_HOOK["hooks"]]}]}}, indent=2)

    assert json.loads(remove_own_hook_entries(text)) == {"hooks": {"Stop": [OWN_HOOK]}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"a": 1,}',
        '{"a" 1}',
        "{'a': 1}",
        '{"a": 1} x',
        '{"hooks": []}',
        '{"hooks": {"Stop": {}}}',
        "[" * 500,
        '{"a":' * 100,
    ],
)
@pytest.mark.covers("IN-2")
def test_what_cannot_be_understood_is_refused(text: str) -> None:
    """A file that is no JSON object, or has something else where hooks belong, is refused with a
    sentence.
    """
    with pytest.raises(InputError, match=r"JSON|another kind"):
        add_hook_entries(text, WANTED)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1', "ends in the middle"),
        ('{"a": ', "ends in the middle"),
        ('{\n  // mine\n  "a": 1\n}', r"line 2 column 3 .*no comments"),
        ('{"a": 1\n "b": 2}', "a comma is missing: line 2"),
        ('{\n  "a": 1,\n}', "nothing follows a comma: line 2 column 9"),
        ('{"a": [1,]}', "nothing follows a comma: line 1 column 9"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(text: str, why: str) -> None:
    """The sentence says where to look, and that the agent does not read comments either (Claude
    Code 2.1.330 calls them malformed).
    """
    with pytest.raises(InputError, match=why):
        parse_json_tree(text)


@given(st.text(max_size=60))
def test_the_reader_agrees_with_pythons_own(text: str) -> None:
    """A text is taken exactly where the standard reader takes it as an object, with the same value."""
    try:
        expected = json.loads(text)
    except ValueError:
        expected = None
    if isinstance(expected, dict):
        assert parse_json_tree(text).value == expected
    else:
        with pytest.raises(InputError):
            parse_json_tree(text)


def test_another_server_of_the_same_name_is_the_users() -> None:
    """A server “memorist” that memorist did not write is neither changed nor taken out."""
    text = '{"mcpServers": {"memorist": {"command": "other", "args": []}}}'

    assert remove_json_server(text) == text
    with pytest.raises(InputError, match="names another MCP server"):
        add_json_server(text, build_server_entry(PROGRAM))


def _add_and_remove(text: str) -> tuple[str, str]:
    entry = {"command": "memorist", "args": ["mcp"]}
    added = edit_json_with_comments(text, lambda plain: add_json_server(plain, entry))
    kept = list_existing_entry_containers(blank_json_comments(text))
    return added, edit_json_with_comments(added, lambda plain: remove_json_server(plain, kept))


@pytest.mark.covers("IN-2")
@pytest.mark.parametrize(
    "text",
    [
        '{\n  // my theme\n  "theme": "dark", // "not" a comma,\n}\n',
        '{\r\n  "url": "https://x/*y*/", /* two\r\n lines */\r\n  "a": [1, 2,],\r\n}\r\n',
        '{\n  "mcpServers": {\n    // mine\n    "own": {"command": "x"}, // stays\n  },\n}\n',
        "// alone\n{}\n",
        '{"a": "\\\\", "b": "//"}',
    ],
)
def test_comments_of_the_user_stay_where_an_agent_reads_them(text: str) -> None:
    """What is added says what it should, every comment is still there, and removing it gives the
    text back byte for byte.
    """
    added, removed = _add_and_remove(text)

    said = json.loads(blank_json_comments(added))
    assert said["mcpServers"].pop("memorist") == {"command": "memorist", "args": ["mcp"]}
    before = json.loads(blank_json_comments(text))
    assert said == {"mcpServers": {}, **before}
    assert removed == text


@given(
    st.dictionaries(st.text(max_size=5), st.text('/*",\\\\ab', max_size=8) | st.none(), max_size=4)
)
def test_blanks_for_comments_change_nothing_else(value: dict[str, str | None]) -> None:
    """Text without comments stays as it is, whatever stands in its strings; one in it goes."""
    text = json.dumps(value, indent=1)

    assert blank_json_comments(text) == text
    assert json.loads(blank_json_comments(f"// {text[:3]!r}\n{text}/* , */")) == value


@pytest.mark.parametrize(
    "text",
    [
        "{ /* nothing yet */ }",
        '{"mcpServers": {"memorist": {"command": "old", /* why */ "args": ["mcp"]}}}',
    ],
)
def test_a_comment_in_what_is_replaced_is_not_lost(text: str) -> None:
    """The file is left alone, and it is said why."""
    with pytest.raises(InputError, match="comment"):
        _add_and_remove(text)
