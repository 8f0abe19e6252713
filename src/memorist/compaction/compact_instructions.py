"""What instruction files say of summaries (CP-7), for a summary whose request does not show these
files. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin, TextBlock
from memorist.core.prompt_templates import load_prompt, render_template
from memorist.formats.codec_registry import find_codec
from memorist.formats.host_markup import detect_origin
from memorist.ports import Request

MAX_CHARS = 4_000
"""Most of them that a request for a summary repeats. Our choice."""
_SECTION = lazy_pattern(
    r"^(?P<level>#{1,6})[ \t]*(?:compact|summary)[ ]instructions[ \t:#]*$\n"
    r"(?P<text>.*?)(?=^(?!(?P=level)#)#{1,6}[ \t]|^</|\Z)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
"""A section with that heading, up to the next of its level or a higher one or the end of the
file's frame.
"""


def render_compact_instructions(request: Request) -> str:
    """The sections "Compact Instructions" of the instruction files that a request shows, as an
    addition to the request for a summary; empty where there are none.

    Only what the host or memorist put in counts, no words of a user, a tool or a model.
    """
    prompt = find_codec(request.format).decode_request(request.body)
    found = dict.fromkeys(
        section["text"].strip()
        for text in (
            *_list_texts(prompt.system),
            *_list_injected_texts(prompt.messages),
        )
        for section in _SECTION.finditer(text)
    )
    instructions = "\n\n".join(filter(None, found))[:MAX_CHARS]
    if not instructions:
        return ""
    template = load_prompt("compaction/file_instructions")
    return "\n\n" + render_template(template, {"instructions": instructions}, strict=True).strip()


def _list_texts(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        for block in message.blocks:
            if isinstance(block, TextBlock):
                yield block.text


def _list_injected_texts(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        if message.role in {"system", "developer"}:
            yield from _list_texts([message])
        elif message.role == "user":
            for text in _list_texts([message]):
                if detect_origin(text) is Origin.INJECTED:
                    yield text
