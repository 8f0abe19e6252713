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

from memorist.core.text_analysis import word_set

# The read-only commands, and for each the read-only flags. What is not listed is refused (FK-4).


class CommandRules(Struct, frozen=True, kw_only=True):
    """The words that a command accepts.

    `flags` are single letters without a value, `valued` those with one; `long` and `long_valued`
    the same for `--name`. A name in both takes a value only after `=`. `max_operands` limits the
    number of operands (None: any number).
    """

    flags: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    max_operands: int | None = None
    takes_number_flag: bool = False
    """Whether `-12` is a flag (`head -12`)."""
    takes_any_words: bool = False
    """Whether every word is plain text (`echo`)."""


COMMAND_RULES = {
    "ls": CommandRules(
        flags="1AaBCcdFfGghHiklLmNnopqQrRsStTuUvwxXZ",
        long=word_set("all almost-all human-readable recursive reverse directory size full-time"),
    ),
    "cat": CommandRules(
        flags="AbeEnstTuv",
        long=word_set("number number-nonblank squeeze-blank show-all show-ends show-tabs"),
    ),
    "tac": CommandRules(),
    "nl": CommandRules(flags="p", valued="bdfhilnsvw"),
    "head": CommandRules(
        flags="qvz",
        valued="nc",
        long=word_set("quiet verbose"),
        long_valued=word_set("lines bytes"),
        takes_number_flag=True,
    ),
    "tail": CommandRules(
        flags="qvz",
        valued="nc",
        long=word_set("quiet verbose"),
        long_valued=word_set("lines bytes"),
        takes_number_flag=True,
    ),
    "wc": CommandRules(flags="clLmw", long=word_set("bytes chars lines words max-line-length")),
    "grep": CommandRules(
        flags="EFGPivwxcLlqshHnobTrRaI",
        valued="eABCmd",
        long=word_set(
            "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case "
            "invert-match word-regexp line-regexp count "
            "files-with-matches files-without-match quiet silent no-messages with-filename "
            "no-filename line-number only-matching "
            "byte-offset "
            "recursive text null color"
        ),
        long_valued=word_set(
            "regexp after-context before-context context max-count include exclude exclude-dir "
            "color label binary-files"
        ),
        takes_number_flag=True,
    ),
    "rg": CommandRules(
        flags="FivwxclnNoHIPsSUu0aqLp.",
        valued="eABCmgtTMdjr",
        long=word_set(
            "fixed-strings ignore-case smart-case case-sensitive invert-match word-regexp "
            "line-regexp count count-matches "
            "files-with-matches "
            "files-without-match line-number no-line-number only-matching with-filename "
            "no-filename pcre2 multiline hidden no-ignore "
            "no-heading "
            "heading files json stats quiet null text trim vimgrep type-list no-config column"
        ),
        long_valued=word_set(
            "regexp after-context before-context context max-count glob iglob type type-not "
            "max-columns max-depth maxdepth max-filesize "
            "color "
            "sort sortr threads replace"
        ),
    ),
    "stat": CommandRules(
        flags="Lft",
        valued="c",
        long=word_set("dereference file-system terse"),
        long_valued=word_set("format printf"),
    ),
    "file": CommandRules(
        flags="bhikLNr0",
        long=word_set("brief mime mime-type mime-encoding dereference no-dereference"),
    ),
    "du": CommandRules(
        flags="0abcDhHklLmsSx",
        valued="dBt",
        long=word_set("all bytes total human-readable summarize apparent-size"),
        long_valued=word_set("max-depth exclude"),
    ),
    "pwd": CommandRules(flags="LP", max_operands=0),
    "echo": CommandRules(takes_any_words=True),
    "sort": CommandRules(
        flags="bdfghiMnRrVsuzcCm",
        valued="kt",
        long=word_set(
            "ignore-case numeric-sort human-numeric-sort reverse unique version-sort stable "
            "general-numeric-sort month-sort"
        ),
        long_valued=word_set("key field-separator"),
    ),
    "uniq": CommandRules(
        flags="cdDiuz",
        valued="fsw",
        long=word_set("count repeated unique ignore-case"),
        max_operands=1,
    ),
    "cut": CommandRules(
        flags="nsz",
        valued="bcdf",
        long=word_set("only-delimited complement"),
        long_valued=word_set("bytes characters fields delimiter output-delimiter"),
    ),
    "tr": CommandRules(
        flags="cCdst",
        long=word_set("complement delete squeeze-repeats truncate-set1"),
        max_operands=2,
    ),
    "diff": CommandRules(
        flags="qsruNwbBiyaEtdTpcen",
        valued="UCWxI",
        long=word_set(
            "brief recursive unified new-file ignore-case ignore-all-space ignore-space-change "
            "ignore-blank-lines side-by-side minimal text"
        ),
        long_valued=word_set("unified context width exclude color label"),
    ),
    "cmp": CommandRules(flags="bls", long=word_set("verbose silent quiet print-bytes")),
    "basename": CommandRules(flags="az", valued="s"),
    "dirname": CommandRules(flags="z"),
    "realpath": CommandRules(flags="ePLmqsz"),
    "readlink": CommandRules(flags="efmnqsvz"),
    "sha256sum": CommandRules(flags="bt"),
    "md5sum": CommandRules(flags="bt"),
    "date": CommandRules(
        flags="uRI",
        valued="dr",
        long=word_set("utc universal rfc-email iso-8601"),
        long_valued=word_set("date reference iso-8601 rfc-3339"),
    ),
    "true": CommandRules(max_operands=0),
    "false": CommandRules(max_operands=0),
}
"""Every command but `find` and `git`, which have a grammar of their own. GNU and BSD spellings of
the read-only flags.
"""

