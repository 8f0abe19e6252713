"""Rules and facts in a few words: a bare ban, what is a must, what stays, begins or is gone. Pure.

In English, German, French, Spanish, Portuguese, Italian, Dutch, Russian, Chinese, Japanese, Korean
and Arabic. Each is the whole sentence: with an object it may be a task, or describe a fault.
"""

from __future__ import annotations

from memorist.auto_memory.statements.statement_patterns import (
    NEGATION,
    VERB,
    StatementPattern,
    parse_statement_patterns,
)

_ACTION = r"(?:push|commit|merg|deploy|rebas|releas|amend|пуш|коммит|мерж|мёрж|депло|релиз)\w*"
"""A verb, or a noun, that a developer has in one form in most languages."""
_POLITE = (
    r"(?:(?:please|bitte|stp|svp|s['’]il (?:te|vous) pla[iî]t|por favor|per favore|alsjeblieft|"
    r"пожалуйста)[,\s]*)"
)
_END = rf"(?:[,\s]*{_POLITE})?\s*[.!。！]*$"
_NO_SUBJECT = r"(?!(?:it|this|that|these|those|there|the|das|es|dies\w*|ça|cela|c['’]|ce|esto|eso|isso|isto|это)\b)"
_BEHIND = r"(?:[^?]{3,300}(?:\s[-–—]+\s|[,;]\s(?:and |but |und |aber |et |mais |y |pero |e |mas |и |но )?))?"
"""What a fact may stand behind, mostly a task."""
_NAME = r"(?-i:[A-Z])[\w.+-]*(?: [\w.+-]+)?"

