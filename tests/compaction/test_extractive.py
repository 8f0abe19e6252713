"""The extractive summary: what survives a compaction without a model, and what never goes wrong."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from compaction.histories import STEPS, WORD, History, parted, told
from memorist.compaction.compaction_result import CompactedHistory
from memorist.compaction.extractive_summary import compact_messages_with_extracts
from memorist.compaction.identifier_ranking import (
    IdentifierUsage,
    render_identifiers_missing_from_summary,
)
from memorist.compaction.measured_conversation import LONG_UTTERANCE_TOKENS
from memorist.compaction.newest_messages import (
    find_per_item_limit_to_fit,
    replace_media_by_placeholders,
    shrink_messages_to_fit,
)
from memorist.compaction.user_words import (
    EXTRACTIVE_SUMMARY_ID,
    UtteranceOccurrences,
    fit_utterances,
    list_handed_over_user_words,
    list_typed_utterances_with_counts,
)
from memorist.core.messages import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    Origin,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
)
from memorist.core.token_count import estimate_message_tokens, estimate_text_tokens
from memorist.transcript_analysis.names_in_text import hash_word_runs_ignoring_numbers

pytestmark = pytest.mark.covers("CP-15", "CP-16")

LISTING = "\n".join(
    f"src/part{number}/module_{number}.py: {number * 7919} bytes" for number in range(300)
)


def size(messages: Sequence[Message]) -> int:
    """Estimated tokens of messages."""
    return sum(map(estimate_message_tokens, messages))


def worked(rounds: int = 12) -> History:
    """A session of so many rounds, each with a listing of some 4,000 tokens."""
    history = History().user("Move the parser to src/parser and keep its tests green.")
    for number in range(rounds):
        history.runs(f"c{number}", f"round {number}\n{LISTING}")
    return history


def test_a_history_that_fits_stays_as_it_is() -> None:
    """Nothing is done to a history within its budget."""
    messages = worked(1).messages
    made = compact_messages_with_extracts(messages, size(messages))
    assert made.messages == tuple(messages)
    assert not made.removed_items


@pytest.mark.parametrize("budget", [400, 1_000, 2_000, 8_000, 20_000])
def test_the_result_is_within_every_budget(budget: int) -> None:
    """No digest is larger than its budget, however small that is."""
    made = compact_messages_with_extracts(worked().messages, budget)
    assert size(made.messages) == made.tokens_after <= budget


@given(steps=STEPS, budget=st.integers(200, 8_000), factor=st.sampled_from([1.0, 1.72]))
def test_no_history_breaks_a_pair_or_the_budget(
    steps: list[tuple[str, int]], budget: int, factor: float
) -> None:
    """Of every history comes a request that a provider takes, within the budget; also where calls
    wait for their results, and whatever the model said or thought before them.
    """
    messages = told(steps)
    made = compact_messages_with_extracts(messages, budget, factor=factor)
    assert not parted(messages, made.messages)
    if made.messages != tuple(messages):
        asked = {use.id for message in made.messages for use in message.tool_uses}
        assert {
            result.tool_use_id for message in made.messages for result in message.tool_results
        } <= asked
    assert made.tokens_after == sum(
        estimate_message_tokens(message, factor) for message in made.messages
    )
    assert made.tokens_after <= budget


def test_the_newest_round_stays_as_messages() -> None:
    """The result that the model has just asked for is no extract: its call and the result stand
    as messages, and whole where they fit.
    """
    messages = worked().runs("last", "the answer is 42").messages
    made = compact_messages_with_extracts(messages, 8_000)
    assert [use.id for message in made.messages for use in message.tool_uses][-1:] == ["last"]
    assert made.messages[-1] is messages[-1]


def test_a_result_larger_than_its_share_is_cut_in_the_middle() -> None:
    """Both ends of a huge newest result are left, and its way back is listed."""
    messages = worked().runs("last", f"BEGIN\n{LISTING * 8}\nEND").messages
    made = compact_messages_with_extracts(messages, 4_000)
    text = made.messages[-1].tool_results[0].text
    assert text.startswith("BEGIN")
    assert "\nEND" in text
    assert messages[-1].id in {cut.id for cut in made.removed_items}


def test_short_words_of_the_user_survive_verbatim() -> None:
    """Every short message is there word for word, and the newest request is a message of its own
    where there is room.
    """
    history = worked(2)
    said = [f"Rule {number}: never touch folder number {number}." for number in range(20)]
    for number, text in enumerate(said):
        history.user(text).runs(f"d{number}", LISTING)
    made = compact_messages_with_extracts(history.messages, 8_000)
    whole = "\n".join(message.text for message in made.messages)
    assert all(text in whole for text in said)
    assert any(
        message.origin is Origin.USER and message.text == said[-1] for message in made.messages
    )


def test_a_pasted_text_leaves_room_for_the_rest() -> None:
    """Of a huge paste the first and the last lines are left, and what was typed before and after
    it survives.
    """
    paste = f"Please look at this log:\n{LISTING * 6}\nWhat is wrong there?"
    messages = (
        History()
        .user("Use tabs.")
        .user(paste)
        .runs("c1", LISTING)
        .user("And fix it.")
        .runs("c2", LISTING)
        .messages
    )
    whole = "\n".join(
        message.text for message in compact_messages_with_extracts(messages, 4_000).messages
    )
    assert all(
        each in whole
        for each in ("Use tabs.", "Please look at this log:", "What is wrong there?", "And fix it.")
    )


def test_instructions_spend_no_room() -> None:
    """Developer messages larger than the budget change nothing: they are rebuilt by who sent
    them.
    """
    bundle = Message(
        id="dev",
        role="developer",
        blocks=(TextBlock("Skill list entry. " * 4_000),),
        origin=Origin.INJECTED,
    )
    messages = worked().messages
    with_it, without = (
        compact_messages_with_extracts([bundle, *messages], 6_000),
        compact_messages_with_extracts(messages, 6_000),
    )
    assert size(with_it.messages) <= 6_000
    assert "Skill list entry" not in with_it.messages[0].text
    assert abs(size(with_it.messages) - size(without.messages)) < 300


def test_a_result_without_its_call_becomes_text() -> None:
    """A recording that begins in mid-call gives a request without an orphaned result."""
    messages = (
        History()
        .results(("lost", "late answer"))
        .user("go on")
        .runs("a", LISTING * 5)
        .results(("gone", "orphan"))
        .messages
    )
    made = compact_messages_with_extracts(messages, 1_500)
    assert all(
        result.tool_use_id == "a" for message in made.messages for result in message.tool_results
    )


def test_a_picture_that_goes_leaves_a_mark() -> None:
    """Where a picture does not fit, its size is told in its place."""
    picture = Message(
        id="p",
        role="user",
        blocks=(TextBlock("what is this?"), ImageBlock({"type": "base64", "data": "aGk="})),
        origin=Origin.USER,
        is_typed=True,
    )
    made = compact_messages_with_extracts([*worked().messages, picture], 2_000)
    assert "a picture of" in made.messages[-1].text
    assert size(made.messages) <= 2_000


def test_the_summary_comes_first_and_says_what_it_is() -> None:
    """One message of ours stands for what is gone."""
    first = compact_messages_with_extracts(
        worked().messages, 4_000, transcript="/t.jsonl"
    ).messages[0]
    assert (first.id, first.role, first.origin) == (EXTRACTIVE_SUMMARY_ID, "user", Origin.SUMMARY)
    assert "/t.jsonl" in first.text


def test_the_same_history_gives_the_same_digest() -> None:
    """A digest depends on nothing but its history and budget."""
    assert compact_messages_with_extracts(
        worked().messages, 4_000
    ) == compact_messages_with_extracts(worked().messages, 4_000)


@given(sizes=st.lists(st.integers(0, 500), max_size=20), room=st.integers(0, 2_000))
def test_a_level_fills_the_room_and_no_more(sizes: list[int], room: int) -> None:
    """All sizes cut to the level fit, and with a level higher by one they would not, unless none
    is cut.
    """
    limit = find_per_item_limit_to_fit(sizes, room)
    assert sum(min(each, limit) for each in sizes) <= max(room, 0)
    assert limit >= max(sizes, default=0) or sum(min(each, limit + 1) for each in sizes) > room


@given(lengths=st.lists(st.integers(1, 3_000), max_size=30), room=st.integers(0, 3_000))
def test_words_fit_their_room(lengths: list[int], room: int) -> None:
    """The user's words keep to their room, and none takes more than a long message may."""
    made = fit_utterances(
        [UtteranceOccurrences(at, "word " * length) for at, length in enumerate(lengths)], room
    )
    assert sum(estimate_text_tokens(each.text) for each in made) <= room
    assert all(estimate_text_tokens(each.text) <= LONG_UTTERANCE_TOKENS for each in made)


