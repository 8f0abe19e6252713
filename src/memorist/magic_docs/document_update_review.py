"""Decide whether a change of a Magic Doc may be written. Pure (MD-2, SF-1, SF-2).

The file is the user's own, and others read it as such. So what a model made of it passes only if
header and instruction are unchanged and it holds no new secret, nothing invisible, and no order or
permission from elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from msgspec import Struct

from memorist.auto_memory.write_evidence import WriteEvidence, find_borrowed_sentences
from memorist.magic_docs.document_header import MagicDocHeader, find_magic_doc_header
from memorist.safety.hidden_characters import find_hidden_characters
from memorist.safety.instruction_detection import contains_instruction, may_instruct_reader
from memorist.safety.permission_claims import (
    claims_permission,
    grants_permission,
    may_instruct_or_permit_reader,
    waives_confirmation,
)
from memorist.safety.prompt_injection import find_injection_rules
from memorist.safety.secrets import find_secrets
from memorist.transcript_analysis.answer_check import AnswerLineChecker
from memorist.transcript_analysis.names_in_text import NameOccurrenceLookup, find_recognizable_names

MIN_WORDS_FOR_SHRINK_CHECK = 60
"""Words of a document from which its shrinking is checked. Our choice."""
MIN_REMAINING_SHARE = 0.25
"""Smallest share of them that one update may leave: less is a document lost, not outdated lines
removed. Our choice.
"""

SOURCE_PIECE_CHARACTERS = 10_000
"""Characters of a source compared at once; the words of such short sources are remembered
(auto_memory/evidence.py). Our choice.
"""
PIECE_OVERLAP_CHARACTERS = 200
"""Characters that two pieces share, so that a run of words is whole in one of them."""

_COMMENT_EDGE = re.compile(r"<!--|-->")
_PATH = re.compile(r"`([\w.@+-]+(?:/[\w.@+-]+)+/?)`")


class MagicDocument(Struct, frozen=True):
    """A Magic Doc as it is."""

    text: str
    header: MagicDocHeader

    @property
    def body(self) -> str:
        """The text below header and instruction."""
        return self.text[len(self.header.frame) :]


class AcceptedDocumentUpdate(Struct, frozen=True):
    """The change may be written, as these bytes."""

    data: bytes


class RejectedDocumentUpdate(Struct, frozen=True):
    """The change is rejected."""

    reasons: tuple[str, ...]


class UnchangedDocumentUpdate(Struct, frozen=True):
    """The change says nothing new, and is not written."""


def parse_updatable_magic_document(data: bytes, max_bytes: int) -> MagicDocument | str:
    """Parse the document, or return why it cannot be updated; the empty text if it is not a Magic
    Doc.
    """
    text = data.decode("utf-8", "replace")
    header = find_magic_doc_header(text)
    if header is None:
        return ""
    if len(data) > max_bytes:
        return f"it is larger than {max_bytes:,} bytes; split it, or raise magic_docs.max_bytes"
    if "\0" in text or text.encode("utf-8") != data:
        return "it is not UTF-8 text; save it as UTF-8"
    return MagicDocument(text, header)


def judge_document_update(
    before: MagicDocument, data: bytes, evidence: WriteEvidence, max_bytes: int
) -> AcceptedDocumentUpdate | RejectedDocumentUpdate | UnchangedDocumentUpdate:
    """Judge the bytes that a fork made of a document.

    `evidence` is what the conversation holds, by speaker.
    """
    try:
        after = preserve_line_endings(before.text, data.decode("utf-8"))
    except UnicodeDecodeError:
        return RejectedDocumentUpdate(("it would not be UTF-8 text",))
    if after.split() == before.text.split():
        return UnchangedDocumentUpdate()
    encoded = after.encode("utf-8")
    if not after.startswith(before.header.frame) or find_magic_doc_header(after) != before.header:
        return RejectedDocumentUpdate(
            ("it would change the title, the instruction under it, or what stands above them",)
        )
    body = after[len(before.header.frame) :]
    added, removed = find_added_and_removed_lines(before.body, body)
    reasons = (
        *_size_problems(before, body, len(encoded), max_bytes),
        *_secret_problems(before.text, after),
        *_hidden_character_problems(added, removed),
        *_order_problems(before, added, removed, evidence),
    )
    return RejectedDocumentUpdate(reasons) if reasons else AcceptedDocumentUpdate(encoded)


MIN_KEPT_SHARE = 0.5
"""Share of the lines that the model was not shown again which its version must keep. Our choice: an
edit changes a few of them, a whole document written anew from what was shown has none.
"""


def explain_unseen_part_loss(before: str, shown: str, after: str) -> str:
    """Why a new text is not taken of which the model was shown only a part (`elide_seen_sections`):
    it holds the marks of what was cut, or lacks it. Empty where neither is so.
    """
    whole, visible, new = (
        {line.strip() for line in text.splitlines() if line.strip()}
        for text in (before, shown, after)
    )
    if (visible - whole) & new:
        return "it would put … in place of a part of the document"
    unseen = whole - visible
    if len(unseen & new) < MIN_KEPT_SHARE * len(unseen):
        return "it would lose most of what the model had read before"
    return ""


def preserve_line_endings(before: str, after: str) -> str:
    """Return the new text with the old line ends, and the old end of the last line.

    Mixed line ends stay as they are.
    """
    plain = before.replace("\r\n", "")
    end = "\n"
    if "\r\n" not in before:
        after = after.replace("\r\n", "\n")
    elif "\n" not in plain:
        end = "\r\n"
        after = after.replace("\r\n", "\n").replace("\n", "\r\n")
    return after + end if before.endswith("\n") and not after.endswith("\n") else after


def find_added_and_removed_lines(before: str, after: str) -> tuple[str, str]:
    """Return the added and the removed lines, each in order."""
    old, new = before.splitlines(), after.splitlines()
    return "\n".join(_lines_beyond(new, Counter(old))), "\n".join(_lines_beyond(old, Counter(new)))


def _lines_beyond(lines: list[str], known: Counter[str]) -> list[str]:
    found = []
    for line in lines:
        if known[line]:
            known[line] -= 1
        else:
            found.append(line)
    return found


def find_new_paths(before: str, after: str) -> tuple[str, ...]:
    """Return paths in backticks that only the new text names, verbatim: something that can be
    looked up.
    """
    known = set(_PATH.findall(before))
    return tuple(
        dict.fromkeys(
            path
            for path in _PATH.findall(after)
            if path not in known and ".." not in path.split("/")
        )
    )


def _split_source(source: str) -> list[str]:
    return [
        source[max(0, start - PIECE_OVERLAP_CHARACTERS) : start + SOURCE_PIECE_CHARACTERS]
        for start in range(0, len(source), SOURCE_PIECE_CHARACTERS)
    ]


def _find_binding_test(before: MagicDocument) -> Callable[[str], bool]:
    """What tells whether a text may bind its reader. In a document of a language that no rule
    reads, only signs count; in others a text in such a language is one itself.
    """

    def has_signs(text: str) -> bool:
        return contains_instruction(text) or waives_confirmation(text) or claims_permission(text)

    if may_instruct_reader(before.body) and not contains_instruction(before.body):
        return has_signs
    return may_instruct_or_permit_reader


def _size_problems(before: MagicDocument, body: str, size: int, max_bytes: int) -> tuple[str, ...]:
    old, new = len(before.body.split()), len(body.split())
    checks = (
        (size > max_bytes, f"it would be larger than {max_bytes:,} bytes"),
        (bool(old) and not new, "it would be empty"),
        (
            old >= MIN_WORDS_FOR_SHRINK_CHECK and 0 < new < old * MIN_REMAINING_SHARE,
            "it would lose more than three quarters of its text at once",
        ),
    )
    return tuple(reason for found, reason in checks if found)


def _secret_problems(before: str, after: str) -> tuple[str, ...]:
    """New secrets only; what the user has in the file is the user's choice."""
    rules = {
        finding.rule
        for finding in find_secrets(after)
        if after[finding.start : finding.end] not in before
    }
    return tuple(f"it would hold what looks like a secret ({rule})" for rule in sorted(rules))


