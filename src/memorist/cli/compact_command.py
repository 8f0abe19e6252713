"""`memorist compact`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import click

from memorist.cli import output
from memorist.cli.command_environment import load_home_layout, load_project_settings
from memorist.compaction.compaction_prompts import load_shipped_compaction_prompts
from memorist.compaction.compaction_result import (
    CompactedHistory,
    CompactionStrategy,
    UnchangedHistory,
)
from memorist.compaction.measured_conversation import measure_conversation
from memorist.compaction.offline_compaction import (
    OfflineOptions,
    compact_offline,
    find_token_factor_for_messages,
)
from memorist.compaction.provider_edits import (
    ResultClearingState,
    add_old_results_to_clear,
    build_clearing_edit,
)
from memorist.compaction.window_at_message import RecordedWindow, find_text_by_id
from memorist.context.history_repair import UNLIMITED_TOKENS, normalize_history
from memorist.core.messages import Message
from memorist.core.prompt_templates import load_prompt
from memorist.engine.recorded_compaction import compact_with_model, write_compacted_session
from memorist.engine.recorded_session import find_recorded_session, read_recorded_window
from memorist.errors import InputError, NothingToDo, UsageError
from memorist.formats.codec_registry import find_codec
from memorist.session_memory.structural_notes import NotesBudget

CACHED_MICRO = "micro-cached"
"""The way that changes no message: the provider is asked to clear results in its own cache."""
STRATEGIES = (
    "auto", "micro", CACHED_MICRO, "session-memory", "full", "inline", "structural", "tail",
)  # fmt: skip


@click.command(name="compact")
@click.argument("session")
@click.option(
    "--at",
    default="",
    help="Message to compact at: its number, its id, or the start of its id. [default: the last]",
)
@click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    default="auto",
    show_default=True,
    help="Which way to take.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=500),
    default=20_000,
    show_default=True,
    help="Tokens the result may have.",
)
@click.option("--instructions", default="", help="What a summary should hold; needs --model.")
@click.option(
    "--model",
    default=None,
    help="Model for full and inline, such as anthropic:NAME. [default: none, the notes serve "
    "as the summary]",
)
@click.option("--dry-run", is_flag=True, help="Say what would be kept and cut, and show no text.")
@click.option(
    "--apply",
    "target",
    type=click.Path(path_type=Path),
    default=None,
    help="Write the compacted conversation to this file.",
)
@click.option(
    "--show",
    "wanted",
    default=None,
    help="Show the whole text of a message or tool result by its id, and do nothing else.",
)
@output.JSON_OPTION
def compact_command(**options: Any) -> None:  # noqa: ANN401 - click passes the options by name
    """Show what a compaction of a recorded session would keep, cut and say.

    SESSION is a session file, an id or the start of one (`memorist sessions` lists them), or a
    session's folder. It is never changed.

    Example: memorist compact session.jsonl --budget 8000
    """
    session = find_recorded_session(load_home_layout(), options["session"])
    source, recorded = session.path, read_recorded_window(session, options["at"])
    if options["wanted"]:
        click.echo(_full_text(recorded, options["wanted"]))
        return
    if options["strategy"] == CACHED_MICRO:
        if options["target"]:
            raise UsageError(
                f"{CACHED_MICRO} changes no message, so there is nothing to write: leave "
                "--apply out"
            )
        _print_clearing_edit(recorded, as_json=options["as_json"])
        return
    outcome = _compact(recorded, source, options)
    if isinstance(outcome, UnchangedHistory):
        if not options["as_json"]:
            raise NothingToDo(outcome.why)
        tokens = _count_tokens(recorded)
        outcome = CompactedHistory(
            strategy="unchanged",
            messages=recorded.messages,
            tokens_before=tokens,
            tokens_after=tokens,
        )
    if options["target"] and not options["dry_run"]:
        write_compacted_session(options["target"], recorded, outcome)
    if options["as_json"]:
        output.print_json(_result_object(recorded, outcome))
    else:
        _print_result(recorded, outcome, quiet=options["dry_run"])


def _print_clearing_edit(recorded: RecordedWindow, *, as_json: bool) -> None:
    """What cached microcompact would ask Anthropic to clear."""
    keep = load_project_settings().compaction.micro_keep
    pinned = add_old_results_to_clear(ResultClearingState(), recorded.messages, keep)
    edit = build_clearing_edit(pinned, recorded.messages)
    if edit is None:
        raise NothingToDo("No tool result is old enough to be cleared.")
    if as_json:
        output.print_json({"strategy": CACHED_MICRO, "ids": list(pinned.ids), "edit": edit})
        return
    click.echo(
        f"{CACHED_MICRO} at message {recorded.last_message}: every message is sent as it is; "
        f"Anthropic is asked to clear {len(pinned.ids)} tool results where it has them cached"
    )
    click.echo(f"  edit: {json.dumps(edit)}")


def _full_text(recorded: RecordedWindow, wanted: str) -> str:
    text = find_text_by_id(recorded.all_messages, wanted)
    if text is None:
        raise InputError(
            f"the session has no message or tool result {wanted!r}; --json lists the ids under "
            f'"cut"'
        )
    return text


def _count_tokens(recorded: RecordedWindow) -> int:
    return measure_conversation(
        recorded.messages, factor=find_token_factor_for_messages(recorded.messages)
    ).tokens


def _compact(
    recorded: RecordedWindow, source: Path, options: dict[str, Any]
) -> CompactedHistory | UnchangedHistory:
    settings = load_project_settings(options["model"])
    how = OfflineOptions(
        budget=options["budget"],
        texts=load_shipped_compaction_prompts(),
        template=load_prompt("session_memory/template"),
        settings=settings.compaction,
        notes=NotesBudget.from_settings(settings.session_memory),
        source=str(source.absolute()),
        token_factor=find_token_factor_for_messages(recorded.messages),
    )
    strategy = cast("CompactionStrategy", options["strategy"])
    if options["instructions"] and settings.model == "structural":
        raise UsageError("--instructions tell a model what to hold; name one with --model")
    if strategy in ("full", "inline") and settings.model != "structural":
        compacted = asyncio.run(
            compact_with_model(
                recorded,
                strategy,
                how,
                settings=settings,
                home=load_home_layout(),
                instructions=options["instructions"],
            )
        )
        if isinstance(compacted, CompactedHistory):
            return compacted
        click.echo(f"memorist: {compacted.why} The extractive summary takes its place.", err=True)
        strategy = "structural"
    return compact_offline(recorded, strategy, how)


def _result_object(recorded: RecordedWindow, outcome: CompactedHistory) -> dict[str, Any]:
    return {
        "strategy": outcome.strategy,
        "at": recorded.last_message,
        "tokens_before": outcome.tokens_before,
        "tokens_after": outcome.tokens_after,
        "messages": find_codec("anthropic").encode_messages(
            normalize_history(outcome.messages, "anthropic", tool_tokens=UNLIMITED_TOKENS)
        ),
        "cut": outcome.removed_items,
        "restored": outcome.restored_records,
    }


def _describe_changes(before: Sequence[Message], after: Sequence[Message]) -> str:
    """How many messages stay, lose a part of their text, and go."""
    old, new = {each.id: each for each in before}, {each.id: each for each in after}
    same = sum(new.get(id) == message for id, message in old.items())
    shortened = len(old.keys() & new.keys()) - same
    counts = ((shortened, "shortened"), (len(old) - same - shortened, "cut"))
    return f"{same} of {len(old)} messages stay as they are" + "".join(
        f", {count} {'is' if count == 1 else 'are'} {what}" for count, what in counts if count
    )


def _print_result(recorded: RecordedWindow, outcome: CompactedHistory, *, quiet: bool) -> None:
    ours = outcome.added_messages
    if not quiet:
        for message in ours:
            click.echo(message.text + "\n")
    click.echo(
        f"{outcome.strategy} at message {recorded.last_message}: {outcome.tokens_before:,} tokens "
        f"become {outcome.tokens_after:,}; {_describe_changes(recorded.messages, outcome.messages)}"
    )
    for back in outcome.restored_records:
        click.echo(f"  brought back: {back.kind} {back.what} ({back.tokens:,} tokens)")
    newest: list[Message] = [message for message in outcome.messages if message not in ours][-1:]
    if newest and not quiet:
        click.echo(f"  newest message: {newest[0].role}, {newest[0].text[:100]!r}")
