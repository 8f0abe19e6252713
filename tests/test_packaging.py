"""What is released: one version, the same bytes each time, what a user needs and no more."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

import memorist
from memorist.hooks.hook_entries import INSTALLED_EVENTS, map_own_hooks_by_event

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
DISTRIBUTIONS = {
    "agents": "openai-agents",
    "run_agent": "hermes-agent",
    "google.adk": "google-adk",
    "pydantic_ai.models.anthropic": "pydantic-ai-slim[anthropic]",
}
"""Distributions that are not called as their module is."""


def build(target: Path) -> dict[str, bytes]:
    """Wheel and sdist, by name."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(target)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
    )
    return {path.name: path.read_bytes() for path in sorted(target.iterdir())}


@pytest.mark.slow
@pytest.mark.covers("GO-2")
def test_two_builds_are_one(tmp_path: Path) -> None:
    """Wheel and sdist are the same bytes, hold the version that the package says, its types and its
    texts, and neither tests nor what is found in the folder by chance.
    """
    pytest.importorskip("hatchling")
    first, again = build(tmp_path / "first"), build(tmp_path / "again")

    assert first == again
    version = memorist.__version__
    assert set(first) == {f"memorist-{version}-py3-none-any.whl", f"memorist-{version}.tar.gz"}
    with zipfile.ZipFile(tmp_path / "first" / f"memorist-{version}-py3-none-any.whl") as wheel:
        held = set(wheel.namelist())
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "memorist").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    sample = "memorist/replay/agent-loop-log-rotation.jsonl"
    assert {name for name in held if not name.startswith("memorist-")} == sources | {sample}
    assert "memorist/py.typed" in held
    with tarfile.open(tmp_path / "first" / f"memorist-{version}.tar.gz") as sdist:
        parts = {Path(name).parts[1] for name in sdist.getnames()}
    assert parts <= {
        "src", "examples", "README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "PKG-INFO",
        ".gitignore",
    }  # fmt: skip


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "plugs").glob("*.md")), ids=lambda path: path.stem
)
def test_an_extra_holds_what_its_page_needs(page: Path) -> None:
    """Who installs what the page says can run the page's example."""
    text = page.read_text("utf-8")
    named = re.search(r"pip install '\.\[([\w,-]+)\]'", text)
    needed = set(re.findall(r"^# needs: (\S+)$", text, re.MULTILINE))
    if named is None:
        assert not needed
        return
    held = [each for extra in named.group(1).split(",") for each in EXTRAS[extra]]

    for module in needed:
        wanted = DISTRIBUTIONS.get(module, module.replace("_", "-"))
        assert any(each.startswith(wanted) for each in held), module


def test_all_names_every_extra_of_its_own() -> None:
    """`memorist[all]` is what memorist does by itself; hosts' packages have extras of their own."""
    listed = re.fullmatch(r"memorist\[([\w,-]+)\]", EXTRAS["all"][0])
    assert listed is not None
    hosts = {path.stem for path in (ROOT / "requirements" / "plugs").glob("*.txt")}

    assert set(listed.group(1).split(",")) >= set(EXTRAS) - hosts - {"all", "agent-framework"}


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name
)
def test_forms_and_workflows_are_yaml(path: Path) -> None:
    """A file that cannot be read is one that nobody notices."""
    assert isinstance(yaml.safe_load(path.read_text("utf-8")), dict)


PLUGIN = ROOT / "plugin"


def read(name: str) -> Any:
    return json.loads((ROOT / name).read_text("utf-8"))


@pytest.mark.covers("GO-2")
def test_every_place_names_this_version_and_the_same_server() -> None:
    """Plugin, registry entry and bundle speak of the release that they come with, and start the
    server by words that the command line takes.
    """
    plugin, registry, bundle = (
        read("plugin/.claude-plugin/plugin.json"),
        read("server.json"),
        read("packaging/mcpb/manifest.json"),
    )
    (package,) = registry["packages"]
    wheel = bundle["server"]["entry_point"]
    arguments = bundle["server"]["mcp_config"]["args"]

    for_codex = read("plugin/.codex-plugin/plugin.json")
    versions = {each["version"] for each in (plugin, for_codex, registry, package, bundle)}
    assert versions == {memorist.__version__}
    assert wheel == f"memorist-{memorist.__version__}-py3-none-any.whl"
    assert wheel in arguments[1]
    assert f"mcp-name: {registry['name']}" in (ROOT / "README.md").read_text("utf-8")
    assert read("plugin/.mcp.json")["mcpServers"]["memorist"]["args"] == ["mcp"]
    assert arguments[-4:-1] == ["memorist", "mcp", "--project"]


@pytest.mark.covers("GO-2")
def test_the_plugin_hooks_what_an_installation_hooks() -> None:
    """Each event once, by the program on the search path."""
    text = (PLUGIN / "hooks" / "hooks.json").read_text("utf-8")

    assert set(map_own_hooks_by_event(text)) == set(INSTALLED_EVENTS)


def test_a_hook_of_the_plugin_without_the_program_stops_nothing(tmp_path: Path) -> None:
    """At the start of a session the user reads how to install it; every other hook is silent. All
    end with status 0.
    """
    hooks = read("plugin/hooks/hooks.json")["hooks"]
    said = {}
    for event, (group,) in hooks.items():
        done = subprocess.run(
            ["/bin/sh", "-c", group["hooks"][0]["command"]],
            env={"PATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        said[event] = done.stdout

    start = json.loads(said.pop("SessionStart"))
    assert "uv tool install" in start["systemMessage"]
    assert set(said.values()) == {""}
