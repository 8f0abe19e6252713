"""Tell the proxy's conversations apart: by what their clients declare, else by their histories.

No I/O.

A client that declares nothing sends its whole history with each request. A request whose history
begins with all of a known one, including the model's reply, continues that conversation. One that
shares only a beginning, a retry of an opening that was answered, and a request with another key
start conversations of their own: starting over is better than mixing two.

Known conversations can be saved (`to_stored_conversation`) and restored by the next process.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from memorist.core.messages import JsonObject, Message
from memorist.engine.host_history import compute_message_digest, replace_lone_surrogates
from memorist.formats.codec_registry import find_codec
from memorist.proxy.conversation_store import StoredConversation
from memorist.proxy.declared_conversation import (
    DeclaredConversation,
    RequestShape,
    hash_instructions_and_tools,
)
from memorist.proxy.request_body import RequestBody

MAX_CONVERSATIONS = 10_000
"""Conversations that are remembered; the one idle longest is forgotten.

Our choice; one takes about a kilobyte.
"""
MAX_REMEMBERED_RESPONSES, MAX_RESPONSE_BYTES = 1_000, 268_435_456
"""Replies of the Responses API whose history is remembered for `previous_response_id`, and bytes of
the requests that the histories came in: a request with pictures has megabytes. Our choice.
"""


class HistoryPrefixDigest(Struct, frozen=True):
    """A position in a history: the chained hash of all entries up to it, and whether they include a
    model reply.
    """

    digest: bytes
    has_model_reply: bool = False


class ProxyConversation(Struct, eq=False, kw_only=True):
    """One conversation."""

    id: str
    """The id of the engine's session."""
    format: str
    is_main_agent: bool = True
    has_typing_user: bool = True
    """Whether a user types into it, as its client said when it began."""
    tenant: str = ""
    project: str | None = None
    """The project's folder once it is known; empty for none."""
    name: str = ""
    """The client's name for it; empty if it is identified by its history."""
    declared_project: str | None = None
    """The project that its client declared; None if it did not."""
    restored_project: str = ""
    """The project found by an earlier process; used if its requests no longer name one."""
    scope: bytes = b""
    """The scope in which its history is looked up; empty if its client names it."""
    shape: RequestShape = ("", "")
    """Instructions and tools of the newest request."""
    request_end: HistoryPrefixDigest | None = None
    """The end of the newest request's history."""
    history_ends: tuple[bytes, bytes] = (b"", b"")
    """The keys it is found by: the end of the newest request's history, and that of its reply once
    it has arrived.
    """
    response_id: str = ""
    """The newest reply's id, if the provider keeps the history."""
    response_key: bytes = b""
    """What that id is found by after a restart."""


class CallInConversation(Struct, frozen=True, kw_only=True):
    """A model call that belongs to a conversation."""

    conversation: ProxyConversation
    request: JsonObject
    """The request with its whole history, as the engine takes it."""
    caller: str = ""
    own_bytes: int = 0
    """Bytes of the request that no earlier one had."""
    has_full_history: bool = True
    """The client sent the whole history; otherwise the provider holds a part of it."""


class UnrelatedCall(Struct, frozen=True):
    """A model call that is not part of a conversation, and why."""

    why: str


class IncomingCall(Struct, frozen=True, kw_only=True):
    """A model call as it arrived."""

    format: str
    identity: DeclaredConversation
    caller: str
    """A hash of its API key; see `hash_api_key_of_caller`."""
    body: RequestBody
    known_links: Sequence[HistoryPrefixDigest] = ()
    """The links of the entries that the body shares with an earlier one."""
    shape: RequestShape | None = None
    """The shape of the body if it was computed already."""


