"""The read-only commands, and for each the read-only flags. What is not listed is refused (FK-4).

Left out on purpose, beside everything that writes: `awk`, `sed`, `xargs`, `env`, `tee`, `sh` and
every interpreter (they run or write anything); `sort -o` and `-T`, `uniq IN OUT`, `date -s`, `file
-C`, `find -delete`, `-fprint`, `git --output` (they write); `find -exec`, `rg --pre` and `-z`,
`sort --compress-program`, `diff -l`, `git -c`, `--ext-diff`, `--textconv`, `%G` (they start
programs); `git -C` (a folder made to look like a repository could name programs); `tail -f` (it
never ends).
"""

from __future__ import annotations

from msgspec import Struct


class Command(Struct, frozen=True, kw_only=True):
    """The words that a command accepts.

    `flags` are single letters without a value, `valued` those with one; `long` and `long_valued`
    the same for `--name`. A name in both takes a value only after `=`. `max_operands` limits the
    number of operands (None: any number).
    """

    flags: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    operands: int | None = None
    numbers: bool = False
    """Whether `-12` is a flag (`head -12`)."""
    free: bool = False
    """Whether every word is plain text (`echo`)."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


COMMANDS = {
    "ls": Command(
        flags="1AaBCcdFfGghHiklLmNnopqQrRsStTuUvwxXZ",
        long=_words("all almost-all human-readable recursive reverse directory size full-time"),
    ),
    "cat": Command(flags="AbeEnstTuv", long=_words("number number-nonblank squeeze-blank show-all show-ends show-tabs")),
    "tac": Command(),
    "nl": Command(flags="p", valued="bdfhilnsvw"),
    "head": Command(flags="qvz", valued="nc", long=_words("quiet verbose"), long_valued=_words("lines bytes"), numbers=True),
    "tail": Command(flags="qvz", valued="nc", long=_words("quiet verbose"), long_valued=_words("lines bytes"), numbers=True),
    "wc": Command(flags="clLmw", long=_words("bytes chars lines words max-line-length")),
    "grep": Command(
        flags="EFGPivwxcLlqshHnobTrRaI",
        valued="eABCmd",
        long=_words(
            "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case invert-match word-regexp line-regexp count "
            "files-with-matches files-without-match quiet silent no-messages with-filename no-filename line-number only-matching "
            "byte-offset "
            "recursive text null color"
        ),
        long_valued=_words("regexp after-context before-context context max-count include exclude exclude-dir color label binary-files"),
        numbers=True,
    ),
    "rg": Command(
        flags="FivwxclnNoHIPsSUu0aqLp.",
        valued="eABCmgtTMdjr",
        long=_words(
            "fixed-strings ignore-case smart-case case-sensitive invert-match word-regexp line-regexp count count-matches "
            "files-with-matches "
            "files-without-match line-number no-line-number only-matching with-filename no-filename pcre2 multiline hidden no-ignore "
            "no-heading "
            "heading files json stats quiet null text trim vimgrep type-list no-config column"
        ),
        long_valued=_words(
            "regexp after-context before-context context max-count glob iglob type type-not max-columns max-depth maxdepth max-filesize "
            "color "
            "sort sortr threads replace"
        ),
    ),
    "stat": Command(flags="Lft", valued="c", long=_words("dereference file-system terse"), long_valued=_words("format printf")),
    "file": Command(flags="bhikLNr0", long=_words("brief mime mime-type mime-encoding dereference no-dereference")),
    "du": Command(
        flags="0abcDhHklLmsSx",
        valued="dBt",
        long=_words("all bytes total human-readable summarize apparent-size"),
        long_valued=_words("max-depth exclude"),
    ),
    "pwd": Command(flags="LP", operands=0),
    "echo": Command(free=True),
    "sort": Command(
        flags="bdfghiMnRrVsuzcCm",
        valued="kt",
        long=_words("ignore-case numeric-sort human-numeric-sort reverse unique version-sort stable general-numeric-sort month-sort"),
        long_valued=_words("key field-separator"),
    ),
    "uniq": Command(flags="cdDiuz", valued="fsw", long=_words("count repeated unique ignore-case"), operands=1),
    "cut": Command(
        flags="nsz",
        valued="bcdf",
        long=_words("only-delimited complement"),
        long_valued=_words("bytes characters fields delimiter output-delimiter"),
    ),
    "tr": Command(flags="cCdst", long=_words("complement delete squeeze-repeats truncate-set1"), operands=2),
    "diff": Command(
        flags="qsruNwbBiyaEtdTpcen",
        valued="UCWxI",
        long=_words(
            "brief recursive unified new-file ignore-case ignore-all-space ignore-space-change ignore-blank-lines side-by-side minimal text"
        ),
        long_valued=_words("unified context width exclude color label"),
    ),
    "cmp": Command(flags="bls", long=_words("verbose silent quiet print-bytes")),
    "basename": Command(flags="az", valued="s"),
    "dirname": Command(flags="z"),
    "realpath": Command(flags="ePLmqsz"),
    "readlink": Command(flags="efmnqsvz"),
    "sha256sum": Command(flags="bt"),
    "md5sum": Command(flags="bt"),
    "date": Command(
        flags="uRI", valued="dr", long=_words("utc universal rfc-email iso-8601"), long_valued=_words("date reference iso-8601 rfc-3339")
    ),
    "true": Command(operands=0),
    "false": Command(operands=0),
}
"""Every command but `find` and `git`, which have a grammar of their own. GNU and BSD spellings of
the read-only flags.
"""

FIND_TESTS = _words(
    "-empty -readable -writable -executable -true -false -print -print0 -ls -prune -quit -not -and -a -or -o -depth -mount -xdev -follow "
    "-daystart -nouser -nogroup"
)
FIND_VALUED = _words(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -mmin -atime -amin -ctime -cmin "
    "-newer "
    "-anewer -cnewer -newermt -maxdepth -mindepth -perm -user -group -uid -gid -links -inum -samefile -lname -ilname -printf"
)
FIND_OPTIONS = _words("-H -L -P")

_LOG = Command(
    flags="pucsizwbMCE",
    valued="SGnLU",
    long=_words(
        "oneline stat shortstat numstat name-only name-status summary patch no-patch graph all branches tags remotes reverse follow "
        "merges no-merges "
        "first-parent decorate no-decorate abbrev-commit no-abbrev-commit full-history topo-order date-order no-color raw word-diff "
        "cached staged minimal "
        "patience histogram no-renames ignore-all-space ignore-space-change ignore-blank-lines relative-date no-notes check full-index cc "
        "left-right "
        "cherry-pick no-walk dirstat compact-summary pretty abbrev color find-renames decorate relative unified function-context "
        "pickaxe-regex pickaxe-all regexp-ignore-case extended-regexp fixed-strings all-match "
        "invert-grep quiet exit-code root"
    ),
    long_valued=_words(
        "format pretty date since until after before author committer grep max-count skip abbrev diff-filter decorate-refs unified color "
        "stat word-diff "
        "find-renames diff-algorithm decorate relative max-parents min-parents diff-merges inter-hunk-context"
    ),
    numbers=True,
)

GIT = {
    "log": _LOG,
    "show": _LOG,
    "diff": _LOG,
    "status": Command(
        flags="sbuvz",
        long=_words("short branch porcelain long show-stash untracked-files ignored null no-renames"),
        long_valued=_words("porcelain untracked-files"),
    ),
    "blame": Command(
        flags="lstfnewMC",
        valued="L",
        long=_words("porcelain line-porcelain root show-name show-number show-email"),
        long_valued=_words("date since abbrev"),
    ),
    "ls-files": Command(
        flags="cdmoiskutvz",
        valued="x",
        long=_words("cached deleted modified others stage unmerged exclude-standard full-name error-unmatch"),
        long_valued=_words("exclude"),
    ),
    "rev-parse": Command(long=_words("show-toplevel abbrev-ref short verify git-dir is-inside-work-tree")),
}
"""The `git` commands that inspect the history and the working tree."""

GIT_FORCED = {
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