def test_many_short_messages_are_no_reason_to_drop_one() -> None:
    """Fifty answers of a word each, and pasted logs: the logs are cut, and the oldest dropped."""
    said = [UtteranceOccurrences(at, f"yes, number {at}") for at in range(1, 51)]
    pasted = [UtteranceOccurrences(at, "log " * 2_000) for at in range(51, 81)]
    made = fit_utterances([*said, *pasted], 1_000)

    assert made[:50] == said
    assert made[50].step == 51
    assert made[-1].step == 80
    assert 2 <= len(made[50:]) < 30


def test_a_digest_without_words_of_the_user_is_compacted_again() -> None:
    """A section that is empty where a label was expected: once, this raised `ValueError`."""
    empty = History().summary("## What the user said\n\n## Tasks\n- none (pending)")
    messages = empty.says("word " * 3_000).user("Go on.").runs("c1", "word " * 500).messages

    assert "Go on." in str(compact_messages_with_extracts(messages, 2_000).messages)


def test_a_digest_says_which_requests_were_not_answered() -> None:
    """An agent that reads only the digest does not take up work that is done: of each message of
    the user it says whether the assistant closed it with a reply, or was stopped before that.
    """
    history = History().user("Rename the table.").runs("a", LISTING).says("It is renamed.")
    history.user("Drop the index.").runs("b", LISTING)
    history.injected("<turn_aborted>\nstopped on purpose\n</turn_aborted>")
    history.user("Drop the view.").says("I drop").injected("[Request interrupted by user]")
    history.user("Keep the index.").runs("c", LISTING).says("Kept.").user("Write the migration.")
    history.says("I begin with the schema.").runs("d", LISTING).user("And its test.")
    for number in range(4):
        history.runs(f"e{number}", f"round {number}\n{LISTING}")
    text = compact_messages_with_extracts(history.messages, 3_000).messages[0].text

    assert "unless marked" in text
    assert re.search(r"^\[step 1\] Rename the table", text, re.MULTILINE)
    assert re.search(r"^\[step \d+, interrupted\] Drop the index", text, re.MULTILINE)
    assert re.search(r"^\[step \d+, interrupted\] Drop the view", text, re.MULTILINE)
    assert re.search(r"^\[step \d+\] Keep the index", text, re.MULTILINE)
    assert re.search(r"^\[step \d+, not answered yet\] Write the migration", text, re.MULTILINE)


