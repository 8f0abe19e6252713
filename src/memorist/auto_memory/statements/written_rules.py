"""Rules as people write them down for an agent, in lists and instruction files: bare orders about
every text or change of a kind, and conditions in front of an order. Each may be a task in a
conversation, so it waits for the person's yes. Pure.
"""

from __future__ import annotations

from memorist.auto_memory.statements.statement_patterns import (
    NEGATION,
    VERB,
    StatementPattern,
    define_pattern,
)
from memorist.auto_memory.statements.user_prose import MASK_CHARACTER

_ONE_TIME = (
    r".*\b(?:this|these|here|now|today|yet|again|above|below|current|(?:to|of|for|in|on|with|fix|use|do|keep|make|change|add|remove|update|"
    r"run|test|show|and) (?:it|that|those)|the (?:[\w-]+ )?(?:change|page|screen|form|modal|button|feature))\b"
    r"(?! (?:repo|project|codebase|team)\b)"
)
_MOMENT = r".*\b(?:this|these|here|now|today|yet|again|above|below)\b"
"""What holds under a condition may name its matter again ("add it"), but not the moment."""
_KIND = (
    r"(?:comments?|docstrings?|messages?|titles?|docs|documentation|names?|identifiers?|variables?|imports?|statements?|"
    r"tests?|functions?|methods?|classes|modules?|components?|commits?|prs|pull requests|changes|branches|types?|answers|"
    r"replies|responses|explanations|errors|logs|migrations|dependencies|secrets|strings|queries|headers?|endpoints?|files)"
)
"""What is written again and again, so that an order about it is a rule."""
_WORK = (
    r"(?:committing|pushing|merging|releasing|deploying|finishing|opening|submitting|editing|changing|writing|coding|implementing|removing|adding|"
    r"renaming|moving|introducing|creating|suggesting|proposing|refactoring|reviewing|generating|naming|debugging|fixing|performing|modifying|deleting|responding|answering|"
    r"preparing|making|starting|completing|building|testing|documenting|updating|explaining|translating|planning)"
)
"""What an agent does again and again."""
_LIKE = (
    r"(?:minimal|small|short|concise|simple|clean|clear|focused|consistent|readable|professional|descriptive|explicit|"
    r"modular|self-documenting|meaningful|brief|lowercase|sorted|up to date|in sync|in english)"
)

