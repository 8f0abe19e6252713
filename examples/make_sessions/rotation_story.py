"""What the person asks and what the scripted model does in the second sample session. The outputs
are not here: the tools really run.
"""

from __future__ import annotations

from memorist.testing import CallTool, ReplyParts, Say, Step


def bash(words: str, *commands: str) -> Step:
    """Say what for, and run commands."""
    return ReplyParts(
        parts=(
            Say(text=words),
            *(CallTool(name="bash", input={"command": command}) for command in commands),
        )
    )


def read(words: str, *paths: str) -> Step:
    """Say what for, and read files."""
    return ReplyParts(
        parts=(
            Say(text=words),
            *(CallTool(name="read_file", input={"path": path}) for path in paths),
        )
    )


def edit(words: str, path: str, old: str, new: str) -> Step:
    """Say what for, and replace a text in a file."""
    return ReplyParts(
        parts=(
            Say(text=words),
            CallTool(name="edit_file", input={"path": path, "old_str": old, "new_str": new}),
        )
    )


def write(words: str, path: str, content: str) -> Step:
    """Say what for, and write a file."""
    return ReplyParts(
        parts=(
            Say(text=words),
            CallTool(name="write_file", input={"path": path, "content": content}),
        )
    )


ASK_FIND = """\
Since we updated rotate.py the nightly rotation loses logs: this morning the log of the 19th was gone, the newest one we had rotated, \
and it had deleted \
app.log.bak, which belongs to the backup job. I have put both back. Find out why and fix rotate.py. The files in logs/ are the real \
ones, so be careful with \
them."""

COPY = "rm -r copy 2>/dev/null; mkdir copy && cp -p logs/* copy/"

SCRATCH = (
    'mkdir copy && cp -p logs/* copy/ && sed \'s/"logs"/"copy"/\' logkeep.toml > copy.toml '
    "&& python rotate.py copy.toml"
)

DAYS = 'for f in $(ls -v copy/app.log copy/app.log.[0-9]*); do echo "$f $(head -c 10 $f)"; done'

FAILING = """\
    def days(self):
        return {path.name: path.read_text() for path in rotated(self.settings)}

    def test_every_file_moves_up_by_one(self):
        self.write("app.log", "day 4")
        for number, day in ((1, "day 3"), (2, "day 2"), (3, "day 1")):
            self.write(f"app.log.{number}", day)
        rotate(self.settings)
        self.assertEqual(self.days(), {"app.log.1": "day 4", "app.log.2": "day 3", "app.log.3": "day 2", "app.log.4": "day 1"})

    def test_the_oldest_goes_when_there_are_too_many(self):
        self.write("app.log", "today")
        for number in range(1, 13):
            self.write(f"app.log.{number}", f"{number} days ago")
        self.assertEqual(rotate(self.settings), ["app.log.13"])
        self.assertEqual(len(self.days()), 12)

    def test_settings_are_read(self):
"""

FIND: tuple[Step, ...] = (
    bash(
        "I look at the project first, without touching the logs.",
        "ls -1 . logs tests; git log --oneline; wc -l rotate.py tests/*.py",
        "cat README.md logkeep.toml CHANGES.md",
    ),
    read("The script and its tests.", "rotate.py", "tests/test_rotate.py"),
    bash("Do the tests see the fault?", "python -m unittest discover -s tests"),
    bash(
        "They pass, so they do not cover it: no test rotates a second time. Is each file one "
        "whole day, or does the service itself stop "
        "writing?",
        "head -n 3 logs/app.log logs/app.log.1 logs/app.log.2; tail -n 2 logs/app.log.1; wc -l "
        "logs/*",
        "cat logs/app.log.3 logs/app.log.2 logs/app.log.1 logs/app.log",
    ),
    bash(
        "The days are whole, so it is the rotation. I clear old copies away and try it on a copy.",
        COPY,
    ),
    bash(
        "You refused the `rm`, rightly: there is no copy to clear away yet. I only copy, and "
        "rotate the copy once.",
        SCRATCH,
        DAYS,
    ),
    bash(
        "The same on the copy: `app.log.1` is the 20th, `app.log.2` is missing, the 19th is "
        "gone, and `app.log.bak` was deleted. "
        "`shift` counts with "
        "`range(count, 1, -1)`, which stops before 1, so `app.log.1` is never moved and the "
        "current log is renamed over it. Now the "
        "deleting: what is the order?",
        'python rotate.py --list copy.toml; python -c "print(list(range(4, 1, -1)), '
        "sorted(['app.log.1', 'app.log.2', 'app.log.10']))\"",
    ),
    edit(
        "It is the order of the names: `app.log.10` stands before `app.log.2`, and what stands "
        "last is deleted. First two tests that "
        "must fail.",
        "tests/test_rotate.py",
        "    def test_settings_are_read(self):\n",
        FAILING,
    ),
    bash("They must fail for these reasons.", "python -m unittest discover -s tests"),
    edit(
        "The off-by-one: number 1 has to move too.",
        "rotate.py",
        "range(count, 1, -1)",
        "range(count, 0, -1)",
    ),
    edit(
        "The order: I take the time of the last change, youngest first.",
        "rotate.py",
        '    return sorted(settings.folder.glob(f"{settings.name}.*"))\n',
        '    return sorted(settings.folder.glob(f"{settings.name}.*"), key=lambda path: '
        "path.stat().st_mtime, reverse=True)\n",
    ),
    bash("Do the tests pass?", "python -m unittest discover -s tests"),
    Say(
        text="There are two faults. `shift` stopped at number 2 (`range(count, 1, -1)`), so "
        "the newest rotated file was overwritten "
        "every night. And `rotated` sorted by name, "
        "where `app.log.10` comes before `app.log.2` and `app.log.bak` last, so `prune` "
        "deleted what is last by name instead of the "
        "oldest. I mended the range and sort "
        "by the time of the last change. One of the two new tests still fails, because it "
        "writes the oldest file last: I want to hear "
        "from you before I go on. Is the time "
        "of change reliable in your logs folder?"
    ),
)

