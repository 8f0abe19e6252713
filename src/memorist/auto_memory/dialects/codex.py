"""Codex: a folder with a summary, a handbook, raw memories, session summaries, and ad-hoc notes
(codex.md section 1.4).

Pure. Codex regenerates its own files at each consolidation, so memories are written the intended
way: one note each in `extensions/ad_hoc/notes/`, which the next consolidation merges (codex.md
section 1.9).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memorist.auto_memory.dialects.codex_handbook import GROUP, VERSION, handbook, summary
from memorist.auto_memory.dialects.values import Dialect, Left, Lost, Read, Wrote, entry, free_path, in_use, losses, lost, outdated, text_of
from memorist.auto_memory.kinds import Kind
from memorist.auto_memory.topic import Topic, encode, file_name

SUMMARY = "memory_summary.md"
HANDBOOK = "MEMORY.md"
RAW = "raw_memories.md"
NOTES = "extensions/ad_hoc/notes/"
_HOLDS = frozenset({"name", "lines", "links"})
_SLUG = 80
"""Characters of the readable part of a note's name (codex.md section 1.10)."""
_TIMED = re.compile(r"(?P<date>\d{4}-\d{2}-\d{2})T(?P<time>\d{2}-\d{2}-\d{2})-")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
_NO_TIME = "1970-01-01T00-00-00"
_THREAD = re.compile(r"^## Thread `(?P<thread>[^`\n]+)`\n(?P<facts>(?:[a-z_]+:[^\n]*\n)*)", re.MULTILINE)
_FOLDERS = {
    "rollout_summaries/": "summaries of sessions: evidence, and no memory",
    "skills/": "skills",
    "extensions/": "material for Codex's own consolidation",
}


def recognise(files: Mapping[str, bytes]) -> bool:
    """Whether there is a versioned summary, a handbook with task groups, raw memories, session
    summaries, or notes.
    """
    return (
        text_of(files.get(SUMMARY, b"")).partition("\n")[0].strip() == VERSION
        or re.search(rf"^# {GROUP}", text_of(files.get(HANDBOOK, b"")), re.MULTILINE) is not None
        or any(path == RAW or path.startswith((NOTES, "rollout_summaries/")) for path in files)
    )


def read(files: Mapping[str, bytes]) -> Read:
    """Read preferences, knowledge, profile and notes; raw memories only where there is no handbook.
    """
    taken: dict[str, int] = {}
    topics: list[Topic] = []
    left: list[Left] = []
    folders: dict[str, tuple[str, ...]] = {}
    counts: dict[str, int] = {}
    for path, data in sorted(files.items()):
        text = text_of(data)
        if path in (HANDBOOK, SUMMARY):
            found = handbook(path, text, taken) if path == HANDBOOK else summary(path, text, taken)
            topics += found.topics
            left += found.left
            folders |= found.folders
        elif path.startswith(NOTES) and path.endswith(".md"):
            topics += _note(path, text, taken)
        elif path == RAW and HANDBOOK not in files:
            topics += _raw(text, taken, folders)
        elif path == RAW:
            left.append(Left(path, "what the handbook is made of; the handbook is read"))
        else:
            place = next((each for each in _FOLDERS if path.startswith(each)), path)
            counts[place] = counts.get(place, 0) + 1
    left += [Left(place, f"{_FOLDERS.get(place, 'no file of the layout')} ({count} files)") for place, count in counts.items()]
    return Read(topics=tuple(topics), left=tuple(left), folders=folders)


def _note(path: str, text: str, taken: dict[str, int]) -> list[Topic]:
    """Read a note, named by its heading or by its file."""
    stem = path.removeprefix(NOTES).removesuffix(".md")
    timed = _TIMED.match(stem)
    made = f"{timed['date']}T{timed['time'].replace('-', ':')}Z" if timed and not stem.startswith(_NO_TIME) else ""
    name = stem[timed.end() :] if timed else stem
    first, _, rest = text.strip().partition("\n")
    if first.startswith("# ") and rest.strip():
        name, text = first[2:].strip(), rest
    return [entry(text, None, taken, name=name, made=made)] if text.strip() else []


def _raw(text: str, taken: dict[str, int], folders: dict[str, tuple[str, ...]]) -> list[Topic]:
    """Read one memory per session from the raw memories."""
    found = list(_THREAD.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    topics = []
    for match, end in zip(found, ends, strict=False):
        body = text[match.end() : end].strip()
        if not body:
            continue
        topic = entry(body, Kind.PROJECT, taken, name=f"session {match['thread']}")
        topics.append(topic)
        folder = re.search(r"^cwd:\s*(\S.*)$", match["facts"], re.MULTILINE)
        if folder:
            folders[topic.path] = (folder[1].strip(),)
    return topics


def write(topics: Sequence[Topic], present: Mapping[str, bytes]) -> Wrote:
    """Write one note for each memory that no note contains yet."""
    active, missing = outdated(topics)
    known = {_text(data) for path, data in present.items() if path.startswith(NOTES)}
    taken = in_use(present)
    files: dict[str, bytes] = {}
    told: list[Lost] = [*missing]
    for topic in active:
        told += lost(topic, losses(topic, _HOLDS))
        data = encode(f"# {' '.join(topic.name.split())}\n\n{topic.body.strip()}\n")
        if _text(data) not in known:
            known.add(_text(data))
            files[_file(topic, taken)] = data
    return Wrote(files=files, lost=tuple(told))


def _text(data: bytes) -> str:
    return text_of(data).strip()


def _file(topic: Topic, taken: dict[str, int]) -> str:
    """Make a file name in Codex's form: time, then lower-case letters, digits and dashes."""
    created = topic.provenance.created
    time = created.removesuffix("Z").replace(":", "-") if _MOMENT.fullmatch(created) else _NO_TIME
    plain = file_name(topic.name).removesuffix(".md").encode("ascii", "ignore").decode()
    slug = "-".join(filter(None, plain.split("-")))[:_SLUG].strip("-") or "memory"
    return free_path(f"{NOTES}{time}-{slug}.md", taken)


CODEX = Dialect(name="codex", title="Codex", holds=_HOLDS, looks_at=(NOTES,), file="", recognise=recognise, read=read, write=write)
