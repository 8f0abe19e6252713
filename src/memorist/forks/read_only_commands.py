"""The read-only commands, and for each the read-only flags. What is not listed is
refused (FK-4).
"""

from __future__ import annotations

from msgspec import Struct

from memorist.core.text_analysis import parse_word_list


class AllowedReadOnlyCommandArguments(Struct, frozen=True, kw_only=True):
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


def _parse_usage(words: list[str]) -> AllowedReadOnlyCommandArguments:
    """The rules of one line of a table: `-ab` are flags, `-c=` one with a value, `--name[=]` an
    option whose value is optional, `WORDS<=1` the most operands.
    """
    long = [word[2:] for word in words if word.startswith("--")]
    short = [word[1:] for word in words if word[0] == "-" and word[1] != "-" and word != "-NUMBER"]
    limits = [int(word[7:]) for word in words if word.startswith("WORDS<=")]
    return AllowedReadOnlyCommandArguments(
        flags="".join(each for each in short if not each.endswith("=")),
        valued="".join(each[:-1] for each in short if each.endswith("=")),
        long_options=frozenset(each.removesuffix("[=]") for each in long if not each.endswith("=")),
        long_valued=frozenset(each.rstrip("[]=") for each in long if each[-1] in "=]"),
        max_operands=limits[0] if limits else None,
        takes_number_flag="-NUMBER" in words,
        takes_any_words="WORDS" in words,
    )


def _parse_usage_table(table: str) -> dict[str, AllowedReadOnlyCommandArguments]:
    """The rules by command; `a|b: …` are those of both."""
    lines = table.strip().replace("\n        ", " ").splitlines()
    rows = (line.split(":", 1) for line in lines)
    return {
        name: rules
        for names, words in rows
        for rules in [_parse_usage(words.split())]
        for name in names.strip().split("|")
    }


COMMAND_RULES = _parse_usage_table("""
    ls: -1AaBCcdFfGghHiklLmNnopqQrRsStTuUvwxXZ --all --almost-all --directory --full-time
        --human-readable --recursive --reverse --size
    cat: -AbeEnstTuv --number --number-nonblank --show-all --show-ends --show-tabs
        --squeeze-blank
    tac:
    nl: -p -bdfhilnsvw=
    head: -NUMBER -qvz -nc= --quiet --verbose --bytes= --lines=
    tail: -NUMBER -qvz -nc= --quiet --verbose --bytes= --lines=
    wc: -clLmw --bytes --chars --lines --max-line-length --words
    grep: -NUMBER -EFGPivwxcLlqshHnobTrRaI -eABCmd= --basic-regexp --byte-offset --count
        --extended-regexp --files-with-matches --files-without-match --fixed-strings
        --ignore-case --invert-match --line-number --line-regexp --no-filename
        --no-ignore-case --no-messages --null --only-matching --perl-regexp --quiet
        --recursive --silent --text --with-filename --word-regexp --color[=]
        --after-context= --before-context= --binary-files= --context= --exclude=
        --exclude-dir= --include= --label= --max-count= --regexp=
    rg: -FivwxclnNoHIPsSUu0aqLp. -eABCmgtTMdjr= --case-sensitive --column --count
        --count-matches --files --files-with-matches --files-without-match --fixed-strings
        --heading --hidden --ignore-case --invert-match --json --line-number --line-regexp
        --multiline --no-config --no-filename --no-heading --no-ignore --no-line-number
        --null --only-matching --pcre2 --quiet --smart-case --stats --text --trim
        --type-list --vimgrep --with-filename --word-regexp --after-context=
        --before-context= --color= --context= --glob= --iglob= --max-columns= --max-count=
        --max-depth= --max-filesize= --maxdepth= --regexp= --replace= --sort= --sortr=
        --threads= --type= --type-not=
    stat: -Lft -c= --dereference --file-system --terse --format= --printf=
    file: -bhikLNr0 --brief --dereference --mime --mime-encoding --mime-type
        --no-dereference
    du: -0abcDhHklLmsSx -dBt= --all --apparent-size --bytes --human-readable --summarize
        --total --exclude= --max-depth=
    pwd: WORDS<=0 -LP
    echo: WORDS
    sort: -bdfghiMnRrVsuzcCm -kt= --general-numeric-sort --human-numeric-sort --ignore-case
        --month-sort --numeric-sort --reverse --stable --unique --version-sort
        --field-separator= --key=
    uniq: WORDS<=1 -cdDiuz -fsw= --count --ignore-case --repeated --unique
    cut: -nsz -bcdf= --complement --only-delimited --bytes= --characters= --delimiter=
        --fields= --output-delimiter=
    tr: WORDS<=2 -cCdst --complement --delete --squeeze-repeats --truncate-set1
    diff: -qsruNwbBiyaEtdTpcen -UCWxI= --brief --ignore-all-space --ignore-blank-lines
        --ignore-case --ignore-space-change --minimal --new-file --recursive --side-by-side
        --text --unified[=] --color= --context= --exclude= --label= --width=
    cmp: -bls --print-bytes --quiet --silent --verbose
    basename: -az -s=
    dirname: -z
    realpath: -ePLmqsz
    readlink: -efmnqsvz
    sha256sum: -bt
    md5sum: -bt
    date: -uRI -dr= --rfc-email --universal --utc --iso-8601[=] --date= --reference=
        --rfc-3339=
    true: WORDS<=0
    false: WORDS<=0
""")
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


GIT_COMMANDS = _parse_usage_table("""
    log|show|diff: -NUMBER -pucsizwbMCE -SGnLU= --abbrev-commit --all --all-match --branches
        --cached --cc --check --cherry-pick --compact-summary --date-order --dirstat
        --exit-code --extended-regexp --first-parent --fixed-strings --follow --full-history
        --full-index --function-context --graph --histogram --ignore-all-space
        --ignore-blank-lines --ignore-space-change --invert-grep --left-right --merges
        --minimal --name-only --name-status --no-abbrev-commit --no-color --no-decorate
        --no-merges --no-notes --no-patch --no-renames --no-walk --numstat --oneline --patch
        --patience --pickaxe-all --pickaxe-regex --quiet --raw --regexp-ignore-case
        --relative-date --remotes --reverse --root --shortstat --staged --summary --tags
        --topo-order --abbrev[=] --color[=] --decorate[=] --find-renames[=] --pretty[=]
        --relative[=] --stat[=] --unified[=] --word-diff[=] --after= --author= --before=
        --committer= --date= --decorate-refs= --diff-algorithm= --diff-filter=
        --diff-merges= --format= --grep= --inter-hunk-context= --max-count= --max-parents=
        --min-parents= --since= --skip= --until=
    status: -sbuvz --branch --ignored --long --no-renames --null --short --show-stash
        --porcelain[=] --untracked-files[=]
    blame: -lstfnewMC -L= --line-porcelain --porcelain --root --show-email --show-name
        --show-number --abbrev= --date= --since=
    ls-files: -cdmoiskutvz -x= --cached --deleted --error-unmatch --exclude-standard
        --full-name --modified --others --stage --unmerged --exclude=
    rev-parse: --abbrev-ref --git-dir --is-inside-work-tree --short --show-toplevel --verify
""")
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
