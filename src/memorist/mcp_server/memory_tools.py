"""One project's memories for a client: searched, read, written and forgotten through the gate that
every write passes (SF-2).
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.auto_memory import EVERYWHERE_PREFIX, AutoMemory
from memorist.auto_memory.clause_stances import list_content_stems
from memorist.auto_memory.git_objects import compute_memory_version
from memorist.auto_memory.memory_changes import (
    ChangeReason,
    MemoryChange,
    build_memory_change,
    render_change_headline,
)
from memorist.auto_memory.memory_file import (
    MemoryFile,
    MemoryKind,
    Provenance,
    Trust,
    create_memory_file,
    with_body,
    with_header_values,
    with_provenance,
)
from memorist.auto_memory.memory_manifest import MemoryHeader, sort_newest_first
from memorist.auto_memory.memory_name_lookup import find_memory_folder_and_path
from memorist.auto_memory.statement_changes import build_removal_prefilter, plan_memory_removal
from memorist.auto_memory.statement_comparison import OPPOSED, compare_statements
from memorist.auto_memory.statements.statement_parser import Statement
from memorist.auto_memory.statements.statement_similarity import keeps_negations_and_word_order
from memorist.auto_memory.visible_memory import form_order_together
from memorist.auto_memory.write_evidence import (
    MIN_QUOTE_WORDS,
    WriteEvidence,
    normalize_for_comparison,
    split_script_words,
)
from memorist.auto_memory.write_result import WriteResult, merge_everywhere_result
from memorist.core.prompt_templates import load_prompt, render_template
from memorist.errors import InputError, StoreError, WriteConflict
from memorist.mcp_server.project_sessions import FoundUserQuote
from memorist.mcp_server.result_rendering import (
    FORGOTTEN,
    MAX_ANSWER_CHARS,
    RESERVED_FRAME_CHARS,
    cut_text_page,
    render_write_result,
    sanitize_for_model,
    to_safe_line,
)
from memorist.mcp_server.tool_arguments import (
    MEMORY_URI,
    MemoryForgetArguments,
    MemoryReadArguments,
    MemorySearchArguments,
    MemoryWriteArguments,
)
from memorist.ports import Clock
from memorist.recall.memory_rendering import render_memory
from memorist.recall.memory_selection import MemoryMatch
from memorist.recall.reachable_memory import ReachableMemory
from memorist.recall.session_recall import load_recall_prompt_templates
from memorist.settings import RecallSettings
from memorist.store.memory_uses import MemoryUse, MemoryUseKind
from memorist.transcript_analysis.answer_check import CoveredLineDetector

_OF_USER = (
    "user users prefer prefers preferred stated asked wants package packages project repository"
    " code rule preference"
)
"""Words by which an agent says that a rule is the user's and holds here; they add nothing to it."""
MAX_NAME_ATTEMPTS = 10
"""Names that are tried for a new memory while other processes take them."""
MAX_MATCHES = 200
"""Best matches that a search considers: more than an answer holds, even for one kind among four."""
MAX_LISTED_USER_MEMORIES = 20
"""Memories of every project that a search lists, the newest. Our choice."""
JOINT_ORDER_REASON = "together with another memory it reads like an order planted for an agent"


class MemoryToolDependencies(Struct, frozen=True, kw_only=True):
    """The dependencies of the tools.

    `client` names the calling agent, as the history records it.
    """

    client: str
    clock: Clock
    settings: RecallSettings
    search: Callable[[str, int], Sequence[MemoryMatch]]
    """Finds so many memories by words and meaning, the best first."""
    find_quote: Callable[[str, str], FoundUserQuote | None]
    """Finds where the user said a quotation, by quotation and session id."""
    record_uses: Callable[[Sequence[MemoryUse]], None]
    """Adds to the recall ledger."""


