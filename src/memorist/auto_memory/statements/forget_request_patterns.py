"""The words by which people ask to forget, in ten languages. Pure.

A verb alone drops a task as well; `forget_requests` reads it beside what it is about: what was said
or is known, a memory or a rule, or a thing of the work.
"""

from __future__ import annotations

FORGETS = (
    r"(?<!the )\bforget\b|\b(?:unlearn|unremember|scratch)\b|\b(?:be|get) forgotten\b|\bvergiss|\bverg[ei]ss|\boubli(?:e[rsz]?|ez|iez)\b|\b(?:olv[ií]d|olvíd)(?:[ae]\w*|ar\w*)\b|\besque[cç][ae]\w*"
    r"|\b(?:dimentic|scord)(?:a|ar\w*|ati\w*|al[oiae]|h\w+)\b|\bvergeet\b|\bзабуд(?:ь|ешь|ете)|\bзабы(?:ть|л)\b|忘掉|忘记|忘了|忘れ(?=て|ちゃ|と)|잊어|잊으"
)
"""A verb of forgetting."""

REMEMBERS_NO_LONGER = (
    r"\b(?:stop|quit) (?:remembering|knowing)\b|\b(?:you|to)\b.{0,20}\bno longer (?:\w+ ){0,3}(?:remember|know)(?:ing)?\b|(?:n['’]t|\bnot|\bno need to|\bnever) (?:\w+ ){0,3}remember\b.*\b(?:any ?more|any longer)\b|\b(?:no need|needn['’]t|(?:not|n['’]t) (?:have|need)) (?:to |for you to )?remember\b"
    r"|\bnicht (?:mehr|länger) (?:\w+ ){0,2}(?:erinnern|merken|wissen)\b|\bmerke? dir\b.*\bnicht (?:mehr|länger|weiter)\b|\bhöre? auf,? dir\b.*\bmerken\b"
    r"|\bplus (?:\w+ ){0,4}(?:(?:te |vous |t['’])?souv|rappel|reten|retien|mémoris)|\b(?:souviens|souvenez|retiens|retenez|mémorise[sz]?)(?:-toi)? (?:plus|pas)\b|\barrête[rz]? de (?:te |vous )?(?:souvenir|rappeler|retenir|mémoriser)"
    r"|\bya no\b.{0,20}\b(?:acuerd|recuerd|record)|\bno (?:recuerd|te acuerd)\w* más\b|\b(?:deja|dejes|para) de (?:recordar|acordar)|\bno hace falta que (?:te )?(?:recuerd|acuerd)"
    r"|\b(?:não|já não)\b.{0,30}\b(?:lembr|record)\w*.{0,4}\bmais\b|\bnão\b.{0,20}\bmais\b.{0,8}\blembr|\bjá não\b.{0,20}\blembr|\b(?:deixa|deixe|para|pare) de (?:te |se )?(?:lembrar|recordar)|\bnão precisas? (?:mais )?de (?:te )?lembrar"
    r"|\bnon\b.{0,20}\bpiù\b.{0,8}\bricord|\bnon (?:ti )?ricordar\w* più\b|\bsmetti(?:la)? di ricordar"
    r"|\bonthoud\b.*\bniet (?:meer|langer)\b|\bonthoud niet\b|\bniet (?:meer|langer) (?:te )?onthou|\b(?:hoef|hoeft|moet)\b.*\bniet (?:meer )?(?:te )?onthouden|\bstop met onthouden"
    r"|\bне (?:(?:нужно|надо|стоит) )?(?:больше )?(?:помни(?:ть)?\b)|\bбольше не (?:\w+ )?помни|\bперестань(?:те)? помнить"
    r"|(?:不用|不必|不要|别)再?(?:记(?!录|日志|账)(?:住|得|着)|再记(?!录|日志|账))|(?:不用|不必|别|不要)再记(?!录|日志|账)|(?:覚え|記憶し)(?:て(?:おか|い)?)?なくて|기억(?:하지 (?:마|않)|할 필요)"
)
"""That something need not be remembered any more."""

