"""What a user wants of the running session alone: no memory, or a text kept in sight. Pure."""

from __future__ import annotations

import re

from memorist.auto_memory.statements.context_dependent_lines import refers_to_other_text
from memorist.auto_memory.statements.pattern_required_words import (
    holds_required_word,
    join_pattern_lines,
)
from memorist.auto_memory.statements.text_around_pastes import extract_typed_text
from memorist.auto_memory.statements.user_prose import (
    ProseSentence,
    contains_unattributable_text,
    split_prose_sentences,
)
from memorist.auto_memory.write_evidence import extract_text_before_others_words
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message

MAX_PIN_CHARS = 2_000
"""Longest text that is kept in sight. Our choice."""


_SESSION = (
    r"(?:(?:this|the|our)\ (?:whole\ |entire\ )?(?:session|conversation|chat|discussion|thread))"
)
_COMMAND = r"(?:/(?:(?:prompts:)?memorist[:-])?{0}\b|\[?\$memorist[:-]{0}\b(?:\]\([^)\s]*\))?)"
"""A command as the user gives it: `/memorist:off` in Claude Code, in Codex `$memorist-off`, which
its app writes as a link.
"""
_OFF_COMMAND = lazy_pattern(rf"{_COMMAND.format('off')}\s*", re.IGNORECASE)
_MEMORY = (
    r"(?:(?:your|the|my|any|all)\ )?(?:memory|memories|memorist)(?:\ (?:feature|function|mode))?"
)
_FOR_SESSION = (
    rf"(?:\ (?:for|in|during|throughout|within)\ (?:the\ rest\ of\ )?{_SESSION}"
    r"|\ (?:here|now|for\ now|today))"
)
_WHAT_IS_SAID = rf"""(?:(?:that\ )?(?:i|we)(?:['’](?:m|re|ll))?\ (?:say|tell\ you|write|talk\ about|discuss|do|type)(?:{_FOR_SESSION}|\ in\ {_SESSION})?
    |(?:from|of|about|in|during)\ {_SESSION})"""
_OFF_ENGLISH = rf"""
    (?:don['’]?t|do\ not|never)\ (?:remember|memori[sz]e|save|store|keep|learn|record|retain)\ (?:anything|any\ of\ (?:it|this)|a\ thing|things)\ {_WHAT_IS_SAID}
    |(?:don['’]?t|do\ not|never|stop)\ (?:remember|memori[sz])(?:e|ing)?\ (?:anything|any\ of\ this|things|stuff)(?:{_FOR_SESSION})?|(?:don['’]?t|do\ not)\ (?:remember|memori[sz]e|record)\ {_SESSION}
    |i\ (?:don['’]?t|do\ not)\ (?:want\ to|want\ you\ to)\ (?:remember|memori[sz]e|record|save|store|keep)\ (?:anything\ {_WHAT_IS_SAID}|{_SESSION})
    |{_SESSION}\ (?:should|must|may|shall|is)\ (?:not\ be|not\ to\ be)\ (?:remembered|saved|stored|recorded|kept|memori[sz]ed)
    |stop\ (?:remembering|memori[sz]ing)(?:{_FOR_SESSION})?|(?:remember|save|store|keep|record|retain|memori[sz]e)\ nothing\ {_WHAT_IS_SAID}
    |nothing\ {_WHAT_IS_SAID}\ (?:should|may|must|shall|is\ to|ought\ to)\ be\ (?:remembered|saved|stored|recorded|kept|retained|memori[sz]ed)
    |(?:turn|switch|shut)\ (?:{_MEMORY}\ off|off\ {_MEMORY})(?:{_FOR_SESSION})?|{_MEMORY}(?:\ ?[:=]\ ?|\ )off(?:{_FOR_SESSION})?
    |(?:disable|deactivate|pause|suspend|stop)\ (?:memorist|your\ memory|{_MEMORY}{_FOR_SESSION})(?:{_FOR_SESSION})?
    |(?:don['’]?t|do\ not|never)\ (?:use|access|touch|read)\ (?:{_MEMORY}{_FOR_SESSION}|your\ memory|memorist)|ignore\ {_MEMORY}{_FOR_SESSION}
    |(?:use\ )?no\ memory{_FOR_SESSION}|without\ memory{_FOR_SESSION}|memorist_off\ ?=\ ?1
    |(?:keep\ )?{_SESSION}\ (?:is\ |stays\ )?off\ the\ record|(?:let['’]?s\ (?:go|talk)\ |this\ is\ |all\ )?off\ the\ record
    |(?:go|let['’]?s\ go|be|stay|we\ are|work)\ incognito(?:{_FOR_SESSION})?|incognito(?:\ (?:mode|session|chat))?"""
