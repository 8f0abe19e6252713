"""What a model's summary says is compared with the history and with an extract of its size."""

from __future__ import annotations

import pytest

from memorist.compaction.compaction_result import (
    CompactedHistory,
    CompactionResult,
    UnchangedHistory,
)
from memorist.compaction.summary_parser import UnusableSummary
from memorist.compaction.summary_review import (
    LINES_TITLE,
    NAMED_TITLE,
    SummaryReview,
    build_history_with_missing_parts,
    drop_invented_sentences,
    find_missing_extract_parts,
    reject_if_extract_names_lost,
    render_source_text,
)
from memorist.core.messages import Message, Origin, TextBlock, ToolResult, ToolUse
from memorist.transcript_analysis.answer_check import AnswerLineChecker

HISTORY = (
    Message(
        id="1",
        role="user",
        origin=Origin.USER,
        is_typed=True,
        blocks=(TextBlock("Mend src/cart/totals.py."),),
    ),
    Message(
        id="2",
        role="assistant",
        origin=Origin.MODEL,
        blocks=(
            ToolUse(
                id="c",
                name="Read",
                input={"files": ["tests/test_totals.py", {"path": "docs/a.md"}]},
            ),
        ),
    ),
    Message(
        id="3",
        role="user",
        origin=Origin.TOOL,
        blocks=(ToolResult(tool_use_id="c", content=(TextBlock("see lib/round.ts:12"),)),),
    ),
)


def test_a_line_with_a_file_that_nobody_named_is_dropped() -> None:
    """A path counts as known from a message, from the input of a call or from a result, also as a
    part of a longer one; a line without a path stays.
    """
    source = AnswerLineChecker(render_source_text(HISTORY), "")
    summary = (
        "The totals were wrong.\n- src/cart/totals.py rounds up\n- ./tests/test_totals.py fails\n"
        "- cart/totals.py, docs/a.md and lib/round.ts:12\n- strategy/phase_wiring.go was added\n"
        "- either/or is fine, and/or 1/2.5\n- `round_half_even` was called"
    )

    reviewed = drop_invented_sentences(summary, source)

    assert reviewed.dropped == (
        "- strategy/phase_wiring.go was added",
        "- `round_half_even` was called",
    )
    assert reviewed.text.count("\n") == summary.count("\n") - 2


def test_only_the_sentence_with_an_invented_name_is_dropped() -> None:
    """A summary in paragraphs loses the sentence and not the paragraph, in scripts without spaces
    between sentences too.
    """
    source = AnswerLineChecker(render_source_text(HISTORY), "")
    summary = (
        "Totals were wrong. Added strategy/phase_wiring.go. Done.\n修正了。strategy/a_b.go。完成。"
    )

    reviewed = drop_invented_sentences(summary, source)

    assert reviewed.text == "Totals were wrong. Done.\n修正了。完成。"
    assert reviewed.dropped == ("Added strategy/phase_wiring.go.", "strategy/a_b.go。")


def test_what_an_extract_names_and_a_summary_leaves_out_is_named_after_it() -> None:
    """The missing identifiers stand in one line, each once; nothing is added where none is."""
    review = SummaryReview("", extract="total_of_order tax_rate src/cart.py tax_rate")

    assert find_missing_extract_parts("The total_of_order is right.", review) == (
        f"{NAMED_TITLE} src/cart.py, tax_rate"
    )
    assert find_missing_extract_parts("total_of_order, tax_rate: src/cart.py", review) == ""


def test_a_summary_that_lost_most_identifiers_gives_way() -> None:
    """Half of those that an extract of its size holds is enough; with few of them nothing is
    compared.
    """
    names = [f"order_total_{number}" for number in range(20)]
    extract = " ".join(names)

    assert reject_if_extract_names_lost(" ".join(names[:10]), extract) is None
    lost = reject_if_extract_names_lost("Everything went well. " + " ".join(names[:9]), extract)
    assert isinstance(lost, UnusableSummary)
    assert "9 of 20" in lost.why
    assert reject_if_extract_names_lost("Everything went well.", " ".join(names[:5])) is None


def test_lines_of_the_extract_make_up_for_words_that_a_history_leaves_out() -> None:
    """Only as many lines as bring the history to the extract's share of what was said."""
    review = SummaryReview(
        "",
        conversation_text="Invoices are rounded half upwards. Customers complain about shipping twice.",
        extract="- invoices: rounded half upwards\n- customers complain\n- shipping twice",
    )

    assert find_missing_extract_parts("Customers complain about shipping, twice.", review) == (
        f"{LINES_TITLE}\n- invoices: rounded half upwards"
    )
    assert find_missing_extract_parts(review.conversation_text, review) == ""


def test_commands_and_sizes_are_names_too() -> None:
    """What was said in back-ticks or with a number cannot be guessed either."""
    review = SummaryReview(
        "",
        conversation_text="Use `go vet` for 10s, then `main`.",
        extract="go vet runs 10s in main",
    )

    assert find_missing_extract_parts("Use main.", review).endswith(": `10s`, `go vet`")


def test_the_input_of_a_call_is_read_however_deep_it_is_nested() -> None:
    """Input nested some 900 deep ended a compaction by a model in a recursion error."""
    nested: object = "src/deep.py"
    for _ in range(5_000):
        nested = [nested]
    use = ToolUse(id="call_1", name="query", input={"filter": nested, "in": "src"})
    message = Message(id="1", role="assistant", blocks=(use,), origin=Origin.MODEL)
    assert render_source_text([message]) == "src/deep.py\nsrc"


def test_what_no_longer_fits_beside_a_summary_is_added_again() -> None:
    """The history is compared as it is built: a word that gives way to what was added is added in
    its turn, and where there is no room for it the summary gives way, with the reason.
    """
    review = SummaryReview(
        "Done.", conversation_text="Alpha bravo charlie.", extract="- alpha\n- bravo"
    )

    def crowd_out(text: str, addition: str) -> CompactionResult:
        return _history(text, addition or "bravo")

    made = build_history_with_missing_parts(review, crowd_out)

    assert isinstance(made, CompactedHistory)
    assert all(word in made.messages[0].text for word in ("Done.", "alpha", "bravo"))
    given_way = build_history_with_missing_parts(review, lambda text, _: _history(text))
    assert isinstance(given_way, UnchangedHistory)
    assert "no room to add" in given_way.why


def _history(*texts: str) -> CompactedHistory:
    message = Message(
        id="s", role="user", origin=Origin.SUMMARY, blocks=(TextBlock("\n".join(texts)),)
    )
    return CompactedHistory(strategy="full", messages=(message,), tokens_before=9, tokens_after=9)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("run", ["x", "-", ".", "_"])
def test_a_long_run_of_one_letter_or_sign_is_read_once(run: str) -> None:
    """A ruled line or what a key that hangs has typed; from each of its signs to the end again
    would take a minute.
    """
    review = SummaryReview(
        "", conversation_text=f"It is {run * 100_000} now.", extract="It is red now."
    )

    assert find_missing_extract_parts("It is red now.", review) == ""
