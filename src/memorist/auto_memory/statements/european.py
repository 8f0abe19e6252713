"""The plainest requests in German, French, Spanish and Japanese. Pure."""

from __future__ import annotations

from memorist.auto_memory.statements.patterns import StatementPattern, define_pattern

_CLAUSE_SEPARATOR = r"\s*[:,]\s*"

OTHER_FORGET_PATTERNS: tuple[StatementPattern, ...] = (
    define_pattern("forget", r"(?:bitte )?vergiss(?: bitte)?, (?:dass|was ich) (?P<text>.{5,})"),
    define_pattern("forget", r"oublie (?:que|ce que j['’]ai dit) (?P<text>.{5,})"),
    define_pattern("forget", r"olvida (?:que|lo que dije|lo que te dije) (?P<text>.{5,})"),
    define_pattern(
        "forget", r"(?P<text>.{5,60})(?:という記憶は|のことは|は)もう(?:忘れて|覚えなくていい)"
    ),
)

OTHER_REMEMBER_PATTERNS: tuple[StatementPattern, ...] = (
    define_pattern(
        "remember",
        rf"(?:bitte )?(?:merk|merke) dir(?: bitte)?(?:, dass|{_CLAUSE_SEPARATOR})"
        rf" ?(?P<text>.{{5,}})",
    ),
    define_pattern(
        "remember", r"(?:bitte )?(?:denk daran|vergiss nicht|behalte im kopf), dass (?P<text>.{5,})"
    ),
    define_pattern(
        "remember",
        rf"(?:souviens-toi|retiens|rappelle-toi|n['’]oublie pas)(?: bien)?(?: que "
        rf"|{_CLAUSE_SEPARATOR})(?P<text>.{{5,}})",
    ),
    define_pattern(
        "remember",
        rf"(?:recuerda|acuérdate de|ten en cuenta|no olvides)(?: que |{_CLAUSE_SEPARATOR})"
        rf"(?P<text>.{{5,}})",
    ),
    define_pattern(
        "remember",
        r"(?P<text>.{4,}?)(?:と|を|のを|、|。)+(?:覚えて(?:おいて)?|忘れないで)(?:ください|下さい|ね)*[。！!]*$",
    ),
)

OTHER_RULE_PATTERNS: tuple[StatementPattern, ...] = (
    define_pattern(
        "rule",
        rf"(?:ab jetzt|ab sofort|von nun an|in zukunft|zukünftig|künftig)"
        rf"(?:{_CLAUSE_SEPARATOR}| )(?P<text>(?!ist\b|sind\b|war\b|hat\b|läuft\b).{{8,}})",
    ),
    define_pattern(
        "rule",
        rf"(?:dorénavant|désormais|à partir de maintenant|à l['’]avenir)(?:{_CLAUSE_SEPARATOR}|"
        rf" )(?P<text>(?!le\b|la\b|les\b|il\b|ça\b"
        rf"|c['’]est\b).{{8,}})",
    ),
    define_pattern(
        "rule",
        rf"(?:de ahora en adelante|a partir de ahora|en el futuro|en adelante)"
        rf"(?:{_CLAUSE_SEPARATOR}| )(?P<text>(?!el\b|la\b|los\b|las\b|es\b).{{8,}})",
    ),
    define_pattern(
        "rule",
        r"(?:今後は|これからは|以後は|次からは)、?(?P<text>.{4,}(?:ください|下さい|して|しないで|使って|書いて|こと)[。！!]*$)",
    ),
)