DELETES = (
    r"\b(?:(?:delete|remov(?:e|ing)|eras(?:e|ing)|drop|wipe|discard|purge|get(?:ting)? rid of|throw|take\b.*\bout|kill|ditch|trash|ignore|disregard|cancel|revoke|nix|bin|lose)\b|clear (?:the|my|your|that|out|what)\b)"
    r"|\b(?:lösch|streich|entfern|verwirf|verwerfen|nimm\b|schmei(?:ß|ss)|rausschmei(?:ß|ss)|wegwerfen|tilge|wisch|verschwinden|weg\b)|\b(?:supprim|effac|enl[eè]v|retir(?!ed|ing|em)|vire\b|jett?e\b|balaie|débarrass|annule|laisse[rz]? tomber)"
    r"|\b(?:borr[ae]|bórr|elimin(?!at)|quit(?:a|es\b)|quít|tira|saca|suprim|deshaz|anula)|\b(?:apag|remov(?:a|as|er)\b|tire\b|exclu(?:a|i|ir)\b|delet(?:a|ar)\b|limp[ae]|jog(?:a|ue)|descart)"
    r"|\b(?:cancell(?:a|i\b)|rimuov|togli|butta|leva\b|liberati|sbarazz|lascia perdere)|\b(?:verwijder|wis\b|wissen\b|schrap|gooi\b|haal\b)|\b(?:удали|сотри|стереть|убери|убрать|выкин|выброс|вычеркн|избав|отмени)"
    r"|删[掉除了]?|移除|清除|清掉|去掉|抹掉|丢掉|丢了|扔掉|取消|作废|不再适用|消して|消しと|消去|削除|取り除|捨て|지워|삭제|없애|폐기"
)
"""A verb of deleting, which is also said of code."""

NO_LONGER_VALID = (
    r"\bgilt nicht (?:mehr|länger)\b|\bist (?:überholt|hinfällig)\b|\bgeldt niet (?:meer|langer)\b|\bne (?:s['’]applique|vaut|tient|compte) plus\b|\bn['’]est plus (?:valable|en vigueur)\b|\bya no (?:(?:se )?aplica|vale|sirve|rige|está vigente)\b|\b(?:não (?:se aplica|vale)|já não (?:se aplica|vale)) ?(?:mais)?\b|\bnon (?:vale|si applica) più\b|\b(?:больше|уже) не (?:действует|применяется|актуально)\b"
    r"|もう(?:無効|適用され?ない|適用しない|守らなくて|有効では?ない)(?:です)?|(?:规则|规定|要求|那条|这条).{0,6}(?:不用|不必|无需|不需要)再?(?:遵守|遵循|管|理会?)了?|(?:规则|规定|要求|那条|这条).{0,6}(?:不算数|无效)了?"
)
"""That something is over, said of rules and seldom of anything else."""

NO_LONGER_HOLDS = (
    rf"{NO_LONGER_VALID}|"
    r"\b(?:rule|preference|instruction|convention)\b.*\b(?:no longer (?:applies|holds)|(?:does not|doesn['’]?t) (?:apply|hold) any ?more|is (?:gone|obsolete|outdated|void|cancell?ed|history))\b"
    r"|(?:规则|规定|要求)(?:作废|不再适用)|(?:규칙|지침)\S* .*(?:필요 ?없|안 지켜도|적용 ?안|유효하지)"
)
"""That a rule is over."""

