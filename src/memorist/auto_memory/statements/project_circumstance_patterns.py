"""The circumstances of a project, said in passing: where its documents are outside the repository, its
deadlines, and what a client or another department demands. Pure.

In English, German, French, Spanish, Portuguese, Russian, Chinese, Japanese and Korean. Each waits for
the person's yes.
"""

from __future__ import annotations

import re

from memorist.auto_memory.statements.plain_facts import DAY_OR_MONTH
from memorist.auto_memory.statements.statement_patterns import (
    StatementPattern,
    parse_statement_patterns,
)
from memorist.core.lazy import lazy_pattern

_DOCUMENT = (
    r"(?:docs?|documentation|wiki|guides?|guidelines|handbook|playbooks?|runbooks?|specs?|specification|designs?|mock-?ups?|wireframes?|boards?|backlog|tickets|stories|bugs|requests|roadmap|decisions?|"
    r"dashboards?|reference|onboarding|policies|policy|adrs?|rfcs?|translations|assets|logos|credentials|passwords|secrets|alerts|incidents|"
    r"doku\w*|dokumentation|anleitung(?:en)?|entwürfe|tickets?|aufgaben|maquettes?|charte|tableau|tâches|documentación|guía|maquetas?|diseños?|tareas|tablero|"
    r"documentação|guia|layouts?|telas|tarefas|quadro|документаци\w+|доки|макеты?|задачи|тикеты|доска|гайд\w*|спецификаци\w+)"
)
_HOST = r"(?:https?://(?!localhost|127\.|0\.0)|(?!\d+\.)(?:[\w-]+\.)+(?:com|net|org|io|dev|app|example|de|fr|eu|br|ru|cn|jp|kr|co|ai|cloud|internal|corp)\b)"
_SERVICE = (
    r"(?:confluence|notion|jira|linear|figma|trello|asana|productboard|google (?:docs|drive|sheets)|sharepoint|slack|zendesk|sentry|datadog|grafana|miro|airtable|youtrack|basecamp|clickup|"
    r"zeplin|1password|bitwarden|pagerduty|opsgenie|coda|redmine|github (?:wiki|issues|discussions|projects)|gitlab (?:wiki|issues))\b(?=\W*$|[,;(.]| (?:under|in|at|project|space|board|workspace|and|not|with|unter|bei|projekt|dans|sous|en|em|no|в|на)\b)"
)
_OUTSIDE = rf"(?:{_HOST}|(?:the |our |de[rm] |le |la |el |o |a )?{_SERVICE})"
_ONE_RUN = r".*(?:/(?:runs?|jobs?|builds?|issues?|pull|commits?|actions)/|localhost|/tmp\b|#\d|\b(?:please|pls|can you|bitte|por favor)\b|[?？]\W*$)"

_EVENT = (
    r"(?:deadline|due date|(?:code |feature )?freeze|launch(?: date)?|release(?: date)?|go-?live|beta|rollout|cutover|ship date|milestone|abgabe|abgabetermin|frist|livegang|veröffentlichung|"
    r"date limite|échéance|livraison|mise en (?:prod\w*|ligne)|sortie|gel du code|lanzamiento|entrega|fecha (?:límite|de entrega)|plazo|prazo|lançamento|"
    r"релиз|дедлайн|запуск|сдача|заморозка кода)"
)
_DATE = rf"(?:\d{{1,2}}(?:st|nd|rd|th)\b|\d{{4}}-\d\d|\d{{1,2}}[./]\d{{1,2}}\b(?![.\d]*\.\d)|\d{{1,2}}(?:\.|er|-го)?(?: de| of)? (?:{DAY_OR_MONTH})\b|(?:{DAY_OR_MONTH})\b|(?<=am )\d{{1,2}}\.|(?<=le )\d{{1,2}}\b|(?<=el )\d{{1,2}}\b|(?<=dia )\d{{1,2}}\b)"
_BEFORE_DATE = r"(?:(?:on|the|am|de[nmr]|le|el|o|na|no|em|dia|в|во|nächste[nrms]?|next|by|due|planned|scheduled|for|set|prévue?|geplant|para|fijado|marcado) )*"