_OFF_ELSEWHERE = r"""
    (?:merke?|speichere?|behalte)\ (?:dir\ )?(?:bitte\ )?nichts\ (?:aus|von|in|über)\ (?:dieser|diesem|der|dem)\ (?:sitzung|session|unterhaltung|gespräch|chat)
    |merke?\ dir\ (?:bitte\ |hier\ |heute\ )*nichts|(?:aus|von|in)\ (?:dieser|diesem)\ (?:sitzung|session|unterhaltung|gespräch|chat)\ nichts\ (?:merken|speichern|behalten|aufzeichnen)
    |(?:schalte?|stelle?|mach)\ (?:bitte\ )?(?:das\ |dein\ |den\ )?(?:gedächtnis|memory|memorist)(?:\ (?:für|in)\ diese[rn]?\ (?:sitzung|session))?\ (?:bitte\ )?(?:aus|ab)
    |(?:deaktiviere?|pausiere?)\ (?:bitte\ )?(?:das\ |dein\ )?(?:gedächtnis|memorist)(?:\ (?:für|in)\ diese[rn]?\ (?:sitzung|session))?|gedächtnis\ (?:bitte\ )?(?:aus|ausschalten|abschalten)
    |mémoire\ désactivée\ pour\ cette\ (?:session|conversation)|(?:ne\ |n['’])(?:retiens|retenez|mémorise[zs]?|garde[zs]?|enregistre[zs]?)\ rien\ de\ (?:cette|la)\ (?:session|conversation|discussion)|ne\ (?:retiens|retenez|mémorise[zs]?)\ rien
    |(?:désactive[zs]?|coupe[zs]?|éteins|éteignez)\ (?:la|ta|votre)\ mémoire(?:\ pour\ cette\ (?:session|conversation))?
    |no\ (?:recuerdes|guardes|memorices|registres)\ nada\ de\ (?:esta|la)\ (?:sesión|conversación)|no\ (?:recuerdes|memorices)\ nada
    |(?:desactiva|apaga|deshabilita)\ (?:la|tu)\ memoria(?:\ (?:para|en|durante)\ esta\ (?:sesión|conversación))?
    |não\ (?:se\ )?(?:lembre|guarde|memorize|salve|grave)\ (?:de\ )?nada\ (?:desta|dessa|da)\ (?:sessão|conversa)|não\ (?:se\ lembre\ de|memorize)\ nada
    |(?:desativ[ae]|desligue?|desliga)\ a\ (?:sua\ |tua\ )?memória(?:\ (?:para|n)esta\ (?:sessão|conversa))?
    |disattiva\ la\ (?:tua\ )?memoria(?:\ (?:per|in)\ questa\ (?:sessione|conversazione))?|non\ (?:ricordare|memorizzare)\ (?:nulla|niente)(?:\ di\ questa\ (?:sessione|conversazione))?
    |(?:ничего\ )?не\ (?:запоминай|сохраняй|записывай)(?:те)?\ (?:ничего\ )?из\ (?:этой|этого)\ (?:сессии|беседы|разговора|чата)|ничего\ не\ запоминай(?:те)?|не\ запоминай(?:те)?\ ничего
    |(?:выключи|отключи)(?:те)?\ (?:свою\ )?память(?:\ (?:в|на|для)\ (?:этой|эту)\ (?:сессии|сессию|беседы|беседе))?
    |请?(?:不要|别)(?:记住|记录|保存|记忆)(?:这次|本次|这个|此次)(?:会话|对话|聊天)(?:的?(?:任何)?(?:内容|东西|信息))?|(?:这次|本次)(?:会话|对话|聊天)(?:不要|别)(?:记录|记住|保存|记忆)
    |请?(?:不要|别)记住?任何(?:东西|内容|事情|信息)|请?(?:在)?(?:这次|本次)?(?:会话|对话)?(?:中|里)?(?:关闭|关掉|停用|禁用)(?:你的)?记忆(?:功能)?|请?把?(?:你的)?记忆(?:功能)?关(?:掉|闭|了)
    |この(?:セッション|会話|チャット)(?:の内容|のこと)?(?:は|を)?(?:何も)?(?:覚え|記憶し|記録し|保存し)ないで(?:ください|下さい|ね)?|何も(?:覚え|記憶し)ないで(?:ください|下さい|ね)?
    |(?:(?:この|今回の)(?:セッション|会話)(?:では|で|は|の間は?))?(?:メモリー?|記憶)(?:機能)?を(?:オフ|無効)に(?:して(?:ください|下さい|ね)?)?
    |(?:이|이번)\ ?(?:세션|대화|채팅)(?:은|는|의?\ 내용은)?\ (?:아무것도\ )?(?:기억|저장|기록)하지\ ?(?:마|말)\S*(?:\ \S{1,3})?|아무것도\ (?:기억|저장|기록)하지\ ?(?:마|말)\S*|메모리(?:를|는)?\ (?:꺼|끄)\S*(?:\ \S{1,3})?"""