KNOWN = (
    r"\byou(?: still|['’]ve| have)?(?: got)? (?:\w+ )?(?:know|knew|remember(?:ed)?|learn(?:ed|t)|noted|memori[sz]ed|picked up)\b|\byou(?:['’]ve| have)?(?: got)? (?:\w+ )?(?:saved|stored|kept|recorded|wrote down|written down|noted down)\b.{0,20}\b(?:about|on|of|regarding)\b|\b(?:told|asked) you to remember\b|\b(?:rule|note|memory) of yours\b|\b(?:rule|preference|instruction|convention)s?(?: \S+){0,4}? i (?:gave|told|set|asked)\b"
    r"|\b(?:regel|vorgabe)n?,? die ich\b.*\bgegeben\b|\b(?:règle|consigne)s? que je\b.*\bdonnée?s?\b|\breglas? que te di\b|\bregras? que (?:te|lhe) (?:dei|passei|falei)\b|\bregol[ae] che ti (?:ho|avevo) dat[ae]\b|\bregel die ik je gaf\b|\bправил[оа], которые? я\b.*\bдал"
    r"|\b(?:from|out of|in) your (?:\w+ )?(?:memory|memories|notes)\b|\byour (?:\w+ ){0,2}memor(?:y|ies)\b|\byour notes? (?:about|on|that)\b|\bfrom (?:the )?memory\b.{0,3}\b(?:that|my|the rule)\b"
    r"|\bwas du\b[^.]*?\b(?:gemerkt|notiert|weißt|gelernt)|\bwas du\b(?=[^.]* (?:über|zu[mr]?|von) )[^.]*?\b(?:gespeichert|behalten)|\baus (?:deine[mr]|ihre[mr]|dem|der) (?:\w+ )?(?:gedächtnis|erinnerung)|\bdeine erinnerung"
    r"|\bce qu\w*\b.*?\b(?:tu|vous)\b (?:\w+ )?(?:sais|savez|(?:as|avez) (?:retenu|mémorisé|appris|noté))\b|\bce que (?:tu|vous) (?:as|avez) (?:enregistré|gardé|stocké) (?:sur|concernant|à propos|au sujet)|\bte (?:souviens|rappelles)\b|\b(?:ta|votre|tes) (?:mémoire|souvenirs?)\b|\bde (?:la )?mémoire (?:que|qu['’]|la règle|mon|ma|mes)\b"
    r"|\b(?:lo que|eso que)\b.*?\b(?:recuerdas|sabes?|anotaste|aprendiste|(?:has|tienes) (?:anotad|apuntad|aprendid|memorizad)\w+)\b|\blo que (?:guardaste|(?:has|tienes) guardado) (?:sobre|acerca|del?)\b|\btus? (?:memorias?|recuerdos?)\b|\bde la memoria (?:que|la regla|mi|mis)\b"
    r"|\b(?:o que|aquilo|isso que)\b.*?\b(?:lembras?|sabes?|sabe|anotaste|anotou|aprendeste|aprendeu|tens anotad\w+)\b|\bo que (?:guardaste|guardou|salvou|tens guardado) (?:sobre|acerca|d[aeo]s?)\b|\b(?:sua|tua)s? (?:memórias?|lembranças?)\b|\bda memória (?:que|a regra|o meu|a minha)\b"
    r"|\b(?:quello|ciò|quanto)\b.*?\b(?:ricordi|sai|hai (?:memorizzat|imparat|annotat|segnat)\w+)\b|\b(?:quello|ciò|quanto) (?:che )?hai (?:salvato|conservato) (?:su\w*|riguardo|di)\b|\b(?:tua|tuoi|tue) (?:memori[ae]|ricordi)\b|\bdalla memoria (?:che|la regola|il mio|la mia)\b"
    r"|\bwat (?:je|jij)\b.*?\b(?:weet|onthouden|genoteerd|geleerd)\b|\bwat (?:je|jij)\b(?=.*\bover\b).*?\b(?:opgeslagen|bewaard)\b|\b(?:je|jouw|uw) (?:geheugen|herinneringen?)\b"
    r"|\bты (?:помнишь|знаешь|запомнил)а?\b|\bты (?:записал|сохранил)а? (?:про|об?о?|насч[её]т)\b|\b(?:из|в) (?:своей|твоей|вашей) памяти\b|\bиз памяти,? (?:что|правило)\b|\bиз головы\b"
    r"|你(?:之前|还)?(?:记得|记住|记下|知道)了?的|你(?:之前)?(?:保存|存)了?的(?=.*(?:关于|信息))|(?:从|在)?你的(?:记忆|脑子)|从记忆(?:里|中)?"
    r"|(?:について|に関して|のことで)[^。]{0,6}(?:知って(?:い)?る|覚え(?:た|て(?:い)?る)|記憶し(?:た|て(?:い)?る)|保存した)|覚えてるなら|記憶から|기억하는 (?:거|것|내용|규칙)|기억에서"
)
"""What the agent knows, and its memory: no code is that."""

