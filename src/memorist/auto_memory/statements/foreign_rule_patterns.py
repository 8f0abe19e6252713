"""Rules as people write them down for an agent, in German, French, Spanish, Portuguese, Russian,
Chinese and Japanese: the written form of an order (an infinitive, a noun phrase, a Russian
imperfective, a Japanese plain form) that forbids, or names a condition or all of a kind. What is
asked for once is mostly put otherwise. Each waits for the person's yes. Pure.
"""

from __future__ import annotations

from memorist.auto_memory.statements.statement_patterns import (
    StatementPattern,
    parse_statement_patterns,
)

CONFIRMATION = (
    r"(?:(?:ja|genau|perfekt|super|gut|richtig)\b[\s,.!]*)+(?:so[\s,]+)?(?:bitte )?(?:mache?t? )?"
    r"(?:(?:das|es|bitte) )*(?:immer so(?: weiter)?|weiter so|so weiter|weiterhin so)[.!]*"
    r"|(?:(?:oui|parfait|exactement|super|c['’]est ça)[\s,.!]*)+(?:continue[zs]?|fais|faites|toujours)"
    r"(?: toujours)? (?:comme ça|comme cela|ainsi)[.!]*"
    r"|(?:(?:sí|si|perfecto|exacto|exactamente|genial|bien)\b[\s,.!]*)+(?:sigue|continúa|hazlo)"
    r"(?: siempre)? así[.!]*"
    r"|(?:(?:sim|perfeito|isso(?: mesmo)?|ótimo|exato)\b[\s,.!]*)+(?:continue|faça)(?: sempre)? assim[.!]*"
    r"|(?:(?:да|отлично|именно(?: так)?|точно|верно)\b[\s,.!]*)+(?:продолжай|делай)(?:те)?"
    r"(?: всегда)? так(?: (?:и дальше|всегда))?[.!]*"
    r"|(?:(?:对|好的?|是的|完美|没错|很好|不错)[，,。！! ]*)*(?:以后|今后|保持|继续)(?:都|就|请|一直|也)*"
    r"(?:这样|这么)(?:做|下去|就好|就行)?[。！!]*"
    r"|(?:(?:はい|そうです|完璧(?:です)?|いいですね|その通り(?:です)?)[、。！ ]*)*(?:これからも|今後も|いつも)"
    r"(?:そう|このように|そのように|その調子で)(?:して|続けて|お願いします)?(?:ください)?[。！]*"
    r"|(?:(?:네|예|응|좋아요?|완벽해요?|맞아요?)[\s,.!]*)*(?:앞으로도|계속|항상) (?:그렇게|이렇게|그대로) ?(?:해|부탁|가)\S*(?: \S{1,4})?[.!]*"
)
"""A whole message that asks to go on as before, as `plain_english_patterns.CONFIRMATION`: it names nothing."""


