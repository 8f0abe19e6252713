"""Check the package, its extras, the settings and the feature flags."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

from memorist.cli.checks.finding import Finding, Place
from memorist.cli.flagged import look
from memorist.errors import MemoristError
from memorist.flags.values import in_force, remarks

EXTRAS = {"anthropic": "anthropic", "openai": "openai", "local": "xllamacpp", "flags": "openfeature", "mcp": "mcp", "otel": "opentelemetry"}
"""Each extra with a module that it installs."""


def check_settings(place: Place) -> Iterator[Finding]:
    """Report ignored settings; unreadable ones were reported before any check ran."""
    yield Finding("good", f"Python {sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}")
    yield Finding("good", "the settings are readable")
    for line in place.resolved.ignored:
        yield Finding("note", f"ignored: {line}", "Put it in the config.toml of your home folder if you want it.")


def check_extras(place: Place) -> Iterator[Finding]:
    """Report extras that are not installed."""
    del place
    for extra, module in EXTRAS.items():
        if importlib.util.find_spec(module) is None:
            yield Finding("note", f"the extra {extra!r} is not installed", f"Only if you want it: pip install 'memorist[{extra}]'")


def check_flags(place: Place) -> Iterator[Finding]:
    """Check the flags file, if there is one, and report entries that are no flag."""
    file = place.settings.flags.file
    try:
        looked = look(place.settings)
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