_PLEASE = r"(?:[,\ ]*please|\ bitte|\ s['’]il\ (?:te|vous)\ plaît|\ por\ favor|\ per\ favore|,?\ пожалуйста)"
_OFF_TEXT = join_pattern_lines(
    rf"(?:please |bitte |por favor,? |пожалуйста,? |ok |and |,)*(?:{_OFF_ENGLISH}|no memory please"
    rf"|(?:can you|could you|would you|will you) (?:please )?(?:{_OFF_ENGLISH})(?: please)?\?|{_OFF_ELSEWHERE}){_PLEASE}?[\s.!。！]*"
)
_OFF = lazy_pattern(_OFF_TEXT, re.IGNORECASE)
_THIS_SESSION = r"(?:for|during|throughout|in)\ (?:the\ rest\ of\ )?(?:this|the)\ (?:whole\ |entire\ )?session(?:\ only)?"
_BEAR_IN_MIND = r"(?:remember|note|keep\ in\ mind|bear\ in\ mind|keep\ in\ sight|don['’]?t\ forget)"
_PIN_TEXT = join_pattern_lines(
    rf"""(?:please\ )*(?:{_COMMAND.format("pin")}|pin:|(?:keep|hold|have)\ (?:this|that|it|the\ following)\ (?:in\ sight|in\ view)(?:\ {_THIS_SESSION})?
    |(?:always\ )?keep\ (?:this|the\ following)\ (?:visible|in\ context)(?:\ {_THIS_SESSION})?|keep\ (?:(?:this|the\ following)\ in\ mind|in\ mind)\ {_THIS_SESSION}(?:\ that\b)?
    |(?:don['’]?t|do\ not|never)\ lose\ sight\ of\ (?:this|the\ following)(?:\ {_THIS_SESSION})?|{_THIS_SESSION},?\ (?:please\ )?{_BEAR_IN_MIND}(?:\ this)?(?:\ that\b)?
    |(?:remember|note)(?:\ this)?\ {_THIS_SESSION}(?:\ that\b|(?=\s?:))|for\ (?:the\ rest\ of\ )?this\ session(?:\ only)?(?=\s?:)
    |pin\ (?:this|that|it)(?:\ {_THIS_SESSION})?(?!\s+\w)|behalte\ (?:das|dies|folgendes)\ (?:für\ diese\ sitzung\ |in\ dieser\ sitzung\ )?(?:im\ blick|im\ auge)
    |(?:für\ diese\ sitzung|in\ dieser\ sitzung)\ (?:gilt(?=\s?:)|merk\ dir\b)|merke?\ dir\ (?:für\ diese\ sitzung|in\ dieser\ sitzung)
    |garde\ (?:ceci|ça|cela)\ (?:en\ vue|sous\ les\ yeux)(?:\ pour\ cette\ session)?|pour\ cette\ session,?\ (?:retiens|retenez|garde\ en\ tête|n['’]oublie\ pas)(?:\ que\b)?
    |(?:ten|mantén)\ esto\ (?:a\ la\ vista|presente)(?:\ en\ esta\ sesión)?|(?:para|en)\ esta\ sesión,?\ (?:ten\ en\ cuenta|ten\ presente|recuerda)(?:\ que\b)?
    |mantenha\ isto\ à\ vista(?:\ nesta\ sessão)?|(?:para\ esta\ sessão|nesta\ sessão),?\ (?:lembre(?:-se)?|tenha\ em\ mente)(?:\ de)?(?:\ que\b)?
    |держи\ это\ (?:перед\ глазами|на\ виду)(?:\ (?:в|до\ конца)\ этой\ сессии)?|(?:в\ этой\ сессии|на\ эту\ сессию)\ (?:помни|запомни)(?:те)?(?:,?\ что\b)?
    |(?:请)?(?:在)?(?:这次|本次)会话(?:中|里)?,?(?:一直)?(?:请)?(?:记着|记住|看着|参考)|このセッション(?:の間|で)(?:は)?(?:これを)?(?:常に)?(?:見えるように|覚えて)(?:して(?:ください|おいて)?|おいて(?:ください)?)?
    )[\s:：,—–.!-]*"""
)
_PIN = lazy_pattern(_PIN_TEXT, re.IGNORECASE)
_PIN_AROUND = lazy_pattern(
    join_pattern_lines(
        rf"(?:please\ )*keep\ (?P<text>.+)\ in\ (?:sight|view)\ {_THIS_SESSION}[.!]*"
    ),
    re.IGNORECASE,
)


