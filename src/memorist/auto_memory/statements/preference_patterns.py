"""What people like, avoid and live by, said plainly: it holds beyond the task, yet it may only
explain one. It waits for the person's yes. Pure.
"""

from __future__ import annotations

from memorist.auto_memory.statements.statement_patterns import (
    StatementPattern,
    parse_statement_patterns,
)

_ONE_TIME = (
    r".*\b(?:this|that|these|those|here|now|today|yet|again|it|them|you|we|bug|error|build|commit|branch|pr|tests?|function|"
    r"button|page|output|code|merge|deploy|log|logs)\b"
)
_ONE_TIME_ELSEWHERE = (
    r".*\b(?:jetzt|gerade|heute|diese[mnrs]?|maintenant|aujourd['’]hui|cette|ahora|hoy|est[ae]|agora|hoje|сейчас|сегодня|эт\w+|now|yet|"
    r"right now)\b|.*(?:现在|这个|那个|今(?!後)|この|その)"
)
_STANCE = (
    r"(?:passionate|enthusiastic|particular|picky|serious|adamant|careful|strict|wary|sceptical|skeptical|opposed|against|averse|allergic|"
    r"intolerant|sensitive|prone|committed|dedicated|devoted|drawn|partial|indifferent|uncomfortable|comfortable|fond|keen|into|"
    r"fascinated|obsessed|interested in (?!why|how|what|whether|if\b)|bored|terrified|afraid|scared|anxious|claustrophobic|an? (?:\w+ ){0,3}(?:believer|advocate|enthusiast|"
    r"supporter|follower|vegan|vegetarian|minimalist|introvert|extrovert|beginner|collector|traveller|traveler|purist|parent|owner))"
)
_HABIT = (
    r"(?:avoid|wear|eat|drink|drive|follow an? (?:[\w-]+ ){1,3}|insist on|swear by|stick (?:to|with)|stay away from|steer clear of|refrain from|abstain from|tend to|"
    r"gravitate|lean towards?|make it a (?:point|rule)|value|cherish|appreciate|adore|loathe|detest|despise|abhor|dislike|favou?r|"
    r"struggle with|suffer from|get (?:\w+ )?(?:seasick|carsick|anxious|overwhelmed|bored)|practi[sc]e|buy|shop|"
    r"refuse|cannot (?:stand|tolerate|eat)|can['’]?t (?:stand|tolerate|eat))"
)

_DUTY = r"(?:review|approve|sign off on|merge|release|deploy|ship|publish|triage|proofread|moderate|handle|maintain|test|check|validate|verify|do)"

_ONE_WISH = r".*\b(?:this|that|these|now|today|diese[mnrs]?|jetzt|heute|cette|maintenant|ahora|est[ae]|agora|ess[ae]|сейчас|эт\w+)\b"
_EACH = r"(?:each|every|any) (?:single )?(?:time|commit|pr|pull|push|change|answer|reply|response|message|task|release|deploy|merge|session|step|edit)s?"
_OPTION = (
    r".*\b(?:(?:that|it|this|which|das|es|ça|eso|isso|это) (?:was|war|est|était|fue|foi|был[ао]?)\b|(?:the|die|das|der|la|le|el|[oa]) (?:\w+ )?(?:one|option|first|second|third|last|latter|variant|version|"
    r"erste|zweite|dritte|letzte|première?|deuxième|primer[oa]?|segund[oa]|primeir[oa])\b|(?:перв|втор|трет)\w+)"
)
"""Tells which of several was right."""
_PRAISE = (
    r"(?:(?:perfect|great|nice|good|yes|yep|yeah|exactly|cool|awesome|agreed|super|perfekt|genau|ja|toll|parfait|oui|top|bien|perfecto|sí|genial|perfeito|ótimo|sim|isso|отлично|да|супер|класс)[\s,.!–—-]+"
    r"|(?:很好|太好了|完美|对|好的?|完璧(?:です)?|素晴らしい(?:です)?|いいですね|はい|좋아요?|완벽해요?|네)[，,。、.!！\s]+)*"
)

