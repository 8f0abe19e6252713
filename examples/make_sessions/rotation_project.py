"""The project of the second sample session: a script that rotates log files, with the two faults
that the session finds.

It never moves the file with number 1, which the current log then overwrites; and it puts the files
in the order of their names, in which `app.log.10` stands before `app.log.2`, so that it deletes the
wrong ones.
"""

README = """\
# logkeep

Rotates the logs of the web service. Cron runs it every night at 00:00:

    python rotate.py logkeep.toml

`app.log` becomes `app.log.1`, `app.log.1` becomes `app.log.2` and so on. The `keep` youngest are kept.
Files with another ending (`.bak`, `.gz`) belong to other jobs and are left alone.

Tests: `python -m unittest discover -s tests`
"""

SETTINGS = """\
[logs]
folder = "logs"
name = "app.log"
keep = 12
"""

ROTATE = '''\
"""Rotate log files: app.log becomes app.log.1, app.log.1 becomes app.log.2, and the oldest go."""

from __future__ import annotations

import argparse
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """Which logs, and how many are kept."""

    folder: Path
    name: str
    keep: int


def read_settings(path: Path) -> Settings:
    """Read the settings file. Its folder is relative to the file."""
    with path.open("rb") as file:
        logs = tomllib.load(file)["logs"]
    if logs["keep"] < 1:
        raise ValueError("keep must be 1 or more")
    return Settings(path.parent / logs["folder"], logs["name"], logs["keep"])


def rotated(settings: Settings) -> list[Path]:
    """The rotated files, youngest first."""
    return sorted(settings.folder.glob(f"{settings.name}.*"))


def shift(settings: Settings) -> int:
    """Give every file the next number, from the oldest on. Returns how many were moved."""
    count = len(rotated(settings))
    moved = 0
    for number in range(count, 1, -1):
        source = settings.folder / f"{settings.name}.{number}"
        if source.exists():
            source.rename(settings.folder / f"{settings.name}.{number + 1}")
            moved += 1
    return moved


def prune(settings: Settings) -> list[str]:
    """Delete what is more than `keep`. Returns the names of the deleted files."""
    gone = []
    for path in rotated(settings)[settings.keep :]:
        path.unlink()
        gone.append(path.name)
    return gone


def rotate(settings: Settings) -> list[str]:
    """Rotate once. Returns the names of the deleted files."""
    current = settings.folder / settings.name
    if not current.exists() or current.stat().st_size == 0:
        return []
    shift(settings)
    current.rename(settings.folder / f"{settings.name}.1")
    current.touch()
    return prune(settings)


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Rotate log files.")
    parser.add_argument("settings", type=Path)
    parser.add_argument("--list", action="store_true", help="show the rotated files, youngest first, and do nothing")
    given = parser.parse_args(arguments)
    settings = read_settings(given.settings)
    if given.list:
        for path in rotated(settings):
            print(f"{path.name:<12} {path.stat().st_size:>6} bytes")
        return 0
    gone = rotate(settings)
    print(f"rotated {settings.name}; deleted: {', '.join(gone) or 'nothing'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
'''

TESTS = """\
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from rotate import Settings, read_settings, rotate, rotated


class Rotation(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.settings = Settings(self.folder, "app.log", keep=12)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def text(self, name):
        return (self.folder / name).read_text()

    def test_the_current_log_becomes_number_one(self):
        self.write("app.log", "today")
        rotate(self.settings)
        self.assertEqual(self.text("app.log.1"), "today")

    def test_a_new_empty_log_is_made(self):
        self.write("app.log", "today")
        rotate(self.settings)
        self.assertEqual(self.text("app.log"), "")

    def test_an_empty_log_is_not_rotated(self):
        self.write("app.log", "")
        self.assertEqual(rotate(self.settings), [])
        self.assertEqual(rotated(self.settings), [])

    def test_a_missing_log_is_no_error(self):
        self.assertEqual(rotate(self.settings), [])

    def test_settings_are_read(self):
        self.write("logkeep.toml", '[logs]\\nfolder = "logs"\\nname = "app.log"\\nkeep = 3\\n')
        self.assertEqual(read_settings(self.folder / "logkeep.toml"), Settings(self.folder / "logs", "app.log", 3))


if __name__ == "__main__":
    unittest.main()
"""

CHANGES = """\
# Changes

- 2: settings in a file; `--list`
- 1: first version
"""

_PATHS = ("/orders", "/orders/17", "/login", "/stock", "/health", "/orders/23/print")
_KINDS = ("GET", "POST", "GET", "GET", "PUT")


def _day(day: int) -> str:
    """The log of one day in November: a line for each request."""
    lines: list[str] = []
    for at in range(96):
        status = 500 if (at + day) % 31 == 0 else 404 if (at * day) % 17 == 5 else 200
        took = 12 + (at * 37 + day * 11) % 240
        lines.append(
            f"2026-11-{day:02} {at // 4:02}:{15 * (at % 4):02}:04 {_KINDS[at % 5]:<4} "
            f"{_PATHS[(at + day) % 6]:<16} {status} {took} ms"
        )
    return "\n".join(lines) + "\n"


def _logs() -> dict[str, str]:
    """Twelve rotated days, today, which is the 20th, and a file of another job."""
    days = {"app.log": 20} | {f"app.log.{number}": 20 - number for number in range(1, 13)}
    return {f"logs/{name}": _day(day) for name, day in days.items()} | {"logs/app.log.bak": _day(3)}


FILES: dict[str, str] = {
    "README.md": README,
    "CHANGES.md": CHANGES,
    "logkeep.toml": SETTINGS,
    "rotate.py": ROTATE,
    "tests/test_rotate.py": TESTS,
    ".gitignore": "__pycache__/\nlogs/\ncopy/\n",
    **_logs(),
}
