"""What is taken for a read-only command line, and what that is worth when it runs."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.forks.shell_command import run_limited_program
from memorist.forks.shell_policy import CommandRefused, ReadOnlyCommand, judge_shell_command


@pytest.mark.covers("FK-4")
@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "cat notes.md | head -5",
        "grep -rn 'two words' . --include=*.md",
        "find . -name *.md -mtime -1 -print0",
        "git log --oneline -5 -- notes.md",
        "git status --short && git diff HEAD~1",
        'echo "a \\"quoted\\" word"; pwd',
        "sort -t, -k2 a.txt | uniq -c | sort -rn",
        "date +%s",
        "head -n -5 notes.md",
        "wc -l *.md || true",
    ],
)
def test_commands_that_only_read_are_taken(command: str) -> None:
    """The questions that models ask of a folder of notes pass."""
    assert isinstance(judge_shell_command(command), ReadOnlyCommand)


@pytest.mark.covers("FK-4")
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("rm x", "not among the commands"),
        ("ls > x", "Redirection"),
        ("ls 2>/dev/null", "Redirection"),
        ("cat < x", "Redirection"),
        ("cat <<EOF", "Redirection"),
        ("cat <(ls)", "Redirection"),
        ("ls & rm x", "background"),
        ("ls |& cat", "not taken"),
        ("ls; rm x", "not among the commands"),
        ("ls && tee x", "not among the commands"),
        ("ls\nrm x", "line end"),
        ("echo $(rm x)", "substitution"),
        ("echo `rm x`", "Substitution"),
        ('echo "$(rm x)"', "substitution"),
        ('echo "`rm x`"', "Substitution"),
        ("echo $HOME", "Variables"),
        ("(rm x)", "Subshells"),
        ("A=1 ls", "not among the commands"),
        ("/bin/rm x", "not among the commands"),
        ("sh -c 'rm x'", "not among the commands"),
        ("env rm x", "not among the commands"),
        ("xargs rm", "not among the commands"),
        ("awk 'BEGIN{system(\"rm x\")}'", "not among the commands"),
        ("sed -i s/a/b/ x", "not among the commands"),
        ("find . -delete", "find -delete"),
        ("find . -exec rm {} \\;", "find -exec"),
        ("find . -fprint x", "find -fprint"),
        ("find . -name", "needs a value"),
        ("sort -o x y", "sort -o"),
        ("sort -ro x y", "sort -ro"),
        ("sort --output=x y", "sort --output"),
        ("sort --compress-program=sh y", "sort --compress-program"),
        ("uniq a b", "too many words"),
        ("date -s 2020-01-01", "date -s"),
        ("date 010203042020", "begins with `+`"),
        ("date --iso-8601 010203042020", "begins with `+`"),
        ("file -C -m x", "file -C"),
        ("tail -f x", "tail -f"),
        ("rg --pre sh x", "rg --pre"),
        ("rg -z x", "rg -z"),
        ("grep -f /etc/passwd x", "grep -f"),
        ("diff -l a b", "diff -l"),
        ("git -C x status", "without flags before them"),
        ("git -c core.pager=sh log", "without flags before them"),
        ("git --git-dir=x log", "without flags before them"),
        ("git commit -m x", "only these are taken"),
        ("git log --output=x", "git log --output"),
        ("git diff --ext-diff", "git diff --ext-diff"),
        ("git show --textconv HEAD", "git show --textconv"),
        ("git log --format=%G?", "starts a program"),
        ("ls 'x", "not closed"),
        ('ls "x', "not closed"),
        ("ls \\", "backslash"),
        ("ls # x", "Comments"),
        ("cat ~/x", "not expanded"),
        ("| ls", "missing"),
        ("", "missing"),
        ("ls " + "x" * 5_000, "too long"),
        ("sort -k --output=x y", "begins with a dash"),
    ],
)
def test_commands_that_might_write_are_refused_with_the_reason(command: str, reason: str) -> None:
    """Writing, starting programs, and everything the shell would read a second meaning into is
    refused, and the model is told what.
    """
    judged = judge_shell_command(command)

    assert isinstance(judged, CommandRefused)
    assert reason in judged.why


@pytest.mark.covers("FK-4")
def test_a_file_named_like_a_flag_stays_a_file(tmp_path: Path) -> None:
    """A glob cannot turn a file's name into a flag: `sort *` over a file called `-ocanary` writes
    nothing.
    """
    (tmp_path / "-ocanary").write_text("x\n")
    (tmp_path / "a").write_text("a\n")
    judged = judge_shell_command("sort *")
    assert isinstance(judged, ReadOnlyCommand)

    ran = asyncio.run(run_limited_program(["sh", "-c", judged.script], cwd=tmp_path))

    assert ran.status == 0
    assert ran.output == "a\nx\n"
    assert not (tmp_path / "canary").exists()


@pytest.mark.covers("FK-4")
def test_a_glob_that_fits_two_files_gives_uniq_no_output_file(tmp_path: Path) -> None:
    """Where a second word would be written to, globs are not expanded."""
    for name in ("in1", "in2"):
        (tmp_path / name).write_text(name)
    judged = judge_shell_command("uniq in*")
    assert isinstance(judged, ReadOnlyCommand)

    asyncio.run(run_limited_program(["sh", "-c", judged.script], cwd=tmp_path))

    assert (tmp_path / "in2").read_text() == "in2"


@pytest.mark.covers("FK-4")
@pytest.mark.parametrize(
    "command", ["git status", "git diff", "git log -p", "git show HEAD", "git blame f.md"]
)
def test_a_repository_cannot_make_git_start_a_program(tmp_path: Path, command: str) -> None:
    """Programs that a repository's own configuration names for diffs, conversions and watching are
    not started, and the index stays as it is.
    """
    plain = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    work = tmp_path / "work"
    work.mkdir()
    (work / "f.md").write_text("one\n")
    (work / ".gitattributes").write_text("* diff=evil\n")
    names = " ".join(f"{key}={value}" for key, value in plain.items())
    make = f"git init -q . && git add . && {names} git commit -qm one"
    evil = "".join(
        f"git config {key} 'touch {tmp_path}/canary; cat'\n"
        for key in (
            "diff.evil.textconv",
            "diff.external",
            "core.fsmonitor",
            "core.pager",
            "gpg.program",
        )
    )
    made = asyncio.run(
        run_limited_program(
            ["sh", "-c", f"{make}\n{evil}git config log.showSignature true"], cwd=work
        )
    )
    assert made.status == 0, made.output
    (work / "f.md").write_text("two\n")
    index = (work / ".git" / "index").read_bytes()
    judged = judge_shell_command(command)
    assert isinstance(judged, ReadOnlyCommand)

    ran = asyncio.run(run_limited_program(["sh", "-c", judged.script], cwd=work))

    assert ran.status == 0, ran.output
    assert not (tmp_path / "canary").exists()
    assert (work / ".git" / "index").read_bytes() == index


@pytest.mark.covers("FK-4")
def test_a_folder_made_to_look_like_a_repository_is_not_taken_for_one(tmp_path: Path) -> None:
    """A bare repository put together from written files cannot bring a configuration of its own."""
    for name in ("objects", "refs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.md").write_text("")
    (tmp_path / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "config").write_text(
        f'[core]\nbare = false\nworktree = "{tmp_path}"\nfsmonitor = "touch {tmp_path}/canary"\n'
    )
    judged = judge_shell_command("git log")
    assert isinstance(judged, ReadOnlyCommand)

    ran = asyncio.run(run_limited_program(["sh", "-c", judged.script], cwd=tmp_path))

    assert "cannot use bare repository" in ran.output
    assert not (tmp_path / "canary").exists()


@pytest.mark.covers("FK-5")
async def test_a_command_that_never_ends_is_stopped(tmp_path: Path) -> None:
    """The time limit kills the command and what it started."""
    ran = await run_limited_program(["sh", "-c", "sleep 60 | cat"], cwd=tmp_path, seconds=0.2)

    assert ran.status is None
    assert "0.2 seconds" in ran.stop_reason


@pytest.mark.covers("FK-5")
async def test_endless_output_is_cut(tmp_path: Path) -> None:
    """Output is read up to a limit; the command is then killed."""
    ran = await run_limited_program(["cat", "/dev/zero"], cwd=tmp_path, limit=1_000)

    assert len(ran.output) == 1_000
    assert "1000 bytes" in ran.stop_reason


_NAMES = st.sampled_from(
    [
        "cat",
        "ls",
        "grep",
        "sort",
        "uniq",
        "find",
        "git",
        "head",
        "wc",
        "echo",
        "date",
        "diff",
        "cut",
        "tr",
        "stat",
        "du",
        "tail",
        "file",
    ]
)
_PIECES = st.sampled_from(
    [
        "a.txt", "*", "./*", "-o", "-ocanary", "--output=canary", "canary", "-exec", "touch", "{}", ";", "\\;", "+", "-delete", "-fprint", "-fprintf",
        "|", "||", "&&", "&", ">", ">>", ">canary", "2>&1", "1>canary", "<", "<<x", "$(touch canary)", "`touch canary`", "${IFS}", "$'\\n'", "'", '"',
        "\\", "\n", "\r", "\t", "#", "tee", "sh", "-c", "xargs", "env", "log", "diff", "show", "status", "-n", "-k", "--", "-", "'touch canary'",
        '"touch canary"', "(touch", ")", "!", "~", "x=1", "[a]", "?", "{a,b}", "-s", "-p", "--pre=touch",
        "-name", "-newer", "-e", "-r", "--files0-from=a.txt",
        "--compress-program=touch", "-T", ".", "..", "+%s", "\u00a0", "\u2028", "\uff1e", "\x00", "sed", "-i", "awk", "-5", "-C", "-m",
    ]
)  # fmt: skip
_LINES = st.builds(
    lambda name, pieces, gaps: (
        name + "".join(gap + piece for gap, piece in zip(gaps, pieces, strict=True))
    ),
    _NAMES,
    st.lists(_PIECES, min_size=6, max_size=6),
    st.lists(st.sampled_from([" ", " ", " ", ""]), min_size=6, max_size=6),
)


def _snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.covers("FK-4")
@given(lines=st.lists(_LINES, min_size=40, max_size=40))
@example(
    lines=[
        "sort a.txt -ocanary",
        "sort *",
        "uniq a.txt canary",
        "uniq *",
        "find . -fprint canary",
        "echo x >canary",
        "diff a.txt --output=canary",
    ]
)
def test_nothing_that_is_taken_for_read_only_writes(lines: list[str]) -> None:
    """Whatever is made of allowed commands and dangerous pieces: when it is taken and really run,
    every file is as before and none is new.
    """
    taken = [
        judged for line in lines if isinstance(judged := judge_shell_command(line), ReadOnlyCommand)
    ]
    if not taken:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("a.txt", "-ocanary", "--output=canary", "-exec touch canary ;", "b"):
            (folder / file).write_text(f"{file}\ncanary\n")
        before = _snapshot(folder)

        async def run_all() -> None:
            for judged in taken[:8]:
                await run_limited_program(["sh", "-c", judged.script], cwd=folder, seconds=2)

        asyncio.run(run_all())

        assert _snapshot(folder) == before


@pytest.mark.covers("FK-4")
@given(text=st.text(max_size=60))
def test_judging_any_text_ends_in_an_answer(text: str) -> None:
    """No text makes the judge fail; and what it writes anew, it judges the same way again."""
    judged = judge_shell_command("ls " + text)

    if isinstance(judged, ReadOnlyCommand):
        again = judge_shell_command(judged.script)
        assert isinstance(again, ReadOnlyCommand)
