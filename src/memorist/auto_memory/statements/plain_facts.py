"""Plain facts about a project, a team or a person, as people state them in passing: `our CI runs on
GitHub Actions`, `unser Staging läuft auf Postgres 15`, `我们后端用的是 FastAPI`. Pure.

A fact has a subject of the speaker's own (`our`, `we`, `my`) or a part of what surrounds the code
(`the staging server`), a verb of state, and something particular: a name, a number, a day, an
address. What is in trouble, planned, supposed or asked for is none.
"""

from __future__ import annotations

import re
from typing import Literal

from memorist.auto_memory.statements.pattern_alternatives import OpeningPattern
from memorist.auto_memory.statements.statement_filters import (
    is_forbidden_in_memory,
    is_question_or_supposition,
    is_reported_speech,
)
from memorist.auto_memory.statements.statement_patterns import (
    FROM_NOW_ON,
    REFUSAL,
    VERB,
    find_lead_in_end,
)
from memorist.auto_memory.statements.user_prose import MASK_CHARACTER, ProseSentence
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import WIDE_LETTERS, count_cjk_letters

PlainFact = Literal["particular", "vague"]
"""A fact that names something (a name, a number, a day, an address), or that names nothing."""

MAX_FACT_CHARS = 200
"""Characters of the longest sentence that is read as a plain fact; a longer one tells a story."""
MIN_FACT_CHARS = 10
"""Characters of the shortest one; a Chinese or Japanese character counts as two."""

