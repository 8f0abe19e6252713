"""What clients hand on as the user's prompt though no user typed it, as data: the text, and the
marks of the record that holds it. Shapes as Claude Code and Codex write them; the words are ours.
`docs/attacks.md` counts them.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from memorist.hooks.hook_event import Client


class ClientRecord(Struct, frozen=True):
    """A prompt that nobody typed. `{order}` stands for the order in it."""

    client: Client
    way: str
    text: str
    marks: dict[str, Any] = {}


def _peer(text: str) -> str:
    return f"Another Claude session sent a message:\n{text}"


CLIENT_RECORDS: tuple[ClientRecord, ...] = tuple(
    ClientRecord("claude-code", way, text, marks)
    for way, text, marks in (
        (
            "a peer's message",
            _peer('<teammate-message teammate_id="x">{order}</teammate-message>'),
            {},
        ),
        ("a peer's message without its tag", _peer("{order}"), {}),
        (
            "a team mate's message",
            '<teammate-message teammate_id="lead">\n{order}\n</teammate-message>',
            {},
        ),
        (
            "another session",
            '<cross-session-message from-name="b">\n{order}\n</cross-session-message>',
            {},
        ),
        ("a chat channel", '<channel source="plugin:chat" chat_id="4">{order}</channel>', {}),
        (
            "a finished task",
            "<task-notification>\n<result>{order}</result>\n</task-notification>",
            {},
        ),
        ("a timer", "<scheduled-wakeup>\n{order}\n</scheduled-wakeup>", {}),
        ("a scheduled task", '<scheduled-task name="hourly">\n{order}\n</scheduled-task>', {}),
        ("a hook's feedback", "Stop hook feedback:\n{order}", {}),
        ("a hook that stopped a prompt", "Operation stopped by hook: Conflict.\n{order}", {}),
        ("a skill's text", "Base directory for this skill: /x/deploy\n\n{order}", {}),
        ("a suggested prompt", "[SUGGESTION MODE: what the user might type next]\n{order}", {}),
        ("a model's plan", "Implement the following plan:\n\n# Plan\n\n{order}", {}),
        ("a chat in a log", "what is in this log\n\nHuman: {order}\n\nAssistant: ok", {}),
        ("print mode", "{order}", {"promptSource": "sdk", "entrypoint": "sdk-cli"}),
        ("print mode of older versions", "{order}", {"entrypoint": "sdk-cli"}),
        (
            "a program with the SDK",
            "{order}",
            {"promptSource": "sdk", "entrypoint": "sdk-py", "origin": {"kind": "human"}},
        ),
        ("a coordinator", "{order}", {"origin": {"kind": "coordinator"}}),
        ("a peer by its mark", "{order}", {"origin": {"kind": "peer"}}),
        ("a channel by its mark", "{order}", {"origin": {"kind": "channel"}}),
        ("the client's own continuation", "{order}", {"promptSource": "system"}),
        ("what the client adds to a turn", "{order}", {"turnCompanion": True}),
        ("a kind that is not known yet", "{order}", {"origin": {"kind": "oracle"}}),
        ("a subagent by its mark", "{order}", {"agentId": "a1"}),
        ("what only the transcript shows", "{order}", {"isVisibleInTranscriptOnly": True}),
    )
) + tuple(
    ClientRecord("codex", way, text)
    for way, text in (
        ("a pipe beside a prompt", "Sum it up\n\n<stdin>\n{order}\n</stdin>"),
        ("a hook's prompt", '<hook_prompt hook_run_id="h1">{order}</hook_prompt>'),
        (
            "a file of the application",
            "# Files mentioned by the user:\n\n## n.md: /x/n.md\n\n{order}\n\n## My request for Codex:\nread it",
        ),
        ("instruction files without their tag", "# AGENTS.md instructions for /x\n\n{order}"),
        ("another thread", "<codex_delegation>\n<input>{order}</input>\n</codex_delegation>"),
        ("a review", "<user_action>\n<results>{order}</results>\n</user_action>"),
        ("a goal", "<goal_context>\n{order}\n</goal_context>"),
        ("words around a picture", "<image name=[Image #1]>\n{order}\n</image>\nwhat is it"),
    )
)

CODEX_SOURCES: dict[str, dict[str, Any]] = {
    "codex exec": {"source": "exec", "originator": "codex_exec"},
    "a thread of another agent": {"source": {"subagent": {"thread_spawn": {"depth": 1}}}},
    "a review of its own": {"source": {"subagent": "review"}},
    "a child thread": {"source": "cli", "parent_thread_id": "t0"},
    "a server for programs": {"source": "mcp"},
    "a source that is not known yet": {"source": "oracle"},
}
"""What a rollout says of a session into which no user types."""
