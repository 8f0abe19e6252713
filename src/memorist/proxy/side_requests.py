"""Tell what a chat client asks beside a chat by its structure: for a title, tags or next questions
it sends a single small request that quotes the chat, whatever its words. No I/O.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Iterable

from msgspec import Struct

from memorist.core.messages import Message, TextBlock
from memorist.engine.host_history import is_instructions
from memorist.proxy.request_body import RequestBody

MAX_QUOTABLE_CONVERSATIONS = 64
"""Newest conversations whose newest words are known. Our choice; one takes half a kilobyte."""
MIN_QUOTED_CHARS, MAX_QUOTED_CHARS, MAX_READ_CHARS = 20, 200, 100_000
"""Characters by which words are known again, as a greeting stands in many texts, and of a message
that are looked at. Our choice.
"""
MAX_ASIDE_TOKENS = 1_000
"""Tokens that a reply of this kind may have, where a request says so. Open WebUI's own number."""

_SIZE_FIELDS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_BREAKS = re.compile(r'["\\\r\n]+')
"""Where a quotation may differ from what it quotes: it may be indented, or written as JSON."""


class _NewestWords(Struct):
    caller: str
    streams: bool
    reply_tokens: float
    asked_chars: int
    beginning: str
    asked: str
    replied: str = ""

    def is_quoted_in(self, text: str) -> bool:
        if len(text) <= self.asked_chars:
            return False
        asked = "" if text.startswith(self.beginning) else self.asked
        return any(words and words in text for words in (asked, self.replied))


class SideRequestDetector:
    """Finds the requests that a client makes beside a conversation, by the newest words of those
    that go on now. `key` is a conversation's id.
    """

    def __init__(self) -> None:
        self._newest: OrderedDict[str, _NewestWords] = OrderedDict()

    def on_request(self, key: str, caller: str, body: RequestBody) -> None:
        """Note what a conversation asks now."""
        asked = _read_text(body.items[-1] if body.items else None)
        self._newest.pop(key, None)
        self._newest[key] = _NewestWords(
            caller,
            _streams(body),
            _read_reply_tokens(body),
            len(asked),
            asked[:MIN_QUOTED_CHARS],
            _choose_words(asked),
        )
        while len(self._newest) > MAX_QUOTABLE_CONVERSATIONS:
            self._newest.popitem(last=False)

    def on_reply(self, key: str, messages: Iterable[Message]) -> None:
        """Note the reply to it."""
        known = self._newest.get(key)
        if known is not None:
            texts = [
                block.text
                for message in messages
                for block in message.blocks
                if isinstance(block, TextBlock)
            ]
            known.replied = _choose_words("\n".join(texts))

    def is_side_request(self, caller: str, body: RequestBody) -> bool:
        """Whether a request that begins a conversation is one message that quotes another one of
        the same caller, wants a smaller reply or is not streamed as that one is, and has no tools.
        One that begins as that one and quotes no reply is asked anew, with more words.
        """
        said = [item for item in body.items if not is_instructions(item)]
        if len(said) != 1 or body.values.get("tools"):
            return False
        text, tokens = _read_text(said[0]), _read_reply_tokens(body)
        return any(
            known.is_quoted_in(text)
            for known in self._newest.values()
            if known.caller == caller
            and (known.streams is not _streams(body) or tokens < known.reply_tokens)
        )


def _choose_words(text: str) -> str:
    """The longest piece of a text's beginning that a quotation of it repeats; empty where all are
    short.
    """
    beginning = text[: 10 * MAX_QUOTED_CHARS]
    longest = max((part.strip() for part in _BREAKS.split(beginning)), key=len)
    return longest[:MAX_QUOTED_CHARS] if len(longest) >= MIN_QUOTED_CHARS else ""


def _read_text(item: object) -> str:
    content = item.get("content") if isinstance(item, dict) else None
    if isinstance(content, str):
        return content[:MAX_READ_CHARS]
    blocks = content if isinstance(content, list) else ()
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))[:MAX_READ_CHARS]


def _streams(body: RequestBody) -> bool:
    return body.values.get("stream") is True


def _read_reply_tokens(body: RequestBody) -> float:
    """Tokens that a reply may have; infinite where it may have many."""
    sizes = [body.values.get(name) for name in _SIZE_FIELDS]
    small = [size for size in sizes if isinstance(size, int) and size <= MAX_ASIDE_TOKENS]
    return min(small, default=math.inf)
