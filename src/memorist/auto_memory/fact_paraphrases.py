"""Facts that several languages or forms state, each in the words of one (AM-12). Pure.

`Ich wohne in Hamburg` is `I live in Hamburg`, `billing is owned by Tom` is `Tom owns billing`.
"""

from __future__ import annotations

import re

from memorist.auto_memory.statements.plain_facts import NAMED_TOOLS
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import parse_word_list

NOW = r"(?:now|these days|jetzt|maintenant|ahora|agora|adesso|теперь|nu)"
"""Says that something is so at present."""
SINCE = lazy_pattern(
    rf"\b(?:{NOW}|from now on|as of|since|starting|from (?:today|tomorrow|next)|ab (?:jetzt|sofort)"
    r"|seit|künftig|désormais|dorénavant|à partir d[eu']|depuis|a partir de|desde|отныне|впредь)\b"
    r"|现在|从现在|以后|今後|今は|これから",
    re.IGNORECASE,
)
"""Says that something is so as of some time."""
_I_AM = lazy_pattern(r"\AI['’]m\b", re.IGNORECASE)
_DONE_BY = lazy_pattern(
    rf"\A(?P<thing>[^,;]{{2,60}}?) (?:is|are) (?:{NOW} )?"
    r"(?P<done>owned|led|maintained|managed|reviewed|handled) by (?P<who>[^,;]{1,40}?)"
    rf"(?: {NOW})?[.!]*\Z",
    re.IGNORECASE,
)
_DOES = {
    "owned": "owns",
    "led": "leads",
    "maintained": "maintains",
    "managed": "manages",
    "reviewed": "reviews",
    "handled": "handles",
}
_PLACE = r"(?P<value>(?-i:[^\W\d_a-zа-яё])[^,;.!。]{1,40})"
_HERE_NOW = rf"(?: {NOW}| vor kurzem| récemment| hace poco)?"
_SAID_OF_SPEAKER = tuple(
    (canonical, lazy_pattern(rf"\A(?:{patterns})[.!。]*\Z", re.IGNORECASE))
    for canonical, patterns in (
        (
            "I live in {} now",
            rf"i(?:['’]ve| have)? (?:just |recently )?(?:moved|relocated) to {_PLACE}"
            rf"|ich bin{_HERE_NOW} nach {_PLACE.replace('value', 'de')} (?:um)?gezogen"
            rf"|j['’]ai (?:déménagé|emménagé) à {_PLACE.replace('value', 'fr')}"
            rf"|(?:ahora )?me (?:mudé|he mudado) a {_PLACE.replace('value', 'es')}"
            rf"|(?:eu )?(?:me )?mudei(?:-me)? (?:para|pra) {_PLACE.replace('value', 'pt')}"
            rf"|я переехала? в {_PLACE.replace('value', 'ru')}"
            r"|我(?:已经|刚)?搬(?:家)?[到去](?P<zh>[^，。]{1,12}?)了?"
            r"|(?:私は|僕は)?(?P<ja>[^、。は]{1,12})[にへ]引っ越し(?:ました|た|ています)?",
        ),
        (
            "I live in {}",
            rf"i(?:['’]m| am) (?:based|living) in {_PLACE}"
            rf"|ich (?:wohne|lebe){_HERE_NOW} in {_PLACE.replace('value', 'de')}"
            rf"|(?:j['’]habite|je vis){_HERE_NOW} à {_PLACE.replace('value', 'fr')}"
            rf"|(?:yo )?(?:ahora )?vivo{_HERE_NOW} en {_PLACE.replace('value', 'es')}"
            rf"|(?:eu )?(?:agora )?moro{_HERE_NOW} em {_PLACE.replace('value', 'pt')}"
            rf"|я(?: теперь)? живу{_HERE_NOW} в {_PLACE.replace('value', 'ru')}"
            r"|我(?:现在)?住在(?P<zh>[^，。]{1,12})"
            r"|(?:私は|僕は)?(?:今は?)?(?P<ja>[^、。は]{1,12})に住んで(?:います|いる|ます)",
        ),
        (
            "I work at {} now",
            rf"i(?:['’]ve| have)? (?:just |recently )?joined {_PLACE}"
            rf"|ich bin{_HERE_NOW} zu {_PLACE.replace('value', 'de')} gewechselt",
        ),
        (
            "I work at {}",
            rf"ich arbeite{_HERE_NOW} (?:bei|für) {_PLACE.replace('value', 'de')}"
            rf"|je travaille{_HERE_NOW} (?:chez|pour) {_PLACE.replace('value', 'fr')}"
            r"|我(?:现在)?在(?P<zh>[^，。]{1,12})(?:工作|上班)"
            r"|(?P<ja>[^、。は]{1,12})で働いて(?:います|いる|ます)",
        ),
    )
)
"""Where the user lives and works, in the languages that are read."""
OWN_TOOL = (
    r"(?:fish|zsh|bash|nushell|powershell|vim|neovim|nvim|emacs|helix|vs\ ?code|cursor|zed|"
    r"sublime|jetbrains|intellij|pycharm|webstorm|tmux|zellij|mac(?:os|book)?|windows|wsl2?|linux|"
    r"arch(?:\ linux)?|ubuntu|fedora|debian|nixos|dvorak|colemak|a\ screen\ ?reader|voice\ input)"
)
"""What a user works with whatever the project: no place, as in `I moved to Neovim`."""
_CAPITAL = r"[^\W\d_a-zà-ÿа-яё]"
_NAME = lazy_pattern(
    rf"(?:{_CAPITAL}\S*|\d+)(?:[ -](?:(?:[a-z]{{1,4}}|[dl]['’])[ -])?(?:['’])?{_CAPITAL}\S*)*"
    r"(?=\Z| (?:with|and|but|this|last|next|in|for|since|near|as|on|at|from|because|to|by|a|an|two"
    r"|three|some|now|these|recently|again|mit|und|seit|letzte[ns]?|vor|für|als|avec|et|depuis|il|con|y"
    r"|desde|hace|com|e|há|с|и|jetzt|maintenant|ahora|agora|теперь|недавно)\b)"
)
"""A name and what may stand behind one: `Slack channels` is none, `Lisbon last month` is."""
_GROUPS = (
    r"(?:.*\b)?(?:teams?|squads?|guilds?|crews?|tribes?|chapters?|departments?|projects?|groups?"
    r"|rooms?|buildings?|offices?|floors?|branch|channels?|meetings?|équipe|equipo|equipe"
    r"|abteilung|projekt|команд\w+)\b"
    r"|(?:slack|discord|zoom|telegram|whatsapp|matrix|mastodon|reddit|linkedin)\b"
)
"""What is neither a town nor an employer, though it has a name."""
_NOT_MEANT = {
    "live": lazy_pattern(
        rf"(?:{OWN_TOOL}|{NAMED_TOOLS}|hause)\b|.*[をが]|{_GROUPS}", re.IGNORECASE
    ),
    "work": lazy_pattern(rf"(?:家里?|周末|晚上|夜里|自宅|在宅)\b|{_GROUPS}", re.IGNORECASE),
}
"""What somebody moves to without living there, and where or when they work without an employer."""
WORDS_OF_VERBS = {
    "live": parse_word_list(
        "live moved relocated based living wohn leb gezogen habit vis ménagé vivo mud moro жив "
        "переехал 住 搬 引っ越"
    ),
    "work": parse_word_list("work joined arbeit gewechselt travail 工作 上班 働"),
}
"""Pieces of the words with which these facts are stated."""
_HOLDS_ROLE = lazy_pattern(
    rf"\A(?P<who>(?-i:[A-ZÀ-ÞА-Я])\S{{0,30}}(?: (?-i:[A-ZÀ-ÞА-Я])\S{{0,30}})?) (?:is|ist|est|es)"
    rf" (?P<now>{NOW} )?(?P<role>(?:the|our|der|die|unser|unsere|le|la|notre|el|nuestr[oa])"
    rf" [^,;.]{{3,40}}?)(?P<later> {NOW})?[.!]*\Z",
    re.IGNORECASE,
)
"""A name, and the role that one has: `Maria is the release manager`."""
_OWNERS = lazy_pattern(
    r"\A(?:[oa]|el|la|der|die|das|the|le)? ?(?:responsável|responsable|verantwortliche[rn]?|owner"
    r"|maintainer|zuständige)(?: (?:pel[oa]|por|de|del|du|für|of|for|das?|do))+ "
    rf"(?P<thing>[^,;]{{2,40}}?) (?:{NOW} )?(?:is|é|es|est|ist) (?:{NOW} )?(?:[oa] )?"
    rf"(?P<who>[^,;]{{1,40}}?)(?: {NOW})?[.!]*\Z"
    r"|\Aответственн\w+ за (?P<ru_thing>[^,;.]{2,40}?) (?:—|-|это|теперь)"
    r" (?P<ru_who>[^,;.]{2,40}?)[.!]*\Z"
    r"|\A(?P<zh_doer_who>[^，。由是现]{2,4})(?:现在)?负责(?P<zh_done_thing>[^，。]{2,20}?)了?[。]*\Z"
    r"|\A(?P<zh_thing>[^，。]{1,20}?)(?:现在)?由(?P<zh_who>[^，。]{1,12})负责[了。]*\Z"
    r"|\A(?P<ja_thing>[^、。]{1,20}?)の担当(?:者)?は(?:今は)?(?P<ja_who>[^、。]{1,12}?)(?:です|になりました)?。?\Z",
    re.IGNORECASE,
)
"""Who is responsible for something, in the languages that are read."""


def say_fact_in_short(text: str) -> str:
    """A fact that several languages state, in the words of one."""
    text = text.strip()
    for canonical, pattern in _SAID_OF_SPEAKER:
        if found := pattern.match(text):
            value = next(value for value in found.groups() if value).strip()
            if _NAME.match(value) and not _NOT_MEANT[canonical.split()[1]].match(value):
                return canonical.format(value)
    if found := _OWNERS.match(text):
        thing, who = (
            next(value for name, value in found.groupdict().items() if name.endswith(end) and value)
            for end in ("thing", "who")
        )
        return f"{who} owns {thing}{' now' if SINCE.search(text) else ''}"
    if found := _HOLDS_ROLE.match(text):
        return f"{found['role']} is {found['now'] or ''}{found['who']}"
    return _DONE_BY.sub(_say_who_does, _I_AM.sub("I am", text))


def _say_who_does(found: re.Match[str]) -> str:
    """`Tom owns billing now` for `Billing is now owned by Tom`."""
    is_new = re.search(rf" {NOW}\b", found[0], re.IGNORECASE)
    does = _DOES[found["done"].casefold()]
    return f"{found['who']} {does} {found['thing']}{' now' if is_new else ''}"