def user_asks_for_no_memory(typed: str) -> bool:
    """Whether a typed text says that nothing of this session is to be remembered: in the user's own
    talk, not in a line that the text shows.
    """
    if _OFF_COMMAND.fullmatch(typed.strip()):
        return True
    if not holds_required_word(_OFF_TEXT, typed):
        return False
    return any(_OFF.fullmatch(each.masked.strip()) for each in _split_own_sentences(typed))


def text_contains_no_memory_request(typed: str) -> bool:
    """Whether a typed text has a sentence that asks for no memory, whoever's words it is."""
    return holds_required_word(_OFF_TEXT, typed) and any(
        _OFF.fullmatch(each.masked.strip()) for each in split_prose_sentences(typed.strip())
    )


def _split_own_sentences(typed: str) -> list[ProseSentence]:
    """The sentences of a typed text that are the user's own talk: the one at the very beginning, and
    those beside which no line speaks of another text. Beside a text to work on, a letter or a form
    it is that first one at most.
    """
    text = extract_text_before_others_words(typed).strip()
    is_unattributable = contains_unattributable_text(typed)
    own = [
        sentence
        for paragraph in text.split("\n\n")
        for sentence in split_prose_sentences(paragraph)
        if (not is_unattributable and text.startswith(sentence.text))
        or not any(
            refers_to_other_text(line) and sentence.text not in line
            for line in paragraph.splitlines()
        )
    ]
    if is_unattributable:
        return [sentence for sentence in own[:1] if text.startswith(sentence.text)]
    return own


def message_asks_for_no_memory(message: Message) -> bool:
    """Whether the user says in a message that nothing of this session is to be remembered."""
    return message.is_typed and user_asks_for_no_memory(extract_typed_text(message))


def find_text_to_pin(typed: str) -> str:
    """The text that a typed text asks to keep in sight in this session; empty for none."""
    text = typed.strip()
    if not holds_required_word(_PIN_TEXT, text):
        return ""
    match = _PIN.match(text)
    if match is not None:
        return text[match.end() :].strip()[:MAX_PIN_CHARS]
    match = _PIN_AROUND.fullmatch(text)
    if match is not None:
        return match["text"][:MAX_PIN_CHARS]
    text = extract_text_before_others_words(typed).strip()
    sentences = _split_own_sentences(typed)
    if len(sentences) > 1 and _PIN.fullmatch(sentences[-1].masked.strip()):
        return text[: text.rfind(sentences[-1].text)].strip()[:MAX_PIN_CHARS]
    return ""


def find_text_to_pin_in_message(message: Message) -> str:
    """The text that the user asks to keep in sight in this session; empty for none."""
    return find_text_to_pin(extract_typed_text(message)) if message.is_typed else ""
