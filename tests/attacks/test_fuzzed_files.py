"""Damaged and hostile bytes for each reader of files and requests: within bounds of time and memory
it reads what it can, or refuses with an error of memorist's own.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from memorist.auto_memory.memory_file import parse_memory_file
from memorist.auto_memory.memory_index import list_pointer_targets
from memorist.auto_memory.memory_manifest import parse_memory_header
from memorist.auto_memory.visible_memory import find_memory_suspicions
from memorist.cli.main import memorist_group
from memorist.config import load_settings
from memorist.core.text_encoding import decode_file_text_losslessly, encode_file_text_as_utf8
from memorist.errors import MemoristError
from memorist.formats.format_detection import SESSION_READERS, detect_format
from memorist.formats.transcript_format import RawTranscriptLine
from memorist.mcp_server.tool_arguments import parse_mcp_tool_arguments
from memorist.skills.skill_file import parse_skill
from memorist.team.shared_memory_form import to_shared_text
from memorist.team.team_protocol import TeamChangesRequest, TeamListing
from support.sweeps import examples

MAX_BYTES = 60_000
MAX_SECONDS = 3.0
"""Processor time for one file of that size, on a busy machine."""
MAX_GROWTH = 200_000_000
"""Bytes by which a reader may let the process grow."""

SAMPLES = Path(__file__).parents[2] / "examples" / "sessions"
MEMORY = (
    b"---\nname: pnpm\ndescription: Use pnpm\ntype: feedback\nmemorist:\n  quote: use pnpm\n"
    b"  trust: stated\n  messages:\n  - 9a63b0d2\n---\n\nUse pnpm, never npm.\n"
)
PIECES = st.sampled_from(
    [
        b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b"\n", b"\n\n---\n", b'"', b"'", b"\\", b"\\ud800", b"\\u0000", b"{", b"}", b"[", b"]",
        b"[" * 5_000, b'{"a":' * 2_000, b"- " * 2_000, b"&a [x]\n", b"a: &a [*a, *a]\n", b"<<: *a\n", b"!!python/object:os.system x", b"1e999", b"-" * 3_000, b"NaN",
        b"9" * 5_000, b": ", b"#", b"\t", b"\xe2\x80\xa8", b"\xe2\x80\xae", b"```\n", b"<system-reminder>", b"</memory>", b"null", b"true", b'""', b"= [[", b"\x1b[2J",
    ]
)  # fmt: skip
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "delete", "repeat", "replace", "flip"]),
        st.floats(0, 1),
        st.integers(1, 400),
        PIECES,
    ),
    min_size=1,
    max_size=6,
)


def damage(data: bytes, edits: list[tuple[str, float, int, bytes]]) -> bytes:
    """The bytes after some edits, each at a share of their length."""
    for kind, share, length, piece in edits:
        at = int(share * len(data))
        end = min(len(data), at + length)
        if kind == "flip":
            changed = bytes(each ^ 0x20 for each in data[at:end])
        else:
            changed = {"insert": piece + data[at:end], "delete": b"", "replace": piece}.get(
                kind, data[at:end] * 20
            )
        data = data[:at] + changed + data[end:]
    return data[:MAX_BYTES]


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Fail what takes too much time or memory."""
    unit = 1 if sys.platform == "darwin" else 1024
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit
    assert time.process_time() - began < MAX_SECONDS
    assert grown < MAX_GROWTH


def read_memory(data: bytes) -> None:
    topic = parse_memory_file("a.md", data)
    assert encode_file_text_as_utf8(topic.text()) == encode_file_text_as_utf8(
        decode_file_text_losslessly(data)
    )
    header = parse_memory_header("a.md", data[:4_000], lines=30, modified=0.0, size=len(data))
    assert all(isinstance(each, str) for each in (topic.name, header.name, topic.description))
    assert topic.provenance is not None
    find_memory_suspicions(topic)
    with contextlib.suppress(UnicodeDecodeError):
        to_shared_text(data)


def read_transcript(data: bytes) -> None:
    lines = [RawTranscriptLine(at, line) for at, line in enumerate(data.split(b"\n"), 1)]
    with contextlib.suppress(MemoristError):
        detect_format(lines)
    for read in SESSION_READERS.values():
        with contextlib.suppress(MemoristError):
            for _ in read(lines):
                pass


def read_mcp_request(data: bytes) -> None:
    for line in data.split(b"\n"):
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(request, dict):
            parse_mcp_tool_arguments(str(request.get("name")), request)


