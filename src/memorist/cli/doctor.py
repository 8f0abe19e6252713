"""`memorist doctor`: what is wrong with this installation, and how to mend it."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import click
from msgspec import Struct

from memorist.cli import show
from memorist.cli.flagged import look
from memorist.cli.status import read_status
from memorist.configuration import load_settings
from memorist.errors import MemoristError, StoreError
from memorist.flags.values import in_force, remarks
from memorist.models.choose import open_model
from memorist.session_memory.run import load_texts
from memorist.settings import Resolved, Settings
from memorist.spend.ladder import LADDER
from memorist.spend.status import Status
from memorist.store.database import migrations
from memorist.store.files import DiskFiles
from memorist.store.layout import Layout

EXTRAS = {"anthropic": "anthropic", "openai": "openai", "local": "xllamacpp", "flags": "openfeature"}
"""Extra to the module that it brings."""


class Finding(Struct, frozen=True):
    """One thing that was looked at. `mend` says what to do, and is empty when nothing is to be done."""

    state: Literal["good", "note", "wrong"]
    what: str
    mend: str = ""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def doctor(as_json: bool) -> None:
    """Look for what is wrong with this installation, and say how to mend it. Changes nothing."""
    findings = list(_findings())
    if as_json:
        show.json({"findings": findings})
    else:
        marks = {"good": "ok   ", "note": "note ", "wrong": "WRONG"}
        for finding in findings:
            click.echo(f"{marks[finding.state]}  {finding.what}")
            if finding.mend:
                click.echo(f"       {finding.mend}")
    if any(finding.state == "wrong" for finding in findings):
        sys.exit(1)


def _findings() -> Iterator[Finding]:
    yield Finding("good", f"Python {sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}")
    try:
        resolved = load_settings(os.environ, project=Path.cwd())
    except MemoristError as error:
        yield Finding("wrong", str(error), "Correct or remove the setting; the rest is checked after that.")
        return
    yield Finding("good", "the settings are readable")
    for line in resolved.ignored:
        yield Finding("note", f"ignored: {line}", "Put it in the config.toml of your home folder if you want it.")
    layout = Layout(Path(resolved.settings.home).expanduser())
    yield _home(layout.home)
    yield _database(layout.database)
    yield _own_texts(layout)
    yield _model(resolved)
    yield from _spend(resolved.settings, layout.database)
    yield from _flags(resolved)
    for extra, module in EXTRAS.items():
        if importlib.util.find_spec(module) is None:
            yield Finding("note", f"the extra {extra!r} is not installed", f"Only if you want it: pip install 'memorist[{extra}]'")


def _home(home: Path) -> Finding:
    if not home.exists():
        return Finding("good", f"{home} does not exist yet; it is made when it is needed")
    if not home.is_dir():
        return Finding("wrong", f"{home} is not a folder", "Move it away, or set MEMORIST_HOME to another place.")
    if not os.access(home, os.W_OK | os.X_OK):
        return Finding("wrong", f"{home} cannot be written", "Give yourself write access to it, or set MEMORIST_HOME to another place.")
    if stat.S_IMODE(home.stat().st_mode) & 0o077:
        return Finding("wrong", f"others on this machine can look into {home}", f"chmod 700 {home}")
    return Finding("good", f"{home} is writable and private")


@contextlib.contextmanager
def _read_only(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    try:
        yield connection
    finally:
        connection.close()


def _database(path: Path) -> Finding:
    if not path.exists():
        return Finding("good", "there is no database yet; it is made when it is needed")
    try:
        with _read_only(path) as connection:
            answer = connection.execute("pragma quick_check").fetchone()[0]
            version = connection.execute("pragma user_version").fetchone()[0]
    except sqlite3.Error as error:
        return Finding(
            "wrong",
            f"the database cannot be read ({error})",
            "It is put aside and made anew when memorist next runs; notes and transcripts are files.",
        )
    if answer != "ok":
        return Finding(
            "wrong", f"the database is damaged ({answer})", f"Move {path} away; it is made anew. Notes and transcripts are files."
        )
    if version > migrations()[-1][0]:
        return Finding("note", "the database was written by a newer memorist", "Update memorist when you can.")
    return Finding("good", f"the database is sound (version {version})")


def _spend(settings: Settings, path: Path) -> Iterator[Finding]:
    """Whether background work with the model is at rest. The database is looked into as it is; what is wrong with it is said already."""
    if settings.model == "structural" or not path.exists():
        return
    with contextlib.suppress(sqlite3.Error, StoreError), _read_only(path) as database:
        yield from _at_rest(read_status(database, settings, time.time()))


def _at_rest(found: Status) -> Iterator[Finding]:
    if len(found.at_rest) == len(LADDER):
        yield Finding("note", f"no background work asks a model now: {found.at_rest[-1].why}", "memorist status says more.")
    elif found.at_rest:
        kinds = ", ".join(each.kind for each in found.at_rest)
        yield Finding("note", f"at rest until there is room below the caps: {kinds}", "memorist status says why.")


def _own_texts(layout: Layout) -> Finding:
    try:
        load_texts(DiskFiles(), layout)
    except MemoristError as error:
        return Finding("wrong", str(error), "Correct the file or remove it; without it the built-in text is used.")
    own = [path.name for path in (layout.own_template, layout.own_prompt) if path.exists()]
    return Finding(
        "good",
        f"your own {' and '.join(own)} for the notes can be used" if own else "the built-in template and prompt of the notes are used",
    )


def _model(resolved: Resolved) -> Finding:
    name = resolved.settings.model
    try:
        model = open_model(name, resolved.settings.models)
    except MemoristError as error:
        return Finding("wrong", str(error), 'Or set model = "structural" to work without one.')
    if model is None:
        return Finding("good", "no model is set: notes are made from the transcript's structure, at no cost")
    return Finding("good", f"the model {name} is set up (it was not called)")


def _flags(resolved: Resolved) -> Iterator[Finding]:
    file = resolved.settings.flags.file
    try:
        looked = look(resolved.settings)
    except MemoristError as error:
        yield Finding("wrong", str(error), "Correct or remove flags.file.")
        return
    if looked.trouble:
        yield Finding("wrong", looked.trouble, "Correct the file; until then no flag of it is set, and what runs keeps the flags it has.")
    elif not file:
        yield Finding("good", "no file of feature flags is set")
    elif not Path(file).expanduser().exists():
        yield Finding("note", f"the flags file {file} does not exist, so no flag is set", "Nothing, if it is to come later.")
    else:
        count = len(in_force(looked.values))
        yield Finding("good", f"the flags file {file} is readable and sets {count} flag{'' if count == 1 else 's'}")
    for remark in remarks(looked.values):
        yield Finding("note", f"a flag is ignored: {remark}", f"Correct it in {file}; `memorist config show` lists the names.")
