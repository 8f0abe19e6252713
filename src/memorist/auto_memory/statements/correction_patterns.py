"""Corrections as people throw them in while an agent works: a refusal and what is right, a thing
forbidden with a single word, an order that names one tool. Pure.

Each may be meant for the task at hand, so it waits for the person's yes. English first, then
French, Spanish, Portuguese, German, Russian, Chinese and Japanese.
"""

from __future__ import annotations

from memorist.auto_memory.statements.statement_patterns import (
    NEGATION,
    StatementPattern,
    parse_statement_patterns,
)

_LATIN_NAME = r"[A-Za-z][\w.+#/-]*"
_PROPER_NAME = r"(?-i:[A-Z])[\w.+#-]*(?: (?-i:[A-Z\d])[\w.+#-]*)?"
_SETTING = (
    r"(?:command|files?|file names?|names?|naming|port|url|host|branch(?:es)?|version|stack|framework|language|editor|shell|terminal|database|db|"
    r"indent(?:ation)?|tests?|commits?|commit messages?|style|convention|format|formatter|linter|owner|contact|channel|tracker|region|time ?zone|licen[cs]e)"
)

CORRECTIONS: tuple[StatementPattern, ...] = parse_statement_patterns(
    rf"""
    rule: (?P<text>(?:i|we) (?:always|usually|normally|typically|mostly) (?:deploy|release|test|merge|push|commit|review|run|write|use|work|start
        |rebase|squash|ship|develop|build|name|log)\b(?! (?:it|that|this|them)\b).{{3,}})
      unless: .*\b(?:but|error|fails?|broken|bug)\b
    rule: (?P<text>(?:please )?(?:answer|reply|respond) (?:only )?(?:in|with|using) \w+s\b[.!]*$)
    rule: (?P<text>(?:[\w-]+ ){{0,3}}{_SETTING}: (?!\d+\s*$)[^\s:][^:?\n]{{2,60}}(?::[\w-]+)?$)
      unless: (?:error|warning|note|failed|expected|got|test results?)\b
    rule: (?P<text>they (?:all |only |mostly )?(?:use|run|require|work with|are on) (?-i:[A-Z])\w+.*)
    rule: (?P<text>we(?:['’]re| are) (?:now |currently )?(?:switching|moving|migrating) (?:over )?(?:to|from|away from|off) [^?]{{3,}}|we (?:now
        |currently) have [^?]{{4,}}|this is (?-i:[A-Z])[\w.+]+[.!]*$|i (?:already )?(?:said|told you):? (?:to )?(?:use|run|write|keep|call
        |avoid) [^?]{{2,}}|as a rule,? [^?]{{6,}})
      unless: .*\b(?:error|bug|branch|but|tomorrow|minutes)\b
    rule: (?P<text>to (?:roll back|deploy|release|restart|reset|publish|seed|rebuild|log in|run the tests|start the \w+),? (?:run|use|call|restart
        |type|open|go to) [^?]{{4,}})
    correction: (?:(?:no|stop|hey|wait)\b[\s,.!;:–—-]*)?(?:don['’]?t do (?:that|this)|not (?:like )?(?:that|this)
        |not so)[\s,.!;:–—-]+(?P<text>(?:never|always|use|keep|only|ask)\b[^?]{{4,}})
    rule: (?P<text>i(?:['’]ll| will|['’]m going to| always| usually)? (?:be )?(?:do(?:ing)?|handl(?:e|ing)|restart(?:ing)?|commit(?:ting)?
        |push(?:ing)?|merg(?:e|ing)|deploy(?:ing)?|run(?:ning)?|edit(?:ing)?|chang(?:e|ing)|manag(?:e|ing)|take care of
        |taking care of)\b.{{3,80}}(?:\bmyself\b|\bon my own\b|,? (?:and |so )?(?:please )?(?:don['’]?t|do not|never)\b).*)
      unless: .*\b(?:now|today|tonight|later|first|then|this time)\b
    rule: (?P<text>you (?:may|can|are free to|are allowed to) (?!not\b)\w+\b[^?]{{0,60}}\b(?:always|whenever|at any ?time)\b[^?]*)
    rule: (?P<text>(?:please )?(?:don['’]?t|do not|never|stop) (?:ask|asking|quiz|interrupt|pester|remind) me\b(?! (?:that|this|it|yet|now)\b)[^?]*)
      unless: .*\b(?:for now|right now|yet)\b
    rule: (?P<text>(?:all |our |your )?(?:error messages|log messages|commit messages|log lines|docstrings|comments|public functions|test names
        |error codes) (?:must|should|have to|need to) (?:never |always |not )?(?!be (?:fixed|shown|displayed|there|visible)\b)[a-z]+\b[^?]*)
      unless: .*\b(?:this|here|now|page|button)\b
    rule: (?P<text>only (?:ever )?(?:use|look|edit|change|touch|modify|read|write|commit|push|answer|reply|ask|work|install|mock)\b(?! (?:it|that|this
        |them|one|the (?:first|second|last|one))\b)[^?]{{3,}}\b(?:for|in|when|if|during|with|on|after|before)\b[^?]+)
      unless: .*\b(?:this|here|now|page|button|above|below)\b
    # Reproaches for what was done, and what is wanted in its place.
    correction: (?P<text>you (?:should(?:n['’]?t| not)? have|shouldve|were(?:n['’]?t| not)? (?:supposed|meant|allowed|told|asked) to
        |had no business) (?!access\b|an?\b|the\b|all\b|every\w+\b|received\b|got\b|seen\b)\w+\b[^?]{{3,}}|you (?:tend to|have (?:a
        |this) (?:bad )?(?:tendency to|habit of)) [^?]{{4,}}|no [\w-]+(?: [\w-]+)? ever(?: again)?\b[^?]*|you(?:['’]?re| are) (?:(?:always|constantly
        |again) \w+ing|over-?\w+ing|getting ahead|jumping to|rushing|guessing|assuming|hallucinating|inventing|making (?:things|stuff|it) up
        |hard-?\s?coding)\b[^?]*)
    correction as question: (?P<text>why (?:did|would|have) you [^?]{{3,60}}\b(?:without|again|behind my back)\b.*|why (?:(?:did|do|would|have|are|were) you|(?:is|are|was|were)(?=[^?]* (?:said|told)\b))\b[^?]{{3,80}}\b(?:when
        |if|although|though|after) i(?:['’]ve| have)? (?:already |clearly |explicitly |just |only )*(?:said|told|asked|wanted)\b.*|(?:isn['’]?t|aren['’]?t|wasn['’]?t|is) (?:that|this|it|those) (?:not |just |only |simply )*(?:an? (?:\w+ )?(?:of|with
        |in) |because of |due to )?your (?:own )?(?:sandbox|environment|container|network|proxy|shell|tool|permission|setup|machine|side|fault
        |end)\b.*)
    # A reminder or a wish that is put as a question.
    correction as question: (?P<text>(?:but |and |so )*(?:did(?:n['’]?t| not)? (?:i|we|you) (?:not )?(?:(?:just|already|explicitly|clearly) )*(?:say
        |tell|ask|agree|decide|promise|settle)|have(?:n['’]?t)? i (?:not )?(?:already |just )*(?:told|said|asked)|what did i (?:just )?(?:say|tell you) about (?=[\w ]{{0,20}}ing\b)|how (?:many times|often) (?:do|did|have|must|should) i|(?:what|which) part of|should(?:n['’]?t| not) you (?:not )?(?:(?:be
        |have) )?\w{{3,}}\b.*\b(?:before|first|instead|rather)\b|(?:hatten|haben) wir (?:(?:das|es|uns|doch) )*nicht [^?]*(?:gesagt|vereinbart|ausgemacht|abgemacht|geeinigt|entschieden
        |beschlossen|besprochen)|(?:warum|wieso) (?=[^?]*\b(?:du|ihr)\b)[^?]*\b(?:obwohl|wenn) ich (?:\w+ )*(?:gesagt|gebeten)|wie oft (?:muss|soll|habe?) ich
        |hab(?:e)? ich (?:dir |euch )?nicht (?:\w+ )?gesagt
        |(?:est-ce qu['’])?(?:on|nous|je|j['’]) ?(?:n['’])?(?:avait|avais|avions|(?:a|ai|avons)(?=[^?]*\?)) pas (?:\w+ )?(?:dit|décidé|convenu|demandé|parlé)
        |pourquoi (?=[^?]*(?:\btu\b|-tu\b|\bt['’]|\bvous\b))[^?]*\b(?:alors que|si) j['’](?:ai|avais) (?:\w+ )?(?:dit|demandé)|combien de fois (?:dois|faut|je|vais)
        |(?:est-ce que )?je n['’]avais pas (?:\w+ )?dit|(?:¿)?cuántas veces (?:tengo|te|hay)|(?:¿)?no (?:te (?:dije|he dicho)|(?:(?:te |lo )?(?:había|habíamos)
        |(?=[^?]*\?)(?:te |lo )?(?:he|hemos)) (?:\w+ )?(?:dicho|acordado|quedado|decidido|pedido|hablado)|(?=[^?]*\?)(?:lo )?(?:dije|dijimos
        |acordamos|quedamos))|(?:¿)?por qué (?:no )?(?:(?:me|lo|la|te|le) )?\w+[aei]s(?:te)?\b[^?]*\bsi (?:ya )?te (?:dije|pedí|he dicho)
        |(?:a gente |nós )?(?:já )?não (?:(?:combinamos|combinou)(?=[^?]*\?)|(?:tinha
        |tínhamos|havia|havíamos) (?:\w+ )?(?:dito|combinado|falado|decidido|pedido))|por que (?=[^?]*\b(?:você|vc|tu)\b)[^?]*\b(?:se|quando) eu (?:já )?(?:te )?(?:pedi|disse
        |falei)|quantas vezes (?:eu )?(?:tenho|preciso|vou|te)|(?:eu )?não (?:te )?(?:disse|falei|pedi) (?:para|pra|que)|сколько раз (?:мне|я|можно)|(?:(?:разве|вроде) (?:мы|я)(?: же)?
        |(?:мы|я)(?: же| вроде)|(?=[^?]*\?)(?:мы|я)) не (?:договарива\w+|договорил\w+|решил\w+|обсуждал\w+|говорил\w*|просил\w*|сказал\w*)|(?:почему|зачем) (?=[^?]*\b(?:ты|вы)\b)[^?]*\b(?:если|когда|хотя) я (?:\w+ )?(?:сказал|просил|говорил)\w*)\b.+|(?:我)?(?:不是
        |难道没)(?:已经|都)?(?:说|告诉|讲|叫|让)(?:过|你).+|.{{2,40}}(?:って)?(?:言ったよね|言いましたよね|言わなかった(?:っけ)?|(?:言い|決め
        |約束し)ませんでした(?:っけ|か)?)[？?]?$)
    # What not, and what always: "nicht direkt auf main, immer über einen PR".
    rule: (?P<text>(?:not|never|nicht|nie|pas|no|não|не) [^,?]{{3,40}}, (?:but |sondern |mais |sino |mas |а )?(?:always|only ever|immer|toujours
        |siempre|sempre|всегда) [^?]{{4,}}$|for (?:anything|everything|any) [\w/ -]{{2,40}}?,? (?:please )?(?:always )?(?:ask|check with|tell
        |ping) me\b[^?]*|bei allem,? was [^?]{{4,60}} frag\w* mich\b[^?]*|pour tout ce qui [^?]{{4,60}} demande\S* [^?]*|para (?:todo
        |tudo) lo? ?que [^?]{{4,60}} preg[uú]nt\w* [^?]*)
    correction: (?P<text>i (?:already |clearly |just )?(?:said|asked for) (?!(?:yes|no|stop|wait|continue|go|ok|it|that|this|so|please|hi|hello
        |nothing|both|all|now|later|you|to|the|what|something|another|more)\b)[\w@./+-]+(?:[,;]? (?:and )?(?:not|no) (?:an? )?[\w@./+-]+)?[.!]*$)
    # Who does what, and what is wanted first.
    rule: (?P<text>(?:(?:just|please|you (?:can|could|should|may)) )*(?:run|do|test|try|check|start|click|look|verify|open|fetch
        |read)\b[^?]{{1,60}}\byourself\b[^?]*|(?:please )?leave (?:the )?[\w-]+(?:ing|s) to me\b.*|i(?: always)? (?:want|need|like|['’]d like
        |would like) to (?:see|review|approve|read|check|hear|look at)\b[^?]{{2,40}}\bbefore\b[^?]*|you (?:don['’]?t|do not|never) (?:need
        |have) (?:to )?[^?]{{2,40}} (?:here|in this (?:repo|project))\W*$|there(?:['’]?s| is) (?:already )?an? [\w -]{{3,30}} for (?:that|this)\b[^?]*
        |{NEGATION} \w+[,;–—] ?we (?:only |always |just )?\w+[.!]*$)
      unless: .*\b(?:now|today|page|button|screen|modal|bug|error)\b
    # How to write, in a few words.
    rule: (?P<text>(?:less|fewer|shorter|simpler) (?:text|words|comments|emojis|explanations?|commits|files|logs|detail|questions|abstractions?|code
        |answers|replies|sentences) please[.!]*$|(?:please )?(?:speak|talk|write|explain|phrase things) (?:more |in )?(?:plainly|simply|normally
        |directly|clearly|plain \w+)[.!]*$|(?:{NEGATION}|stop) (?:write|writing|talk|talking|explain|explaining|add|adding|use|using|say|saying|make
        |making|generate|create) so (?:much|many|long)\b[^?]*|[\w-]+ (?:english|spelling|units|notation|quotes|indentation|naming|casing) (?:only
        |please|always)[,.! ]*(?:please)?[.!]*$|(?:all )?(?:dates|times|timestamps|amounts|money|prices|names|ids|paths|logs|comments|identifiers
        |currencies)(?: (?:is|are))?(?: always)? (?:as|in) (?!the\b|this\b|that\b|my\b|it\b)[\w-]+(?: [\w-]+)?(?: always)?(?: please)?[.!]*$)
    # The same in the other languages.
    correction: (?P<text>du (?:hättest|solltest|durftest) [^?]{{3,60}} (?:sollen|müssen|dürfen|nicht)\b[^?]*|[^?]{{0,30}}(?:kannst|darfst|sollst
        |kannste) du [^?]{{0,30}}(?:selber|selbst) \w+[^?]*|ich hab(?:e|['’])? (?:doch )?gesagt,? \w+[.!]*$|ich (?:will|möchte) (?:erst|zuerst
        |vorher) [^?]{{4,}}\b(?:sehen|lesen|prüfen|freigeben)\b[^?]*|tu (?:aurais|n['’]aurais pas) dû [^?]{{3,}}
        |[^?]{{0,20}}\btu peux [^?]{{2,40}} toi[- ]même\b[^?]*|j['’]ai dit (?:des? |les? )?\w+[.!]*$|(?:no )?(?:deberías haber|tenías que
        |debiste) [^?]{{3,}}|[^?]{{0,30}}\bpuedes \w+ tú mism[oa]\b[^?]*|(?:yo )?(?:te )?dije \w+[.!]*$|(?:deja|para|pare
        |chega) de (?:me )?(?:preguntar|pedir|perguntar|interrump)\w*[^?]*|você (?:não )?(?:deveria|devia) ter [^?]{{3,}}
        |[^?]{{0,20}}\bvocê mesm[oa] (?:pode|consegue)\b[^?]*|[^?]{{0,20}}\bpode \w+ você mesm[oa]\b[^?]*|(?:eu )?disse \w+[.!]*$|надо было (?:сначала
        |сперва|спросить|предупредить)[^?]*|ты (?:не )?долж(?:ен|на) была? [^?]{{4,}}|[^?]{{0,20}}\bты (?:и )?(?:можешь|мог
        |в состоянии) [^?]{{2,30}} сам[ао]?\b[^?]*|я (?:же )?(?:сказал|говорил)а?[,:]? \w+[.!]*$)
      unless: .*\b(?:jetzt|heute|maintenant|ahora|agora|сейчас|nein|ja|non|oui|no|sí|não|sim|нет|да|danke|stopp?|warte)\b
    correction: (?P<text>(?:我)?(?:都)?[说讲]了?(?:多少|几)[次遍]了?[^?？]{{3,}}|我(?:从来|从)?没有?(?:让|叫|允许|同意)你[^?？]{{2,}}|你?(?:(?:应该|应当)先(?:看|问|读|查|确认|跑)
        |本来?该先)[^?？]{{1,}}|[^?？]{{0,20}}你(?:可以)?自[己行](?:跑|做|运行|执行|查|来|试)[^?？]*|(?:别|不要)(?:老|总)?是?(?:来)?(?:问我|烦我|打断我)[^?？]*|[^?？]{{2,40}}べき(?:だった
        |でした)[^?？]*|[^?？]{{0,20}}(?:自分|そっち)で(?:実行|確認|やっ|試し|調べ|動かし|でき)[^?？]*|(?:前に|さっき)?言った(?:よね|でしょ|はず)[^?？]*|[^?？]{{1,40}}[했봤렸았었]어야(?:지|죠|했|해)[^?？]*
        |[^?？]{{0,30}}(?:네가|니가|너가) (?:직접|스스로|알아서) [^?？]+)
      unless: .*(?:这次|报错|失败|画面|ボタン|エラー|みます|ておきます|ました)
    correction as question: (?P<text>(?:warum|wieso|weshalb) \w+st du (?:schon )?(?:wieder|immer|ständig|dauernd|andauernd)\b.*|(?:warum
        |wieso) \w+st du .*\bohne zu\b.*|(?:wer hat|hab['’]?e? ich) dir (?:gesagt|erlaubt)\b.*|(?:wer hat|hab['’]?e? ich) dir .*\berlaubt\b.*
        |hab['’]?e? ich dir erlaubt\b.*|pourquoi (?:est-ce que )?tu \w+ (?:encore|toujours)\b.*
        |pourquoi (?:est-ce que |as-)?tu .*\bsans (?:me |avoir )?demand\w+.*|qui t['’]a (?:dit|demandé|autorisé)\b.*|por qué \w+(?:as|es|aste
        |iste) (?:otra vez|siempre|de nuevo)\b.*|por qué \w+(?:as|es|aste|iste) .*\bsin (?:pregunt|avis|ped)\w+.*|quién te (?:dijo|pidió
        |dio permiso)\b.*|por que (?:você|vc) .*\b(?:de novo|outra vez|sempre|sem (?:perguntar|avisar|pedir))\b.*|quem (?:te )?(?:mandou|pediu) .*
        |(?:почему|зачем) ты (?:опять|снова|постоянно|вс[её] время|каждый раз|вечно)\b.*|(?:почему|зачем) ты .*\b(?:без спроса|не спросив)\b.*
        |кто тебя просил\b.*|(?!.*(?:生效|反应|显示|成功|报错|出来))你?(?:怎么|为什么|干嘛)你?(?:又|老是|总是|每次都?)(?:没有?|不|擅自|随便|乱).{{2,}}|谁(?:让|叫|允许)你.{{2,}}
        |누가 .{{2,40}}(?:라고|으라고|하래) ?(?:했|그랬|허락).*)
    # What something is, and what it is not: in eight languages.
    rule: (?P<text>(?:(?:this|that|it) ?(?:is|['’]s)|(?:das|dies|es) ist|c['’]est|(?:esto|eso) es|(?:isso|isto) é|это),? {_PROPER_NAME}[,;]? (?:not
        |nicht|(?:et )?pas|(?:y )?no|(?:e )?não|а не) {_PROPER_NAME}\s*[.!]*$|[^，。?？]{{1,12}}是 ?{_LATIN_NAME} ?[，,]? ?(?:而
        |并)?不是 ?{_LATIN_NAME}[。！!]*$|[^。?？]{{1,16}}は ?{_LATIN_NAME} ?(?:で|であって|です)?、? ?{_LATIN_NAME} ?(?:では|じゃ)な(?:い|く).{{0,10}})
      unless: .*(?:问题|错误|报错|原因|エラー|バグ|不具合)
    rule: (?P<text>(?:(?:übrigens|au fait|por cierto|aliás|кстати)[\s,]*)?(?:ich|mein\w*|je|mon|ma|mi|yo|eu|meu|minha|me|меня|мой|мою|моя
        |моего)\b[^?,]{{0,30}}\b(?:heißt?|heiße|m['’]appelle|s['’]appelle|llam[oa]|cham[oa]|зовут) [\w-]+,? (?:(?:und )?nicht|pas|(?:y )?no|(?:e )?não
        |а не) [\w-]+\s*[.!]*$|我(?:的\w{{1,4}})?叫[^，,。]{{1,12}}[，,]?不(?:是|叫).{{1,12}})
    # What is to be forgotten, and what is used in its place.
    correction: (?P<text>(?:(?:forget(?: about)?|scratch|vergiss|oublie[sz]?|olvida|esque[cç][ae]|забудь(?:те)? про) [^?,;]{{1,40}}[,;:–—-]+ ?(?:we
        |it['’]?s|use|wir|ab jetzt|jetzt|nous|on|maintenant|ahora|usamos|agora|теперь|сейчас|мы)\b|(?:忘掉|忘了) ?[^?，,]{{1,30}}[，,；] ?(?:现在|我们|改)
        |[^?？、]{{1,30}}は忘れて、?(?:今は|これからは)?)[^?？]{{2,}})
    # French, Spanish, Portuguese, German
    rule: (?P<text>(?:utilise|utilisez|emploie|usa|usen|nutze?|verwende?|benutze?|nimm)(?: (?:immer|toujours|siempre
        |sempre))? {_LATIN_NAME}(?:[, ]+(?:stp|svp|s['’]il (?:te|vous) pla[iî]t|por favor|bitte))?[.!]*$)
      unless: .*\b(?:es|das|ça|cela|eso|esto|isso|isto|lo|diese\w*)\b[.!]*$
    rule: (?P<text>(?:on|nous) \w+(?:e|ons) [^,?]{{3,50}}, (?:jamais|pas|plus) [^?]{{3,}}|(?:hay que|tienes que|tenemos que|debes|tem que|temos que
        |a gente tem que) [^?]{{4,}}\b(?:para que|porque|siempre|sempre|cada vez|nunca)\b[^?]*|[^?,]{{2,30}} (?:tienes que|hay que
        |se debe) [^?]{{4,}}\bpara que\b[^?]*)
      unless: .*\b(?:maintenant|aujourd['’]hui|hoy|hoje|ahora|agora)\b
    rule: (?P<text>(?:pode )?me (?:cham(?:[ae]|ar)|trat(?:[ae]|ar)) (?:de|por|como) \S.*|(?:dime|decime|llámame|háblame) (?:siempre |de |en )\S.*)
    correction: (?:nein|non|no|não|нет|стоп)[\s,.!;:–—-]+(?:(?:nicht so|so nicht|pas comme ça|pas ça|así no|eso no|assim não|не так
        |не то)[\s,.!;:–—-]+)?(?P<text>(?:nimm|verwende?|nutze?|benutze?|utilise[sz]?|prends|usa|use|usen|используй(?:те)?|бери(?:те)?
        |юзай) {_LATIN_NAME}[^?]*)
    rule: (?P<text>bitte (?:keine?n? |nur |immer |alle )?(?:[\wäöüß-]+ ){{0,4}}(?:ohne|mit|in|auf|als|nach) (?:[\wäöüß-]+ ){{1,3}}(?:vergeben|benennen
        |schreiben|speichern|anlegen|ablegen|formatieren|angeben)[.!]*$|(?:ce|notre) (?:projet|dépôt) (?:utilise|requiert|exige) [^?]{{3,}}|(?:siga
        |sigue|segue|suis|suivez|follow) (?:o|a|el|la|le|the) (?-i:[A-Z])[^?]{{3,}}|(?:rode|roda|execute|ejecuta|corre|lance[sz]?
        |exécute[sz]?) (?:os |as |los |las |les )?(?:testes|tests|pruebas|builds?|lint\w*) (?:com|con|avec|via) {_LATIN_NAME}[^?]*|(?:o|el|le|a
        |la) [\wáéíóúçãõ-]+ (?:versiona|usa|utiliza|utilise|roda|corre en|tourne sur) {_LATIN_NAME}[^?]*)
    rule: (?P<text>[^?]{{3,60}} (?:müssen|sollen|sollten|muss|soll) (?:konsequent|immer|stets|überall|jeweils|grundsätzlich|durchgehend
        |durchgängig) [^?]{{3,}} werden[.!]*$|[^?]{{3,60}} (?:immer |stets |beide )?aktuell (?:gehalten werden|halten)(?: (?:müssen|sollen))?[.!]*$
        |(?:bitte )?denke?t? (?:bitte |immer )*an (?:unsere?n?|die|den|das) [^?]{{3,}}
        |[^?]{{3,}}[,.…]+ du sagst mir (?:dann|immer|bitte)?,? ?(?:wann|wenn|ob)\b[^?]*)
      unless: .*\b(?:jetzt|heute|diese[mnrs]?|gerade)\b
    rule: (?P<text>(?:demande|demandez)(?:[- ](?:moi|nous))?(?: (?:l['’]|une? |la |ma )\w+)? (?:uniquement|seulement)\b[^?]*|(?:pide|pídeme|pregúntame
        |peça|pergunte)(?: (?:permiso|permissão))? (?:solo|sólo|únicamente|só|somente|apenas)\b[^?]*)
    # Russian
    rule: (?P<text>мне (?:удобнее|проще|привычнее|больше нравится|комфортнее) [^?]{{4,}}|по умолчанию \w+(?:о|ом|ами|ски)(?: \w+)?[.!]*$
        |больше (?:никогда )?не \w+(?:й|и|ь)(?:те)? [^?]{{3,}}|(?:надо|нужно|следует) (?:всегда|сначала|каждый раз) [^?]{{4,}})
      unless: .*\b(?:эт\w+|сейчас|здесь|тут)\b
    # Chinese
    correction: (?:不对|错了|不是这样的?|不是|不行|不)[，,。！ ]+(?P<text>(?:这里)?(?:应该|应当|得|要|请|我们|咱们|项目)(?:都|一律|统一|是)?(?:用|使用|改用) ?{_LATIN_NAME}.*)
    correction: (?:[^，,。]{{1,8}}[，,。！ ]+)?(?P<text>我(?:都|已经|之前|早就)*说过(?:了)?(?:要|不要|别|不用|用|不能|必须|得|先).{{2,}})
    correction: (?P<text>不是 ?{_LATIN_NAME} ?[，,] ?(?:而)?(?:是|用) ?{_LATIN_NAME}[。！!]*$)
    rule: (?P<text>(?:汇报|回答|回复|输出|报告|文档|提交|注释|代码)?(?:的)?(?:格式|风格|语气|口吻|顺序)(?:都|要|请)?(?:改成|改为|统一|用|按|采用).{{2,}}|每次.{{1,20}}(?:请|要|都|得|记得|顺便|顺带|必须
        |先).{{2,}})
      unless: .*(?:这次|这个|报错|失败|点击|请求时|登录|刷新|按钮|页面)
    rule: (?P<text>(?:我们|咱们|项目)(?:还是|就|都|现在)?(?:改用|换成|换用|统一用|就用|都用) ?{_LATIN_NAME}.*)
    rule: (?P<text>[^?？]{{2,24}}(?:时|的时候)[，,](?:你)?(?:就)?(?:直接|先|只|不要|请|必须|都|需|要|应)[^?？]{{2,}}|尽量[^?？]{{0,20}}(?:完成|做|写|用|简|少|短|避免)[^?？]*|(?:只
        |仅)在[^?？]{{2,20}}(?:处|时|里|中|上|后|前)?(?:加|用|写|放|做|改|执行)[^?？]+|[^?？]{{2,20}}(?:零依赖|不依赖)[^?？]{{2,}}
        |[^?？]{{2,20}}太[多长啰繁][^?？]{{0,12}}[，,](?:我)?(?:不想看|别|不要|少)[^?？]*)
      unless: .*(?:这次|这个|那个|报错|失败|点击|请求时|登录|刷新|按钮|页面|现在|崩溃)
    # Japanese: a thing forbidden, a condition that comes again, and what is used here.
    rule: (?P<text>[^？?]{{2,60}}(?:(?<![あいきじ])[るうくすつぬぶむぐ])な(?:よ|って)?(?:[。！!、，].*)?$)
      unless: .*(?:かな|だな|いいな|のかな|この(?!プロジェクト|リポジトリ)|今(?!後))
    rule: (?P<text>[^？?]{{2,40}}(?:あったら|たら|なら|場合は?|ときは?|時は?)、?[^？?]{{0,40}}(?:止まれ|しろ|せよ|聞け|言え|書け|出せ|待て|やめろ|くれ|して(?:くれ|ね|ほしい)|(?:聞い|確認し|相談し|質問し)て(?:ください|下さい|ね)?)[。！!]*$)
      unless: .*(?:エラー|バグ|今(?!後)|この|ボタン|画面|終わったら|できたら|[分わ]かったら)
    rule: (?P<text>[^?？]{{2,40}}(?:時|際|とき)(?:も|は|には)(?:この)?(?:方針|ルール|規約|手順)を守(?:る|って(?:ください)?)[。！!]*$|[^?？]{{1,20}}より[^?？]{{1,20}}(?:が|を)(?:大事|大切|重要
        |重視|優先)[^?？]{{0,8}}$|できるだけ[^?？]{{2,30}}(?:で|に)(?:お願い(?:します)?|して(?:ください)?)?[。！!]*$|[^?？]{{2,30}}は(?:必ず|事前に)?(?:ユーザー|私|僕|俺|こちら|人)に(?:確認
        |相談)(?:する(?:こと)?|して(?:ください)?)?[。！!]*$)
      unless: .*(?:エラー|バグ|ボタン|画面)
    """
)
"""Each waits in the inbox."""
