"""Check the model for background work: valid name, reachable server, remaining budget, and the
user's own prompts.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from memorist.cli.checks.database import read_only
from memorist.cli.checks.finding import Finding, Place
from memorist.cli.status import read_status
from memorist.errors import MemoristError, StoreError
from memorist.magic_docs.place.run import docs_texts
from memorist.models.choose import Anthropic, OpenAI, OpenAIChat, open_model, parse_name
from memorist.session_memory.run import load_texts
from memorist.spend.ladder import LADDER
from memorist.spend.status import Status
from memorist.store.files import DiskFiles

REACH_SECONDS = 5.0
"""Longest wait for a connection; a slower server is useless for background work. Our choice."""

_SERVERS = {"ANTHROPIC": "https://api.anthropic.com", "OPENAI": "https://api.openai.com"}


def check_model(place: Place) -> Iterator[Finding]:
    """Check whether the model can be used.

    Its server is contacted only on request, and no model request is sent.
    """
    name = place.settings.model
    try:
        model = open_model(name, place.settings.models)
    except MemoristError as error:
        yield Finding("wrong", str(error), 'Or set model = "structural" to work without one.')
        return
    if model is None:
        yield Finding("good", "no model is set: notes are made from the transcript's structure, at no cost")
        return
    yield Finding("good", f"the model {name} is set up (it was not called)")
    address = server_of(name, os.environ)
    if address and place.reach:
        yield _reached(address)


def server_of(name: str, environment: Mapping[str, str]) -> str:
    """The base URL of a model's server; empty for a model without one."""
    match parse_name(name):
        case Anthropic(base_url=url):
            return url or environment.get("ANTHROPIC_BASE_URL") or _SERVERS["ANTHROPIC"]
        case OpenAI(base_url=url) | OpenAIChat(base_url=url):
            return url or environment.get("OPENAI_BASE_URL") or _SERVERS["OPENAI"]
        case _:
            return ""


def _reached(address: str) -> Finding:
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)
    try:
        socket.create_connection((host, port), timeout=REACH_SECONDS).close()
    except OSError as error:
        what = f"the model's server {host}:{port} cannot be reached ({error.strerror or error})"
        return Finding("wrong", what, "Start it, or mend the address or the network; until then the structural ways take over.")
    return Finding("good", f"the model's server {host}:{port} answers")


def check_budgets(place: Place) -> Iterator[Finding]:
    """Check whether background work with the model is paused.

    The database is only read; other checks report its faults.
    """
    path = place.layout.database
    if place.settings.model == "structural" or not path.exists():
        return
    with contextlib.suppress(sqlite3.Error, StoreError), read_only(path) as database:
        yield from _at_rest(read_status(database, place.settings, place.now))


def _at_rest(found: Status) -> Iterator[Finding]:
    if len(found.at_rest) == len(LADDER):
        yield Finding("note", f"no background work asks a model now: {found.at_rest[-1].why}", "memorist status says more.")
    elif found.at_rest:
        kinds = ", ".join(each.kind for each in found.at_rest)
        yield Finding("note", f"at rest until there is room below the caps: {kinds}", "memorist status says why.")


def check_own_texts(place: Place) -> Iterator[Finding]:
    """Check the user's own template and prompts in the home."""
    layout = place.layout
    yield _texts("the notes", "template and prompt", (layout.own_template, layout.own_prompt), lambda: load_texts(DiskFiles(), layout))
    yield _texts("Magic Docs", "prompt", (layout.own_docs_prompt,), lambda: docs_texts(DiskFiles(), layout))


def _texts(use: str, kinds: str, paths: tuple[Path, ...], read: Callable[[], object]) -> Finding:
    try:
        read()
    except MemoristError as error:
        return Finding("wrong", str(error), "Correct the file or remove it; without it the built-in text is used.")
    own = [path.name for path in paths if path.exists()]
    return Finding(
        "good",
        f"your own {' and '.join(own)} for {use} can be used"
        if own
        else f"of {use} the built-in {kinds} {'are' if len(paths) > 1 else 'is'} used",
    )
