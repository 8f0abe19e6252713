"""Check every Python example of README, docs and `examples/` by mypy and pyright, both strict.

    python tests/support/typed_examples.py core langchain …

`core` are all pages but those of a host's adapter, which are checked in that host's environment
(`build/plugs/HOST`). What a host's own types leave unknown is no error of an example.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PYRIGHT = ROOT / "build" / "types" / "node_modules" / ".bin" / "pyright"
HOST_RULES = (
    "reportUnknownMemberType",
    "reportUnknownVariableType",
    "reportUnknownArgumentType",
    "reportMissingTypeStubs",
)


def main(names: list[str]) -> int:
    """The exit status: 0 where no example of these has an error."""
    return max(map(_check_part, names), default=0)


def _check_part(name: str) -> int:
    python = (
        ROOT / ".venv/bin/python" if name == "core" else ROOT / f"build/plugs/{name}/bin/python"
    )
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        rules = dict.fromkeys(() if name == "core" else HOST_RULES, "none")
        options = {
            "typeCheckingMode": "strict",
            "pythonVersion": "3.11",
            "extraPaths": [str(ROOT / "tests")],
            **rules,
        }
        (folder / "pyrightconfig.json").write_text(json.dumps(options), "utf-8")
        files = list(_write_examples(name, folder))
        paths = os.environ | {"MYPYPATH": str(ROOT / "tests")}
        commands: tuple[list[str | Path], ...] = (
            [ROOT / ".venv/bin/mypy", "--config-file=", "--strict", "--python-executable", python],
            [PYRIGHT, "--pythonpath", python],
        )
        statuses = []
        for command in commands:
            sys.stdout.write(f"{name}: {Path(command[0]).name}, {len(files)} examples\n")
            sys.stdout.flush()
            words = [*map(str, command), *(files if command[0] != PYRIGHT else [])]
            done = subprocess.run(words, cwd=folder, env=paths, check=False)
            statuses.append(done.returncode)
    return max(statuses)


def _write_examples(name: str, folder: Path) -> Iterator[str]:
    """Each as a file of its own; its name tells the page and the number of the block."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if _part_of(path) != name:
            continue
        for number, match in enumerate(BLOCK.finditer(path.read_text("utf-8"))):
            if match.group(1) == "python":
                file = f"{path.stem.replace('-', '_').replace('.', '_').lower()}_{number}.py"
                (folder / file).write_text(match.group(2), "utf-8")
                yield file
    for path in sorted((ROOT / "examples").glob("*.py")) if name == "core" else ():
        (folder / path.name).write_bytes(path.read_bytes())
        yield path.name


def _part_of(page: Path) -> str:
    hosts = {path.stem for path in (ROOT / "requirements/plugs").glob("*.txt")}
    return page.stem if page.parent.name == "plugs" and page.stem in hosts else "core"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
