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
    """
)
"""What people like, avoid and live by: each waits in the inbox."""
