"""Working agreements as people say them in passing: a choice against another ("tabs not spaces"), an
order bound to an event that comes again, an order that is said once more, what a team never does,
what a project lacks, and what was decided for a purpose. Pure.

In English, German, French, Spanish, Portuguese, Russian, Chinese and Japanese. Each may be meant for
the task alone, or be a report, so it waits for the person's yes.
"""

from __future__ import annotations

from memorist.auto_memory.statements.bans import LACKED
from memorist.auto_memory.statements.plain_facts import NAMED_TOOLS
from memorist.auto_memory.statements.statement_patterns import (
    ANY_ORDER,
    NEGATION,
    ORDER,
    StatementPattern,
    parse_statement_patterns,
)

_END = r"(?:,? (?:please|pls|plz|bitte|stp|svp|s['’]il (?:te|vous) pla[iî]t|por favor|porfa|пожалуйста))?\s*[.!]*$"
_NO_NAME = (
    r"(?!(?:the|this|that|these|those|it|its|a|an|one|ones|two|three|first|second|third|last|other|yes|no|ok|now|today|tomorrow|later|me|you|us|we|i|here|there|"
    r"je|tu|il|elle|on|nous|vous|ils|ich|wir|du|er|es|sie|yo|eu|ele|ela|she|he|they|why|how|maybe|perhaps|still|pourquoi|warum|qué|porque|pourtant|mais|donc|я|ты|мы|он|она|они|почему|said|says?|"
    r"always|works?|is|are|was|were|does|did|has|errors?|left|right|top|bottom|der|die|das|den|dem|eine?[nrm]?|dieser?s?|erste[rns]?|zweite[rns]?|dritte[rns]?|heute|morgen|jetzt|hier|"
    r"le|la|les|l|une?|ce|cette|ça|premi(?:er|ère)|deuxième|seconde?|ici|maintenant|demain|oui|non|el|los|las|est[aeo]|es[aeo]|primer[oa]?|segund[oa]|hoy|ahora|mañana|sí|aquí|"
    r"[oa]s?|uma?|ess[ae]|primeir[oa]|hoje|agora|amanhã|sim|não|aqui|перв\w+|втор\w+|эт\w+|сегодня|завтра|сейчас|да|нет|тут|здесь)\b|\d)"
)
_THING = rf"{_NO_NAME}[@\w][\w@./+#-]*(?: {_NO_NAME}[\w@./+#-]+)?"
_LANGUAGES = (
    r"english|german|french|spanish|portuguese|russian|chinese|japanese|deutsch|englisch|französisch|spanisch|anglais|français|allemand|espagnol|español|inglés|francés|alemán|"
    r"português|inglês|espanhol|русский|английский|немецкий"
)
_CERTAIN_THING = (
    rf"(?:(?:{NAMED_TOOLS}|{_LANGUAGES})\b|(?-i:[a-zäöü]+[A-Z]\w*)|\w+[_@./-]\w+|(?:{_NO_NAME}[\w-]+ )?(?!\w+(?:ss|us|is|as|mos)\b){_NO_NAME}[a-zà-ÿ]{{3,}}s)"
    r"(?: (?:ones|quotes|style))?"
)
"""What only a name or a noun in the plural is: "not found" and "not working" are none."""

_WORK = (
    r"(?:commit|push|merge|release|deploy|publish|write|add|change|create|edit|touch|modify|rename|name|refactor|review|generate|document|log|import|format|design|delete|remove|"
    r"introduce|implement|bump|test|debug|upgrade|migrate|open (?:an?|any)|make (?:an?|any)|work (?:on|with))"
)
_WORKING = (
    r"(?:committing|pushing|merging|releasing|deploying|publishing|writing|adding|changing|creating|editing|touching|modifying|renaming|naming|refactoring|reviewing|generating|"
    r"documenting|logging|importing|formatting|designing|deleting|removing|introducing|implementing|bumping|testing|debugging|upgrading|migrating|opening an?|making an?|working (?:on|with))"
)
_GENERAL = r"(?:(?! (?:the|this|that|these|those|it|them|both|again|my|your)\b) [\w'’/.+-]+){0,5}?"
"""An object that is none in sight, or none."""
_SURE_ORDER = (
    rf"(?:(?:please|pls|then|first|also|just|always) )*(?:use|run|keep|make sure|ensure|add|always|never|only|avoid|prefer|follow|write|put|include|start|begin|tell|ask|let|give|check|update|"
    rf"regenerate|rebuild|bump|rebase|squash|rerun|restart|explain|mention|verify|prefix|stick|remember|show|{NEGATION})\b"
)
_TELL = r"(?:tell|ask|ping|notify|warn|inform|update|let)\b"