class MemoryTools:
    """Search, read, write and forget, for one client in one project."""

    def __init__(self, memory: AutoMemory, dependencies: MemoryToolDependencies) -> None:
        self._memory = memory
        self._reachable = ReachableMemory(memory)
        self._dependencies = dependencies
        self._texts = replace(load_recall_prompt_templates(), cut=load_prompt("mcp/cut"))

    @property
    def _session_label(self) -> str:
        """Label of the client in the ledger and the history."""
        return f"mcp:{self._dependencies.client}"

    def search_as_text(self, arguments: MemorySearchArguments) -> str:
        """Return the memories that match a query, as far as they may be shown and the answer has
        room.

        Raises StoreError.
        """
        with self._reachable.scan_once():
            heads = self._reachable.headers()
            matches = self._dependencies.search(arguments.query, MAX_MATCHES)
            fitting = [
                match
                for match in matches
                if (head := heads.get(match.path)) is not None
                and head.status == "active"
                and arguments.kind in ("", head.kind)
            ]
            shown, withheld = self._render_matches(fitting, heads, arguments.limit)
        everywhere = self._list_everywhere(
            {match.path for match in fitting[: len(shown) + withheld]}
        )
        if not shown and not withheld and not everywhere:
            if heads:
                return f"nothing found among {len(heads)} memories"
            return "there are no memories of this project yet"
        rest = (
            [
                f"({withheld} more found and withheld: the user sees why with `memorist memory "
                f"check`)"
            ]
            if withheld
            else []
        )
        rest += everywhere
        left = len(fitting) - len(shown) - withheld
        rest += (
            [f"({left} more, less alike; ask more precisely, or with a higher limit)"]
            if left > 0
            else []
        )
        return render_template(
            load_prompt("mcp/found"),
            {"memories": "\n".join(shown), "rest": "\n".join(rest)},
            strict=True,
        ).strip()

    def _list_everywhere(self, shown: Collection[str]) -> list[str]:
        """What the user said for all of their projects and is not shown: it bears on every
        search.
        """
        if self._memory.everywhere is None or not self._memory.everywhere.folder.exists:
            return []
        heads = sort_newest_first(
            self._memory.everywhere.visible_headers(), MAX_LISTED_USER_MEMORIES
        )
        lines = [
            f"- {EVERYWHERE_PREFIX}{to_safe_line(head.path)}: {to_safe_line(head.description)}"
            for head in heads
            if EVERYWHERE_PREFIX + head.path not in shown
        ]
        if not lines:
            return []
        return [sanitize_for_model("\n".join(("For every project of the user:", *lines)))]

    def _render_matches(
        self, matches: Sequence[MemoryMatch], heads: Mapping[str, MemoryHeader], limit: int
    ) -> tuple[list[str], int]:
        """Render the first memories that may be shown; also return how many before them are
        withheld.
        """
        shown: list[str] = []
        bodies: list[str] = []
        uses: list[MemoryUse] = []
        room, withheld = MAX_ANSWER_CHARS - RESERVED_FRAME_CHARS, 0
        for match in matches:
            if len(shown) == limit:
                break
            with contextlib.suppress(InputError):  # gone or too large meanwhile
                topic, doubts = self._reachable.read_memory_with_suspicions(match.path)
                if not doubts and any(form_order_together(body, topic.body) for body in bodies):
                    doubts = (JOINT_ORDER_REASON,)
                rendered = render_memory(
                    topic,
                    heads[match.path],
                    folder=f"{MEMORY_URI}/{match.path.removesuffix(topic.path)}".rstrip("/"),
                    now=self._dependencies.clock.now(),
                    prompts=self._texts,
                    settings=self._dependencies.settings,
                )
                if doubts:
                    withheld += 1
                    uses.append(self._build_use(match.path, "withheld", "; ".join(doubts)))
                    continue
                if len(rendered.text) > room:
                    break
                room -= len(rendered.text)
                shown.append(sanitize_for_model(rendered.text))
                bodies.append(topic.body)
                uses.append(
                    self._build_use(
                        match.path,
                        "shown",
                        f"searched for: {match.why}",
                        match.score,
                        rendered.size,
                    )
                )
        self._record_uses(uses)
        return shown, withheld

    def read_memory_as_text(self, arguments: MemoryReadArguments) -> str:
        """Return one memory in full.

        Raises InputError when there is none of that path, or it may not be shown.
        """
        memory, prefix, topic = self._read_allowed_memory(arguments.path)
        trust = memory.folder.determine_trust(topic)
        quote = "" if trust is Trust.UNKNOWN else to_safe_line(topic.provenance.quote)
        text = sanitize_for_model(topic.body)
        # Who has not read the end would write the memory without it.
        ends_here = len(text) <= arguments.start + MAX_ANSWER_CHARS - RESERVED_FRAME_CHARS
        values = {
            "path": to_safe_line(prefix + topic.path),
            "version": compute_memory_version(topic.text())
            if ends_here
            else "(given with the end of the text)",
            "kind": str(topic.kind or "none"),
            "origin": f"{trust}, “{quote}”" if quote else str(trust),
            "day": topic.provenance.created[:10] or "not known",
            "description": to_safe_line(topic.description),
            "text": cut_text_page(text, arguments.start),
        }
        return render_template(load_prompt("mcp/memory"), values, strict=True).strip()

    def _find_memory(self, name: str) -> tuple[AutoMemory, str, str]:
        """The memory folder that has what a client calls `name`, the prefix of its paths, and the
        path there.
        """
        memory, path = find_memory_folder_and_path(self._memory, name)
        return memory, "" if memory is self._memory else EVERYWHERE_PREFIX, path

    def _read_allowed_memory(self, name: str) -> tuple[AutoMemory, str, MemoryFile]:
        """The folder of a memory that may be shown, the prefix of its paths, and the memory; the
        use is recorded. Raises InputError.
        """
        memory, prefix, path = self._find_memory(name)
        topic, doubts = memory.read_memory_with_suspicions(path)
        what: MemoryUseKind = "withheld" if doubts else "read"
        self._record_uses([self._build_use(prefix + topic.path, what, "; ".join(doubts))])
        if doubts:
            raise InputError(
                f"{prefix}{topic.path} is withheld: {'; '.join(doubts)}; the user can look at it: "
                f"memorist memory show {shlex.quote(prefix + topic.path)}"
            )
        return memory, prefix, topic

    def write_memory(self, arguments: MemoryWriteArguments) -> str:
        """Write a new memory, or change one.

        Raises WriteConflict if it changed since it was read, InputError, StoreError.
        """
        if not arguments.text.strip():
            raise InputError("there is no text to remember")
        evidence = (
            self._dependencies.find_quote(arguments.quote, arguments.session)
            if arguments.quote.strip()
            else None
        )
        if not arguments.path and (stated := self._find_stated_already(arguments, evidence)):
            return f"nothing changed: the user's own words on it are remembered: {stated}"
        written = (
            self._change(arguments, evidence) if arguments.path else self._add(arguments, evidence)
        )
        answer = self._add_quote_remark(
            render_write_result(written, "remembered"), arguments.quote, evidence
        )
        if written.refused and not written.paths and not written.proposals:
            raise InputError(answer)
        return answer

    @staticmethod
    def _add_quote_remark(text: str, quote: str, source: FoundUserQuote | None) -> str:
        if not quote.strip() or source is not None:
            return text
        return (
            f"{text}\n(the quotation was not found among what the user typed in sessions "
            f"that memorist recorded, so it counts for nothing)"
        )

    def _find_stated_already(
        self, arguments: MemoryWriteArguments, source: FoundUserQuote | None
    ) -> str:
        """The memory that a rule kept of the user's words, where the agent writes them down once
        more: it says all of this in these words, or rests on what is quoted, and the text adds no
        word to it that says something. Empty where there is none, and where one of them denies what
        the other says.
        """
        quote = arguments.quote if source is not None else ""
        said = CoveredLineDetector(quote)
        text = normalize_for_comparison(arguments.text).strip(" .!")
        is_sentence = len(split_script_words(text)) >= MIN_QUOTE_WORDS
        words = frozenset(list_content_stems(arguments.text)).difference(
            list_content_stems(_OF_USER)
        )
        for header in self._memory.visible_headers():
            if header.trust is not Trust.STATED:
                continue
            kept = header.saying or header.description
            repeats = (
                is_sentence
                and text in normalize_for_comparison(kept)
                and keeps_negations_and_word_order(kept, text)
            )
            rests_on_quote = (
                bool(quote)
                and words.issubset(list_content_stems(kept))
                and said.covers_line(kept, share=1.0)
                and compare_statements(text, kept) not in OPPOSED
                and keeps_negations_and_word_order(quote, kept)
            )
            if repeats or rests_on_quote:
                return header.path
        return ""

    def _add(self, arguments: MemoryWriteArguments, source: FoundUserQuote | None) -> WriteResult:
        first = " ".join(arguments.text.split())
        description = " ".join(arguments.description.split()) or first[:150]
        for _ in range(MAX_NAME_ATTEMPTS):
            path = self._memory.find_free_path(description[:60])
            topic = create_memory_file(
                path,
                kind=MemoryKind(arguments.kind),
                name=path.removesuffix(".md"),
                description=description,
                body=arguments.text,
                provenance=Provenance(quote=arguments.quote),
            )
            with contextlib.suppress(WriteConflict):  # another process took the name
                return self._write_judged(
                    self._memory, build_memory_change(None, topic), arguments, source
                )
        raise WriteConflict(
            f"{MAX_NAME_ATTEMPTS} names for the memory were taken by others meanwhile; try again"
        )

    def _change(
        self, arguments: MemoryWriteArguments, source: FoundUserQuote | None
    ) -> WriteResult:
        memory, prefix, before = self._read_allowed_memory(arguments.path)
        if arguments.version != compute_memory_version(before.text()):
            given = (
                f"{arguments.version!r} is not its version"
                if arguments.version
                else "the version is missing"
            )
            raise WriteConflict(
                f"{prefix}{before.path} is not changed: {given}; read it with memory_read to its "
                f"end, and write all of it with the version that is given there"
            )
        header = {"type": arguments.kind} | (
            {"description": " ".join(arguments.description.split())}
            if arguments.description.strip()
            else {}
        )
        changed = with_header_values(
            with_body(before, f"\n{arguments.text.strip()}\n"), dict(header)
        )
        changed = with_provenance(changed, replace(before.provenance, quote=arguments.quote))
        written = self._write_judged(
            memory, build_memory_change(before, changed), arguments, source
        )
        return merge_everywhere_result(WriteResult(), written, prefix)

    def _write_judged(
        self,
        memory: AutoMemory,
        change: MemoryChange,
        arguments: MemoryWriteArguments,
        source: FoundUserQuote | None,
    ) -> WriteResult:
        """Write through the gate.

        The origin of an agent's words is unknown: what the user did not say counts as coming from
        outside.
        """
        user = source.user if source is not None else ()
        said = WriteEvidence(
            session=source.session if source else self._session_label,
            user_messages=user,
            outside_texts=(arguments.text, arguments.description),
        )
        messages = tuple(id for id, _ in user)
        why = ChangeReason(
            actor="agent",
            what=render_change_headline(
                self._dependencies.client, arguments.description or arguments.text[:200]
            ),
            session=said.session,
            messages=messages,
            quote=arguments.quote if source else "",
        )
        return memory.write([change], why, said)

    def forget_memory(self, arguments: MemoryForgetArguments) -> str:
        """Forget a memory if the user asked for it; otherwise ask the user.

        Raises InputError, WriteConflict, StoreError.
        """
        memory, prefix, path = self._find_memory(arguments.path)
        topic = memory.folder.read_memory_file(path)
        evidence = (
            self._dependencies.find_quote(arguments.quote, arguments.session)
            if arguments.quote.strip()
            else None
        )
        is_explicit = evidence is not None and self._is_meant(
            memory, topic.path, evidence.statements
        )
        why = ChangeReason(
            actor="said" if is_explicit else "agent",
            what=render_change_headline(f"{self._dependencies.client} forgets", topic.path),
            session=evidence.session if evidence else self._session_label,
            quote=arguments.quote if is_explicit else "",
        )
        written = merge_everywhere_result(WriteResult(), memory.forget([topic.path], why), prefix)
        return self._add_quote_remark(
            render_write_result(written, FORGOTTEN), arguments.quote, evidence
        )

    @staticmethod
    def _is_meant(memory: AutoMemory, path: str, statements: Sequence[Statement]) -> bool:
        """Whether one of the user's statements asks to forget this memory and cannot mean
        another.
        """
        asked = [statement for statement in statements if statement.act == "forget"]
        dropped = [
            plan_memory_removal(
                statement, memory.read_memory_files(build_removal_prefilter(statement))
            )
            for statement in asked
        ]
        return any(
            each.is_certain and [change.path for change in each.changes] == [path]
            for each in dropped
        )

    def _build_use(
        self,
        path: str,
        what: MemoryUseKind,
        why: str = "",
        score: float | None = None,
        size: int = 0,
    ) -> MemoryUse:
        return MemoryUse(
            path=path,
            what=what,
            session=self._session_label,
            at=self._dependencies.clock.now(),
            why=why,
            score=score,
            bytes=size,
        )

    def _record_uses(self, uses: Sequence[MemoryUse]) -> None:
        """Record uses in the ledger. A database error loses its lines, not the answer."""
        if uses:
            with contextlib.suppress(StoreError):
                self._dependencies.record_uses(uses)
