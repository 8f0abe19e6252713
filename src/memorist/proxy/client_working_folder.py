"""The working folder in a client's environment text; it decides whose project's memories are shown.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memorist.core.messages import JsonObject
from memorist.engine.host_history import is_instructions

MAX_SEARCHED_ENTRIES = 8
"""Entries of the history that are searched; both clients name the folder in the first few.

Our choice.
"""

_MAX_TEXT = 200_000
"""Characters of one text that are searched."""
_CODEX_FOLDER = re.compile(
    r"<environment_context>.{0,400}?<cwd>\s*([^<\n]{1,1000}?)\s*</cwd>", re.DOTALL
)
_FOLDER_WORDS = r"(?:primary )?working directory:[ \t]*([^\n<]{1,1000})"
_ENVIRONMENT_FOLDER = re.compile(
    rf"<env>.{{0,400}}?{_FOLDER_WORDS}|^# environment\b.{{0,600}}?{_FOLDER_WORDS}",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_SYSTEM_FOLDER = re.compile(rf"^[ \t>*-]*{_FOLDER_WORDS}", re.IGNORECASE | re.MULTILINE)
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]")


def find_working_folder(format: str, request: JsonObject) -> str:
    """The working folder named in a request; empty if none is."""
    history = request.get("input" if format == "openai_responses" else "messages")
    entries = history[:MAX_SEARCHED_ENTRIES] if isinstance(history, list) else []
    system = [*_iterate_texts(request.get("system")), *_iterate_texts(request.get("instructions"))]
    system += [
        text
        for entry in entries
        if is_instructions(entry)
        for text in _iterate_texts(entry.get("content"))
    ]
    said = [
        text
        for entry in entries
        if isinstance(entry, dict) and not is_instructions(entry)
        for text in _iterate_texts(entry.get("content"))
        if _is_environment_text(text)
    ]
    for text in (*said, *system):
        found = _CODEX_FOLDER.search(text) or (
            _ENVIRONMENT_FOLDER.search(text) if "irectory:" in text else None
        )
        if found and (folder := _absolute_folder(found.groups())):
            return folder
    return next(
        (
            folder
            for text in system
            if (found := _SYSTEM_FOLDER.search(text))
            and (folder := _absolute_folder(found.groups()))
        ),
        "",
    )


def _absolute_folder(groups: tuple[str | None, ...]) -> str:
    named = next((group for group in groups if group), "").strip().strip("`\"'").rstrip("/") or ""
    return named if _ABSOLUTE.match(named) and "\0" not in named else ""


def _is_environment_text(text: str) -> bool:
    return (
        text.lstrip()[:40].lower().startswith(("<environment_context", "<system-reminder", "<env>"))
    )


def _iterate_texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content[:_MAX_TEXT]
    for block in content if isinstance(content, list) else ():
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str):
            yield text[:_MAX_TEXT]
