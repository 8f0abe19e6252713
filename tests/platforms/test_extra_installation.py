"""The command that adds an extra, for each tool that may have installed memorist."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist.platforms.extra_installation import build_extra_install_command

RECEIPT = '[tool]\nrequirements = [{ name = "memorist"%s }, { name = "ruff" }]\nentrypoints = []\n'


@pytest.mark.parametrize(
    ("source", "command"),
    [
        (
            ', extras = ["embed", "mcp"], directory = "/src/memorist"',
            "uv tool install --force '/src/memorist[embed,mcp,ui]'",
        ),
        (', extras = ["ui"]', "uv tool install --force 'memorist[ui]'"),
        (', editable = "/src/memorist"', "uv tool install --force '/src/memorist[ui]'"),
    ],
)
def test_with_uv_the_install_line_is_given_once_more(
    source: str, command: str, tmp_path: Path
) -> None:
    """From where it was installed, with the extras of before: uv makes the environment anew."""
    (tmp_path / "uv-receipt.toml").write_text(RECEIPT % source)

    assert build_extra_install_command("ui", prefix=tmp_path) == command


def test_with_pipx_it_is_added_to_its_environment(tmp_path: Path) -> None:
    """Pip outside of it would install beside it."""
    (tmp_path / "pipx_metadata.json").write_text("{}")

    assert (
        build_extra_install_command("ui", prefix=tmp_path)
        == "pipx runpip memorist install 'memorist[ui]'"
    )


@pytest.mark.parametrize("receipt", [None, "", "[tool", '[tool]\nrequirements = "all"'])
def test_elsewhere_pip_adds_it(receipt: str | None, tmp_path: Path) -> None:
    """Also where a receipt cannot be read."""
    if receipt is not None:
        (tmp_path / "uv-receipt.toml").write_text(receipt)

    assert build_extra_install_command("ui", prefix=tmp_path) == "pip install 'memorist[ui]'"