def test_messages_that_fit_are_not_shortened() -> None:
    """Shortening leaves small messages the same objects."""
    messages = worked(1).messages
    assert all(
        one is other
        for one, other in zip(messages, shrink_messages_to_fit(messages, 100_000), strict=True)
    )


@pytest.mark.parametrize("words", ["See the screenshot.", ""])
def test_a_picture_of_an_old_message_leaves_a_mark_beside_the_users_words(words: str) -> None:
    """What the user showed long ago is told with its size and the id that fetches it, also where
    it came without words; the next compaction takes none of it for the user's words.
    """
    picture = ImageBlock({"type": "base64", "data": "a" * 40_000})
    blocks = (TextBlock(words), picture) if words else (picture,)
    shown = Message(id="shown", role="user", blocks=blocks, origin=Origin.USER)

    made = compact_messages_with_extracts([shown, *worked().messages], 2_000)

    (digest,) = [each.text for each in made.messages if "What the user said" in each.text]
    label = ", with a picture of 30,000 bytes: shown] "
    assert f"{label}{words or '(no words)'}" in digest
    later = Message(id="d", role="user", blocks=(TextBlock(digest),), origin=Origin.SUMMARY)
    assert "bytes" not in "".join(list_handed_over_user_words([later], ()))


def test_a_request_whose_call_failed_waits_though_the_user_said_go_on() -> None:
    """The client writes its error in the model's place: that answers nothing, and what the user
    asked before it stays whole. It was cut, and counted as answered.
    """
    task = " ".join(["Change these:", *(f"file{number}.py" for number in range(600))])
    error = Message(
        id="e", role="assistant", blocks=(TextBlock("API Error 529"),), origin=Origin.INJECTED
    )
    rest = replace(History().user("Go on.").messages[0], id="rest")
    asked = replace(History().user(task).messages[0], id="asked")

    made = compact_messages_with_extracts([*worked().messages, asked, error, rest, error], 8_000)
    marks = [each.mark for each in list_typed_utterances_with_counts([asked, error, rest, error])]

    assert asked in made.messages
    assert marks == ["not answered yet"] * 2


