"""Old tool results lose their content: by time, or by telling the provider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.histories import STEPS, WORD, History, told
from memorist.compaction.compaction_result import CompactedHistory, UnchangedHistory
from memorist.compaction.microcompact import (
    CLEARED_TEXT,
    clear_old_results_when_idle,
    clear_tool_results,
    is_clearable_tool,
    list_clearable_result_ids,
    list_result_ids_to_fit,
)
from memorist.compaction.provider_edits import (
    ConfirmedResultClearing,
    ResultClearingState,
    add_clearing_edit,
    add_old_results_to_clear,
    build_clearing_edit,
    drop_results_no_longer_in_history,
    read_clearing_confirmation,
)
from memorist.core.messages import ToolUse
from memorist.settings import CompactionSettings

SETTINGS = CompactionSettings()
HOUR = 3_600.0
LONG = "a line of output\n" * 40


def work(count: int, tool: str = "Bash") -> History:
    history = History().user("go")
    for number in range(count):
        history.runs(f"c{number}", LONG, tool)
    return history


@pytest.mark.covers("CP-5")
def test_after_an_hour_all_but_the_newest_five_results_are_cleared() -> None:
    """The others get one fixed text; nothing else of the messages changes."""
    history = work(8).says("done", at=1_000.0)

    found = clear_old_results_when_idle(history.messages, now=1_000.0 + HOUR, settings=SETTINGS)

    assert isinstance(found, CompactedHistory)
    texts = [result.text for message in found.messages for result in message.tool_results]
    assert texts == [CLEARED_TEXT] * 3 + [LONG] * 5
    assert [cut.id for cut in found.removed_items] == ["c0", "c1", "c2"]
    assert found.tokens_after < found.tokens_before
    assert found.messages[0] is history.messages[0]


@pytest.mark.covers("CP-5")
@pytest.mark.parametrize(
    ("at", "now"),
    [(1_000.0, 1_000.0 + HOUR - 1), (None, 9e9), (float("nan"), 9e9), (1_000.0, float("inf"))],
)
def test_before_the_hour_or_without_a_known_time_nothing_happens(
    at: float | None, now: float
) -> None:
    """59 minutes and 59 seconds; no timestamp; not a number."""
    assert isinstance(
        clear_old_results_when_idle(
            work(8).says("done", at=at).messages, now=now, settings=SETTINGS
        ),
        UnchangedHistory,
    )


@pytest.mark.covers("CP-5")
def test_nothing_is_done_where_nothing_is_saved() -> None:
    """Five results, results as short as the text, results cleared before, tools that are not
    compactable.
    """
    short = History()
    for number in range(8):
        short.runs(f"c{number}", "ok")
    done = clear_old_results_when_idle(
        work(8).messages, now=HOUR, last_reply=0.0, settings=SETTINGS
    )
    assert isinstance(done, CompactedHistory)

    for messages in (
        work(5).messages,
        short.messages,
        done.messages,
        work(8, "mcp__db__read").messages,
        work(8, "Task").messages,
    ):
        assert isinstance(
            clear_old_results_when_idle(messages, now=HOUR, last_reply=0.0, settings=SETTINGS),
            UnchangedHistory,
        )


@pytest.mark.covers("CP-5")
def test_one_result_is_kept_whatever_the_setting_says() -> None:
    """Zero means one."""
    found = clear_old_results_when_idle(
        work(3).messages, now=HOUR, last_reply=0.0, settings=CompactionSettings(micro_keep=0)
    )

    assert isinstance(found, CompactedHistory)
    assert [cut.id for cut in found.removed_items] == ["c0", "c1"]


@pytest.mark.covers("CP-5")
def test_the_tools_of_both_families_are_compactable() -> None:
    """Read, shell, search, web, edit and write; not agents, not MCP."""
    names = [
        "Read",
        "Bash",
        "Grep",
        "Glob",
        "WebSearch",
        "WebFetch",
        "Edit",
        "Write",
        "shell",
        "exec_command",
        "exec",
        "apply_patch",
        "run_shell_command",
        "web_search",
    ]

    assert all(map(is_clearable_tool, names))
    assert not any(
        map(is_clearable_tool, ["Task", "Agent", "mcp__files__read", "spawn_agent", "update_plan"])
    )


@pytest.mark.covers("CP-5", "CP-10")
@given(STEPS)
def test_clearing_keeps_every_pair_and_is_done_once(steps: list[tuple[str, int]]) -> None:
    """Over all shapes: ids, order and the newest results stay; a second time there is nothing left
    to do.
    """
    messages = told(steps)
    found = clear_old_results_when_idle(messages, now=HOUR, last_reply=0.0, settings=SETTINGS)
    if isinstance(found, UnchangedHistory):
        return

    keys = [
        [(type(block), getattr(block, "tool_use_id", "")) for block in message.blocks]
        for message in messages
    ]
    assert [
        [(type(block), getattr(block, "tool_use_id", "")) for block in message.blocks]
        for message in found.messages
    ] == keys
    assert found.tokens_after < found.tokens_before
    assert isinstance(
        clear_old_results_when_idle(found.messages, now=HOUR, last_reply=0.0, settings=SETTINGS),
        UnchangedHistory,
    )


def cleared_by_api(messages: History, edit: dict[str, Any], *, counts_excluded: bool) -> set[str]:
    """What the API clears for an edit, under either reading of what `keep` counts."""
    uses = [use for message in messages.messages for use in message.tool_uses]
    open_to_it = [use for use in uses if use.name not in edit.get("exclude_tools", [])]
    kept = (
        (uses if counts_excluded else open_to_it)[-edit["keep"]["value"] :]
        if edit["keep"]["value"]
        else []
    )
    ids = {use.id for use in kept}
    return {use.id for use in open_to_it if use.id not in ids}


@pytest.mark.covers("CP-6")
@pytest.mark.parametrize("counts_excluded", [True, False])
def test_the_edit_clears_the_wanted_results_and_never_a_newer_one(*, counts_excluded: bool) -> None:
    """With tools between that are never cleared, under both readings of the API, and still so when
    the conversation has grown.
    """
    history = work(4).runs("t1", LONG, "Task")
    for number in range(4, 8):
        history.runs(f"c{number}", LONG)
    pinned = add_old_results_to_clear(ResultClearingState(), history.messages, 5)
    assert pinned.ids == ("c0", "c1", "c2")

    for _ in range(3):
        edit = build_clearing_edit(pinned, history.messages)
        assert edit is not None
        assert edit["exclude_tools"] == ["Task"]
        gone = cleared_by_api(history, edit, counts_excluded=counts_excluded)
        assert gone <= set(pinned.ids)
        assert not counts_excluded or gone == set(pinned.ids)
        history.runs(f"n{len(history.messages)}", LONG)


@pytest.mark.covers("CP-6")
def test_the_local_messages_stay_and_the_host_s_own_edits_hold() -> None:
    """Only the request gains the edit, last in the list; a host that clears on its own is left
    alone.
    """
    history = work(8)
    pinned = add_old_results_to_clear(ResultClearingState(), history.messages, 5)
    thinking = {"type": "clear_thinking_20251015", "keep": "all"}
    body: dict[str, Any] = {
        "model": "m",
        "messages": [1],
        "context_management": {"edits": [thinking], "x": 1},
    }
    own = {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}

    change = add_clearing_edit(body, pinned, history.messages)

    assert change.body["messages"] is body["messages"]
    assert [edit["type"] for edit in change.body["context_management"]["edits"]] == [
        "clear_thinking_20251015",
        "clear_tool_uses_20250919",
    ]
    assert change.body["context_management"]["x"] == 1
    assert change.betas == ("context-management-2025-06-27",)
    assert body["context_management"]["edits"] == [thinking]
    assert add_clearing_edit(own, pinned, history.messages).body is own
    assert add_clearing_edit(body, ResultClearingState(), history.messages).body is body


@pytest.mark.covers("CP-6")
def test_the_boundary_comes_with_the_reply_that_confirms() -> None:
    """Nothing before, nothing for an empty list, the difference to the running total after, and
    nothing twice.
    """
    pinned = add_old_results_to_clear(ResultClearingState(), work(8).messages, 5)

    def reply(tokens: int) -> dict[str, Any]:
        edit = {
            "type": "clear_tool_uses_20250919",
            "cleared_input_tokens": tokens,
            "cleared_tool_uses": 3,
        }
        return {"context_management": {"applied_edits": [edit]}}

    assert read_clearing_confirmation(pinned, {}) == (pinned, None)
    assert read_clearing_confirmation(pinned, {"context_management": {"applied_edits": []}}) == (
        pinned,
        None,
    )
    first, boundary = read_clearing_confirmation(pinned, reply(700))
    assert boundary == ConfirmedResultClearing(("c0", "c1", "c2"), 700)
    assert read_clearing_confirmation(first, reply(700)) == (first, None)
    more = add_old_results_to_clear(first, work(10).messages, 5)
    assert more.unconfirmed_uses == ("c3", "c4")
    assert read_clearing_confirmation(more, reply(1_100))[1] == ConfirmedResultClearing(
        ("c3", "c4"), 400
    )


@pytest.mark.covers("CP-6")
def test_a_new_history_forgets_the_pins_that_have_no_object() -> None:
    """After clearing by time the provider has nothing left to clear."""
    history = work(8)
    pinned = add_old_results_to_clear(ResultClearingState(), history.messages, 5)
    done = clear_old_results_when_idle(
        history.messages, now=HOUR, last_reply=0.0, settings=SETTINGS
    )
    assert isinstance(done, CompactedHistory)

    assert drop_results_no_longer_in_history(pinned, done.messages) == ResultClearingState()
    assert drop_results_no_longer_in_history(pinned, history.messages[3:]).ids == ("c1", "c2")


@pytest.mark.covers("CP-5")
def test_a_call_that_waits_is_not_among_the_newest() -> None:
    """It has no result to keep."""
    history = work(6).calls(("open", "Bash"))

    assert list_clearable_result_ids(history.messages, 5) == ("c0",)
    assert isinstance(history.messages[-1].blocks[0], ToolUse)


@pytest.mark.covers("CP-5")
def test_an_id_that_is_given_again_does_not_clear_the_newest_result() -> None:
    """Some models number calls anew in each turn: the id of an old result is that of a new one."""
    history = work(6)
    for _ in range(2):
        history.user("go on").runs("c0", LONG)

    assert list_clearable_result_ids(history.says("done").messages, 2) == tuple(
        f"c{number}" for number in range(1, 6)
    )


@pytest.mark.covers("CP-5")
@given(STEPS, st.integers(1, 30_000))
def test_no_more_results_go_than_have_to(steps: list[tuple[str, int]], excess: int) -> None:
    """What is chosen frees so many tokens where all together do, and none of it could have
    stayed.
    """
    messages = told(steps)
    every = list_clearable_result_ids(messages, 1)
    chosen = list_result_ids_to_fit(messages, 1, excess, 1.0)

    def freed(ids: Sequence[str]) -> int:
        cleared = clear_tool_results(messages, ids)
        if isinstance(cleared, UnchangedHistory):
            return 0
        return cleared.tokens_before - cleared.tokens_after

    assert set(chosen) <= set(every)
    if freed(every) < excess:
        assert freed(chosen) == freed(every)
        return
    assert freed(chosen) >= excess
    for id in chosen:
        assert freed([each for each in chosen if each != id]) < excess


@pytest.mark.covers("CP-5")
def test_the_oldest_results_go_first() -> None:
    """Of equal results the newest stay."""
    history = History()
    for number in range(10):
        history.runs(f"c{number}", WORD * 1_000)

    assert list_result_ids_to_fit(history.messages, 5, 2_500, 1.0) == ("c0", "c1", "c2")
