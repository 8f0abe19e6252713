"""Check the package, its extras, the settings and the feature flags."""

from __future__ import annotations

import contextlib
import importlib.util
import socket
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from memorist.budget.budget_policy import CAP_SHARES
from memorist.budget.budget_status import BudgetStatus
from memorist.cli.command_environment import read_environment
from memorist.cli.config_command import read_flag_values
from memorist.cli.doctor.check_result import CheckResult, DoctorContext
from memorist.cli.doctor.database_check import open_read_only
from memorist.cli.status_command import read_status
from memorist.errors import MemoristError, StoreError
from memorist.flags.flag_overrides import find_flag_problems, list_active_flags
from memorist.magic_docs.document_files import load_magic_doc_prompts
from memorist.models.model_choice import (
    AnthropicChoice,
    OpenAIChatChoice,
    OpenAIChoice,
    open_model,
    parse_model_name,
)
from memorist.session_memory.session_notes import load_notes_prompts
from memorist.store.disk_files import DiskFiles

EXTRAS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "local": "xllamacpp",
    "flags": "openfeature",
    "mcp": "mcp",
    "otel": "opentelemetry",
    "ui": "starlette",
}
"""Each extra with a module that it installs."""


def check_settings(context: DoctorContext) -> Iterator[CheckResult]:
    """Report ignored settings; unreadable ones were reported before any check ran."""
    yield CheckResult(
        "good", f"Python {sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    )
    yield CheckResult("good", "the settings are readable")
    for line in context.resolved.ignored:
        yield CheckResult(
            "note",
            f"ignored: {line}",
            "Put it in the config.toml of your home folder if you want it.",
        )
    for line in context.resolved.notes:
        yield CheckResult("note", line, "The old spelling is read all the same.")


def check_extras(context: DoctorContext) -> Iterator[CheckResult]:
    """Name the extras that are not installed, in one line."""
    del context
    missing = [
        extra for extra, module in EXTRAS.items() if importlib.util.find_spec(module) is None
    ]
    if missing:
        yield CheckResult(
            "note",
            f"not installed: the extras {', '.join(missing)}",
            f"Only if you want one: pip install 'memorist[{missing[0]}]'",
        )


def check_flags(context: DoctorContext) -> Iterator[CheckResult]:
    """Check the flags file, if there is one, and report entries that are no flag."""
    file = context.settings.flags.file
    try:
        looked = read_flag_values(context.settings)
    except MemoristError as error:
        yield CheckResult("wrong", str(error), "Correct or remove flags.file.")
        return
    if looked.trouble:
        yield CheckResult(
            "wrong",
            looked.trouble,
            "Correct the file; until then no flag of it is set, and what runs keeps the flags "
            "it has.",
        )
    elif not file:
        yield CheckResult("good", "no file of feature flags is set")
    elif not Path(file).expanduser().exists():
        yield CheckResult(
            "note",
            f"the flags file {file} does not exist, so no flag is set",
            "Nothing, if it is to come later.",
        )
    else:
        count = len(list_active_flags(looked.values))
        yield CheckResult(
            "good",
            f"the flags file {file} is readable and sets {count} flag{'' if count == 1 else 's'}",
        )
    for remark in find_flag_problems(looked.values):
        yield CheckResult(
            "note",
            f"a flag is ignored: {remark}",
            f"Correct it in {file}; `memorist config show` lists the names.",
        )


# Check the model for background work: valid name, reachable server, remaining budget, and the
# user's own prompts.


REACH_SECONDS = 5.0
"""Longest wait for a connection; a slower server is useless for background work. Our choice."""

_SERVERS = {"ANTHROPIC": "https://api.anthropic.com", "OPENAI": "https://api.openai.com"}


def check_background_model(context: DoctorContext) -> Iterator[CheckResult]:
    """Check whether the model can be used.

    Its server is contacted only on request, and no model request is sent.
    """
    name = context.settings.model
    try:
        model = open_model(name, context.settings.models)
    except MemoristError as error:
        yield CheckResult("wrong", str(error), 'Or set model = "structural" to work without one.')
        return
    if model is None:
        yield CheckResult(
            "note",
            "no model is set, which costs nothing: notes come from the transcript's structure, and "
            "only what you say outright is remembered. Off without one: notes in a model's words, "
            "memories of what you only implied, summaries by a model, dreams that merge what says "
            "the same in other words",
            'Only if you want them: model = "anthropic:NAME" (or openai:NAME, local) in '
            f"{context.layout.home / 'config.toml'}; the caps of `spend` hold.",
        )
        return
    yield CheckResult("good", f"the model {name} is set up (it was not called)")
    address = model_server(name, read_environment())
    if address and context.reach:
        yield _check_reachable(address)


def model_server(name: str, environment: Mapping[str, str]) -> str:
    """The base URL of a model's server; empty for a model without one."""
    match parse_model_name(name):
        case AnthropicChoice(base_url=url):
            return url or environment.get("ANTHROPIC_BASE_URL") or _SERVERS["ANTHROPIC"]
        case OpenAIChoice(base_url=url) | OpenAIChatChoice(base_url=url):
            return url or environment.get("OPENAI_BASE_URL") or _SERVERS["OPENAI"]
        case _:
            return ""


def _check_reachable(address: str) -> CheckResult:
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)
    try:
        socket.create_connection((host, port), timeout=REACH_SECONDS).close()
    except OSError as error:
        what = f"the model's server {host}:{port} cannot be reached ({error.strerror or error})"
        return CheckResult(
            "wrong",
            what,
            "Start it, or mend the address or the network; until then the structural ways take "
            "over.",
        )
    return CheckResult("good", f"the model's server {host}:{port} answers")


def check_budgets(context: DoctorContext) -> Iterator[CheckResult]:
    """Check whether background work with the model is paused.

    The database is only read; other checks report its faults.
    """
    path = context.layout.database
    if context.settings.model == "structural" or not path.exists():
        return
    with contextlib.suppress(sqlite3.Error, StoreError), open_read_only(path) as database:
        yield from _check_paused(read_status(database, context.settings, context.now))


def _check_paused(found: BudgetStatus) -> Iterator[CheckResult]:
    if len(found.at_rest) == len(CAP_SHARES):
        yield CheckResult(
            "note",
            f"no background work asks a model now: {found.at_rest[-1].why}",
            "memorist status says more.",
        )
    elif found.at_rest:
        kinds = ", ".join(each.kind for each in found.at_rest)
        yield CheckResult(
            "note",
            f"at rest until there is room below the caps: {kinds}",
            "memorist status says why.",
        )


def check_custom_texts(context: DoctorContext) -> Iterator[CheckResult]:
    """Check the user's own template and prompts in the home."""
    layout = context.layout
    yield _check_texts(
        "the notes",
        "template and prompt",
        (layout.user_template, layout.user_prompt),
        lambda: load_notes_prompts(DiskFiles(), layout),
    )
    yield _check_texts(
        "Magic Docs",
        "prompt",
        (layout.user_docs_prompt,),
        lambda: load_magic_doc_prompts(DiskFiles(), layout),
    )


def _check_texts(
    use: str, kinds: str, paths: tuple[Path, ...], read: Callable[[], object]
) -> CheckResult:
    try:
        read()
    except MemoristError as error:
        return CheckResult(
            "wrong",
            str(error),
            "Correct the file or remove it; without it the built-in text is used.",
        )
    own = [path.name for path in paths if path.exists()]
    return CheckResult(
        "good",
        f"your own {' and '.join(own)} for {use} can be used"
        if own
        else f"of {use} the built-in {kinds} {'are' if len(paths) > 1 else 'is'} used",
    )