_DEPARTMENT = (
    r"(?:legal|security|compliance|marketing|management|finance|accounting|product|design|ops|qa|infra|sales|leadership|procurement|accessibility|privacy)"
    r"(?: team| department| folks| people)?"
)
_CLIENT = r"(?:(?:the|our) (?:customers?|clients?|stakeholders?|investors?|sponsor|board|auditors?|lawyers?|dpo|boss|cto|ceo|pm))"
_PROGRAM = (
    r".*\b(?:response|token|headers?|status|connection|request|certificate|socket|json|payload|port|server|timeout|handshake|tls|keys?|cookie|session|groups?|call|crash\w*|error|fails?|broken|"
    r"bug|found|detected|content|today|tomorrow|now|yet|this|that|verbindung|anfrage|antwort|jetzt|heute|démarrer|connecter|maintenant|conectar|iniciar|conexión|ahora|compilar|agora|сейчас|запрос\w*|токен\w*)\b"
    r"|.*(?:トークン|接続|エラー|令牌|端升级|连接|토큰)"
)
_MUST = r"(?:(?:that )?(?:(?:we|you|it|everything|all \w+)(?: \w+)? (?:can(?:no|['’])?t|cannot|must|may|should|shouldn['’]?t|need|have to|are not)\b|no (?!one\b|longer\b|problem\b|worries\b|thanks\b)|never\b|always\b|only\b|not to\b|nothing\b|without\b).{3,})"
_DEMAND_ENGLISH = (
    rf"(?:{_DEPARTMENT}|{_CLIENT}) (?:(?:says?|said|told us|tells us|insists?|insisted) {_MUST}|(?:insists? on|hates?|forbids?|refuses?|won['’]?t (?:accept|approve|sign off)|(?:does ?n['’]?t|does not|do not|don['’]?t) want(?! to\b)"
    r"|wants? (?!(?:an?|the|to)\b)|wants? (?:us|everything|all)\b|(?<=legal )needs\b|(?<=compliance )needs\b|demands?\b|requires?\b(?! (?:an?|the)\b)) ?.{2,})"
)
_DEMAND_ELSEWHERE = (
    r"(?:die (?:rechtsabteilung|geschäftsführung|security|it)|unsere?r? (?:\w*beauftragter?|kunden?|kundin|chef|auftraggeber)|der (?:kunde|auftraggeber|datenschutz)) (?:(?:will|wollen|möchte)(?!.*\w{2}en\W*$)|verbietet|verlangt|hasst|besteht auf|erlaubt) .{3,}"
    r"|(?:le client|la cliente|notre client|le juridique|le service \w+|la direction|la sécurité) (?:veut(?! (?:\w+ )?\w+(?:er|ir|re)\b)|ne veut(?! (?:pas|plus) \w+(?:er|ir|re)\b)|refuse|exige|interdit|déteste|tient à|impose) .{3,}"
    r"|(?:(?:el|nuestro|la) client[ea]|legal|seguridad|el equipo (?:legal|de \w+)|la dirección) (?:(?:no )?quiere(?! (?:\w+ )?\w+[aei]r(?:l[aeo]s?)?\b)|exige|prohíbe|odia|pide|insiste en|dice que (?:nada de|nunca|siempre|sin)) .{3,}"
    r"|(?:(?:o|nosso|a) cliente|o jurídico|a segurança|a diretoria) (?:(?:não )?quer(?! (?:\w+ )?\w+[aei]r\b)|exige|proíbe|odeia|insiste em) .{3,}"
    r"|(?:(?:наш )?(?:заказчик|клиент)|юристы|безопасники|руководство) (?:(?:не )?(?:хочет|хотят)(?! (?:\w+ )?\w+ть(?:ся)?\b)|требу[ею]т|запреща[ею]т|против|настаива[ею]т) .{3,}"
    r"|(?:我们的?)?(?:客户(?!端)|甲方|法务|安全(?:部|团队))(?:们)?(?:要求(?!把|加|改|做|增加|修改|能|在)|坚持|不想要|不要|不允许|禁止|讨厌).{2,}"
    r"|(?:クライアント(?!側)|お?客様?(?:さん)?|顧客|法務|セキュリティ(?:部門|チーム))[はがも、].{2,40}(?:求めて|要求して|希望して|禁止して|嫌って|嫌がって).{0,6}"
    r"|(?:고객사?|클라이언트(?!측)|법무팀|보안팀)(?:은|는|이|가|에서)\s?.{2,40}(?:요구|원하|원해|원합|금지|싫어).{0,8}"
)
_OPINION = r"(?-i:[A-Z][a-z]+)(?:, (?:our|the|my) [\w -]{2,25},)? (?:hates?|insists? on|can['’]?t stand|forbids?|wants? (?:no|everything|all|us to)\b) .{3,}"
_CONTACT = (
    r"ask (?:(?-i:(?!Claude|GPT|Gemini|Copilot)[A-Z][a-z]+) (?:about|for|if|when|before) |(?!me\b|the\b|us\b|them\b|him\b|her\b|it\b|user)\w+ about (?:anything|everything|all|any)\b).{3,}"
    r"|(?:frag|fragt?e?) (?-i:[A-Z][a-zäöü]+) (?:bei|zu|wegen|nach) .{3,}|wende dich (?:bei|wegen) [^,]{3,40} an (?-i:[A-Z][a-zäöü]+)\b|(?:demande[sz]?|demander) à (?-i:[A-Z]\w+) (?:pour|si|au sujet) .{3,}"
    r"|(?:pregúntale|pregunta|pergunte|pergunta) (?:a|à|ao|para) (?:la |el |o )?(?-i:[A-ZÁÉÍÓÚ]\w+) (?:por|sobre|si|se) .{3,}|спрашивай(?:те)? (?-i:[А-ЯЁ]\w+) (?:про|о|об|по) .{3,}"
)