_SURROUNDINGS = (
    r"(?:ci|cd|ci/cd|pipelines?|monitoring|inference|version|instance type|headquarters|staging|production|prod|deploy(?:ment)?s?|releases?|launch|go-live|freeze|"
    r"stand-?ups?|sprints?|meetings?|budget|deadline|code ?name|mascot|stack|databases?|data ?stores?|"
    r"db|orm|back-?end|front-?end|limit|clusters?|servers?|hosting|domain|repo(?:sitory)?|monorepo|"
    r"project|team|company|clients?|customers?|docs|documentation|wiki|runbooks?|dashboards?|logs|"
    r"metrics|traces|alerts|tickets|secrets|flags|backups?|jobs?|crons?|policy|convention|licen[cs]e|"
    r"runtime|region|coverage|sla|on-call|designs|mock-?ups|website|suite|linter|formatter|manager|"
    r"office|designer|owner|maintainer|lead|vendor|contract|window|environment|api|broker|branch|"
    r"target|quota|registry|vpn|calendar|roadmap)"
)
"""What surrounds the code, as the last word of a subject."""
_STATE = (
    r"(?:is|are)(?: (?:always|now|only|still|called|named|hosted|deployed|located|based|kept|stored|"
    r"tracked|owned|maintained|managed|handled|powered|provided|limited|capped|scheduled|planned|set|written|built|reachable|"
    r"available|due|up|down to|mirrored|backed|released|published|reviewed|run))*"
    r"|(?:now |still |only |always )?(?:runs?|uses?|lives?|needs?|requires?|allows?|targets?|go(?:es)?|"
    r"happens?|expires?|follows?|focus(?:es)?|supports?|owns?|ships?|closes?|starts?|ends?|sits?|"
    r"speaks?|sells?|moves?|includes?|knows?|has|have|stays?|meets?|releases?|deploys?|belongs?|consists?|costs?|counts?|"
    r"process(?:es)?|handles?|serves?|stores?|generates?|produces?|accepts?|writes?|sends?|receives?|exports|imports|publish(?:es)?|listens?|depends?|relies|"
    r"rel(?:y|ies)|covers?|tracks?|rotates?|retains?|keeps?|caches?|replicates?|syncs?|polls?)"
)
_ENGLISH_GROUP = (
    r"(?:(?:for|in|on) (?:this|our|the) (?:project|repo|team|product|company|codebase),? )?we(?:['’]ve| have|['’]ll| will)? (?:(?:all|only|always|just|now|still|also|recently|currently|"
    r"mainly|mostly|actually) )*(?:use|run|deploy|host|ship|release|support|target|store|log|develop|"
    r"choose|chose|picked|chosen|went with|gone with|settled on|build|test|publish|sell|follow|review|"
    r"work (?:in|on|from|with)|speak|standardi[sz]ed? on|pay|track|write|keep|serve|bill)"
    r"|we(?:['’]re| are) (?:now )?(?:on|in|at|based in|using|running|a|an|hosted on|\d+)"
)
_ENGLISH = (
    rf"(?:(?:our|my) (?:[\w'’/&.+-]+ ){{1,5}}?(?:{_STATE})"
    rf"|(?!{VERB}\b|it\b|there\b|that\b|by\b|in\b|on\b|i\b|you\b|he\b|she\b|they\b|which\b|no\b|any\b|when\b|after\b|before\b|once\b|since\b|because\b)(?:the |this |all )?(?:[\w'’/&.+-]+ ){{0,4}}?{_SURROUNDINGS}(?:['’]s [\w-]+| [\w-]+| we use)? (?:{_STATE})"
    rf"|(?:the )?[\w-]+ we use (?:is|are)|{_ENGLISH_GROUP})\b(?! (?:this|that|it|these|those|them|the same)\b)(?P<said>.+)"
)
_ENGLISH_PERSON = (
    rf"(?:i (?:(?:now|just|recently|currently|have|also|mostly) )*(?:live|work|moved|relocated|joined|started at|study|teach|own|maintain|run|lead|"
    rf"speak|use|left (?-i:[A-Z])|(?:write|code|program)(?= .*(?:rather than|instead of|not)\b))\b|i['’]m (?:now )?(?:building|working on|writing|maintaining|opening|hiring|based)\b)(?! (?:this|that|it|these|those|them)\b)(?P<said>[^{MASK_CHARACTER}/]+)$"
)
_ENGLISH_PEOPLE = (
    r"(?P<name>(?-i:[A-Z][a-z]+)(?: (?-i:[A-Z])[\w'’-]+)?(?: and (?-i:[A-Z][a-z]+))?) (?P<said>(?:(?:took over|takes over|now own|now owns|manages|manage|leads|owns|runs|handles|maintains|oversees|heads|approves|reviews) (?:all |the |our |my )?(?:[\w-]+ ){0,4}?|reports to |is (?:the|our|my) (?:[\w-]+ ){0,3}?)"
    r"(?:teams?|offices?|services?|[\w]+-(?:svc|service|api|app|web|worker|db|lib)|squad|department|group|infra(?:structure)?|back-?end|front-?end|releases?|deploys?|deployments|design|security|billing|cto|ceo|cfo|lead|manager|owner|designer|pm|maintainer|on-call|jobs?|engineers?|contact)\b(?!['’]?s? (?:\w+ )?(?:bugs?|issues?|tickets?|task|pr|fix|patch|"
    r"incident|outage|crash|story|spike|refactor\w*|error|problem|failure|regression|question|review|merge|rollback|hotfix)\b).*)"
)
_ENGLISH_PASSIVE = (
    rf"(?:the |our |my )(?:[\w'’/&.+-]+ ){{0,4}}?{_SURROUNDINGS} (?:was|were|has been|have been|got) (?:increased|raised|reduced|lowered|changed|moved|set|extended|shortened|renamed|"
    r"upgraded|switched|rescheduled|postponed) (?P<said>(?:from [\w.: -]{1,20} )?to .+)"
)
_ENGLISH_MOVED = (
    rf"(?:the |our |my )(?:[\w'’/&.+-]+ ){{0,3}}?(?:{_SURROUNDINGS}|timeout|standup|date|day|time|slot|sync|review|retro|demo|port|threshold|retention|quota|size) "
    r"(?:(?:has |have )?(?:moved|shifted|switched|gone|grown|changed)(?: over)?(?: from [\w.: -]{1,20})?|(?:was|were|has been|have been) (?:raised|increased|reduced|lowered|changed|moved|set|extended|"
    r"shortened)(?: from [\w.: -]{1,20})?) (?P<said>to .+)"
)
_ENGLISH_CHANGE = (
    r"(?:we(?:['’]ve| have)?|the (?:team|company)(?: has)?|i(?:['’]ve| have)?(?= (?:just |recently |already |finally |now |also )*(?:switched|migrated|moved to|upgraded to|joined)\b)) (?:just |recently |already |finally |now |also )*"
    r"(?:switched|moved|migrated|upgraded|downgraded|renamed|bumped|relocated|transitioned|changed|swapped|"
    r"replaced|raised|lowered|reduced|increased|shifted|rescheduled|postponed|joined|went back|completed (?:the |our )?migration)\b"
    r"(?! (?:this|that|it|these|those|them)\b)(?P<said>.+)"
)
_GENERIC_STATE = (
    r"(?:(?:always |only |never )?(?:expires?|rotates?|lives?|times? out|lasts?(?! (?:week|month|year|time|night|friday|\w+day)\b)|is valid|are valid|goes? (?:stale|out)|runs? (?:on|every|at)|listens? on|defaults? to)"
    r"|(?:is|are) (?:always |only |never |all )?(?:stored|kept|hosted|signed|encrypted|rotated|cached|logged|limited|capped|retained|issued|versioned|deployed|"
    r"hashed|backed up|replicated|partitioned|sharded|paginated|scheduled|billed|purged|archived|published|released|reset|synced|owned|reviewed))"
)
_UNCONDITIONAL = r"(?!.*\b(?:when|while|so|but|then|it|they|which|because|instead|click\w*|see|i|you|your|apparently|probably|maybe|below|above|examples?|tutorials?|drafts?|designs?|proposals?|line \d+|[\w/-]+\.(?:py|ts|js|go|rs|java|rb))\b)"
"""What follows tells of no case, no trouble and no place in the code, and is neither a guess, a wish
nor what somebody else's text says.
"""
_ENGLISH_GENERIC = (
    r"(?!(?:the|a|an|these|those|they|this|that|both|some|many|no|any|which|what|if|when|his|her|its|their|things|changes|results|buttons|errors|make|let|"
    r"ensure|have|keep|see|check|test|verify|show|add|fix|remove|update|change|set|get|find|so|handle|display|list|use|create)\b)(?:all |every |each )?"
    rf"(?:[\w'’/.+-]+ ){{0,3}}?(?:[\w'’/.+-]+s|(?<=each )\S+|(?<=every )\S+) {_GENERIC_STATE}\b"
    rf"(?P<said>{_UNCONDITIONAL}.+)"
)
"""What holds for all of a kind ("JWT tokens expire after 24h"), stated of nobody's own."""
_ENGLISH_DEFINITE = (
    rf"(?:the |a |an )(?:[\w'’/.+-]+ ){{1,4}}?{_GENERIC_STATE}\b(?P<said>{_UNCONDITIONAL}.+)"
)
"""The same of one thing, which may be the one at hand."""
_GERMAN = (
    r"(?:(?:unsere?[nmrs]?|meine?[nmrs]?|de[rm]|die|das|alle) (?:[\w./+-]+ ){1,4}?(?:ist|sind|heißt|heißen|läuft|laufen|liegt|liegen|"
    r"steht|stehen|sitzt|sitzen|spricht|speichert|nutzt|nutzen|verwendet|verwenden|benutzt|gehört|kommt|kommen|geht|gehen|braucht|brauchen|"
    r"kostet|endet|beginnt|dauert|erscheint|wird|werden|hat|haben|findet|finden)"
    r"|(?:wir|bei uns) (?:nutzen|verwenden|benutzen|deployen|hosten|setzen|arbeiten|testen|bauen|speichern|"
    r"produzieren|sind|veröffentlichen|releasen|läuft|laufen|liegt|gilt|heißt|wird|fahren|sitzen|verkaufen)"
    r"|ich (?:nutze|verwende|benutze|arbeite|sitze|wohne|heiße)|(?:heißt|nutzen|verwenden|arbeiten|deployen) (?:unsere?[nmrs]?|wir))\b(?P<said>.+)"
)
_GERMAN_CHANGE = (
    r"(?:wir (?:haben|sind)|ich (?:habe|bin))\b(?P<said>.+\b(?:umgestiegen|gewechselt|umgezogen|umgestellt|migriert|aktualisiert|"
    r"geupdatet|upgegradet|umbenannt|verschoben|erhöht|gesenkt|ersetzt|verlegt|angehoben)\W*)$"
)
_ROMANCE = (
    r"(?:(?:notre|nos|mon|ma|mes|le|la|les|nuestr[oa]s?|mis?|el|los|las|noss[oa]s?|meus?|minhas?|os?|as?) (?:[\w'’./+-]+ ){1,5}?"
    r"(?:est|sont|s['’]appelle(?:nt)?|tourne(?:nt)?(?= (?:sur|sous|avec|chez) )|utilise(?:nt)?|se trouve(?:nt)?|passent|appartient|dure|coûte|a lieu|ont lieu|es|son|está|están|"
    r"se llaman?|corren?|usan?|vive|funcionan?|tarda|cuesta|é|são|ficam?|rodam?|se chamam?|estão|custa|dura)"
    r"|(?:nous|on) (?:utilis\w+|déplo\w+|héberge\w*|travaill\w+|boss\w+|cod\w+|sommes|est (?:sur|passés?)|tourne\w*|développ\w+|publi\w+|stock\w+)"
    r"|(?:nosotros )?(?:usamos|desplegamos|trabajamos|alojamos|tenemos|publicamos|guardamos|estamos en|somos)"
    r"|a gente (?:usa|faz|roda|hospeda|publica|trabalha|está)|(?:nós )?(?:usamos|fazemos|rodamos|hospedamos|publicamos|guardamos|trabalhamos|estamos n\w+)"
    r"|(?:j['’]utilise|je (?:travaille|bosse|code|développe)|je suis|yo uso|trabajo|(?:eu )?trabalho(?= (?:com|em|n[ao]) )|eu (?:uso|moro|sou)))\b(?P<said>.+)"
)
_ROMANCE_CHANGE = (
    r"(?:(?:nous sommes|on est|nous avons|on a|j['’]ai) (?:(?:laissé tomber|abandonné|lâché)(?= [\w.+-]+ (?:pour|au profit)\b)|passés?|migrés?|changés?|déplacés?|déménagés?|remplacés?|renommés?|mis à jour|augmentés?)"
    r"|(?:nos )?(?:hemos )?(?:pasamos|migramos|cambiamos|movimos|actualizamos|reemplazamos|renombramos|subimos|migrado|cambiado|actualizado)"
    r"|(?:dejamos|abandonamos|largamos) (?!de\b)(?=[^,]{2,40}(?:,| y| e) (?:ahora|agora)\b)|(?:nós )?(?:passamos|mudamos|trocamos|atualizamos|migramos|movemos|renomeamos|substituímos))\b(?P<said>.+)"
)
_RUSSIAN = (
    r"(?:(?:наш\w*|мо[йяёеи]|все) (?:[\w./+-]+ ){1,4}?(?:—|–|-|это|работа\w+|использу\w+|наход\w+|леж\w+|называ\w+|крут\w+|жив\w+|стоит|стоят|хран\w+|"
    r"развёрнут\w*|развернут\w*|проход\w+|выход\w+)"
    r"|(?:документаци\w+|доки|тикеты|задачи|логи|метрики|прод\w*|стейджинг|сервер\w*|база|деплой|бэкенд|фронт\w*|релизы?|вики|бэкапы?)(?: [\w./+-]+){0,2}? (?:(?:наход\w+|леж[аи]т|жив[её]т|живут|сто[ия]т|хран\w+|крут\w+|развёрнут\w*|развернут\w*)(?= (?:в|на|у|по)\b)|работает на|проход\w+|выход\w+)"
    r"|наш\w* [\w-]+:? (?=https?://|\S*\.\w{2,}/|\d)|у нас(?: \w+)?|мы (?:(?:тут|здесь) )?(?:используем|работаем|деплоим|делаем|занимаемся|храним|пишем|сидим|живём|разворачиваем|выпускаем|релизим|тестируем)|я (?:использую|пишу|работаю))"
    r"(?P<said>\b.+|\s.+)"
)
_RUSSIAN_CHANGE = r"(?:мы|я) (?:уже |недавно |теперь )*(?:перешли|переехали|ушли(?= с \S+ на)|отказались|обновились|обновили|перенесли|переименовали|заменили|подняли|снизили|сменили|перешёл|переехал)а?\b(?P<said>(?!.* (?:а|но) (?:внутри|там|всё|ничего)\b).+)"
_CHINESE = (
    r"(?:(?:我们|咱们|我|本|公司|团队)[^，。？?！]{0,14}?(?:(?:确定|定)(?:下来)?了，)?|[^，。？?！]{0,8}?(?:项目|团队|公司|后端|前端|数据库|服务器|环境|仓库|代号|预算|集群|网站|流水线|部署|发布|"
    r"版本|框架|日志|文档|技术栈|缓存|域名)[^，。？?！]{0,6}?)(?:用的是|使用的是|使用|采用|用(?![例户来完途法于])|跑在|部署在|基于|定为|定在|改为|改成|换成|放在|存在|托管在|叫做?|"
    r"升级到了?|迁移到了?|主要做|从事|负责|只有|是|在)(?P<said>.+)"
)
_JAPANESE = (
    r"(?:(?:うち|弊社|当社|我々|私たち|僕たち|私|僕|俺)(?:の[^。？?はが]{1,16})?|(?:この|本)?(?:プロジェクト|チーム)[^。？?はが]{0,10}|[^。？?はが]{0,10}(?:本番|ステージング|サーバー?|環境|データベース|(?-i:DB)|(?-i:CI)|デプロイ|"
    r"リリース|ドキュメント|ログ|バックエンド|フロントエンド|リポジトリ|予算|締め切り|締切|テスト|会議|定例))(?:では|は|が|も)、?(?P<said>[^。？?]{2,80}(?:です|だ|である|います|ています|てあります|あります|なります|なりました|します|しました))[。！]*$"
)
_KOREAN = (
    r"(?:(?:우리|저희|제|내|본)\s?\S{0,12}|\S{0,10}(?:프로젝트|팀|회사|백엔드|프론트엔드|프런트엔드|데이터베이스|서버|환경|스테이징|운영|배포|로그|저장소|예산|마감|회의|문서|브랜치|(?-i:DB)|(?-i:CI)))(?:에서는|은|는|이|가)"
    r"\s(?P<said>.{2,80}(?:입니다|이다|이야|야|예요|이에요|있어요?|있습니다|있다|씁니다|써요?|쓴다|합니다|해요?|한다|돌아갑니다|돌아가요?|돌아간다|됩니다|돼요?|된다))[.!]*$"
)
_LATIN_FORMS = tuple(
    map(
        OpeningPattern,
        (
            _ENGLISH,
            _ENGLISH_PERSON,
            _ENGLISH_PEOPLE,
            _ENGLISH_PASSIVE,
            _ENGLISH_CHANGE,
            _ENGLISH_MOVED,
            _ENGLISH_GENERIC,
            _GERMAN,
            _GERMAN_CHANGE,
            _ROMANCE,
            _ROMANCE_CHANGE,
        ),
    )
)
_AT_HAND = OpeningPattern(_ENGLISH_DEFINITE)
_CYRILLIC_FORMS = (OpeningPattern(_RUSSIAN), OpeningPattern(_RUSSIAN_CHANGE))
_WIDE_FORMS = (OpeningPattern(_CHINESE), OpeningPattern(_JAPANESE), OpeningPattern(_KOREAN))
_REFUSAL = lazy_pattern(
    rf"(?:{REFUSAL})?(?:{REFUSAL}|不[,，]|(?:not|nicht|pas|no|não|не) (?:with|in|on|via|using|mit|auf|avec|sur|con|en|com|em|с|на) [\w./@-]+(?: [\w./@-]+)?\s*[,:–—])\s*",
    re.IGNORECASE,
)
"""Begins a correction."""
_CYRILLIC = lazy_pattern(r"[\u0400-\u04ff]")
_TROUBLE = lazy_pattern(
    r"\b(?:fail\w*|broke\w*|error\w*|bugs? (?:in|with|when|where)|crash\w*|wrong\w*|missing|slow\w*|stuck|blocked|blank|empty|weird\w*|flaky|timing out|times out|timeouts?|"
    r"leak\w*|hang(?:s|ing)?|dies?(?=\W*$| (?:on|at|after|when|with|if|silently|immediately|randomly|every|during|under)\b)|dying|died|freezes?|froze\w*|stalls?|stalled|stops?(?: (?:working|responding))?(?=\W*$)|panics?|segfaults?|deadlocks?|spins?|goes (?:away|dead)|"
    r"gets? (?:killed|lost|stuck|dropped)|loops? (?:forever|endlessly)|never (?:returns|finishes|starts|ends|comes back)|out of memory|oom\w*|throw\w*|warn\w*|does ?n['’]?t|do ?n['’]?t|can ?n?['’]?t|cannot|is ?n['’]?t|are ?n['’]?t|won['’]?t|unable|trouble|problems?|issues?|causes?|vibration|"
    r"experiencing|complain\w*|conflict\w*|currently|since yesterday|yesterday|today|tonight|tomorrow|this (?:morning|week|time|pr|file|function|bug|error|test|page|branch|commit)|right now|"
    r"just now|deadline is (?:in )?\d+ ?(?:h|hrs?|hours?|min\w*|days?)|again|looks?|seems?|should|could|would|might|may be|maybe|perhaps|probably|i think|i guess|need to|have to|has to|let['’]?s|please|pls|if|whether|why|how|"
    r"so (?:we|you|i)|and (?:we|you|i|it) (?:need|should|can|want)|too (?!(?:strict|lax|high|low)\b)\w+|not sure|ready|done|fine|good|great|ok|merged|pushed|committed|fixed|added|updated|red|green|down|ahead|behind|off)\b"
    r"|\bit (?:is|was|does|did|has)\b|\btherefore\b|\bbut (?:it|we|the|i|this|that|now)\b|[?？:]\s*$"
    r"|\b(?:fehler\w*|kaputt|falsch\w*|errad[oa]s?|equivocad[oa]s?|faux|fausses?|nicht|keine?[nrms]?|seit|gerade|heute|morgen|gestern|wollen|müssen|muss|sollen|sollten|können|kann|könnten|würde\w*|möchte\w*|bitte|falls|wenn|leider|hängt|stürzt|fertig|langsam\w*|(?:ist|sind|war) (?:rot|grün|leer|weg|falsch|tot|offline|da|neu|zu)(?=\W*$)|(?:est|sont) (?:rouges?|verte?s?|vides?|fausse?s?|morte?s?)(?=\W*$)|(?:está|están|estão) (?:roj[oa]s?|verdes?|vac[ií][oa]s?|vazi[oa]s?|mal|caíd[oa]s?|vermelh[oa]s?)(?=\W*$))\b"
    r"|\b(?:erreurs?|ne|pas|(?<!gitlab )(?<!c )plus (?:de|en|que|du|la|le|les)|échou\w+|depuis|aujourd['’]hui|hier|demain|maintenant|doit|devons|devrait|faut|peut|pourrait|veux|voulons|s['’]il|si|lente?|cassée?s?|plante\w*)\b"
    r"|\b(?:erro|error|problema|causa|culpa|fall(?:a|an|ó|aron)|falh(?:a|am|ou|aram|ando)|ya no|não|desde (?:ayer|ontem|hoy|hoje)|hoy|hoje|ayer|ontem|mañana|amanhã|ahora mismo|debe(?:n|s|mos|ría\w*)?|deve(?:m|mos|ria\w*)?|hay que|puede(?:n|s|mos)?|pode(?:m|mos|ria\w*)?|quer(?:o|emos|em|ia\w*|er|ía\w*)|quier(?:o|e|en|es)|por favor|si|se (?!cham|encontr)\w+|lent[oa]|rot[oa]|quebrad[oa])\b"
    r"|\b(?:ошиб\w+|причин\w+|не|нет|упал\w*|пада\w+|слома\w+|сегодня|вчера|завтра|сейчас|надо|нужно|долж\w+|может|можно|хо(?:тим|чу)|пожалуйста|если|обсуждали|говорили|устали|проблем\w*|баг\w*)\b"
    r"|我(?:指|说|问|要|想)的是|我的意思|报错|错误|失败|崩溃|无法|不能|没有|问题|昨天|今天|明天|刚才|现在(?!用|是|改)|目前|怎么|什么|为什么|哪|吗|呢|应该|需要|可以|想|聊|帮|请|如果|吧(?:[，。！,.!\s]|$)|要|一下|慢|坏|缺|少了|这个(?!项目)|那个|这里|这次|这段|这行"
    r"|エラー|失敗|落ち|動か(?:ない|ず)|できま|できない|ません|ない|バグ|おかしい|問題|昨日|今日|明日|さっき|今(?!は)|なぜ|どう|何|ですか|ますか|たい|べき|必要|かも|と思|もし|場合|この(?!プロジェクト|リポジトリ)|その|ここ|ました"
    r"|에러|오류|실패|안 ?(?:되|돼|됩)|없|못|버그|느[려리]|깨[졌진]|멈[췄춰]|어제|오늘|내일|지금|현재|방금|왜|어떻게|뭐|무[엇슨]|싶|필요|같[아은]|이상|이거|그거|해야|주세요|줘",
    re.IGNORECASE,
)
"""In trouble, of the moment, planned, supposed or asked for."""
DAY_OR_MONTH = (
    r"mon|tues|wednes|thurs|fri|satur|sunday|mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?|january|february|march|april|may|june|july|august|"
    r"september|october|november|december|weekly|daily|nightly|monthly|quarterly|montags?|dienstags?|mittwochs?|donnerstags?|freitags?|samstags?|sonntags?|januar|februar|märz|mai|juni|juli|oktober|dezember|"
    r"lundis?|mardis?|mercredis?|jeudis?|vendredis?|samedis?|dimanches?|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre|"
    r"lunes|martes|miércoles|jueves|viernes|sábados?|domingos?|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|"
    r"segundas?|terças?|quartas?|quintas?|sextas?|janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro|"
    r"понедельник\w*|вторник\w*|сред[ауы]|четверг\w*|пятниц\w*|суббот\w*|воскресень\w*|январ\w*|феврал\w*|март\w*|апрел\w*|ма[яй]|июн\w*|июл\w*|август\w*|сентябр\w*|октябр\w*|ноябр\w*|декабр\w*"
)
NAMED_TOOLS = (
    r"pnpm|npm|yarn|bun|pip|uv|poetry|conda|jest|vitest|mocha|pytest|unittest|prettier|biome|eslint|black|ruff|mypy|webpack|vite|esbuild|docker|podman|k8s|kubernetes|terraform|ansible|"
    r"postgres(?:ql)?|mysql|mariadb|sqlite|mongo(?:db)?|redis|kafka|rabbitmq|nats|elasticsearch|clickhouse|snowflake|bigquery|python|ruby|rust|golang|java|kotlin|swift|scala|php|elixir|typescript|"
    r"javascript|react|vue|svelte|angular|django|flask|fastapi|rails|laravel|spring|node(?:js)?|deno|aws|gcp|azure|heroku|vercel|netlify|fly\.io|github|gitlab|bitbucket|jenkins|buildkite|circleci|"
    r"jira|linear|notion|slack|grafana|loki|datadog|sentry|prometheus|linux|ubuntu|debian|macos|windows|graphql|grpc|rest|oauth\d?|jwt|utc|cet|staging|snake_case|camelcase|prisma|sequelize"
)
_PARTICULAR = lazy_pattern(
    rf"\d|https?://|{MASK_CHARACTER}|[@€$£¥]|(?<=[\w,;(/] )(?!I\b|I['’])(?-i:[A-ZÄÖÜÉÀÁÍÓÚ][\w.+#/-]+)|\w\.(?:md|toml|ya?ml|json|io|com|net|org|dev|py|sh)\b|\b(?:{NAMED_TOOLS})\b"
    rf"|\b(?:{DAY_OR_MONTH})\b|(?:(?<=[\u0400-\u04ff{WIDE_LETTERS}，、])|(?<=[\u0400-\u04ff{WIDE_LETTERS}，、] ))[A-Za-z][\w.+#-]+|\b(?-i:[A-Z]{{2,}})\b",
    re.IGNORECASE,
)
"""A name, a number, a day, an address, a quotation."""
_JOINED_TASK = lazy_pattern(
    rf"(?:[,;:–—]\s*(?:so |and |then |please |now )*|\b(?:and|so|then) (?:please )?){VERB} (?:the|that|this|it|them|me|a|an|all|my|our|your)\b"
    r"|[，；、](?:请|帮|把|给|改|加|删|修|换)",
    re.IGNORECASE,
)
"""A task that the fact is given for."""