TOLD = (
    r"\b(?:what(?:ever)?|everything|anything|all|stuff|things?|bits?|parts?|rules?|notes?|preferences?)(?: \S+){0,5}? (?:i|we)(?:['’]ve|['’]d| have| had)? (?:\w+ )?(?:said|told|asked|gave|mentioned|decided)\b|\bthing i told\b"
    r"|\b(?:alles,? )?(?:was|regel|vorgabe|sache|geschichte|merksatz|das mit)\b[^.]*?\b(?:ich|wir)\b[^.]*?\b(?:gesagt|erzählt|geschrieben|gegeben|besprochen|beschlossen|gebeten)"
    r"|\b(?:ce qu\w*|règle|consigne|chose|histoire)\b.*?\b(?:je|j|on|nous)\b.{0,12}\b(?:dit|donnée?|demandé|décidé|raconté|expliqué)\b"
    r"|\b(?:lo que|regla|norma|eso que|cosa)\b.*?\b(?:dije|dijimos|di|he dicho|hablamos|comenté|conté|pedí|decidimos|acordamos)\b"
    r"|\b(?:o que|aquilo|regra|coisa|isso que)\b.*?\b(?:(?:te|lhe|eu) disse|disse(?:mos)?|falei|passei|contei|pedi|combinamos|decidimos)\b"
    r"|\b(?:quello|ciò|quanto|regola|cosa)\b.*?\b(?:ho|avevo|abbiamo) (?:detto|dat[ao]|chiesto|deciso|raccontato)\b"
    r"|\b(?:wat|alles wat|regel|dat)\b.*?\b(?:ik|we)\b.*?\b(?:gezegd|verteld|gevraagd|zei)\b"
    r"|(?:то|ч[её]м|что|вс[её]|правил\w+)\b.*?(?:\b(?:я (?:тебе )?(?:говорил|сказал|дал|просил|рассказывал)|говорила? тебе|мы (?:говорили|обсуждали|решили)))"
    r"|(?:我|咱们|我们)[^，,。]{0,8}(?:说|讲|告诉|提|教|交代)(?:过|了|的)?.{0,12}(?:事|话|东西|规则|要求|内容|$)|我(?:之前|以前|刚才|上次)?(?:跟你|对你|和你)?(?:说|讲|提)过?的|告诉你的"
    r"|(?:について|に関して|のことで)[^。]{0,6}(?:言った|話した|伝えた|頼んだ|教えた)|(?:(?<!が)|(?<=[私僕俺]が))(?:言った|話した|伝えた|頼んだ|教えた|決めた)(?:こと|もの|話|内容|ルール)|(?:말한|알려준|부탁한) (?:거|것|내용|규칙)"
)
"""What the person said: to forget it is about memory, to delete it may be about the work."""

ALL_ABOUT = (
    r"\b(?:everything|anything|all) (?:about|on)\b|\balles (?:über|zu[mr]?)\b|\btout (?:sur|ce qui concerne)\b|\btodo (?:sobre|lo de)\b|\btudo sobre\b|\btutto (?:su|riguardo)|\balles over\b|\bвс[её] (?:про|об?о?)\b|(?:关于|有关)"
    r"|\bforget(?: about)? my (?!.*\b(?:last|previous|earlier|question|message|comment|request|changes?|branch|commit|idea|suggestion|mistake)\b)(?:[\w-]+ ?){1,4}[.!]*$"
)
"""What is forgotten and never deleted: everything about something, or what is the user's."""

FORGETS_FACT = (
    r"\bforget that (?!i (?:asked|mentioned|said (?:that|it|anything))\b)(?:(?!(?:one|idea|approach|plan|thing|for|part|last|it)\b)(?:[\w'’-]+ ){1,6}(?:is|are|was|were|has|have|owns?|leads?|should|must|will|goes?|uses?|wants?|prefers?|likes?|lives?|works?)|i|i['’](?:m|ve|d)|we|we['’](?:re|ve)|my|our|all|every|the|there|no|any|you|it['’]s)\b"
    r"|\bvergiss,? dass\b|\boubli\w+ (?:que |qu['’])|\bolvid\w+ que\b|\besque\w+ que\b|\b(?:dimentica|scorda\w*) che\b|\bvergeet dat (?:\w+ ){2,}|\bзабудь(?:те)?,? (?:что\b|про (?!.*\b(?:пока|теперь|сейчас)\b))|(?:忘掉|忘记|忘了)(?:我|那条)|という(?:こと|の)は(?:もう)?忘れて"
)
"""An order to forget that something is so."""

MEMORIES = r"\b(?:the|that|any|your|my|this) (?:\w+ )?memor(?:y|ies) (?:(?:about|of|that|on|for|you)\b|\ue000)|\bmemories (?:about|of|that|on)\b|\berinnerung(?:en)? (?:an|zu[mr]?|über|vo[nm]|dass)\b|记忆|の記憶|記憶を|기억을? |메모리를"
"""A memory that is named; a verb of deleting beside it is seldom about the work."""