def _hidden_character_problems(added: str, removed: str) -> tuple[str, ...]:
    if len(find_hidden_characters(added)) > len(find_hidden_characters(removed)):
        return ("it would hold characters that cannot be seen",)
    return ()


def _order_problems(
    before: MagicDocument, added: str, removed: str, said: WriteEvidence
) -> tuple[str, ...]:
    """New lines that read like a planted order, bind the reader with words from elsewhere, or
    permit something the user did not.
    """
    signs = find_injection_rules(added) - find_injection_rules(removed)
    reasons = [f"it reads like an order planted for an agent ({sign})" for sign in sorted(signs)]
    # What the file says already was put there by the user, also where a tool has just printed it.
    own = WriteEvidence(
        session=said.session,
        user_messages=(*said.user_messages, ("", before.text)),
        outside_texts=tuple(
            piece for source in said.outside_texts for piece in _split_source(source)
        ),
    )
    is_binding = _find_binding_test(before)
    parts = added
    for line in filter(str.strip, removed.splitlines()):
        parts = parts.replace(line, "\n")  # an order before or after a line that stays a sentence
    # The whole lines too: a removed line of one letter takes every order apart.
    lines = _COMMENT_EDGE.sub("\n", f"{added}\n{parts}").splitlines()
    binding = "\n".join(line for line in lines if is_binding(line))
    if binding and any(map(is_binding, find_borrowed_sentences(binding, own))):
        reasons.append(
            "it tells the reader what to do in words that came from a tool, a web page or "
            "another agent"
        )
    typed = "\n".join(text for _, text in said.user_messages)
    if grants_permission(added) and not grants_permission(removed) and not grants_permission(typed):
        reasons.append("it permits something in a person's name, and the person did not say so")
    return tuple(reasons)


def explain_unsupported_name_changes(
    document: MagicDocument, data: bytes, conversation: str
) -> tuple[str, ...]:
    """Return why the names in the bytes that a fork made of a document speak against them: a name
    that it takes out though the conversation says nothing of it, a file or identifier that stands
    neither there nor in the document, a number that does not or is under another name there.
    `conversation` is all of its text, with calls and results.
    """
    before, after = document.text, data.decode("utf-8", "replace")
    present, mentioned = NameOccurrenceLookup(after), NameOccurrenceLookup(conversation)
    lost = (
        name
        for name in sorted(find_recognizable_names(document.body))
        if not (present[name] or mentioned[name] or mentioned[re.split(r"/|::|->", name)[-1]])
    )
    check = AnswerLineChecker(f"{conversation}\n{before}", "")
    added, _ = find_added_and_removed_lines(before, after)
    lines = added.splitlines()
    invented = filter(None, map(check.find_invented_name, lines))
    misplaced = filter(None, map(check.find_misplaced_value, lines))
    return (
        *(f"it would take out {name}, of which the conversation says nothing" for name in lost),
        *(f"it would name {name}, which stands nowhere in the conversation" for name in invented),
        *(f"a line of it {fault}" for fault in misplaced),
    )[:MAX_NAME_PROBLEMS]


MAX_NAME_PROBLEMS = 3
"""Names that a refusal tells: enough for the next attempt."""
