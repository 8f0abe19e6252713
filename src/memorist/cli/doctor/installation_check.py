"""Check the package, its extras, the settings and the feature flags."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from memorist.cli.config_command import read_flag_values
from memorist.cli.doctor.check_result import CheckResult, DoctorContext
from memorist.core.plural import pluralize
from memorist.errors import MemoristError
from memorist.flags.flag_overrides import find_flag_problems, list_names_of_overriding_flags
from memorist.magic_docs.document_files import load_magic_doc_prompts
from memorist.models.embedder import is_embedder_installed
from memorist.models.multilingual_embedder import is_multilingual_embedder_installed
from memorist.platforms.extra_installation import build_extra_install_command
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
    """Say that recall lacks a model, and name the other extras that are not installed."""
    remedy = f"To find what other words say: {build_extra_install_command('embed')}"
    if not context.settings.recall.embeddings:
        pass
    elif not is_embedder_installed():
        said = "recall goes by words alone: the extra `embed` (225 MB) is not installed"
        yield CheckResult("note", said, remedy)
    elif not is_multilingual_embedder_installed():  # an upgrade without the extra brings none
        said = "recall in languages other than English goes by words alone: its model is missing"
        yield CheckResult("note", said, remedy)
    missing = [
        extra for extra, module in EXTRAS.items() if importlib.util.find_spec(module) is None
    ]
    if missing:
        yield CheckResult(
            "note",
            f"not installed: the extras {', '.join(missing)}",
            f"Only if you want one: {build_extra_install_command(missing[0])}",
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
        count = len(list_names_of_overriding_flags(looked.values))
        yield CheckResult(
            "good", f"the flags file {file} is readable and sets {pluralize(count, 'flag')}"
        )
    for remark in find_flag_problems(looked.values):
        yield CheckResult(
            "note",
            f"a flag is ignored: {remark}",
            f"Correct it in {file}; `memorist config show` lists the names.",
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
