"""What a user wants of the running session alone: no memory, or a text kept in sight. Pure."""

from __future__ import annotations

import re

from memorist.auto_memory.statements.required_words import fold_case
from memorist.auto_memory.statements.user_prose import split_prose_sentences
from memorist.auto_memory.write_evidence import cut_others_words, extract_user_text
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message

MAX_PIN_CHARS = 2_000
"""Longest text that is kept in sight. Our choice."""
_SESSION = (
    r"(?:(?:this|the|our)\ (?:whole\ |entire\ )?(?:session|conversation|chat|discussion|thread))"
)
_OFF_COMMAND = lazy_pattern(r"/(?:(?:prompts:)?memorist[:-])?off\s*")
_OFF = lazy_pattern(
    rf"""(?:please\ |ok\ |and\ |,)*(?:(?:don['’]?t|do\ not|never)\ (?:remember|memori[sz]e|save|store|keep|learn|record|retain)\ (?:anything|any\ of\ (?:it|this)
    |a\ thing|things)\ (?:from|of|about|in|during|that\ (?:i|we)\ say\ in)\ {_SESSION}|(?:don['’]?t|do\ not)\ (?:remember|memori[sz]e|record)\ {_SESSION}
    |(?:turn|switch)\ (?:(?:your\ |the\ )?memory\ off|off\ (?:your\ |the\ )?memory|memorist\ off|off\ memorist)(?:\ (?:for|in)\ {_SESSION})?
    |(?:memory|memorist)\ off(?:\ (?:for|in)\ {_SESSION})?|no\ memory\ (?:for|in)\ {_SESSION}|(?:keep\ )?{_SESSION}\ (?:is\ |stays\ )?off\ the\ record
    |(?:let['’]?s\ (?:go|talk)\ |this\ is\ |all\ )?off\ the\ record
    |(?:merke?|speichere?|behalte)\ (?:dir\ )?nichts\ (?:aus|von|in|über)\ (?:dieser|diesem|der|dem)\ (?:sitzung|session|unterhaltung|gespräch|chat)
    |ne\ (?:retiens|retenez|mémorise[zs]?|garde[zs]?|enregistre[zs]?)\ rien\ de\ (?:cette|la)\ (?:session|conversation|discussion)
    |no\ (?:recuerdes|guardes|memorices|registres)\ nada\ de\ (?:esta|la)\ (?:sesión|conversación)
    |não\ (?:se\ )?(?:lembre|guarde|memorize|salve|grave)\ (?:de\ )?nada\ (?:desta|dessa|da)\ (?:sessão|conversa)
    |(?:ничего\ )?не\ (?:запоминай|сохраняй|записывай)(?:те)?\ (?:ничего\ )?из\ (?:этой|этого)\ (?:сессии|беседы|разговора|чата)
    |请?(?:不要|别)(?:记住|记录|保存|记忆)(?:这次|本次|这个|此次)(?:会话|对话|聊天)(?:的?(?:任何)?(?:内容|东西|信息))?|(?:这次|本次)(?:会话|对话|聊天)(?:不要|别)(?:记录|记住|保存|记忆)
    |この(?:セッション|会話|チャット)(?:の内容|のこと)?(?:は|を)?(?:何も)?(?:覚え|記憶し|記録し|保存し)ないで(?:ください|下さい|ね)?
    )(?:[,\ ]*please|\ bitte|\ s['’]il\ (?:te|vous)\ plaît|\ por\ favor|,?\ пожалуйста)?[\s.!。！]*""",
    re.IGNORECASE | re.VERBOSE,
)
_OFF_WORDS = (
    *("off", "session", "convers", "chat", "discussion", "thread", "sitzung", "unterhaltung"),
    *("gespräch", "sesión", "sessão", "сесси", "бесед", "разговор", "чат", "会话", "对话", "聊天"),
    *("セッション", "会話", "チャット"),
)
"""Every form of `_OFF` and of `_OFF_COMMAND` holds one of them, with case folded."""
_PIN = lazy_pattern(
    r"""(?:please\ )*(?:/(?:(?:prompts:)?memorist[:-])?pin\b|(?:keep|hold|have)\ (?:this|that|it|the\ following)\ in\ (?:sight|view)(?:\ (?:for|during|throughout)\ (?:the
    \ rest\ of\ )?(?:this|the)\ (?:whole\ )?session)?|keep\ (?:this|the\ following)\ in\ mind\ (?:for|during|throughout)\ (?:the\ rest\ of\ )?(?:this|the)\ session
    |pin\ (?:this|that|it)(?:\ (?:for|during)\ (?:this|the)\ session)?(?!\s+\w)|behalte\ (?:das|dies|folgendes)\ (?:für\ diese\ sitzung\ |in\ dieser\ sitzung\ )?im\ (?:blick|auge)
    |garde\ (?:ceci|ça|cela)\ (?:en\ vue|sous\ les\ yeux)(?:\ pour\ cette\ session)?|(?:ten|mantén)\ esto\ (?:a\ la\ vista|presente)(?:\ en\ esta\ sesión)?
    |mantenha\ isto\ à\ vista(?:\ nesta\ sessão)?|держи\ это\ (?:перед\ глазами|на\ виду)(?:\ (?:в|до\ конца)\ этой\ сессии)?|(?:在)?(?:这次|本次)会话(?:中|里)?(?:一直)?(?:记着|看着|参考)
    |このセッションの間(?:は)?(?:これを)?(?:常に)?見えるように(?:して(?:ください|おいて)?)?)[\s:：,—–.!-]*""",
    re.IGNORECASE | re.VERBOSE,
)

_PIN_WORDS = (
    *("pin", "sight", "view", "mind", "blick", "auge", "vue", "yeux", "vista", "presente"),
    *("глазами", "виду", "会话", "見える"),
)
"""Every form of `_PIN` holds one of them. Looking for them costs a hundredth of splitting a long
text into sentences.
"""


def asks_for_no_memory(typed: str) -> bool:
    """Whether a typed text says that nothing of this session is to be remembered."""
    folded = fold_case(typed)
    if not any(word in folded for word in _OFF_WORDS):
        return False
    text = cut_others_words(typed).strip()
    return _OFF_COMMAND.fullmatch(text) is not None or any(
        _OFF.fullmatch(sentence.masked.strip()) for sentence in split_prose_sentences(text)
    )


def wants_no_memory(message: Message) -> bool:
    """Whether the user says in a message that nothing of this session is to be remembered."""
    return message.is_typed and asks_for_no_memory(extract_user_text(message))


def read_pinned_text(typed: str) -> str:
    """The text that a typed text asks to keep in sight in this session; empty for none."""
    text = typed.strip()
    lower = text.lower()
    if not any(word in lower for word in _PIN_WORDS):
        return ""
    match = _PIN.match(text)
    if match is not None:
        return text[match.end() :].strip()[:MAX_PIN_CHARS]
    text = cut_others_words(typed).strip()
    sentences = list(split_prose_sentences(text))
    if len(sentences) > 1 and _PIN.fullmatch(sentences[-1].masked.strip()):
        return text[: text.rfind(sentences[-1].text)].strip()[:MAX_PIN_CHARS]
    return ""


def find_pinned_text(message: Message) -> str:
    """The text that the user asks to keep in sight in this session; empty for none."""
    return read_pinned_text(extract_user_text(message)) if message.is_typed else ""