_PFLICHT = r"(?!(?:ist|sind|war|waren|wird|kann|muss|soll|will|hat|habe|kommt|gibt|klar|dann|dass|weil|aber|dir|uns|was|wie|wo|also|ich|du|er|es|sie|wir|man|ihr|der|die|das|den|dem|eine?|kein|hätte|wäre|würde|werde|kriege|bekomme)\b)"
_GERMAN_ORDER = rf"(?:(?:bitte|immer|vorher|zuerst|erst|dann|auch|immer erst) )*(?:(?:{_PFLICHT}[a-zäöüß]{{3,}}(?<!t)(?<!en)|halte?|achte?|starte?|teste?|antworte?)(?! (?:ich|du|er|es|sie|wir|man|ihr)\b) .{{3,}}|.{{3,}} \w+en\s*[.!]*$)"
_GERMAN_ONCE = (
    r"bist|hast|kannst|willst|musst|sollst|möchtest|darfst|findest|siehst|denkst|meinst|weißt|weisst|anfängst|beginnst|startest|loslegst|weitermachst|verstehst|brauchst|glaubst|magst|"
    r"wirst|fertigst|ist|hängst|kommst|gehst|klickst|drückst|öffnest"
)
_FRENCH_ORDER = (
    r"(?:(?:toujours|d['’]abord|pense à|merci de|bien|ne) )*(?:(?:utilis|lanc|relanc|vérifi|ajout|demand|gard|expliqu|supprim|exécut|commenc|évit|montr|pens|cré|regard|test|pass|respect|nomm|donn|laiss|"
    r"chang|modifi|regénèr|génèr|incrément|document|oubli|appliqu|corrig|prévien|fai|met|écri|di|tien|sui|prend)(?:e|es|s|t|ds|ez|tes)?|n['’]oublie[sz]?)(?:-\w+)? .{3,}"
)
_FRENCH_WORK = (
    r"(?:écri[st]|écrivez|ajoute[sz]?|crée[sz]?|modifie[sz]?|change[sz]?|touche[sz]?|commite?[sz]?|pushe?[sz]?|pousse[sz]?|merge[sz]?|déploie[sz]?|renomme[sz]?|supprime[sz]?|fai[st] (?:une?|des)|"
    r"génère[sz]?|nomme[sz]?|documente[sz]?|refactore[sz]?|testes?)"
)
_SPANISH_ORDER = (
    r"(?:(?:siempre|primero|por favor|también|nunca|sempre|primeiro|também) )*(?:corr[eéa]|ejecut[aáe]|execut[ae]|lanz[aá]|us[aáe]|utili[cz]\w+|pon[eé]?|ponga|haz|hacé|avis[aáe]\w*|av[ií]sa\w*|actualiz[aá]|atualiz[ae]|revis[aáe]|agreg[aá]|añad[eí]|adicion[ae]|"
    r"escrib[eí]|escrev[ae]|verific[aá]|verifi(?:ca|que)|pregunt\w+|pergunt[ae]|asegúr\w+|inclu(?:y[eé]|a|i)|mantén|mant[eé]nha?|evit[ae]|prueb[ae]|probá|pas[aáe]|sub[eí]|document[ae]|dej[aá]|deix[ae]|explic[aá]|expli(?:ca|que)|formate[ae]|"
    r"rod[ae]|faz|faça|coloc[ae]|coloque|mand[ae]|ger[ae]|(?:no|não) \w{2,}(?:as|es|a|e))\b .{2,}"
)
_SPANISH_WORK = (
    r"(?:escrib|cre|cri|agreg|añad|cambi|modifi[cq]u?|to[cq]u?|borr|renombr|nombr|commit|pushe|merge|despl[ie]+gu?|publi[cq]u?|document|refactori[zc]|revis|mexer?|edit|alter|renome|delet|apagu?|"
    r"implement|test|lan[cç]|public|subi?|test|nome|adicion|gener|ger)"
)
_RUSSIAN_ORDER = r"(?:(?:всегда|сначала|обязательно|пожалуйста|ещё|также|не) )*(?!\w+(?:ый|ий|ой|ей)\b)[а-яё]{3,}(?:ай|яй|уй|юй|ой|ей|и|ь)(?:те)?(?:ся|сь)?\b .{2,}"