class ConversationMatcher:
    """All conversations of one home.

    `new_id` returns a new session id; `known` are the conversations of an earlier process, the one
    idle longest first. `read_history` gives the recorded entries of a conversation of the Responses
    API in its own format, for one that goes on from a reply of an earlier process; None where there
    is no record.
    """

    def __init__(
        self,
        new_id: Callable[[], str],
        known: Iterable[StoredConversation] = (),
        read_history: Callable[[str], list[Any] | None] = lambda _: None,
    ) -> None:
        self._new_id = new_id
        self._read_history = read_history
        self._restored_responses: dict[bytes, ProxyConversation] = {}
        self._named: OrderedDict[tuple[str, str, str], ProxyConversation] = OrderedDict()
        self._ends: OrderedDict[bytes, ProxyConversation] = OrderedDict()
        self._responses: OrderedDict[tuple[str, str], tuple[ProxyConversation, list[Any], int]] = (
            OrderedDict()
        )
        """By caller and the reply's id: the conversation, its history, and its `own_bytes`."""
        self._response_bytes = 0
        for each in known:
            self._restore(each)

    def _restore(self, each: StoredConversation) -> None:
        conversation = ProxyConversation(
            id=each.id, format=each.format, is_main_agent=each.is_main_agent,
            has_typing_user=each.has_typing_user, project=each.declared_project, name=each.name,
            declared_project=each.declared_project, restored_project=each.folder, shape=each.shape,
            history_ends=(each.asked, each.answered), response_key=each.response,
        )  # fmt: skip
        if each.response:
            self._restored_responses[each.response] = conversation
        if each.name:
            self._named[each.name, each.format, each.declared_project or ""] = conversation
        for end in filter(None, conversation.history_ends):
            self._index_end(conversation, end)

    def find_or_start_conversation(self, call: IncomingCall) -> CallInConversation | UnrelatedCall:
        """Match a model call to its conversation, or start a new one."""
        values = call.body.values
        if call.identity.unrelated_reason:
            return UnrelatedCall(call.identity.unrelated_reason)
        if call.format == "openai_responses" and values.get("conversation"):
            return UnrelatedCall("its history is with the provider")
        previous = values.get("previous_response_id") if call.format == "openai_responses" else None
        if previous:
            return self._continue_response(call, str(previous))
        conversation = self._match_conversation(call)
        if isinstance(conversation, UnrelatedCall):
            return conversation
        return CallInConversation(
            conversation=conversation,
            request=values,
            caller=call.caller,
            own_bytes=_count_own_bytes(call.body),
        )

    def _match_conversation(self, asked: IncomingCall) -> ProxyConversation | UnrelatedCall:
        certainty = asked.identity.certainty
        if certainty in ("named", "likely"):
            conversation = self._match_by_name(asked)
            if certainty == "named":
                return conversation
            shape = asked.shape or hash_instructions_and_tools(asked.format, asked.body)
            if (
                conversation.shape == ("", "")
                or conversation.shape[0] == shape[0]
                or conversation.shape[1] == shape[1]
            ):
                conversation.shape = shape
                return conversation
        return self._match_by_history(asked)

    def _match_by_name(self, asked: IncomingCall) -> ProxyConversation:
        name, folder = asked.identity.name, asked.identity.project
        key = (name, asked.format, folder or "")
        conversation = self._named.get(key)
        if conversation is None:
            is_claimed = any(
                (name, other, folder or "") in self._named
                for other in ("anthropic", "openai_responses", "openai_chat")
            )
            id = f"{name} ({asked.format})" if is_claimed else name
            conversation = self._named[key] = ProxyConversation(
                id=id,
                format=asked.format,
                is_main_agent=asked.identity.is_main_agent,
                has_typing_user=asked.identity.has_typing_user,
                project=folder,
                name=name,
                declared_project=folder,
            )
        self._named.move_to_end(key)
        while len(self._named) > MAX_CONVERSATIONS:
            self._named.popitem(last=False)
        return conversation

    def _match_by_history(self, asked: IncomingCall) -> ProxyConversation | UnrelatedCall:
        who = asked.identity
        scope = _hash_scope(asked.caller, asked.format, who.name, who.project or "")
        links = hash_history_prefixes(asked.format, asked.body.items, asked.known_links)
        shape = asked.shape or hash_instructions_and_tools(asked.format, asked.body)
        conversation = self._find_continued(scope, links)
        if (
            conversation is not None
            and conversation.shape[0] != shape[0]
            and conversation.shape[1] != shape[1]
        ):
            if not asked.body.values.get("tools"):
                return UnrelatedCall("another kind of request about a conversation")
            conversation = None
        if conversation is None:
            id = f"{who.name[:60]}-{self._new_id()}" if who.name else self._new_id()
            main = who.is_main_agent and who.certainty != "likely"
            conversation = ProxyConversation(
                id=id,
                format=asked.format,
                is_main_agent=main,
                has_typing_user=who.has_typing_user,
                project=who.project,
                declared_project=who.project,
            )
        conversation.scope, conversation.shape = scope, shape
        self._set_request_end(conversation, links[-1] if links else HistoryPrefixDigest(b""))
        return conversation

    def _find_continued(
        self, scope: bytes, links: Sequence[HistoryPrefixDigest]
    ) -> ProxyConversation | None:
        for link in reversed(links):
            end = _hash_end(scope, link)
            conversation = self._ends.get(end)
            if conversation is None:
                continue
            answered = conversation.history_ends[1]
            if (
                not answered or answered == end or link.has_model_reply
            ):  # a retry of an unanswered request, or a reply that the client rewrote
                return conversation
        return None

    def _set_request_end(self, conversation: ProxyConversation, asked: HistoryPrefixDigest) -> None:
        for end in conversation.history_ends:
            if self._ends.get(end) is conversation:
                del self._ends[end]
        conversation.request_end, conversation.history_ends = (
            asked,
            (_hash_end(conversation.scope, asked), b""),
        )
        self._index_end(conversation, conversation.history_ends[0])

    def _index_end(self, conversation: ProxyConversation, end: bytes) -> None:
        self._ends[end] = conversation
        self._ends.move_to_end(end)
        while len(self._ends) > 2 * MAX_CONVERSATIONS:
            self._ends.popitem(last=False)

    def _continue_response(
        self, asked: IncomingCall, previous: str
    ) -> CallInConversation | UnrelatedCall:
        """Match a request that names the reply it continues instead of sending the history
        again.
        """
        known = self._responses.get((asked.caller, previous))
        known = known or self._restore_response(asked.caller, previous)
        if known is None:
            return UnrelatedCall("its history is with the provider")
        conversation, history, _ = known
        if (
            conversation.response_id != previous
        ):  # the conversation continued from that reply already: this is a branch
            conversation = ProxyConversation(
                id=self._new_id(),
                format=conversation.format,
                is_main_agent=conversation.is_main_agent,
                has_typing_user=conversation.has_typing_user,
                project=conversation.project,
                declared_project=conversation.declared_project,
                response_id=previous,
            )
        given = asked.body.values.get("input")
        new = [{"role": "user", "content": given}] if isinstance(given, str) else list(given or ())
        request = {
            name: value
            for name, value in asked.body.values.items()
            if name != "previous_response_id"
        } | {"input": [*history, *new]}
        return CallInConversation(
            conversation=conversation,
            request=request,
            caller=asked.caller,
            own_bytes=len(asked.body.raw),
            has_full_history=False,
        )

    def _restore_response(
        self, caller: str, previous: str
    ) -> tuple[ProxyConversation, list[Any], int] | None:
        """The conversation of a reply that an earlier process saw, with its recorded history."""
        conversation = self._restored_responses.get(_hash_scope(caller, previous))
        history = None if conversation is None else self._read_history(conversation.id)
        if conversation is None or history is None:
            return None
        conversation.response_id = previous
        size = len(repr(history))
        self._remember_response((caller, previous), conversation, history, size)
        return conversation, history, size

    def _remember_response(
        self, key: tuple[str, str], conversation: ProxyConversation, history: list[Any], size: int
    ) -> None:
        self._response_bytes += size - self._responses.pop(key, (None, None, 0))[2]
        self._responses[key] = conversation, history, size
        while len(self._responses) > MAX_REMEMBERED_RESPONSES or (
            self._response_bytes > MAX_RESPONSE_BYTES and len(self._responses) > 1
        ):
            self._response_bytes -= self._responses.popitem(last=False)[1][2]

    def on_reply(
        self, call: CallInConversation, reply: JsonObject, messages: Iterable[Message]
    ) -> None:
        """Record the complete reply of a call.

        Must be called before the client can continue from it.
        """
        conversation = call.conversation
        if conversation.scope and conversation.request_end is not None:
            conversation.history_ends = (
                conversation.history_ends[0],
                _hash_end(conversation.scope, _extend_link(conversation.request_end, messages)),
            )
            self._index_end(conversation, conversation.history_ends[1])
        if (
            conversation.format == "openai_responses"
            and reply.get("id")
            and reply.get("store") is not False
            and call.request.get("store") is not False
        ):
            given = call.request.get("input")
            history = (
                [{"role": "user", "content": given}]
                if isinstance(given, str)
                else list(given or ())
            )
            conversation.response_id = str(reply["id"])
            conversation.response_key = _hash_scope(call.caller, conversation.response_id)
            self._remember_response(
                (call.caller, conversation.response_id),
                conversation,
                [*history, *(reply.get("output") or ())],
                call.own_bytes,
            )


