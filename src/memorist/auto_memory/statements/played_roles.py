"""Parts that a message gives the agent to play: "Act as a pirate. Never break character." Pure.

What such a message says is for the part, and ends with the conversation. "You are a …" may as well
describe how the agent shall be in every session: what stands beside it waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from memorist.auto_memory.statements.forget_requests import read_forget_request
from memorist.auto_memory.statements.pattern_alternatives import OpeningPattern
from memorist.auto_memory.statements.statement_patterns import FROM_NOW_ON, PROJECT_NOUN
from memorist.auto_memory.statements.user_prose import ProseSentence, split_prose_sentences
from memorist.core.lazy import lazy_pattern

_PLAYS = OpeningPattern(
    r"(?:(?:please|now|so|ok(?:ay)?|hey|hi|hello)\b,? )*(?:i(?: want| need|['’]d like| would like) you to |(?:can|could|would) you |you (?:will|should|must|are going to) )?"
    r"(?:(?:act|behave) (?:as|like)\b|pretend (?:to be|(?:that |like )?you)\b|role-?play(?=[,.:!]|$| (?:as|with|that|an?|the|this|some)\b)|imagine (?:that )?(?:you|yourself)\b|play the (?:role|part|character)\b|(?:take on|assume|adopt) the (?:role|part|persona|identity|character)\b)"
    r"|let['’]?s role-?play"
    r"|(?:bitte )?(?:tu (?:mal |bitte )?so,? als|stell dir vor,? (?:dass )?du\b|spiele? (?:mal |bitte )?(?:die rolle|de[nm]|eine?n?|das)\b(?!.* (?:ab|ein|auf|zurück)\W*$)|verhalte? dich (?:wie|als)\b|(?:agiere?|handle) als\b|schlüpfe? in die rolle|(?:übernimm|nimm) die rolle|du spielst)"
    r"|fais (?:comme si|semblant)|imaginez? que (?:tu|vous)\b|joue (?:le rôle|une? )|agis (?:comme|en tant)|comporte-toi|mets-toi (?:dans la peau|à la place)|incarne |tu (?:vas jouer|joues) (?:le rôle|une? |l[ea] )"
    r"|(?:quiero que )?(?:actúa como|actúes como|haz (?:de |como si)|finge|finjas|imagina que eres\b|hazte pasar|interpreta (?:a |el papel)|compórtate como|(?:adopta|asume) el (?:rol|papel)|juguemos a)"
    r"|(?:quero que (?:você|vc) )?(?:aja como|atue como|finja|imagin[ea] que (?:você|vc|tu|és|é)\b|faz de conta|faça de conta|faça o papel|interprete o papel|comporte-se como|assuma o papel)"
    r"|(?:представь(?:те)?(?: себе)?,? что ты|веди себя как|притворись|сыграй |играй роль|действуй как|выступи в роли)"
    r"|(?:请|现在|我(?:想|要|希望)|让)*你?来?(?:扮演|假装|假设你是|想象你是|充当)"
    r"|[^。]{1,40}(?:になりきって|のふりをして|として(?:振る舞|ふるま|演じ)|を演じて|の役を(?:して|やって))|ロールプレイ"
    r"|[^.]{1,40}(?:역할을 (?:해|맡)|인 척)"
)
"""Gives the agent a part to play."""
_MAY_GIVE_PART = OpeningPattern(
    r"(?:(?:let['’]?s )?(?:imagine|pretend|play)|stell dir vor|imaginez|imagina|представь(?:те)?(?: себе)?)\b|"
    r"(?:(?:now|so|ok(?:ay)?|hey|hi|hello|from now on)\b,? )*you(?:['’]re| are| will be) (?:now )?(?:an?|the) (?!(?:bit|little|lot|touch|tad)\b)"
    r"|du bist (?:jetzt |nun |ab jetzt )?(?:eine? |der |die )(?!(?:bisschen|wenig)\b)"
    r"|tu es (?:maintenant |désormais )?(?:une? |l[ae] |l['’])(?!peu\b)"
    r"|(?:tú )?eres (?:ahora )?(?:una? |el |la )(?!poco\b)"
    r"|(?:você|vc|tu) (?:agora )?(?:é|és) (?:agora )?(?:uma? |o |a )(?!pouco\b)"
    r"|ты (?:теперь )?(?:[—–-] )?(?:[а-яё]+(?:ый|ий|ой|ая) ){0,2}[а-яё]*(?:тель|ист|ер|ор|ик|ант|ент|арь|рат|бот|аж|перт|лог)\b"
    r"|你(?:现在|将)?是(?:一|个|名|位)"
    r"|(?:あなた|君|きみ)は(?:今から|これから)?[^。]{1,20}(?:です|だ)。"
)
"""Says what the agent is, with a noun, or supposes something."""
_REACHES_FURTHER = lazy_pattern(
    rf"{FROM_NOW_ON}|\bremember(?: (?:that|this|for)\b|:)|\b{PROJECT_NOUN}\b|\b(?:merk dir|ab jetzt|künftig|désormais|retiens|de ahora en adelante|recuerda|daqui (?:pra|para)|lembre|впредь|запомни)\b|以后|今后|记住|今後|覚えて"
)
"""Says that it is for later, for the project or for memory, not for the part."""


def gives_part_to_play(masked: str) -> bool:
    """Whether a sentence gives the agent a part to play, whose rules end with the conversation."""
    return _PLAYS.match(masked) is not None


def drop_sentences_for_part(sentences: Iterable[ProseSentence]) -> Iterator[ProseSentence]:
    """Yield the sentences of a message but those behind one that gives the agent a part to play."""
    plays = False
    for each in sentences:
        if (
            not plays
            or _REACHES_FURTHER.search(each.masked.casefold())
            or read_forget_request(each) is not None
        ):
            yield each
        plays = plays or gives_part_to_play(each.masked)


@lru_cache(8)
def may_be_for_part(text: str) -> bool:
    """Whether what a message states may be for a part that it gives the agent to play."""
    return any(
        gives_part_to_play(each.masked) or _MAY_GIVE_PART.match(each.masked) is not None
        for each in split_prose_sentences(text)
    )
