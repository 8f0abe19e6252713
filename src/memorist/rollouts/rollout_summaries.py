"""Stage one's results as files for users, agents and stage two: one summary per session, and all
raw memories in one file (RO-6). Pure.

Names and headers: Codex. Everything can be parsed back, so that a lost database can
be rebuilt from the folder.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from memorist.core.json_decoding import decode_json
from memorist.core.text_encoding import replace_surrogates
from memorist.core.utc_time import convert_epoch_to_utc_datetime
from memorist.store.extract_rows import RolloutExtract, StoredExtract

RAW_MEMORIES_FILE = "raw_memories.md"
SUMMARIES_FOLDER = "rollout_summaries/"
MAX_STEM_SLUG_CHARACTERS = 60
"""Characters of the readable part of a name (Codex)."""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_HASH_LENGTH = 4
_TITLE = "# Raw memories"
_EMPTY_TEXT = "None yet."
_INTRO = "What was taken from each session, in ascending order of its id."
_PLAIN = re.compile(r"[^\s\"][^\n\r\x00-\x1f\x7f]*")
_THREAD = re.compile(r"^## Thread `([^`\n]+)`$")
_MARKED = re.compile(r"^(\\*)(?=## Thread `)", re.MULTILINE)
_UNMARKED = re.compile(r"^\\(?=\\*## Thread `)", re.MULTILINE)
_FIELD = re.compile(r"([a-z_]+):[ ]?(.*)")
_STEM = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-[0-9A-Za-z]{4}(?:-([a-z0-9_]+))?")


def format_clamped_utc_timestamp(seconds: int) -> str:
    """Format a time in seconds since the epoch as RFC 3339 UTC; a time outside the calendar becomes
    the calendar's end.
    """
    return convert_epoch_to_utc_datetime(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_utc_timestamp(text: str) -> int:
    """Parse such a time; 0 for any other text."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return 0
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())


def make_summary_file_stem(extracted: RolloutExtract) -> str:
    """Return the name of a session's summary without `.md`: its start, four characters of its id,
    and a slug.

    The time is that of a version 7 UUID if the id is one, otherwise that of the session's newest
    message.
    """
    known = _parse_uuid(extracted.thread)
    # The first 48 bits of a version 7 UUID are milliseconds since the epoch.
    seconds = (
        (known.int >> 80) // 1000 if known is not None and known.version == 7 else extracted.updated
    )
    slug = re.sub(r"[^a-z0-9]", "_", extracted.slug.lower())[:MAX_STEM_SLUG_CHARACTERS].rstrip("_")
    return "-".join(
        filter(
            None,
            (
                convert_epoch_to_utc_datetime(seconds).strftime("%Y-%m-%dT%H-%M-%S"),
                compute_short_rollout_digest(extracted.thread),
                slug,
            ),
        )
    )


def _parse_uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def compute_short_rollout_digest(thread: str) -> str:
    """Return four characters for a session: the low 32 bits of a UUID, or of a rolling hash of
    other ids, in base 62.
    """
    known = _parse_uuid(thread)
    number = 0 if known is None else known.int & 0xFFFFFFFF
    for byte in () if known is not None else thread.encode("utf-8", "surrogatepass"):
        number = (number * 31 + byte) & 0xFFFFFFFF
    number %= len(_DIGITS) ** _HASH_LENGTH
    signs = ""
    for _ in range(_HASH_LENGTH):
        number, digit = divmod(number, len(_DIGITS))
        signs = _DIGITS[digit] + signs
    return signs


def map_summary_paths(rows: Iterable[RolloutExtract]) -> dict[str, str]:
    """Return the path of each session's summary by session id.

    Names that a file system could confuse are numbered.
    """
    used_paths: set[str] = set()
    found = {}
    for row in sorted(rows, key=lambda row: row.thread):
        name, number = make_summary_file_stem(row), 1
        wanted = name
        while wanted.casefold() in used_paths:
            number += 1
            wanted = f"{name}-{number}"
        used_paths.add(wanted.casefold())
        found[row.thread] = f"{SUMMARIES_FOLDER}{wanted}.md"
    return found


def build_extract_files(rows: Sequence[RolloutExtract], *, raw: bool = True) -> dict[str, bytes]:
    """Build the files of these sessions by path; the lean form has no `raw_memories.md`."""
    named = map_summary_paths(rows)
    ordered = sorted((row for row in rows if not row.is_empty), key=lambda row: row.thread)
    files = {named[row.thread]: _encode(render_summary_file(row)) for row in ordered}
    if raw:
        files[RAW_MEMORIES_FILE] = _encode(render_raw_memories(ordered, named))
    return files


def render_summary_file(row: RolloutExtract) -> str:
    """Render a session's summary with its header."""
    head = {
        "thread_id": row.thread,
        "updated_at": format_clamped_utc_timestamp(row.updated),
        "rollout_path": row.path,
        "cwd": row.cwd,
        "repository": row.repository,
        "git_branch": row.branch,
        "outside_content": "yes" if row.outside else "",
        "written_by": row.way,
        "generated_at": format_clamped_utc_timestamp(row.generated),
    }
    optional = {"repository", "git_branch", "outside_content"}
    lines = [
        f"{name}: {_format_value(value)}"
        for name, value in head.items()
        if value or name not in optional
    ]
    return "\n".join([*lines, "", row.rollout_summary.strip()]) + "\n"


