"""Skills of plugins: where they are found, and the name that goes before theirs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.settings import SkillsSettings
from memorist.skills.plugin_manifests import (
    MAX_PLUGIN_NAME_CHARS,
    parse_enabled_codex_plugins,
    parse_enabled_plugins,
    parse_plugin_manifest,
    parse_plugins_installed_for_project,
    select_active_version,
)
from memorist.skills.skill_discovery import DiscoveredSkills, discover_skills
from memorist.skills.skill_file import UnusableSkillFile, parse_skill
from memorist.skills.skill_mentions import find_skill_mentions
from memorist.skills.skill_roots import SkillBaseFolders

pytestmark = pytest.mark.covers("SK-1")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def skill(folder: Path, name: str = "") -> None:
    write(
        folder / "SKILL.md",
        f"---\n{f'name: {name}' if name else 'license: MIT'}\ndescription: d\n---\nbody of "
        f"{folder.name}\n",
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which both families have plugins: some on, some off."""
    home = tmp_path / "home"
    for name in ("forms", "off", "other"):
        folder = home / "store" / name
        write(folder / ".claude-plugin/plugin.json", json.dumps({"name": name, "skills": "./more"}))
        skill(folder / "skills" / "fill")
        skill(folder / "more" / "sign")
    places = {
        f"{name}@shop": [
            {"scope": "user", "installPath": str(home / "store" / name)}
            | ({"projectPath": "/elsewhere"} if name == "other" else {})
        ]
        for name in ("forms", "off", "other")
    }
    write(
        home / ".claude/plugins/installed_plugins.json",
        json.dumps({"version": 2, "plugins": places}),
    )
    write(
        home / ".claude/settings.json",
        json.dumps({"enabledPlugins": {"forms@shop": True, "off@shop": False, "other@shop": True}}),
    )
    for version in ("1.0", "1.2", "local"):
        folder = home / ".codex/plugins/cache/bazaar/tests" / version
        write(folder / ".codex-plugin/plugin.json", json.dumps({"name": "tests"}))
        skill(folder / "skills" / f"run-{version.replace('.', '-')}")
    write(
        home / ".codex/config.toml",
        '[plugins."tests@bazaar"]\nenabled = true\n[plugins."gone@bazaar"]\n[plugins."x@../.."]\n',
    )
    return home


def look(home: Path, project: Path | None = None) -> DiscoveredSkills:
    places = SkillBaseFolders(
        project=str(project or ""),
        cwd=str(project or ""),
        codex_home=str(home / ".codex"),
        claude_home=str(home / ".claude"),
        system=(),
    )
    return discover_skills(places, SkillsSettings())


def test_skills_of_plugins_go_by_the_plugins_name(home: Path) -> None:
    """Those that are on, of both families; also from a folder that the manifest names; the version
    that counts.
    """
    found = look(home)

    assert [(each.name, each.plugin, each.scope) for each in found.skills] == [
        ("forms:fill", "forms", "user"), ("forms:sign", "forms", "user"), ("tests:run-local", "tests", "user"),
    ]  # fmt: skip
    assert found.problems == ()


def test_a_plugin_in_the_home_of_an_unknown_user_hides_no_skill(home: Path) -> None:
    """A folder that begins with `~` and no user of this machine holds no skills, and is no error:
    neither a plugin's nor one of `skills.roots`.
    """
    write(
        home / ".claude/plugins/installed_plugins.json",
        json.dumps({"plugins": {"forms@shop": [{"installPath": "~nobody-here/forms"}]}}),
    )
    places = SkillBaseFolders(
        codex_home=str(home / ".codex"), claude_home=str(home / ".claude"), system=()
    )
    found = discover_skills(places, SkillsSettings(roots=("~nobody-here/skills",)))

    assert [each.name for each in found.skills] == ["tests:run-local"]


def test_a_project_turns_an_installed_plugin_on_or_off(home: Path, tmp_path: Path) -> None:
    """The nearest settings count; what is not installed cannot be turned on."""
    project = tmp_path / "shop"
    write(
        project / ".claude/settings.json",
        json.dumps({"enabledPlugins": {"off@shop": True, "absent@shop": True}}),
    )
    write(
        project / ".claude/settings.local.json",
        json.dumps({"enabledPlugins": {"forms@shop": False}}),
    )

    assert {each.plugin for each in look(home, project).skills} == {"off", "tests"}


