"""Requests and standing wishes in German, French, Spanish, Portuguese, Russian and Japanese. Pure."""

from __future__ import annotations

from memorist.auto_memory.statements.statement_patterns import (
    FROM_NOW_ON,
    StatementPattern,
    parse_statement_patterns,
)
from memorist.auto_memory.statements.tool_choice_patterns import WELL_KNOWN_TOOL

_CLAUSE_SEPARATOR = r"\s*[:,]\s*"

OTHER_REMEMBER_PATTERNS: tuple[StatementPattern, ...] = parse_statement_patterns(
    rf"""
    remember: (?:bitte )?(?:merk|merke) dir(?: bitte)?(?:,? dass\b|{_CLAUSE_SEPARATOR}) ?(?P<text>.{{5,}})
    remember: (?:bitte )?(?:denk daran|vergiss nicht|behalte im kopf), dass (?P<text>.{{5,}})
    remember: (?:souviens-toi|retiens|rappelle-toi|n['’]oublie pas|m[ée]morise[sz]?)(?: bien)?(?: que | (?=qu['’])
        |{_CLAUSE_SEPARATOR})(?P<text>.{{5,}})
    # With a noun for memory the text needs no "that": "mets en mémoire l'adresse du serveur".
    remember: (?:(?:mets?|mettez|gardez?|notez?) (?:bien )?en (?:m[ée]moire|t[êe]te)|(?:guarda|guárdate|ten|pon) en (?:la |tu )?(?:memoria|mente)
        |(?:guard[ae]|salv[ae]|coloque|coloca|mantenha) (?:na (?:sua )?memória|em mente)|tieni (?:a|in) mente|(?:behalte?
        |speichere?) (?:dir )?im (?:gedächtnis|kopf))(?: qu?e |,? dass | che |{_CLAUSE_SEPARATOR}| )(?P<text>.{{5,}})
      unless: (?:ça|cela|ceci|esto|eso|isso|isto|questo|das|dies)\b
    remember: (?:ricorda(?:ti)?|memorizza|non dimenticare|onthoud|memoriza|memorize)(?: che | dat | que |{_CLAUSE_SEPARATOR})(?P<text>.{{5,}})
    remember: (?:recuerda|acuérdate de|ten en cuenta|no olvides)(?: que |{_CLAUSE_SEPARATOR})(?P<text>.{{5,}})
    remember: (?P<text>.{{4,}}?)(?:と|を|のを|よう(?:に)?|、|。)+(?:(?:覚えて|記憶して|頭に入れて)(?:おいて)?|忘れないで)(?:ください|下さい|ね)*[。！!]*$
    """
)

_FROM_NOW = (
    rf"(?:{FROM_NOW_ON}|ab jetzt|ab sofort|von nun an|künftig|désormais|dorénavant|à partir de maintenant|de ahora en adelante|a partir de ahora|a partir de agora|"
    r"с этого момента|отныне|впредь|теперь|从现在(?:开始|起)|以后|今後は|これからは)"
)
_CHOSEN = (
    rf"(?:{WELL_KNOWN_TOOL}|tabs|spaces|leerzeichen|espaces|espacios|espaços|табы|пробелы|空格)"
)