BRIEF_RULES: tuple[StatementPattern, ...] = parse_statement_patterns(
    rf"""
    rule: {_BEHIND}(?P<text>(?:there(?:['’]?s| is| are) no (?!need\b|point\b|error\b|way\b|time\b|such\b).{{2,60}} (?:any ?more|any longer)
        |there(?:['’]?s| is| are) no longer .{{3,60}}|(?:das|den|die|es gibt) .{{0,40}}\bkeine?n? .{{2,40}} mehr
        |il n['’]y a plus (?:de |d['’]).{{3,60}}|ya no (?:hay|existe|tenemos|usamos) .{{2,60}}|(?:já )?não (?:há|existe|tem|temos
        |usamos) mais .{{2,60}}|.{{2,60}} больше (?:нет|не существует))\s*[.!]*$)
      unless: .*\b(?:error|errors|warning|errores?|erros?|fehler|erreurs?)\b
    rule: {_BEHIND}(?P<text>you (?:can|should be able to|may) (?:access|read|reach|query|fetch|inspect|look up|view|list|find|get) .{{2,60}} (?:via
        |through|using|with|in|on) (?:the |our )?[\w./-]*(?: [\w./-]+)? ?(?:cli|mcp|api|dashboard|wiki|console|tool|skill|command|server|portal|linear
        |jira|notion|confluence|slack|sentry|grafana)\b[^?]{{0,30}}$)
    rule: (?P<text>(?:[^?]{{3,120}}, )?(?:let['’]?s|please) (?:always |never |rather )?(?:avoid|not (?:introduce|duplicate|mix|break|touch|rely on
        |depend on)|stick (?:to|with)|never {VERB}|always {VERB}) (?!(?:it|this|that|these|those)\b)[^?]{{5,}}|{NEGATION} (?:make
        |take) (?:any )?(?:assumptions?|guesses|shortcuts)[^?]{{0,60}})
      unless: .*\b(?:now|yet|here|option \w|first one)\b
    rule: {_POLITE}?(?P<text>(?:(?:nicht|nie|niemals|kein\w*|não|nao|no|non|niet|geen|nunca|jamais|mai|никогда|не|без|никаких|sin|sem|sans|nada de
        |pas de|senza)(?: (?:mehr|mais|más|nunca|jamais|immer|einfach|direkt|selbst|никогда|hagas|faça|fare|de|d['’]))* {_ACTION}
        |n(?:e |['’]){_ACTION} (?:pas|jamais|plus)|n(?:e |['’])(?:pousse[sz]?|commite[sz]?|déploie[sz]?) (?:pas|jamais|plus|rien))){_END}
    rule: {_POLITE}?(?P<text>(?:(?:nicht|nie|niemals) (?!ge\w+en\b|\w+(?:unden|anden|ommen|iehen)\b)[a-zäöüß]{{3,}}(?:en|ern|eln)|ne (?:pas
        |jamais) \w{{3,}}(?:er|ir|re)|(?:no|não|nunca|non|mai) \w{{2,}}(?:ar|er|ir|are|ere|ire)|niet \w{{3,}}en|не (?!есть|быть|мочь
        |знать)\w{{3,}}ть)){_END}
    rule: (?P<text>(?:请)?(?:不要|别|勿|禁止)(?:提交|推送|部署|合并|发布)(?:代码)?[。！!]*$|(?:コミット|プッシュ|マージ|デプロイ)しない(?:こと|で(?:ください)?)?[。！!]*$
        |[가-힣][가-힣\w ]{{3,30}} (?-i:[XxＸ])[.!]*$)
    rule: (?P<text>{_NO_SUBJECT}[\w' -]{{4,60}} (?:(?:is|are) (?:an? )?(?:absolute )?(?:big deal|must(?:-have)?|no-go|deal ?breaker|top priority
        |hard requirement|taboo|sacred|sacrosanct)|(?:ist|sind) (?:ein )?(?:absolute[sr]? )?(?:pflicht|muss|tabu|no-go|unverhandelbar
        |nicht verhandelbar|voraussetzung)|(?:est|sont) (?:impérati\w+|non[- ]négociables?|indispensables?|primordia\w+|un must)|(?:es
        |son) (?:innegociables?|imprescindibles?|sagrad[oa]s?|obligatori[oa]s?)|(?:é|são) (?:inegociáve(?:l|is)|imprescindíve(?:l|is)|sagrad[oa]s?
        |obrigatóri[oa]s?)|(?:—|-) (?:табу|закон|обязательно|святое))\s*[.!]*$|[^?？]{{2,30}}(?:是)?(?:硬性要求|不可妥协|底线|红线|铁律)[。！!]*$|[^?？]{{2,40}}(?:は
        |が)(?:絶対条件|譲れ(?:ない|ません)|鉄則)(?:です|だ)?[。！!]*$|[^?]{{2,40}}(?:은|는|이|가) (?:필수|절대 ?조건|원칙)(?:야|이야|다|이다|입니다|임)?[.!]*$|.{{4,120}}(?:شرط أساسي
        |غير قابل للتفاوض|إلزامي|ممنوع تمام).*)
    rule: (?P<text>{_NO_SUBJECT}[\w' -]{{2,40}}? (?:stays?|remains?|bleib(?:t|en)|reste(?:nt)?|(?:se )?queda(?:n)?|rimane|rimangono|blijf(?:t
        |ven)) (?:on|with|at|in|bei|auf|unter|sur|chez|en|con|su|bij|op) {_NAME}\s*[.!]*$|[\w' -]{{2,40}} (?:fica|ficam|continua|continuam) (?:no|na
        |em|com) {_NAME}\s*[.!]*$|[\w' -]{{2,40}} оста(?:ётся|ется|ются|[её]мся) (?:на|в|с|у) \w+\s*[.!]*$)
      unless: .*\b(?:screen|page|memory|loop|state|seite|zustand|mémoire|pantalla|tela|memória|экран\w*)\b
    rule: (?P<text>(?!(?:it|this|that)\b)[\w' -]{{3,50}} (?:starts?|begins?|launch(?:es)?|opens?|ends?|closes?|goes live|is due|ships?|startet|beginnt
        |endet|commence|débute|finit|ouvre|empieza|comienza|termina|abre|começa|estreia|inizia|finisce|начинается|стартует
        |заканчивается) (?:on |am |le |el |(?:no |em )?dia |il |)(?:the )?(?:\d{{1,2}}[./]\d{{1,2}}(?:[./]\d{{2,4}})?
        |\d{{1,2}}\.? (?:of |de |di )?[^\W\d]{{3,}}|(?-i:[A-Z])[a-z]{{2,}} \d{{1,2}}(?:st|nd|rd|th)?)\b[^?]{{0,30}}$)
      unless: .*\b(?:line|row|column|chapter|zeile|ligne|línea|linha|lines?)\b
    correction as question: (?P<text>(?:我)?(?:都|已经)?(?:说了|说过|让你|叫你|告诉你)[^?？]{{2,40}}(?:怎么|为什么|为啥|干嘛)(?:还|又|不)[^。]*)
    correction: (?P<text>(?:(?:você|vc|tu) (?:é )?que (?:deveria|devia|tem que|tinha que|precisa)|(?:eres )?tú (?:eres )?(?:quien|el que) (?:debería
        |tiene que)|c['’]est (?:à )?toi qui (?:dois|devrais)|c['’]est à toi de|das (?:musst|solltest|sollst) du|это ты (?:должен|должна
        |обязан\w*))\b[^?]{{4,}})
    correction: (?P<text>(?:you(?:['’]?re| are) \w+ing [^?,]{{3,60}}(?:, not| instead of| rather than) |du \w+st [^?,]{{3,60}}(?:,? (?:und )?nicht
        | statt| anstatt) |tu es en train de [^?,]{{3,60}}(?: au lieu de|, pas) |estás \w+ndo [^?,]{{3,60}}(?:,? (?:y )?no| en vez de
        | en lugar de) |(?:você|vc) (?:est[aá]|tá) \w+ndo [^?,]{{3,60}}(?:,? (?:e )?não| em vez de| ao invés de) |ты \w+шь [^?,]{{3,60}}(?:,? а не
        | вместо) )\w+[^?]*)
    correction: (?:不对|错了?|不是|不)[，,。！ ]+(?P<text>(?!你|这|那|我)[^？?]{{1,60}}是[^？?]{{2,30}}的[。！!]*$)
    rule: (?P<text>[^?]{{4,80}}(?:줘|주라|줘라|주세요|해라|하자|해|하세요) (?:항상|무조건|매번|절대로?|꼭|앞으로)[.!]*$|(?:이제|앞으로|다음부터)(?:는|부터는?)? [^?]{{2,60}}지 ?(?:말고|마|말)[^?]*)
    rule: (?P<text>(?:you|we) (?:do not|don['’]?t|never) (?:need|have) to {VERB} (?:(?:the|all|every|each|any|an?) )?(?:whole|entire|full|all|every
        |each|any)\b[^?]*|[^?]{{3,80}} should [^?]{{3,80}} (?:whereas|where as|while) [^?]{{3,60}} should [^?]{{3,}})
      unless: .*\b(?:now|yet|this time|today)\b
    rule: (?P<text>(?:尽量|优先|最好|一般|默认|通常|原则上|必须|务必)[^?？]{{2,60}}(?:而不是|而非|不要|别)[^?？]{{2,}}|(?:なるべく|できれば|原則)[^?？]{{2,60}}(?:ではなく|じゃなくて|よりも)[^?？]{{2,}})
      unless: .*(?:报错|这次|这个|エラー)
    # What the speaker has and knows, and what the work is.
    rule: (?P<text>i(?: only| just)? (?:have|own|work on|develop on) (?!(?:this|that|it|no|to)\b)[^?]{{0,40}}\b(?:mac\w*|laptop|pc|thinkpad|chromebook
        |gpu|\d+ ?gb|ram|raspberry pi|ipad|iphone|android|windows|linux|ubuntu|screen reader|monitors?)\b[^?,;]*$|i(?: really)? (?:(?:don['’]?t
        |do not) (?:really )?(?:know|speak|understand)|barely know|hardly know) (?!(?:why|how|what|if|whether|where|which|who|when|that|the|this|about
        |it|its|your?)\b)[\w+#.-]+(?: [\w+#.-]+)? (?:(?:very|that|so|too) )?(?:well|at all|much|yet)\b[^?,;]*$|i(?:['’]m
        | am) (?:not (?:very |really |that |so )?(?:familiar|experienced|comfortable|fluent)|(?:totally |completely |pretty |quite )?new) (?:with|in
        |to) (?!(?:this|that|it|here)\b)[^?,;]+$|this is (?:a|an|our|my) (?:[\w-]+ ){{0,3}}(?:repo\w*|project|machine|server|monorepo|codebase
        |prototype|product|company)\b[^?,;]*$)
      unless: .*\b(?:error|bug|crash\w*|problem|broken|mess|issue|failing|wrong)\b
    rule: (?P<text>(?:the|our|my|unsere?[nmrs]?|mein\w*|die|der|das|notre|nos|les?|la|nuestr\w+|el|los|las|noss\w+|os?|as?|наш\w*|основн\w+|главн\w+) [^,?]{{2,40}}? (?:is|are|ist|sind|liegt
        |liegen|steht|läuft|heißt|kommt|est|sont|c['’]est|se trouve|s['’]appelle|tourne|es|está|son|están|se llama|corre|é|são|fica|roda|находится|лежит
        |это|(?=[a-z]))\b[^,?]{{2,40}}(?:,| (?:and|und|et|y|e|а)|(?= (?:not|pas)\b)) (?:not|nicht|pas|no|não|не) (?!(?:responde\w*|funciona\w*|abre\w*|carrega\w*|répond\w*|marche|отвеча\w+|работа\w+|\w+iert|working|loaded|visible|shown|there|yet|sure|clear|centered|aligned)\b)[\w./+-]+(?: [\w./+-]+){{0,3}}[.!]*$|(?:la|el|nuestr[oa]) [^,?]{{2,40}} (?:es|se llama) [\w./-]+ no [\w./-]+[.!]*$)
      unless: .*\b(?:button|fehler|kaputt|seite|erreur|page|botón|página|кнопк\w*|экран\w*|problem\w*|issue|cause|reason|causa|culpa|ursache|grund|bug|err(?:or|o)|причин\w+|ошибк\w+|проблем\w+|up|down|slow|text|title|colou?r|value|result|font|icon|red|green|blue|gr[ae]y|white|black|rot|grün|blau|rouge|verte?|bleue?|rojo|verde|azul|vermelho|красн\w+|син\w+|зел[её]н\w+|\d+)\b
    """
)
"""Each waits in the inbox."""
