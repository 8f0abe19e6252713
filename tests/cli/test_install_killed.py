"""`memorist install` in a real process that is killed (SIGKILL) before each thing it does to the
disk.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from cli.test_install import OWN, said, settings
from memorist.cli import install_command
from support.killed_process import kill_points

BEGINNINGS = {"nothing": "", "empty braces": "{ }\n", "own settings": OWN}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.covers("IN-2", "SF-4")
@pytest.mark.parametrize("client", ["claude-code", "codex"])
@pytest.mark.parametrize("begins_with", BEGINNINGS)
@pytest.mark.parametrize("earlier", [False, True], ids=["first", "upgrade"])
def test_an_installation_that_is_killed_is_taken_back_byte_for_byte(
    client: str, begins_with: str, earlier: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before its n-th step, for each n until it comes to its end, and given again: the
    settings are those of an undisturbed installation, and uninstalling gives every byte back and
    leaves no temporary file beside the user's own. So it is when it is not given again.
    """
    monkeypatch.setattr(install_command, "find_spec", lambda name: object())
    user = Path(os.environ["HOME"])
    begun, half = tmp_path / "begun", tmp_path / "half"
    (user / ".claude").mkdir()
    (user / ".codex").mkdir()
    if text := BEGINNINGS[begins_with]:
        name = ".claude/settings.json" if client == "claude-code" else ".codex/hooks.json"
        (user / name).write_text(text)
        (user / ".codex" / "config.toml").write_text('# mine\nmodel = "m"  # why\n')
    before = settings(user)
    if earlier:
        said("install", client, "--no-mcp")
    shutil.copytree(user, begun)
    install = ("install", client, "--no-mcp", "--each-tool")
    said(*install)
    wanted = settings(user)

    def prepare() -> None:
        shutil.rmtree(user)
        shutil.copytree(begun, user)

    killed = 0
    for at in kill_points(lambda: said(*install), prepare):
        killed += 1
        shutil.copytree(user, half)
        said(*install)
        assert settings(user) == wanted, at
        said("uninstall", client)
        assert settings(user) == before, at
        shutil.rmtree(user)
        shutil.move(half, user)
        if settings(user) != before:
            said("uninstall", client)
            assert settings(user) == before, at
    assert killed > 5
