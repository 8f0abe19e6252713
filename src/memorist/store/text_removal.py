"""Remove every copy of some texts below a home folder, for what is forgotten for good.

What is derived and holds one is deleted, to be rebuilt; in all other files a mark comes in its
place. A file of a session that is open in another process is left alone and named.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from memorist.errors import StoreError
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout, SessionLayout
from memorist.store.transcript_writer import TranscriptWriter

FORGOTTEN_MARK = b"[forgotten]"
MIN_TEXT_CHARS = 12
"""Characters of the shortest text that is replaced where it stands: a shorter one is in many
files for other reasons.
"""
_JSON_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_TEXT_SUFFIXES = frozenset({".json", ".jsonl", ".md", ".txt", ".log", ".torn", ".html"})


class TextRemovalResult(Struct, frozen=True, kw_only=True):
    """What became of the copies."""

    cleaned: tuple[Path, ...] = ()
    """Files with a mark in the text's place."""
    deleted: tuple[Path, ...] = ()
    """Derived and temporary files."""
    remaining: tuple[Path, ...] = ()
    """Files that still hold a text: open sessions, databases, and short texts."""


def remove_text_copies(
    layout: Layout, texts: Iterable[str], *, among: Callable[[Path], bool] = lambda _: True
) -> TextRemovalResult:
    """Remove every copy of these texts from the files below the home folder that `among` takes.
    Unreadable files are passed over. What was JSON stays JSON.
    """
    given = {text.strip() for text in texts} - {""}
    every = _encode_forms(given)
    wanted = _encode_long_forms(given)
    cleaned: list[Path] = []
    deleted: list[Path] = []
    remaining: list[Path] = []
    for path, data in _find_copies(filter(among, layout.home.rglob("*")), every):
        if path in deleted:
            continue
        if derived := _list_derived(path, layout):
            for each in derived:
                each.unlink(missing_ok=True)
            deleted += derived
        elif any(form in data for form in wanted) and _replace(path, wanted):
            cleaned.append(path)
        else:
            remaining.append(path)
    return TextRemovalResult(
        cleaned=tuple(cleaned), deleted=tuple(deleted), remaining=tuple(remaining)
    )


def mask_long_texts_in_bytes(data: bytes, texts: Iterable[str]) -> bytes:
    """The bytes with a mark in the place of each text that is long enough."""
    return _mark_forms(data, _encode_long_forms(texts))


def _encode_long_forms(texts: Iterable[str]) -> list[bytes]:
    return _encode_forms({text for text in map(str.strip, texts) if len(text) >= MIN_TEXT_CHARS})


def replace_texts_in_json_with_mark(data: bytes, forms: Sequence[bytes]) -> bytes:
    """The same for JSON, or lines of it, by the strings as they are decoded: where a text begins
    with the `n` of some other's line break, its bytes are half an escape. A line that is no JSON,
    such as a torn one, is masked as it stands.
    """
    if not _is_json(data):
        lines = data.splitlines(keepends=True)
        if len(lines) < 2:
            return _mark_forms(data, forms)
        return b"".join(replace_texts_in_json_with_mark(line, forms) for line in lines)
    return _JSON_STRING.sub(lambda found: _mask_json_string(found[0], forms), data)


def _mask_json_string(literal: bytes, forms: Sequence[bytes]) -> bytes:
    """A form in quotes is a whole string."""
    if literal in forms:
        return json.dumps(FORGOTTEN_MARK.decode()).encode()
    value = json.loads(literal).encode("utf-8", "surrogatepass")
    nested = value[:1] in (b"{", b"[") and _is_json(value)
    masked = replace_texts_in_json_with_mark(value, forms) if nested else _mark_forms(value, forms)
    if masked == value:
        return literal
    return json.dumps(masked.decode("utf-8", "surrogatepass")).encode()


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return False
    return True


def _mark_forms(data: bytes, forms: Iterable[bytes]) -> bytes:
    for form in forms:
        data = data.replace(form, FORGOTTEN_MARK)
    return data


def _encode_forms(texts: Iterable[str]) -> list[bytes]:
    """The bytes by which texts are in files, the longest first: plain, as JSON strings, and as
    JSON strings within one.
    """
    forms: set[bytes] = set()
    for text in texts:
        forms.add(text.encode("utf-8", "surrogateescape"))
        for escaped in (True, False):
            once = json.dumps(text, ensure_ascii=escaped)[1:-1]
            twice = json.dumps(once, ensure_ascii=escaped)[1:-1]
            forms |= {each.encode("utf-8", "replace") for each in (once, twice)}
    return sorted(forms, key=lambda form: (-len(form), form))


def _find_copies(files: Iterable[Path], forms: list[bytes]) -> Iterator[tuple[Path, bytes]]:
    for path in sorted(each for each in files if each.is_file()):
        with contextlib.suppress(OSError):
            data = path.read_bytes()
            if any(form in data for form in forms):
                yield path, data


def _list_derived(path: Path, layout: Layout) -> list[Path]:
    """The derived files that go where this one holds a text, itself among them; none where it is
    not derived.
    """
    index = layout.list_session_index_files()
    if path in index:
        return index
    return [path] if path.name == "shown.json" or path.match(".memorist-*.tmp") else []


def _replace(path: Path, forms: Sequence[bytes]) -> bool:
    """Put a mark in the place of the texts; False where the file is in use or no text file."""
    if path.suffix not in _TEXT_SUFFIXES:
        return False
    with contextlib.suppress(StoreError, OSError), contextlib.ExitStack() as locks:
        transcript = SessionLayout(path.parent).transcript
        if transcript.exists():
            locks.callback(TranscriptWriter(transcript).close)
        mask = (
            replace_texts_in_json_with_mark if path.suffix in (".json", ".jsonl") else _mark_forms
        )
        DiskFiles().write(path, mask(path.read_bytes(), forms))
        return True
    return False
