"""Whether a message names nothing that a memory could be about: "thanks", "yes, go on". Pure.

Words of work ("commit", "run the tests") are no such words, however short the message: a memory may
say how it is done here.
"""

from __future__ import annotations

import re
from functools import cache

from memorist.core.language_detection import COMMON_WORDS
from memorist.core.lazy import lazy_pattern
from memorist.core.search_words import QUERY_STOP_WORDS
from memorist.core.text_analysis import parse_word_list

MAX_CONTENTLESS_WORDS = 12
"""Words of the longest such message."""

_ANY_LANGUAGE = parse_word_list("ok okay okey super lgtm")
_FILLERS = {
    "english": parse_word_list(
        """
        yes yeah yep yup yea y k sure right alright fine good great perfect nice cool awesome
        excellent exactly correct agreed thanks thank thx ty cheers please pls go ahead continue
        proceed keep going carry resume next step steps again try now hello hi hey bye well let
        lets sorry got understood sounds looks works too today bit lot first one ones both yourself
        """
    ),
    "german": parse_word_list(
        """
        ja jo jep nein klar gut sehr prima perfekt toll danke dankeschön vielen dank bitte weiter
        weitermachen mach mache machen machs so los passt genau richtig einverstanden alles stimmt
        gerne gern nächste nächsten nächster schritt hallo tschüss dann fort fortfahren fahre jetzt
        dir euch es wir du und auch beides
        """
    ),
    "french": parse_word_list(
        """
        oui non d accord merci beaucoup continue continuer continuez vas va y allez allons parfait
        bien très bon bonne s te plaît plait vous tu stp svp c ça suivant suivante suite étape
        prochaine bonjour salut voilà exactement toi à
        """
    ),
    "spanish": parse_word_list(
        """
        sí si vale gracias muchas continúa continua continuar continúe sigue seguir siga adelante
        perfecto genial bien muy bueno favor claro exacto correcto siguiente paso hola listo dale
        hazlo eso y
        """
    ),
    "portuguese": parse_word_list(
        """
        sim obrigado obrigada valeu continua continue continuar pode prosseguir prossiga segue siga
        frente perfeito ótimo bom muito favor claro certo exato próximo passo olá beleza tudo bem
        faça
        """
    ),
    "italian": parse_word_list(
        """
        sì si no grazie mille continua continuare continui vai avanti procedi perfetto bene ottimo
        favore certo esatto giusto prossimo passo ciao va d accordo molto così
        """
    ),
    "dutch": parse_word_list(
        "ja nee dank je bedankt ga verder door graag prima goed perfect oké alsjeblieft klopt maar"
    ),
    "swedish": parse_word_list("ja nej tack fortsätt gärna snälla bra perfekt kör nästa steg så"),
    "danish": parse_word_list("ja nej tak fortsæt gerne godt fint perfekt næste så"),
    "norwegian": parse_word_list("ja nei takk fortsett gjerne bra fint perfekt neste steg så"),
    "polish": parse_word_list(
        "tak dobrze dobra dziękuję dzięki kontynuuj dalej proszę świetnie super jasne następny krok"
    ),
    "czech": parse_word_list("ano ne dobře díky děkuji pokračuj dál prosím skvělé další krok"),
    "turkish": parse_word_list(
        """
        evet hayır tamam teşekkürler teşekkür ederim devam et edin lütfen güzel harika sonraki adım
        """
    ),
    "russian": parse_word_list(
        """
        да нет ок хорошо спасибо большое продолжай продолжайте продолжим давай дальше пожалуйста
        отлично супер верно правильно понял понятно согласен следующий шаг привет ладно
        """
    ),
    "arabic": parse_word_list("نعم شكرا شكراً تابع استمر حسنا حسناً جيد ممتاز فضلك"),
    "hindi": parse_word_list("हाँ हां धन्यवाद जारी रखें रखो ठीक है अच्छा कृपया आगे बढ़ो"),
    "korean": parse_word_list(
        """
        네 예 응 아니요 감사합니다 고마워 고마워요 고맙습니다 계속 계속해 계속해줘
        계속해주세요 계속하세요 해줘 해주세요 주세요 좋아 좋아요 좋습니다 알겠습니다
        완벽해 다음 단계 단계로 부탁해 부탁해요 부탁합니다 진행해 진행해줘 진행해주세요
        """
    ),
}
"""Words by which people agree, thank, greet and let the agent go on, by language."""

_WORD_END = lazy_pattern(r"[\s!-/:-@\[-`{-~’‘“”„«»…–—、。，！？；：·~]+")
_UNSPACED = lazy_pattern(
    "(?:"
    "是的?|对的?|對的?|好的?|好吧|行|可以|嗯|谢谢|謝謝|多谢|感谢|你|您|请|請|继续|繼續|吧|了|很好|太好|完美"
    "|没问题|沒問題|明白|了解|下一步|不错|不錯|辛苦|没错|沒錯|就这样|不用|来|做"
    "|はい|いいえ|うん|ありがとう|ございます|ございました|どうも|続けて|続き|ください|下さい|お願い|します"
    "|しました|次|に|へ|を|進めて|進んで|わかりました|分かりました|です|ですね|いい|いいね|大丈夫|そう|完璧"
    "|素晴らしい|よろしく|お疲れ様|でした"
    ")+"
)
"""The same where words are not parted."""


@cache
def _list_fillers(language: str) -> frozenset[str]:
    stop_words = QUERY_STOP_WORDS if language == "english" else frozenset[str]()
    common = COMMON_WORDS.get(language, frozenset())
    return frozenset({*_FILLERS[language], *_ANY_LANGUAGE, *stop_words, *common})


def has_no_searchable_content(message: str) -> bool:
    """Whether a message holds nothing but words that agree, thank, greet or point, in one language;
    a number of one or two digits chooses among what was offered. In doubt, no.
    """
    words = [word for word in _WORD_END.split(message.casefold()) if _has_letter(word)]
    if len(words) > MAX_CONTENTLESS_WORDS:
        return False
    left = {word for word in words if not (_UNSPACED.fullmatch(word) or _is_choice(word))}
    return any(left <= _list_fillers(language) for language in _FILLERS)


def _has_letter(word: str) -> bool:
    return any(sign.isalnum() for sign in word)


def _is_choice(word: str) -> bool:
    return re.fullmatch(r"[0-9]{1,2}", word) is not None
