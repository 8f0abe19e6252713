"""SKILL.md as it is read, and the folders it is looked for in."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.settings import SkillsSettings
from memorist.skills.cached_folder_listings import _scan_folder, read_text_up_to_limit
from memorist.skills.skill_discovery import (
    CachingSkillDiscovery,
    DiscoveredSkills,
    discover_skills,
    find_skill_base_folders,
)
from memorist.skills.skill_file import MAX_NAME_CHARS, Skill, UnusableSkillFile, parse_skill
from memorist.skills.skill_roots import SkillBaseFolders, SkillRoot, list_skill_roots

pytestmark = pytest.mark.covers("SK-1")


def skill(text: str, path: str = "/s/deploy/SKILL.md") -> Skill:
    found = parse_skill(text, path, "user")
    assert isinstance(found, Skill), found
    return found


def problem(text: str) -> str:
    found = parse_skill(text, "/s/deploy/SKILL.md", "user")
    assert isinstance(found, UnusableSkillFile)
    return found.reason


def write(root: Path, folder: str, text: str = "---\ndescription: d\n---\nbody\n") -> Path:
    path = root / folder / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    return tmp_path / "shop"


def look(project: Path, cwd: Path | None = None, **limits: int) -> DiscoveredSkills:
    places = SkillBaseFolders(
        project=str(project), cwd=str(cwd or project), home=str(project.parent / "home"), system=()
    )
    return discover_skills(places, msgspec.convert(limits, SkillsSettings))


def test_the_keys_of_the_specification_are_read() -> None:
    """Name, description, licence, compatibility, tools with patterns, metadata, and who may call
    for it.
    """
    found = skill(
        "---\nname: deploy\ndescription: >\n  Ships it,\n  safely.\nlicense: "
        "MIT\ncompatibility: needs git\nallowed-tools: Bash(git add:*) Read\n"
        "metadata:\n  author: us\n  version: 1.0\nwhen_to_use: on "
        "Fridays\ndisable-model-invocation: true\nuser-invocable: false\n---\n\n# Deploy\n"
    )

    assert (found.name, found.description, found.license, found.compatibility) == (
        "deploy",
        "Ships it, safely.",
        "MIT",
        "needs git",
    )
    assert found.allowed_tools == ("Bash(git add:*)", "Read")
    assert found.metadata == {"author": "us", "version": "1.0"}
    assert (found.when_to_use, found.listed, found.mentionable, found.body, found.remarks) == (
        "on Fridays",
        False,
        False,
        "# Deploy",
        (),
    )


def test_the_folder_names_a_skill_without_a_name() -> None:
    """The default of both families."""
    assert skill("---\ndescription: d\n---\n").name == "deploy"


def test_an_unquoted_colon_does_not_lose_a_skill() -> None:
    """YAML refuses it; the line is read as it stands, and the remark says so."""
    found = skill("---\nname: deploy\ndescription: Use when: it is Friday\n---\nx")

    assert found.description == "Use when: it is Friday"
    assert "line by line" in found.remarks[0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# no header", "does not begin with a header"),
        ("---\nname: x\n", "does not begin with a header"),
        ("---\nname: x\n---\n", "no description"),
        ("---\ndescription: ''\n---\n", "no description"),
        ("---\ndescription:\n  - a list\n---\n", "no description"),
        ("---\n- a\n- b\n---\n", "no list of keys"),
        (f"---\nname: {'n' * (MAX_NAME_CHARS + 1)}\ndescription: d\n---\n", "65 characters"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(text: str, reason: str) -> None:
    """Each reason is a value; nothing is raised."""
    assert reason in problem(text)


def test_hidden_characters_do_not_reach_the_catalogue() -> None:
    """A name or description holds only what a person sees, on one line."""
    found = skill("---\nname: 'de\u200bploy'\ndescription: \"a\\n\\tb\\e[31m \\u202ec\"\n---\n")

    assert (found.name, found.description) == ("deploy", "a b[31m c")


@given(
    st.text(
        st.sampled_from("---\nname: description:\t'\"[]{}&*!|>#,\x00\u202e\ud800aé ")
        | st.characters(),
        max_size=200,
    ),
    st.booleans(),
)
def test_no_text_breaks_the_reader(text: str, headed: bool) -> None:
    """Whatever stands in the file, there is a usable skill within its limits or a reason."""
    found = parse_skill(f"---\n{text}\n---\nbody" if headed else text, "/s/x/SKILL.md", "project")

    if isinstance(found, UnusableSkillFile):
        assert found.reason
    else:
        assert 0 < len(found.name) <= MAX_NAME_CHARS
        assert found.description
        assert "\n" not in found.name + found.description
        found.description.encode("utf-8")


def test_the_roots_are_those_of_both_families() -> None:
    """From the project's root to the working folder, then the user's, then the system's; each once."""
    places = SkillBaseFolders(
        project="/p",
        cwd="/p/a",
        home="/h",
        codex_home="/h/.codex",
        claude_home="/h/.claude",
        memorist_home="/h/.memorist",
    )

    found = list_skill_roots(places, extra_folders=["/h/.agents/skills", "/more"])

    projects = [
        "/p/.agents/skills",
        "/p/.codex/skills",
        "/p/.claude/skills",
        "/p/a/.agents/skills",
        "/p/a/.codex/skills",
        "/p/a/.claude/skills",
    ]
    users = [
        "/h/.agents/skills",
        "/h/.codex/skills",
        "/h/.claude/skills",
        "/h/.memorist/skills",
        "/more",
    ]
    assert [root.path for root in found if root.scope == "project"] == projects
    assert [root.path for root in found if root.scope == "user"] == users
    assert found[-2:] == (
        SkillRoot("/h/.codex/skills/.system", "system"),
        SkillRoot("/etc/codex/skills", "system"),
    )


