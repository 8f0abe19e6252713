"""Whether a message is put together from the words of several, by its form alone. Pure.

What is pasted is written in another hand than the request beside it, is a block of rules beside one
sentence that is none, has a neighbour that points at it, or is in a language that no rule here reads. The words looked for are of closed classes (always, never,
this, that), no names of texts or of speakers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from memorist.auto_memory.statements.sentence_language import count_supported_language_words
from memorist.auto_memory.statements.user_prose import (
    INTERJECTION_WORDS,
    PROSE_CACHE_SIZE,
    find_sentence_ends,
    mask_quotations,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import count_cjk_letters

MAX_EXAMINED_CHARS = 4_000
"""Characters of a message that are looked at: its form shows early."""
MIN_CAPITALISED_SENTENCES = 2
"""Sentences written with capitals, beside a line typed without, from which they are pasted: one alone
may be a rule that somebody typed with more care than the task beside it.
"""
MIN_VERSE_LINES = 3
"""Lines without a full stop that are a verse."""
MIN_UNKNOWN_LETTER_SHARE = 0.02
"""Share of letters that no language read here has, from which a text is in another one."""
MIN_KNOWN_WORD_SHARE = 0.1
"""Share of frequent words of the languages read here below which one such letter is enough. Both
shares are our choice: a foreign name in an English sentence stays below the first.
"""

MIN_BLOCK_RULES = 2
"""Rules one after the other that are a block."""
MAX_OTHER_SENTENCES = 2
"""Other sentences beside a block of rules, up to which they speak of it; more are talk of their own."""

GENERAL = lazy_pattern(
    r"\b(?:always|never|must(?: not)?|from now on|going forward|no longer|only ever|immer|nie(?:mals)?|stets|ab (?:sofort|jetzt)|nur noch|toujours|jamais|désormais|dorénavant|"
    r"siempre|nunca|jamás|a partir de ahora|sempre|jamais|a partir de agora|всегда|никогда|впредь|отныне|с этого дня|только)\b"
    r"|必ず|絶対|いつも|今後|常に|一切|禁止|以后|今后|一律|永远|从不|必须|务必|不要再|항상|절대|무조건|앞으로|반드시",
    re.IGNORECASE,
)
"""Says that something holds in general."""
_POINTS_AT = lazy_pattern(
    r"\W*(?:(?:that|this|these|those)(?:['’]s| is| are| was| were| came| comes)\b|which of\b|(?:here|there) (?:is|are|'s)\b|(?:das|dies\w*|hier)\b|c['’]est\b|(?:ce|cette|ces|ceci|cela|ça|voici|voilà)\b|"
    r"(?:es[eoa]s?|est[eoa]s?|aquí)\b|(?:iss[oa]|ist[oa]|ess[ea]s?|aqui)\b|(?:это\w?|эт\w{1,3}|вот)\b|[这那此]|(?:上|下)面|以[上下]|[こそ]れ|[こそ次]の|[上下]記|って|という|と(?:書|言|レビュー)|이거|이건|이게|그거|[이그] |라고|라는|다음|아래|위)",
    re.IGNORECASE,
)
"""A sentence that begins by pointing at another."""
_NAMES_SENDER = lazy_pattern(
    r"\W*(?:[^\W\d]+ )?(?:\w*anforderung|anfrage|\w*wunsch|vorgabe|anweisung|nachricht|e?-?mail|rückmeldung|hinweis"
    r"|auftrag|demande|requête|message|courriel|retour|consigne|remarque|petición|pedido|mensaje|correo|solicitud"
    r"|solicitação|mensagem|запрос|просьба|письмо|сообщение|требование|задание)"
    r" (?:vom|von|der|des|du|de|del|do|da|от)(?: (?:la|un|une|una|um|uma|l['’]))? ?[^\W\d]+[.!]\Z"
    r"|[^。]{1,20}の(?:要望|要求|要件|依頼|指示|リクエスト|意見|コメント|指摘|連絡|メール|伝言|希望|発言|話)(?:です|だ|でした|だった|が来)"
    r"|[^。]{1,20}(?:から|より)[^。]{0,16}(?:来ま|来た|届き|届い|もらい|もらっ|受け|言わ|頼ま)"
    r"|[^。]{1,16}に[^。]{0,8}(?:言わ|指示さ|頼ま|注意さ|指摘さ)れ(?:まし)?た",
    re.IGNORECASE,
)
"""A sentence beside a rule that says only from whom it is: `Demande du client.`, with a noun for what
is said, or a verb of getting in Japanese. Any noun of an action may be the user's own task (`Mise à
jour du README.`).
"""
_OF_THE_PROJECT = lazy_pattern(
    r"\b(?:proje[ck]t\w*|proyecto|projet|projeto|repo\w*|app|codebase|library|service|team|equipo|équipe|equipe|our|we|i|unser\w*|wir|ich|notre|nous|je|nuestr\w*|noss[oa]s?|"
    r"important\w*|wichtig\w*|matters|rule|standard|convention|norm\w*)\b|проект|команд|наш|важно|项目|團隊|团队|我们|规范|重要|プロジェクト|チーム|私たち|프로젝트|팀|우리|중요"
    r"|\bthis is (?:an? )?(?-i:[A-Z])",
    re.IGNORECASE,
)
"""What points at the project or says how much a rule matters points at no text."""
_BARE_ORDER = lazy_pattern(
    r"\W*(?:(?:please|and|also|bitte|und) )?(?:always|never|from now on|immer|nie(?:mals)?|ab jetzt|toujours|jamais|siempre|nunca|sempre|всегда|никогда|впредь|必ず|今後|以后|今后|一律|永远|항상|절대|앞으로)",
    re.IGNORECASE,
)
"""An order to the reader. Beside a task it is the user's own ("Fix the parser. Always use pnpm. Never
use npm."); who reports the rules of others says whose they are ("Bidders must always …").
"""
_ENDS_OF_REMARKS = ("?", "？", ":", "：")
"""Ends of what is asked of the rules beside it, or announces them."""
_INTERJECTION = lazy_pattern(rf"(?:{INTERJECTION_WORDS}\W*)+", re.IGNORECASE)
OWN_LEAD = lazy_pattern(
    r"\W*(?!(?:my|our|your) \w+['’]s )(?:(?:\w+ ){0,2}(?:my|our|your|general|house|ground|some|new|meine?|unsere?|mes|nos|mis|nuestr[ao]s|minhas|nossas|мои|наши)\b|rules?\b|(?:(?:please|pls|also|just|and|but|so|ok(?:ay)?|bitte|por favor|пожалуйста),? )*(?:remember|note|important|reminder|recuerda|lembr[ae]|retiens|souviens|запомни|помни)\b|from now on|"
    r"going forward|in (?:the )?future|(?:(?:as|like) )?(?:i|we)(?:['’]ve| have)? (?:already |just )?(?:told you|asked you|said|meant?)\b|ich hab\w*\b|je t['’]ai|te (?:lo )?dije|já (?:te )?disse|я (?:же )?(?:сказал|говорил)|我(?:跟你)?说|for (?:this|our|all)|keep in mind|ab (?:sofort|jetzt)|merke?|regeln?|wichtig|règles?|important|reglas?|importante|regras?|правил|важно|以后|今后|记住|规则|注意|ルール|今後|重要|覚えて|규칙|앞으로|기억)",
    re.IGNORECASE,
)
"""In front of a colon or a list: the user's own rules follow."""
_PREFERENCE = lazy_pattern(
    r"\W*(?:(?:i|we) (?:prefer|like|want)|ich bevorzuge|je préfère|prefiero|prefiro|я предпочитаю)\b|我更?喜欢",
    re.IGNORECASE,
)
"""A statement of one's own that stands among one's rules."""
_COLON = lazy_pattern(r"(?P<lead>[^:：\n]{3,80}?)(?:[:：]\s+|：)(?=\S)")

_BULLET = lazy_pattern(r"\s*(?:[-*•·]|\d{1,2}[.)])\s+")
_SENTENCE_START = lazy_pattern(r"(?:^|(?<=[.!?])\s+)[\W\d_]*(?=[^\W\d_])")
_READ_ACCENTS = frozenset("äöüßéèêëàâîïôûùçœæñáíóúãõÿ")
"""Letters beyond ASCII of the languages in Latin letters that rules read."""
_READ_SCRIPTS = ("CYRILLIC", "CJK", "HIRAGANA", "KATAKANA", "HANGUL", "FULLWIDTH", "IDEOGRAPHIC")


@lru_cache(PROSE_CACHE_SIZE)
def is_composite_message(typed: str) -> bool:
    """Whether a message holds more than one hand, or several parts in a language
    in which no rule tells whose words are whose.
    """
    typed = typed[:MAX_EXAMINED_CHARS]
    lines = [line for line in typed.splitlines() if line.strip()]
    has_parts = len(lines) > 1 or ": " in typed
    return (
        _changes_hand(lines)
        or (GENERAL.search(typed) is not None and _shows_rules(lines))
        or (has_parts and has_language_without_attribution_rules(typed))
    )


def _shows_rules(lines: list[str]) -> bool:
    """Whether rules are a block beside little else, stand behind a colon, or are pointed at."""
    if any(map(_has_rule_behind_colon, lines)):
        return True
    sentences = list(_split_sentences(lines))
    general = [holds for _, holds in sentences]
    at = [index for index, holds in enumerate(general) if holds]
    others = [each for each, holds in sentences if not holds]
    if any(map(OWN_LEAD.match, others)):
        return False
    tasks = [each for each in others if not _PREFERENCE.match(each)]
    is_block = len(at) >= MIN_BLOCK_RULES and at[-1] - at[0] == len(at) - 1
    announces = any(each.endswith(_ENDS_OF_REMARKS) for each in tasks)
    orders = any(_BARE_ORDER.match(each) for each, holds in sentences if holds)
    if is_block and 0 < len(tasks) <= MAX_OTHER_SENTENCES and (announces or not orders):
        return True
    near = {0, len(sentences) - 1, *(each + step for each in at for step in (-1, 1))} - set(at)
    return bool(at) and any(
        (_POINTS_AT.match(sentences[each][0]) or _NAMES_SENDER.match(sentences[each][0]))
        and not _OF_THE_PROJECT.search(sentences[each][0])
        for each in near
        if 0 <= each < len(sentences)
    )


def _split_sentences(lines: list[str]) -> Iterator[tuple[str, bool]]:
    """The sentences of some lines, and whether each is a rule; none that says nothing of its own.
    The entries of a list with a rule are rules.
    """
    listed = [_BULLET.match(line) is not None for line in lines]
    is_rule_list = any(
        item and GENERAL.search(line) for line, item in zip(lines, listed, strict=True)
    )
    for line, item in zip(lines, listed, strict=True):
        for sentence in _split_line(line):
            if sentence and not _INTERJECTION.fullmatch(sentence):
                yield sentence, (item and is_rule_list) or GENERAL.search(sentence) is not None


def _split_line(line: str) -> Iterator[str]:
    start, masked = 0, mask_quotations(line)
    for end in find_sentence_ends(masked):
        yield masked[start:end].strip()
        start = end


def _has_rule_behind_colon(line: str) -> bool:
    """Whether a rule follows a colon behind other words than the announcement of one's own."""
    rest = mask_quotations(line)
    for sentence in _split_line(line):
        found = _COLON.match(sentence)
        if (
            found is not None
            and GENERAL.search(rest, rest.find(sentence) + found.end()) is not None
            and OWN_LEAD.match(found["lead"]) is None
            and GENERAL.search(found["lead"]) is None
            and _INTERJECTION.fullmatch(found["lead"]) is None
        ):
            return True
    return False


def has_language_without_attribution_rules(text: str) -> bool:
    """Whether a text is in a language in which no rule tells whose words are whose."""
    foreign = sum(map(_is_foreign, text.casefold()))
    if not foreign:
        return False
    if foreign >= MIN_UNKNOWN_LETTER_SHARE * sum(map(str.isalpha, text)):
        return True
    words = text.casefold().split()
    read = count_supported_language_words(words) + count_cjk_letters(text)
    return read < MIN_KNOWN_WORD_SHARE * len(words)


def _is_foreign(letter: str) -> bool:
    return (
        letter > "\x7f"
        and letter.isalpha()
        and letter not in _READ_ACCENTS
        and not unicodedata.name(letter, "").startswith(_READ_SCRIPTS)
    )


def _changes_hand(lines: list[str]) -> bool:
    """Whether the first or the last line is typed without capitals, and all others are written with."""
    if len(lines) < 2:
        return False
    return (_is_typed_fast(lines[0]) and _are_written(lines[1:])) or (
        _is_typed_fast(lines[-1]) and _are_written(lines[:-1])
    )


def _is_typed_fast(line: str) -> bool:
    """Whether a line begins with a small letter, ends openly and gives no rule of its own."""
    return (
        line.lstrip()[:1].islower()
        and not line.rstrip().endswith(".")
        and GENERAL.search(line) is None
    )


def _are_written(lines: list[str]) -> bool:
    """Whether every sentence of these lines begins with a capital, and every line but one ends as a
    sentence does, or they are the lines of a verse.
    """
    if count_cjk_letters("".join(lines)):
        return False
    starts = [line[found.end()] for line in lines for found in _SENTENCE_START.finditer(line)]
    ended = sum(line.rstrip().endswith((".", "!", "?")) for line in lines)
    return (
        len(starts) >= MIN_CAPITALISED_SENTENCES
        and (ended >= max(1, len(lines) - 1) or (len(lines) >= MIN_VERSE_LINES and not ended))
        and not any(map(str.islower, starts))
    )
