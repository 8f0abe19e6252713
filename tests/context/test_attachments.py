"""Attachments of Claude Code's sessions, read as pieces."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.compaction.window_at_message import rebuild_recorded_window
from memorist.context.claude_code_attachments import (
    HIDDEN_KINDS,
    MAX_NAMED_LINES,
    SHOWN_KINDS,
    AttachmentInserter,
    get_attachment_kind,
    render_attachment,
)
from memorist.context.context_pieces import ContextPiece
from memorist.context.recorded_context import build_recorded_pieces, find_turn_by_number
from memorist.core.messages import Message, Origin, Role, TextBlock
from memorist.formats.transcript_format import (
    CompactionBoundary,
    SessionHead,
    SideRecord,
    SkippedLine,
    TranscriptEntry,
)

pytestmark = pytest.mark.covers("CX-9", "FM-3")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "content", "path", "file", "addedLines", "x"]), inner
        )
    ),
    max_leaves=20,
)


def attachment(kind: str, line: int = 9, **values: Any) -> SideRecord:
    record = {
        "type": "attachment",
        "uuid": f"u{line}",
        "parentUuid": None,
        "attachment": {"type": kind, **values},
    }
    return SideRecord("attachment", line, json.dumps(record).encode())


def said(text: str, number: int, role: Role = "user") -> Message:
    return Message(
        id=f"m{number}",
        role=role,
        blocks=(TextBlock(text),),
        origin=Origin.USER if role == "user" else Origin.MODEL,
        is_typed=(Origin.USER if role == "user" else Origin.MODEL) is Origin.USER,
        line=number,
    )


def shown(entries: list[TranscriptEntry], turn: int | None = None) -> list[ContextPiece]:
    at = find_turn_by_number(AttachmentInserter().insert_attachments(entries), turn)[1]
    return list(
        build_recorded_pieces(
            rebuild_recorded_window(AttachmentInserter().insert_attachments(entries), at),
            "file-native",
        )
    )


HEAD = SessionHead(session="s", format="claude_code")
SKILLS = attachment("skill_listing", 2, content="- deploy: ships it", names=["deploy"])
RULE = attachment(
    "nested_memory",
    4,
    path="/w/rules.md",
    content={"path": "/w/rules.md", "type": "Project", "content": "Use tabs.", "rawContent": "---"},
)
SESSION: list[TranscriptEntry] = [
    HEAD,
    said("first", 1),
    SKILLS,
    said("done", 3, "assistant"),
    RULE,
    said("second", 5),
    said("done too", 6, "assistant"),
]


def test_what_a_client_put_in_is_shown_with_tag_source_and_reason() -> None:
    """At its place in the conversation; the words of the attachment, in the tag that the family has
    for it.
    """
    found = shown(SESSION)

    assert [each.tag for each in found] == [
        "prompt",
        "system-reminder",
        "reply",
        "system-reminder",
        "prompt",
        "reply",
    ]
    assert found[1].text == "<system-reminder>\n- deploy: ships it\n</system-reminder>"
    assert (found[1].source, found[1].why) == (
        "line 2",
        "skills on offer (attachment skill_listing)",
    )
    assert "/w/rules.md\nUse tabs." in found[3].text
    assert all(each.tokens for each in found)


def test_a_turn_begins_with_what_comes_along_with_the_prompt() -> None:
    """The list of skills goes to the model with the first prompt; what follows the reply does not."""
    assert [each.tag for each in shown(SESSION, 1)] == ["prompt", "system-reminder"]
    assert [each.text for each in shown(SESSION, 2)][-1] == "second"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"addedLines": ["Read", "Write"], "addedNames": ["Read"]}, "Read\nWrite"),
        ({"addedLines": [], "removedNames": ["Old", 3]}, "No longer there: Old"),
        ({"filename": "/w/a.py", "snippet": "1\tx"}, "/w/a.py\n1\tx"),
        ({"filename": "/w/a", "content": {"type": "text", "file": {"filePath": "/w/a", "content": "body"}}}, "/w/a\nbody"),
        ({"memories": [{"path": "/m/a.md", "content": "likes tea"}, {"path": "/m/b.md", "content": "no meat"}]}, "/m/a.md\nlikes tea\n/m/b.md\nno meat"),
        ({"content": ["one", "two"]}, "one\ntwo"),
        ({"blockingError": {"blockingError": "no", "command": "x"}}, "no"),
        ({"used": 5, "total": 9}, '{"used": 5, "total": 9}'),
        ({}, ""),
    ],
)  # fmt: skip
def test_the_words_are_found_where_a_kind_keeps_them(values: dict[str, Any], text: str) -> None:
    """A place and a body, lists line by line; where there are no words, the data."""
    assert render_attachment({"type": "any", **values}) == text


def test_a_kind_that_is_not_known_is_kept() -> None:
    """As the file has it, and said to be unknown."""
    found = shown([HEAD, said("a", 1), attachment("of_tomorrow", depth=3)])[-1]

    assert '"depth": 3' in found.text
    assert (
        found.why
        == "attachment of_tomorrow, a kind that is not known here; shown as the file has it"
    )


def test_what_the_model_is_not_shown_is_left_out_with_its_reason() -> None:
    """Counted by kind; a hook's success counts as heard only where the model hears it."""
    log = attachment("hook_success", content="ok", hookEvent="PostToolUse")
    heard = attachment("hook_success", content="the branch is main", hookEvent="SessionStart")
    attachments = AttachmentInserter()
    entries = list(
        attachments.insert_attachments(
            [
                HEAD,
                attachment("command_permissions"),
                log,
                log,
                heard,
                attachment("queued_command", prompt=""),
            ]
        )
    )

    assert [get_attachment_kind(each) for each in entries if isinstance(each, Message)] == [
        "hook_success"
    ]
    assert {each.source: each.why for each in attachments.list_omitted_attachments()} == {
        "attachment command_permissions": "it says which tools a command may use",
        "attachment hook_success": "2 of them: it is what a hook printed for the log",
        "attachment queued_command": "it held no words",
    }
    assert not SHOWN_KINDS.keys() & HIDDEN_KINDS.keys()


