"""The tools that search and read past sessions of a project, show the notes of one, and fetch back
what was removed from it. Pure but for the index and files they ask.
"""

from __future__ import annotations

from pathlib import Path

from memorist.core.prompt_templates import load_prompt, render_template
from memorist.errors import NothingToDo
from memorist.mcp_server.project_sessions import RecordedProjectSessions
from memorist.mcp_server.result_rendering import cut_text_page, sanitize_for_model, to_safe_line
from memorist.mcp_server.tool_arguments import (
    FetchBackArguments,
    SessionReadArguments,
    SessionSearchArguments,
)
from memorist.models.embedder import get_embedder_if_wanted
from memorist.recall.search_query import build_search_query_from_text
from memorist.recall.session_index import SessionIndex
from memorist.recall.session_passages import Passage, cut_excerpt_around_words, format_day

EXCERPT_CHARS = 400
"""Characters shown of each part of a passage that was found."""
NO_INDEX = "no past session of this project is indexed yet; `memorist search` indexes them"


def search_sessions(
    path: Path, root: Path, arguments: SessionSearchArguments, *, embeds: bool
) -> str:
    """Return the passages that a query finds, by meaning too where that is wanted (`embeds`) and
    its extra is installed. Raises NothingToDo, StoreError.
    """
    index = _open_index(path, embeds=embeds)
    try:
        found = index.search(arguments.query, arguments.limit, project=str(root))
    finally:
        index.close()
    if not found:
        raise NothingToDo("nothing in the past sessions of this project has these words")
    words = build_search_query_from_text(arguments.query).words
    lines: list[str] = []
    for each in found:
        turn = each.passage
        lines.append(
            f"## {format_day(turn.at)} session {to_safe_line(each.session)} line {turn.line}"
        )
        for who, text in _parts(turn):
            lines.append(
                f"{who}: {to_safe_line(cut_excerpt_around_words(text, words, EXCERPT_CHARS), 400)}"
            )
    return _frame("\n".join(lines))


def read_session(path: Path, root: Path, arguments: SessionReadArguments) -> str:
    """Return turns of a session from a line on. Raises NothingToDo, StoreError."""
    index = _open_index(path, embeds=False)
    try:
        id, turns = index.read_passages_from(
            arguments.session, arguments.line, arguments.turns, project=str(root)
        )
    finally:
        index.close()
    if not turns:
        raise NothingToDo("no session of this project begins so, or it ends before that line")
    parts = [f"session {to_safe_line(id)}"]
    for turn in turns:
        parts.append(f"## {format_day(turn.at)} line {turn.line}")
        for who, text in _parts(turn):  # indented: no line of it passes for what another said
            parts.append("\n  ".join(f"{who}: {sanitize_for_model(text)}".splitlines()))
    return _frame("\n".join(parts))


def _open_index(path: Path, *, embeds: bool) -> SessionIndex:
    if not path.exists():
        raise NothingToDo(NO_INDEX)
    return SessionIndex(path, embedder=get_embedder_if_wanted(wanted=embeds))


def _parts(turn: Passage) -> list[tuple[str, str]]:
    named = (
        ("agent", turn.question),
        ("user", turn.said),
        ("agent", turn.answered),
        ("work", turn.work),
    )
    return [(who, text) for who, text in named if text]


def _frame(text: str) -> str:
    return render_template(load_prompt("mcp/sessions"), {"text": cut_text_page(text)}, strict=True)


def fetch_back_removed_text(
    sessions: RecordedProjectSessions, arguments: FetchBackArguments
) -> str:
    """A text that a compaction removed, from the character that is asked for. Raises InputError,
    NothingToDo, StoreError.
    """
    known, text = sessions.fetch_text(arguments.id, arguments.session)
    values = {
        "id": to_safe_line(arguments.id),
        "session": to_safe_line(known.id),
        "text": cut_text_page(sanitize_for_model(text), arguments.start),
    }
    return render_template(load_prompt("mcp/fetched"), values, strict=True).strip()


def render_session_notes(sessions: RecordedProjectSessions, session: str, start: int) -> str:
    """The notes of a session from a character on; without a name, of the newest that has some.

    Raises InputError, NothingToDo, StoreError.
    """
    known, text = sessions.find_notes(session)
    values = {
        "session": to_safe_line(known.id),
        "notes": cut_text_page(sanitize_for_model(text), start),
    }
    return render_template(load_prompt("mcp/notes"), values, strict=True).strip()