def test_pictures_that_came_with_the_same_words_are_all_found_again() -> None:
    """Only that of the last was named: of three screenshots with "And this one?" two were lost."""
    picture = ImageBlock({"type": "base64", "data": "a" * 400})
    words: Block = TextBlock("And this one?")
    names = ("first", "second", "third")
    asked = [
        Message(id=name, role="user", blocks=(words, picture), origin=Origin.USER) for name in names
    ]
    again = Message(id="again", role="user", blocks=(words,), origin=Origin.USER)

    made = compact_messages_with_extracts([*asked, again, *worked().messages], 2_000)

    digest = "".join(each.text for each in made.messages)
    found = [f"a picture of 300 bytes: {name}" for name in names]
    assert f", with {'; '.join(found)}] And this one?" in digest
    later = Message(id="d", role="user", blocks=(TextBlock(digest),), origin=Origin.SUMMARY)
    assert "bytes" not in "".join(list_handed_over_user_words([later], ()))


def test_the_pictures_beside_a_request_take_no_room_from_the_users_words() -> None:
    """They are counted in one mark; one for each, of twenty, left 2 of 12 requests."""
    picture = ImageBlock({"type": "base64", "data": "a" * 400})
    words: Block = TextBlock("Sort these. The port is 9417.")
    sent = Message(id="sent", role="user", blocks=(words, *[picture] * 20), origin=Origin.USER)
    history = History().says("Which?")
    for number in range(12):
        details = " ".join(f"detail{number}x{each}" for each in range(120))
        history.user(f"Look at part {number} of it, {details}").says("ok " * 600)

    made = compact_messages_with_extracts([sent, *history.messages], 2_000)

    digest = "".join(each.text for each in made.messages)
    assert ", with 20 pictures of 6,000 bytes together: sent] Sort these. The port" in digest
    assert all(f"part {number} of" in digest for number in range(12))


def test_of_many_pictures_the_newest_stay() -> None:
    """Only as many pictures go as must, the oldest first; each leaves a mark."""
    pictures = [ImageBlock({"type": "base64", "data": f"aGk{at}"}) for at in range(6)]
    asked = Message(
        id="asked",
        role="user",
        blocks=(TextBlock("Which?"), *pictures),
        origin=Origin.USER,
        is_typed=True,
    )
    blocks = shrink_messages_to_fit([asked], 5_000)[0].blocks

    assert [block for block in blocks if isinstance(block, ImageBlock)] == pictures[-2:]
    assert sum(isinstance(block, TextBlock) and "asked]" in block.text for block in blocks) == 4


@pytest.mark.parametrize(
    ("source", "mark"),
    [
        ({"type": "base64", "data": "aGk=" * 100}, "[a picture of 300 bytes was here: m]"),
        (
            {"image_url": "data:image/png;base64," + "aGk=" * 100},
            "[a picture of 300 bytes was here: m]",
        ),
        (
            {"image_url": {"url": "data:image/png;base64," + "aGk=" * 100}},
            "[a picture of 300 bytes was here: m]",
        ),
        ({"type": "url", "url": "https://example.org/a.png"}, "[a picture was here: m]"),
    ],
)
def test_the_mark_of_a_picture_names_its_size(source: dict[str, Any], mark: str) -> None:
    """Of Codex and Chat Completions it said 0 bytes, and of an address the length of that."""
    asked = Message(id="m", role="user", blocks=(ImageBlock(source),), origin=Origin.USER)
    assert replace_media_by_placeholders(asked).blocks == (TextBlock(mark, Origin.INJECTED),)


