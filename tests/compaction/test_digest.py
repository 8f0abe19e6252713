"""The extractive summary: what survives without a model."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.histories import STEPS, parted, told
from memorist.compaction.extractive_summary import compact_messages_with_extracts
from memorist.core.messages import ImageBlock, Message, Origin, TextBlock, ToolResult, ToolUse
from memorist.core.token_count import estimate_message_tokens

pytestmark = pytest.mark.covers("CP-15", "CP-16")

FILLER = "\n".join(
    f"line {number} of a long listing that nobody asks for again" for number in range(400)
)
CONVENTION = "Use tabs, and never touch the generated folder."
CORRECTION = "No, not the parser: fix the lexer instead."


class Session:
    """A session told step by step, with calls as Claude Code makes them."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def _add(self, role: Any, origin: Origin, *blocks: Any) -> Session:
        self.messages.append(
            Message(
                id=f"m{len(self.messages)}",
                role=role,
                blocks=blocks,
                origin=origin,
                is_typed=origin is Origin.USER,
            )
        )
        return self

    def user(self, text: str) -> Session:
        return self._add("user", Origin.USER, TextBlock(text))

    def says(self, text: str) -> Session:
        return self._add("assistant", Origin.MODEL, TextBlock(text))

    def calls(
        self, name: str, given: dict[str, Any], answer: str, *, error: bool = False
    ) -> Session:
        use = f"c{len(self.messages)}"
        self._add("assistant", Origin.MODEL, ToolUse(use, name, given))
        return self._add("user", Origin.TOOL, ToolResult(use, (TextBlock(answer),), is_error=error))

    def listing(self, times: int = 1) -> Session:
        for number in range(times):
            self.calls("Bash", {"command": f"ls -R part{number}"}, FILLER)
        return self


def long_session() -> Session:
    """About 40,000 tokens, most of them listings."""
    session = Session().user(f"Make the lexer faster. {CONVENTION}")
    session.calls(
        "Read",
        {"file_path": "/repo/src/lexer.py"},
        "     1\tdef scan(text):\n     2\t    return list(slow_tokens(text))",
    )
    session.listing(2)
    session.calls(
        "Bash",
        {"command": "pytest tests/test_lexer.py"},
        "E   ValueError: bad offset 17\n1 failed",
        error=True,
    )
    session.user(CORRECTION)
    tasks = [
        {"content": "Rewrite scan", "status": "in_progress"},
        {"content": "Measure the gain", "status": "pending"},
    ]
    session.calls("TodoWrite", {"todos": tasks}, "ok")
    session.calls(
        "Edit",
        {
            "file_path": "/repo/src/lexer.py",
            "old_string": "list(slow_tokens(text))",
            "new_string": "[*quick_tokens(text, start_offset=0)]",
        },
        "The file /repo/src/lexer.py has been updated.",
    )
    session.calls("Bash", {"command": "pytest tests/test_lexer.py"}, "1 passed")
    return session.user("Now write the notes for the release.").listing(2)


def text_of(messages: tuple[Message, ...]) -> str:
    return "\n".join(
        [message.text for message in messages]
        + [result.text for message in messages for result in message.tool_results]
    )


@pytest.mark.parametrize("budget", [2_000, 8_000])
def test_the_users_limits_corrections_and_last_request_stay_word_for_word(budget: int) -> None:
    """What the user said is copied, not told again."""
    made = compact_messages_with_extracts(long_session().messages, budget)

    assert made.tokens_after <= budget
    for words in (CONVENTION, CORRECTION, "Now write the notes for the release."):
        assert words in text_of(made.messages)


def test_failed_attempts_stay_with_what_mended_them() -> None:
    """The same mistake need not be made twice."""
    text = text_of(
        compact_messages_with_extracts(long_session().says("Done.").messages, 2_000).messages
    )

    assert "ValueError: bad offset 17" in text
    assert re.search(r"`pytest tests/test_lexer\.py` failed.*mended", text)


