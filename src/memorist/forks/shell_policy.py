"""Whether a command line is read-only: an allow-list of commands and flags, decided from the text
alone. Pure (FK-4).

An accepted command is rebuilt from the words that were judged, each quoted: the shell that runs it
sees exactly what was judged, and the model's text is never parsed a second time. Refused are
substitution, variables, redirection, background jobs, here-documents, line ends, comments, the
shell's own braces, and every command and flag that is not listed. Parts joined by `|`, `&&`, `||`
and `;` are judged one by one.
"""

from __future__ import annotations

import re
import shlex

from msgspec import Struct

from memorist.forks.read_only_commands import (
    COMMAND_RULES,
    FIND_OPTIONS,
    FIND_TESTS,
    FIND_VALUE_TESTS,
    GIT_COMMANDS,
    GIT_FORCED_FLAGS,
    AllowedReadOnlyCommandArguments,
)

MAX_COMMAND_CHARACTERS = 4_000
"""Longest accepted command line: no query of the file system needs more."""


_NUMBER_FLAG = re.compile(r"-\d+")


_SIGNED_NUMBER = re.compile(r"-\d")


_PROGRAM_FORMAT = "%G"


class ReadOnlyCommand(Struct, frozen=True):
    """A command line that only reads, rebuilt for `sh -c`."""

    script: str


class CommandRefused(Struct, frozen=True):
    """Why a command line is not accepted as read-only, in one sentence for the model."""

    why: str


class ShellWord(Struct, frozen=True):
    """One word: its text, and for each character whether it was quoted (`q`) or not (`-`)."""

    text: str
    quoted: str

    @property
    def has_glob(self) -> bool:
        """Whether the shell would expand it to file names: an unquoted `*` or `?` in a word that is
        not a flag.
        """
        return not self.text.startswith("-") and any(
            c in "*?" and q == "-" for c, q in zip(self.text, self.quoted, strict=True)
        )


def judge_shell_command(command: str) -> ReadOnlyCommand | CommandRefused:
    """Judge whether a command line only reads."""
    if len(command) > MAX_COMMAND_CHARACTERS:
        return CommandRefused("The command is too long.")
    if any(not character.isprintable() and character != "\t" for character in command):
        return CommandRefused(
            "The command holds a line end or another control character: give one command on "
            "one line."
        )
    tokens = _tokenize(command.strip())
    if isinstance(tokens, CommandRefused):
        return tokens
    # Rebuilt from the judged words: the model's own text never reaches a shell.
    script: list[str] = []
    part: list[ShellWord] = []
    for token in [*tokens, ";"]:
        if isinstance(token, ShellWord):
            part.append(token)
            continue
        written = _judge_part(part)
        if isinstance(written, CommandRefused):
            return written
        script += [written, token]
        part = []
    return ReadOnlyCommand(" ".join(script[:-1]))


_OPERATORS = {"|": "|", "||": "||", "&&": "&&", ";": ";"}


_FORBIDDEN_CHARACTERS = {
    "$": "Variables and substitution are not taken: write the value itself.",
    "`": "Substitution is not taken: run the inner command by itself.",
    ">": "Redirection is not taken: the output comes back to you.",
    "<": "Redirection is not taken: name the file as an argument.",
    "(": "Subshells are not taken.",
    ")": "Subshells are not taken.",
    "#": "Comments are not taken.",
    "~": "`~` is not expanded here: give the full path.",
}


def _tokenize(text: str) -> list[ShellWord | str] | CommandRefused:
    """Split into words and operators, in order."""
    tokens: list[ShellWord | str] = []
    at = 0
    while at < len(text):
        character = text[at]
        if character in " \t":
            at += 1
        elif character in "|&;":
            end = at + 1
            while end < len(text) and text[end] in "|&;":
                end += 1
            if text[at:end] not in _OPERATORS:
                return CommandRefused(
                    f"`{text[at:end]}` is not taken: join commands with `|`, `&&`, `||` or "
                    f"`;`, and run none in the background."
                )
            tokens.append(_OPERATORS[text[at:end]])
            at = end
        else:
            found = _read_word(text, at)
            if isinstance(found, CommandRefused):
                return found
            word, at = found
            tokens.append(word)
    return tokens


def _read_word(text: str, at: int) -> tuple[ShellWord, int] | CommandRefused:
    """Read the word that begins at `at`, and return where it ends."""
    letters: list[str] = []
    marks: list[str] = []
    while at < len(text) and text[at] not in " \t|&;":
        character = text[at]
        if character in "'\"":
            piece = _read_quoted(text, at)
        elif character == "\\":
            piece = (
                (text[at + 1], at + 2)
                if at + 1 < len(text)
                else CommandRefused("The command ends in a backslash.")
            )
        elif character in _FORBIDDEN_CHARACTERS and (character not in "#~" or not letters):
            return CommandRefused(_FORBIDDEN_CHARACTERS[character])
        else:
            letters.append(character)
            marks.append("-")
            at += 1
            continue
        if isinstance(piece, CommandRefused):
            return piece
        inner, at = piece
        letters += inner
        marks += "q" * len(inner)
    return ShellWord("".join(letters), "".join(marks)), at


