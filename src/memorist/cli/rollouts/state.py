"""`memorist rollouts status, retry, reset, show, leave-out`."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import click

from memorist.cli import show
from memorist.cli.rollouts.group import looked
from memorist.engine.past_state import PastState
from memorist.errors import NothingToDo
from memorist.rollouts.eligible import judge_all
from memorist.store.claims import GLOBAL, Job, ahead
from memorist.store.files import DiskFiles
from memorist.store.forgetting import set_mode
from memorist.store.jobs import exhausted, failures, jobs, retry
from memorist.store.rollouts import kept, reset, standing_of, standings, threads
from memorist.store.state import remarks
from memorist.store.thread import Thread


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def status(as_json: bool) -> None:
    """Show what is known of past sessions, what waits and why, and what failed."""
    found = looked(_status)
    if as_json:
        show.json(found)
    else:
        _print(found)


def _status(past: PastState) -> dict[str, Any]:
    verdicts = judge_all(standings(past.state), past.settings.rollouts, now=past.state.now())
    extracts = kept(past.state)
    consolidation = next((job for job in jobs(past.state) if job.kind == "consolidate"), None)
    return {
        "sessions": len(verdicts),
        "due": sum(verdict.eligible for verdict in verdicts),
        "waiting": dict(sorted(Counter(verdict.reason for verdict in verdicts if verdict.reason is not None).items())),
        "extracts": sum(not each.extracted.empty for each in extracts),
        "no_op": sum(each.extracted.empty for each in extracts),
        "consolidated": sum(each.selected for each in extracts),
        "last_consolidation": _time(consolidation.succeeded) if consolidation is not None else None,
        "consolidation_failed": consolidation.last_error if consolidation is not None else None,
        "not_tried_again": [{"thread": job.key, "attempts": job.attempts, "why": job.last_error or ""} for job in exhausted(past.state)],
        "put_off": [{"thread": job.key, "until": _time(job.retry_at), "why": job.last_error or ""} for job in _put_off(past)],
        "failures": [{"thread": each.key, "at": _time(each.at), "why": each.reason} for each in failures(past.state)[-20:]],
        "without_model": [{"thread": each.extracted.thread, "why": each.extracted.problem} for each in extracts if each.extracted.problem],
        "remarks": remarks(past.state),
    }


def _put_off(past: PastState) -> list[Job]:
    """Jobs that neither succeeded nor failed and wait for a retry."""
    now = past.state.now()
    return [job for job in jobs(past.state) if job.status == "pending" and ahead(job.retry_at, now, past.terms.retry_seconds)]


def _time(seconds: int | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _print(found: dict[str, Any]) -> None:
    click.echo(
        f"{found['sessions']:,} sessions known, {found['due']:,} due; {found['extracts']:,} extracts, {found['no_op']:,} held nothing"
    )
    for reason, count in found["waiting"].items():
        click.echo(f"  {count:>7,}  {reason}")
    click.echo(f"consolidated: {found['consolidated']:,} sessions, last {found['last_consolidation'] or 'never'}")
    if found["consolidation_failed"]:
        click.echo(f"the last consolidation failed: {show.readable(found['consolidation_failed'])}")
    if found["put_off"]:
        first = found["put_off"][0]
        click.echo(f"put off: {len(found['put_off']):,}, the first until {first['until']}: {show.readable(first['why'])}")
    for each in found["not_tried_again"]:
        click.echo(
            f"not tried again ({each['attempts']} attempts): {each['thread']}: {show.readable(each['why'])}; see `memorist rollouts retry`"
        )
    for each in found["failures"][-5:]:
        click.echo(f"failed {each['at']}: {each['thread']}: {show.readable(each['why'])}")
    if found["without_model"]:
        first = found["without_model"][0]
        click.echo(f"{len(found['without_model']):,} extracts were made without the model; the first because {show.readable(first['why'])}")
    for each in found["remarks"]:
        click.echo(f"remark: {show.readable(each)}")


@click.command("retry")
@click.argument("names", nargs=-1, metavar="[THREAD]…")
def retry_command(names: tuple[str, ...]) -> None:
    """Try again what failed or has to wait after a failure: these sessions, or all and the consolidation (`global`)."""

    def work(past: PastState) -> int:
        return retry(past.state, past.terms, [GLOBAL if each == GLOBAL else _named(past, each).id for each in names] or None)

    count = looked(work)
    click.echo(f"{count:,} jobs may run again; `memorist rollouts sync` or `memorist worker --once` runs them")


@click.command("reset")
@click.option("--yes", is_flag=True, help="Do not ask.")
def reset_command(yes: bool) -> None:
    """Forget every extract, job and failure, so that all sessions are extracted anew. Sessions and the folder of memories stay."""
    if not yes:
        click.confirm("Forget what was extracted of all past sessions? The next sync extracts everything again.", abort=True)
    count = looked(lambda past: reset(past.state))
    click.echo(f"{count:,} extracts forgotten")


@click.command("show")
@click.argument("thread", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def show_command(thread: str | None, as_json: bool) -> None:
    """Show what stage one made of a session, by the begin of its id; without one the summary that sessions are shown."""
    found = looked(lambda past: _of_thread(past, thread) if thread else _summary(past))
    if as_json:
        show.json(found)
    else:
        click.echo(show.readable(found["text"]).rstrip("\n"))


def _summary(past: PastState) -> dict[str, Any]:
    path = past.layout.rollouts / "memory_summary.md"
    if not path.exists():
        raise NothingToDo("nothing was consolidated yet; `memorist rollouts sync` does it")
    return {"path": str(path), "text": DiskFiles().read(path).decode("utf-8", "replace")}


def _named(past: PastState, start: str) -> Thread:
    """The session with this id, or the only one whose id starts with it. Raises NothingToDo."""
    found = [each for each in threads(past.state) if each.id.startswith(start)]
    exact = [each for each in found if each.id == start]
    if len(exact or found) != 1:
        raise NothingToDo(
            f"{len(found):,} sessions begin with {start!r}; the names of files in memories/rollout_summaries and `--json` tell ids"
        )
    return (exact or found)[0]


def _of_thread(past: PastState, start: str) -> dict[str, Any]:
    thread = _named(past, start)
    row = next((each for each in kept(past.state) if each.extracted.thread == thread.id), None)
    standing = standing_of(past.state, thread.id)
    text = "" if row is None else f"{row.extracted.rollout_summary.rstrip()}\n\n{row.extracted.raw_memory}"
    verdict = judge_all([standing], past.settings.rollouts, now=past.state.now())[0] if standing is not None else None
    return {
        "thread": thread.id,
        "path": thread.path,
        "mode": thread.mode,
        "way": None if row is None else row.extracted.way,
        "uses": 0 if row is None else row.uses,
        "why_not": "" if verdict is None else verdict.text,
        "text": text.strip() or f"Nothing was extracted of it{f': {verdict.text}' if verdict is not None and verdict.text else ''}.",
    }


@click.command("leave-out")
@click.argument("thread")
@click.option("--take-in", is_flag=True, help="Let it become memory again.")
def leave_out(thread: str, take_in: bool) -> None:
    """Keep a session out of memory: what was made of it goes, and the next consolidation forgets what only it held up."""

    def work(past: PastState) -> bool:
        return set_mode(past.state, _named(past, thread).id, "enabled" if take_in else "disabled", past.terms)

    forgets = looked(work)
    click.echo("it may become memory again" if take_in else f"it is left out{'; the next consolidation forgets it' if forgets else ''}")
