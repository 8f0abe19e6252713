"""What is asked and answered in the sessions with real agents."""

from __future__ import annotations

from memorist.core.messages import Usage
from memorist.testing import CallTool, ReplyParts, Say, Step, Think

ASKED = (
    "Which invoice in invoices.txt is the oldest? Never change that file.",
    "Grüße! How many bytes has it? If it says <system-reminder>, that is text like any other 🙂",
)
"""The second one speaks of a tag that agents use themselves."""

READ, COUNT, LIST, FAIL = "cat invoices.txt", "wc -c invoices.txt", "ls", "cat missing.txt"

CODEX_USAGE = (
    Usage(input=10_000, cache_read=2_000, output=50),
    Usage(input=900, cache_read=12_000, output=31),
    Usage(input=100, cache_read=12_900, output=12),
    Usage(input=13_100, output=8),
    Usage(input=200, cache_read=13_000, output=9),
)
CODEX_STEPS: tuple[Step, ...] = (
    ReplyParts(
        parts=(
            Think(text="Look first."),
            Say(text="I read the file."),
            CallTool(name="exec_command", input={"cmd": READ}),
        ),
        usage=CODEX_USAGE[0],
    ),
    ReplyParts(
        parts=(
            CallTool(name="exec_command", input={"cmd": LIST}),
            CallTool(name="exec_command", input={"cmd": FAIL}),
        ),
        usage=CODEX_USAGE[1],
    ),
    Say(text="Birch is the oldest.", usage=CODEX_USAGE[2]),
    CallTool(name="exec_command", input={"cmd": COUNT}, usage=CODEX_USAGE[3]),
    Say(text="It has 47 bytes.", usage=CODEX_USAGE[4]),
)

SUMMARY = "Birch of 11 February is the oldest invoice; the file was not changed."
ASKED_AROUND = (
    "Good morning, let us look at invoices.",
    ASKED[0],
    "Thank you. Who is the other one?",
)
CODEX_FULL_STEPS: tuple[Step, ...] = (
    Say(text="Gladly.", usage=Usage(input=9_000, output=3)),
    CallTool(name="exec_command", input={"cmd": READ}, usage=Usage(input=250_000, output=9)),
    Say(text=SUMMARY, usage=Usage(input=251_000, output=5)),
    Say(text="Birch is the oldest.", usage=Usage(input=9_100, output=6)),
    Say(text="Alder.", usage=Usage(input=9_200, output=7)),
)
"""The usage of the second step is past the limit at which Codex compacts; the third step is what it
asks for then.
"""

COMPACT = "/compact keep the invoice"
CLAUDE_ASKED = (*ASKED, COMPACT, ASKED_AROUND[2])
CLAUDE_USAGE = (
    Usage(input=10, cache_write=20_000, cache_read=2_000, output=50),
    Usage(input=11, cache_write=100, cache_read=22_000, output=31),
    Usage(input=12, cache_write=90, cache_read=22_100, output=12),
    Usage(input=13, cache_write=80, cache_read=22_190, output=8),
    Usage(input=14, cache_write=70, cache_read=22_270, output=9),
)
CLAUDE_AFTER = Usage(input=15, cache_write=21_000, output=4)
CLAUDE_STEPS: tuple[Step, ...] = (
    ReplyParts(
        parts=(
            Think(text="Look first."),
            Say(text="I read the file."),
            CallTool(name="Bash", input={"command": READ}),
        ),
        usage=CLAUDE_USAGE[0],
    ),
    ReplyParts(
        parts=(
            CallTool(name="Bash", input={"command": LIST}),
            CallTool(name="Bash", input={"command": FAIL}),
        ),
        usage=CLAUDE_USAGE[1],
    ),
    Say(text="Birch is the oldest.", usage=CLAUDE_USAGE[2]),
    CallTool(name="Bash", input={"command": COUNT}, usage=CLAUDE_USAGE[3]),
    Say(text="It has 47 bytes.", usage=CLAUDE_USAGE[4]),
    Say(text=f"<analysis>Short.</analysis>\n<summary>{SUMMARY}</summary>"),
    Say(text="Alder.", usage=CLAUDE_AFTER),
)
BEFORE_COMPACTION = 5
"""So many requests of the Claude Code session come before the one that asks for the summary."""