_JOINT = lazy_pattern(r",|\b(?:and|but|und|aber|et|mais|y|pero|e|mas|и|но|а)\b", re.IGNORECASE)


_CONTRAST_WORDS = (
    r"(?:\s*,\s*(?:(?:and|but|und|sondern|et|mais|y|pero|e|mas|и|а|но)\s+)?|(?:\A|\s+)(?:and|but|und|et|mais|y|e|mas|и|а)\s+)(?:not|nicht|keine?n?|pas|no|não|nao|не)\s+"
    r"(?!(?:sure|working|responding|mehr|nur|so|sicher|sûre?|encore|très|trop|ça|possible|funciona\w*|responde\w*|abre\w*|carrega\w*|arranca\w*|carga\w*|entiendo|entendo|consigo|puedo|quiero|quero|"
    r"sei|sé|me|se|te|lo|está\w*|estoy|estou|tem|tengo|tenho|va|vai|dá|da|deu|sale|sai|aparece\w*|hay|há|es|é|era|foi|очень|знаю|могу|\w+(?:iert|[аеия]ет|[ияё]т|[аяую]т|л[аио]?|[её]м|им)(?:ся)?)\b)"
    r"(?:[\w./+-]+\s+){0,2}[\w./+-]+\s*(?=[.,;!]|\Z)"
    r"|(?:で|であって)?、?\s?[A-Za-zァ-ヶー][\w.+ァ-ヶー-]*(?:では|じゃ)な(?:い|く)"
)
_CONTRAST = lazy_pattern(_CONTRAST_WORDS, re.IGNORECASE)
"""Says what somebody is not, or what is not used: "je suis développeur, pas designer"."""