ASK_NUMBER = """\
No, don't sort by modification time: the backup job touches old files. Sort by the number. And a rename must never overwrite a file \
that exists, stop with an \
error instead. Test it on the copy, never on logs/."""

BY_NUMBER = '''\
def number_of(settings: Settings, path: Path) -> int:
    """The number at the end of a rotated file's name."""
    return int(path.name.removeprefix(f"{settings.name}."))


def rotated(settings: Settings) -> list[Path]:
    """The rotated files, youngest first: in the order of their numbers."""
    return sorted(settings.folder.glob(f"{settings.name}.*"), key=lambda path: number_of(settings, path))
'''

BY_TIME = '''\
def rotated(settings: Settings) -> list[Path]:
    """The rotated files, youngest first."""
    return sorted(settings.folder.glob(f"{settings.name}.*"), key=lambda path: path.stat().st_mtime, reverse=True)
'''

SHIFT_OLD = """\
    count = len(rotated(settings))
    moved = 0
    for number in range(count, 0, -1):
        source = settings.folder / f"{settings.name}.{number}"
        if source.exists():
            source.rename(settings.folder / f"{settings.name}.{number + 1}")
            moved += 1
    return moved
"""

SHIFT_NEW = '''\
    files = rotated(settings)
    for path in reversed(files):
        move(path, settings.folder / f"{settings.name}.{number_of(settings, path) + 1}")
    return len(files)


def move(source: Path, target: Path) -> None:
    """Rename a file. Raises FileExistsError, and does nothing, where the target exists."""
    if target.exists():
        raise FileExistsError(f"{target} exists; nothing is overwritten")
    source.rename(target)
'''

NUMBERED_OLD = '''\
    """The number at the end of a rotated file's name."""
    return int(path.name.removeprefix(f"{settings.name}."))
'''

NUMBERED_NEW = '''\
    """The number at the end of a rotated file's name; 0 for a file of another job."""
    ending = path.name.removeprefix(f"{settings.name}.")
    return int(ending) if ending.isdecimal() else 0
'''

ROTATED_OLD = """\
    return sorted(settings.folder.glob(f"{settings.name}.*"), key=lambda path: number_of(settings, path))
"""

ROTATED_NEW = """\
    files = [path for path in settings.folder.glob(f"{settings.name}.*") if number_of(settings, path)]
    return sorted(files, key=lambda path: number_of(settings, path))
"""

MORE_TESTS = """\
    def test_files_of_other_jobs_are_left_alone(self):
        self.write("app.log", "today")
        self.write("app.log.bak", "backup")
        rotate(self.settings)
        self.assertEqual(self.text("app.log.bak"), "backup")
        self.assertEqual(list(self.days()), ["app.log.1"])

    def test_a_rename_never_overwrites(self):
        self.write("app.log.1", "old")
        self.write("app.log.2", "older")
        with self.assertRaises(FileExistsError):
            move(self.folder / "app.log.1", self.folder / "app.log.2")
        self.assertEqual(self.text("app.log.2"), "older")

    def test_settings_are_read(self):
"""