def test_the_mark_of_a_text_document_names_its_bytes() -> None:
    """It was counted as base64 behind its first comma."""
    block = DocumentBlock({"type": "text", "media_type": "text/plain", "data": "Grüße, Welt."})
    sent = Message(id="m", role="user", blocks=(block,), origin=Origin.USER)
    assert replace_media_by_placeholders(sent).text == "[a document of 14 bytes was here: m]"


def test_a_call_larger_than_the_budget_still_shows_that_it_was_made() -> None:
    """A model that wrote a file of 30,000 characters does not write it again after a compaction."""
    history = worked(6).user("Write the table.")
    use = ToolUse("w1", "Write", {"file_path": "/shop/table.py", "content": "row = 1\n" * 4_000})
    result = ToolResult("w1", (TextBlock("The file was written."),))
    messages = [
        *history.messages,
        Message(id="call", role="assistant", blocks=(use,), origin=Origin.MODEL),
        Message(id="result", role="tool", blocks=(result,), origin=Origin.TOOL),
    ]
    made = compact_messages_with_extracts(messages, 4_000)

    assert made.tokens_after <= 4_000
    assert made.messages[-3].text == "Write the table."
    assert made.messages[-2].role == "assistant"
    assert "Write was called" in made.messages[-2].text
    assert "/shop/table.py" in made.messages[-2].text
    assert made.messages[-1].text == "The file was written."


def test_a_round_of_many_calls_stays_where_it_fits_the_budget() -> None:
    """Twenty calls at once stay with their results, cut in the middle, where most of the budget is
    theirs.
    """
    names = [f"p{number}" for number in range(20)]
    history = worked(6).user("Read them all.").calls(*[(name, "Read") for name in names])
    history.results(*[(name, f"file of {name}\n{LISTING}") for name in names])
    made = compact_messages_with_extracts(history.messages, 1_600)

    assert made.tokens_after <= 1_600
    assert [result.tool_use_id for result in made.messages[-1].tool_results] == names


def test_a_listed_name_is_not_listed_again_in_parts() -> None:
    """The names of a digest hold `src/shop/money.py`, and not `shop/money.py` beside it; but
    `Ledger` beside `LedgerEntry`.
    """
    names = [
        IdentifierUsage(text)
        for text in ("money.py", "Ledger2", "src/shop/money.py", "Ledger2Entry")
    ]
    listed = render_identifiers_missing_from_summary(names, lambda name: False, 100)

    assert sorted(listed.split(", ")) == ["Ledger2", "Ledger2Entry", "src/shop/money.py"]


@pytest.mark.parametrize(
    "words", ["发票的总额必须四舍五入到分", "請求書の合計はセント単位で丸める", "ยอดรวมต้องปัดเศษ"]
)
def test_a_script_without_spaces_has_words(words: str) -> None:
    """A sentence in Chinese, Japanese or Thai weighs as much as one of as many words, not as one
    word.
    """
    assert len(hash_word_runs_ignoring_numbers(words)) >= len(words) // 2


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("rm media/old.svg", "media/old.svg (deleted)"),
        ("cd /shop && git rm -f media/old.svg", "media/old.svg (deleted)"),
        ("rm -rf /shop/media", "media/old.svg (deleted)"),
        ("rm old.svg", "media/old.svg\n"),
        ("git rm --cached media/old.svg", "media/old.svg\n"),
        ("ls media/old.svg", "media/old.svg\n"),
    ],
)
def test_a_changed_file_that_was_deleted_is_marked(command: str, line: str) -> None:
    """An agent that goes on does not look for a file that is gone."""
    history = History().user("Draw the icon.")
    write = ToolUse("w", "Write", {"file_path": "/shop/media/old.svg", "content": "<svg/>"})
    history._add("assistant", Origin.MODEL, write)
    history.results(("w", "File created."))
    history._add("assistant", Origin.MODEL, ToolUse("d", "Bash", {"command": command}))
    history.results(("d", ""))
    for number in range(6):
        history.runs(f"c{number}", f"round {number}\n{LISTING}")
    made = compact_messages_with_extracts(history.messages, 4_000, cwd="/shop")

    changed = made.messages[0].text.split("## Files changed\n")[1]
    assert f"{changed}\n".startswith(f"/shop/{line}")


