"""The command that adds an extra, for each tool that may have installed memorist."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist.platforms.extra_installation import build_extra_install_command

RECEIPT = '[tool]\nrequirements = [{ name = "memorist"%s }, { name = "ruff", specifier = ">=0.9" }]\nentrypoints = []\n'


@pytest.mark.parametrize(
    ("source", "command"),
    [
        (
            ', extras = ["embed", "mcp"], directory = "/src/memorist"',
            "'/src/memorist[embed,mcp,ui]'",
        ),
        (', extras = ["ui"]', "'memorist[ui]'"),
        (', specifier = "==0.1.0"', "'memorist[ui]==0.1.0'"),
        (', editable = "/src/memorist"', "--editable '/src/memorist[ui]'"),
        (', path = "/a b/m.whl"', "'/a b/m.whl[ui]'"),
        (', url = "https://h.example/m.whl"', "'memorist[ui] @ https://h.example/m.whl'"),
        (', git = "file:///m?rev=v1"', "'memorist[ui] @ git+file:///m@v1'"),
    ],
)
def test_with_uv_the_install_line_is_given_once_more(
    source: str, command: str, tmp_path: Path
) -> None:
    """From where it was installed, with the extras and packages of before: uv makes the environment
    anew.
    """
    (tmp_path / "uv-receipt.toml").write_text(RECEIPT % source)

    line = build_extra_install_command("ui", prefix=tmp_path)

    assert line == f"uv tool install --force {command} --with 'ruff>=0.9'"


def test_with_uv_memorist_may_stand_beside_another_tool(tmp_path: Path) -> None:
    """That tool is named first, and stays what it is."""
    receipt = (
        '[tool]\nrequirements = [{ name = "agent" }, { name = "memorist", editable = "/m" }]\n'
    )
    (tmp_path / "uv-receipt.toml").write_text(receipt)

    line = build_extra_install_command("ui", prefix=tmp_path)

    assert line == "uv tool install --force agent --with-editable '/m[ui]'"


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
