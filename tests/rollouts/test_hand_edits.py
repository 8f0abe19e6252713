"""What the user changed by hand is kept, marked, and not undone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.rollouts.handbook import HandbookClaim
from memorist.rollouts.handbook_parser import parse_handbook
from memorist.rollouts.structural_folder_draft import FolderDraft
from memorist.store.extract_rows import StoredExtract
from rollouts.sessions import SHOP, TILL, bullet, handbook, kept, made, summary, task

ROWS = [
    kept(
        "a",
        task(
            "Mend the totals",
            preferences=[bullet("Use pnpm")],
            knowledge=[bullet("The API is at `api/`")],
        ),
    ),
    kept("b", task("Round amounts", preferences=[bullet("Round to five cents")]), root=TILL),
]


def edited(path: str, old: str, new: str, rows: list[StoredExtract] | None = None) -> FolderDraft:
    """The draft after the user has put one text in the place of another."""
    first = made(ROWS)
    assert old.encode() in first.files[path]
    present = {**first.files, path: first.files[path].replace(old.encode(), new.encode())}
    return made(ROWS if rows is None else rows, present, first.files)


def preferences(draft: FolderDraft, title: str = SHOP) -> list[HandbookClaim]:
    group = parse_handbook(handbook(draft)).find_group(title)
    return [*group.preferences] if group else []


@pytest.mark.covers("RO-5")
def test_an_entry_that_the_user_added_is_marked_and_outlives_every_session() -> None:
    """In the handbook, without any mark of the layout; after all sessions are gone it still stands."""
    draft = edited(
        "MEMORY.md", "## User preferences\n\n", "## User preferences\n\n- Never touch prod\n"
    )

    assert preferences(draft)[0] == HandbookClaim(text="Never touch prod", by="user")
    assert "you wrote or changed by hand" in draft.remarks[0]
    assert [entry.text for entry in preferences(made([], draft.files))] == ["Never touch prod"]
    assert made(ROWS, draft.files).files == draft.files


@pytest.mark.covers("RO-5")
@pytest.mark.parametrize(
    "section",
    [
        "## User preferences\n\n### /home/dev/shop\n\n",
        "## General Tips\n\n### /home/dev/shop\n\n",
        "#### 2025-11-21\n\n",
    ],
)
def test_a_line_that_the_user_added_to_the_summary_is_kept(section: str) -> None:
    """Wherever it was put, it stands in the summary and in the handbook of its place."""
    draft = edited("memory_summary.md", section, f"{section}- Never touch prod\n")

    assert "Never touch prod [by the user]" in handbook(draft)
    assert "Never touch prod [by the user]" in summary(draft)
    assert made(ROWS, draft.files).files == draft.files


@pytest.mark.covers("RO-5")
def test_what_the_user_took_out_does_not_come_back() -> None:
    """Not from a new session of the place either; another place may say the same."""
    draft = edited("MEMORY.md", "- Use pnpm [said 2025-11-20] [Task 1]\n", "")
    again = [
        *ROWS,
        kept("c", task("Ship it", preferences=[bullet("please use pnpm")])),
        kept("d", task("Till", preferences=[bullet("use pnpm")]), root=TILL),
    ]

    then = made(again, draft.files, dropped=draft.dropped)

    assert preferences(draft) == preferences(then) == []
    assert "pnpm" not in "".join(part for part in summary(then).split("###") if SHOP in part)
    assert "use pnpm" in [entry.text for entry in preferences(then, TILL)]


@pytest.mark.covers("RO-5")
def test_what_the_user_took_out_of_the_summary_goes_from_the_handbook_too() -> None:
    """It is shown nowhere, and no later run brings it back."""
    draft = edited("memory_summary.md", "- Use pnpm [said 2025-11-20] [from 001z]\n", "")

    assert "pnpm" not in handbook(draft) + summary(draft)
    assert made(ROWS, draft.files, dropped=draft.dropped).files == draft.files


@pytest.mark.covers("RO-5")
def test_an_entry_that_the_user_worded_anew_is_the_users() -> None:
    """The new words stand in the place of the old ones, which do not come back."""
    draft = edited("MEMORY.md", "- Use pnpm [said", "- Use pnpm, but npm in `legacy/` [said")

    assert [(entry.text, entry.by) for entry in preferences(draft)] == [
        ("Use pnpm, but npm in `legacy/`", "user")
    ]
    assert [entry.text for entry in preferences(made([ROWS[1]], draft.files))] == [
        "Use pnpm, but npm in `legacy/`"
    ]


@pytest.mark.covers("RO-5")
def test_a_group_that_the_user_took_out_does_not_come_back() -> None:
    """Until the session goes on, or there is a new one."""
    first = made(ROWS)
    text = handbook(first)
    without = text[: text.index(f"# Task Group: {TILL}")]
    draft = made(ROWS, {**first.files, "MEMORY.md": without.encode()}, first.files)
    new = kept("e", task("Count coins"), root=TILL)

    assert parse_handbook(handbook(draft)).find_group(TILL) is None
    assert handbook(made(ROWS, draft.files, dropped=draft.dropped)) == handbook(draft)
    assert "Count coins" in handbook(made([*ROWS, new], draft.files, dropped=draft.dropped))


@pytest.mark.covers("RO-5")
def test_the_users_own_sections_stay() -> None:
    """A section with another name, a line before the first group, a remark in a group's head: all
    stay through changes and forgetting.
    """
    first = made(ROWS)
    text = (
        handbook(first)
        .replace("## Reusable knowledge", "## My own view\n\nIt is fine.\n\n## Reusable knowledge")
        .replace("# Task Group", "Mine.\n\n# Task Group", 1)
    )
    then = made(
        [*ROWS, kept("c", task("Ship it"))],
        {**first.files, "MEMORY.md": text.encode()},
        first.files,
    )

    assert "## My own view\n\nIt is fine." in handbook(then)
    assert "\nMine.\n" in handbook(then)
    assert "## My own view" in handbook(made([], then.files))


@pytest.mark.covers("RO-5")
def test_a_file_that_is_missing_is_no_wish_to_forget() -> None:
    """A handbook that was deleted, or of which nothing is left as after a power cut, is made again
    whole, with what the user wrote in it.
    """
    first = edited("MEMORY.md", "## User preferences", "## My view\n\nFine.\n\n## User preferences")
    for left in ({}, {"MEMORY.md": b""}, {"MEMORY.md": b"\0\0\n"}):
        present = {path: data for path, data in first.files.items() if path != "MEMORY.md"} | left
        again = made(ROWS, present, first.files)

        assert (again.files, again.dropped) == (first.files, frozenset())
        assert again.remarks[0].startswith("MEMORY.md was missing, empty or cut off")


@pytest.mark.covers("RO-5")
@pytest.mark.parametrize("is_edited", [False, True])
def test_a_handbook_that_is_cut_off_takes_nothing_out(is_edited: bool) -> None:
    """Cut at any byte, but in a line that is new, and where a group begins or in the last one at
    the end of a line, which a user may have deleted: what is gone is put back and barred nowhere, and what the user wrote into
    what is left stays.
    """
    first = made(ROWS)
    text = first.files["MEMORY.md"]
    if is_edited:
        text = text.replace(
            b"## User preferences\n", b"## User preferences\n\n- Never touch prod\n", 1
        )
    last = text.rindex(b"# Task Group:")
    for at in range(len(text) - 1):
        left = text[:at]
        is_group_gone = text[at:].lstrip().startswith(b"# Task Group:")
        line = left.rpartition(b"\n")[2]
        is_whole = line in text.split(b"\n")
        if is_whole and (is_edited or is_group_gone or at > last):
            continue
        if is_edited and b"- Never touch prod".startswith(line):
            continue
        again = made(ROWS, {**first.files, "MEMORY.md": left}, first.files)

        assert again.dropped == frozenset(), left[-60:]
        assert all(each in handbook(again) for each in ("Use pnpm", "five cents", "`api/`")), left
        if is_edited and b"Never touch prod" in left:
            assert "Never touch prod" in handbook(again), left


@pytest.mark.covers("RO-5")
def test_a_handbook_that_ends_with_a_block_of_the_disk_is_cut_off() -> None:
    """Also where that block happens to end with a line, and where zeros follow it."""
    rows = [*ROWS, kept("c", task("Ship", preferences=[bullet(f"Rule {n}") for n in range(20)]))]
    first = made(rows)
    text = first.files["MEMORY.md"]
    end = text.index(b"\n", text.rindex(b"- Rule")) + 1
    for left in (text[:-20].rpartition(b"\n")[0] + b"\n\0\0", text[: end // 512 * 512]):
        again = made(rows, {**first.files, "MEMORY.md": left}, first.files)

        assert (again.files, again.dropped) == (first.files, frozenset())


@pytest.mark.covers("RO-5")
@pytest.mark.parametrize("left", [3, 20, 60, 150, 250])
def test_a_summary_that_ends_too_soon_takes_nothing_out(left: int) -> None:
    """Where one of its sections is missing, what was accepted stands, beside what the user wrote."""
    first = edited("memory_summary.md", "## User Profile\n", "## User Profile\n\nMaria.\n")
    cut = first.files["memory_summary.md"][:left] + b"\nMine\n"
    again = made(ROWS, {**first.files, "memory_summary.md": cut}, first.files)

    assert again.dropped == frozenset()
    assert all(each in handbook(again) for each in ("Use pnpm", "five cents", "`api/`"))
    assert "Maria." in summary(again) or left >= 20
    assert "Mine" in handbook(again) + summary(again)


@pytest.mark.covers("RO-5")
def test_an_input_that_was_changed_by_hand_is_made_anew_and_said() -> None:
    """The summaries of sessions come from the database: what was written into one is lost, and a
    remark names it.
    """
    draft = edited("raw_memories.md", "# Raw memories", "# Mine")

    assert draft.files == made(ROWS).files
    assert draft.remarks == (
        "raw_memories.md was changed by hand; it is made from the database and was rebuilt",
    )


@pytest.mark.covers("RO-5")
def test_other_files_in_the_folder_are_left_alone() -> None:
    """Notes of other programs, skills that the user wrote, drafts that the user changed."""
    others = {
        "extensions/screen/resources/x.md": b"x",
        "skills/own/SKILL.md": b"---\nname: own\ndescription: d\n---\nx\n",
        "README.md": b"y",
    }

    assert (
        others.items() <= made(ROWS, {**made(ROWS).files, **others}, made(ROWS).files).files.items()
    )


LINES = st.sampled_from(
    [
        "- Mine {}",
        "Mine {}",
        "  Mine {}",
        "## Mine {}",
        "### Mine {}",
        "* Mine {}",
        "> Mine {}",
        "Mine {}: yes",
        "1. Mine {}",
    ]
)
FILES = made([*ROWS, kept("c", task("Ship it", failures=[bullet("`x` failed -> `y`")]))]).files


@pytest.mark.covers("RO-5")
@settings(deadline=None)
@given(
    st.lists(st.tuples(LINES, st.integers(0, 200)), min_size=1, max_size=4),
    st.sampled_from(["MEMORY.md", "memory_summary.md"]),
    st.booleans(),
)
def test_no_line_that_the_user_wrote_is_lost(
    added: list[tuple[str, int]], path: str, new: object
) -> None:
    """Any line anywhere in the two files is still in them afterwards, whether or not its group
    changed; and a second run changes nothing.

    Headings in the summary are its structure, and made anew.
    """
    lines = FILES[path].decode().split("\n")
    plain = [(form.lstrip("#") if path == "memory_summary.md" else form, at) for form, at in added]
    for number, (form, at) in enumerate(plain):
        lines.insert(1 + at % len(lines), form.format(f"no{number}"))
    rows = [
        *ROWS,
        kept("c", task("Ship it", failures=[bullet("`x` failed -> `y`")])),
        *([kept("d", task("New"))] if new else []),
    ]

    draft = made(rows, {**FILES, path: "\n".join(lines).encode()}, FILES)

    found = handbook(draft) + summary(draft)
    assert [number for number, _ in enumerate(added) if f"Mine no{number}" not in found] == []
    assert made(rows, draft.files, dropped=draft.dropped).files == draft.files
