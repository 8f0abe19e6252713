"""Lint a memory folder: every problem with a description and its cure. Pure."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.auto_memory import EVERYWHERE_PREFIX, AutoMemory
from memorist.auto_memory.memory_file import MemoryFile
from memorist.auto_memory.memory_index import MemoryIndex, list_pointer_targets
from memorist.auto_memory.memory_manifest import (
    INDEX_NAME,
    MAX_FILE_BYTES,
    has_misleading_name,
    is_memory_file,
    is_single_line_path,
)
from memorist.auto_memory.merge_conflict import parse_merge_conflicts
from memorist.auto_memory.statement_comparison import find_contradicting_memory_pairs
from memorist.auto_memory.statements.statement_similarity import compute_rule_key, is_same_rule
from memorist.auto_memory.visible_memory import filter_visible_index
from memorist.auto_memory.write_gate import find_unreviewed_memory_suspicions
from memorist.errors import InputError
from memorist.forks.fork_permissions import fold_file_name
from memorist.ports import FileInfo
from memorist.safety.hidden_characters import find_hidden_characters, strip_hidden_characters
from memorist.safety.secrets import find_secrets

SAVE_IN_UTF_8 = "save it in UTF-8 with your editor; the rest of it is used"


class LintProblem(Struct, frozen=True):
    """One finding. `path` is relative to the folder; empty for the folder as a whole."""

    path: str
    what: str
    cure: str


def lint_folder(
    topics: Sequence[MemoryFile],
    files: Sequence[tuple[str, FileInfo]],
    *,
    index_text: str,
    expected_index: MemoryIndex,
    reviewed_digests: Collection[str] = (),
) -> tuple[LintProblem, ...]:
    """Find all problems, sorted by path.

    `index_text` is the index on disk, `expected_index` what would be built from the files,
    `reviewed_digests` the digests of the memories that the user accepted.
    """
    paths = {topic.path for topic in topics}
    found = [
        *_file_problems(files),
        *_name_problems(topics),
        *_index_problems(index_text, expected_index, paths | {path for path, _ in files}),
        *_dropped_line_problems(expected_index, paths),
        *_shared_name_problems(topics),
    ]
    for topic in topics:
        found += _topic_problems(topic, reviewed_digests)
    found += _duplicate_problems(topics)
    found += [
        build_contradiction_problem(topic, other)
        for topic, other in find_contradicting_memory_pairs(topics)
    ]
    return tuple(sorted(found, key=lambda problem: (problem.path, problem.what)))


def build_contradiction_problem(topic: MemoryFile, other: MemoryFile) -> LintProblem:
    """The problem of two memories of which one says the opposite of the other."""
    return LintProblem(
        topic.path, f"it says otherwise than {other.path}", "edit or forget one of them"
    )


def _file_problems(files: Sequence[tuple[str, FileInfo]]) -> list[LintProblem]:
    found = []
    for path, facts in files:
        if not is_single_line_path(path) or (
            facts.is_file and path.endswith(".md") and has_misleading_name(path)
        ):
            shown = strip_hidden_characters(
                path.encode("unicode_escape", "replace").decode()
                if not is_single_line_path(path)
                else path
            )
            found.append(
                LintProblem(
                    shown,
                    "its name holds a line break or signs that cannot be seen, and it is not read",
                    "rename it",
                )
            )
        elif facts.is_link:
            found.append(
                LintProblem(path, "it is a link and is not read", "put the file itself here")
            )
        elif not facts.is_file and path.endswith(".md"):
            found.append(
                LintProblem(path, "it is no ordinary file and is not read", "move it away")
            )
        elif facts.is_file and path.endswith(".md") and facts.size > MAX_FILE_BYTES:
            found.append(
                LintProblem(
                    path,
                    f"it has {facts.size:,} bytes and is neither searched nor recorded",
                    "split it",
                )
            )
        elif facts.is_file and not path.endswith(".md"):
            found.append(
                LintProblem(
                    path,
                    "it is no Markdown file and is not read",
                    "rename it to end in .md, or move it away",
                )
            )
    return found


def _name_problems(topics: Sequence[MemoryFile]) -> list[LintProblem]:
    found = []
    folded: dict[str, str] = {}
    for topic in topics:
        twin = folded.setdefault(fold_file_name(topic.path), topic.path)
        if twin != topic.path:
            found.append(
                LintProblem(
                    topic.path,
                    f"its name differs from {twin} only in case or Unicode form",
                    "rename one of them",
                )
            )
    return found


def _shared_name_problems(topics: Sequence[MemoryFile]) -> list[LintProblem]:
    """Memories whose headers give one name: what is called by it is not clear."""
    first: dict[str, str] = {}
    found = []
    for topic in topics:
        other = first.setdefault(topic.name.casefold(), topic.path)
        if topic.name and other != topic.path:
            found.append(
                LintProblem(
                    topic.path,
                    f"its header gives the name of {other}, {topic.name}",
                    "give one of them another `name:`, or forget it",
                )
            )
    return found


def _index_problems(index: str, built: MemoryIndex, paths: Collection[str]) -> list[LintProblem]:
    found = [
        LintProblem(
            INDEX_NAME, f"it points to {path}, which is not there", "the next change mends it"
        )
        for path in list_pointer_targets(index)
        if path not in paths
    ]
    if built.left_out:
        what = (
            f"{built.left_out} memories do not fit (limit of {built.exceeded_limit}), "
            f"the first of them {built.first_left_out}"
        )
        found.append(
            LintProblem(
                INDEX_NAME, what, "forget what is of no use, or raise auto_memory.index_lines"
            )
        )
    return found


def _dropped_line_problems(built: MemoryIndex, paths: Collection[str]) -> list[LintProblem]:
    """Report index lines that models are not shown.

    Lines of withheld memories are reported with the memory itself.
    """
    lines = built.text.splitlines()
    disputed = sum(len(each.all_lines) for each in parse_merge_conflicts(lines))
    conflicts = LintProblem(
        INDEX_NAME,
        "it holds a merge conflict of Git, whose lines are not shown",
        "edit it, and leave one of the two versions",
    )
    hidden_lines = len(lines) - filter_visible_index(built, paths.__contains__).lines - disputed
    orders = LintProblem(
        INDEX_NAME,
        f"{hidden_lines} of its lines read like orders planted for an agent, and are not shown",
        "say it in other words, or keep it as a memory: `memorist memory add`",
    )
    return [each for each, lines in ((conflicts, disputed), (orders, hidden_lines)) if lines > 0]


def _topic_problems(topic: MemoryFile, reviewed: Collection[str]) -> list[LintProblem]:
    found = []
    if topic.header_problem:
        found.append(
            LintProblem(
                topic.path,
                topic.header_problem,
                "mend the header; what could be read of it is used",
            )
        )
    elif not topic.text().strip():
        found.append(
            LintProblem(topic.path, "it is empty", "write something into it, or delete it")
        )
    elif topic.document.front is None and is_memory_file(topic.path):
        is_open = topic.body.startswith("---")
        found.append(
            LintProblem(
                topic.path,
                "its header does not end" if is_open else "it has no header",
                "put a line --- after its keys"
                if is_open
                else "add name, description and type, so that it can be chosen",
            )
        )
    found += [
        LintProblem(
            topic.path,
            reason,
            "it is not shown; accept it with `memorist memory edit`, or forget it",
        )
        for reason in find_unreviewed_memory_suspicions(topic, reviewed)
    ]
    text = topic.text()
    if topic.encoding_problem:
        found.append(LintProblem(topic.path, topic.encoding_problem, SAVE_IN_UTF_8))
    elif find_hidden_characters(text):
        found.append(
            LintProblem(
                topic.path,
                "it holds characters that cannot be seen",
                "they are left out when it is shown; edit it to take them out",
            )
        )
    rules = sorted({finding.rule for finding in find_secrets(text)})
    if rules:
        found.append(
            LintProblem(
                topic.path,
                f"it holds what looks like a secret ({', '.join(rules)})",
                "edit it, then `memorist memory forget --hard` the old copy",
            )
        )
    return found


def _duplicate_problems(topics: Sequence[MemoryFile]) -> list[LintProblem]:
    """Report memories that state the same rule.

    Only memories with equal word sets are compared, so that the cost stays near-linear.
    """
    groups: dict[frozenset[str], list[MemoryFile]] = {}
    for topic in topics:
        key = frozenset(word[:5] for word in topic.body.casefold().split() if len(word) > 4)
        groups.setdefault(key, []).append(topic)
    found = []
    for group in groups.values():
        first: dict[object, MemoryFile] = {}
        for topic in group if len(group) > 1 else ():
            twin = first.setdefault(compute_rule_key(topic.body) or topic.body, topic)
            if twin is not topic and topic.body and is_same_rule(topic.body, twin.body):
                found.append(
                    LintProblem(
                        topic.path, f"it says the same as {twin.path}", "forget one of them"
                    )
                )
    return found


def load_and_lint_memories(memory: AutoMemory) -> tuple[list[MemoryFile], list[LintProblem]]:
    """The memories that can be read, those that hold in every project under `everywhere/`, and what
    is wrong with them and their folders. Raises StoreError.
    """
    topics, problems = _find_folder_problems(memory)
    user = memory.everywhere
    if user is None or not user.folder.exists:
        return topics, problems
    mine, wrong = _find_folder_problems(user)
    mine = [replace(topic, path=EVERYWHERE_PREFIX + topic.path) for topic in mine]
    problems += [replace(each, path=EVERYWHERE_PREFIX + each.path) for each in wrong]
    problems += [
        build_contradiction_problem(topic, other)
        for topic, other in find_contradicting_memory_pairs([*mine, *topics])
        if topic in topics and other in mine
    ]
    return [*topics, *mine], problems


def _find_folder_problems(memory: AutoMemory) -> tuple[list[MemoryFile], list[LintProblem]]:
    topics: list[MemoryFile] = []
    for head in memory.headers():
        with contextlib.suppress(InputError):
            topics.append(memory.folder.read_memory_file(head.path))
    problems = lint_folder(
        topics,
        memory.folder.list_entries(),
        index_text=memory.folder.indexes.read_text(),
        expected_index=memory.folder.indexes.build(),
        reviewed_digests=memory.reviewed_digests(),
    )
    return topics, list(problems)