_CHOICE = lazy_pattern(
    rf"{_CONTRAST_WORDS}|\b(?:rather than|instead of|(?:an)?statt|plutôt qu|au lieu d|en (?:vez|lugar) de|em vez d|ao invés d|вместо)\b",
    re.IGNORECASE,
)
"""Names what is used, and in place of what."""


def _tells_trouble(words: str) -> bool:
    """Whether words tell of trouble, of the moment or asked for; a contrast does not."""
    return _TROUBLE.search(_CONTRAST.sub("", words)) is not None


def tells_trouble_behind_joint(masked: str) -> bool:
    """Whether what follows the first clause of a sentence is trouble, of the moment or asked for."""
    joint = _JOINT.search(masked)
    return joint is not None and _tells_trouble(masked[joint.start() :])


def find_refusal_or_lead_in_end(masked: str) -> int:
    """Where a sentence begins after a refusal, or after greetings, thanks and connecting words."""
    refusal = _REFUSAL.match(masked)
    return refusal.end() if refusal else find_lead_in_end(masked)


_DEFINITE = lazy_pattern(
    r"(?:(?:d(?:er|ie|as)|l[ae]s?|el|los|os?|a(?! gente\b)s?) |l['’])[^,]{2,60}? "
    r"(?:ist|sind|hat|haben|wird|werden|dauert|beginnt|endet|kostet|kosten|kommt(?! aus)|steht|est|sont|a|ont|es|son|está|están|tiene|é|são|tem|têm)\b",
    re.IGNORECASE,
)
"""Says of a thing what it is or has, which may be seen on the screen."""
_FOREIGN_SURROUNDINGS = lazy_pattern(
    r"\b(?:\w*(?:datenbank|umgebung|server|cluster|team|projekt|repo\w*|branch|ticket\w*|freeze|meeting)|doku\w*|tests?|suite|ci|pipelines?|deploy\w*|apis?|keys?|logs?|secrets?|backend|frontend|prod\w*|staging|kund\w+|firma|büro|domain|website|backups?|stack|lizenz|releases?|deadline|budget|"
    r"date|échéance|délai|plazo|prazo|fecha|data|frist|stand-?up|sprints?|main|chef\w*|leitung|verantwortliche\w*|zuständige\w*|responsável|responsables?|contacto?|design\w*|app|abgabe|termin\w*|urlaub|bases? de (?:données|datos)|serveurs?|docs?|documenta\w+|préprod|recette|dépôts?|équipe|clients?|site|branche|mises? en prod|servidor\w*|base|equip[oe]|clientes|rama|repositorio|entorno|banco|ambiente|reposit[óo]rio|"
    r"empresa|entreprise|réunion|reunión|reunião|projets?|proyecto|projeto|wiki|tableau|tablero|quadro|url|port|puerto|porta|version|versión|versão|langue|idioma|nom|nombre|nome|adresse|dirección|endereço|license|licence|licencia|licença|region|región|chat|kanal|canal)\b",
    re.IGNORECASE,
)
"""What surrounds the code in the other languages of Latin letters."""


