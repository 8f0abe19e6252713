"""`memorist compact`."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, cast

import click
from msgspec.structs import replace

from memorist.cli import show
from memorist.clock import SystemClock
from memorist.compaction.asking.run import Asking, ask
from memorist.compaction.conversation import conversation, typed
from memorist.compaction.offline import Offline, compact, factor_of
from memorist.compaction.recorded import Recorded, found, recorded_at
from memorist.compaction.result import Compacted, Strategy, Unchanged
from memorist.compaction.summary import Unusable
from memorist.compaction.texts import shipped
from memorist.configuration import load_settings
from memorist.core.messages import Message
from memorist.errors import InputError, ModelUnavailable, NothingToDo, UsageError
from memorist.forks.governor import Ungoverned
from memorist.formats.recognise import read
from memorist.formats.recorded import Boundary, Head
from memorist.formats.registry import codec
from memorist.models.choose import open_model
from memorist.prompts.load import load
from memorist.settings import Settings
from memorist.store.files import DiskFiles
from memorist.store.lines import LineFile
from memorist.store.transcript import TranscriptWriter

STRATEGIES = ("auto", "micro", "session-memory", "full", "inline", "structural", "tail")


@click.command(name="compact")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--at", default="", help="Message to compact at: its number, its id, or the start of its id. [default: the last]")
@click.option("--strategy", type=click.Choice(STRATEGIES), default="auto", show_default=True, help="Which way to take.")
@click.option("--budget", type=click.IntRange(min=500), default=20_000, show_default=True, help="Tokens the result may have.")
@click.option("--instructions", default="", help="What a summary should hold; needs --model.")
@click.option(
    "--model", default=None, help="Model for full and inline, such as anthropic:NAME. [default: none, the notes serve as the summary]"
)
@click.option("--dry-run", is_flag=True, help="Say what would be kept and cut, and show no text.")
@click.option("--apply", "target", type=click.Path(path_type=Path), default=None, help="Write the compacted conversation to this file.")
@click.option("--show", "wanted", default=None, help="Show the whole text of a message or tool result by its id, and do nothing else.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def compact_command(**options: Any) -> None:  # noqa: ANN401 - click passes the options by name
    """Show what a compaction of a recorded session would keep, cut and say. FILE itself is never changed."""
    source: Path = options["file"]
    recorded = recorded_at(read(LineFile(source)), options["at"])
    if options["wanted"]:
        click.echo(_whole(recorded, options["wanted"]))
        return
    made = _made(recorded, source, options)
    if isinstance(made, Unchanged):
        made = (
            Compacted(strategy="unchanged", messages=recorded.messages, tokens_before=_size(recorded), tokens_after=_size(recorded))
            if options["as_json"]
            else _stop(made)
        )
    if options["target"] and not options["dry_run"]:
        _write(options["target"], recorded, made)
    if options["as_json"]:
        show.json(_json(recorded, made))
    else:
        _print(recorded, made, quiet=options["dry_run"])


def _stop(made: Unchanged) -> Compacted:
    raise NothingToDo(made.why)


def _whole(recorded: Recorded, wanted: str) -> str:
    text = found(recorded.everything, wanted)
    if text is None:
        raise InputError(f'the session has no message or tool result {wanted!r}; --json lists the ids under "cut"')
    return text


def _size(recorded: Recorded) -> int:
    return conversation(recorded.messages, factor=factor_of(recorded.messages)).tokens


def _made(recorded: Recorded, source: Path, options: dict[str, Any]) -> Compacted | Unchanged:
    settings = load_settings(os.environ, project=Path.cwd()).settings
    how = Offline(
        budget=options["budget"],
        texts=shipped(),
        template=load("session_memory/template"),
        settings=settings.compaction,
        source=str(source.absolute()),
        factor=factor_of(recorded.messages),
    )
    name = options["model"] or settings.model
    strategy = cast("Strategy", options["strategy"])
    if options["instructions"] and name == "structural":
        raise UsageError("--instructions tell a model what to hold; name one with --model")
    if strategy in {"full", "inline"} and name != "structural":
        summary = asyncio.run(_asked(recorded, name, settings, options["instructions"], how))
        how = replace(how, summary=summary)
    return compact(recorded, strategy, how)


async def _asked(recorded: Recorded, name: str, settings: Settings, instructions: str, how: Offline) -> str:
    model = open_model(name, settings.models)
    if model is None:
        raise UsageError(f"{name!r} is no model that can be asked")
    held = conversation(recorded.messages, said=[words for words in map(typed, recorded.everything) if words], factor=how.factor)
    asking = Asking(
        model=model, files=DiskFiles(), clock=SystemClock(), limits=settings.forks, governor=Ungoverned(), record=lambda _: None
    )
    try:
        summary = await ask(held, None, asking, texts=how.texts, settings=settings.compaction, instructions=instructions)
    finally:
        await model.close()
    if isinstance(summary, Unusable):
        raise ModelUnavailable(f"the model gave no summary: {summary.why}")
    return summary


def _write(target: Path, recorded: Recorded, made: Compacted) -> None:
    if target.exists():
        raise InputError(f"{target} exists already; name a new file")
    writer = TranscriptWriter(target)
    try:
        writer.append(recorded.head or Head(session=target.stem, format="memorist"))
        ours = tuple(message for message in made.messages if message.id.startswith("memorist"))
        writer.append(Boundary(id=made.strategy, line=0, trigger="manual", tokens_before=made.tokens_before, replacement=ours))
        for message in made.messages:
            writer.append(message)
    finally:
        writer.close()


def _json(recorded: Recorded, made: Compacted) -> dict[str, Any]:
    return {
        "strategy": made.strategy,
        "at": recorded.at,
        "tokens_before": made.tokens_before,
        "tokens_after": made.tokens_after,
        "messages": codec("anthropic").encode_messages(made.messages),
        "cut": [{"id": cut.id, "tokens": cut.tokens, "why": cut.why} for cut in made.cut],
        "restored": [{"kind": back.kind, "what": back.what, "tokens": back.tokens} for back in made.restored],
    }


def _print(recorded: Recorded, made: Compacted, *, quiet: bool) -> None:
    ours = [message for message in made.messages if message.id.startswith("memorist")]
    kept = len(made.messages) - len(ours)
    if not quiet:
        for message in ours:
            click.echo(message.text + "\n")
    click.echo(
        f"{made.strategy} at message {recorded.at}: {made.tokens_before:,} tokens become {made.tokens_after:,};"
        f" {kept} of {len(recorded.messages)} messages stay as they are, {len(made.cut)} are cut"
    )
    for back in made.restored:
        click.echo(f"  brought back: {back.kind} {back.what} ({back.tokens:,} tokens)")
    newest: list[Message] = [message for message in made.messages if message not in ours][-1:]
    if newest and not quiet:
        click.echo(f"  newest message: {newest[0].role}, {newest[0].text[:100]!r}")
