"""Lint a memory folder: every problem with a description and its cure. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from memorist.auto_memory.gate import unsafe
from memorist.auto_memory.index import Index, pointed_at
from memorist.auto_memory.manifest import INDEX_NAME, MAX_FILE, is_memory, one_line, unreadable_name
from memorist.auto_memory.said_same import same_rule
from memorist.auto_memory.shown import presentable
from memorist.auto_memory.topic import Topic
from memorist.forks.permissions import same_name
from memorist.ports import FileFacts
from memorist.safety.hidden import hidden, visible
from memorist.safety.secrets import find_secrets


class Problem(Struct, frozen=True):
    """One finding. `path` is relative to the folder; empty for the folder as a whole."""

    path: str
    what: str
    cure: str


def check(
    topics: Sequence[Topic], files: Sequence[tuple[str, FileFacts]], *, index: str, built: Index, reviewed: Collection[str] = ()
) -> tuple[Problem, ...]:
    """Find all problems, sorted by path.

    `index_text` is the index on disk, `expected_index` what would be built from the files,
    `reviewed_seals` the content seals of the memories that the user accepted.
    """
    paths = {topic.path for topic in topics}
    found = [*_files(files), *_names(topics), *_index(index, built, paths), *_own_lines(built, paths)]
    for topic in topics:
        found += _topic(topic, reviewed)
    found += _repeated(topics)
    return tuple(sorted(found, key=lambda problem: (problem.path, problem.what)))


def _files(files: Sequence[tuple[str, FileFacts]]) -> list[Problem]:
    found = []
    for path, facts in files:
        if not one_line(path) or (facts.is_file and path.endswith(".md") and unreadable_name(path)):
            shown = visible(path.encode("unicode_escape", "replace").decode() if not one_line(path) else path)
            found.append(Problem(shown, "its name holds a line break or signs that cannot be seen, and it is not read", "rename it"))
        elif facts.is_link:
            found.append(Problem(path, "it is a link and is not read", "put the file itself here"))
        elif facts.is_file and path.endswith(".md") and facts.size > MAX_FILE:
            found.append(Problem(path, f"it has {facts.size:,} bytes and is neither searched nor recorded", "split it"))
        elif facts.is_file and not path.endswith(".md"):
            found.append(Problem(path, "it is no Markdown file and is not read", "rename it to end in .md, or move it away"))
    return found


def _names(topics: Sequence[Topic]) -> list[Problem]:
    found = []
    folded: dict[str, str] = {}
    for topic in topics:
        first = folded.setdefault(topic.path.casefold(), topic.path)
        twin = (
            first
            if first != topic.path
            else next((other for other in folded.values() if other != topic.path and same_name(other, topic.path)), "")
        )
        if twin:
            found.append(Problem(topic.path, f"its name differs from {twin} only in case or Unicode form", "rename one of them"))
    return found


def _index(index: str, built: Index, paths: Collection[str]) -> list[Problem]:
    found = [
        Problem(INDEX_NAME, f"it points to {path}, which is not there", "the next change mends it")
        for path in pointed_at(index)
        if path not in paths
    ]
    if built.left_out:
        what = f"{len(built.left_out)} memories do not fit (limit of {built.over}), the first of them {built.left_out[0]}"
        found.append(Problem(INDEX_NAME, what, "forget what is of no use, or raise auto_memory.index_lines"))
    return found


def _own_lines(built: Index, paths: Collection[str]) -> list[Problem]:
    """Report index lines that models are not shown.

    Lines of withheld memories are reported with the memory itself.
    """
    gone = len(built.text.splitlines()) - presentable(built, paths).lines
    what = f"{gone} of its lines read like orders planted for an agent, and are not shown"
    return [Problem(INDEX_NAME, what, "say it in other words, or keep it as a memory: `memorist memory add`")] if gone > 0 else []


def _topic(topic: Topic, reviewed: Collection[str]) -> list[Problem]:
    found = []
    if topic.problem:
        found.append(Problem(topic.path, topic.problem, "mend the header; what could be read of it is used"))
    elif topic.document.front is None and is_memory(topic.path):
        found.append(Problem(topic.path, "it has no header", "add name, description and type, so that it can be chosen"))
    found += [
        Problem(topic.path, reason, "it is not shown; accept it with `memorist memory edit`, or forget it")
        for reason in unsafe(topic, reviewed)
    ]
    text = topic.text()
    if hidden(text):
        found.append(
            Problem(topic.path, "it holds characters that cannot be seen", "they are left out when it is shown; edit it to take them out")
        )
    rules = sorted({finding.rule for finding in find_secrets(text)})
    if rules:
        found.append(
            Problem(
                topic.path,
                f"it holds what looks like a secret ({', '.join(rules)})",
                "edit it, then `memorist memory forget --hard` the old copy",
            )
        )
    return found


def _repeated(topics: Sequence[Topic]) -> list[Problem]:
    """Report memories that state the same rule.

    Only memories with equal word sets are compared, so that the cost stays near-linear.
    """
    groups: dict[frozenset[str], list[Topic]] = {}
    for topic in topics:
        key = frozenset(word[:5] for word in topic.body.casefold().split() if len(word) > 4)
        groups.setdefault(key, []).append(topic)
    found = []
    for group in groups.values():
        for position, topic in enumerate(group):
            twin = next((other for other in group[:position] if topic.body and same_rule(topic.body, other.body)), None)
            if twin is not None:
                found.append(Problem(topic.path, f"it says the same as {twin.path}", "forget one of them"))
    return found