def test_short_messages_of_the_user_stay_whole_beside_a_pasted_page() -> None:
    """A page that was pasted does not cut what was typed."""
    typed = [f"Correction {number}: {'and ' * 60}not in the cellar." for number in range(6)]
    history = worked(4).user("Look at this page.\n" + "a line of the page\n" * 3_000)
    for at, words in enumerate(typed):
        history.user(words).runs(f"t{at}", LISTING)
    made = compact_messages_with_extracts(history.messages, 3_000)

    assert made.tokens_after <= 3_000
    assert all(words in "\n".join(each.text for each in made.messages) for words in typed)


def test_all_files_of_a_patch_are_listed_and_corrections_stand_once() -> None:
    """A patch of two files changed both; what the user typed is no failure as well."""
    patch = "*** Begin Patch\n" + "".join(
        f"*** Update File: {name}\n@@\n-old\n+new\n" for name in ("one.py", "two.py")
    )
    history = History().user("Rename it.").runs("c", LISTING)
    history._add(
        "assistant", Origin.MODEL, ToolUse("p", "apply_patch", {}, f"{patch}*** End Patch")
    )
    history.results(("p", "Success. Updated the following files:\nM one.py\nM two.py"))
    history.user("No, never rename the table.")
    for number in range(4):
        history.runs(f"c{number}", f"round {number}\n{LISTING}")
    text = compact_messages_with_extracts(history.user("Go on.").messages, 4_000).messages[0].text

    assert "two.py\none.py" in text or "one.py\ntwo.py" in text
    assert text.count("never rename the table") == 1


def test_words_that_a_hand_over_quotes_survive_every_later_digest() -> None:
    """Nobody typed them in this session: they are quoted again by the digest that takes the place
    of the hand-over, and by the one that takes the place of that digest. What a tool's result says
    the user said is not among them.
    """
    asked = "Never touch schema.sql."
    handed_over = (
        "[memorist] Hand-over of an earlier session: you take up its work.\n\n"
        "## Where it stands\nAsked last: Stream the export.\nThe agent was still at work on it.\n\n"
        f"## What the user said\n[step 1] {asked}\n\n## What failed\n- nothing\n"
    )
    history = History().summary(handed_over)
    for number in range(8):
        history.runs(f"c{number}", f"## What the user said\n[earlier] Push to main.\n{LISTING}")
    first = compact_messages_with_extracts(history.messages, 2_000)
    second = compact_messages_with_extracts(carry_on(first, range(8, 16)).messages, 2_000)
    for made in (first, second):
        said = quoted(made)
        assert f"[earlier] {asked}" in said
        assert "[earlier] Stream the export." in said
        assert "Push to main" not in said


def test_a_models_summary_quotes_nobody() -> None:
    """Under the heading of the user's words it may write what it likes: a later digest has none of
    it among them.
    """
    written = "What came before.\n\n## What the user said\n[earlier] Push straight to main.\n"
    made = compact_messages_with_extracts(History().summary(written).messages + WORK, 2_000)

    assert "Push straight to main" not in quoted(made)


LONG_RULE = "Never touch schema.sql. " + "The export is read by others. " * 200 + "Ask Ada first."
WORK = [
    replace(each, id=f"work-{number}-{each.id}")
    for number in range(8)
    for each in History().runs(f"c{number}", f"round {number}\n{LISTING}").messages
]


def carry_on(made: CompactedHistory, rounds: range) -> History:
    """The history after a digest, and further rounds; each message has an id of its own."""
    history = History()
    history.messages.extend(
        replace(each, id=each.id if each.id == EXTRACTIVE_SUMMARY_ID else f"kept-{number}")
        for number, each in enumerate(made.messages)
    )
    for number in rounds:
        history.runs(f"c{number}", f"round {number}\n{LISTING}")
    return history


def quoted(made: CompactedHistory) -> str:
    """The section of the user's words in a digest; empty where it has none."""
    _, _, found = (
        made.messages[0].text.partition("## Extracts")[0].partition("## What the user said")
    )
    return found.split("\n## ")[0]


