"""Command lines: their purpose, the files they print, and their short form. Pure."""

from __future__ import annotations

import re
import shlex
from functools import lru_cache
from itertools import pairwise

from memorist.core.lazy import lazy_pattern

_SHELL_NOISE = lazy_pattern(
    r"\s*(?:2>&1|>\s*/dev/null|2>\s*/dev/null|\|\s*(?:tail|head)(?:\s+-n?\s*\d+|\s+-\d+|"
    r"\s+-c\s*\d+)?|\|\|\s*true|\|\s*cat)(?=\s|;|$|\|)"
)
_LINE_RANGE = lazy_pattern(r"\s*\|\s*sed -n (['\"]?)[\d,$]+p\1(?=\s|;|$|\|)")
_SHELL_PREFIX = lazy_pattern(
    r"\s*(?:cd\s+(?:\"[^\"]*\"|'[^']*'|\S+)\s*(?:&&|;)\s*|export\s+\w+=\S*\s*(?:&&|;)\s*|"
    r"[A-Z_][A-Z0-9_]*=(?:\"(?:[^\"\\]|\\.)*+\"|'[^']*'|\$\([^()\n]*\)|[^\s\"'()])*+\s+|"
    r"(?:sudo|time)\s+)"
)
_HEREDOC = lazy_pattern(r"<<-?\s*['\"]?(\w+)['\"]?\n.*?\n\s*\1\b", re.DOTALL)
_PATH_LIMIT = 300
_PRINTERS = frozenset({"cat", "nl", "head", "tail", "less", "bat", "sed", "wc", "jq", "open"})
_PATH_ARGUMENT = lazy_pattern(
    r"(?:~|\.{1,2})?/?[\w@+.-]*[\w@+-](?:/[\w@+.-]+)*\.\w{1,8}|(?:~|"
    r"\.{1,2})?/?(?:[\w@+.-]+/)+[\w@+.-]+"
)


def _argument_pattern(words: str) -> re.Pattern[str]:
    """A pattern that matches these words as whole arguments of a command line."""
    return lazy_pattern(rf"(?:^|[\s(]|(?<=[/.]))(?:{words})(?=[\s;)]|$)")


_COMMAND_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("commit", lazy_pattern(r"\bgit\s+(?:-\S+\s+\S+\s+)?commit\b")),
    (
        "push",
        lazy_pattern(
            r"\bgit\s+push\b|\bgh\s+pr\s+(?:create|merge|edit)\b|\bgh\s+release\s+create\b|"
            r"\b(?:npm|yarn|pnpm|cargo)\s+publish\b"
        ),
    ),
    (
        "merge",
        lazy_pattern(r"\bgit\s+(?:-\S+\s+\S+\s+)?(?:merge|rebase|cherry-pick|revert|pull)\b(?!-)"),
    ),
    (
        "test",
        _argument_pattern(
            "tests?(?!\\s+-[a-z]\\s)|pytest|jest|vitest|rspec|ctest|nextest|unittest|mocha|"
            "playwright|bats|phpunit|tox|nox|ginkgo|gotestsum|test:[\\w:-]+|[\\w-]+:test"
        ),
    ),
    (
        "typecheck",
        _argument_pattern(
            "tsc|mypy|pyright|(?:typecheck|type-check|check-types|types:check|check:types)"
            "(?::[\\w:-]+)?|vet"
        ),
    ),
    (
        "lint",
        _argument_pattern(
            "lint|eslint|ruff|biome|golangci-lint|clippy|flake8|shellcheck|actionlint|"
            "pre-commit|check|lint[-:][\\w:-]+"
        ),
    ),
    ("format", _argument_pattern("fmt|gofmt|prettier|black|format|(?:fmt|format)[-:][\\w:-]+")),
    (
        "build",
        _argument_pattern(
            "build|make|compile|webpack|vite|cmake|msbuild|gradle|mvn|build:[\\w:-]+"
        ),
    ),
    ("install", lazy_pattern(r"\b(?:install|npm\s+ci|bun\s+add|uv\s+sync|go\s+mod|pip)\b")),
    (
        "branch",
        lazy_pattern(
            r"\bgit\s+(?:-\S+\s+\S+\s+)?(?:reset|checkout|switch|stash|branch|tag|worktree|"
            r"restore)\b(?!-)"
        ),
    ),
)
_KIND_ORDER = (*(kind for kind, _ in _COMMAND_KINDS), "run", "look")
CHECK_KINDS = frozenset({"test", "lint", "typecheck", "build"})
"""Kinds of commands that prove something of the code."""
_CHECK_KINDS = CHECK_KINDS | {"format"}
_FILE_COMMANDS = lazy_pattern(
    r"(?:sudo\s+)?(?:rm|mkdir|cp|mv|touch|chmod|ln|tar|zip|unzip|rsync|scp|git|gh|kill|export)"
    r"\b(?!\S)"
)
"""Commands whose arguments are names of files and branches, not commands to run."""

