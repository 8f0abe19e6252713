"""What the lines of a fork's answer are held against: what its model was shown, and what was said
in the conversation. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from memorist.core.messages import Message, Origin
from memorist.forks.fork_spec import BRIEF_HEAD, NEWEST_HEAD, ForkSpec
from memorist.formats.codec_registry import find_codec
from memorist.transcript_analysis.answer_check import AnswerLineChecker, join_json_texts

_NOT_SAID = (Origin.TOOL, Origin.INJECTED)


def build_fork_line_check(
    spec: ForkSpec,
    known: object,
    prompt: str,
    user_words: str = "",
    disprove: Callable[[str], str] | None = None,
) -> AnswerLineChecker:
    """The check for what a model wrote in this fork. `known` is what it was shown beside the
    conversation, `prompt` the words that asked, `user_words` what the user said, for a fork without
    the conversation itself, `disprove` as for `AnswerLineChecker`.
    """
    parent = spec.parent
    if parent is None:
        summary = (spec.history_summary or "").replace(BRIEF_HEAD, "").replace(NEWEST_HEAD, "")
        asking = f"{prompt}\n{BRIEF_HEAD}\n{NEWEST_HEAD}"
        return AnswerLineChecker(
            join_json_texts([summary, known]), asking, summary, user_words, disprove
        )
    codec = find_codec(parent.request.format)
    messages = [*codec.decode_request(parent.request.body).messages]
    if parent.reply:
        messages += codec.decode_reply(parent.reply).messages
    shown = join_json_texts([parent.request.body, parent.reply, known])
    asked = (each.text for each in messages if each.origin is Origin.USER)
    return AnswerLineChecker(
        shown, prompt, "\n".join(_list_said(messages)), "\n".join(asked), disprove
    )


def _list_said(messages: Iterable[Message]) -> Iterator[str]:
    """What user and agent said, and the input of the agent's calls."""
    for message in messages:
        if message.role != "system" and message.origin not in _NOT_SAID:
            yield message.text
        yield from (use.arguments or join_json_texts(use.input) for use in message.tool_uses)