@pytest.mark.covers("CP-10")
def test_a_compaction_keeps_what_stood_between_the_messages_it_kept() -> None:
    """Its count is of messages alone; attachments do not push a kept one out."""
    kept = CompactionBoundary(id="b", line=9, kept=2, replacement=(said("so far", 8),))

    assert [each.text for each in shown([*SESSION[:6], kept, said("third", 10)])] == [
        "so far", "done", shown(SESSION)[3].text, "second", "third",
    ]  # fmt: skip


def test_records_of_dead_branches_are_not_taken() -> None:
    """Only what the reader calls an attachment is one."""
    entries: list[TranscriptEntry] = [
        HEAD,
        SideRecord("branch", 2, SKILLS.raw),
        SideRecord("attachment", 3, b"{"),
        SideRecord("attachment", 4, b'{"uuid":"x","attachment":[]}'),
    ]

    assert not [
        each
        for each in AttachmentInserter().insert_attachments(entries)
        if isinstance(each, Message)
    ]


@given(
    st.sampled_from(["skill_listing", "file", "odd", "hook_success"]),
    st.dictionaries(st.text(), JSON) | st.fixed_dictionaries({"content": JSON}),
)
def test_no_attachment_breaks_the_reader(kind: str, values: dict[str, Any]) -> None:
    """Whatever it holds, it is one piece whose text cannot end its tag, or it is left out with a
    reason.
    """
    attachments = AttachmentInserter()
    record = {"uuid": "u", "attachment": {**values, "type": kind}}
    entries = list(
        attachments.insert_attachments([SideRecord("attachment", 1, json.dumps(record).encode())])
    )

    assert bool(entries) != bool(attachments.list_omitted_attachments())
    for each in entries:
        assert isinstance(each, Message)
        assert each.text.count("</system-reminder>") == 1


@pytest.mark.covers("CX-9")
def test_lines_that_cannot_be_read_are_named_and_many_of_them_counted() -> None:
    """A damaged recording shows what of it is missing, in a bounded report."""
    attachments = AttachmentInserter()
    entries: list[TranscriptEntry] = [
        SkippedLine(number, "it is cut off") for number in range(1, MAX_NAMED_LINES + 6)
    ]

    assert list(attachments.insert_attachments(entries)) == entries
    left = attachments.list_omitted_attachments()
    assert (left[0].source, left[0].why) == ("line 1", "it cannot be used: it is cut off")
    assert (len(left), left[-1].why) == (MAX_NAMED_LINES + 1, "5 of them cannot be used")
