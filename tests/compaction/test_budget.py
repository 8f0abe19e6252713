"""Large tool results go to disk, and what was decided stays decided."""

from __future__ import annotations

import pytest
from hypothesis import given
from msgspec.structs import replace

from compaction.histories import STEPS, History, told
from memorist.compaction.tool_result_budget import (
    MessagesWithOffloadedResults,
    OffloadDecisions,
    apply_result_budget,
    build_keep_all_decisions,
    make_result_file_name,
)
from memorist.core.messages import ImageBlock, Message, TextBlock, ToolResult
from memorist.core.truncation import cut_to_bytes
from memorist.settings import CompactionSettings

pytestmark = pytest.mark.covers("CP-4")

SETTINGS = CompactionSettings()
SMALL = CompactionSettings(
    result_characters=3_000, message_result_characters=8_000, preview_bytes=200
)


def budget(
    messages: list[Message],
    decisions: OffloadDecisions | None = None,
    own: CompactionSettings = SETTINGS,
) -> MessagesWithOffloadedResults:
    return apply_result_budget(
        messages, decisions or OffloadDecisions(), own, folder="/s/tool-results"
    )


def shown(made: MessagesWithOffloadedResults) -> dict[str, str]:
    return {
        result.tool_use_id: result.text
        for message in made.messages
        for result in message.tool_results
    }


def test_a_result_over_the_limit_goes_to_disk_with_a_preview() -> None:
    """50,001 characters go, 50,000 stay; in view are the id, the size, the path and the first and
    last lines.
    """
    text = "line of forty characters, more or less\n" * 2_000 + "1 failed, 70 passed"
    made = budget(History().runs("a", text).runs("b", "x" * 50_000).messages)

    assert [(payload.id, payload.name, payload.text) for payload in made.payloads] == [
        ("a", name := make_result_file_name("a", "8fa020b0bff858ca"), text)
    ]
    assert f'id="a" characters="78019" path="/s/tool-results/{name}"' in shown(made)["a"]
    assert cut_to_bytes(text, 20_000) in shown(made)["a"]
    assert "1 failed, 70 passed\n</stored" in shown(made)["a"]
    assert len(shown(made)["a"]) < 50_400
    assert shown(made)["b"] == "x" * 50_000
    assert [(cut.id, cut.tokens > 6_000) for cut in made.removed_items] == [("a", True)]


def test_the_largest_results_of_a_message_go_until_it_fits() -> None:
    """Five parallel results of 45,000 are over 200,000 together: one goes, the largest."""
    uses = [(f"c{number}", "Bash") for number in range(5)]
    results = [(f"c{number}", "x" * (45_000 + number)) for number in range(5)]

    for apart in (False, True):
        made = budget(History().calls(*uses).results(*results, apart=apart).messages)

        assert [payload.id for payload in made.payloads] == ["c4"]