RULES = (
    r"\b(?:rules?|preferences?|conventions?|instructions?|reminder|deadline|habit|notes?|memor(?:y|ies))\b|\b(?:regel|vorgabe|anweisung|vorliebe|notiz|erinnerung)(?:en|n)?\b|\b(?:règle|consigne|préférence|instruction|souvenir|note)s?\b|\b(?:regla|norma|preferencia|recuerdo|nota|regra|preferência|lembrança)s?\b|\b(?:regol|preferenz|istruzion|ricord|indicazion|not)[aeio]\b|\b(?:regels?|voorkeur|notitie|herinnering)\b"
    r"|\b(?:правил|указани|воспоминани|запис|заметк)\w+|из памяти|规则|规定|要求|ルール|規則|決まり|好み|方針|규칙|지침|기억|메모|\b(?:de (?:la )?mémoire|de la memoria|da memória|dalla memoria|aus dem speicher)\b"
)
"""What a memory may be called, and things of the work as well."""

THINGS = (
    rf"(?:{FORGETS}).*(?:{NO_LONGER_VALID})|"
    r"\b(?:the|that) (?:thing|business) (?:about|with|on)\b|\bthat [\w-]+ thing\b|\bdas mit\b|\bdie (?:sache|geschichte) mit\b|\b(?:le truc|cette histoire|l['’]histoire) (?:de|du|des|d['’])|\b(?:lo|eso|aquello) del?\b|\b(?:aquilo|isso|(?:ess|aquel)a (?:coisa|história)) d[aeo]s?\b|\b(?:quella|la) (?:cosa|storia) d\w+|\bdat (?:van|met|over)\b|\bdat gedoe\b|\bno longer applies\b|\bэто (?:про|с)\b|\b(?:эту )?историю с\b"
    r"|(?:forget|vergiss|oublie\w*|olvida\w*|esque\w+|dimentica\w*|vergeet|забудь\w*|忘掉|忘记)[:,]? ?\ue000|那件事|这件事|的事|(?:忘掉|忘记|忘了|不用记).{1,24}[那这](?:[个条]|件事)(?:了|吧)?[。！!]*$|(?<=忘掉)那[个条]|(?<=忘了)那[个条]|(?<=忘记)那[个条]|の(?:件|こと|話)|について"
)
"""A thing that both know of."""

_PLACE = (
    r"(?:readme|changelog|license|pdf|e?s?lint\w*|linter\w*|prettier|css|html|tsconfig|package|config\w*|konfig\w*|tab(?:le|les|elle|el|la|ela|ella)\b|databases?|db\b|bd\b|datenbank\w*|base\b|bases\b|files?\b|datei\w*|fichiers?|archivos?|arquivos?|ficheiros?|bestand\w*|code\b|codebase|código|fixtures?|\w*fixture|cron\w*|firewall|iptables|nginx|kalender\w*|calend\w*"
    r"|logs?\b|cache|worker|heap|processo?|class\w*|functions?|hooks?\b|scripts?|pages?\b|seite|página|pagina|formulario|formulaire|formular\w*|header|footer|tickets?|issues?|repo\w*|migration\w*|schema|dashboard|test ?(?:data|s|daten)|testdata|template|document\w*|docs?\b|slides?|spreadsheet|settings|disk|ram\b|workspace|backend|frontend|middleware|api\b|build\b)"
)
WORK = (
    rf"\b(?:in|from|out of|inside|to|aus|im|ins|de|du|des|dans|en|del|della|dello|dei|no|na|do|da|nel|nella|al|dal|dalla|uit|op)(?: (?:the|der|dem|den|la|le|les|el|los|las|l['’]?|de|het|our|my|this|unser\w*|a|o|i|il|lo|test|prod\w*|mock|staging|shared))*(?: \w+)? ?[\"'`]?{_PLACE}|\bl['’]{_PLACE}"
    r"|\b\w*[\w-]\.(?:ts|tsx|js|jsx|py|go|rs|java|kt|rb|php|css|scss|html|vue|json|ya?ml|toml|md|txt|c|cc|cpp|h|sql|sh|env|ini|cfg|pdf|csv|xml)\b|(?<!\w)\.[a-z]+\w*|\b\w+/\w+|\b\w+_\w+\b"
    r"|\b(?:из|в|на|с) (?:\w+ )?(?:таблиц|баз|файл|журнал|лог|конфиг|код|readme|кэш|стран|тест)\w*|\bправил\w+ (?:eslint|firewall|css|nginx|линтера|файрвол)|\b(?:leak|buffer|usage|footprint|dump|limit|cron|css|eslint|lint|firewall|iptables|nginx|routing) (?:rules?|notes?)\b|\b(?:rule|regel|règle|regla|regra|regola|regole) (?:cron|css|eslint|lint|firewall|nginx)\b|\b(?:memory|speicher) (?:leak|buffer|usage|table|pool|cache|dump|limit|section|layout)"
    r"|\b(?:de|di|of) (?:prueba|test|teste|esempio|exemple|ejemplo|example|sample|demo)\b"
    r"|(?:数据库|文件|配置|代码|日志|表|页面|字段|缓存|内存|README|PDF|eslint)(?:里|中|的)|在\s?\w*\s?表|(?:テーブル|ファイル|ページ|コード|データベース|設定|ログ|キャッシュ|メモリ|README|PDF|eslint|CSS)\s?(?:から|の|を)"
)
"""A thing of the work that holds it: a file, a table, a program."""