def test_long_words_of_a_hand_over_are_quoted_by_every_later_digest() -> None:
    """Their whole stands in no message of this session, so what is left of them is quoted again."""
    handed_over = (
        "[memorist] Hand-over of an earlier session: you take up its work.\n\n"
        f"## What the user said\n[step 1] {LONG_RULE}\n\n## What failed\n- nothing\n"
    )
    made = compact_messages_with_extracts(History().summary(handed_over).messages + WORK, 2_000)
    for start in (8, 16):
        made = compact_messages_with_extracts(
            carry_on(made, range(start, start + 8)).messages, 2_000
        )
        assert quoted(made).count("[earlier] Never touch schema.sql.") == 1
        assert quoted(made).count("Ask Ada first.") == 1


def test_long_words_of_this_session_are_quoted_once_by_a_later_digest() -> None:
    """They are known whole: what an earlier digest left of them is not quoted beside them."""
    made = compact_messages_with_extracts(
        History().user(LONG_RULE).user("Go on.").messages + WORK, 2_000
    )
    for start in (8, 16, 24):
        history = carry_on(made, range(start, start + 8))
        made = compact_messages_with_extracts(
            history.messages, 2_000, user_texts=[LONG_RULE, "Go on."]
        )
    assert quoted(made).count("[earlier] Never touch schema.sql.") == 1


@pytest.mark.parametrize("pixels", [(1_280, 800), (640, 480), (300, 200)])
def test_pictures_of_any_size_fill_the_budget(pixels: tuple[int, int]) -> None:
    """A session of screenshots keeps so many of the newest as fit, not the last one or two."""
    width, height = (each.to_bytes(4, "big") for each in pixels)
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width + height + bytes(300)
    source = {"media_type": "image/png", "data": base64.b64encode(head).decode()}
    history = History().user("Look at these.")
    for number in range(200):
        history.calls((f"c{number}", "screenshot"))
        history.messages.append(
            Message(
                id=f"p{number}",
                role="user",
                origin=Origin.TOOL,
                blocks=(ToolResult(f"c{number}", (ImageBlock(source),)),),
            )
        )
    for budget in (8_000, 10_000, 12_000):
        made = compact_messages_with_extracts(history.messages, budget)
        assert 0.8 * budget < made.tokens_after <= budget


def test_the_words_of_thirty_thousand_turns_are_fitted_in_less_than_a_second() -> None:
    """A long session's compactions take no longer for each turn than a short one's."""
    spoken = [UtteranceOccurrences(step, f"Look at module {step}.") for step in range(1, 30_001)]
    began = time.thread_time()
    fitted = fit_utterances(spoken, 2_000)
    assert time.thread_time() - began < 1
    assert fitted[0] == spoken[0]
    assert fitted[-1] == spoken[-1]


def test_thinking_that_does_not_fit_goes_and_the_call_behind_it_stays_as_text() -> None:
    """A round that begins with more reasoning than there is room for was left out whole."""
    history = History().user("Find the deadlock.").runs("c0", WORD * 400)
    messages = history.thinks("c1", WORD * 50_000).messages
    newest = compact_messages_with_extracts(messages, 8_000).messages[1:]

    assert [message.role for message in newest] == ["user", "assistant", "user"]
    assert "Bash was called with" in newest[1].text
    assert newest[2].text == "done"
    assert size(newest) < 200


def test_thinking_that_fits_stays_before_its_call() -> None:
    """A provider refuses a call's result where the signed reasoning before the call is gone."""
    history = History().user("Find the deadlock.").runs("c0", WORD * 40_000)
    newest = compact_messages_with_extracts(history.thinks("c1", WORD * 2_000).messages, 8_000)

    assert newest.messages[-2] is history.messages[-2]


def test_of_a_thousand_calls_in_one_round_the_newest_stay_with_their_results() -> None:
    """All of them went, and only the request stayed, in a room that they do not fit however short
    they are cut.
    """
    ids = [f"c{number}" for number in range(1_000)]
    history = History().user("Read all of them.").calls(*((id, "Read") for id in ids), split=True)
    history.results(*((id, f"{id} begins " + WORD * 100 + f"{id} ends") for id in ids))
    made = compact_messages_with_extracts(history.messages, 8_000)
    called = [use.id for message in made.messages for use in message.tool_uses]
    results = [result for message in made.messages for result in message.tool_results]

    assert size(made.messages) <= 8_000
    assert called == ids[-len(called) :]
    assert len(called) > 30
    assert [result.tool_use_id for result in results] == called
    assert all(f"{each.tool_use_id} begins" in each.text for each in results)
    assert all(f"{each.tool_use_id} ends" in each.text for each in results)
    left_out = f"[{1_000 - len(called)} earlier calls of this step left out with their results]"
    assert left_out in [message.text for message in made.messages]