_PROJECT_DEMAND = lazy_pattern(rf"{_DEMAND_ENGLISH}|{_DEMAND_ELSEWHERE}|{_OPINION}", re.IGNORECASE)


def states_project_demand(masked: str) -> bool:
    """Whether the user says what a client or a department demands: their own word about the project,
    where it is no quotation behind a colon.
    """
    return _PROJECT_DEMAND.match(masked) is not None and ":" not in masked and "：" not in masked


PROJECT_CIRCUMSTANCES: tuple[StatementPattern, ...] = parse_statement_patterns(
    rf"""
    # Where documents are outside the repository.
    rule: (?P<text>(?:[\w'’&/.-]+ ){{0,5}}?{_DOCUMENT}(?: (?:for|of|about|para|pour|für|zu|de|du) [\w-]+(?: [\w-]+)?)? (?:(?:is|are|lives?|sits?|can be found|resides?)(?: (?:all|now|only|documented|kept|tracked|hosted|stored|over|published))* (?:at|in|on|under)
        |(?:liegt|liegen|steht|stehen|ist|sind|findest du)(?: \w+)? (?:auf|in|im|unter|bei)|(?:est|sont|se trouve(?:nt)?) (?:sur|dans|à)|(?:está|están|vive|viven) en|(?:está|estão|fica|ficam) (?:em|no|na)|(?:леж[аи]т|наход[ия]тся|в|на) ?(?:в|на)?) {_OUTSIDE}[^,;?]*$)
      unless: {_ONE_RUN}
    rule: (?P<text>[^，。？?]{{0,10}}(?:文档|设计稿|原型|需求|任务|规范|看板|仕様書|ドキュメント|設計書|デザイン|チケット|タスク|디자인|문서|시안|티켓|기획서)[^，。？?\s]{{0,4}}\s?(?:都|全部)?(?:在|放在|位于|は|은|는|이|가)\s?{_OUTSIDE}.*)
      unless: {_ONE_RUN}
    # A deadline.
    rule: (?P<text>(?:(?:the|our|der|die|das|le|la|les|el|o|a|notre|nuestro|unser\w*|наш) )?(?:[\w.-]+ )?{_EVENT}(?: (?:for|of|da|de|del|do|du|für|des|pour) (?:(?:the|la|el|den|die|das|le|a|o) )?[\w.-]+(?: [\w.-]+)?)? (?:(?:(?:is|starts|begins|ends|ist|beginnt|endet|est|es|é|será|sera|tombe|commence|empieza|começa|назначен\w*|—|–|-) ){_BEFORE_DATE}{_DATE}|(?:on|am|by|в|во) {_DATE}|\d{{1,2}} (?:{DAY_OR_MONTH})\b).*)
      unless: .*\b(?:fail\w*|broke\w*|error\w*|bugs?|crash\w*|notes|was|war|était|fue|foi|wrong|kaputt|yesterday|упал\w*)\b|.*\?
    rule: (?P<text>[^，。？?]{{0,10}}(?:截止(?:日期|时间)?|上线(?:日期|时间)?|发布(?:日期|时间)?|代码冻结)(?:时间)?(?:是|在|定在|为)\s?.{{0,4}}(?:\d|周|星期).*|[^。？?]{{0,10}}(?:마감|출시|배포|오픈)(?:일|일정|일자)?(?:은|는|이|가)\s.{{0,10}}(?:\d|요일).*(?:입니다|이에요|예요|이야|야)[.!]*$)
    rule: (?P<text>(?:we (?:freeze(?: code)?|go live|launch|ship|release)|wir (?:gehen|launchen|releasen|veröffentlichen)|on (?:lance|livre|sort)|(?:lanzamos|entregamos|lançamos|publicamos)|(?:мы )?(?:выходим в релиз|релизимся|запускаемся)) (?:on )?{_BEFORE_DATE}{_DATE}.*|我们.{{0,4}}\d{{1,2}}月\d{{1,2}}[日号]?.{{0,3}}(?:上线|发布|发版|交付)[。.]*$)
      unless: .*(?:\b(?:yesterday|fail\w*|gestern|hier|ayer|ontem|вчера)\b|[?？]|了)
    # What somebody else in the project demands.
    rule: (?P<text>{_DEMAND_ENGLISH}|{_DEMAND_ELSEWHERE}|{_OPINION})
      unless: {_PROGRAM}|.*[:：?？]
    rule: (?P<text>{_CONTACT})
      unless: .*\b(?:now|today|first|this|that)\b
    """
)
"""Each waits in the inbox."""
