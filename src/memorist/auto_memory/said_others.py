"""The plainest requests in German, French, Spanish and Japanese. Pure."""

from __future__ import annotations

from memorist.auto_memory.saying import Saying, saying

_SEP = r"\s*[:,]\s*"

FORGETS: tuple[Saying, ...] = (
    saying("forget", r"(?:bitte )?vergiss(?: bitte)?, (?:dass|was ich) (?P<text>.{5,})"),
    saying("forget", r"oublie (?:que|ce que j['’]ai dit) (?P<text>.{5,})"),
    saying("forget", r"olvida (?:que|lo que dije|lo que te dije) (?P<text>.{5,})"),
    saying("forget", r"(?P<text>.{5,60})(?:という記憶は|のことは|は)もう(?:忘れて|覚えなくていい)"),
)

REMEMBERS: tuple[Saying, ...] = (
    saying("remember", rf"(?:bitte )?(?:merk|merke) dir(?: bitte)?(?:, dass|{_SEP}) ?(?P<text>.{{5,}})"),
    saying("remember", r"(?:bitte )?(?:denk daran|vergiss nicht|behalte im kopf), dass (?P<text>.{5,})"),
    saying("remember", rf"(?:souviens-toi|retiens|rappelle-toi|n['’]oublie pas)(?: bien)?(?: que |{_SEP})(?P<text>.{{5,}})"),
    saying("remember", rf"(?:recuerda|acuérdate de|ten en cuenta|no olvides)(?: que |{_SEP})(?P<text>.{{5,}})"),
    saying("remember", r"(?P<text>.{4,}?)(?:と|を|のを|、|。)+(?:覚えて(?:おいて)?|忘れないで)(?:ください|下さい|ね)*[。！!]*$"),
)

RULES: tuple[Saying, ...] = (
    saying(
        "rule",
        rf"(?:ab jetzt|ab sofort|von nun an|in zukunft|zukünftig|künftig)(?:{_SEP}| )(?P<text>(?!ist\b|sind\b|war\b|hat\b|läuft\b).{{8,}})",
    ),
    saying(
        "rule",
        rf"(?:dorénavant|désormais|à partir de maintenant|à l['’]avenir)(?:{_SEP}| )(?P<text>(?!le\b|la\b|les\b|il\b|ça\b"
        rf"|c['’]est\b).{{8,}})",
    ),
    saying(
        "rule",
        rf"(?:de ahora en adelante|a partir de ahora|en el futuro|en adelante)(?:{_SEP}| )(?P<text>(?!el\b|la\b|los\b|las\b|es\b).{{8,}})",
    ),
    saying("rule", r"(?:今後は|これからは|以後は|次からは)、?(?P<text>.{4,}(?:ください|下さい|して|しないで|使って|書いて|こと)[。！!]*$)"),
)
