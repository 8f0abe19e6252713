"""The read-only commands, and for each the read-only flags. What is not listed is
refused (FK-4).
"""

from __future__ import annotations

from msgspec import Struct

from memorist.core.text_analysis import parse_word_list


class ReadOnlyCommandRules(Struct, frozen=True, kw_only=True):
    """The words that a command accepts.

    `flags` are single letters without a value, `valued` those with one; `long_options` and
    `long_valued` the same for `--name`. A name in both takes a value only after `=`. `max_operands`
    limits the number of operands (None: any number).
    """

    flags: str = ""
    valued: str = ""
    long_options: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    max_operands: int | None = None
    takes_number_flag: bool = False
    """Whether `-12` is a flag (`head -12`)."""
    takes_any_words: bool = False
    """Whether every word is plain text (`echo`)."""


COMMAND_RULES = {
    "ls": ReadOnlyCommandRules(
        flags="1AaBCcdFfGghHiklLmNnopqQrRsStTuUvwxXZ",
        long_options=parse_word_list(
            "all almost-all human-readable recursive reverse directory size full-time"
        ),
    ),
    "cat": ReadOnlyCommandRules(
        flags="AbeEnstTuv",
        long_options=parse_word_list(
            "number number-nonblank squeeze-blank show-all show-ends show-tabs"
        ),
    ),
    "tac": ReadOnlyCommandRules(),
    "nl": ReadOnlyCommandRules(flags="p", valued="bdfhilnsvw"),
    "head": ReadOnlyCommandRules(
        flags="qvz",
        valued="nc",
        long_options=parse_word_list("quiet verbose"),
        long_valued=parse_word_list("lines bytes"),
        takes_number_flag=True,
    ),
    "tail": ReadOnlyCommandRules(
        flags="qvz",
        valued="nc",
        long_options=parse_word_list("quiet verbose"),
        long_valued=parse_word_list("lines bytes"),
        takes_number_flag=True,
    ),
    "wc": ReadOnlyCommandRules(
        flags="clLmw", long_options=parse_word_list("bytes chars lines words max-line-length")
    ),
    "grep": ReadOnlyCommandRules(
        flags="EFGPivwxcLlqshHnobTrRaI",
        valued="eABCmd",
        long_options=parse_word_list(
            "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case "
            "invert-match word-regexp line-regexp count files-with-matches files-without-match "
            "quiet silent no-messages with-filename no-filename line-number only-matching "
            "byte-offset recursive text null color"
        ),
        long_valued=parse_word_list(
            "regexp after-context before-context context max-count include exclude exclude-dir "
            "color label binary-files"
        ),
        takes_number_flag=True,
    ),
    "rg": ReadOnlyCommandRules(
        flags="FivwxclnNoHIPsSUu0aqLp.",
        valued="eABCmgtTMdjr",
        long_options=parse_word_list(
            "fixed-strings ignore-case smart-case case-sensitive invert-match word-regexp "
            "line-regexp count count-matches files-with-matches files-without-match line-number "
            "no-line-number only-matching with-filename no-filename pcre2 multiline hidden "
            "no-ignore no-heading heading files json stats quiet null text trim vimgrep type-list "
            "no-config column"
        ),
        long_valued=parse_word_list(
            "regexp after-context before-context context max-count glob iglob type type-not "
            "max-columns max-depth maxdepth max-filesize color sort sortr threads replace"
        ),
    ),
    "stat": ReadOnlyCommandRules(
        flags="Lft",
        valued="c",
        long_options=parse_word_list("dereference file-system terse"),
        long_valued=parse_word_list("format printf"),
    ),
    "file": ReadOnlyCommandRules(
        flags="bhikLNr0",
        long_options=parse_word_list(
            "brief mime mime-type mime-encoding dereference no-dereference"
        ),
    ),
    "du": ReadOnlyCommandRules(
        flags="0abcDhHklLmsSx",
        valued="dBt",
        long_options=parse_word_list("all bytes total human-readable summarize apparent-size"),
        long_valued=parse_word_list("max-depth exclude"),
    ),
    "pwd": ReadOnlyCommandRules(flags="LP", max_operands=0),
    "echo": ReadOnlyCommandRules(takes_any_words=True),
    "sort": ReadOnlyCommandRules(
        flags="bdfghiMnRrVsuzcCm",
        valued="kt",
        long_options=parse_word_list(
            "ignore-case numeric-sort human-numeric-sort reverse unique version-sort stable "
            "general-numeric-sort month-sort"
        ),
        long_valued=parse_word_list("key field-separator"),
    ),
    "uniq": ReadOnlyCommandRules(
        flags="cdDiuz",
        valued="fsw",
        long_options=parse_word_list("count repeated unique ignore-case"),
        max_operands=1,
    ),
    "cut": ReadOnlyCommandRules(
        flags="nsz",
        valued="bcdf",
        long_options=parse_word_list("only-delimited complement"),
        long_valued=parse_word_list("bytes characters fields delimiter output-delimiter"),
    ),
    "tr": ReadOnlyCommandRules(
        flags="cCdst",
        long_options=parse_word_list("complement delete squeeze-repeats truncate-set1"),
        max_operands=2,
    ),
    "diff": ReadOnlyCommandRules(
        flags="qsruNwbBiyaEtdTpcen",
        valued="UCWxI",
        long_options=parse_word_list(
            "brief recursive unified new-file ignore-case ignore-all-space ignore-space-change "
            "ignore-blank-lines side-by-side minimal text"
        ),
        long_valued=parse_word_list("unified context width exclude color label"),
    ),
    "cmp": ReadOnlyCommandRules(
        flags="bls", long_options=parse_word_list("verbose silent quiet print-bytes")
    ),
    "basename": ReadOnlyCommandRules(flags="az", valued="s"),
    "dirname": ReadOnlyCommandRules(flags="z"),
    "realpath": ReadOnlyCommandRules(flags="ePLmqsz"),
    "readlink": ReadOnlyCommandRules(flags="efmnqsvz"),
    "sha256sum": ReadOnlyCommandRules(flags="bt"),
    "md5sum": ReadOnlyCommandRules(flags="bt"),
    "date": ReadOnlyCommandRules(
        flags="uRI",
        valued="dr",
        long_options=parse_word_list("utc universal rfc-email iso-8601"),
        long_valued=parse_word_list("date reference iso-8601 rfc-3339"),
    ),
    "true": ReadOnlyCommandRules(max_operands=0),
    "false": ReadOnlyCommandRules(max_operands=0),
}
"""Every command but `find` and `git`, which have a grammar of their own. GNU and BSD spellings of
the read-only flags.
"""