@pytest.mark.parametrize("count", [1, 3, 40])
def test_results_of_one_step_share_the_room_of_one(count: int) -> None:
    """Three of 300,000 characters are shown with 16,000 each; never less than the preview."""
    text = "".join(f"{number:>7}\n" for number in range(37_500))
    uses = [(f"c{number}", "Bash") for number in range(count)]
    made = budget(History().calls(*uses).results(*((id, text) for id, _ in uses)).messages)

    each = max(2_000, 50_000 // count)
    for result in shown(made).values():
        assert 0.9 * each <= len(result) <= each + 400
        assert text[:900] in result
        assert text[-900:] in result


def test_what_the_others_leave_is_shown_of_the_largest() -> None:
    """Five parallel results that are a little too large together lose a little."""
    uses = [(f"c{number}", "Bash") for number in range(5)]
    results = [(f"c{number}", "line\n" * (9_000 + number)) for number in range(5)]
    made = budget(History().calls(*uses).results(*results).messages)

    assert 190_000 < sum(map(len, shown(made).values())) < 200_400
    assert len(made.payloads) == 1


def test_an_empty_result_becomes_a_short_remark() -> None:
    """Nothing and white space alone are named after the tool; a picture is not nothing."""
    history = History().runs("a", "").runs("b", " \n", tool="Grep").calls(("c", "Read"))
    picture = replace(
        history.results(("c", "")).messages[-1],
        blocks=(ToolResult("c", (ImageBlock({"data": "x"}),)),),
    )

    made = budget([*history.messages[:-1], picture])

    assert shown(made)["a"] == "(Bash finished and printed nothing.)"
    assert shown(made)["b"] == "(Grep finished and printed nothing.)"
    assert made.messages[-1] is picture


def test_a_file_reader_limits_itself() -> None:
    """A read of 60,000 characters stays; one that is larger than a whole message may be goes."""
    made = budget(
        History()
        .runs("a", "x" * 60_000, tool="Read")
        .runs("b", "x" * 200_001, tool="Read")
        .messages
    )

    assert [payload.id for payload in made.payloads] == ["b"]


def test_a_decision_holds_for_ever() -> None:
    """Once shown, always shown, though the limits fall; once replaced, the same text, though the
    folder moves.
    """
    messages = History().runs("a", "x" * 60_000).runs("b", "y" * 40_000).messages
    first = budget(messages)

    again = apply_result_budget(messages, first.decisions, SMALL, folder="/elsewhere")

    assert again.messages == first.messages
    assert not again.payloads
    assert again.decisions is not first.decisions
    assert again.decisions == first.decisions


def test_what_was_shown_before_memorist_came_stays_shown() -> None:
    """A conversation that is under way keeps its prefix."""
    messages = History().runs("a", "x" * 60_000).messages

    made = budget(messages, build_keep_all_decisions(messages))

    assert made.messages[1] is messages[1]


def test_a_repeated_id_never_gets_another_results_text() -> None:
    """Some models number calls anew in each turn."""
    made = budget(
        History().runs("call_0", "x" * 60_000).user("next").runs("call_0", "short").messages
    )

    assert made.messages[-1].tool_results[0].text == "short"


@pytest.mark.parametrize("later", ["", "y" * 60_000])
def test_a_repeated_id_with_an_empty_result_or_one_of_the_same_length_is_another_result(
    later: str,
) -> None:
    """A tool that cuts its output has results of one length, and one that prints nothing has no
    preview of another's; each large one has a file of its own.
    """
    first = budget(History().runs("call_0", "x" * 60_000).messages)
    made = budget(History().runs("call_0", later).messages, first.decisions)

    assert "xxx" not in made.messages[-1].tool_results[0].text
    assert [payload.text for payload in made.payloads] == [later] * bool(later)
    names = {payload.name for payload in (*first.payloads, *made.payloads)}
    assert len(names) == 1 + bool(later)


def test_an_id_cannot_lead_out_of_the_folder() -> None:
    """Whatever a model calls its calls, the file's name is plain."""
    names = [
        make_result_file_name(name, "0f")
        for name in ("../../etc/passwd", "a/b", "", "x" * 300, "toolu_01AbC-9")
    ]

    assert names[-1] == "toolu_01AbC-9-0f.txt"
    assert all(name.removesuffix("-0f.txt").isalnum() for name in names[:-1])
    assert len(set(names)) == len(names)


def test_a_preview_ends_at_a_line_in_its_second_half() -> None:
    """Else on a character; never more bytes than allowed."""
    assert cut_to_bytes("a" * 60 + "\n" + "b" * 60, 100) == "a" * 60
    assert cut_to_bytes("a" * 10 + "\n" + "b" * 200, 100) == "a" * 10 + "\n" + "b" * 89
    assert cut_to_bytes("ü" * 100, 101) == "ü" * 50
    assert cut_to_bytes("short", 100) == "short"


@given(STEPS)
def test_the_budget_changes_nothing_twice_and_keeps_every_prefix(
    steps: list[tuple[str, int]],
) -> None:
    """Applied again it does nothing; a longer history begins as the shorter one did, when it was
    cut after a round.
    """
    messages = told(steps)
    once = budget(messages, own=SMALL)
    twice = budget(list(once.messages), once.decisions, SMALL)
    half = messages[: len(messages) // 2]
    before = budget(half, own=SMALL)
    grown = budget(messages, before.decisions, SMALL)

    assert twice.messages == once.messages
    assert not twice.payloads
    assert grown.messages[: len(half)] == before.messages
    assert [message.id for message in once.messages] == [message.id for message in messages]
    assert all(new is old for new, old in zip(once.messages, messages, strict=True) if new == old)
    for payload in once.payloads:
        assert payload.text in {
            result.text for message in messages for result in message.tool_results
        }


def test_pictures_beside_a_large_text_stay() -> None:
    """The text goes to disk, the picture cannot."""
    message = replace(
        History().runs("a").messages[1],
        blocks=(
            ToolResult("a", (TextBlock("x" * 60_000), ImageBlock({"data": "x"})), plain=False),
        ),
    )

    made = budget([History().runs("a").messages[0], message])

    assert [type(part) for part in made.messages[1].tool_results[0].content] == [
        TextBlock,
        ImageBlock,
    ]