PREFERENCES: tuple[StatementPattern, ...] = parse_statement_patterns(
    rf"""
    # What is the user's own task each time.
    rule: (?P<text>(?:i|we)(?: (?:personally|always|usually|still|also|myself))* {_DUTY} (?:all|every|each|any)\b.{{2,80}}|(?:ich|wir) (?:review\w*
        |prüfen?|teste?n?|merge?n?|deploye?n?|kontrolliere?n?|mache?n?) (?:alle|jede[nsmr]?|sämtliche)\b.{{2,80}}|(?:je|on|nous) (?:relis|relisons
        |revois|revoyons|valid\w+|vérifi\w+|approuv\w+|test\w+|déploi\w+|fusionn\w+) (?:tou(?:te)?s (?:les|nos|mes)|chaque)\b.{{2,80}}
        |(?:yo |nosotros |eu |nós )?(?:reviso|revisamos|apruebo|aprobamos|aprovo|aprovamos|valido|validamos|verifico|verificamos|pruebo|probamos|testo
        |testamos|despliego) (?:tod[oa]s|cada|toda)\b.{{2,80}}|(?:я|мы) (?:сам[аи]? )?(?:проверя\w+|ревью\w+|одобря\w+|мержу|мержим|тестиру\w+|деплою
        |деплоим) (?:кажд\w+|все[хм]?)\b.{{2,80}}|我们?(?:会|都)?(?:亲自)?(?:审核|检查|审查|测试|合并|部署|批准)(?:每|所有|全部).{{2,40}}|(?:所有|每个|全部).{{1,20}}都?由我们?(?:审核|检查
        |审查|测试|合并|部署|批准).*|.{{1,20}}(?:は|を)(?:全部|すべて|全て|毎回).{{0,4}}[私僕俺]が(?:レビュー|確認|承認|テスト|マージ|デプロイ).*)
      unless: .*(?:\?|\b(?:now|today|tonight|yet|again|right|but|nothing|fails?|and (?:see|they|it|then)|jetzt|heute|maintenant|ahora|agora|сейчас)\b
        |现在|今)
    rule: (?P<text>as (?:someone|a person|an? (?:[\w-]+ ){{1,4}}?)(?: ?(?:who|with|that)\b)?[^?]{{2,100}}?,? (?:i|my)\b.{{4,}})
      unless: .*\b(?:you said|mentioned|above|before)\b
    rule: (?P<text>i(?:['’]m| am)(?: (?:not|very|really|particularly|especially|quite|extremely|deeply|highly|too|also|truly
        |generally))* {_STANCE}\b.{{3,}})
      unless: {_ONE_TIME}
    rule: (?P<text>i (?:(?:strictly|only|always|usually|generally|mostly|exclusively|religiously|rarely|seldom|never|really|absolutely|do not
        |don['’]?t|personally|typically|have always|['’]ve always) )*{_HABIT}\b.{{3,}})
      unless: {_ONE_TIME}
    rule: (?P<text>i(?:['’]d| would)(?: (?:much|always|generally|far))* (?:rather|prefer|sooner) .{{4,}})
      unless: {_ONE_TIME}
    rule: (?P<text>i (?:have|['’]ve|have got|suffer from|live with) (?:(?:an?|no|absolutely|little|severe|strong|deep|mild|real|personal|chronic|never
        |always|had) )*(?:[\w-]+ ){{0,2}}(?:interest|aversion|fear|phobia|allergy|allergies|intolerance|preference|passion|weakness|soft spot|distaste
        |disdain|sensitivity|condition|disability|commitment|dislike|sworn|given up|quit|diabetes|asthma|arthritis|migraines?)\b.*)
      unless: {_ONE_TIME}
    rule: (?P<text>(?:due to|because of|given|owing to|with|since) my (?:[\w-]+ ){{0,2}}(?:allerg\w+|asthma|arthritis|diabetes|health|back|knees?
        |eyesight|hearing|anxiety|adhd|dyslexia|autism|condition|disability|budget|diet|beliefs?|faith|religion|schedule|kids|children|family|commute
        |fear|phobia|sensitivity|intolerance)\b[^?]{{0,40}}?,? (?:i|my)\b.{{4,}})
      unless: {_ONE_TIME}
    rule: (?P<text>my (?:diet|religion|faith|beliefs?|budget|health|doctor|lifestyle|values|taste|tastes|schedule|culture)\b .{{4,}})
      unless: {_ONE_TIME}
    rule: (?P<text>i (?:always|never|usually|mostly|only) (?:take|ride|cycle|walk|travel|cook|order|sleep|read|watch|listen|work out|go|stay|pay|carry
        |bring|skip|choose|leave) .{{4,}}|i find (?:[\w-]+ ){{1,5}}(?:unbearable|annoying|relaxing|boring|stressful|exhausting|overwhelming
        |distracting|uncomfortable|soothing|tedious|irritating)\b.*|i try (?:not )?to (?:keep|avoid|limit|reduce|stay|eat|live|spend|cut|be) .{{4,}}
        |i(?:['’]ve| have)? (?:gave up|given up|quit|cut out|sworn off|stopped (?:eating|drinking|buying|smoking|watching|using)) .{{3,}}
        |i feel (?:\w+ )?(?:uneasy|uncomfortable|anxious|unsafe|dizzy|guilty|sick|nervous) (?:in|on|around|with|about|when|at) .{{3,}}
        |[\w -]{{3,40}} (?:doesn['’]?t|don['’]?t|does not|do not) agree with me\b.*|[\w -]{{3,40}} (?:makes?|gives?) me (?:sneeze|sick|anxious|dizzy
        |nauseous|sleepy|nervous|headaches|hives|a headache)\b.*|i(?:['’]m| am) (?:saving (?:money|up)|on a (?:\w+ )?(?:budget|diet)|trying to (?:lose
        |save|eat|quit|cut))\b.*)
      unless: {_ONE_TIME}
    # What somebody does not want, does not care for, or likes less than something else: in eight
    # languages.
    rule: (?P<text>no quiero (?!que\b|ver\b|decir\b|es[aeo]s?\b|est[aeo]s?\b)\w+ .{{3,}}|(?:eu )?não quero (?!que\b|ver\b|dizer\b|ess|est
        |iss)\w+ .{{3,}}|je (?:ne )?veux (?:pas|plus) (?!que\b|voir\b|dire\b|ça\b|ce)\w+.{{3,}}|ich (?:will|möchte) (?:nicht|keine?n?
        |nie)\b(?!,? dass).{{4,}}|.{{8,120}}[, ](?:möchte|will|mag|brauche) ich (?:hier |im code |in diesem projekt )?(?:nicht|nie|keinesfalls
        |auf keinen fall)\b.{{0,40}}|(?:я )?не хочу (?!,? ?чтобы|сказать|видеть)\w+ .{{3,}}|我不想(?!让|要?这|要?那|说)[^了]{{2,}}
        |.{{2,40}}(?<!し)たくない(?:です)?[。]*$)
      unless: {_ONE_TIME_ELSEWHERE}
    rule: (?P<text>(?:we|i) (?:really )?(?:don['’]?t|do not) care (?:about|for) (?!(?:it|that|this|them|what|which|how)\b).{{3,}}|.{{3,50}} (?:ist
        |sind) (?:uns|mir) (?:völlig |ganz |total )?egal[.!]*$|.{{2,60}}\bs['’]en (?:fout|fiche|moque)\b.*|.{{3,50}} (?:nos|me) dan? igual[.!]*$
        |não (?:ligamos|ligo|nos importamos|me importo) (?:para|com|pra) .{{3,}}|(?:на )?.{{3,40}} (?:нам|мне) (?:всё равно|все равно|плевать)[.!]*$
        |(?:нам|мне) (?:всё равно|все равно|плевать) на .{{3,}}|(?:我们?|咱们)(?:不管|不在乎|不关心).{{2,}}|.{{2,30}}我们?(?:不管|不在乎)[。]*$
        |.{{2,30}}は(?:気にしなくて(?:も)?いい|どうでもいい)(?:です)?[。]*$)
      unless: {_ONE_TIME_ELSEWHERE}
    rule: (?P<text>(?:(?:уж )?лучше|lieber|rather|mieux vaut|plutôt|mejor|(?:é )?melhor) [^?]{{3,60}},? (?:чем|als|than|que|do que) (?!antes\b|avant\b|vorher\b
        |раньше\b)[^?]{{3,}}|(?:i|we)(?:['’]d| would)(?: much)? rather (?:have |see |get |use )?(?!(?:this|that|it|these|those)\b).{{3,80}} than .{{3,}}|(?:mir
        |uns) ist .{{3,60}} lieber\b.*|je préfère .{{3,80}} (?:à|plutôt|que) .{{3,}}|prefiero .{{3,80}} (?:a|antes que|en vez de) .{{3,}}
        |prefiro .{{3,80}} (?:a|do que|em vez de) .{{3,}}|(?:мне|нам) (?:лучше|важнее) .{{3,80}}, чем .{{3,}}|我?(?:宁愿|宁可).{{3,}}
        |.{{2,40}}より.{{1,40}}(?:ほう|方)がいい(?:です)?[。]*$)
      unless: {_ONE_TIME_ELSEWHERE}
    # A wish in the conditional for something that would last.
    rule as question: (?P<text>(?:(?:it|that)(?:['’]d| would) (?:really )?(?:be|help)|would(?: really)? (?:be|help|(?:love|appreciate|like) it)|i(?:['’]d| would) (?:really )?(?:appreciate it|love it|like it|be (?:happy|glad|grateful)))(?: (?:so|really|very|super|a lot|much))*(?: (?:great|nice|good|better|best|helpful|cool|awesome|lovely|ideal|perfect|handy))? if (?:you|u)\b(?=.*\b(?:always|never|{_EACH}|whenever|unless|(?:before|after|when|instead of) (?:\w+ing|you)|without (?:asking|telling|checking|my)|stopped|did ?n['’]?t|did not|would ?n['’]?t|in (?:english|german|french|spanish)|(?:asked|checked)(?: with)?(?: me)? (?:first|before)|tests? first|(?:answers|replies|summaries|commits|prs|diffs) (?:short|small|brief)|bullet points?|shorter|briefer)\b).+)
      unless: {_ONE_WISH}
    rule: (?P<text>(?:es |mir )?(?:wäre?|fänd(?:e)?|würde)(?: (?:ich|es|mir|echt|sehr|ganz|richtig))* (?:schön|gut|super|toll|nett|cool|hilfreich|lieb|klasse|prima|besser|lieber|helfen),? wenn (?:du|ihr)\b(?=.*\b(?:immer|nie(?:mals)?|jedes ?mal|(?:vor|nach|bei|zu|in) jede[mnrs]|bevor|vorher|erst fragst|zuerst|ohne (?:zu fragen|nachfrage)|keine?n?|kürzer|auf (?:deutsch|englisch)|vor dem \w+|nach dem \w+)\b).+)
      unless: {_ONE_WISH}
    rule: (?P<text>(?:(?:ce|ça) (?:serait|m['’]aiderait)|j['’](?:aimerais|apprécierais)|je préférerais)(?: (?:plus|vraiment|très|bien|cool|top|super|mieux|sympa|génial))* (?:que|si) (?:tu|vous)\b(?=.*\b(?:toujours|jamais|(?:à|avant|après) chaque|systématiquement|avant d|sans (?:me|demander)|n['’]?e? ?\w+ (?:pas|plus)|en (?:français|anglais))).+)
      unless: {_ONE_WISH}
    rule: (?P<text>(?:(?:estar[íi]a|ser[íi]a|vendr[íi]a|ia ser|me ajudaria|me ayudar[íi]a)(?: (?:muy|muito|más|bien|bueno|genial|ideal|mejor|bom|ótimo|legal|melhor))*|me gustar[íi]a|gostaria) (?:que|se|si)\b(?=.*\b(?:siempre|sempre|nunca|jamás|cada vez|toda vez|(?:antes|después|depois) de cada|antes d[eo]|(?:sin|sem) (?:pregunt|pergunt|avis|emoji)\w*|no \w+(?:as|es|ras)|não|en español|em português|dej(?:es|aras) de|parasse)\b).+)
      unless: {_ONE_WISH}
    rule: (?P<text>(?:хотелось бы|(?:было бы|будет) (?:\w+ )?(?:хорошо|здорово|круто|классно|неплохо|лучше|супер|отлично|удобно)),? (?:если|чтобы)(?: бы)? (?:ты|вы)\b(?=.*(?:всегда|никогда|кажд\w+ раз|(?:после|перед|до) кажд|перед|сначала|без |не \w+л|по-русски)).+)
      unless: {_ONE_WISH}
    rule as question: (?P<text>(?:如果|要是|希望)你?(?:能|可以)?.{{0,20}}(?:每次|总是|一直|都|以后|之?前先?|不要|别|永远).{{2,30}}(?:就好了|就更好了?|就太好了|比较好|会更好)[。！!]*$|[^。？?]*(?:前に|先に聞|先に確認|毎回|いつも|必ず|常に|たびに|ないで|せずに|日本語で|簡潔に|短く)[^。？?]*(?:て|で)(?:くれ(?:る|たら)|もらえ(?:る|たら)|いただけ(?:る|たら))と?、?(?:助か|嬉し|うれし|ありがた|いい|幸い)[^。？?]*[。！!]*$|[^.?]*(?:먼저 물어|항상|매번|마다|하기 전에|반드시|절대|한국어로)[^.?]*(?:면)\s?(?:좋겠|고맙|감사|도움)[^.?]*[.!]*$)
      unless: .*(?:这个|那个|この|その|ここ|이 |오늘|今(?!後)|今天)
    # Praise that names what was right.
    rule: {_PRAISE}(?P<text>(?!(?:it|that|this|which|what|not|yours?|i|you)\b)[^?:]{{5,90}} was (?:exactly |absolutely |definitely |totally |really )?(?:the |a )(?:right|good|great|perfect|correct|best) (?:call|choice|move|decision|approach|way to go))[.!]*$
      unless: {_OPTION}
    rule: {_PRAISE}(?P<text>(?:good|great|nice|right|smart) (?:call|choice|move|idea|thinking)(?: on| with| to)? (?!(?:this|that|it)\b)[\w-]+ .{{2,}}|(?:i )?(?:really )?(?:like|love|appreciate) (?:that|how) you (?:kept|asked|split|explained|ran|checked|avoided|did not|didn['’]?t|always) .{{3,}})
    rule: {_PRAISE}(?P<text>(?:tu as|vous avez) bien fait de .{{4,}}|(?:hiciste|has hecho) bien en .{{4,}}|(?:você )?fez bem em .{{4,}}|(?:хорошо|правильно),? что ты (?:сначала|не|спросил|разбил).{{3,}}|(?:gut|danke|schön),? dass du (?:erst|vorher|zuerst|keine?n?) .{{4,}}|(?:thanks|thank you) for (?:asking|checking|not \w+ing) .{{4,}})
    rule: {_PRAISE}(?P<text>(?:genau so,? mit .{{4,}}|(?!(?:das|es|dies)\b)[^?:]{{5,90}} (?:(?<=en )war (?:genau )?(?:gold)?richtig|war (?:genau )?(?:die richtige|eine gute) (?:entscheidung|wahl))))[.!]*$
      unless: {_OPTION}
    rule: {_PRAISE}(?P<text>(?!(?:ça|c['’]|eso|isso|esto|это|así)\b)[^?:]{{5,90}}?,? (?:(?:c['’])?était (?:le bon choix|la bonne (?:décision|approche|idée|option))|(?:fue|foi) (?:la|a|una|uma|lo|o) (?:mejor |buena |boa |melhor )?(?:decisión|opción|elección|decisão|escolha|opção|idea|ideia|correcto|certo)(?: (?:correcta|acertada|certa|correta))?|был[ао]? (?:правильн|хорош|верн)\w+ (?:решени|выбор|иде)\w+))[.!]*$
      unless: {_OPTION}
    rule: {_PRAISE}(?P<text>(?![你您我他她它])[^，。？?这那]{{2,20}}(?:是对的|是正确的|做得对|做对了|是正确的选择|是对的选择)|[^。？?、]{{4,40}}(?:のは|が)(?:正解|正しい判断|良い判断|いい判断)(?:でした|だった|です|だ)?|[^.?]{{4,40}}(?:은|는|이|가) (?:옳은|좋은|맞는|올바른) (?:선택|판단|결정)\S*)[。.!！]*$
    """
)
"""What people like, avoid and live by: each waits in the inbox."""