NUMBER: tuple[Step, ...] = (
    edit("By number then, from the name.", "rotate.py", BY_TIME, BY_NUMBER),
    edit(
        "And `shift` moves from the oldest on through one function that refuses to overwrite.",
        "rotate.py",
        SHIFT_OLD,
        SHIFT_NEW,
    ),
    edit(
        "The current log goes through it as well.",
        "rotate.py",
        '    current.rename(settings.folder / f"{settings.name}.1")\n',
        '    move(current, settings.folder / f"{settings.name}.1")\n',
    ),
    bash(
        "Tests, and then a fresh copy under another name.",
        "python -m unittest discover -s tests",
        "mkdir -p copy/second && cp -p logs/* copy/second/ && sed "
        '\'s/"logs"/"copy\\/second"/\' logkeep.toml > copy.toml && python rotate.py copy.toml',
    ),
    bash(
        "The tests pass, and on the copy of the real files it fails: `ValueError: invalid "
        "literal for int() with base 10: 'bak'`. There "
        "is an `app.log.bak` in the "
        "folder, and the README says that such files belong to other jobs. The tests had no "
        "such file.",
        "ls -v copy/second; grep -n 'bak' README.md",
    ),
    edit("So a file without a number is none of ours.", "rotate.py", NUMBERED_OLD, NUMBERED_NEW),
    edit("It is left out of the list.", "rotate.py", ROTATED_OLD, ROTATED_NEW),
    edit(
        "Tests for both: other jobs' files, and no overwriting.",
        "tests/test_rotate.py",
        "    def test_settings_are_read(self):\n",
        MORE_TESTS,
    ),
    edit(
        "They need `move`.",
        "tests/test_rotate.py",
        "from rotate import Settings, read_settings, rotate, rotated",
        "from rotate import Settings, move, read_settings, rotate, rotated",
    ),
    bash(
        "Tests again, and the copy, three nights in a row.",
        "python -m unittest discover -v -s tests",
        'for day in 21 22 23; do python rotate.py copy.toml && echo "2026-11-$day" > '
        "copy/second/app.log; done; " + DAYS.replace("copy/app", "copy/second/app"),
    ),
    read(
        "No day is lost and the oldest goes each night. I read the script once more as it is now.",
        "rotate.py",
    ),
    read("And the tests.", "tests/test_rotate.py"),
    bash(
        "And the real logs are as they were?",
        'ls logs | wc -l; for f in $(ls -v logs/app.log*); do echo "$f $(head -c 10 $f) $(wc '
        '-l < $f)"; done',
    ),
    Say(
        text="Mended as you said: the order comes from the number in the name, never from the "
        "time of change, and `move` stops with "
        "FileExistsError before anything is overwritten. "
        "The first try failed on the copy of the real files because of `app.log.bak`; files "
        "without a number are now left alone, as the "
        "README says. All 9 tests pass, "
        "and three nights on the copy keep the 12 youngest days. The real logs are untouched; "
        "the days that are already lost cannot be "
        "brought back by this."
    ),
)

ASK_COMMIT = """\
Good. Put it in CHANGES.md and commit. What should I look at tomorrow morning?"""

COMMIT: tuple[Step, ...] = (
    bash("I read the whole change before I describe it.", "git diff"),
    edit(
        "Now its line in CHANGES.md.",
        "CHANGES.md",
        "- 2: settings",
        "- 3: no rotated log is lost: number 1 is moved too, files are ordered by number, "
        "nothing is overwritten, other jobs' files are "
        "left alone\n- 2: settings",
    ),
    bash(
        "Tests once more, then the commit.",
        "python -m unittest discover -s tests && git add rotate.py tests CHANGES.md && git "
        "commit -m 'Keep every rotated log: order by "
        "number, never overwrite' && git status --short",
    ),
    Say(
        text="Committed. Tomorrow morning: `python rotate.py --list logkeep.toml` must show 12 "
        "files, `app.log.1` must begin with the "
        "20th and `app.log.2` with the 19th, and the "
        "only deleted file in the cron mail must be `app.log.13`. If cron reports "
        "FileExistsError, a file was put there by hand; "
        "nothing is lost then. "
        "`copy/` and `copy.toml` are left over from the trials; they are not in the commit and "
        "you can delete them."
    ),
)

TURNS: tuple[tuple[str, tuple[Step, ...]], ...] = (
    (ASK_FIND, FIND),
    (ASK_NUMBER, NUMBER),
    (ASK_COMMIT, COMMIT),
)
