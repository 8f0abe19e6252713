"""What a model may see of the memories: each is judged by all that is shown of it, and the index
loses the lines that read like orders (SF-2). Pure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from msgspec.structs import replace

from memorist.auto_memory.memory_file import (
    MEMORIST_KEY,
    MemoryFile,
    Provenance,
    Trust,
    with_provenance,
)
from memorist.auto_memory.memory_index import MemoryIndex, parse_pointer_target
from memorist.auto_memory.merge_conflict import (
    has_merge_conflict,
    is_conflicted_copy,
    parse_merge_conflicts,
)
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.safety.permission_claims import grants_permission, is_injected_order_or_permission
from memorist.safety.prompt_injection import find_injection_rules

USER_TRUST = (Trust.STATED, Trust.REVIEWED)
_KNOWN_HEADER_KEYS = ("name", "description", "type", "pinned", MEMORIST_KEY)
_QUOTED_OR_COMMENT = re.compile(
    r"^[ \t]*(?:-[ \t]+)*(?:[\w.-]+:[ \t]+)?(?:\"(?:[^\"\\]|\\.)*+\"|'(?:[^']|'')*+')"
    r"|(?:^|[ \t])#([^\n]*)$",
    re.MULTILINE | re.DOTALL,
)
"""A quoted value of a header, in which a `#` begins no comment; or a comment, as the group."""
IN_CONFLICT = "it holds a merge conflict of Git: edit it, and leave one of the two versions"
"""Why a memory is withheld of which two versions stand in its file."""
SYNC_COPY = "it is a second version of a memory, left by a sync of files: forget one of them"
"""Why a memory is withheld by its name."""
SEAM_CHARS = 400
"""Characters on both sides of the seam between two memories that are checked together."""


def compute_review_digest(topic: MemoryFile) -> str:
    """Hash all that a memory says, header included and memorist's own marks excluded.

    A memory the user accepted is recognised by it.
    """
    text = with_provenance(topic, Provenance()).text()
    return hashlib.sha256(
        " ".join(encode_file_text_as_utf8(text).decode("utf-8", "replace").split()).encode(
            "utf-8", "replace"
        )
    ).hexdigest()[:32]


def render_all_readable_text(topic: MemoryFile) -> str:
    """Render everything that a reader of the memory sees: name, description, text, other header
    values and comments.
    """
    front = topic.document.front
    if front is None:
        return f"{topic.name}\n{topic.description}\n{topic.body}"
    extra_values = {
        key: value for key, value in front.values.items() if key not in _KNOWN_HEADER_KEYS
    }
    extra_values |= {
        MEMORIST_KEY: {
            key: value
            for key, value in front.mapping_value(MEMORIST_KEY).items()
            if key not in Provenance.__struct_fields__
        }
    }
    remarks = [
        found[1]
        for entry in front.entries
        for found in _QUOTED_OR_COMMENT.finditer(entry.raw)
        if found[1] is not None
    ]
    return "\n".join(
        [
            topic.name,
            topic.description,
            topic.body,
            *(text for text in _header_texts(extra_values) if text != MEMORIST_KEY),
            *remarks,
        ]
    )


def find_planted_orders(topic: MemoryFile) -> tuple[str, ...]:
    """Find signs of a planted order in the file, its parsed header values, and its name."""
    rules = find_injection_rules(topic.text()) | find_injection_rules(_words_of_path(topic.path))
    for value in _header_texts(topic.document.front.values if topic.document.front else {}):
        rules |= find_injection_rules(value)
    return tuple(f"it reads like an order planted for an agent ({rule})" for rule in sorted(rules))


def _words_of_path(path: str) -> str:
    return path.removesuffix(".md").replace("/", " ").replace("-", " ").replace("_", " ")


def _header_texts(value: object) -> Iterator[str]:
    """Yield every string of a header's values."""
    pending = [value]
    while pending:
        found = pending.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, dict):
            pending += [each for pair in found.items() for each in pair]
        elif isinstance(found, list):
            pending += found


def explain_unbacked_permission(topic: MemoryFile, trust: Trust) -> tuple[str, ...]:
    """Report a permission granted in a user's name that no quoted words of the user give."""
    if not grants_permission(render_all_readable_text(topic)) or (
        trust in USER_TRUST and grants_permission(topic.provenance.quote)
    ):
        return ()
    return ("it grants a permission in the user's name, and no quoted words of the user give it",)


def find_memory_suspicions(topic: MemoryFile, trust: Trust | None = None) -> tuple[str, ...]:
    """Find out why a memory on disk is not shown to a model; empty when it may be.

    `trust` overrides the file's own claim where that is not to be believed.
    """
    conflict = (IN_CONFLICT,) if has_merge_conflict(topic.text()) else ()
    copy = (SYNC_COPY,) if is_conflicted_copy(topic.path) else ()
    return (
        *conflict,
        *copy,
        *find_planted_orders(topic),
        *explain_unbacked_permission(topic, topic.provenance.trust if trust is None else trust),
    )


def form_order_together(first: str, second: str) -> bool:
    """Whether two harmless texts form an order where they meet, in either order."""
    seams = (
        f"{first[-SEAM_CHARS:]}\n{second[:SEAM_CHARS]}",
        f"{second[-SEAM_CHARS:]}\n{first[:SEAM_CHARS]}",
    )
    joined = frozenset[str]().union(*map(find_injection_rules, seams))
    return bool(joined and joined - find_injection_rules(first) - find_injection_rules(second))


def filter_visible_index(index: MemoryIndex, is_visible: Callable[[str], bool]) -> MemoryIndex:
    """Filter the index: only lines of memories that a model may see, and no lines that read like
    orders, alone or together.
    """
    lines = drop_planted_order_lines(select_visible_index_lines(index, is_visible))
    text = "\n".join(lines) + "\n" if lines else ""
    listed = tuple(filter(is_visible, index.listed))
    return replace(
        index, text=text, lines=len(lines), size=len(text.encode("utf-8", "replace")), listed=listed
    )


def select_visible_index_lines(
    index: MemoryIndex, is_visible: Callable[[str], bool]
) -> tuple[str, ...]:
    """The lines of an index but for those of memories that a model may not see, and of merge
    conflicts.
    """
    lines = index.text.splitlines()
    disputed = {number for each in parse_merge_conflicts(lines) for number in each.all_lines}
    return tuple(
        line
        for number, line in enumerate(lines)
        if number not in disputed
        and (not (target := parse_pointer_target(line)) or is_visible(target))
    )


@lru_cache(maxsize=8)
def drop_planted_order_lines(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Drop lines that form an order alone or with the three lines before them.

    Where the user's own lines form one only together, all of them are dropped.
    """
    own = "\n".join(line for line in lines if not parse_pointer_target(line))
    # A permission is granted within a sentence, which no line break leaves: the whole tells it too.
    if not (
        is_injected_order_or_permission("\n".join(lines)) or is_injected_order_or_permission(own)
    ):
        return lines
    own = "\n".join(
        line
        for line in lines
        if not parse_pointer_target(line) and not is_injected_order_or_permission(line)
    )
    without_own = is_injected_order_or_permission(own)
    kept: list[str] = []
    for line in lines:
        if (
            is_injected_order_or_permission(line)
            or (without_own and not parse_pointer_target(line))
            or is_injected_order_or_permission("\n".join([*kept[-3:], line]))
        ):
            continue
        kept.append(line)
    return tuple(kept)