@pytest.mark.covers("SK-2")
def test_a_plugins_skill_is_called_for_by_its_whole_name(home: Path) -> None:
    """Two plugins may have skills of one name; the short name calls for none."""
    skills = look(home).skills

    assert [
        each.name
        for each in find_skill_mentions("please $forms:fill, then @tests:run-local.", skills).skills
    ] == ["forms:fill", "tests:run-local"]
    assert find_skill_mentions("please $fill", skills).skills == ()


def test_a_link_into_a_plugin_takes_its_name_along(tmp_path: Path) -> None:
    """And a plugin that lies among the skills names what is below it."""
    write(tmp_path / "kit/.codex-plugin/plugin.json", json.dumps({"name": "kit"}))
    skill(tmp_path / "kit/skills/cut")
    root = tmp_path / "shop/.agents/skills"
    write(root / "box/.claude-plugin/plugin.json", "{}")
    skill(root / "box/skills/pack")
    skill(root / "plain")
    (root / "cut").symlink_to(tmp_path / "kit/skills/cut")

    assert {each.name for each in look(tmp_path / "none", tmp_path / "shop").skills} == {
        "box:pack",
        "plain",
        "kit:cut",
    }


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        (".claude/plugins/installed_plugins.json", "{", "no valid JSON"),
        (".codex/config.toml", "[plugins", "no valid TOML"),
        ("store/forms/.claude-plugin/plugin.json", '{"name": "a:b"}', "no plain one"),
    ],
)
def test_a_broken_file_is_reported_with_its_path(
    home: Path, file: str, text: str, reason: str
) -> None:
    """What it would have told is missing; everything else is found."""
    write(home / file, text)

    found = look(home)

    assert [(each.path, reason in each.reason) for each in found.problems] == [
        (str(home / file), True)
    ]
    assert found.skills


def test_a_whole_name_has_its_limit() -> None:
    """64 characters for the plugin, and as many for the skill, less the colon."""
    text = f"---\nname: {'n' * 64}\ndescription: d\n---\n"

    assert isinstance(parse_skill(text, "/s/x/SKILL.md", "user", "", "p" * 64), UnusableSkillFile)
    assert not isinstance(
        parse_skill(text, "/s/x/SKILL.md", "user", "", "p" * 63), UnusableSkillFile
    )


def test_the_older_list_of_plugins_is_read() -> None:
    """Version 1 has one entry a plugin; one that was installed for this project comes first in
    version 2.
    """
    old = json.dumps({"version": 1, "plugins": {"a@m": {"installPath": "/one"}, "b@m": 3}})
    new = json.dumps(
        {
            "plugins": {
                "a@m": [
                    {"installPath": "/all"},
                    {"installPath": "/own", "projectPath": "/p"},
                    {"projectPath": "/q"},
                ]
            }
        }
    )

    assert parse_plugins_installed_for_project(old, "/p") == ({"a@m": "/one"}, "")
    assert parse_plugins_installed_for_project(new, "/p")[0] == {"a@m": "/own"}
    assert parse_plugins_installed_for_project(new, "/q")[0] == {"a@m": "/all"}


@given(st.text(max_size=120) | st.recursive(st.none() | st.booleans() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(
    st.sampled_from(["name", "skills", "plugins", "enabledPlugins", "a@b", "installPath", "enabled"]), inner)).map(json.dumps))  # fmt: skip
def test_no_text_breaks_the_readers(text: str) -> None:
    """Whatever stands in the files: values within their limits, or a reason."""
    manifest = parse_plugin_manifest(text, "folder")

    assert bool(manifest.problem) != bool(manifest.name)
    assert len(manifest.name) <= MAX_PLUGIN_NAME_CHARS
    assert not any(".." in path.split("/") or path.startswith("/") for path in manifest.folders)
    assert all(parse_plugins_installed_for_project(text, "/p")[0].values())
    assert all("/" not in name for pair in parse_enabled_codex_plugins(text)[0] for name in pair)
    parse_enabled_plugins([text])


def test_the_version_that_counts() -> None:
    """`local` before all, else the last by name; no way out of the folder."""
    assert select_active_version(["1.0", "local", "2.0"]) == "local"
    assert select_active_version(["1.0", "1.2", "..", "a/b"]) == "1.2"
    assert select_active_version([".."]) == ""
