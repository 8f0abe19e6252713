"""Plain instruction files (`AGENTS.md`, `CLAUDE.md`, `.cursorrules` and the like): their rules, or
the entries of memorist's own section where it wrote one.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from memorist.auto_memory.interop.dialect import (
    DialectExport,
    DialectImport,
    ExportLoss,
    IgnoredImportEntry,
    MemoryDialect,
    add_missing_section_entries,
    build_memory_export_loss,
    create_memory_file_from_entry,
    create_memory_files_from_list,
    decode_text,
    find_section_by_heading,
    find_traits_lost_in_export,
    separate_superseded_memories,
    split_bullets_from_other_lines,
    split_headed_sections,
)
from memorist.auto_memory.memory_file import MemoryFile, MemoryKind
from memorist.auto_memory.statements.non_english_rule_score import (
    score_non_english_rule,
    split_normalized_words,
)
from memorist.auto_memory.statements.prose_rule_score import score_prose_rule
from memorist.auto_memory.statements.sentence_language import is_english
from memorist.auto_memory.statements.statement_filters import is_question_or_supposition
from memorist.auto_memory.statements.unconfirmed_statements import (
    is_sentence_long_enough,
    matches_certain_or_probable_pattern,
)
from memorist.auto_memory.statements.user_prose import ProseSentence, split_prose_sentences
from memorist.core.markdown import mark_fenced_code
from memorist.core.text_encoding import replace_surrogates

INSTRUCTION_FILE_NAMES = frozenset(
    {"agents.md", "agents.override.md", "claude.md", "claude.local.md", "conventions.md"}
    | {"copilot-instructions.md", ".cursorrules", ".windsurfrules", ".clinerules", ".roorules"}
    | {".rules", ".goosehints"}
)
"""In lower case, as agents and editors call them."""
INSTRUCTION_FILE_ENDINGS = (".mdc", ".instructions.md")
"""Of the rules of Cursor and of GitHub Copilot, a file for each topic."""
INSTRUCTION_FILE = "AGENTS.md"
INSTRUCTION_HEADING = "## Memories"
_INSTRUCTION_TRAITS = frozenset({"lines", "links"})


def are_instruction_memory_files(files: Mapping[str, bytes]) -> bool:
    """Whether there is a file with one of the known names."""
    names = (path.rsplit("/", 1)[-1].lower() for path in files)
    return any(
        name in INSTRUCTION_FILE_NAMES or name.endswith(INSTRUCTION_FILE_ENDINGS) for name in names
    )


def read_memories_from_instruction_files(files: Mapping[str, bytes]) -> DialectImport:
    """Read the entries of the section `Memories`, or every rule where there is no such section.

    They say how to work: kind `feedback`.
    """
    topics: list[MemoryFile] = []
    left: list[IgnoredImportEntry] = []
    used_names: dict[str, int] = {}
    for path, data in sorted(files.items()):
        text = decode_text(data)
        start, end = find_section_by_heading(text, INSTRUCTION_HEADING)
        if start >= 0:
            found, others = create_memory_files_from_list(
                text[start:end].split("\n")[1:],
                f"{path}: {INSTRUCTION_HEADING}",
                MemoryKind.FEEDBACK,
                used_names,
            )
            topics, left = topics + found, left + others
            left += (
                [IgnoredImportEntry(path, "instructions outside the section of memories")]
                if (text[:start] + text[end:]).strip()
                else []
            )
            continue
        for part in split_headed_sections(strip_front_matter_and_comments(text)):
            rules, rest = separate_rules_from_other_lines(part.lines)
            topics += [
                create_memory_file_from_entry(rule, MemoryKind.FEEDBACK, used_names)
                for rule in dict.fromkeys(rules)
            ]
            where = f"{path}: {part.title or 'its beginning'}"
            left += [IgnoredImportEntry(where, f"{len(rest)} lines are no rules")] if rest else []
    return DialectImport(topics=tuple(topics), ignored=tuple(left))


_ITEM = re.compile(
    r"(?:(?:[-*+]|\d{1,3}[.)]|[•·▪◦‣])[ \t]+(?:\[[ xX]\][ \t]+)?|(?=[✅❌⚠🚫⛔✔✖☑❗]))"
    r"(?P<text>\S.*)$"
)
"""A list entry at the start of a line: a bullet, a number, a box, or a sign that says enough."""
_ROW = re.compile(r"\|(?P<cells>.+)\|\s*$")
_RULE_BELOW_HEAD = re.compile(r"\|(?:\s*:?-{2,}:?\s*\|)+\s*$")
_QUOTED = re.compile(r">\s?")
_ENDS_SENTENCE = re.compile(r"[.!?:;。！？：；]\W*$")
_INTRODUCES = re.compile(r"[:：]\W*$")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_WORD = re.compile(r"\w")
_NO_RULE = re.compile(
    r"^you are an? "
    r"|\b(?:this (?:file|document) (?:provides|contains|guides|describes|defines|explains)"
    r"|these (?:rules|instructions|guidelines) apply)\b",
    re.IGNORECASE,
)
"""Gives the agent a part, or says what the file is for."""
WRAPPED_CHARS = 60
"""Characters from which a line without an end of sentence goes on in the next one."""


def strip_front_matter_and_comments(text: str) -> str:
    """A text without comments and the YAML header that rule files of editors begin with."""
    if text.startswith("---\n") and (end := text.find("\n---", 3)) >= 0:
        text = text[end + 1 :].partition("\n")[2]
    # Not searched beyond the last end: each mark that opens a comment would be read to the end.
    commented, mark, rest = text.rpartition("-->")
    return _COMMENT.sub("", commented + mark) + rest


def separate_rules_from_other_lines(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The rules among the lines of one section, in order of kind: list entries and rows of tables,
    then sentences of prose that read as rules; and the lines that are neither.
    """
    entries, rest = split_bullets_from_other_lines(list(_as_bullets(lines)))
    others = [each for each in entries if not _WORD.search(each)]
    entries = [each for each in entries if _WORD.search(each)]
    rules: list[str] = []
    for line, fenced in mark_fenced_code(_join_wrapped(rest)):
        found = [] if fenced else _find_rules_in_prose(line)
        rules += found
        others += [] if found else [line]
    return [*entries, *rules], others