def test_skills_are_found_between_the_root_and_the_working_folder(project: Path) -> None:
    """Also in the user's home; sorted by scope and name; a folder beside the way is not looked at."""
    for place in (".agents/skills/b", "in/.claude/skills/a", "beside/.agents/skills/no"):
        write(project, place)
    write(project.parent / "home", ".agents/skills/mine")
    (project / "in" / "deep").mkdir()

    found = look(project, project / "in" / "deep")

    assert [(each.name, each.scope) for each in found.skills] == [
        ("a", "project"),
        ("b", "project"),
        ("mine", "user"),
    ]
    assert not found.problems


def test_the_places_of_a_worktree_are_its_own(tmp_path: Path) -> None:
    """The checkout that is worked in counts, and the variables of both families move their homes."""
    (tmp_path / "tree" / "in").mkdir(parents=True)
    (tmp_path / "tree" / ".git").write_text("gitdir: elsewhere")

    places = find_skill_base_folders(
        tmp_path / "tree" / "in",
        {"HOME": "/h", "CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "/l"},
        "/m",
    )

    assert (places.project, places.cwd) == (str(tmp_path / "tree"), str(tmp_path / "tree" / "in"))
    assert (places.home, places.codex_home, places.claude_home, places.memorist_home) == (
        "/h",
        "/c",
        "/l",
        "/m",
    )


def test_skills_of_one_name_are_all_found(project: Path) -> None:
    """None hides another: each comes with its scope and path."""
    write(project, ".agents/skills/same")
    write(project, ".claude/skills/same")
    write(project.parent / "home", ".agents/skills/same")

    assert [each.scope for each in look(project).skills if each.name == "same"] == [
        "project",
        "project",
        "user",
    ]


def test_depth_folders_and_entries_are_bounded_and_hidden_folders_passed_over(
    project: Path,
) -> None:
    """Six folders down is found, seven is not; where a search stops it says so."""
    root = ".agents/skills"
    write(project, f"{root}/1/2/3/4/5/six")
    write(project, f"{root}/1/2/3/4/5/6/seven")
    write(project, f"{root}/.hidden/x")
    for number in range(20):
        write(project, f"{root}/z/many-{number:02}")

    assert {"six"} == {each.name for each in look(project).skills} - {
        f"many-{number:02}" for number in range(20)
    }
    assert "stopped" in look(project, folders=5).problems[0].reason
    assert len(look(project, entries=8).skills) < 20


def test_links_are_followed_once_and_cycles_end(project: Path) -> None:
    """A linked folder's skills are found under their real path, once; a loop of links does not hang
    the search.
    """
    shared = write(project.parent / "shared", "good").parent
    root = project / ".agents" / "skills"
    write(root, "own")
    (root / "link").symlink_to(shared)
    (root / "again").symlink_to(shared)
    (root / "own" / "up").symlink_to(root)
    (root / "loop").symlink_to(root / "loop")
    (root / "file").mkdir()
    (root / "file" / "SKILL.md").symlink_to(root / "file" / "SKILL.md")

    found = look(project)

    assert [(each.name, each.path) for each in found.skills] == [
        ("good", str(shared / "SKILL.md")),
        ("own", str(root / "own" / "SKILL.md")),
    ]
    assert "out of the project" in found.skills[0].remarks[0]
    assert "cannot be read" in found.problems[0].reason


def test_what_is_no_ordinary_small_file_is_a_problem_of_its_own(project: Path) -> None:
    """A pipe, a folder, a huge file and bytes that are no text neither hang nor hide the good
    skill.
    """
    root = project / ".agents" / "skills"
    write(root, "good")
    for name in ("pipe", "bytes"):
        (root / name).mkdir()
    os.mkfifo(root / "pipe" / "SKILL.md")
    (root / "folder" / "SKILL.md").mkdir(parents=True)
    write(root, "huge", "---\ndescription: d\n---\n" + "x" * 300_000)
    (root / "bytes" / "SKILL.md").write_bytes(b"\xff\xfe\x00\x80")

    found = look(project)

    assert [each.name for each in found.skills] == ["good"]
    assert [Path(each.path).parent.name for each in found.problems] == [
        "bytes",
        "folder",
        "huge",
        "pipe",
    ]
    assert all(each.reason for each in found.problems)


def test_the_systems_own_folders_report_no_problems_and_follow_no_links(tmp_path: Path) -> None:
    """The user cannot mend them."""
    write(tmp_path, "system/broken", "no header")
    outside = write(tmp_path, "outside/x").parent
    (tmp_path / "system" / "link").symlink_to(outside)

    found = discover_skills(SkillBaseFolders(system=(str(tmp_path / "system"),)), SkillsSettings())

    assert found == DiscoveredSkills()


def test_skills_are_turned_off_by_name_path_or_all(project: Path) -> None:
    """`skills.excluded` and `skills.enabled`."""
    first, second = write(project, ".agents/skills/a"), write(project, ".agents/skills/b")
    write(project, ".agents/skills/c")
    places = SkillBaseFolders(project=str(project), cwd=str(project), system=())

    assert [
        each.name
        for each in discover_skills(
            places, SkillsSettings(excluded=("a", str(second.parent)))
        ).skills
    ] == ["c"]
    assert discover_skills(places, SkillsSettings(excluded=("b", "c", str(first)))).skills == ()
    assert discover_skills(places, SkillsSettings(enabled=False)) == DiscoveredSkills()


def test_a_second_search_sees_what_changed(project: Path) -> None:
    """A file that is as it was is the same value; a changed, new or removed one is seen."""
    kept, changed = write(project, ".agents/skills/kept"), write(project, ".agents/skills/changed")
    search = CachingSkillDiscovery(
        SkillBaseFolders(project=str(project), cwd=str(project), system=()), SkillsSettings()
    )
    before = {each.name: each for each in search.find_skills().skills}
    changed.write_text("---\ndescription: quite another\n---\n")
    write(project, ".agents/skills/fresh")

    after = {each.name: each for each in search.find_skills().skills}

    assert after["kept"] is before["kept"]
    assert after["changed"].description == "quite another"
    assert "fresh" in after
    kept.unlink()
    assert "kept" not in {each.name for each in search.find_skills().skills}


def test_a_second_search_lists_and_reads_nothing_that_stayed(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders that have settled and files that are as they were are only looked up; a new name in a
    folder makes it listed again.
    """
    for number in range(5):
        write(project, f".agents/skills/s{number}")
    for path in (project / ".agents").rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    listed: list[str] = []
    opened: list[str] = []

    def listing(folder: str, limit: int) -> dict[str, str]:
        listed.append(folder)
        return _scan_folder(folder, limit)

    def opening(path: str, limit: int) -> str:
        opened.append(path)
        return read_text_up_to_limit(path, limit)

    monkeypatch.setattr("memorist.skills.cached_folder_listings._scan_folder", listing)
    monkeypatch.setattr("memorist.skills.skill_discovery.read_text_up_to_limit", opening)
    search = CachingSkillDiscovery(
        SkillBaseFolders(project=str(project), cwd=str(project), system=()), SkillsSettings()
    )
    first = search.find_skills()
    assert (len(listed), len(opened)) == (6, 5)

    assert search.find_skills() == first
    assert (len(listed), len(opened)) == (6, 5)

    write(project, ".agents/skills/fresh")
    assert len(search.find_skills().skills) == 6
    assert listed[6:] == [str(project / ".agents/skills"), str(project / ".agents/skills/fresh")]
    assert opened[5:] == [str(project / ".agents/skills/fresh/SKILL.md")]