_ENGLISH: tuple[StatementPattern, ...] = (
    # A reason at the end may name the moment; what is ordered for always may not.
    define_pattern(
        "rule",
        r"(?P<text>(?:always|never) (?:[a-z]+-)?[a-z]{3,} (?!(?:it|this|that)[\s.,!]*$).{3,}?)(?:[,;:–—] ?(?:this|that|it|which|as|since|because|so)\b.*)?$",
        unless=_ONE_TIME,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>only {VERB} .+ (?:if|when|after|on) .*\b(?:explicit\w*|asked|request\w*|told|necessary|needed|essential)\b.*)",
        unless=_ONE_TIME,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>[a-z]{{3,}} (?!the\b|your\b)[^?]{{3,80}} before (?:every |each |any )?(?:commits?|merges?|releases?|pushes|deploys|{_WORK})\b"
        rf"(?! (?:the|this)\b).*)",
        unless=_ONE_TIME + r"|.*\b(?:was|were|had|did|error|worked)\b",
    ),
    define_pattern(
        "rule", rf"(?P<text>{VERB} .{{3,80}}(?: and|;|,) (?:avoid|never) \w+.+)", unless=_ONE_TIME
    ),
    define_pattern(
        "rule",
        r"(?P<text>(?!(?:go|move|carry|hand|take|hover|come|left|start|all|read|look|run|it|i|we|is|was)\b)[\w-]+(?: [\w-]+)? over [\w-]+"
        r"(?: [\w-]+)?(?:[;,.].*|$)|one (?:[\w-]+ ){1,3}per (?:[\w-]+ ?){1,3}.*)",
        unless=_ONE_TIME,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>(?:(?:speak|write|answer|respond|communicate) in an? .{{3,60}} (?:tone|voice|style|manner)\b.*|(?:answer|do) (?:only )?what "
        rf"(?:was|is|i|has been) .{{2,40}}\b(?:nothing (?:more|else)|no more|only)\b.*|(?:prioriti[sz]e|emphasi[sz]e|optimi[sz]e for|strive for|aim "
        rf"for) (?:{_LIKE}|readability|clarity|simplicity|performance|quality|correctness|security|safety|maintainability|accessibility)\b.*"
        rf"|(?:code style|style|naming|indentation|formatting|language|commit messages?|commits|comments) ?: .{{3,}}))",
        unless=_ONE_TIME,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>(?:before|after|when(?:ever)?|while|upon) (?:every|each|any|asked|{_WORK})\b[^?]{{0,80}}?[,:] ?"
        rf"(?:please |also |you (?:must|should) |the agent (?:must|should) )*(?:always|never|{NEGATION}|default to|register|wrap|ensure|make sure|follow|prefer|avoid|"
        rf"{VERB})\b.{{3,}})",
        unless=_MOMENT,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>(?:if|when) (?:you (?:add|change|remove|create|modify|edit|delete|write|touch|introduce|rename|update|need|want|must|have to|are (?:un|not )?sure|are asked)|the user|in doubt|unsure|uncertain|unclear|a (?:query|question|request|task)) ?[^?]{{0,80}}?, (?:always|never|{NEGATION}|ensure|include|"
        rf"ask|answer|use|add|prefer|stop)\b.{{3,}})",
        unless=_MOMENT,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>(?:write|keep|make|put|place|document|name|format|sort|group) (?:all |every |any |your )?(?:[\w/-]+ ){{0,3}}{_KIND} "
        rf"(?:in (?:english|german|french|spanish|japanese|chinese|alphabetical|one|a single)|at the (?:very )?(?:top|end|bottom)|with (?:minimal|few|no)|"
        rf"as (?:short|small|simple)|(?:as )?{_LIKE}|next to|separate)\b.*)",
        unless=_ONE_TIME,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>(?:keep|stay|be|write) (?:[\w/-]+ ){{0,3}}{_LIKE}\b(?:[ ,&].*|[.!]*$))",
        unless=_ONE_TIME,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>(?:use|write|choose|prefer) (?:only )?{_LIKE} (?:[\w/-]+ ){{0,2}}{_KIND}\b.*)",
        unless=_ONE_TIME,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>(?:{NEGATION}|never|avoid) (?:use |using |add |include |mention )?.+\b(?:anywhere|ever|at all|in any|under any "
        rf"circumstances|unless (?:explicitly|asked|told|i|necessary|absolutely|requested))\b.*)",
        unless=r".*\b(?:yet|now|again)\b",
    ),
    define_pattern("rule", rf"(?P<text>(?:[\w-]+ ){{1,3}}{_KIND} only[.!]*$)", unless=_ONE_TIME),
    define_pattern(
        "rule",
        rf"(?P<text>(?:[\w-]+ )?{_KIND} (?:(?:are|is) )?(?:required|mandatory|forbidden|prohibited|not allowed|not permitted)\b.*)",
        unless=_ONE_TIME,
    ),
    define_pattern(
        "rule",
        r"(?P<text>no (?:[\w-]+ ){0,2}(?:annotations|attributions?|globals|magic numbers|wildcards?|footers?|signatures|inline styles|"
        r"side effects|dead code|trailing \w+|todos?|hacks|workarounds|shortcuts|stubs|any types|new dependencies)\b.{0,60})",
        unless=_ONE_TIME,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>(?:prefer|favou?r) .{{2,60}} (?:over|to|instead of|rather than|when|where) .+"
        rf"|use [\w./#@-]*{MASK_CHARACTER}*[\w./#@-]* (?:for (?:all|every|each|any|(?!the\b)(?:(?!the\b)[\w-]+ ){{0,2}}[\w-]+s)\b|over|instead of|rather than)\b.*)",
        unless=_ONE_TIME,
    ),
)