def read_team_answer(data: bytes) -> None:
    for kind in (TeamListing, TeamChangesRequest):
        with contextlib.suppress(msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            msgspec.json.decode(data, type=kind)


def read_settings(data: bytes) -> None:
    home = Path(os.environ["MEMORIST_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_bytes(data)
    try:
        load_settings({}, home=home)
    finally:
        (home / "config.toml").unlink()


LISTING = msgspec.json.encode(
    {"id": "x", "version": 3, "entries": {"a.md": {"hash": "sha256:" + "0" * 64, "bytes": 9}}}
)
SKILL = (
    b"---\nname: release\ndescription: Cut a release\nallowed-tools: Bash, Read\n---\n\n1. Tag.\n"
)
SETTINGS = b'[recall]\nlimit = 3\n[auto_memory]\npolicy = "review"\n[hooks]\noff_folders = ["x"]\n'
READERS: dict[str, tuple[list[bytes], Callable[[bytes], object]]] = {
    "memory": ([MEMORY], read_memory),
    "index": (
        [b"# Memory\n\n- [pnpm](pnpm.md) - Use pnpm\n- [b](b.md)\n"],
        lambda data: list_pointer_targets(decode_file_text_losslessly(data)),
    ),
    "skill": (
        [SKILL],
        lambda data: parse_skill(decode_file_text_losslessly(data), "release/SKILL.md", "project"),
    ),
    "settings": ([SETTINGS], read_settings),
    "transcript": (
        [path.read_bytes()[:8_000] for path in sorted(SAMPLES.glob("*.jsonl"))],
        read_transcript,
    ),
    "team": ([LISTING], read_team_answer),
    "mcp": (
        [b'{"name": "memory_write", "text": "x", "kind": "project"}\n{"name": "memory_search"}'],
        read_mcp_request,
    ),
}
HEALTHY = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


@pytest.mark.covers("SF-4")
@pytest.mark.parametrize("name", READERS)
@examples(8, whole=400, suppress_health_check=HEALTHY)
@given(at=st.integers(0, 9), edits=EDITS)
def test_any_bytes_are_read_or_refused_in_words(
    name: str, at: int, edits: list[tuple[str, float, int, bytes]]
) -> None:
    """Each reader by itself: what it raises is an error of memorist's own, soon and within bounds;
    a memory's text keeps every byte.
    """
    seeds, read = READERS[name]
    data = damage(seeds[at % len(seeds)], edits)
    with bounded(), contextlib.suppress(MemoristError):
        read(data)


COMMANDS = (
    ["memory", "list"],
    ["memory", "log"],
    ["memory", "inbox"],
    ["recall", "how do we install with pnpm?"],
    ["status"],
    ["sessions"],
    ["skills", "list"],
    ["context", ".", "--json"],
)


@pytest.fixture(scope="module")
def began(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a memory, its history, one that waits, a skill and a recorded session."""
    home = tmp_path_factory.mktemp("began") / "home"
    project = home.parent / "shop"
    (project / ".git").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MEMORIST_HOME", str(home))
        patched.chdir(project)
        for words in (
            ["memory", "add", "Use pnpm, never npm"],
            ["memory", "add", "Deploy on Mondays"],
            ["memory", "add", "Deploy on Fridays"],
            ["memory", "undo", "--yes"],
            ["replay", str(min(SAMPLES.glob("*.jsonl")))],
        ):
            assert CliRunner().invoke(memorist_group, words).exit_code in (0, 2), words
    skill = project / ".memorist" / "skills" / "release"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_bytes(SKILL)
    (home / "config.toml").write_bytes(b"[recall]\nlimit = 3\n")
    return home.parent


@pytest.mark.covers("SF-4", "SF-5")
@examples(8, whole=100, suppress_health_check=HEALTHY)
@given(at=st.integers(0, 10_000), edits=EDITS)
def test_a_damaged_file_of_the_home_ends_no_command_in_a_traceback(
    began: Path, tmp_path: Path, at: int, edits: list[tuple[str, float, int, bytes]]
) -> None:
    """Whichever file is damaged, each command does its work or says in words what is wrong; the
    memories that were not damaged are there afterwards.
    """
    place = tmp_path / "copy"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(began, place)
    files = sorted(path for path in place.rglob("*") if path.is_file())
    chosen = files[at % len(files)]
    chosen.chmod(0o600)
    chosen.write_bytes(damage(chosen.read_bytes(), edits))
    (kept,) = place.glob("home/projects/*/memory")
    whole = {
        path.name: path.read_bytes()
        for path in kept.glob("*.md")
        if path != chosen and path.name != "MEMORY.md"
    }

    with pytest.MonkeyPatch.context() as patched, bounded():
        patched.setenv("MEMORIST_HOME", str(place / "home"))
        patched.chdir(place / "shop")
        for words in COMMANDS:
            found = CliRunner().invoke(memorist_group, words)
            assert isinstance(found.exception, SystemExit | MemoristError | None), (
                chosen.relative_to(place),
                words,
                traceback.format_exception(found.exception)[-6:],
            )

    assert {name: (kept / name).read_bytes() for name in whole} == whole