FIND_TESTS = word_set(
    "-empty -readable -writable -executable -true -false -print -print0 -ls -prune -quit -not "
    "-and -a -or -o -depth -mount -xdev -follow "
    "-daystart -nouser -nogroup"
)
FIND_VALUE_TESTS = word_set(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype "
    "-size -mtime -mmin -atime -amin -ctime -cmin "
    "-newer "
    "-anewer -cnewer -newermt -maxdepth -mindepth -perm -user -group -uid -gid -links -inum "
    "-samefile -lname -ilname -printf"
)
FIND_OPTIONS = word_set("-H -L -P")

_GIT_LOG_RULES = CommandRules(
    flags="pucsizwbMCE",
    valued="SGnLU",
    long=word_set(
        "oneline stat shortstat numstat name-only name-status summary patch no-patch graph all "
        "branches tags remotes reverse follow "
        "merges no-merges "
        "first-parent decorate no-decorate abbrev-commit no-abbrev-commit full-history "
        "topo-order date-order no-color raw word-diff "
        "cached staged minimal "
        "patience histogram no-renames ignore-all-space ignore-space-change ignore-blank-lines "
        "relative-date no-notes check full-index cc "
        "left-right "
        "cherry-pick no-walk dirstat compact-summary pretty abbrev color find-renames decorate "
        "relative unified function-context "
        "pickaxe-regex pickaxe-all regexp-ignore-case extended-regexp fixed-strings all-match "
        "invert-grep quiet exit-code root"
    ),
    long_valued=word_set(
        "format pretty date since until after before author committer grep max-count skip "
        "abbrev diff-filter decorate-refs unified color "
        "stat word-diff "
        "find-renames diff-algorithm decorate relative max-parents min-parents diff-merges "
        "inter-hunk-context"
    ),
    takes_number_flag=True,
)

GIT_COMMANDS = {
    "log": _GIT_LOG_RULES,
    "show": _GIT_LOG_RULES,
    "diff": _GIT_LOG_RULES,
    "status": CommandRules(
        flags="sbuvz",
        long=word_set(
            "short branch porcelain long show-stash untracked-files ignored null no-renames"
        ),
        long_valued=word_set("porcelain untracked-files"),
    ),
    "blame": CommandRules(
        flags="lstfnewMC",
        valued="L",
        long=word_set("porcelain line-porcelain root show-name show-number show-email"),
        long_valued=word_set("date since abbrev"),
    ),
    "ls-files": CommandRules(
        flags="cdmoiskutvz",
        valued="x",
        long=word_set(
            "cached deleted modified others stage unmerged exclude-standard full-name error-unmatch"
        ),
        long_valued=word_set("exclude"),
    ),
    "rev-parse": CommandRules(
        long=word_set("show-toplevel abbrev-ref short verify git-dir is-inside-work-tree")
    ),
}
"""The `git` commands that inspect the history and the working tree."""

GIT_FORCED_FLAGS = {
    "log": ("--no-ext-diff", "--no-textconv"),
    "show": ("--no-ext-diff", "--no-textconv"),
    "diff": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all"),
    "status": ("--ignore-submodules=all",),
    "blame": ("--no-textconv",),
    "ls-files": (),
    "rev-parse": (),
}
"""Flags put in front of the model's: a repository's own configuration may name programs for diffs
and conversions.
"""


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


def judge_command(command: str) -> ReadOnlyCommand | CommandRefused:
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
    return (
        CommandRefused(problem)
        if problem
        else " ".join(
            [name, *(_quote_word(word, expand=rules.max_operands is None) for word in rest)]
        )
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


def _flags_problem(name: str, words: list[str], rules: CommandRules) -> str | None:
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


def _operands_problem(name: str, operands: list[str], rules: CommandRules) -> str | None:
    if rules.max_operands is not None and len(operands) > rules.max_operands:
        return f"`{name}` is given too many words."
    if name == "date" and any(not word.startswith("+") for word in operands):
        return "`date` takes only a format that begins with `+`."
    return None


def _needs_value(word: str, rules: CommandRules) -> bool | None:
    """Whether the flag word takes the next word as its value; None when the flag is not allowed."""
    if word.startswith("--"):
        long, equals, _ = word[2:].partition("=")
        if equals or long not in rules.long:
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
