"""Names that come from others: every form in which one could lead elsewhere is refused (TM-3)."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.team.shared_names import SharedNames, find_shared_name_problem
from team.conftest import TOKEN, Machine, MemoryRemote, note

BAD = [
    "a\0.md",
    "%2e%2e%2fescape.md",
    "%252e%252e%252fescape.md",
    "%25252525252e.md",
    "sub%2Fescape.md",
    "..%5cescape.md",
    "%00.md",
    "．．／escape.md",
    "a／b.md",
    "a＼b.md",
    "a\\b.md",
    "/etc/x.md",
    "../x.md",
    "a/../../x.md",
    "./x.md",
    "a//b.md",
    "..",
    "",
    "../team-evil/x.md",
    ".hidden/x.md",
    "x.txt",
    "MEMORY.md",
    "sub/memory.md",
    "folder.md/x.md",
    "a\u202eb.md",
    "zero\u200bwidth.md",
    "line\nbreak.md",
    "x" * 500 + ".md",
    "/".join(["deep"] * 200) + "/x.md",
    "lone\ud800.md",
    f"{TOKEN}.md",
]


@pytest.mark.covers("TM-3")
@pytest.mark.parametrize("key", BAD, ids=ascii)
def test_a_name_that_could_lead_elsewhere_is_refused(key: str) -> None:
    """Null, percent forms (nested too), Unicode forms, backslash, absolute, upwards, hidden, an
    index, what cannot be seen, a secret.
    """
    assert find_shared_name_problem(key)


@pytest.mark.covers("TM-3")
@pytest.mark.parametrize(
    "key",
    [
        "release.md",
        "rules/review.md",
        "100% sure.md",
        "发布.md",
        "straße.md",
        "a%41.md",
        "team-evil.md",
    ],
)
def test_an_ordinary_name_is_taken(key: str) -> None:
    """Names of any script, in folders, with a percent sign that hides nothing."""
    assert find_shared_name_problem(key) == ""


@pytest.mark.covers("TM-3")
@pytest.mark.parametrize(
    ("key", "present"),
    [
        ("Note.md", "note.md"),
        ("cafe\u0301.md", "café.md"),
        ("nоte.md", "note.md"),
        ("ﬁne.md", "fine.md"),
    ],
)
def test_a_name_that_passes_for_another_is_refused(key: str, present: str) -> None:
    """Case, Unicode form and letters that look alike make one file of two on some machine, or one
    memory of two for some reader.
    """
    assert find_shared_name_problem(key, SharedNames([present]))
    assert find_shared_name_problem(key, SharedNames([key])) in ("", find_shared_name_problem(key))


def test_many_names_are_looked_at_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each was compared with all others anew, and a remote of 5,000 files took a minute and a
    half.
    """
    folded: list[str] = []

    def fold(key: str) -> str:
        folded.append(key)
        return key.casefold()

    monkeypatch.setattr("memorist.team.shared_names.fold_name_for_collisions", fold)
    keys = [f"note-{number}.md" for number in range(200)]
    names = SharedNames(keys)

    assert [find_shared_name_problem(key, names) for key in keys] == [""] * 200
    assert len(folded) == 400


@pytest.mark.covers("TM-3")
@given(
    st.text(alphabet="abP./\\%2eEfF5cC0．／\0 \u2024", max_size=20).map(lambda text: f"{text}.md")
)
def test_whatever_is_taken_stays_in_the_folder(key: str) -> None:
    """However it is decoded or normalised, a name that was taken names a file below the folder."""
    if find_shared_name_problem(key):
        return
    forms = [
        key,
        unquote(key),
        unquote(unquote(key)),
        unicodedata.normalize("NFKC", key),
        unicodedata.normalize("NFKC", unquote(key)),
    ]
    for form in forms:
        assert "\0" not in form
        assert "\\" not in form
        assert ".." not in form.split("/")
        assert not form.startswith("/")
        assert form.count("/") == key.count("/")


def hostile(machine: Machine, place: str, outside: Path) -> str:
    """Make what a hostile clone could leave in the folder; gives the name that goes through it."""
    machine.team.mkdir(parents=True)
    outside.mkdir()
    match place:
        case "folder link out":
            (machine.team / "sub").symlink_to(outside)
        case "file link out":
            (outside / "x.md").write_text("outside")
            (machine.team / "sub").mkdir()
            (machine.team / "sub" / "x.md").symlink_to(outside / "x.md")
        case "dangling":
            (machine.team / "sub").symlink_to(outside / "nowhere")
        case "loop":
            (machine.team / "sub").symlink_to(machine.team / "sub")
        case "file for folder":
            (machine.team / "sub").write_text("a file")
        case "folder for file":
            (machine.team / "sub" / "x.md").mkdir(parents=True)
        case "team is a link":
            machine.team.rmdir()
            machine.team.symlink_to(outside)
        case "sibling":
            (machine.where.folder / "team-evil").mkdir()
            (machine.team / "sub").symlink_to(machine.where.folder / "team-evil")
    return "sub/x.md"


@pytest.mark.covers("TM-3")
@pytest.mark.parametrize(
    "place",
    [
        "folder link out",
        "file link out",
        "dangling",
        "loop",
        "file for folder",
        "folder for file",
        "team is a link",
        "sibling",
    ],
)
def test_nothing_is_written_through_what_stands_in_the_folder(
    place: str, tmp_path: Path, remote: MemoryRemote
) -> None:
    """Links out, dangling ones, loops and things in the way: that name is refused and told of,
    nothing is written outside, and the others are taken.
    """
    machine = Machine(tmp_path / "a", remote)
    outside = tmp_path / "outside"
    key = hostile(machine, place, outside)
    remote.texts = {key: note("Through."), "fine.md": note("Fine.")}
    before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}

    report = machine.sync.pull()

    assert key in dict(report.refused)
    assert {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()} == before
    assert report.received == (() if place == "team is a link" else ("fine.md",))
    assert not list((machine.where.folder / "team-evil").glob("*"))
    machine.memory.close()