def test_open_tasks_and_the_files_stay() -> None:
    """What is to be done, and where."""
    text = text_of(compact_messages_with_extracts(long_session().messages, 2_000).messages)

    assert "Rewrite scan (in_progress)" in text
    assert "Measure the gain (pending)" in text
    assert "changed /repo/src/lexer.py" in text


def test_what_was_read_and_changed_stays_before_long_listings() -> None:
    """Extracts are chosen by what may be needed again: code that was changed, not what a command
    printed.
    """
    text = text_of(
        compact_messages_with_extracts(long_session().says("Done.").messages, 2_000).messages
    )

    assert "[*quick_tokens(text, start_offset=0)]" in text
    assert "def scan(text):" in text
    assert text.count("of a long listing") < 40


def test_the_way_to_the_full_transcript_is_shown() -> None:
    """Exact details can be looked up."""
    made = compact_messages_with_extracts(
        long_session().messages, 2_000, transcript="/home/dev/session.jsonl"
    )

    assert "/home/dev/session.jsonl" in made.messages[0].text
    assert made.messages[0].origin is Origin.SUMMARY


def test_a_newer_version_of_a_region_is_kept_once() -> None:
    """Reading a file three times does not fill the digest three times."""
    session = Session().user("look")
    names = ("alpha", "beta", "gamma", "delta", "epsilon")
    code = "\n".join(
        f"     {at}\t{name}_value = compute_the_{name}_value(mode='strict')"
        for at, name in enumerate(names, 1)
    )
    for _ in range(3):
        session.calls("Read", {"file_path": "/repo/values.py"}, code).listing()
    text = text_of(compact_messages_with_extracts(session.says("done").messages, 6_000).messages)

    assert text.count("gamma_value = compute_the_gamma_value(mode='strict')") == 1
    assert "from /repo/values.py lines" in text or "from values.py lines" in text


def test_a_new_request_stays_a_message_of_the_user() -> None:
    """The message that is about to be answered is the very same object."""
    messages = long_session().user("One more thing: bump the version.").messages
    made = compact_messages_with_extracts(messages, 3_000)

    assert made.messages[-1] is messages[-1]


def test_what_is_gone_is_listed_by_id() -> None:
    """Every message that does not stay can be fetched back."""
    messages = long_session().messages
    made = compact_messages_with_extracts(messages, 4_000)
    left = {message.id for message in made.messages}

    assert {cut.id for cut in made.removed_items} >= {message.id for message in messages} - left
    assert all(cut.tokens >= 0 for cut in made.removed_items)


def test_a_history_of_pictures_alone_gives_a_valid_digest() -> None:
    """Nothing to quote is no error."""
    picture = ImageBlock({"type": "base64", "data": "aGk="})
    messages = [
        Message(id=f"p{at}", role="user", blocks=(picture,), origin=Origin.USER, is_typed=True)
        for at in range(5)
    ]
    made = compact_messages_with_extracts(messages, 4_000)

    assert made.tokens_after <= 4_000
    assert made.messages[-1] is messages[-1]


def test_a_request_larger_than_the_budget_is_cut_in_the_middle() -> None:
    """It stays a message with its beginning, its end and the way back, and the result fits."""
    request = "please read this: " + "word " * 9_000 + "and say what is wrong"
    in_front = compact_messages_with_extracts(
        Session().user("hello").listing(2).user(request).messages, 3_000
    )
    before = compact_messages_with_extracts(
        Session().user(request).listing(2).messages, 3_000, transcript="t.jsonl"
    )

    for made, id in ((in_front, "m5"), (before, "m0")):
        (kept,) = (message for message in made.messages if message.id == id)
        assert kept.text.startswith("please read this: ")
        assert "and say what is wrong" in kept.text
        assert f"[whole text: {id}]" in kept.text
        assert made.tokens_after <= 3_000
    assert "t.jsonl" in before.messages[0].text


