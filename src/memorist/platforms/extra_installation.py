"""The command that adds an extra to this installation, which differs by the tool that made it."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec


class _Requirement(msgspec.Struct):
    name: str
    extras: list[str] = []
    directory: str = ""
    editable: str = ""


class _Tool(msgspec.Struct):
    requirements: list[_Requirement]


class _UvReceipt(msgspec.Struct):
    """What `uv tool install` writes of an environment that it made."""

    tool: _Tool


def build_extra_install_command(extra: str, *, prefix: Path | None = None) -> str:
    """The command that adds an extra; `prefix` is the environment, by default this program's.

    uv makes the environment of a tool anew, so that its command names the extras of before as well.
    """
    prefix = prefix or Path(sys.prefix)
    if (prefix / "pipx_metadata.json").is_file():
        return f"pipx runpip memorist install 'memorist[{extra}]'"
    if (installed := _read_requirement(prefix / "uv-receipt.toml")) is not None:
        source = installed.directory or installed.editable or installed.name
        extras = ",".join(dict.fromkeys([*installed.extras, extra]))
        return f"uv tool install --force '{source}[{extras}]'"
    return f"pip install 'memorist[{extra}]'"


def _read_requirement(receipt: Path) -> _Requirement | None:
    try:
        tool = msgspec.toml.decode(receipt.read_bytes(), type=_UvReceipt).tool
    except (OSError, ValueError):
        return None  # another tool made the environment
    return next((each for each in tool.requirements if each.name == "memorist"), None)
