"""What is released: one version, the same bytes each time, what a user needs and no more."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import memorist

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
    assert {name for name in held if not name.startswith("memorist-")} == sources
    assert "memorist/py.typed" in held
    with tarfile.open(tmp_path / "first" / f"memorist-{version}.tar.gz") as sdist:
        parts = {Path(name).parts[1] for name in sdist.getnames()}
    assert parts <= {
        "src", "README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "PKG-INFO", ".gitignore",
    }  # fmt: skip


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "plugs").glob("*.md")), ids=lambda path: path.stem
)
def test_an_extra_holds_what_its_page_needs(page: Path) -> None:
    """Who installs what the page says can run the page's example."""
    text = page.read_text("utf-8")
    named = re.search(r"pip install 'memorist\[([\w,-]+)\]'", text)
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