IN_GENERAL = r"\b(?:always|never|every\w*|whenever|each|from now on|(?:before|after) (?:you|any|a|an)|when you|immer|nie(?:mals)?|jede[smnr]?|jedes ?mal|toujours|jamais|chaque|siempre|nunca|cada|sempre|mai|ogni|altijd|nooit|elke|всегда|никогда|кажд\w+)\b|每|总是|永远|一律|いつも|必ず|毎|たびに|항상|절대|마다"
"""That it is an order for every time."""

TOGETHER = (
    r"\b(?:let['’]?s|lass(?:t)? uns|on oublie|oublions|olvid[ae]mos|olvidémonos|esque[cç][ae]mos|a gente esquece|dimentichiamo|scordiamoci|laten we|давай(?:те)?|забудем)\b|我们忘|忘れよう"
    r"|\bque (?:eres|sos|tu es|vous êtes|você é|tu és)\b|\bche sei\b|\bdass du\b.{1,40}\bbist\b|что ты (?!помн|зна|запомн|запис|сохран)|忘(?:掉|记|了)你是"
)
"""That the speaker is to forget it as well, which is said of a plan, or what the agent is, which is a
part to play: a memory is not meant for certain.
"""

FOR_NOW = r"\b(?:for now|for the moment|erstmal|vorerst|fürs erste|pour l['’]instant|pour le moment|por ahora|de momento|por enquanto|por agora|per ora|per adesso|voorlopig|even\b|пока)\b|先(?![ほ程日週月年])|今は(?=[^、。]*忘れ)|とりあえず|일단"
"""That a task is put off."""

NEGATED = (
    r"\b(?:do not|don['’]?t|never|not|did|do|does|if|why|(?<!want )(?<!need )(?<!like )you|i|we|they|always|to never) (?:you |i |we |ever |just )?(?:forget|forgot)\b"
    r"|\bverg(?:iss|esst|essen)(?: sie)?(?: \w+)? nicht\b|\bnicht\b.{0,40}\bverg[ei]ss|\b(?:habe?|hast|hat|hatte) .*\bvergessen\b|\b(?:n['’e]|jamais) ?oubli|\b(?:no|nunca)(?: \w{2})? olvid|\bolvid[éó]\b|\b(?:não|nunca)(?: \w{2})? esque|\bvergeet (?:\w+ )?niet\b"
    r"|\bnon (?:\w{2} )?(?:dimentic|scord)|\bho (?:dimentic|scord)|\bне забы|\bне забуд|(?:不要|别|別|勿|(?<!能)不能|不会|没)忘|(?:我|你|又|(?<!的)都|是)忘(?:了|记)(?!吧|它)|忘れ(?:ず|な|てた|ていた|ました|てない)|잊지"
    r"|\b(?:do not|don['’]?t|never) (?:\w+ )?(?:delete|remove|erase|drop|wipe)\b|\b(?:nicht|ne pas|no|não|non|не|niet) (?:lösch|supprim|borr|elimin|apag|cancell|удал|verwijder)|(?:不要|别)删|(?:消さ|削除し)ない"
)
"""That it is not to be forgotten, or was."""

KEEPS_NO_LONGER = r"n['’]t want you to (?:keep|hold)|\b(?:no need to|don['’]?t|do not) (?:keep|hold on to|store)\b.*\b(?:any ?more|any longer)\b|\bne (?:le|la|les) garde[sz]? (?:pas|plus)\b|\bno (?:lo|la) guardes\b|\bnão (?:o|a)? ?guardes?\b|\bniet (?:meer )?(?:te )?bewaren\b|больше не храни(?:ть)?\b[\s.!]*$|(?:もう)?保存しなくて"
"""That something need not be kept, which is also said of data."""

