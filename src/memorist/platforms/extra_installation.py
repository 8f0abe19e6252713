"""The command that adds an extra to this installation, which differs by the tool that made it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import msgspec


class _Requirement(msgspec.Struct):
    name: str
    extras: list[str] = []
    specifier: str = ""
    directory: str = ""
    editable: str = ""
    path: str = ""
    url: str = ""
    git: str = ""

    def render(self) -> str:
        """As uv takes it: with its extras, and from where it was installed."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        if local := self.editable or self.directory or self.path:
            return f"{local}{extras}"
        remote = f"git+{self.git.replace('?rev=', '@')}" if self.git else self.url
        return f"{self.name}{extras}{f' @ {remote}' if remote else self.specifier}"


class _Tool(msgspec.Struct):
    requirements: list[_Requirement]


class _UvReceipt(msgspec.Struct):
    """What `uv tool install` writes of an environment that it made."""

    tool: _Tool


def build_extra_install_command(extra: str, *, prefix: Path | None = None) -> str:
    """The command that adds an extra; `prefix` is the environment, by default this program's.

    uv makes the environment of a tool anew, so that its command names the extras of before as well,
    and the packages beside it.
    """
    prefix = prefix or Path(sys.prefix)
    if (prefix / "pipx_metadata.json").is_file():
        return f"pipx runpip memorist install 'memorist[{extra}]'"
    if arguments := _list_uv_arguments(prefix / "uv-receipt.toml", extra):
        return shlex.join(("uv", "tool", "install", "--force", *arguments))
    return f"pip install 'memorist[{extra}]'"


def _list_uv_arguments(receipt: Path, extra: str) -> list[str]:
    try:
        tool = msgspec.toml.decode(receipt.read_bytes(), type=_UvReceipt).tool
    except (OSError, ValueError):
        return []  # another tool made the environment
    own = next((each for each in tool.requirements if each.name == "memorist"), None)
    if own is None:
        return []
    own.extras = list(dict.fromkeys([*own.extras, extra]))
    main, *others = tool.requirements  # memorist may stand beside another tool
    arguments = [*(["--editable"] if main.editable else []), main.render()]
    for each in others:
        arguments += ["--with-editable" if each.editable else "--with", each.render()]
    return arguments
