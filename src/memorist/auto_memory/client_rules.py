"""What an agent's own instruction files say beside the memories: the same rule, or the opposite.

Pure. Only lines that stand for themselves are rules: what a heading, a lead-in or a parent entry
limits (`## Legacy app`, `Never:`), an example, a quotation and a struck-out line are none. In doubt
a line is no rule, so that no memory is left out for one that says less.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.statement_comparison import (
    OPPOSED,
    StatementRelation,
    compare_statements,
    expand_statement_words,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.markdown import mark_fenced_code
from memorist.core.text_analysis import parse_word_list

MAX_RULES = 2_000
"""Rules of all files that are compared. Our choice."""
MAX_RULE_CHARS = 400
"""Longest line in characters that is taken for one rule; a longer one explains. Our choice."""
MAX_NEAR_RULES = 20
"""Rules that one memory is compared with: those with most words in common. Our choice."""
MAX_COMPARISONS = 4_000
"""Comparisons of a memory with a rule at once, at most about a second: as many as the lines of an
index need. What comes after them is taken to be in no file. Our choice.
"""
_MAX_LINE_CHARS = 1_000
"""Longest line that is read; a longer one counts as one that limits what follows it."""
PLAIN_HEADINGS = parse_word_list(
    """
             a agent agents also always and answer answers architecture assistant basics behavior
    behaviour build building claude claude.md agents.md code coding collaboration command
    commands commit commits communication configuration contributing convention conventions
    dependencies dependency dev developer developers development do docs documentation
    engineering environment formatting general git guide guideline guidelines how important
    indentation installation instruction instructions language languages linting main manager
    managers memories memory must naming note notes of package packages personal practices
    preference preferences principles process profile project quality quick read repo repository
    requirement requirements response responses rule rules said says set setup spelling standard
    standards standing start stated structure style team test testing tests the this to tone tool
    tooling tools user user's user’s users using versioning we with work workflow workflows working
    writing your
    """
)
"""Words of a heading that limits nothing below it. Our choice, from headings of instruction files
as people write them; under a heading with any other word nothing is compared.
"""

_HEADING = lazy_pattern(r"^(?P<marks>#{1,6})\s+(?P<title>.*?)\s*#*\s*$")
_ENTRY = lazy_pattern(r"^(?P<indent>\s*)(?:[-*+]|\d{1,3}[.)])\s+(?P<text>.*)$")
_NO_RULE = lazy_pattern(r"^\s*(?:>|\||<|\[[ xX]\]|@\S|[-*_]{3,}\s*$|!\[)|~~")
_ALARM = lazy_pattern(r"^(?:important|note|critical|must|attention)\s*[:!]\s*", re.IGNORECASE)
_EMPHASIS = lazy_pattern(r"\*\*|__")
_HEADING_WORD = lazy_pattern(r"[^\W_][\w.'’-]*")
_NEGATED = lazy_pattern(r"\b(?:no|not|never|avoid|without|don['’]?t)\b", re.IGNORECASE)


class ClientRule(Struct, frozen=True):
    """One rule of a file of an agent."""

    source: str
    """The file, as a reader knows it: `CLAUDE.md`, `~/.codex/AGENTS.md`."""
    text: str
    """The line, without its marks."""
    is_loaded: bool = True
    """Whether the agent surely has it in its context; false for what it may leave out."""


class ClientRuleComparison(Struct, frozen=True):
    """What the files of an agent say to one memory."""

    same: ClientRule | None = None
    """The rule that says the same."""
    otherwise: ClientRule | None = None
    """The rule that says the opposite of the memory, or of a part of it."""
    is_repeated: bool = False
    """Whether the very same rule is in the agent's context already."""