_PART_PREFIX = lazy_pattern(r"^(?:[(!]|(?:if|then|else|do|while|time|sudo)\s|\s)+")
_FILTER = lazy_pattern(
    r"\|&?\s*(?:[efz]?grep|rg|ag|[gm]?awk|sed|sort|uniq|cut|wc|jq|tr|perl|python[\d.]*)(?=\s|$)"
)
"""A pipe into a program that leaves lines out; `head`, `tail` and `tee` show the end, or all."""
_JOINT = lazy_pattern(r"&&|;|\|\||\n")
_JOINTS = lazy_pattern(r"(?<!\w)'[^']*(?:'|\Z)|\"(?:[^\"\\]|\\.)*+(?:\"|\Z)|'[^']*'|&&|;|\|\||\n")
"""A quotation that is cut off reaches to the end: what stands in it is no command."""
_QUOTATION = lazy_pattern(r"(?<!\w)'[^']*(?:'|\Z)|\"(?:[^\"\\]|\\.)*+(?:\"|\Z)")
_ONLY_PRINTS = lazy_pattern(r"(?:echo|printf|pwd|cd|true|:|date|clear|sleep|set)(?:\s|$)")
_RUNNERS = lazy_pattern(
    r"(?:(?:corepack|npx|bunx|pnpx|command|nohup|time|sudo)\s+(?:--?[\w-]+\s+)*"
    r"|(?:mise|hermit|direnv)\s+exec\s+(?:\S+\s+)*?--\s+|(?:uv|poetry|pdm|hatch|pipenv|rye)\s+run\s+"
    r"(?:--?[\w-]+\s+)*|bundle\s+exec\s+|python3?\s+-m\s+|timeout\s+\S+\s+|(?:\w+/)*\.?venv/bin/"
    r"|[A-Z_][A-Z0-9_]*=\S*\s+)+"
)
"""What only starts another command."""
_SCRIPT_RUNNER = lazy_pattern(r"((?:npm|pnpm|yarn|bun)(?:\s+--?[\w-]+)*)\s+run\s+")
_RESTORE_COMMAND = lazy_pattern(r"git\s+(?:-\S+\s+\S+\s+)?(checkout|restore|reset)(?=\s|$)")
_DELETE_COMMAND = lazy_pattern(
    r"(?:sudo\s+)?(?:git\s+(?:-\S+\s+\S+\s+)?rm|rm|unlink|trash|del|Remove-Item)(?=\s|$)"
)
_NOT_A_DELETE = lazy_pattern(r"\s(?:--cached|--dry-run|-n|-WhatIf)(?=\s|$)")
_NOT_A_RESTORE = lazy_pattern(r"\s(?:--staged|-[bB]|--orphan|--detach|-t)(?=\s|$)")
_RESTORE_LIMIT = 600
_FILE_ARGUMENT = lazy_pattern(r"[\w@./+-]+\.[A-Za-z]\w{0,5}")
_LOOK_COMMAND = lazy_pattern(
    r"(?:sudo\s+|rtk\s+)?(?:ls|cat|sed\s+-n|nl|head|tail|rg|grep|find|fd|tree|pwd|wc|stat|file|"
    r"which|jq|awk|echo|printf|env|date|sleep|sort|du|cut|command|type|man|diff|whoami|uname|"
    r"ps|(?:npm|pnpm|yarn|bun)\s+(?:view|search|ls|list|info|why|explain|outdated|pm\s+ls)"
    r"|pip3?\s+(?:show|list|freeze|index)|cargo\s+(?:tree|metadata|search)|go\s+(?:list|version|env)"
    r"|brew\s+(?:list|info|search)|(?:mise|just|make)\s+(?:tasks|ls|--list|--summary)\s*$|node\s+-[pe]|bun\s+-e|python3?\s+-c|curl"
    r"|git\s+(?:-C\s+\S+\s+)?(?:--no-pager\s+)?(?:status|log|diff|show|branch(?:\s+(?:-\w+|"
    r"--\S+))*\s*$|blame|ls-files|rev-parse|merge-base|grep|ls-tree|fetch|"
    r"remote(?!\s+(?:add|set-|remove|rename))|config(?!\s+(?:--[\w-]+\s+)*+[A-Za-z][\w.-]*\s+[^\s|>&;])|"
    r"rev-list|describe|stash\s+list|worktree\s+list|tag\s+(?:--list|-l|--points-at)|"
    r"for-each-ref|shortlog|reflog|cat-file|show-ref)"
    r"|gh\s+(?:(?:pr|run|issue|repo|release|auth|workflow)\s+(?:view|list|checks|diff|status|"
    r"watch)|api|search))(?![\w-])"
)