_TOLD = r"(?:(?: (?:already|before|once|twice|again|(?:\w+ )?times|(?:a )?(?:hundred|thousand|million) times))*)"
_RULE_WORD = r"(?:(?:not to|no(?! (?:more|way|one|thanks|problem|need)\b)|never|only|always|without|don['’]?t|do not) [\w'’-]+.*|to (?:always |never |only |please )*(?:use|keep|avoid|write|answer|ask|stick|follow|prefer|leave)\b.+)"
_DECIDED = (
    r"(?!\d)(?!(?:calma|tudo|todo|cuidado|паузу|время|тайм\w*|the|this|that|it|a|an|your|my|our|one|two|option|plan|der|die|das|den|dem|eine?n?|deine?n?|diese\w*|le|la|les|une?|ton|ta|ce|cette|el|los|las|una|tu|est[ae]|es[ae]|[oa]s?|uma?|seu|sua|первый|второй|другой|это\w*|твой|another|different)\b)"
    r"[\w@][\w@./+#-]*(?: [\w@./+#-]+){0,2}"
)
_NOT_LASTING = (
    r".*\b(?:now|today|yet|once|this|here|button|header|heading|title|icon|background|border|link|menu|modal|card|label|footer|sidebar|logo|jetzt|erstmal|heute|diese[nmrs]?|hier|maintenant|cette?|ici|ahora|est[aeo]s?|esto|agora|ess[ae]s?|"
    r"сейчас|пока|эт\w+|кнопк\w+|bouton|botón|botão)\b"
)
_MOMENT = r"(?:yet|now|today|still|left|noch|jetzt|gerade|heute|encore|maintenant|aujourd['’]hui|todavía|aún|ahora|hoy|ainda|agora|hoje|ещё|еще|пока|сейчас|сегодня)"
_MISSING = rf"(?!{LACKED}\b)(?!(?:zeit|plan|problem|time|logs?|daten|données?|datos|dados|данных|логов|файл\w*|colunas?|columnas?|cette|diese[nmr]?|ess[ae]s?|est[ae]s?|es[ae]s?|так\w+|этого|этой|temps|choix|besoin|tiempo|nada|más|otr[oa]|ganas|idea|tempo|mais|outr[oa]|ideia|времени|выбора|вопрос\w*|ничего|больше|ошибк\w*|смысла|сил|идей|de|que)\b)[\w./+-]+"
_LOUD_NAME = rf"(?:(?-i:[A-Z])[\w.+-]+|(?:{NAMED_TOOLS})\b)"
_SURROUNDINGS = rf"(?:环境|服务器|权限|预算|账号|设计师|测试|监控|文档|流水线|数据库|集群|运维|域名|缓存|预发|灰度|{_LOUD_NAME})"
_JAPANESE_SURROUNDINGS = rf"(?:環境|サーバー?|権限|予算|ドキュメント|デザイナー|監視|テスト|データベース|ステージング|{_LOUD_NAME})"

_ENGLISH_DAY = (
    r"(?:(?:next|this|the coming) (?:week|month|quarter|year|sprint|release|iteration|milestone|\w+day)|tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)day|"
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)|(?:the )?\d{1,2}(?:st|nd|rd|th)|(?:v|version |release )\d[\w.]*|20\d\d[\d-]*|q[1-4])"
    r"(?: \d{1,4}(?:st|nd|rd|th)?| of \w+)?(?: on(?:wards?)?| onwards?)?"
)
_GERMAN_DAY = (
    r"(?:(?:de[mr] )?(?:nächste[rnms]?|kommende[rnms]?) \w+|morgen|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember|"
    r"(?:dem )?\d{1,2}\.(?: ?\w+)?|version \S+|20\d\d)"
)
_FRENCH_DAY = (
    r"(?:(?:la |l['’]|le |du )?(?:semaine|année|mois|sprint|trimestre|lundi|version) prochaine?|(?:le |du )?prochain \w+|demain|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|janvier|février|mars|avril|mai|juin|juillet|"
    r"août|septembre|octobre|novembre|décembre|(?:le |du )?\d{1,2}(?:er)? \w+|20\d\d)"
)
_SPANISH_DAY = (
    r"(?:(?:el|la|este|esta|l) )?(?:(?:próxim[oa]|pr[oó]xim[oa]) \w+|\w+ (?:que (?:viene|vem)|próxim[oa])|mañana|amanhã|lunes|martes|miércoles|jueves|viernes|sábado|domingo|(?:segunda|terça|quarta|quinta|sexta)(?:-feira)?|enero|febrero|"
    r"marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro|(?:dia )?\d{1,2} de \w+|20\d\d)"
)
_RUSSIAN_DAY = r"(?:следующ(?:ей|его) \w+|нового \w+|завтра(?:шнего дня)?|понедельника|вторника|среды|четверга|пятницы|субботы|воскресенья|(?:\d{1,2}(?:-го)? |\w+ого )?(?:января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря)|20\d\d\b(?: года)?)"