def _read_quoted(text: str, at: int) -> tuple[str, int] | CommandRefused:
    """Read the quoted text that opens at `at`, and return where it ends."""
    quote = text[at]
    if quote == "'":
        end = text.find("'", at + 1)
        return (
            (text[at + 1 : end], end + 1) if end >= 0 else CommandRefused("A quote is not closed.")
        )
    inner: list[str] = []
    at += 1
    while at < len(text) and text[at] != '"':
        if text[at] in "$`":
            return CommandRefused(_FORBIDDEN_CHARACTERS[text[at]])
        if text[at] == "\\" and text[at + 1 : at + 2] in ("$", "`", '"', "\\"):
            at += 1
        inner.append(text[at : at + 1])
        at += 1
    return ("".join(inner), at + 1) if at < len(text) else CommandRefused("A quote is not closed.")


def _judge_part(words: list[ShellWord]) -> str | CommandRefused:
    """Judge one simple command and rebuild it."""
    if not words:
        return CommandRefused("A command is missing.")
    name, rest = words[0].text, words[1:]
    if name == "find":
        return _judge_find(rest)
    if name == "git":
        return _judge_git(rest)
    rules = COMMAND_RULES.get(name)
    if rules is None:
        return CommandRefused(
            f"`{name[:40]}` is not among the commands that only read: "
            f"{', '.join([*COMMAND_RULES, 'find', 'git'])}."
        )
    problem = _flags_problem(name, [word.text for word in rest], rules)
    if problem:
        return CommandRefused(problem)
    return " ".join(
        [name, *(_quote_word(word, expand=rules.max_operands is None) for word in rest)]
    )


def _quote_word(word: ShellWord, *, expand: bool = False) -> str:
    """Quote a word for the shell, leaving its globs unquoted with `expand`. A glob at the start
    gets `./`, so that no file name becomes a flag.
    """
    if not (expand and word.has_glob):
        return shlex.quote(word.text)
    pieces = [
        c if c in "*?" and q == "-" else shlex.quote(c)
        for c, q in zip(word.text, word.quoted, strict=True)
    ]
    return ("./" if pieces[0] in ("*", "?") else "") + "".join(pieces)


def _flags_problem(
    name: str, words: list[str], rules: AllowedReadOnlyCommandArguments
) -> str | None:
    """What is wrong with a command's words, or None."""
    if rules.takes_any_words:
        return None
    operands: list[str] = []
    waiting = ""
    for index, word in enumerate(words):
        if waiting:
            if word.startswith("-") and not _SIGNED_NUMBER.match(word):
                return (
                    f"The value of `{waiting}` begins with a dash: write it in one word "
                    f"with its flag."
                )
            waiting = ""
        elif word == "--":
            operands += words[index + 1 :]
            break
        elif not word.startswith("-") or word == "-":
            operands.append(word)
        else:
            needs = _needs_value(word, rules)
            if needs is None:
                return f"`{name} {word[:40]}` is not among the flags that only read."
            waiting = word if needs else ""
    return _operands_problem(name, operands, rules)


def _operands_problem(
    name: str, operands: list[str], rules: AllowedReadOnlyCommandArguments
) -> str | None:
    if rules.max_operands is not None and len(operands) > rules.max_operands:
        return f"`{name}` is given too many words."
    if name == "date" and any(not word.startswith("+") for word in operands):
        return "`date` takes only a format that begins with `+`."
    return None


def _needs_value(word: str, rules: AllowedReadOnlyCommandArguments) -> bool | None:
    """Whether the flag word takes the next word as its value; None when the flag is not allowed."""
    if word.startswith("--"):
        long, equals, _ = word[2:].partition("=")
        if equals or long not in rules.long_options:
            allowed = long in rules.long_valued
            return (not equals) if allowed else None
        return False
    if rules.takes_number_flag and _NUMBER_FLAG.fullmatch(word):
        return False
    for index, letter in enumerate(word[1:], start=1):
        if letter in rules.valued:
            return index == len(word) - 1
        if letter not in rules.flags:
            return None
    return False


def _judge_find(words: list[ShellWord]) -> str | CommandRefused:
    waiting = ""
    for word in words:
        text = word.text
        if waiting:
            waiting = ""
        elif text in FIND_VALUE_TESTS:
            waiting = text
        elif text.startswith("-") and text not in FIND_TESTS | FIND_OPTIONS:
            return CommandRefused(f"`find {text[:40]}` is not among the tests that only read.")
    if waiting:
        return CommandRefused(f"`find {waiting}` needs a value.")
    return " ".join(["find", *(_quote_word(word) for word in words)])


def _judge_git(words: list[ShellWord]) -> str | CommandRefused:
    texts = [word.text for word in words]
    if texts and texts[0] == "--no-pager":
        texts = texts[1:]
    if not texts or texts[0] not in GIT_COMMANDS:
        return CommandRefused(
            f"Of git only these are taken, without flags before them: {', '.join(GIT_COMMANDS)}."
        )
    problem = _flags_problem(f"git {texts[0]}", texts[1:], GIT_COMMANDS[texts[0]])
    if problem:
        return CommandRefused(problem)
    if any(_PROGRAM_FORMAT in text for text in texts):
        return CommandRefused("`%G` starts a program that checks signatures.")
    return " ".join(
        [
            "git",
            "--no-pager",
            texts[0],
            *GIT_FORCED_FLAGS[texts[0]],
            *(shlex.quote(text) for text in texts[1:]),
        ]
    )
