"""Tell the proxy's conversations apart: by what their clients declare, else by their histories.

No I/O.

A client that declares nothing is followed by the histories that it sends
(`engine.history_matching`), among the conversations of its key, and of its name and project where
it gives some. A request with other instructions and other tools is not part of them.

Known conversations can be saved (`to_stored_conversation`) and restored by the next process.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from msgspec import Struct

from memorist.core.messages import JsonObject, Message
from memorist.engine.history_matching import (
    KnownHistory,
    RequestHistory,
    UnnamedConversationFinder,
    hash_conversation_scope,
    hash_messages,
    read_request_history,
)
from memorist.proxy.conversation_store import StoredConversation
from memorist.proxy.declared_conversation import DeclaredConversation, RequestShape
from memorist.proxy.request_body import RequestBody
from memorist.proxy.side_requests import SideRequestDetector

MAX_CONVERSATIONS = 10_000
"""Conversations that are remembered; the one idle longest is forgotten.

Our choice; one takes about a kilobyte.
"""
MAX_REMEMBERED_RESPONSES, MAX_RESPONSE_BYTES = 1_000, 268_435_456
"""Replies of the Responses API whose history is remembered for `previous_response_id`, and bytes of
the requests that the histories came in: a request with pictures has megabytes. Our choice.
"""


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
    open_calls: int = 0
    """Calls that wait for a reply."""
    shape: RequestShape = ("", "")
    """Instructions and tools of the newest request."""
    history: KnownHistory | None = None
    """What it is found by; None if its client names it."""
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
    scope: bytes = b""
    """The scope of its history."""
    known_history: KnownHistory | None = None
    """The history of its conversation with this call; None if the client names it."""


class UnrelatedCall(Struct, frozen=True):
    """A model call that is not part of a conversation, and why."""

    why: str


class IncomingCall(Struct, frozen=True, kw_only=True, dict=True):
    """A model call as it arrived."""

    format: str
    identity: DeclaredConversation
    caller: str
    """A hash of its API key; see `hash_api_key_of_caller`."""
    body: RequestBody
    shape: RequestShape
    """The shape of the body."""

    @cached_property
    def history(self) -> RequestHistory[object]:
        """The history in the body, as it is looked up."""
        who = self.identity
        scope = hash_conversation_scope(self.caller, self.format, who.name, who.project or "")
        return read_request_history(self.format, self.body.items, scope, self.shape[0])


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
        self._unnamed: UnnamedConversationFinder[ProxyConversation] = UnnamedConversationFinder(
            MAX_CONVERSATIONS
        )
        self._responses: OrderedDict[tuple[str, str], tuple[ProxyConversation, list[Any], int]] = (
            OrderedDict()
        )
        """By caller and the reply's id: the conversation, its history, and its `own_bytes`."""
        self._response_bytes = 0
        self._side_requests = SideRequestDetector()
        for each in known:
            self._restore(each)

    def _restore(self, each: StoredConversation) -> None:
        conversation = ProxyConversation(
            id=each.id, format=each.format, is_main_agent=each.is_main_agent,
            has_typing_user=each.has_typing_user, project=each.declared_project, name=each.name,
            declared_project=each.declared_project, restored_project=each.folder, shape=each.shape,
            response_key=each.response,
        )  # fmt: skip
        if each.response:
            self._restored_responses[each.response] = conversation
        if each.name:
            self._named[each.name, each.format, each.declared_project or ""] = conversation
        if each.history is not None:
            self._remember_history(conversation, each.history)

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
        found = self._match_declared(call) or self._match_by_history(call)
        if isinstance(found, CallInConversation):
            self._side_requests.on_request(found.conversation.id, call.caller, call.body)
        return found

    def _match_declared(self, asked: IncomingCall) -> CallInConversation | None:
        """The call in the conversation that its client names; None if it is not that one's."""
        if asked.identity.certainty not in ("named", "likely"):
            return None
        conversation = self._match_by_name(asked)
        if asked.identity.certainty == "likely":
            known, shape = conversation.shape, asked.shape
            if known != ("", "") and known[0] != shape[0] and known[1] != shape[1]:
                return None
            conversation.shape = shape
        return _build_call(asked, conversation)

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

    def _match_by_history(self, asked: IncomingCall) -> CallInConversation | UnrelatedCall:
        history, shape = asked.history, asked.shape
        match = self._unnamed.find(history, lambda conversation: conversation.open_calls > 0)
        if match is not None and match.key.shape[0] != shape[0] and match.key.shape[1] != shape[1]:
            if not asked.body.values.get("tools"):
                return UnrelatedCall("another kind of request about a conversation")
            match = None
        if match is None and self._side_requests.is_side_request(asked.caller, asked.body):
            return UnrelatedCall("it asks for something beside a conversation")
        conversation = (
            self._start_unnamed(asked.identity, asked.format) if match is None else match.key
        )
        conversation.shape = shape
        known = history.begin() if match is None else match.continue_history()
        self._remember_history(conversation, known)
        return _build_call(asked, conversation, history.scope, known)

    def _start_unnamed(self, who: DeclaredConversation, format: str) -> ProxyConversation:
        return ProxyConversation(
            id=f"{who.name[:60]}-{self._new_id()}" if who.name else self._new_id(),
            format=format,
            is_main_agent=who.is_main_agent and who.certainty != "likely",
            has_typing_user=who.has_typing_user,
            project=who.project,
            declared_project=who.project,
        )

    def _remember_history(self, conversation: ProxyConversation, known: KnownHistory) -> None:
        conversation.history = known
        self._unnamed.remember(conversation, known)

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
        conversation = self._restored_responses.get(hash_conversation_scope(caller, previous))
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
        messages = tuple(messages)
        self._side_requests.on_reply(conversation.id, messages)
        known = call.known_history
        if known is not None and conversation.history is known:
            self._remember_history(
                conversation, known.with_reply(hash_messages(call.scope, messages))
            )
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
            conversation.response_key = hash_conversation_scope(
                call.caller, conversation.response_id
            )
            self._remember_response(
                (call.caller, conversation.response_id),
                conversation,
                [*history, *(reply.get("output") or ())],
                call.own_bytes,
            )


def _build_call(
    asked: IncomingCall,
    conversation: ProxyConversation,
    scope: bytes = b"",
    known_history: KnownHistory | None = None,
) -> CallInConversation:
    return CallInConversation(
        conversation=conversation,
        request=asked.body.values,
        caller=asked.caller,
        own_bytes=_count_own_bytes(asked.body),
        scope=scope,
        known_history=known_history,
    )


def _count_own_bytes(body: RequestBody) -> int:
    """Bytes behind the entries that were parsed with an earlier request, which it shares."""
    shared = body.entry_spans[body.shared_entries - 1][1] if body.shared_entries else 0
    return len(body.raw) - shared


def to_stored_conversation(conversation: ProxyConversation) -> StoredConversation | None:
    """What the next process needs to know of a conversation; None if it could not be found
    again.
    """
    if not (conversation.name or conversation.history or conversation.response_key):
        return None
    return StoredConversation(
        id=conversation.id, format=conversation.format, is_main_agent=conversation.is_main_agent,
        has_typing_user=conversation.has_typing_user, name=conversation.name,
        declared_project=conversation.declared_project,
        folder=conversation.project or conversation.restored_project,
        shape=conversation.shape, history=conversation.history, response=conversation.response_key,
    )  # fmt: skip