def unwrap_command_line(value: object) -> str:
    """The command line of a tool's `command`: a string, or a list of arguments whose shell wrapper
    is removed.
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    parts = [part for part in value[:200] if isinstance(part, str)]
    if (
        len(parts) >= 3
        and parts[0].rsplit("/", 1)[-1] in {"bash", "sh", "zsh", "pwsh"}
        and parts[1].startswith("-")
    ):
        return parts[-1]
    return " ".join(parts)


def strip_command_noise(command: str) -> str:
    """The command without noise: leading `cd`, variables, redirections, `| tail`, `| sed -n 1,9p`,
    bodies of here-documents.
    """
    return _LINE_RANGE.sub("", _strip_noise(command))


def _strip_noise(command: str) -> str:
    text = _HEREDOC.sub("", command[:4_000])
    while lead := _SHELL_PREFIX.match(text):
        if lead.end() == len(text):
            break
        text = text[lead.end() :]
    text = _SHELL_NOISE.sub("", text)
    first = next(
        (
            line
            for line in text.split("\n")
            if line.strip() and not line.lstrip().startswith(("#", "set -"))
        ),
        "",
    )
    short = " ".join(first.split())
    if (
        len(short) < 24
        and short.endswith(("'", '"'))
        and (short.count("'") % 2 or short.count('"') % 2)
    ):
        inside = text[text.find(first) + len(first) :].split("\n")
        short = f"{short}{next((line.strip() for line in inside if line.strip()), '')} …"
    return _insert_subject(short, command) if "commit" in short and "$(cat" in short else short


def _insert_subject(short: str, command: str) -> str:
    """A commit whose message is a here-document, with the first line of the message in its
    place.
    """
    subject = find_commit_or_pr_message(command).split("\n", 1)[0]
    return f'{short[: short.find("$(cat")].rstrip(chr(34))}"{subject}"' if subject else short


def truncate_command(command: str, limit: int) -> str:
    """The command in about `limit` characters: cut between words, with an ellipsis; a quotation
    that is cut is closed again, so that its rest does not read as a command.
    """
    end = len(command)
    if end > limit:
        end = command.rfind(" ", limit // 2, limit + 1)
        end = limit if end < 0 else end
    mark = ""
    for quotation in _QUOTATION.finditer(command[:end]):
        if len(quotation[0]) < 2 or quotation[0][-1] != quotation[0][0]:
            mark = quotation[0][0]
    return command if end == len(command) and not mark else f"{command[:end].rstrip()} …{mark}"


def drop_printing_and_cd_commands(command: str) -> str:
    """The command without the parts that only print or move (`echo "==="`, `cd`); as it is where
    nothing else would be left.
    """
    kept: list[str] = []
    start, joint = 0, ""
    for found in (*_JOINTS.finditer(command), None):
        if found is not None and found[0][0] in "'\"":
            continue
        end = len(command) if found is None else found.start()
        part = command[start:end].strip()
        if part and not _ONLY_PRINTS.match(part):
            kept += [joint, part] if kept else [part]
        if found is not None:
            start, joint = found.end(), "; " if found[0] in ";\n" else f" {found[0]} "
    return "".join(kept) or command


def build_command_key(short: str) -> str:
    """A key that is equal for runs of the same command, given in its short form: its first words,
    without options and without what only starts it.
    """
    words = [
        word
        for word in _strip_runners(short).split()
        if not word.startswith(("-", "|", ">", "<", "&"))
    ]
    return " ".join(words[:3])


def _strip_runners(command: str) -> str:
    return _SCRIPT_RUNNER.sub(r"\1 ", _RUNNERS.sub("", command, count=1), count=1)


_LIMIT = lazy_pattern(r"(?:\.{0,2}/)?[\w@+.-]*[/.:][\w@+./:-]*|\w+_\w+|[A-Za-z]+[a-z][A-Z]\w*")
"""A file, folder or package, or the name of a test."""
_EVERYTHING = frozenset({".", "./", "./...", "..."})
_FILTERS = lazy_pattern(
    r"\s(?:-run|-k|-t|-g|-m|-p|--grep|--filter|--test-name-pattern|--testNamePattern|--name|--only"
    r"|--tests?|-Dtest|--package)[= ](\"[^\"]*\"?|'[^']*'?|\S+)"
)
_WHOLE_TOOLS = frozenset(
    {"pytest", "mypy", "pyright", "tsc", "eslint", "jest", "flake8", "shellcheck", "rspec"}
)
"""Programs that do one thing: every word after them is a file or folder."""
_TASK_RUNNERS = frozenset({"npm", "pnpm", "yarn", "bun", "make", "just", "task", "mise", "rake"})


_CACHED_CHECKS = 1_000
"""Commands whose parts are kept: a check that runs again is compared with each one that failed.
Our choice.
"""


def is_check_covered_by(wide: str, narrow: str, line: str = "") -> bool:
    """Whether a run of the check `wide` says something about all that `narrow`, a check of the same
    kind, was about: the same tool, or a project's own command for it, limited to no less; a limit
    that `line` names, which says what failed, is none.
    """
    if wide == narrow:
        return True
    one, other = _find_tool(wide), _find_tool(narrow)
    if one != other and (one[0] in _TASK_RUNNERS) == (other[0] in _TASK_RUNNERS):
        return False
    limits = [each for each in _find_limits(wide) if each not in line]
    narrow_limits = [each for each in _find_limits(narrow) if each != other[1]]
    return not limits or all(
        any(_contains(each, limit) for each in limits) for limit in narrow_limits or [""]
    )


@lru_cache(_CACHED_CHECKS)
def _find_tool(command: str) -> tuple[str, str]:
    """The program of a check, and the word that says which of its checks it is."""
    words = [each for each in _strip_runners(command).split() if not each.startswith("-")]
    if words and words[0] in _WHOLE_TOOLS:
        return words[0], ""
    verb = next((each for each in words[1:] if each != "run"), "")
    return words[0] if words else "", "" if _LIMIT.fullmatch(verb) and ":" not in verb else verb


@lru_cache(_CACHED_CHECKS)
def _find_limits(command: str) -> tuple[str, ...]:
    """The files, packages and names of tests to which a check is limited; none for all of them."""
    plain = _strip_runners(split_chained_commands(command)[0].split(" | ", 1)[0])
    tool, *words = [each.strip("\"'") for each in _FILTERS.sub(" ", plain).split()] or [""]
    named = [each for each in words if not each.startswith(("-", ">", "<", "2>"))]
    return (
        *(each.strip("\"'") for each in _FILTERS.findall(plain)),
        *(
            each
            for each in named
            if each not in _EVERYTHING and (tool in _WHOLE_TOOLS or _LIMIT.fullmatch(each))
        ),
    )


def _contains(folder: str, path: str) -> bool:
    folder, path = folder.removeprefix("./"), path.removeprefix("./")
    folder = folder.removesuffix("...").rstrip("/")
    return path.rstrip("/") == folder or path.startswith((f"{folder}/", f"{folder}::"))


def classify_command_purpose(short: str) -> str:
    """The purpose of a command in its short form.

    One of `commit`, `push`, `merge`, `test`, `typecheck`, `lint`, `format`, `build`, `install`,
    `branch`, `look` (it only reads) or `run`. Of several joined ones the first in this order
    counts, and `look` only where all of them do.
    """
    kinds = {_classify_part(part) for part in split_chained_commands(short)}
    return next((kind for kind in _KIND_ORDER if kind in kinds), "run")


def filters_check_output(command: str) -> bool:
    """Whether a filter shows a part of what a check says (`npm test | grep FAIL`), so that the exit
    status is the filter's.
    """
    if "|" not in command or "pipefail" in command:
        return False
    return any(
        _FILTER.search(_QUOTATION.sub("''", part)) and _classify_part(part) in _CHECK_KINDS
        for part in split_chained_commands(_strip_noise(command))
    )


def split_chained_commands(command: str) -> list[str]:
    """The commands joined by `&&`, `||`, `;` and line ends; separators inside quotes do not
    count.
    """
    if not _JOINT.search(command):
        return [command]
    parts: list[str] = []
    start = 0
    for joint in _JOINTS.finditer(command):
        if joint[0][0] not in "'\"":
            parts.append(command[start : joint.start()].strip())
            start = joint.end()
    return [part for part in (*parts, command[start:].strip()) if part]


def _classify_part(part: str) -> str:
    part = _PART_PREFIX.sub("", part)
    if _LOOK_COMMAND.match(part):
        return "look"
    moves = _FILE_COMMANDS.match(part)
    return next(
        (
            kind
            for kind, pattern in _COMMAND_KINDS
            if not (moves and kind in _CHECK_KINDS) and pattern.search(part)
        ),
        "run",
    )


def find_restored_files(command: str) -> tuple[str, ...]:
    """The files whose changes a command undoes (`git checkout FILE`, `git restore FILE`); `.` for
    all of them.
    """
    found: list[str] = []
    for part in split_chained_commands(command[:_RESTORE_LIMIT]):
        match = _RESTORE_COMMAND.match(part := _PART_PREFIX.sub("", part))
        if match is None or _NOT_A_RESTORE.search(part):
            continue
        if match[1] == "reset":
            found += ["."] if "--hard" in part else []
            continue
        before, dashes, after = part[match.end() :].partition(" -- ")
        words = [word for word in (after if dashes else before).split() if not word.startswith("-")]
        found += [
            word.strip("'\"")
            for word in words
            if dashes
            or match[1] == "restore"
            or word == "."
            or _FILE_ARGUMENT.fullmatch(word.strip("'\""))
        ]
    return tuple(found)


def find_deleted_files(command: str) -> tuple[str, ...]:
    """The files and folders that a command deletes (`rm FILE`, `git rm FILE`)."""
    found: list[str] = []
    for part in split_chained_commands(command[:_RESTORE_LIMIT]):
        match = _DELETE_COMMAND.match(part := _PART_PREFIX.sub("", part))
        if match is not None and not _NOT_A_DELETE.search(part):
            words = part[match.end() :].split()
            found += [word.strip("'\"").rstrip("/") for word in words if word[0] != "-"]
    return tuple(found)


def find_printed_files(command: str) -> tuple[str, ...]:
    """The files that a printing command (`cat`, `sed -n`, `nl` …) names, up to the first pipe of
    each part.
    """
    found: list[str] = []
    if not _LOOK_COMMAND.match(command.lstrip()[:40]) and "&&" not in command[:400]:
        return ()
    for part in re.split(r"&&|;|\n|\|\|", command[:1_500]):
        head = part.split("|", 1)[0].split()
        if not head or head[0] not in _PRINTERS or "-i" in head or ">" in part or "<<" in part:
            continue
        found.extend(
            word.strip("'\"")
            for word in head[1:]
            if len(word) < _PATH_LIMIT and _PATH_ARGUMENT.fullmatch(word.strip("'\""))
        )
    return tuple(dict.fromkeys(found[:12]))


def find_commit_or_pr_message(command: str) -> str:
    """The message of a `git commit -m` or the title and body of a `gh pr create`; empty when the
    line contains none.
    """
    heredoc = re.search(r"<<-?\s*['\"]?(\w+)['\"]?\n(.*?)\n\s*\1\b", command, re.DOTALL)
    titles = [match[2] for match in re.finditer(r"--title[= ](['\"])(.+?)\1", command)]
    if heredoc:
        return "\n\n".join([*titles, heredoc[2].strip()])
    if "<<" in command:
        return "\n\n".join(titles)
    return "\n\n".join(titles or _message_arguments(command))


def _message_arguments(command: str) -> list[str]:
    try:
        words = shlex.split(command[:6_000])
    except ValueError:
        return []
    return [after for word, after in pairwise(words) if word in ("-m", "-am", "--message")]