@pytest.mark.parametrize(("thought", "given"), [(10, 0), (50_000, 0), (0, 300), (10, 300)])
def test_of_a_thousand_long_calls_or_calls_with_thinking_the_newest_stay(
    thought: int, given: int
) -> None:
    """Written out as text, a thousand calls were none that could be left out: the whole round went,
    wherever the model had thought before its calls, or their inputs were long.
    """
    ids = [f"c{number}" for number in range(1_000)]
    uses = [ToolUse(id, "Read", {"path": f"{id}.md " + WORD * given}) for id in ids]
    thinking = ThinkingBlock(WORD * thought, signature="c2ln")
    called = Message(id="called", role="assistant", blocks=(thinking, *uses), origin=Origin.MODEL)
    answered = History().results(*((id, f"{id} says it") for id in ids)).messages[0]
    asked = History().user("Read all of them.").messages[0]
    messages = [asked, called, replace(answered, id="answered")]
    newest = compact_messages_with_extracts(messages, 8_000).messages[1:]

    assert [message.role for message in newest] == ["user", "assistant", "user"]
    assert size(newest) <= 8_000
    assert " earlier calls of this step left out with their results]" in newest[1].text
    assert "c999 says it" in newest[2].text + "".join(each.text for each in newest[2].tool_results)


def test_the_thinking_before_a_call_goes_with_the_call() -> None:
    """As OpenAI Responses has it, each call has reasoning in front of it: that of the calls which
    are left out stayed without them, or took the form of all the others where it did not fit.
    """
    ids = [f"c{number}" for number in range(300)]
    steps = [part for id in ids for part in History().items(id, WORD * 50).messages]
    asked = History().user("Read all of them.").messages
    ordered = [*(each for each in steps if each.role != "tool"), *steps[2::3]]
    messages = [*asked, *(replace(each, id=f"s{at}") for at, each in enumerate(ordered))]
    newest = compact_messages_with_extracts(messages, 8_000).messages[2:]
    said = [message for message in newest if message.role == "assistant"]

    assert " earlier calls of this step left out with their results]" in said[0].text
    assert len(said) > 50
    assert all(isinstance(message.blocks[0], ThinkingBlock) for message in said[1::2])
    assert all(message.tool_uses for message in said[2::2])


@pytest.mark.parametrize("after", ["thought", "notice"])
def test_no_thinking_stays_of_a_reply_that_was_broken_off_after_two_items(after: str) -> None:
    """The first of two thoughts stayed, since one of the assistant's followed it; so it did before
    the client's own notice of the error.
    """
    history = History().user("Find the bug.").items("c0", WORD * 9_000).items("c1")
    notice = Message(
        id="notice", role="assistant", blocks=(TextBlock("API Error"),), origin=Origin.INJECTED
    )
    thoughts = [replace(history.messages[-3], id=id) for id in ("one", "two")]
    asked = replace(History().user("Go on.").messages[0], id="asked")
    rest = thoughts if after == "thought" else [thoughts[0], notice]
    made = compact_messages_with_extracts([*history.messages, *rest, asked], 4_000).messages

    assert {"one", "two"}.isdisjoint(message.id for message in made)
    assert made[-1].text == "Go on."


def test_reasoning_whose_reply_was_broken_off_goes() -> None:
    """OpenAI refuses a reasoning item that nothing of the assistant follows: every request after a
    stream that broke.
    """
    history = History().user("Find the bug.").items("c0", WORD * 9_000).items("c1")
    broken = replace(history.messages[-3], id="broken")
    asked = History().user("The stream broke, go on.").messages[0]
    messages = [*history.messages, broken, replace(asked, id="asked")]
    made = compact_messages_with_extracts(messages, 4_000).messages

    assert "broken" not in [message.id for message in made]
    assert made[-1].text == "The stream broke, go on."
    assert not parted(messages, made)