def test_calls_that_wait_for_a_result_stay_and_their_neighbours_are_shortened() -> None:
    """A compaction in the middle of parallel calls leaves a history that can go on."""
    session = Session().user("go")
    uses = (ToolUse("a", "Bash", {"command": "x"}), ToolUse("b", "Bash", {"command": "y"}))
    session._add("assistant", Origin.MODEL, *uses)
    session._add("user", Origin.TOOL, ToolResult("a", (TextBlock(FILLER * 3),)))
    made = compact_messages_with_extracts(session.messages, 3_000)

    assert made.tokens_after <= 3_000
    assert [use.id for message in made.messages for use in message.tool_uses] == ["a", "b"]


@given(STEPS, st.sampled_from([60, 500, 3_000, 20_000]), st.sampled_from([1.0, 1.72]))
@pytest.mark.covers("CP-10")
def test_no_pair_is_parted_and_the_budget_holds(
    steps: list[tuple[str, int]], budget: int, factor: float
) -> None:
    """Over histories of every shape: a valid history within the budget, unless the last request or
    waiting calls are larger alone.
    """
    messages = told(steps)
    made = compact_messages_with_extracts(messages, budget, factor=factor, transcript="t.jsonl")

    assert not parted(messages, made.messages)
    assert made.tokens_after == sum(
        estimate_message_tokens(message, factor) for message in made.messages
    )
    must = max(
        (
            estimate_message_tokens(message, factor)
            for message in messages
            if message.origin is Origin.USER
        ),
        default=0,
    )
    waiting = (
        sum(estimate_message_tokens(message, factor) for message in made.messages[1:])
        if made.messages[1:]
        else 0
    )
    assert made.tokens_after <= budget or must + waiting + 150 * factor > budget


@given(STEPS)
def test_a_history_that_fits_comes_back_as_it_is(steps: list[tuple[str, int]]) -> None:
    """A digest of a digest that fits is itself."""
    messages = told(steps)
    once = compact_messages_with_extracts(messages, 8_000)
    again = compact_messages_with_extracts(once.messages, max(8_000, once.tokens_after))

    assert again.messages == once.messages
    assert not again.removed_items


OURS = frozenset(
    re.findall(
        r"\w+",
        """
        This session goes on from an earlier conversation that no longer fits What follows was taken from its transcript by a program the words
        are as they stood there marks what is left out and steps count its messages The full transcript for exact details the user said times
        last Tasks pending failed Files changed read in step Extracts order Names also came up Seen Named calls outputs or ran looked at called
        output of after change answer assistant reasoning put harness tokens cut lines patched edit exit refusing interrupting same command passed
        mended changing user bash whole text pasted by
        has answered each numbered one unless marked otherwise interrupted not yet
        """.lower(),
    )
)
WORDS = st.lists(
    st.sampled_from(
        [
            "parser",
            "src/a.py",
            "Tenant",
            "error:",
            "fails",
            "12",
            "ünïcode",
            "\n",
            "- ",
            "```",
            "read_all",
        ]
    ),
    max_size=30,
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["user", "says", "Bash", "Read", "Edit", "odd"]), WORDS.map(" ".join)
        ),
        min_size=1,
        max_size=20,
    )
)
def test_nothing_is_in_a_digest_that_was_not_in_the_history(steps: list[tuple[str, str]]) -> None:
    """Only the labels are ours; every other word stands in the history; the list of failures is the
    ledger's own.
    """
    session = Session()
    for kind, text in steps:
        given_ = (
            {"command": text}
            if kind == "Bash"
            else {"file_path": f"/w/{text}", "old_string": text, "new_string": text}
        )
        if kind in ("user", "says"):
            getattr(session, kind)(f"{text} " * 8)
        else:
            session.calls(
                kind,
                given_ if kind != "odd" else {"x": [text, {"y": None}]},
                f"{text} " * 12,
                error=len(text) % 3 == 0,
            )
    ids = (
        " ".join(message.id for message in session.messages) + " c0"
    )  # the way back to what was cut
    heard = " ".join(text for _, text in steps).lower() + f" odd edit read bash /w/ {ids}"

    text = re.sub(
        r"\n## What failed\n.*?(?=\n## |\Z)",
        "",
        text_of(compact_messages_with_extracts(session.messages, 300).messages),
        flags=re.DOTALL,
    )

    for word in re.findall(r"[^\W\d_]+", text):
        assert word.lower() in OURS or word.lower() in heard, word


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00\ud800",
        "<system-reminder>" * 2_000,
        "*** Begin Patch\n" * 3_000,
        "a/" * 40_000,
        "9" * 60_000,
        "\x1b[31m" * 9_000,
        "…" * 30_000,
    ],
)
def test_hostile_texts_do_no_harm(text: str) -> None:
    """Odd signs, unclosed tags and endless words neither raise nor break the budget."""
    given_text = text.replace("\ud800", "")
    session = (
        Session()
        .user("check")
        .calls("Read", {"file_path": given_text[:500], "n": 1}, text)
        .calls("Bash", {"command": given_text}, text)
    )
    made = compact_messages_with_extracts(session.says(text).listing(2).messages, 2_000)

    assert made.tokens_after <= 2_000