OTHER_RULE_PATTERNS: tuple[StatementPattern, ...] = parse_statement_patterns(
    rf"""
    # Nothing but when and what: "ab jetzt bun".
    rule: (?P<text>{_FROM_NOW}[\s,，、:]*(?:(?:please|bitte|only|just|nur|noch|solo|sólo|só|seulement|только)\s+|只|都|用)*{_CHOSEN}(?:[ ,](?:please|bitte
        |por favor|пожалуйста))?[\s.!。]*$|(?:(?:use|please|only|nur|bitte|usa|utilise)\s+)*{_CHOSEN}[\s,]+(?:(?:please|bitte|always|immer|toujours
        |siempre|sempre)[\s,]*)*{_FROM_NOW}[\s.!。]*$)
    rule: (?:bitte,? )?(?:ab (?:jetzt|sofort|heute)|von nun an|in zukunft|zukünftig|künftig)(?:{_CLAUSE_SEPARATOR}| )(?P<text>(?!ist\b|sind\b|war\b|hat\b
        |läuft\b).{{8,}})
    rule: (?:(?:stp|svp),? )?(?:dorénavant|désormais|à partir (?:de maintenant|d['’]aujourd['’]hui)|à l['’]avenir)(?:{_CLAUSE_SEPARATOR}| )(?P<text>(?!le\b|la\b|les\b|il\b
        |ça\b|c['’]est\b).{{8,}})
    rule: (?:de (?:ahora|hoy) en adelante|a partir de (?:ahora|hoy|ya)|en el futuro|en adelante)(?:{_CLAUSE_SEPARATOR}| )(?P<text>(?!el\b|la\b|los\b|las\b|es\b).{{8,}})
    rule: (?:今後は|これからは|以後は|次からは)、?(?P<text>.{{4,}}(?:ください|下さい|して|しないで|使って|書いて|こと)[。！!]*$)
    rule: (?P<text>(?:bitte )?(?:immer|nie(?:mals)?|grundsätzlich|ausschließlich|keine?n?) (?:\w+ ){{1,8}}?(?:verwenden|benutzen|nutzen|nehmen
        |schreiben|hinzufügen|committen|pushen|löschen|ändern|fragen|antworten|einbauen|machen|testen|ausführen|mocken)\b.*)
    rule beyond tasks: (?P<text>(?:bitte )?(?:verwende|benutze?|nutze?|nimm|schreibe?|antworte|sprich|rede|committe|pushe?|lösche?|frage?|ändere|teste
        |mocke|füge) .*\b(?:immer|nie(?:mals)?|grundsätzlich|nur noch|statt|anstatt|anstelle|auf (?:deutsch|englisch)|nicht \w+|keine?n?)\b.*)
      unless: .*\b(?:diese[rsnm]?|hier|jetzt|gerade|heute|noch nicht|erstmal)\b
    rule: (?P<text>(?:wir|ich) (?:verwenden?|benutzen?|nutzen?|bevorzugen?|hassen?|vermeiden?) (?!(?:das|dies\w*|es|den|die|gerade|hier|jetzt)\b).+)
      unless: .*\b(?:gerade|heute|jetzt|hier)\b
    # What was decided, as in English and Chinese.
    rule beyond tasks: (?P<text>wir (?:haben|sind) (?:uns )?(?:[^?,]{{1,60}} )?(?:entschieden|geeinigt|beschlossen|übereingekommen|festgelegt)\b.*
        |(?:on a|nous avons) (?:\w+ )?(?:décidé|convenu|choisi|acté) (?:de |d['’]|que |qu['’]).+|(?:hemos (?:\w+ )?(?:decidido|acordado
        |quedado en)|decidimos|acordamos|optamos por|combinamos|(?:a gente )(?:decidiu|combinou)|ficou (?:decidido|combinado)) \w.+
        |(?:мы )?(?:\w+ )?(?:решили|договорились)(?!ся) .{{5,}}|.{{2,60}}(?:こと|方針)に(?:し(?:まし)?た|決め(?:まし)?た|決まり(?:まし)?た|なりました)[。！!]*$)
      unless: .*\b(?:jetzt|heute|diese\w*|maintenant|aujourd\w*|ce(?:tte|t|s)?|ahora|hoy|est[ea]|agora|hoje|ess[ea]|сейчас|сегодня|эт\w+|проблему|ошибку|баг)\b|.*(?:今回|この|その)
    rule: (?P<text>(?:wir|ich) (?:sind|bin|haben|habe) (?:\w+ )?von .{{2,40}} (?:auf|zu) .{{2,40}} (?:umgestiegen|gewechselt|migriert|umgestellt).*)
    rule: (?P<text>(?:s['’]il (?:te|vous) pla[iî]t,? )?(?:utilise[sz]?|emploie|écri[st]|écrivez|réponds|répondez|parle|ajoute[sz]?|mets|supprime
        |demande) .*\b(?:toujours|jamais|plutôt que|au lieu d|et (?:non|pas)|en (?:français|anglais))\b.*)
      unless: .*\b(?:cette? (?:fois|fonction|fichier)|ici|maintenant|aujourd)\b
    rule: (?P<text>(?:n['’]\w+|ne \w+) (?:jamais|plus jamais|plus) .+)
      unless: .*\b(?:ici|maintenant|cette? (?:fois|fonction|fichier))\b
    rule: (?P<text>(?:toujours |ne jamais |jamais de ).{{6,}})
    rule: (?P<text>(?:je préfère|je déteste|nous utilisons|on utilise|nous n['’]utilisons (?:pas|plus)|on n['’]utilise (?:pas|plus)
        |nous sommes passés de|on est passés? de) (?!(?:ça|cette?|ce|la première|le premier|celui|celle)\b).+)
    rule: (?P<text>(?:por favor,? )?(?:siempre|nunca) (?:\w+) .{{3,}})
      unless: .*\b(?:aquí|aqui)\b
    rule: (?P<text>(?:por favor,? )?(?:no|não) (?:uses?|utilices|escribas|agregues|añadas|pongas|hagas|borres|use|utilize|escreva|adicione|coloque
        |faça|apague)\b .*(?:\b(?:nunca|usa|use|en|sin|em|nos|nas|sem|no|na)\b.*))
      unless: .*\b(?:est[ea]|aquí|ahora|todavía|aqui|agora|ainda)\b
    rule: (?P<text>(?:por favor,? )?(?:usa|usar|use|utiliza|utilize|responde|responda|escribe|escreva|habla|fale) .*\b(?:siempre|sempre|en (?:vez
        |lugar) de|em vez d[eo]|ao invés|en (?:español|inglés)|em (?:português|inglês)|y no|e não)\b.*)
    rule: (?P<text>(?:prefiero|odio|prefiro|eu prefiro|odeio|usamos|(?:ya )?no usamos|não usamos(?: mais)?|(?:nos )?pasamos de|cambiamos de
        |migramos de|mudamos de) (?!(?:est[ea]|es[ea]|l[ao] (?:primer|segund)|a primeira|o primeiro|aquí)\w*\b).+)
    rule: (?P<text>(?:por favor,? )?sempre (?:use|utilize|escreva|responda|rode|execute|teste|pergunte|adicione|inclua|mantenha) .+)
    rule: (?P<text>(?:a partir de (?:agora|hoje)|de (?:agora|hoje) em diante|daqui (?:pra|para a) frente),? .{{6,}})
    remember: (?:por favor,? )?(?:lembre-se|lembra|lembre|não (?:se )?esqueça)(?: de)?(?: que |\s*[:,]\s*)(?P<text>.{{5,}})
    remember: (?:пожалуйста,? )?(?:запомни(?:те)?|помни(?:те)?|не забудь(?:те)?|не забывай(?:те)?)(?: (?:навсегда|на будущее
        |пожалуйста))?(?:,? что |\s*[:,–—-]\s*)(?P<text>.{{5,}})
    rule: (?:с (?:этого момента|сегодняшнего дня)|отныне|впредь|в будущем|теперь всегда),? (?P<text>.{{6,}})
    rule: (?P<text>(?:пожалуйста,? )?(?:всегда|никогда(?: не)?) (?!(?:есть|очень|часть|опять|вновь|теперь|очередь|память|день)\b)\w+(?:й|и|[вднрт]ь|[^еиё\W]шь|жь|те(?:сь)?)\b.*)
      unless: .*(?:возвращает|падает|здесь|тут)
    rule: (?P<text>(?:пожалуйста,? )?(?:не )?(?:используй|пиши|отвечай|добавляй|удаляй|коммить|пушь|меняй|трогай|мокай)(?:те)? .*(?:\b(?:всегда
        |никогда|вместо|а не|только|по-русски|на русском|без|в коммит\w*|в тест\w*|используй)\b.*))
      unless: .*\b(?:здесь|сейчас|пока|этот|этой|этом|эту)\b
    rule: (?P<text>(?!.* (?:а|но) (?:внутри|там|всё|ничего)\b)(?:я предпочитаю|я ненавижу|мы (?:всегда |больше не )?используем
        |мы перешли с) (?!эт\w+\b).+)
    rule: (?P<text>.{{0,60}}(?:は|を)?(?:必ず|絶対に?|常に|いつも|決して|二度と).{{2,60}}(?:ください|下さい|して|しないで|使って|使わないで|書いて|こと|するな|使うな)[。！!]*$)
    rule: (?P<text>.{{1,40}}(?:は使わず|ではなく|じゃなくて|の代わりに|は使わないで).{{1,60}}(?:ください|下さい|使って|書いて|使うこと|使用する(?:こと)?)[。！!]*$)
    rule: (?P<text>(?:この|うちの|本)(?:プロジェクト|リポジトリ|チーム)では.{{3,60}}(?:使います|使う|使っています|禁止|しない)[。！!]*$)
    rule: (?P<text>(?:日本語|英語)で(?:答えて|回答して|返事して|書いて)(?:ください|下さい|ね)?[。！!]*$)
    # What is so of the person or the project, in each of the languages.
    rule: (?P<text>(?:nein,? )?(?:wir|ich) (?:verwenden?|benutzen?|nutzen?|nehmen?) .{{2,40}}, (?:und )?(?:nicht|kein\w*|nie) .+)
    rule: (?P<text>(?:wir|ich) (?:haben?|hab) .{{2,40}} (?:durch .{{2,40}} (?:ersetzt|abgelöst)|(?:abgeschafft|abgelöst)).*)
    rule: (?P<text>ich (?:bin (?:allergisch|vegetarier\w*|veganer\w*|farbenblind|linkshänder\w*|(?:der|die|ein|eine|unser) [\w -]*(?:lead|leiter
        |leiterin|entwickler|entwicklerin|designer|anfänger|admin|chef|student)\w*)|mag (?:keine?n?|lieber|am liebsten)|vertrage|esse kein\w*
        |trinke kein\w*|hasse|liebe|bevorzuge|vermeide|wohne|lebe|arbeite (?:als|bei|in)|habe (?:eine )?\w*allergie|lerne am besten)\b.*)
      unless: .*\b(?:gerade|heute|jetzt|hier|diese\w*)\b
    rule: (?P<text>(?!der fehler|die funktion|das passiert)[\w -]{{3,40}} (?:bitte )?(?:immer|nie|niemals|grundsätzlich|stets|nur) (?:auf|in|mit|ohne
        |vor|nach|als) .+)
      unless: .*\b(?:ist|sind|wird|hat|fehler|gerade|hier|jetzt)\b
    rule: (?P<text>(?:je (?:suis (?:allergique|végétarien\w*|végan\w*|daltonien\w*|(?:le|la|un|une) [\w -]*(?:lead|responsable|développeu\w+|designer
        |débutant\w*|chef\w*))|n['’]aime (?:pas|plus)|déteste|évite|ne (?:mange|bois|supporte) (?:pas|jamais)|vis|habite|travaille (?:comme|chez|à|en)
        |préfère|apprends mieux)|mon (?:éditeur|fuseau|navigateur)|ma langue)\b.*)
      unless: .*\b(?:cette?|ici|maintenant|celui|celle)\b
    rule: (?P<text>(?:(?:yo |eu )?(?:soy|sou) (?:alérgic\w|vegetarian\w|vegan\w|dalt[óô]nic\w|(?:el|la|un|una|o|a|um|uma) [\w -]*(?:líder|lead|jefe
        |chefe|desarrollador\w*|desenvolvedor\w*|diseñador\w*|designer|principiante|iniciante))|(?:yo )?no (?:me gusta\w*|soporto|tolero|como|bebo)
        |(?:eu )?não (?:gosto|suporto|tolero|como|bebo)|odio|odeio|evito|vivo en|moro em|trabajo (?:como|en)|trabalho (?:como|na|no|em)|prefiero
        |prefiro|aprendo mejor|aprendo melhor)\b.*)
      unless: .*\b(?:est[ea]|aquí|ahora|aqui|agora|ess[ea])\b
    rule: (?P<text>(?:nós )?(?:migramos|mudamos|trocamos|passamos) (?:d[aeo]s? |o |a ).{{2,30}} (?:para|pra|por|pelo) .+)
    rule: (?P<text>(?:у меня (?:аллергия|непереносимость|дальтонизм|двое детей|маленьк\w+)|я (?:вегетариан\w+|веган\w*|не люблю|не ем|не пью
        |не переношу|ненавижу|избегаю|живу|работаю|лучше (?:учусь|понимаю)|предпочитаю|дальтоник)|мой (?:редактор|часовой пояс|начальник)).*)
      unless: .*\b(?:здесь|сейчас|эт\w+)\b
    rule: (?P<text>.{{0,30}}(?:アレルギー(?:です|があります|がある|持ち)|が(?:好き|嫌い|苦手)です|を(?:好みます|避けています)|[A-Za-z][\w.+-]*から[A-Za-z][\w.+-]*(?:に|へ)(?:移行|切り替え|乗り換え|移り)
        |はもう使って(?:いません|いない|ません)).{{0,10}})
      unless: .*(?:この|これ|その)
    rule: (?P<text>もう.{{1,30}}(?:は|を)(?:使っていません|使いません|使わない).{{0,10}})
    rule: (?P<text>(?:常に|いつも|必ず|基本的に).{{1,40}}(?:会話する|話す|答える|回答する|書く|使う|確認する|使用する)[。！!]*$)
    """
)
