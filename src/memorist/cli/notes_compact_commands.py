"""`memorist notes` and `memorist compact`."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import click
from msgspec.structs import replace

from memorist.budget.budget_governor import BudgetGovernor
from memorist.cli import output
from memorist.cli.command_environment import find_home, load_project_settings
from memorist.cli.sessions_command import find_newest_notes
from memorist.compaction.compactor import request_summary
from memorist.compaction.full_compaction import build_summary_request
from memorist.compaction.measured_history import (
    CompactedHistory,
    CompactionStrategy,
    UnchangedHistory,
    load_compaction_prompts,
    measure_conversation,
    user_text,
)
from memorist.compaction.offline_compaction import (
    OfflineOptions,
    compact_offline,
    find_token_factor,
)
from memorist.compaction.recorded_window import RecordedWindow, find_text, read_recorded_window
from memorist.compaction.summary_parser import UnusableSummary
from memorist.compaction.summary_review import review_summary
from memorist.compaction.tool_result_budget import (
    PinnedResults,
    build_clearing_edit,
    pin_old_results,
)
from memorist.core.markdown import load_prompt
from memorist.core.messages import Message
from memorist.engine.engine import Memorist
from memorist.errors import InputError, NothingToDo, UsageError
from memorist.formats.codec_registry import find_codec
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import CompactionBoundary, SessionHead
from memorist.models.model_choice import open_model
from memorist.platforms.regular_files import read_regular
from memorist.runtime import Runtime
from memorist.settings import Settings
from memorist.store.database import open_database
from memorist.store.home_layout import SessionLayout
from memorist.store.session_rows import find_session_folders
from memorist.store.transcript_writer import LineFile, TranscriptWriter


@click.command()
@click.argument("session", default="")
@click.option(
    "--update", is_flag=True, help="Bring the notes up to date first, whatever the thresholds say."
)
@click.option(
    "--model",
    default=None,
    help="Model for --update, such as anthropic:NAME. [default: the setting, structural at first]",
)
@output.JSON_OPTION
def notes_command(session: str, update: bool, model: str | None, as_json: bool) -> None:
    """Show the notes of a session; without SESSION of the newest one of this folder.

    SESSION is its id, the start of its id, or its folder (such as one that `memorist replay`
    wrote). `memorist sessions` lists them.

    Example: memorist notes 01a20126
    """
    name, layout = find_session(session) if session else find_newest_notes()
    text = (
        asyncio.run(_update_notes(name, layout, model)) if update else _read_notes(layout, session)
    )
    if as_json:
        output.print_json({"session": name, "path": str(layout.notes), "notes": text})
    else:
        output.print_notes(text)


def find_session(session: str) -> tuple[str, SessionLayout]:
    """Id and folder of the session given by its id, the start of its id, or its folder.

    Raises InputError.
    """
    folder = Path(session)
    if folder.is_dir():
        return folder.resolve().name, SessionLayout(folder.resolve())
    home = find_home()
    if not home.database.exists():
        raise InputError(f"no session {session!r} is known: {home.home} holds none yet")
    database = open_database(home.database)
    try:
        found = find_session_folders(database, session)
    finally:
        database.close()
    exact = [row for row in found if row[0] == session] or found
    if not exact:
        raise InputError(
            f"no session begins with {session!r}; give an id, its start, or a session's folder"
        )
    if len(exact) > 1:
        some = ", ".join(row[0] for row in exact[:5])
        raise InputError(
            f"{len(exact)} sessions begin with {session!r} ({some} …); give more of the id"
        )
    return exact[0][0], SessionLayout(Path(exact[0][1]))


def _read_notes(layout: SessionLayout, session: str) -> str:
    try:
        return read_regular(layout.notes).decode("utf-8", "replace")
    except OSError as error:
        raise NothingToDo(
            f"the session {session!r} has no notes yet; make them with: memorist notes "
            f"{session} --update"
        ) from error


async def _update_notes(name: str, layout: SessionLayout, model: str | None) -> str:
    if not layout.transcript.exists():
        raise NothingToDo(
            f"{layout.folder} holds no transcript, so there is nothing to take notes of"
        )
    async with Memorist(model=model) as engine:
        session = await engine.open(name, folder=layout.folder)
        return await session.summarise()


# `memorist compact`.


CACHED_MICRO = "micro-cached"
"""The way that changes no message: the provider is asked to clear results in its own cache."""
STRATEGIES = (
    "auto", "micro", CACHED_MICRO, "session-memory", "full", "inline", "structural", "tail",
)  # fmt: skip


@click.command(name="compact")
@click.argument("file", type=click.Path(path_type=Path))
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
    """Show what a compaction of a recorded session would keep, cut and say. FILE itself is never
    changed.

    Example: memorist compact session.jsonl --budget 8000
    """
    source: Path = options["file"]
    recorded = read_recorded_window(read_session(LineFile(source)), options["at"])
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
    made = _compact(recorded, source, options)
    if isinstance(made, UnchangedHistory):
        made = (
            CompactedHistory(
                strategy="unchanged",
                messages=recorded.messages,
                tokens_before=_count_tokens(recorded),
                tokens_after=_count_tokens(recorded),
            )
            if options["as_json"]
            else _raise_nothing_to_do(made)
        )
    if options["target"] and not options["dry_run"]:
        _write(options["target"], recorded, made)
    if options["as_json"]:
        output.print_json(_result_object(recorded, made))
    else:
        _print_result(recorded, made, quiet=options["dry_run"])


def _raise_nothing_to_do(made: UnchangedHistory) -> CompactedHistory:
    raise NothingToDo(made.why)


def _print_clearing_edit(recorded: RecordedWindow, *, as_json: bool) -> None:
    """What cached microcompact would ask Anthropic to clear."""
    keep = load_project_settings().compaction.micro_keep
    pinned = pin_old_results(PinnedResults(), recorded.messages, keep)
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
    text = find_text(recorded.all_messages, wanted)
    if text is None:
        raise InputError(
            f"the session has no message or tool result {wanted!r}; --json lists the ids under "
            f'"cut"'
        )
    return text


def _count_tokens(recorded: RecordedWindow) -> int:
    return measure_conversation(
        recorded.messages, factor=find_token_factor(recorded.messages)
    ).tokens


def _compact(
    recorded: RecordedWindow, source: Path, options: dict[str, Any]
) -> CompactedHistory | UnchangedHistory:
    settings = load_project_settings(options["model"])
    how = OfflineOptions(
        budget=options["budget"],
        texts=load_compaction_prompts(),
        template=load_prompt("session_memory/template"),
        settings=settings.compaction,
        source=str(source.absolute()),
        factor=find_token_factor(recorded.messages),
    )
    name = options["model"] or settings.model
    strategy = cast("CompactionStrategy", options["strategy"])
    if options["instructions"] and name == "structural":
        raise UsageError("--instructions tell a model what to hold; name one with --model")
    if strategy in {"full", "inline"} and name != "structural":
        summary = asyncio.run(
            _summarize_with_model(
                recorded,
                (name, settings),
                options["instructions"],
                how,
                hand_over=strategy == "inline",
            )
        )
        if isinstance(summary, UnusableSummary):
            click.echo(f"memorist: {summary.why} The structural digest takes its place.", err=True)
            strategy = "structural"
        else:
            how = replace(how, summary=summary)
    return compact_offline(recorded, strategy, how)


async def _summarize_with_model(
    recorded: RecordedWindow,
    asked: tuple[str, Settings],
    instructions: str,
    how: OfflineOptions,
    *,
    hand_over: bool,
) -> str | UnusableSummary:
    """The model's summary, compared with the session; why there is none otherwise. The run stands
    in the receipts of the home.
    """
    name, settings = asked
    model = open_model(name, settings.models)
    if model is None:
        raise UsageError(f"{name!r} is no model that can be asked")
    held = measure_conversation(
        recorded.messages,
        user_texts=[words for words in map(user_text, recorded.all_messages) if words],
        factor=how.factor,
    )
    request = build_summary_request(held, how.texts, instructions, hand_over=hand_over)
    runtime = Runtime(settings=settings, model=model)
    with closing(open_database(runtime.layout.database)) as database:
        governor = BudgetGovernor(database, "", clock=runtime.clock, settings=settings.spend)
        try:
            summary = await request_summary(
                request,
                None,
                replace(runtime, governor=governor, record_receipt=governor.record_receipt),
                marker=how.texts.cut_marker,
                asked=True,
            )
        finally:
            await model.close()
    if isinstance(summary, UnusableSummary):
        return summary
    reviewed = review_summary(summary, held.messages, held.messages, factor=how.factor)
    return reviewed if isinstance(reviewed, UnusableSummary) else reviewed.text


def _write(target: Path, recorded: RecordedWindow, made: CompactedHistory) -> None:
    if target.exists():
        raise InputError(f"{target} exists already; name a new file")
    writer = TranscriptWriter(target)
    try:
        writer.append(recorded.head or SessionHead(session=target.stem, format="memorist"))
        ours = tuple(message for message in made.messages if message.id.startswith("memorist"))
        writer.append(
            CompactionBoundary(
                id=made.strategy,
                line=0,
                trigger="manual",
                tokens_before=made.tokens_before,
                replacement=ours,
            )
        )
        for message in made.messages:
            writer.append(message)
    finally:
        writer.close()


def _result_object(recorded: RecordedWindow, made: CompactedHistory) -> dict[str, Any]:
    return {
        "strategy": made.strategy,
        "at": recorded.last_message,
        "tokens_before": made.tokens_before,
        "tokens_after": made.tokens_after,
        "messages": find_codec("anthropic").encode_messages(made.messages),
        "cut": [{"id": cut.id, "tokens": cut.tokens, "why": cut.why} for cut in made.cut],
        "restored": [
            {"kind": back.kind, "what": back.what, "tokens": back.tokens} for back in made.restored
        ],
    }


def _print_result(recorded: RecordedWindow, made: CompactedHistory, *, quiet: bool) -> None:
    ours = [message for message in made.messages if message.id.startswith("memorist")]
    kept = len(made.messages) - len(ours)
    if not quiet:
        for message in ours:
            click.echo(message.text + "\n")
    click.echo(
        f"{made.strategy} at message {recorded.last_message}: {made.tokens_before:,} tokens "
        f"become {made.tokens_after:,};"
        f" {kept} of {len(recorded.messages)} messages stay as they are, {len(made.cut)} are cut"
    )
    for back in made.restored:
        click.echo(f"  brought back: {back.kind} {back.what} ({back.tokens:,} tokens)")
    newest: list[Message] = [message for message in made.messages if message not in ours][-1:]
    if newest and not quiet:
        click.echo(f"  newest message: {newest[0].role}, {newest[0].text[:100]!r}")