def _as_bullets(lines: Sequence[str]) -> Iterator[str]:
    """The lines with every list entry and every row below a table's head as a bullet."""
    in_table = False
    for line, fenced in mark_fenced_code(lines):
        item = None if fenced else _ITEM.match(line)
        row = None if fenced else _ROW.match(line)
        in_table = row is not None and (in_table or _RULE_BELOW_HEAD.match(line) is not None)
        if item:
            yield f"- {item['text']}"
        elif row and in_table and not _RULE_BELOW_HEAD.match(line):
            yield f"- {': '.join(cell.strip() for cell in row['cells'].split('|') if cell.strip())}"
        else:
            yield line


def _join_wrapped(lines: Sequence[str]) -> list[str]:
    """The lines with those that were wrapped put together."""
    joined: list[str] = []
    for line in lines:
        plain = _QUOTED.sub("", line.strip(), count=1) if line.startswith(">") else line.strip()
        goes_on = joined and len(joined[-1]) >= WRAPPED_CHARS
        if goes_on and not _ENDS_SENTENCE.search(joined[-1]) and not plain.startswith(("`", "|")):
            joined[-1] += f" {plain}"
        else:
            joined.append(plain)
    return joined


def _find_rules_in_prose(line: str) -> list[str]:
    plain = replace_surrogates(line.replace("**", ""))
    return [
        sentence.text
        for sentence in split_prose_sentences(plain)
        if is_sentence_long_enough(sentence.masked)
        and not _INTRODUCES.search(sentence.text)
        and not _NO_RULE.search(sentence.text)
        and not is_question_or_supposition(sentence.masked)
        and (matches_certain_or_probable_pattern(sentence) or _reads_as_rule(sentence, plain))
    ]


def _reads_as_rule(sentence: ProseSentence, plain: str) -> bool:
    if score_prose_rule(sentence, plain) >= 0:
        return True
    return (
        not is_english(split_normalized_words(sentence))
        and score_non_english_rule(sentence, plain) >= 0
    )


def build_instruction_memory_export(
    topics: Sequence[MemoryFile], existing_files: Mapping[str, bytes]
) -> DialectExport:
    """Add the memories that the section does not contain yet; all else in the file stays."""
    active, missing = separate_superseded_memories(topics)
    losses: list[ExportLoss] = [*missing]
    for topic in active:
        kind = () if topic.kind in (None, MemoryKind.FEEDBACK) else ("kind",)
        others = (
            each
            for each in find_traits_lost_in_export(topic, _INSTRUCTION_TRAITS)
            if each != "kind"
        )
        losses += build_memory_export_loss(topic, (*kind, *others))
    existing = existing_files.get(INSTRUCTION_FILE, b"")
    entries = [topic.body for topic in active]
    return add_missing_section_entries(
        existing, INSTRUCTION_FILE, INSTRUCTION_HEADING, entries, losses
    )


INSTRUCTIONS = MemoryDialect(
    name="instructions",
    title="Instruction file",
    supported_traits=_INSTRUCTION_TRAITS,
    inspected_paths=(INSTRUCTION_FILE,),
    single_file=INSTRUCTION_FILE,
    recognise=are_instruction_memory_files,
    read=read_memories_from_instruction_files,
    write=build_instruction_memory_export,
)