FOREIGN_RULES: tuple[StatementPattern, ...] = parse_statement_patterns(
    r"""
    rule: (?P<text>(?:nichts|nie(?:mals)?|keine?[nrms]?|nur|immer|vor|nach|bei) (?!mal\b)[^?]{3,90}?[a-zäöüß]{3,}(?:en|ern|eln)(?:, (?:was|wenn
        |keine?) .+)?[.!]*$|nichts [a-zäöüß]+en, nichts [a-zäöüß]+en[.!]*$|nur [a-zäöüß]+en, was .+|[^?]{3,60} (?:immer|nie|niemals|stets
        |grundsätzlich) (?:zuerst |erst )?(?:[\w-]+ ){0,4}[a-zäöüß]{3,}(?:en|ern|eln)[.!]*$|(?:jede[rs]?|alle) [^?]{3,40} (?:endet|enden|beginnt
        |beginnen|braucht|brauchen|bekommt|bekommen|trägt|tragen|hat|haben|gehört|gehören|enthält|enthalten|steht|stehen|läuft|laufen) [^?]{3,}
        |[^?]{3,60} (?:wird|werden) (?:nur|ausschließlich|stets|grundsätzlich) [^?]{3,}|(?:halte|bearbeite|schreibe?|nutze|verwende|prüfe?|teste
        |frage?|lies|mache?|erstelle|dokumentiere|committe|benenne|formatiere|ändere|arbeite)\b[^?]*\b(?:möglichst|jeweils|stets|grundsätzlich|bevor
        |vor jede[rmn])\b[^?]*|kein(?:e|en)? [^?]{3,60}, (?:keine?n?|nur|sondern) [^?]{3,})
      unless: .*(?:\b(?:diese[mnrs]?|hier|jetzt|noch|erste[nr]?|ist|sind|gefunden|gesehen|geladen|bekommen|vorhanden|geworden|worden|wurden|können
        |ahnung|fehler (?:beim|in|im|gefunden|ist)|absturz|exception|ich|wir)\b|\bdas\b)
    rule: (?P<text>(?:pas d(?:e |['’])|aucune? |ni |sans |jamais d(?:e |['’]))(?!problème|souci|erreur|changement|doute|quoi|idée|question|raison
        |réponse|résultat)[^?]{4,}|ne (?:pas|jamais|plus) (?:[\w-]+ )?\w+(?:er|ir|re)\b[^?]{3,}|(?:évite[rz]?|veille[rz]?|pense[rz]?|privilégie[rz]?
        |préfère[rz]?|respecte[rz]?) (?:de |d['’]|à )?[^?]{5,}|(?!corriger|supprimer|ajouter|changer|renommer|mettre|remplacer|modifier)\w{2,}(?:er|ir
        |re) [^?]{0,60}\b(?:tou(?:te)?s les|chaque|systématiquement|toujours|uniquement)\b[^?]*|\w{2,}(?:er|ir|re) [^?]{3,80} (?:quand|si|lorsque
        |dès que) (?:utile|nécessaire|possible|besoin|pertinent|non |absent|ambigu)[^?]*|[^?]{3,40} sur (?:toutes les|tous les|chaque) [^?]+
        |tou(?:te)?s les [^?]{3,40} (?:portent|ont|doivent|utilisent|sont|passent|suivent|commencent|finissent)\b[^?]{3,}|[^?]{3,80}\bne (?:touchez
        |modifiez|changez|touche|modifie) que\b.+)
      unless: .*\b(?:cette?|ici|maintenant|encore|pour l['’]instant|page|échou\w+|marche|fonctionne)\b
    rule: (?P<text>(?:no|não|nunca|jamás|jamais) \w+(?:ar|er|ir)(?:l[oa]s?)?\b[^?]{3,}|(?:sin|sem) (?!embargo|problema|error|duda|cambio|dúvida|erro
        |mudança|querer|pressa|prisa)\w+[^?]{3,60}[.!]*$|\w{3,}(?:ar|er|ir) [^?]{0,60}\b(?:antes d[eo]|después de|depois de|siempre|sempre|cada|apenas
        |somente|solamente|únicamente)\b[^?]{3,}|\w{2,}[ae] [^?]{2,60} antes d[eo] \w+(?:ar|er|ir)\b[^?]*|tod[oa]s?(?: l[oa]s| os
        | as)? [^?]{3,60}\b(?:deben?|devem?|tienen? que|llevan?|usan?|t[eê]m que|precisa[mn]?)\b[^?]{3,}|cuando \w+(?:es
        |as) [^?]{2,60}, (?:\w+[aei])\b[^?]{3,}|quando \w+(?:ar|er|ir|res) [^?]{2,60}, \w+[aei]\b[^?]{3,}|trabaj[ae] en [^?]{3,}|[\w ]{3,40} (?:apenas
        |somente|s[oó]lo|solamente|únicamente) (?:em|en|para|con|com|si|se|quando|cuando|dentro)\b[^?]+|[\w/ ]{2,30}: (?:sempre|nunca|siempre|toujours
        |jamais|immer|nie|always|never|только|всегда) [^?]+)
      unless: .*\b(?:est[aeo]|aquí|ahora|todavía|aqui|agora|ainda|formulario|formulário|bot[óã]o|botón|botón|página|ess[ea]|otr[oa]|outr[oa])\b
    rule: (?P<text>не \w+(?:ть|ться|чь|ти)\b[^?]{3,}|не (?:коммить|пушь|ломай|меняй|добавляй|удаляй|трогай|создавай|пиши|используй|забывай|выдумывай
        |делай|убирай|предлагай|запускай)(?:те)?\b[^?]{3,}|(?!(?:я|мы|он|она|они|как|почему|чтобы|что|если|это)\b)(?:[\w.-]+ ){1,4}не \w{3,}(?:ть|ться
        |ти)(?: [^?]{2,40})?[.!]*$|(?:[\w.-]+ ){0,4}\w{3,}(?:ть|ться) (?:только|всегда|лишь|строго|после кажд\w+|перед кажд\w+)\b[^?]+
        |(?:[\w.-]+ ){1,4}(?:только|всегда|строго) (?:в|на|через|по|с|из)\b[^?]+|без \w+[^?]{5,60}[.!]*$|(?:делать|писать|держать|соблюдать
        |использовать|сохранять|проверять|документировать) [^?]{3,60}(?:ые|ие|ия|ы|и|ть)\b[^?]*)
      unless: .*\b(?:эт\w+|сейчас|здесь|тут|пока|мог\w*|могу|нужно|надо|понял\w*|получается|ещё|еще)\b|.*(?:ошибк|падает|не работает)
    rule: (?P<text>(?:每个|每次|每当|所有|任何|全部)[^?？]{1,40}(?:应|该|须|必|需要?|要|不得|不能|都[用写加有]|后|前)[^?？]{2,}|(?:遵循|遵守|沿用|坚持|严格)[^?？]{3,}|[^?？]{1,16}(?:使用|采用
        |用) ?\S[^?？]{0,24}(?:命名|格式|风格|规范|编写|书写|表示|管理)[。！]*$|[^?？]{2,20}(?:不要|不能|不应|不可|不允许|不准|勿)(?:放|写|用|有|包含|出现|直接|修改|提交|依赖)[^?？]*|[^?？]{1,20}(?:要|需要?
        |应该?|必须)(?:补|加|写|有|附|带|同步|更新|通过)?(?:充的?|上|新)?(?:单元|集成)?(?:测试|文档|注释|日志|说明)[。！]*$|(?:注释|文档|提交信息|回复|代码|变量名?)[^?？]{0,10}(?:用|使用)(?:中文|英文)[^?？]*)
      unless: .*(?:这|那|现在|吗|报错|失败|怎么|为什么|一个|一下|通过了|过了|了[。！]*$)
    rule: (?P<text>[^?？]{2,60}(?:に従う|に従って(?:ください)?|を維持する|を守る|に統一(?:する)?|を[^?？]{0,8}使用(?:する)?|する前に、?[^?？]{2,60}する|で記述(?:する)?|を優先(?:する)?|を避ける|を徹底(?:する)?
        |を心がける|を遵守(?:する)?|で書く|を確認する|でバリデーション(?:する)?|で行う|しないこと|を前提とする)[。！]*$|[^?？]{1,40}(?:は|を)(?:使わない|使用しない|禁止|書かない|含めない|しない|入れない|変更しない
        |追加しない)(?:こと)?[。！]*$|[^?？]{0,40}(?:禁止|厳禁|必須|不可|(?-i:NG))(?:[、。！].{0,40}|[。！]*$)|[^?？]{1,30}は(?:日本語|英語|中国語)(?:で|とする|、|[。！]*$).{0,30}|(?:全|全て
        |すべて|各|毎回)[^?？]{2,40}(?:を|は|に)[^?？]{2,40}(?:する|こと|化)[。！]*$|[^?？]{0,30}内で[^?？]{2,20}をしない[。！]*$)
      unless: .*(?:この|ここ|これ|今|ても|画面|バグ|修正|ました|出ます|失敗)
    rule: (?P<text>nie(?:mals)? [a-zäöü]+en[.!]*$|[^?]{3,60} (?:zuerst|nie|niemals|vorher|stets) [a-zäöü]{3,}(?:en|ern|eln)[.!]*$|(?:nur|genau eine?n?
        |höchstens) (?:[\w-]+ ){1,6}[\w-]+[.!]*$|(?:nutze|verwende|benutze|halte|schreibe?|befolge|beachte|vermeide|bevorzuge|dokumentiere|achte
        |arbeite) (?!(?:den|die|das|der|dem|es|mal|bitte|meine?n?|unsere?n?|dein|eine?n?|weiter|option|nur|jetzt|dir|mir)\b)[^?]{5,}
        |[^?]{3,60} (?:werden|wird) (?:nicht|nie) (?:akzeptiert|gemergt|gemerged|erlaubt|geduldet|committet|eingecheckt|verändert|angefasst
        |gepusht)\b.*|[^?]{3,80} auf (?:deutsch|englisch)[.!]*$|[\w-]+ (?:deutsch|englisch)(?:, .+)?[.!]*$|[\w-]+en in (?:separaten?|eigenen?
        |einzelnen?) .+|(?:[^?]{3,40} )?(?:kurz|einfach|klein|sauber|aktuell|schlank|knapp|synchron) halten\b.*|[^?]{3,60}\b(?:ist|sind) (?:pflicht
        |verboten|verpflichtend|tabu|untersagt|unerwünscht)\b.*|(?:max\.?|maximal|höchstens) \d+ .+)
      unless: .*\b(?:diese[mnrs]?|hier|jetzt|noch|erste[nr]?|zweite[nr]?|fehler (?:beim|in|im)|ich|das problem|mal|kaputt|schlägt)\b
    rule: (?P<text>avant (?:de |d['’]|chaque |tout )[^?]{3,80}, .{3,}|\w{2,}(?:er|ir|re)\b [^?]{3,80} avant (?:de |d['’]|chaque |tout )[^?]+
        |(?:passer par|suivre|respecter|utiliser|documenter|garder|privilégier|écrire|rédiger|maintenir|valider|réutiliser|nommer|conserver|limiter
        |préférer) (?!cette?\b|ce\b)[^?]{4,}|[^?]{3,60} (?:est|sont) (?:obligatoires?|interdite?s?|proscrite?s?)\b.*|(?:utilise|utilisez|écris|écrivez
        |suis|suivez|respecte|respectez|documente|documentez|garde|gardez|privilégie|privilégiez|préfère|préférez) (?:toujours |des |les (?=\w+s )
        |de )[^?]{4,})
      unless: .*\b(?:cette?|ici|maintenant|encore|pour l['’]instant|page|bouton|échou\w+)\b
    rule: (?P<text>(?:mantener|seguir|respetar|usar|utilizar|documentar|escribir|redactar|incluir|validar|priorizar|preferir|manter|respeitar|escrever
        |redigir|priorizar|reutilizar|agregar|adicionar|nombrar|nomear) (?=[^?]*(?:\w{3,}s\b|null|safety|compatib|clean|estilo))[^?]{4,}|(?:usa
        |use(?=[^?]* (?:para|em|de|com|sem|e|os|ou) )|usen|utiliza|utilize|sigue|siga|segue|escribe|escriba|escreve|escreva|mantén|mantenga|mantenha
        |mantém|comenta|comente|documenta|documente|prueba|pruebe|testa|teste|respeta|respete|respeita|respeite|evita|evite|garante|garanta|garantiza
        |valida|valide|prioriza|priorize|prefiere|prefira|adiciona|adicione|añade|agrega|inclui|inclua|incluye|responde|responda) (?!(?:l[oa]s? tests?
        |os testes|el|o|la segunda)\b)(?=[^?]*(?:[^\W\d_]{4,}s\b|antes de|cuando sea|quando for|compatib|clar[oa]))[^?]{4,}|não (?:introduza|altere
        |crie|use|modifique|remova|delete|apague|mexa|toque|quebre|invente|assuma|faça|escreva|adicione|exponha|duplique|instale|suba|envie|misture
        |commite)\b [^?]{4,}|não \w+[ae]s? [^\W\d_]{4,}s\b[^?]*|nunca \w+ \w+[^?]*|no (?!puedes|entiendes|tienes|estas|eres|sabes|ves|haces|crees
        |debes)\w{3,}(?:es|as) [^?]{4,}|(?:ning(?:una?|ún)|nenhuma?) [^?]+ (?:sin|sem|hasta|até|antes de) .+|zero \w+ .+|(?:manter|priorizar|garantir
        |preferir|mantener|garantizar) [^?]{4,}|[^?]{3,40}, máximo \d+ .+|[\w, ]{4,60}: (?:inglés|español|inglês|português|anglais|français|englisch
        |deutsch|english|английский|русский)[.!]*$|(?:ser|sé|sei|seja|être|sois|soyez|rester|reste) (?:concis|bref|claro|clair|précis|utile|honnête
        |direct|breve|conciso|preciso|honesto|objetivo)\w*\b.*|[^?]{3,60}\b(?:es|son|é|são|está|están|estão)? ?(?:obligatori[oa]s?|prohibid[oa]s?
        |obrigatóri[oa]s?|proibid[oa]s?)\b.*|[\w/ ]{2,30}: (?:solo|sólo|só|apenas|nur|only|uniquement|только) [^?]+|máximo (?:de )?\d+ [^?]+
        |[\w/, ]{3,60} em (?:inglês|português)[.!]*$|[\w/, ]{3,60} en (?:inglés|español|anglais|français)[.!]*$)
      unless: .*\b(?:est[aeo]s?|aquí|ahora|todavía|aqui|agora|ainda|formulario|formulário|botón|bot[ãa]o|página|es[ea]s?|ess[ea]s?|otr[oa]|outr[oa]
        |funciona|funcionan|encuentro|consigo|entiendo|entendo)\b
    # Russian: the imperfective imperative asks for what is done again and again.
    rule: (?P<text>(?:не )?(?:следуй|предпочитай|используй|соблюдай|пиши|проверяй|запускай|называй|добавляй|обновляй|держи|избегай|спрашивай|отвечай
        |храни|документируй|комментируй|оставляй|начинай|коммить|указывай|учитывай|сохраняй|делай|помечай|выноси|применяй|старайся|уточняй
        |придерживайся|разделяй|покрывай|логируй)(?:те|тесь)?\b[^?]{4,}|не (?!\w+(?:ли|ый|ий|ой|ые)\b)(?!очень|есть|весь|один|здесь)\w{4,}(?:и|й|йте
        |ите|ьте|ь)\b [^?]{3,}|[^?]{3,60} на (?:русском|английском)(?: языке)?[.!]*$|избегать [^?]{2,}|никаких [^?]{3,}|[^?]{3,60} (?:обязател(?:ен
        |ьн[аоы])|запрещен[аоы]|запрещён|запрещено|запрещены|недопустим[аоы]?|не допускается|не допускаются)\b.*|нельзя [^?]{4,}
        |только [^?]{3,50}[.!]*$|[^?]{2,40} (?:—|–|-) (?:только|всегда|никогда|без) .+|(?:при|после|перед) [^?]{3,60}? (?:обнов(?:ить|лять|ляется|ляй)
        |описыва(?:й|ть)|запуска(?:ть|й)|проверя(?:ть|й|ется)|добавля(?:ть|й|ется)|писать|пиши|делать|делай|сообща(?:ть|й)|спрашива(?:ть|й)
        |пишется)\b.*|(?:[\w-]+ ){1,3}(?:идут|живут|лежат|хранятся|пишутся|используются|создаются|хранится|пишется) (?:только|в|на|через)\b.+
        |(?:не более|не больше|максимум) \d+ [^?]+)
      unless: .*\b(?:эт\w+|сейчас|здесь|тут|пока|мог\w*|могу|понял\w*|получается|ещё|еще|перв\w+|последн\w+)\b|.*(?:ошибк|падает|не работает)
    rule: (?P<text>所有[^?？]{2,30}(?:兼容|一致|统一|为准|优先)[^?？]{0,20}|(?:使用|采用)(?!这|那|一)[^?？]{1,20}(?:注解|规范|命名|变量名|风格|类型|模式|常量|组件|Hooks)[。]*$|只(?:改|用|做|写|修改
        |允许|读)[^?？]{3,}|每(?:个|次) ?[^?？]{1,20}只[^?？]{2,}|[^?？]{4,30}[，,]不(?:复述|重复|解释|允许|依赖|包含|使用|添加|修改)[^?？]{1,20}[。]*$|(?:若|如果|当
        |遇到)[^?？]{2,30}[，,](?:优先|请?先|必须|应|不要|需)[^?？]{2,}|(?:不要|切勿|请勿|别)用[^?？]{1,20}(?:做|来|写|代替)[^?？]+)
      unless: .*(?:这|那|现在|吗|报错|失败|怎么|为什么|一个|一下)
    rule: (?P<text>[^?？]{2,40}(?:あれば|たら|時は|場合は?|際は|なら)、?[^?？]{2,60}(?:する|書く|聞く|しない|止める|止まる|報告する)(?:こと)?[。！]*$|[^?？]{1,40}(?:は|を|に|と)(?:変えない|出さない|言わない
        |触らない|いじらない|残さない|消さない|書き換えない|作らない|混ぜない|推測しない)[。！]*$|[^?？]{0,40}(?:必ず|事前に|常に|原則|勝手に|絶対に)[^?？]{2,60}(?:[るうくすつむぶぐ]|ない|こと)[。！]*$|[^?？]{2,40}(?:時
        |場合)のみ[。！]*$|[^?？]{2,60}(?:に合わせる|[でに]統一(?:する)?|を優先して[^?？]{1,15}する|だけを[^?？]{1,10}する|してから[^?？]{1,20}する)[。！]*$)
      unless: .*(?:この|ここ|これ|今|ボタン|画面|クリック|押|バグ|修正|ました|エラーが出|失敗)
    # German
    rule: (?P<text>(?!ich\b|wir\b|kannst\b|könntest\b|du\b|er\b|sie\b|es\b|man\b|bitte\b).{3,90}\b(?:verwenden|verfassen|nutzen|befolgen|übernehmen
        |einhalten|beachten|vermeiden|hinzufügen|einfügen|erwähnen|committen|antworten|geben|schreiben|dokumentieren)[.!]*$)
      unless: .*(?:\b(?:diese[mnrs]?|hier|jetzt|noch|das|es|ich|wir)\b|\?)
    rule: (?P<text>(?:alle|jede[rs]?|neue|commits?|kommentare|tests?|antworten|claude|der agent|\S+-\S+) (?:.{0,50} )?(?:müssen|muss|sollen|soll
        |sollten|dürfen|darf)\b.{3,}|frag\w* (?:nur|immer|erst)\b.{3,}|\S+ nur,? (?:wenn|nach|auf)\b.{3,}|arbeite \w+.{0,60}\bohne\b.{3,})
      unless: .*\b(?:diese[mnrs]?|hier|jetzt|noch)\b
    # Spanish, Portuguese, French
    rule: (?P<text>(?:evitar|respetar|respeitar)\s.{4,})
      unless: .*\b(?:est[ae]|aquí|ahora|aqui|agora|otr[oa]|outr[oa])\b
    rule: (?P<text>(?:antes de|después de|al|cuando|si|depois de|ao|quando|se|avant de?|après|quand|lorsque) [^?]{3,90}?(?:[, ](?:siempre|nunca|sempre
        |toujours|jamais)|, ?(?:usa|use|utili[zc]\w+|responde\w*|redáct\w+|utilise|réponds|pregunta|pergunte|demande|verific\w+|execut\w+|ejecuta
        |lance))\b.*)
      unless: .*\b(?:est[ae]|aquí|ahora|aqui|agora|ce|cette|ici|maintenant|otr[oa]|outr[oa]|autre)\b
    rule: (?P<text>(?:nunca|sempre|siempre|jamais|toujours)\s.{4,})
    # Russian
    rule: (?P<text>(?:(?:перед|после) (?:каждым|каждой|любым|любой)\b.{4,}|(?:все|каждый|каждая|любой) .{3,60}(?:должн\w+|нужно|следует)\b.{3,}
        |(?:избегай|соблюдай|придерживайся)(?:те)?\b.{3,}))
      unless: .*\b(?:это[тй]?|сейчас|здесь)\b
    # Chinese
    rule: (?P<text>.{0,24}(?:必须|一律|务必|不得|禁止|严禁|优先|始终|默认使用|保持).{2,})
      unless: .*(?:这|那|现在|吗|报错|失败)
    rule: (?P<text>(?:不要|避免|切勿|请勿|不准).{3,})
      unless: .*(?:这|那|现在|了$|它)
    rule: (?P<text>(?:先.{2,20}再.{2,}|.{2,20}(?:完成后|之后|之前|前|后|时|的时候)[，,]?(?:都|需要|必须|应该|应当|请|要).{2,}|所有.{2,20}(?:都|须|需|应|用).{2,}))
      unless: .*(?:这|那|现在|吗|报错|失败|[完过好]了)
    rule: (?P<text>.{0,12}(?:必要的|清晰的|详细的)(?:注释|日志|文档).{0,30})
      unless: .*(?:这|那)
    rule: (?P<text>(?:代码风格|命名(?:规范)?|缩进|格式|注释|提交信息|语言)[：:].{2,})
    # Japanese
    rule: (?P<text>.{2,70}(?:[うくすつぬむる]|ない)こと[。！!]*$)
      unless: .*(?:この|ここ|これ|今|ても|エラー|修正)
    rule: (?P<text>[^がも]{1,40}を[^が]{0,15}(?:しない|使わない|書かない|入れない|付けない|つけない|触らない|含めない)[。！!]*$)
      unless: .*(?:この|ここ|これ|今|ても|エラー|修正)
    rule: (?P<text>.{2,30}は.{1,14}で.{0,12}(?:記述|作成|統一|記載|表記|会話|回答)(?:する|して(?:ください|下さい)?)[。！!]*$)
      unless: .*(?:この|ここ|これ|今|エラー|失敗)
    """
)
"""Rules as people write them down, in seven languages: each waits in the inbox."""
