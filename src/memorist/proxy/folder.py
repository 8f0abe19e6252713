"""Find the working folder in a client's environment text; it decides whose project memories are
shown. Pure.

Only text that a harness wrote counts: the system prompt, `<environment_context>` (Codex), `<env>`
and a reminder about the environment (Claude Code and compatible clients). Where no folder is named
there is no project, and no memory is shown: better none than another project's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memorist.core.messages import JsonObject

FIRST = 8
"""Entries of the history that are searched; both clients name the folder in the first few.

Our choice.
"""

_LONGEST = 200_000
"""Characters of one text that are searched."""
_CODEX = re.compile(r"<environment_context>.{0,400}?<cwd>\s*([^<\n]{1,1000}?)\s*</cwd>", re.DOTALL)
_WORDS = r"(?:primary )?working directory:[ \t]*([^\n<]{1,1000})"
_ENVIRONMENT = re.compile(rf"<env>.{{0,400}}?{_WORDS}|^# environment\b.{{0,600}}?{_WORDS}", re.DOTALL | re.IGNORECASE | re.MULTILINE)
_SYSTEM = re.compile(rf"^[ \t>*-]*{_WORDS}", re.IGNORECASE | re.MULTILINE)
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]")


def folder_of(format: str, request: JsonObject) -> str:
    """The working folder named in a request; empty if none is."""
    history = request.get("input" if format == "openai_responses" else "messages")
    entries = history[:FIRST] if isinstance(history, list) else []
    system = [*_texts(request.get("system")), *_texts(request.get("instructions"))]
    system += [text for entry in entries if _instructs(entry) for text in _texts(entry.get("content"))]
    said = [
        text
        for entry in entries
        if isinstance(entry, dict) and not _instructs(entry)
        for text in _texts(entry.get("content"))
        if _put_there(text)
    ]
    for text in (*said, *system):
        found = _CODEX.search(text) or (_ENVIRONMENT.search(text) if "irectory:" in text else None)
        if found and (folder := _folder(found.groups())):
            return folder
    return next((folder for text in system if (found := _SYSTEM.search(text)) and (folder := _folder(found.groups()))), "")


def _folder(groups: tuple[str | None, ...]) -> str:
    named = next((group for group in groups if group), "").strip().strip("`\"'").rstrip("/") or ""
    return named if _ABSOLUTE.match(named) and "\0" not in named else ""


def _instructs(entry: object) -> bool:
    return isinstance(entry, dict) and entry.get("role") in ("system", "developer")


def _put_there(text: str) -> bool:
    return text.lstrip()[:40].lower().startswith(("<environment_context", "<system-reminder", "<env>"))


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content[:_LONGEST]
    for block in content if isinstance(content, list) else ():
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str):
            yield text[:_LONGEST]