def render_raw_memories(
    rows: Sequence[RolloutExtract], summary_paths_by_thread: Mapping[str, str]
) -> str:
    """Render all raw memories. Ordered by id on purpose: a change of rank does not change
    the file.
    """
    parts = [_TITLE, ""]
    kept_rows = [row for row in sorted(rows, key=lambda row: row.thread) if row.raw_memory.strip()]
    parts.append(_INTRO if kept_rows else _EMPTY_TEXT)
    for row in kept_rows:
        facts = {
            "updated_at": format_clamped_utc_timestamp(row.updated),
            "cwd": row.cwd,
            "rollout_path": row.path,
            "rollout_summary_file": summary_paths_by_thread.get(row.thread, "").removeprefix(
                SUMMARIES_FOLDER
            ),
        }
        parts += [
            "",
            f"## Thread `{_quote_id(row.thread)}`",
            *(f"{name}: {_format_value(value)}" for name, value in facts.items()),
            "",
        ]
        parts.append(_MARKED.sub(r"\1\\", row.raw_memory.strip()))
    return "\n".join(parts) + "\n"


def parse_summary_file(path: str, data: bytes) -> RolloutExtract | None:
    """Parse a session from its summary file, without its raw memory; None if the header names no
    session.
    """
    head, _, body = _decode(data).partition("\n\n")
    facts = _header_fields(head.split("\n"))
    thread = facts.get("thread_id", "")
    if not thread:
        return None
    named = _STEM.match(path.removeprefix(SUMMARIES_FOLDER).removesuffix(".md"))
    return RolloutExtract(
        thread=thread,
        updated=parse_utc_timestamp(facts.get("updated_at", "")),
        rollout_summary=body.strip(),
        slug=(named[1] or "") if named else "",
        way="model" if facts.get("written_by") == "model" else "structural",
        generated=parse_utc_timestamp(facts.get("generated_at", ""))
        or parse_utc_timestamp(facts.get("updated_at", "")),
        path=facts.get("rollout_path", ""),
        cwd=facts.get("cwd", ""),
        repository=facts.get("repository", ""),
        branch=facts.get("git_branch", ""),
        outside=facts.get("outside_content") == "yes",
    )


def parse_raw_memories_file(data: bytes) -> dict[str, RolloutExtract]:
    """Parse the raw memories of `raw_memories.md`, by session."""
    found: dict[str, RolloutExtract] = {}
    thread, lines = "", []
    for line in [*_decode(data).split("\n"), "## Thread `end`"]:
        match = _THREAD.match(line)
        if match is None:
            lines.append(line)
            continue
        if thread:
            head, _, body = "\n".join(lines).partition("\n\n")
            facts = _header_fields(head.split("\n"))
            updated = parse_utc_timestamp(facts.get("updated_at", ""))
            body = _UNMARKED.sub("", body.strip())
            path, cwd = facts.get("rollout_path", ""), facts.get("cwd", "")
            found[thread] = RolloutExtract(
                thread=thread,
                updated=updated,
                raw_memory=body,
                generated=updated,
                path=path,
                cwd=cwd,
            )
        thread, lines = _parse_value(match[1]), []
    return found


def parse_extract_files(files: Mapping[str, bytes]) -> tuple[RolloutExtract, ...]:
    """Parse stage one's results as far as the files hold them, in ascending order of
    session ids.
    """
    raw = parse_raw_memories_file(files.get(RAW_MEMORIES_FILE, b""))
    summaries = (
        parse_summary_file(path, data)
        for path, data in sorted(files.items())
        if path.startswith(SUMMARIES_FOLDER) and path.endswith(".md")
    )
    found = dict(raw)
    for row in summaries:
        if row is not None:
            existing = raw.get(row.thread)
            found[row.thread] = replace(
                row,
                raw_memory=existing.raw_memory
                if existing is not None and existing.updated == row.updated
                else "",
            )
    return tuple(found[thread] for thread in sorted(found))


def _header_fields(lines: Iterable[str]) -> dict[str, str]:
    matches = (_FIELD.fullmatch(line) for line in lines)
    return {match[1]: _parse_value(match[2]) for match in matches if match}


def _format_value(text: str) -> str:
    """Format a value as one line that parses back equal: plain, or as a JSON string."""
    plain = replace_surrogates(text)
    if not plain or (_PLAIN.fullmatch(plain) and plain == plain.strip()):
        return plain
    return msgspec.json.encode(plain).decode()


def _parse_value(text: str) -> str:
    if not text.startswith('"'):
        return text.strip()
    try:
        return decode_json(text, as_type=str)
    except msgspec.DecodeError:
        return text


def _quote_id(text: str) -> str:
    """Quote an id so that it cannot end its backticks."""
    plain = replace_surrogates(text)
    if "`" not in plain and _format_value(plain) == plain:
        return plain
    return msgspec.json.encode(plain).decode().replace("`", "\\u0060")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


# Restore stage one's extracts from stage two's files after the database was lost.


def select_recoverable_extracts(found: Iterable[RolloutExtract]) -> tuple[StoredExtract, ...]:
    """Return the extracts that files hold as database rows: the newest of each session, in order
    of thread ids, and none without either text.
    """
    newest: dict[str, RolloutExtract] = {}
    for each in found:
        if (
            each.thread
            and not each.is_empty
            and (each.thread not in newest or newest[each.thread].updated < each.updated)
        ):
            newest[each.thread] = each
    return tuple(
        StoredExtract(extracted=newest[thread], selected=True) for thread in sorted(newest)
    )