def _count_own_bytes(body: RequestBody) -> int:
    """Bytes behind the entries that were parsed with an earlier request, which it shares."""
    shared = body.entry_spans[body.shared_entries - 1][1] if body.shared_entries else 0
    return len(body.raw) - shared


def to_stored_conversation(conversation: ProxyConversation) -> StoredConversation | None:
    """What the next process needs to know of a conversation; None if it could not be found
    again.
    """
    if not (conversation.name or conversation.history_ends[0] or conversation.response_key):
        return None
    return StoredConversation(
        id=conversation.id, format=conversation.format, is_main_agent=conversation.is_main_agent,
        has_typing_user=conversation.has_typing_user, name=conversation.name,
        declared_project=conversation.declared_project,
        folder=conversation.project or conversation.restored_project,
        shape=conversation.shape, asked=conversation.history_ends[0],
        answered=conversation.history_ends[1], response=conversation.response_key,
    )  # fmt: skip


def _hash_scope(*parts: str) -> bytes:
    """A hash of the scope in which a history is looked up; it reveals none of the parts."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()


def _hash_end(scope: bytes, link: HistoryPrefixDigest) -> bytes:
    return hashlib.blake2b(link.digest, key=scope, digest_size=16).digest()


def hash_history_prefixes(
    format: str, items: Sequence[Any], known_links: Sequence[HistoryPrefixDigest] = ()
) -> list[HistoryPrefixDigest]:
    """The digest of each prefix of a history, one for each entry; those of its beginning may be
    known.

    Raises FormatError.
    """
    links, reading = list(known_links[: len(items)]), find_codec(format)
    last = links[-1] if links else HistoryPrefixDigest(b"")
    for index in range(len(links), len(items)):
        last = _extend_link(
            last, reading.decode_item(replace_lone_surrogates(items[index]), id=str(index))
        )
        links.append(last)
    return links


def _extend_link(link: HistoryPrefixDigest, messages: Iterable[Message]) -> HistoryPrefixDigest:
    for message in messages:
        mark = hashlib.blake2b(
            link.digest + compute_message_digest(message).encode(), digest_size=16
        ).digest()
        link = HistoryPrefixDigest(mark, link.has_model_reply or message.role == "assistant")
    return link