FIND_TESTS = parse_word_list(
    "-empty -readable -writable -executable -true -false -print -print0 -ls -prune -quit -not -and "
    "-a -or -o -depth -mount -xdev -follow -daystart -nouser -nogroup"
)


FIND_VALUE_TESTS = parse_word_list(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size "
    "-mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -newermt -maxdepth -mindepth "
    "-perm -user -group -uid -gid -links -inum -samefile -lname -ilname -printf"
)


FIND_OPTIONS = parse_word_list("-H -L -P")


_GIT_LOG_RULES = ReadOnlyCommandRules(
    flags="pucsizwbMCE",
    valued="SGnLU",
    long_options=parse_word_list(
        "oneline stat shortstat numstat name-only name-status summary patch no-patch graph all "
        "branches tags remotes reverse follow merges no-merges first-parent decorate no-decorate "
        "abbrev-commit no-abbrev-commit full-history topo-order date-order no-color raw word-diff "
        "cached staged minimal patience histogram no-renames ignore-all-space ignore-space-change "
        "ignore-blank-lines relative-date no-notes check full-index cc left-right cherry-pick "
        "no-walk dirstat compact-summary pretty abbrev color find-renames decorate relative "
        "unified function-context pickaxe-regex pickaxe-all regexp-ignore-case extended-regexp "
        "fixed-strings all-match invert-grep quiet exit-code root"
    ),
    long_valued=parse_word_list(
        "format pretty date since until after before author committer grep max-count skip abbrev "
        "diff-filter decorate-refs unified color stat word-diff find-renames diff-algorithm "
        "decorate relative max-parents min-parents diff-merges inter-hunk-context"
    ),
    takes_number_flag=True,
)


GIT_COMMANDS = {
    "log": _GIT_LOG_RULES,
    "show": _GIT_LOG_RULES,
    "diff": _GIT_LOG_RULES,
    "status": ReadOnlyCommandRules(
        flags="sbuvz",
        long_options=parse_word_list(
            "short branch porcelain long show-stash untracked-files ignored null no-renames"
        ),
        long_valued=parse_word_list("porcelain untracked-files"),
    ),
    "blame": ReadOnlyCommandRules(
        flags="lstfnewMC",
        valued="L",
        long_options=parse_word_list(
            "porcelain line-porcelain root show-name show-number show-email"
        ),
        long_valued=parse_word_list("date since abbrev"),
    ),
    "ls-files": ReadOnlyCommandRules(
        flags="cdmoiskutvz",
        valued="x",
        long_options=parse_word_list(
            "cached deleted modified others stage unmerged exclude-standard full-name error-unmatch"
        ),
        long_valued=parse_word_list("exclude"),
    ),
    "rev-parse": ReadOnlyCommandRules(
        long_options=parse_word_list(
            "show-toplevel abbrev-ref short verify git-dir is-inside-work-tree"
        )
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