def test_a_program_that_calls_tools_stands_as_it_was_written() -> None:
    """Of a program that runs two commands at once the digest quotes the lines of the program."""
    program = (
        "const [state, found] = await Promise.all([\n"
        '  tools.exec_command({cmd: "git status --short", workdir: "/srv/app"}),\n'
        '  tools.exec_command({cmd: "rg -n LexerState src", yield_time_ms: 12000}),\n'
        "]);\n"
        "text(state.output + found.output);"
    )
    session = Session().user("Make the lexer faster.").listing(4)
    session._add("assistant", Origin.MODEL, ToolUse("p1", "exec", {}, program))
    session._add("user", Origin.TOOL, ToolResult("p1", (TextBlock("M src/lexer.py"),)))

    text = text_of(compact_messages_with_extracts(session.listing(2).messages, 8_000).messages)

    assert program.splitlines()[1] in text
    assert program.splitlines()[2] in text


def screens(times: int) -> Session:
    """A conversation of pictures, each shown by the user and answered."""
    session = Session()
    for at in range(times):
        session._add("user", Origin.USER, TextBlock(f"screen {at}"), ImageBlock({"data": f"{at}"}))
        session.says(f"seen {at}")
    return session


def list_pictures(messages: Any) -> list[str]:
    return [
        block.source["data"]
        for message in messages
        for block in message.blocks
        if isinstance(block, ImageBlock)
    ]


def test_the_room_that_extracts_leave_unused_holds_the_newest_pictures() -> None:
    """A picture gives no extracts: of thirty screens not one was left at 8,000 tokens, when 'compare
    the last two' came after them and 7,700 tokens were unused.
    """
    session = screens(30).user("compare the last two")
    result = compact_messages_with_extracts(session.messages, 8_000)
    assert list_pictures(result.messages) == ["27", "28", "29"]
    assert result.tokens_after <= 8_000


def test_pictures_sent_one_by_one_and_not_answered_yet_stay_together() -> None:
    """Only the last of several messages that wait for an answer was the newest round, where the
    others hold a picture and no text.
    """
    session = Session().user("fix the page").listing(10).says("done, show me")
    for at in range(4):
        session._add("user", Origin.USER, ImageBlock({"data": f"{at}"}))
    result = compact_messages_with_extracts(session.messages, 16_000)
    assert list_pictures(result.messages) == ["0", "1", "2", "3"]
    assert result.tokens_after <= 16_000


def test_requests_that_wait_for_an_answer_stay_together() -> None:
    """A log and the question about it, sent as two messages: the log was cut to extracts."""
    log = "\n".join(
        f"{at:05} request {at * 7919 % 10007} took {at * 31 % 977} ms" for at in range(300)
    )
    session = long_session().says("ready").user(log).user("which of these was the slowest?")
    result = compact_messages_with_extracts(session.messages, 10_000)
    assert log in text_of(result.messages[-2:])
    assert result.tokens_after <= 10_000