def _is_of_thing_in_sight(masked: str) -> bool:
    """Whether a fact with a definite article is about a thing that may be on the screen."""
    return _DEFINITE.match(masked) is not None and _FOREIGN_SURROUNDINGS.search(masked) is None


_FACT_LEAD_IN = lazy_pattern(
    rf"{FROM_NOW_ON}\b\s*[:,–—-]?\s*"
    r"|(?:(?:(?:over |around |por )?(?:here(?: at (?:work|our \w+))?|ici|aqu[ií]|ac[áa]|тут|здесь)|us|nous|nosotros|nosotras|nós),?\s+)+(?=(?:we|on|nous|nosotros|a gente|nós|мы|\w+mos)\b)",
    re.IGNORECASE,
)
"""What a fact may begin with: that it holds from then on, or here."""


def classify_plain_fact(sentence: ProseSentence) -> PlainFact | None:
    """Whether a plain fact names something particular or not; None for any other sentence."""
    start = find_refusal_or_lead_in_end(sentence.masked)
    if lead := _FACT_LEAD_IN.match(sentence.masked, start):
        start = lead.end()
    masked = sentence.masked[start:]
    if sentence.in_list or len(masked) > MAX_FACT_CHARS:
        return None
    wide = count_cjk_letters(masked)
    if len(masked) + wide < MIN_FACT_CHARS:
        return None
    found = [match for form in _select_forms(masked, wide) if (match := form.match(masked))]
    at_hand = _AT_HAND.match(masked) if not found and wide == 0 else None
    if not (found or at_hand) or _is_of_the_moment(sentence.masked, masked):
        return None
    if at_hand is not None:
        begin = start + at_hand.start("said")
        return "vague" if _PARTICULAR.search(sentence.masked, begin) else None
    named = _CHOICE.search(masked) is not None or any(
        "name" in match.re.groupindex
        or _PARTICULAR.search(sentence.masked, start + match.start("said"))
        for match in found
    )
    if wide == 0 and _is_of_thing_in_sight(masked):
        return None
    return "particular" if named else "vague"


def _select_forms(masked: str, wide: int) -> tuple[OpeningPattern, ...]:
    if wide:
        return _WIDE_FORMS
    return _LATIN_FORMS if _CYRILLIC.search(masked) is None else _CYRILLIC_FORMS


def _is_of_the_moment(whole: str, masked: str) -> bool:
    """Whether it is a question, another's word, in trouble, planned or given for a task."""
    return (
        is_question_or_supposition(masked)
        or is_forbidden_in_memory(masked)
        or is_reported_speech(whole)
        or _tells_trouble(masked)
        or _JOINED_TASK.search(masked) is not None
    )