_OTHER_LANGUAGES: tuple[StatementPattern, ...] = (
    # German
    define_pattern(
        "rule",
        r"(?P<text>(?!ich\b|wir\b|kannst\b|könntest\b|du\b|er\b|sie\b|es\b|man\b|bitte\b).{3,90}\b(?:verwenden|verfassen|nutzen|befolgen|"
        r"übernehmen|einhalten|beachten|vermeiden|hinzufügen|einfügen|erwähnen|committen|antworten|geben|schreiben|dokumentieren)[.!]*$)",
        unless=r".*(?:\b(?:diese[mnrs]?|hier|jetzt|noch|das|es|ich|wir)\b|\?)",
    ),
    define_pattern(
        "rule",
        r"(?P<text>(?:alle|jede[rs]?|neue|commits?|kommentare|tests?|antworten|claude|der agent|\S+-\S+) (?:.{0,50} )?(?:müssen|muss|sollen|soll|"
        r"sollten|dürfen|darf)\b.{3,}|frag\w* (?:nur|immer|erst)\b.{3,}|\S+ nur,? (?:wenn|nach|auf)\b.{3,}|arbeite \w+.{0,60}\bohne\b.{3,})",
        unless=r".*\b(?:diese[mnrs]?|hier|jetzt|noch)\b",
    ),
    define_pattern(
        "rule",
        r"(?P<text>keine?n? (?!fehler|ahnung|sorge|zeit|frage|änderung|problem|lust)\w+.{0,60}\b(?:in|bei|für|zu|ohne|auf)\b.{2,})",
        unless=r".*\b(?:diese[mnrs]?|hier|jetzt|noch|ist|sind|wird|gefunden)\b",
    ),
    # Spanish, Portuguese, French
    define_pattern(
        "rule",
        r"(?P<text>(?:no (?:utilices|uses|introduzcas|agregues|añadas|modifiques|cambies|elimines|borres|crees|escribas|hagas|toques|incluyas|"
        r"generes|subas)|não (?:use|utilize|adicione|modifique|altere|crie|escreva|faça|toque|inclua|gere|suba)|n(?:e |['’])(?:utilise|ajoute|"
        r"modifie|crée|écris|fais|touche|inclus|génère|change|supprime)[sz]? (?:pas|jamais|aucune?))\s(?!eso\b|esto\b|lo\b|isso\b|isto\b|ça\b|cela\b)"
        r".{4,}|(?:realiza|escribe|redacta|genera|haz|rédige|écris|escreva|redija)\w* .{3,80}\b(?:en|em) (?:español|inglés|francés|anglais|français|"
        r"inglês|português)\b.*)",
        unless=r".*\b(?:est[ae]|aquí|ahora|todavía|aqui|agora|ainda|ce|cette|ici|maintenant|encore)\b",
    ),
    define_pattern(
        "rule",
        r"(?P<text>(?:(?:no |não |ne pas )|(?=(?:evitar|éviter|respec)|.*\b(?:siempre|sempre|toujours|todos|todas|tous|toutes|en español|em português|en français)\b))(?:usar|utilizar|escribir|redactar|mantener|generar|incluir|evitar|escrever|manter|gerar|utiliser|"
        r"écrire|rédiger|garder|éviter|respecter|inclure)\s.{4,})",
        unless=r".*\b(?:est[ae]|aquí|ahora|aqui|agora|ce|cette|ici|maintenant|otr[oa]|outr[oa]|autre)\b",
    ),
    define_pattern(
        "rule",
        r"(?P<text>(?:antes de|después de|al|cuando|si|depois de|ao|quando|se|avant de?|après|quand|lorsque) [^?]{3,90}?[, ](?:siempre|nunca|usa|use|"
        r"utili[zc]\w+|responde\w*|redáct\w+|sempre|toujours|jamais|utilise|réponds|pregunta|pergunte|demande|verific\w+|execut\w+|ejecuta|lance)\b.*)",
        unless=r".*\b(?:est[ae]|aquí|ahora|aqui|agora|ce|cette|ici|maintenant|otr[oa]|outr[oa]|autre)\b",
    ),
    define_pattern("rule", r"(?P<text>(?:nunca|sempre|siempre|jamais|toujours)\s.{4,})"),
    # Russian
    define_pattern(
        "rule",
        r"(?P<text>(?:(?:перед|после) (?:каждым|каждой|любым|любой)\b.{4,}|(?:все|каждый|каждая|любой) .{3,60}(?:должн\w+|нужно|следует)\b.{3,}"
        r"|(?:избегай|соблюдай|придерживайся)(?:те)?\b.{3,}))",
        unless=r".*\b(?:это[тй]?|сейчас|здесь)\b",
    ),
    # Chinese
    define_pattern(
        "rule",
        r"(?P<text>.{0,24}(?:必须|一律|务必|不得|禁止|严禁|优先|始终|默认使用|保持).{2,})",
        unless=r".*(?:这|那|现在|吗|报错|失败)",
    ),
    define_pattern(
        "rule", r"(?P<text>(?:不要|避免|切勿|请勿|不准).{3,})", unless=r".*(?:这|那|现在|了$|它)"
    ),
    define_pattern(
        "rule",
        r"(?P<text>(?:先.{2,20}再.{2,}|.{2,20}(?:完成后|之后|之前|前|后|时|的时候)[，,]?(?:都|需要|必须|应该|应当|请|要).{2,}|所有.{2,20}(?:都|须|需|应|用).{2,}))",
        unless=r".*(?:这|那|现在|吗|报错|失败)",
    ),
    define_pattern(
        "rule",
        r"(?P<text>.{0,12}(?:必要的|清晰的|详细的)(?:注释|日志|文档).{0,30})",
        unless=r".*(?:这|那)",
    ),
    define_pattern(
        "rule", r"(?P<text>(?:代码风格|命名(?:规范)?|缩进|格式|注释|提交信息|语言)[：:].{2,})"
    ),
    # Japanese
    define_pattern(
        "rule",
        r"(?P<text>.{2,70}(?:[うくすつぬむる]|ない)こと[。！!]*$)",
        unless=r".*(?:この|ここ|これ|今|ても|エラー|修正)",
    ),
    define_pattern(
        "rule",
        r"(?P<text>(?:常に|必ず|絶対に|原則(?:として)?|基本的に|勝手に|むやみ).{2,70}$)",
        unless=r".*(?:この|ここ|これ|今|[?？]|ました)",
    ),
    define_pattern(
        "rule",
        r"(?P<text>[^がも]{1,40}を[^が]{0,15}(?:しない|使わない|書かない|入れない|付けない|つけない|触らない|含めない)[。！!]*$)",
        unless=r".*(?:この|ここ|これ|今|ても|エラー|修正)",
    ),
    define_pattern(
        "rule",
        r"(?P<text>.{2,50}(?:場合|とき|際|前)(?:に)?は?、?.{2,70}(?:ください|下さい|こと)[。！!]*$|.{2,30}したら.{2,40}(?:する|ください|こと)[。！!]*$"
        r"|.{2,30}は.{1,14}で.{0,12}(?:記述|作成|統一|記載|表記|会話|回答)(?:する|して(?:ください|下さい)?)[。！!]*$)",
        unless=r".*(?:この|ここ|これ|今|エラー|失敗)",
    ),
)

HOUSE_RULES = (*_ENGLISH, *_OTHER_LANGUAGES)
"""Rules as people write them down: each waits in the inbox."""