def find_rules_without_stated_condition(
    source: str, text: str, *, is_loaded: bool = True
) -> Iterator[ClientRule]:
    """Yield the rules of an instruction file that hold without a condition: lines that no lead-in
    or heading limits to a case.
    """
    limits: dict[int, bool] = {}
    lead_in = False
    for block in _split_blocks(text):
        heading = _HEADING.match(block)
        if heading is not None:
            level, lead_in = len(heading["marks"]), False
            limits = {each: limit for each, limit in limits.items() if each < level}
            limits[level] = _is_limiting(heading["title"], is_title=level == 1)
            continue
        entry = _ENTRY.match(block)
        said = _clean(entry["text"] if entry is not None else block)
        if said.endswith((":", "：")):
            # What an entry leads in to is indented; what a paragraph does, follows it.
            lead_in = _is_limiting(said) if entry is None else lead_in
            continue
        if entry is None:
            lead_in = False
        alone = entry is None or not entry["indent"]
        if alone and not lead_in and not any(limits.values()) and _is_rule(said):
            yield ClientRule(source, said, is_loaded)


def _is_limiting(title: str, *, is_title: bool = False) -> bool:
    """Whether a heading or lead-in limits or turns round what is below it."""
    if is_title:  # the file's own title names the project
        return bool(_NEGATED.search(title))
    words = [word.casefold() for word in _HEADING_WORD.findall(title)]
    return not words or any(word not in PLAIN_HEADINGS for word in words)


def _is_rule(said: str) -> bool:
    return 0 < len(said) <= MAX_RULE_CHARS and not _NO_RULE.search(said) and said[-1] != "?"


def _clean(line: str) -> str:
    return _ALARM.sub("", _EMPHASIS.sub("", line).strip())


def _split_blocks(text: str) -> Iterator[str]:
    """Yield headings, list entries and paragraphs, each on one line, without fenced code."""
    block: list[str] = []
    for whole, fenced in mark_fenced_code(text.splitlines()):
        line = whole if len(whole) <= _MAX_LINE_CHARS else "## …" if whole[0] == "#" else "…:"
        if fenced or not line.strip() or _HEADING.match(line) or _ENTRY.match(line):
            if block:
                yield " ".join(block)
            block = []
        if fenced or not line.strip():
            continue
        if _HEADING.match(line):
            yield line
        else:
            block.append(line.rstrip() if not block else line.strip())
    if block:
        yield " ".join(block)


def compare_memories_with_client_rules(
    sayings: Mapping[str, str], rules: Sequence[ClientRule]
) -> dict[str, ClientRuleComparison]:
    """What the rules say to each memory, by its path; memories to which they say nothing are left
    out. `sayings` holds what each memory says, by path.
    """
    if not sayings or not rules:
        return {}
    postings: dict[str, list[int]] = defaultdict(list)
    for at, rule in enumerate(rules[:MAX_RULES]):
        for word in expand_statement_words(rule.text):
            postings[word].append(at)
    found: dict[str, ClientRuleComparison] = {}
    room = MAX_COMPARISONS
    for path, said in sayings.items():
        shared = Counter(
            at for word in expand_statement_words(said) for at in postings.get(word, ())
        )
        near = [rules[at] for at, _ in shared.most_common(min(MAX_NEAR_RULES, room))]
        room -= len(near)
        matches = _compare_rules(said, near)
        if matches != ClientRuleComparison():
            found[path] = matches
    return found


def _compare_rules(said: str, near: Sequence[ClientRule]) -> ClientRuleComparison:
    agreements = [(compare_statements(said, rule.text), rule) for rule in near]
    same = [
        pair
        for pair in agreements
        if pair[0] in (StatementRelation.SAME, StatementRelation.RESTATED)
    ]
    otherwise = next((rule for how, rule in agreements if how in OPPOSED), None)
    repeated = [rule for how, rule in same if how is StatementRelation.SAME and rule.is_loaded]
    return ClientRuleComparison(
        same=next(iter(repeated or [rule for _, rule in same]), None),
        otherwise=otherwise,
        # Where the files contradict themselves, the user's word is not left out.
        is_repeated=bool(repeated) and otherwise is None,
    )