REQUEST_WORDS = (
    r"\b(?:said|told|asked|gave|given|mentioned|know|knew|remember\w*|forget|forgotten|stop|quit|please|pls|thing|things|stuff|about|yours?|just|memor\w+|no longer|any ?more|longer|anything|everything|whatever|whole|need|want|rather|wish|keep|hold|applies|that|those|noted|down|stored|saved|kept|got|wipe|drop|now|rules?|preferences?|conventions?|instructions?|notes?|reminder|habit|actually|again|scratch|mind|would|could|can|kindly|ever|once|was|ok(?:ay)?)\b"
    r"|\b(?:gesagt|erzählt|gegeben|gemerkt|notiert|gespeichert|weißt|sache|geschichte|bitte|kannst|könntest|möchte|wieder|mal|dass|dir|dich|mir|mehr|länger|weiter|musst|alles|dein\w*|gedächtnis|erinnerung\w*|regel|vorgabe|vorliebe|merk\w*|hör|auf|habe?|hast|hatte|über|zum|zur|was|du|meine?[smnr]?|das)\b"
    r"|\b(?:dit|donnée?|demandé|sais|as|peux|plaît|chose|histoire|truc|maintenant|mémoire|souvenirs?|règle|consigne|préférence|noté|retenu|enregistré|sujet|propos|souvenir|arrête|besoin|retenir|tu|te|ta|tes|mon|ma|mes|je|ai|avais|t|j|n|qu|c|d|l|s|cette|concernant|garde|voudrais|au)\b"
    r"|\b(?:dije|dicho|favore|puedes|quiero|sabes|recuerdas?|recuerdes|recordar|cosa|favor|memorias?|recuerdos?|reglas?|guardado|guardaste|tienes|has|eso|tu|tus|mi|mis|te|ya|hace|falta|acuerdes|sobre|quita|deja|lo|aplica)\b"
    r"|\b(?:disse|falei|passei|pode|fora|coisa|aquilo|isso|lembr\w+|memória|regra|guardaste|sobre|meu|minha|teu|tua|eu|me|quero|precisas?|interessa|guardar|deixa|já|ao)\b"
    r"|\b(?:detto|via|dato|puoi|ricord\w+|quello|quella|ciò|pure|salvato|memoria|regola|storia|ti|ho|hai|avevo|mio|mia|tuo|tua|sai|vorrei|tu|serve|smetti|da|su|sul|sulla|sulle|dalla|più|ci|mi)\b"
    r"|\b(?:gezegd|verteld|opgeslagen|onthoud\w*|geheugen|je|jouw|mijn|hoeft?|meer|langer|over|hebt|heb|wat|alsjeblieft|kun|regel|haal|weg|bewaren|uit)\b"
    r"|\b(?:говорил\w*|сказал\w*|можешь|помнишь|помни\w*|знаешь|запис\w+|пожалуйста|что|про|об?о?|больше|нужно|надо|это|из|памяти|правил\w*|тебе|ты|моей|мою|мой|моя|мо[её]|то|уже|том|перестань|храни\w*|воспоминани\w+|хочу|чтобы)\b"
    r"|について|に関して|に関する|ことで|言った|話した|伝えた|知っている|知ってる|保存した|記憶した|内容|だ?という|こと|覚えて\S*|覚え|記憶|から|お願い|ください|もう|なくて|いい|よ$|ルール|の件|件は|話|を|忘れ\S*|削除\S*|消\S*|내가|말한|내용|규칙|기억|은|는|을|를|대한|줘"
    r"|能不能|可不可以|[我你您的了吧请就说把从里再过都给那这条个吗别]|之前|以前|上次|告诉|记得|记着|记住|保存|信息|事情|东西|关于|有关|记忆|规则|规定|要求|不用|知道|跟你|这件事|那件事|什么|一切|的事|[这那]?件事|事$|记(?!录)|能|可以|讲"
)
"""Words of a request that do not name what is to go."""