WORKING_AGREEMENTS: tuple[StatementPattern, ...] = parse_statement_patterns(
    rf"""
    # A choice against another.
    rule: (?P<text>(?:i (?:want|need|prefer|meant) )?{_THING},? (?:and |und |et |y |e |и |а )?(?:not|nicht|pas|no|não|nao|не) (?:des |de |d['’]|as |les )?{_CERTAIN_THING}{_END})
    rule: (?P<text>(?:des |les |les )?{_THING},? (?:und |et |mais |y |e |и |а )?(?:pas|nicht|no|não|не) (?:des |les |de |d['’])?{_CERTAIN_THING}{_END})
    rule: (?P<text>{_THING} (?:instead of|rather than|over|(?:an)?statt|plutôt que?|au lieu de|en (?:vez|lugar) de|em vez de|ao invés de|вместо) {_THING}{_END})
    rule: (?P<text>(?!это\b){_THING}, а не {_THING}{_END}|(?:请)?用 ?[A-Za-z][\w.+-]* ?[，,]?\s?(?:不用|别用|不要用|而不是) ?[A-Za-z][\w.+-]*[。！!]*$|[A-Za-zァ-ヶー][\w.+ァ-ヶー-]*(?:じゃ|では?)な(?:くて?|く)、?[A-Za-zァ-ヶー][\w.+ァ-ヶー-]*(?:で|を使って|に(?:して)?)(?:お願い(?:します)?|ください)?[。！!]*$)
    # An order bound to an event that comes again.
    rule: (?P<text>(?:when(?:ever)?|before|after|while|if|every ?time|each time|any ?time) (?:ever )?(?:(?:you|u|we)(?: ever)? {_WORK}|{_WORKING})\b{_GENERAL}(?:, ?(?:{ORDER} |{_SURE_ORDER} |{ANY_ORDER})|(?<!to) {_SURE_ORDER} ).{{3,}})
    rule: (?P<text>(?:when(?:ever)?|if) (?:ever )?(?:you|u|we)(?: ever)? (?:touch|change|edit|modify|update|bump|rename)\b[^?,]{{3,50}},? (?:please )?{_TELL} .{{2,}})
    rule: (?P<text>(?:before|after|on|at|for|with|in) (?:each|every|any)(?: new| single)? [\w-]+(?: [\w-]+)?(?:,? {_SURE_ORDER}|, {ORDER}) .{{3,}})
      unless: (?:for|on|in|at|with) (?:each|every|any) (?:row|item|line|element|file|user|entry|one|key|value|column|page|cell|card)\b
    rule: (?P<text>(?:bevor|ehe|(?:immer )?wenn|sobald|nachdem|falls|jedes ?mal wenn) (?:du|ihr|wir)\b(?!(?: [\w-]+)* (?:das|dies\w*|es|ihn|den|dem|der|die)\b)(?: [\w./-]+){{0,5}}? (?!(?:{_GERMAN_ONCE})\b)[a-zäöüß]{{4,}}s?t, {_GERMAN_ORDER})
    rule: (?P<text>(?:vor|nach|bei|in|an|zu|für) jede[mnrs] \w+(?: \w+)?,? {_GERMAN_ORDER}|(?:vor|nach) dem (?:commit\w*|push\w*|merge\w*|deploy\w*|release\w*),? {_GERMAN_ORDER})
    rule: (?P<text>(?:avant|après|à|pour|dans|lors de) (?:chaque|tout|toute) [\w-]+(?: [\w'’-]+){{0,2}}?,? {_FRENCH_ORDER}|(?:quand|lorsque|si|dès que|à chaque fois que|chaque fois que) (?:tu|vous|on) {_FRENCH_WORK}\b(?! (?:le|la|les|ça|cette?|ces|ce|ton|ta)\b)(?: [\w'’/-]+){{0,4}}?,? {_FRENCH_ORDER}|avant d(?:e |['’])(?:commit|push|merge|déploy|livr|publi|écri|pouss|modifi|ajout|cré)\w*(?: (?:une?|des|du) [\w-]+)?,? {_FRENCH_ORDER}|après avoir (?:modifié|changé|touché|ajouté|créé|renommé) [^?,]{{3,40}},? {_FRENCH_ORDER})
    rule: (?P<text>(?:antes|después|luego|depois) de cada \w+(?: \w+){{0,2}}?,? {_SPANISH_ORDER}|(?:en|em) cada \w+(?: \w+)?,? {_SPANISH_ORDER}|(?:cuando|siempre que|cada vez que|si|quando|sempre que|toda vez que|se|antes d[eo]|después d[eo]|depois d[eo]|al|ao) (?:que )?(?:(?:você|vc|for|fizer|fazer|hagas|hacer) )?(?:(?:um |un |el |o )?{_SPANISH_WORK}\w*|(?:um |un |el |o )?(?:commit|push|merge|deploy|pr|release)\b)(?! (?:el|la|los|las|o|a|os|as|ess[ae]|est[ae]|es[ae])\b)(?: [\w/-]+){{0,4}}?,? {_SPANISH_ORDER})
    rule: (?P<text>(?:cuando|si|quando|se) (?:to[cq]u\w+|cambi\w+|modifi\w+|mexer|mud\w+|alter\w+) [^?,]{{3,40}},? (?:me )?(?:av[ií]s\w+|pregunt\w+|pergunt\w+|inform\w+|actuali\w+|atuali\w+)\b.*)
    rule: (?P<text>(?:после|перед|при|для) (?:каждо(?:го|й|м)|каждым|любо(?:го|й|м)|любым) [а-яёa-z]+(?: [а-яёa-z]+)?,? {_RUSSIAN_ORDER}|(?:когда|если)(?: ты)? (?:пишешь|меняешь|добавляешь|создаёшь|создаешь|коммитишь|пушишь|мержишь|правишь|удаляешь|трогаешь|называешь|деплоишь|делаешь) [^?,]{{2,40}},? {_RUSSIAN_ORDER})
    rule: (?P<text>(?:写|改|提交|推送|合并|发布|部署|新增|添加|创建|修改|重构|命名|删除|发)[^，,。？?这那完好了]{{0,12}}?(?:的时候|时|之前|前|之后|后)[，,]?(?:请|先|都|要|必须|记得|一定|得)*(?:用|跑|运行|写|加|更新|检查|通知|告诉|不要|别|保持|确认|问|遵循|按|带|附).{{1,}})
    rule: (?P<text>(?:コミット|プッシュ|PR|プルリク|リリース|マージ|デプロイ|テスト|コード|スキーマ|変更|関数|コメント|ファイル名)[^。、？?この]{{0,10}}?(?:前に|たびに|たら|時は|ときは|際は|際に|後は|後に|あとは|あとに)、?[^。?？]{{2,40}}(?:して|(?<!教え)(?<!知らせ)て|で|する)(?:ください|下さい|ね|こと)?[。!！]*$)
    # An order that is said once more.
    correction: (?P<text>(?:i(?:['’]ve| have)? (?:already |just |clearly |literally )*(?:told|asked) (?:you|u){_TOLD},? |(?:told|asked) (?:you|u){_TOLD},? ){_RULE_WORD})
      unless: .*\bto \w+ (?:it|that|this|them|me)\b
    correction: (?P<text>(?:(?:jetzt |now |и |y |e )?(?:(?!(?:jetzt |now |и |y |e )?(?:for the first|zum ersten|pour la première|por primera|pela primeira|(?:в )?первый))(?:for the \w+ time|zum \w+ mal|pour la \w+ fois|por \w+ vez|pela \w+ vez|(?:в )?\w+ раз)|quantas vezes (?:eu )?(?:já )?(?:falei|disse|pedi)|сколько раз (?:мне )?(?:говорить|повторять)))(?: now| schon| jetzt)?[,:–—-]* (?:que )?(?:no|don['’]?t|never|always|keine?n?|nie|ohne|nicht|pas d|plus d|sans|sin|nada de|não|sem|без|никаких|не|всегда) ?(?!{LACKED}\b)\w.{{2,}})
    correction: (?P<text>(?:都|早就|早|已经|刚)说(?:过)?了?[，,]?(?:别|不要|不准|不许|不用|必须|要).{{2,}}|(?:[一二三四五六七八九十\d]回目|何度も|何回も)[^。?？]{{0,10}}[^。?？]{{2,30}}(?:なし(?:で|です)?|ないで(?:ください)?|やめて(?:ください)?|禁止(?:です)?)[。!！]*$)
    correction: (?P<text>(?:ich )?(?:hab(?:e|['’])?|hatte|sagte?)(?: (?:ich|es|dir|euch|doch|ja|schon|bereits|oft|mehrfach|extra|genug|\w*mal|\w+ mal))*(?: gesagt)?[,:]? (?:bitte )?(?:keine?n? (?!{LACKED}\b)|ohne |nie(?:mals)? |nicht \w+(?= )|nur |immer |(?:dass )?du sollst |(?:dass )?ich (?:keine?n?|nie) ).{{2,}})
      unless: .*\bich hab\w* (?:keine?n?|nie|nicht|immer|nur)\b|(?:ich )?hab\w* (?!.*gesagt)
    correction: (?P<text>(?:je |j['’])(?:te |t['’]|vous |l['’]|te l['’])?(?:ai|avais) (?:(?:déjà|bien|pourtant|encore|\w+ fois) )*(?:dit|demandé|répété)(?: (?:\w+ fois|déjà))*[,:]? (?:pas d|plus d|jamais d|sans |de (?:ne )?(?:pas|jamais|plus|toujours) |d['’](?:arrêter|éviter|utiliser) |que je ne ).{{2,}})
    correction: (?P<text>(?:yo )?(?:ya )?(?:te|les|os) (?:lo )?(?:dije|he dicho|había dicho|pedí|he pedido)(?: (?:ya|\w+ veces|veces))*[,:]? (?:que )?(?:sin |nada de |nunca |siempre |no (?!(?:es|sabes|tienes|entiendes|puedes|estás|ves|tenemos|vamos|hay)\b)(?:me |l[oa]s? )?\w+(?:as|es)\b).+)
    correction: (?P<text>(?:eu )?(?:já )?(?:te |lhe )?(?:disse|falei|avisei|pedi)(?: (?:já|\w+ vezes|vezes))*[,:]? (?:que |pra |para )?(?:sem |nada de |nunca |sempre |(?:você )?não (?:us[ae]r?|\w{{3,}}[aei]r|é pra|quero)\b).+)
    correction: (?P<text>(?:я )?(?:(?:же|уже|ведь|тебе|вам|\w+ раза?) )*(?:говорил|сказал|просил|писал)а?(?: (?:\w+ раза?|уже|же|тебе))*[,:]? (?:что )?(?:без|никаких|никогда|всегда|не \w+(?:ай|яй|уй|ой|и|ь|ать|ять|ить|еть)(?:те)?\b) ?.+)
      unless: .*\bне (?:мо[гж]\w*|очень|есть)\b
    # What a team always or never does.
    rule: (?P<text>(?:(?:around|over) here|in this (?:team|repo|project|company)|at our company),? (?:we|nobody|no ?one|you)(?: all)? (?:never|always|only|don['’]?t|do not|must|usually)?\b.{{4,}})
      unless: .*\b(?:error|fails?|see|get|have|broken|bug)\b
    rule: (?P<text>we (?:don['’]?t|do not|won['’]?t) ever (?!(?:get|see|had|have|find)\b).{{4,}}|bei uns \w+t (?:niemand|keiner|jeder|jede|man (?:nie|immer|nur)) (?!(?:mehr|weiß|weiter)\b).{{4,}}|(?:(?:por )?aqu[ií]|acá|ici|chez nous),? (?:ninguém|nadie|personne(?: ne)?|todo mundo|todos|tout le monde) (?!(?:sabe|viu|ve|vê|sait|voit|consegue|puede|tem|tiene|ha|a|está)\b)\w+ .{{3,}}|(?:мы|у нас) не (?!(?:видим|можем|знаем|понимаем|получаем|хотим|успеваем|находим|имеем|помним|будем)\b)\w+(?:ем|ём|им|ют|ят) .{{3,}})
      unless: .*\b(?:error|fehler|erreur|erro|ошибк\w*|эт\w+|cette|diese\w*|est[ae]|ess[ae]|{_MOMENT})\b
    rule: (?P<text>(?:chez nous,? |ici,? )?(?:on|nous) (?:ne |n['’])?(?!(?:a|avons|ai|est|sommes|voi[ts]|voyons|trouve|obtient|obtenons|reçoit|arrive|arrivons|tombe|doit|devons|sai[ts]|savons|peu[tx]|pouvons|comprend|attend|va|verra|saura|perd|veut)\b)\w+ (?:toujours|jamais) .{{4,}})
      unless: .*\b(?:erreurs?|même|bug|problèmes?|bloqué\w*)\b
    rule: (?P<text>(?:(?:aquí|acá|aqui|nosotros|nós|a gente|en este \w+|neste \w+),? )+(?:nunca|siempre|sempre|jamás|jamais) (?!(?:vi|ve|viu|tem|temos|tenemos|vemos|vimos|recib\w+|receb\w+|obten\w+|llega\w+|chega\w+|pud\w+|pod\w+|fu\w+|esta\w*|está\w*|foi|fica\w*|falla\w*|falh\w+|hay|há|sale\w*|d[aá]\w*|consig\w+|conseg\w+|quis\w*|cai|es|é|pasa\w*|deu)\b)\w+(?:mos|[ae])\b.{{3,}}|(?:nunca|siempre|sempre) (?!(?:vemos|vimos|tenemos|temos|tuvimos|tivemos|recib\w+|receb\w+|obten\w+|llega\w+|chega\w+|pudimos|podemos|pudemos|fuimos|fomos|estamos|est\w+|falla\w+|conseg\w+|quedamos|ficamos|perdemos)\b)\w+mos .{{3,}})
      unless: .*\b(?:error|erro|problema|mism[oa]|mesm[oa]|bug)\b
    rule: (?P<text>(?:(?:мы|у нас|здесь|тут),? )+(?:никогда не|всегда) (?!(?:видим|видели|получаем|получали|имеем|ловим|падает|падаем|можем|знаем)\b)\w+(?:ем|ём|им|ют|ят|ут|ат)(?:ся)?\b.{{3,}}|(?:(?:мы|у нас|здесь|тут),? )+никогда не .{{4,}})
      unless: .*\b(?:ошибк\w*|баг\w*|проблем\w*|\w+(?:ли|лось|лся))\b
    rule: (?P<text>(?:うち|ここ|弊社|当社|我々|チーム|このチーム)(?:の\w{{1,8}})?(?:では|じゃ|は)[^。?？]{{0,30}}(?:絶対に?|必ず|決して|一切|原則)[^。?？]{{2,40}}(?:ません|ない|ます|る)[。!！]*$)
      unless: .*(?:エラー|落ち|止ま)
    # What a project, a team or a machine has not.
    rule: (?P<text>(?:we|this project|this repo|the project)(?: \w+)? (?:have no|has no|(?:do not|don['’]?t|does not|doesn['’]?t) have (?:an? |any )?){_MISSING}(?: [\w./+-]+){{0,2}} (?:on|in|for|at|here)\b.*|there(?: is|['’]s| are) no (?!way\b|point\b|need\b|such\b|doubt\b|one\b){_MISSING}(?: [\w./+-]+)? (?:on|in|for|at) (?:this|our) (?:repo\w*|project|team|company|codebase|org|machines?|servers?)\W*$)
      unless: .*\b{_MOMENT}\b
    rule: (?P<text>(?:(?:wir haben|es gibt|gibt es)(?: (?:hier|leider|auch|bei uns|in unserem \w+|im \w+))*|bei uns gibt(?:['’]?s| es)|(?:im|in diesem|hier im) \w+ (?:gibt es|haben wir)) keine?n? (?!{LACKED}\b){_MISSING}\b(?!.*\b(?:ge\w{{2,}}(?:t|en)|\w+iert|bekommen|erhalten|verstanden)\W*$).*)
      unless: .*\b(?:{_MOMENT}|(?:damit|dafür|dagegen))\b
    rule: (?P<text>(?:wir haben|es gibt|hier gibt es|on a|nous avons|on n['’]a|nous n['’]avons|no tenemos|(?:a gente |nós )?não (?:temos|tem))(?: \w+)? (?:keinen? zugriff|keinen? zugang|pas (?:d['’]|l['’])?accès|acceso|acesso) (?:auf|zu[mr]?|aux?|à|al?|en|ao|à|ao) .+)
      unless: .*\b{_MOMENT}\b
    rule: (?P<text>(?:(?:on|nous) (?:n['’] ?)?(?:a|avons)|(?:chez nous,? |ici,? )?il n['’]y a|y a) (?:(?:pas|plus) d(?:e |['’])|aucune? )(?!{LACKED}\b){_MISSING}\b.*)
      unless: .*\b{_MOMENT}\b|(?:il n['’])?y a (?!.*\b(?:ici|chez nous|projet|dépôt|repo|équipe|serveurs?|prod)\b)
    rule: (?P<text>(?:aquí |acá |aqui |en este \w+,? |neste \w+,? )?(?:nosotros |nós |a gente )?(?:no|não) (?:tenemos|temos|contamos con|contamos com) (?!(?:el|la|los|las|o|a|os|as)\b){_MISSING}\b.*|(?:aquí|acá|aqui|en este \w+|neste \w+),? (?:no|não) (?:hay|há|tem) {_MISSING}\b.*|a gente não tem {_MISSING}\b.*)
      unless: .*\b{_MOMENT}\b
    rule: (?P<text>(?:у нас|в (?:этом )?проекте|в команде)(?: (?:в (?!таблиц|лог|баз|файл|код|консол|ответ|запрос)\w+|тут|здесь|вообще|на \w+|пока что))* нету? {_MISSING}\b.*)
      unless: .*\b(?:{_MOMENT}|ошиб\w+|никак\w+|проблем\w*)\b
    rule: (?P<text>(?:我们|公司|项目|团队|咱们|这边|这里)(?:这里|这边|里|公司|项目|团队|目前|都|也|还)*没有(?:任何|专门的?|独立的?)?[^，。？?了过到]{{0,8}}?{_SURROUNDINGS}[^，。？?了过到]{{0,10}}[。!！]*$|(?:うち|弊社|当社|このプロジェクト|チーム)(?:に|で)?は[^。?？]{{2,16}}[はが](?:いません|ありません|いない|ない)(?:です)?[。!！]*$|{_JAPANESE_SURROUNDINGS}[A-Za-z環境サーバ権限]{{0,6}}[はが](?:ありません|ないです|ない|使えません|持っていません)(?:[、。!！].*)?$)
      unless: .*(?:エラー|まだ|今|还没|报错|错误|テスト[はが]ない)
    # What changes on a day.
    rule: (?P<text>(?:from|starting(?: from| on)?|beginning|as of|effective) {_ENGLISH_DAY},? (?:(?:we|everyone|everybody|nobody|all|every|each|no|our|the (?:team|whole team))\b(?! (?:can|have to|could|look|talk|discuss)\b)|[\w-]+s (?:need|must|go|run|have to|get|are|require)\b|(?!(?:i|it|he|she|they|you|there|that|this)\b)[\w-]+(?: [\w.-]+){{0,2}}? (?:is|are|will be|must|needs?|goes|moves)\b|no more\b|{ORDER}) ?.{{4,}})
    rule: (?P<text>ab {_GERMAN_DAY},? (?:(?!hatten|waren|wurden|konnten|gingen|sahen|bekamen)\w+(?:en|n) wir|(?:gilt|gelten|wird|werden|läuft|laufen|heißt|braucht|brauchen) (?!es\b|das\b)|(?:bitte|nur(?: noch)?|keine?n?|immer) )\b.{{4,}})
    rule: (?P<text>(?:à partir d(?:e |u |['’])|dès |à compter d(?:e |u |['’])){_FRENCH_DAY},? (?:(?:on|nous) (?!a\b|est en\b|peut\b|va voir\b)\w+|tous les|toutes les|chaque|plus de|pas de) .{{3,}})
    rule: (?P<text>(?:a partir d(?:e|el|o|a)|desde|a contar de) {_SPANISH_DAY},? (?:(?:nosotros |nós )?(?!estamos de\b|podemos\b|vemos\b)\w+mos\b|a gente|tod[oa]s l?[oa]s|cada|se \w+|nada de|no (?:se )?\w+[ae]s?|não se|[\w-]+ (?:só|solo|sólo|apenas|siempre|sempre)) .{{3,}})
    rule: (?P<text>(?:начиная )?со? {_RUSSIAN_DAY},? (?:мы )?(?:\w+(?:ем|ём|им)(?:ся)?\b|переходим|все \w+|только|никаких|без) .{{3,}})
    rule: (?P<text>(?:从|自)?(?:下(?:个|下个?)?(?:周|星期|月|季度|迭代|版本|冲刺)[一二三四五六日天]?|明天|明年|(?:周|星期)[一二三四五六日天]|\d{{1,2}}月(?:\d{{1,2}}[日号])?)(?:开始|起|以后)[，,]?(?:我们|咱们|大家|团队|项目|全部|统一|都|所有)[^？?]{{2,}})
    rule: (?P<text>(?:来週|来月|来年|明日|[月火水木金土日]曜日?|次(?:の|回の)?(?:スプリント|リリース)|\d{{1,2}}月(?:\d{{1,2}}日)?)から(?:は)?、?[^。?？]{{2,40}}(?:使います|使う|にします|に(?:変更|移行)します|なります|切り替えます|します|してください)[。!！]*$)
      unless: .*(?:休み|休暇|出張|エラー)
    # What was decided for a purpose.
    rule: (?P<text>(?:let['’]?s|we['’]?ll|we will|we(?:['’]re| are) going to|we(?:['’]re| are) gonna|i['’]ll|(?:i['’]?m|i am|we(?:['’]re| are)) (?=going with)) (?:going with|go with|use|take|stick (?:with|to)|pick|choose|settle on) {_DECIDED} (?:for|as) (?:the |our |all |every )?[\w-]+(?: [\w-]+){{0,3}}?(?: then| from now on| please)?\s*[.!]*$)
      unless: {_NOT_LASTING}
    rule: (?P<text>(?:dann |also )?machen wir (?:das |die |den )?(?!(?:das|es|die|den|weiter)\b)[\w-]+ mit {_DECIDED}\s*[.!]*$|(?:dann |also )?(?:nehmen|nutzen|verwenden) wir {_DECIDED} (?:für|als) .{{3,}}|wir (?:nehmen|nutzen|verwenden|gehen mit|bleiben bei) (?:dann |also |jetzt )?{_DECIDED} (?:für|als) .{{3,}}|(?:(?:allez|alors|bon|ok),? )?(?:on|nous) (?:part(?:ons)?|prend|prenons|reste|restons|choisi\w+|utilise(?:ra|rons)?|va utiliser|va partir)(?: sur)? {_DECIDED} (?:pour|comme) .{{3,}}|(?:vamos|nos quedamos|quedamos|seguimos|a gente vai|ficamos|bora|fechamos|fechou)(?: (?:con|de|com|usar|a usar))+ {_DECIDED} (?:(?:para|pra)(?! (?:\w+[aei]r|que|não|no)\b)|no|na|en|como|nos|nas)\b .{{3,}}|(?:al final|entonces|no fim|então),? (?:usamos|elegimos|escolhemos|tomamos) {_DECIDED} (?:para|pra) .{{3,}}|для [^?,]{{3,30}} (?:берём|берем|возьмём|возьмем|используем) {_DECIDED}\s*[.!]*$|(?:давай(?:те)? )?(?:берём|берем|возьмём|возьмем|используем|остановимся на|остаёмся на|переходим на) {_DECIDED} (?:для|под|как|в качестве) .{{3,}})
      unless: {_NOT_LASTING}
    rule: (?P<text>(?:decision|entscheidung|beschluss|décision|decisión|decisão|решение|решено)\s*[:–—-] (?!option\b|variante?\b|вариант|\d)[^?]{{4,}}|(?:决定|结论)[:：][^?？]{{3,}})
    rule: (?P<text>[^，。？?这那第]{{1,10}}(?:就|那就|统一|还是)(?:用|选|定) ?[A-Za-z][\w.+-]* ?(?:吧|了)?[。!！]*$|(?!.*(?:名|値|色|番号)は)[^。、？?]{{1,14}}は ?[A-Za-z][\w.+-]*(?:で(?:いきましょう|行きましょう|いこう|行こう|決まり|お願いします)|に(?:しましょう|決め(?:ました|よう)?|します))[。!！]*$)
    """
)
"""Each waits in the inbox."""