REASONS = (
    r"(?:,|;|:|\s[–—-])\s+(?:(?:so )?(?:you|we|i) (?:can|may|could)\b|(?:just |now )?use\b|because\b|since\b|(?:it|that|this)(?:['’]?s| was| is| does)\b|(?:[\w./+-]+ ){1,4}(?:is|are) (?:(?:now|actually|perfectly|totally) )?(?:fine|ok(?:ay)?|good|allowed|all ?right|permitted)\b|no longer\b"
    r"|(?:das|es|die|sie) (?:gilt|war|ist|stimmt|brauch)\w*|weil\b|denn\b|(?:ça|cela|c['’]|ce n['’])|(?:eso )?ya no\b|porque\b|(?:isso )?já não\b|non (?:vale|serve)\b|perch[eé]\b|(?:это |он[ао]? )?(?:больше|уже) не\b|потому\b|want\b|dat (?:is|was)\b).*$"
)
"""What is said behind what is to go: why, or what may be done from now on. No memory has its words."""

ABOUT_USER = (
    r"\b(?:about|of|on) me\b|\bmy (?:profile|personal (?:data|details|information))\b"
    r"|\b(?:über|von) mich\b|\bvon mir\b|\b(?:sur|de) moi\b|\b(?:de|sobre) m(?:í|im?)\b|\bover mij\b"
    r"|\bобо мне\b|关于我|我的(?:一切|信息|资料)|私(?:について|のこと)|저에 대|나에 대"
)
"""All that is known of the user."""

EVERYTHING = (
    r"(?:(?:absolutely )?everything(?: (?:that )?(?:you|i) (?:know|remember|(?:have )?(?:saved|stored|learned|told you|said))"
    r"(?: (?:here|so far|until now))?)?|(?:all|every one) (?:of )?(?:my |your |the )?(?:memor(?:y|ies)|notes about me)|(?:your (?:whole |entire )?|my |the (?:whole |entire ))memory"
    r"|tout|toute? (?:ta|la|votre) mémoire|tous (?:tes|les|mes|vos) souvenirs|ta mémoire"
    r"|alles|alle (?:deine )?erinnerungen|(?:dein|das)(?: ganzes?| gesamtes)? gedächtnis"
    r"|toda? (?:tu|la|su) memoria|todo|todos (?:tus|los|mis) recuerdos|todas (?:tus|las|mis) memorias|tu memoria"
    r"|tudo|toda a (?:sua |tua )?memória|todas as (?:suas )?(?:memórias|lembranças)|(?:a )?(?:sua|tua) memória"
    r"|tutto|tutta la (?:tua )?memoria|tutti i (?:tuoi )?ricordi|la tua memoria"
    r"|вс[её]|всю (?:свою )?память|все (?:свои )?воспоминания|(?:свою|твою) память"
    r"|一切|所有(?:的)?(?:记忆|内容|东西)?|全部(?:记忆)?|(?:你的)?(?:所有|全部)?记忆"
    r"|(?:記憶)(?:を)?(?:全部|すべて|全て)|(?:すべて|全て|全部)(?:の記憶)?(?:を)?)"
)
"""What a request names that means every memory."""
_ALL_ORDERS = (
    r"(?:please )?(?:forget|delete|erase|wipe|clear|reset|remove|purge)|oubli(?:e[rsz]?|iez)|efface[rz]?|supprime[rz]?|vide|vergiss|vergessen sie|lösche?"
    r"|olvida(?:r|te de)?|borra(?:r)?|elimina(?:r|re)?|esque[cç](?:e|a|er)|apag(?:a|ar|ue)|dimentica(?:re)?|cancella(?:re)?|забудь(?:те)?|сотри(?:те)?"
    r"|удали(?:те)?|очисти(?:те)?"
)
_PLEASE = r"(?:,? (?:please|bitte|s['’]il te plaît|por favor|per favore|пожалуйста))?[\s.!。！?？]*"
FORGETS_EVERYTHING = (
    rf"(?:(?:(?:can|could|would|will) you |please )*(?:{_ALL_ORDERS}) (?P<order>{EVERYTHING}){_PLEASE}"
    rf"|(?:忘掉|忘记|忘了|删掉|删除|移除|清除|去掉|清掉|清空)(?P<before>{EVERYTHING})(?:吧|了)*[吗嘛。！!？?\s]*"
    rf"|(?P<behind>{EVERYTHING})(?:忘れて|覚えなくて|消して|削除して|消去して|取り除いて)[^、,]{{0,12}})"
)
"""A whole sentence that asks to forget everything."""
