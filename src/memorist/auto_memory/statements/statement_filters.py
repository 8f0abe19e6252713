"""Filters: what looks like a statement and is not one (AM-7). Pure.

Each group of patterns is one reason: question, reported speech, secret or derivable fact,
judgement, single task. The first three always apply; words that bind a statement to the current
task only rule out patterns that are also used of single tasks.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memorist.auto_memory.statements.pattern_required_words import PrefilteredPattern
from memorist.auto_memory.statements.statement_patterns import CONDITION, SENTENCE_CACHE_SIZE
from memorist.auto_memory.statements.user_prose import MASK_CHARACTER
from memorist.core.lazy import lazy_pattern

_QUESTION = lazy_pattern(
    r"""[?？]["”’)\s]*$|^(?:should|shall|do(?!\ (?:not|what|so|only|exactly|just|nothing|changes|edits|commits|small|minimal|everything)\b)|does|did|is|are|was|were|am|has|have|had|will|would|could|can|may|might
    |why|what|how|who|where|which|when\ (?:do|does|did|is|are|should)
    |isn['’]t|aren['’]t|don['’]t\ (?:you|we|i)|doesn['’]t|didn['’]t|wouldn['’]t|shouldn['’]t|couldn['’]t|if\ (?:we|i
    |it|the)|what\ if|suppose|imagine|maybe|perhaps|i\ wonder|i['’]m\ not\ sure
    |not\ sure)\b|(?:吗|呢|么)[？?。]?$|^(?:为什么|怎么|要不要|是不是|是否|能不能|如果|假如|要是|也许|可能)|(?:怎么办|你觉得)|(?:(?<!니)까|까요|나요|인가요|는지\ ?\S*)[.]*$|^(?:만약|혹시|아마|왜|어떻게|뭐|무엇|언제|어디)""",
    re.IGNORECASE | re.VERBOSE,
)
_TAG = lazy_pattern(
    r"[\s,，]*(?:\b(?:ok|okay|k|please|pls|bitte|vale|d['’]accord|ок|ладно|хорошо|remember|got it|understood|verstanden|compris|"
    r"entendido|combinado|fechado|beleza|blz|tá(?: bom)?|klar|abgemacht|de acuerdo|понятно|понял[аи]?|договорились|лады)|알았지|알겠지|알겠어|오케이|好吗|好不好|懂吗|明白吗|ね|(?:分|わ)かった)\s*[?？]+\s*$",
    re.IGNORECASE,
)
"""Asks for assent behind an order ("…, ok?"), which makes it no question."""
_STANDING_CONDITION = lazy_pattern(rf"{CONDITION}[^?？]*", re.IGNORECASE)
_POLITE_REQUEST = lazy_pattern(
    r"how (?:many times|often) do i (?:have|need) to\b|(?:can|could|would|will) you (?:please |"
    r"also |kindly )*(?:try to )?"
    r"(?:remember|always|never|stop|keep in mind|bear in mind|make a note|note|forget|save|add|"
    r"memori[sz]e"
    r"|delete|remove|store|combine|put|from now on|in future|use)\b|(?:from now on|going "
    r"forward|in (?:the )?future),? "
    r"(?:can|could|would|will) you\b",
    re.IGNORECASE,
)
_REPORTED_SPEECH = PrefilteredPattern(
    r"""(?<!['’])\b(?!(?:repo|project|linter|formatter|compiler|hook|ci)\sinsists?\b)(?!(?:to|not|don|please|or|the|an?|any|your|i|you|we|i['’]ve|you['’]ve|just|already|what|that|have|has|was|is|being
    |always|never|can|cannot|can['’]?t|could|would|must|should|and|also|ensure|appropriate|possible|necessary|needed|helpful)\b)[\w.]+\s(?:says?|said|claims?|claimed|told|tells(?!\s(?:whether|if|how|when|which|what)\b)|thinks?|wrote|writes|recommends?|recommended
    |suggests?|suggested|insists?|argues?|states(?=\sthat\b|:|,)|stated)\b
    |\baccording\ to\b(?!(?:\s[\w-]+){0,3}\s(?:conventions?|guidelines?|standards?|styles?|rules?|requirements?|needs)\b)|\b(?:he|she|they)\s(?:want|wants|wanted
    |asked|asks)\b|\b(?:says|said):?\s?"""
    + MASK_CHARACTER
    + r"|(?:写着|写道|说)[：:]\s?"
    + MASK_CHARACTER
    + r"|(?:老板|文档|同事|客户|经理|他|她|他们|手册|书|文章|领导|网上|有人)(?:里|中|上)?(?:说|要求|认为|建议|写着|写道|想|希望)"
    r"|\b(?!(?:ich|du|wir|und|wie|was)\b)\w+\s(?:(?:sagte?|schreibt|schrieb|meinte?|empfiehlt|verlangt|behauptet)\b|"
    r"(?:steht|heißt\ses)(?:\s\w+)?\s?[,:])|\blaut\s(?!meine[mr]\b)\w+"
    r"|\b(?!(?:je|tu|on|qui|ne|ai|avais|déjà|bien)\b)\w+\s(?:dit|écrit|recommande|demande|affirme)\s?(?:que\b|qu['’]|de\b|:)|\b(?:selon|d['’]après)\s"
    r"|\b(?!(?:yo|eu|que|no|não|já|te|lhe)\b)\w+\s(?:dice|dijo|escribe|escribió|recomienda|pide|diz|disse|escreve|escreveu|recomenda|pede)"
    r"\s?(?:que\b|:)|\b(?:según|segundo)\s(?:el|la|los|las|o|a|os|as)\b"
    r"|\b(?!(?:я|ты|мы|же|уже|ведь|тебе)\b)\w+\s(?:говорит|пишет|сказала?|написала?|советует|требует|утверждает)\b|\b(?:по\sсловам|согласно)\s"
    r"|によると|によれば|(?:から|より)の(?:メール|メッセージ|連絡|指示)|(?:さん|氏|上司|同僚|彼|彼女)(?:が|は)[^。]{0,60}と(?:言っ|書い|述べ)"
    r"|と書いてあ|来(?:信|邮件)[:：]"
    r"|(?:팀장|부장|대표|상사|사장|고객|동료|선배|매니저|문서|위키|가이드|블로그)[^.]{0,40}(?:라고|다고|자고|래요?|랍니다|적혀|쓰여|써 있)"
)
_NAMED_SECRET = lazy_pattern(
    r"\b(?:pass ?word|passwd|pass ?phrase|pin|api[ _-]?key|access[ _-]?key|secret(?: key)?|"
    r"token|credentials?)\b(?!s?[ -](?:polic|rule|require|rotat|reset|length|expir|manager|hash|"
    r"field|limit|budget|count|usage|window|cost|estimat|format|type))[^.]{0,30}?"
    r"(?:\bis\b|\bare\b|[:=])"
    r"|(?:비밀번호|비번|암호)(?:는|은|가|:)"
    r"|(?:密码|口令|密钥|令牌)[^。]{0,10}?(?:是|为|[:：=])|\b(?:sk|ghp|gho|xox[abp]|AKIA)[-_A-Za-z0-9]{12,}",
    re.IGNORECASE,
)
_JUDGEMENT = lazy_pattern(
    r"\b(?:lazy|stupid|idiots?|incompetent|moron|dumb|useless|clueless|unreliable|annoying|"
    r"terrible|an ass|toxic|arrogant"
    r"|a jerk|jerk|sloppy|slacker|never (?:answers|listens|replies|delivers)"
    r"|can['’]t code|bad at)\b|拖延|懒|笨|蠢|不靠谱|没用|白痴|废物|差劲|推卸|甩锅|自大|讨人厌",
    re.IGNORECASE,
)
_PERSON_SUBJECT = lazy_pattern(
    r"\b(?:he|she|they|(?-i:[A-Z][a-z]+)) (?:is|are|was|always|never|keeps?|tends?)\b|"
    r"[小老]?[一-龥]{1,3}(?:总是|很|太|真|一直|是个)",
    re.IGNORECASE,
)
_DERIVABLE_FACT = lazy_pattern(
    r"""\b(?:is|are|lives?|located|defined|implemented|declared|found|sits?)\ (?:in|at|under|inside)\ (?:the\ )?
    (?:file\ )?[`\ue000]?(?!(?:[\w-]+\.)+(?:com|net|org|io|dev|app|example|de|fr|eu|br|ru|cn|jp|kr|co|ai|cloud|internal|corp)(?:[/:,!?]|\.?\s|\.?$))(?:[\w.-]+/)+[\w.-]*|\b(?:is|are|lives?|located|defined|implemented)\ (?:in|at|under)\ (?!(?:[\w-]+\.)+(?:com|net|org|io|dev|app|example|de|fr|eu|br|ru|cn|jp|kr|co|ai|cloud|internal|corp)(?:[/:,!?]|\.?\s|\.?$))[\w-]+\.\w{1,4}\b
    |\b(?:was|were|got|has\ been|have\ been)\ (?:fixed|changed|added|merged|introduced|removed|renamed|committed|reverted)\ (?:in|by|with|on)\b
    |\b(?:as|like)\ (?:the\ )?(?:CLAUDE|AGENTS|CONTRIBUTING|README)(?:\.md)?\ (?:says|states|explains)|\b(?:see|in
    |from)\ (?:the\ )?(?:CLAUDE|AGENTS|CONTRIBUTING)\.md""",
    re.IGNORECASE | re.VERBOSE,
)
_FIX_RECIPE = lazy_pattern(
    r"\bto (?:fix|work around|get around|resolve|repair|unbreak) (?!up\b)|\bthe (?:fix|"
    r"workaround|solution|root cause) (?:is"
    r"|was)\b|\bfix(?:es|ed) (?:the|this|that|it) by\b|解决办法|修复方法|规避方法",
    re.IGNORECASE,
)
_PASSING_STATE = lazy_pattern(
    r"""\b(?:builds?|ci|tests?|checks?|jobs?|suites?|pipelines?|workflows?|runs?|main|master|trunk|branch|it|all|everything)
    (?:\ is|\ are|['’]s|['’]re)\ (?:currently\ |now\ |all\ |still\ |again\ )*(?:red|green)\b
    |\b(?:is|are|['’]s|['’]re)\ (?:currently\ |now\ |still\ |again\ )?(?:broken|down|failing|running
    |building|deploying|stuck|blocked|flaky|slow)\b|\bright\ now\b|\bat\ the\ moment\b|\bfor\ (?:now|today)\b|\bas\ of\ today\b
    |\bin\ the\ middle\ of\b|\bwe\ (?:still\ )?(?:have|need)\ to\ (?:do|finish|fix)\b|\bsteps?\ \d|\b(?:next
    |last)\ step\b|\bI['’]ve\ (?:just|already)\b|\bwe['’]re\ (?:now\ )?on\ (?:branch|the)\b|目前|暂时|现在(?!开始|起|用)|这会儿|刚才(?!说)""",
    re.IGNORECASE | re.VERBOSE,
)
_TASK_NAMED = lazy_pattern(
    r"""\b(?:this|that|these|those|the\ (?:other|above|current|last|previous|following))\ (?:\w+\ )?(?:functions?
    |files?|lines?|tests?|branch(?:es)?|endpoints?|methods?|class(?:es)?|button|page|component|pr|prs|commits?|step
    |bug|error|time|one|issue|change|changes|script
    |module|loop|variable|parameter|argument|query|field|column|table|case|block|section|task|fix|patch|plugin|skill
    |hook|option|variant|approach|version|idea|screen|view|ticket|server|build|run|job|image|chart|plan|design|feature|method)\b
    |\bthis\ (?!is\b|was\b|(?:whole|entire)\b|repo|project|codebase|code\ base|mono|team|company|org|workspace|machine|laptop|computer|phone|device|box|year|month|week
    |quarter|way|style|kind|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\w+
    |\blines?\ \d+|\b(?:first|second|third|last)\ (?:argument|parameter|line|one|test|column|option|variant|approach
    |version)\b|\bwith\ this\b|\bthis\ (?:again|too|yet|as\ well)\b|\bin\ here\b|第.{1,4}(?:行|个|步|列)|这个(?:文件
    |函数|方法|分支|接口|页面|按钮|测试|变量)|帮我(?:实现|加|改一?下|做|写一?个|修|看|处理)|加一下|改一下|这里|这一?次|这段|这行""",
    re.IGNORECASE | re.VERBOSE,
)
_LIKE_PICTURE = lazy_pattern(
    r"\b(?:like|as|as shown|shown|as you (?:can )?see) (?:in|on) (?:this|that|the) (?:attached |pasted )?(?:picture|image|screenshot|photo|mock-?up|drawing|sketch)\b",
    re.IGNORECASE,
)
"""Refers to a picture for how something looks, which need not be the task."""
_TASK_BEHIND = lazy_pattern(
    r"[;,] (?:so |and |please |then |now )*(?:implement|fix|adapt|change|update|remove|rewrite|hurry|look at|check the)\b",
    re.IGNORECASE,
)
"""A task behind a statement; behind a condition that comes again ("whenever you add an endpoint,
update the docs") the same words are the rule.
"""
_RECURRING = lazy_pattern(
    r"(?:please |also |and )*(?:whenever|(?:every|each|any) ?time|for (?:every|each|any)|(?:when|if|before|after|once) you(?:['’]ve| have)? (?:ever )?"
    r"(?:add|chang|creat|remov|delet|renam|touch|edit|introduc|mov|writ|modif|bump|updat)\w*|(?:when|before|after) (?:add|chang|creat|remov|delet|renam|touch|edit|introduc|mov|writ|modif|bump|updat)ing)\b",
    re.IGNORECASE,
)
_PART_OF_EACH = lazy_pattern(
    r"\bthe (?:first|last) (?:line|parameter|argument|column)\b", re.IGNORECASE
)
"""A part that each text of a kind has: "when you write a commit message, keep the first line short"."""
_TASK_HINTED = lazy_pattern(
    r"""(?<!from\ )\bhere\b(?!\s*(?:[.!]*$|,\s*(?:but\s|not\s|and\s)?(?:use|using|always|never|only)\b|,\s*not\s+[\w@/.-]+\W*$))|\bthe\ [\w-]+\ (?:variant|option|approach|version|one|colou?r|design)\b|\b(?:today|tonight
    |just\ once|once|(?:option|variant|step|version|approach)\ \w{1,2}|the\ (?:first|second|third|former|latter|other
    |current|new|old)(?:\ \w+)?|this|these|those|it\ instead|now|yet|already|until|unless\ it)\s*(?:[.,!;]|$|\band\b|\bplease\b|\binstead\b)
    |\b(?:option|variant|approach|version)\ (?:\d|[a-d]\b)|\bthe\ (?:first|second|third|former|latter|other)\b|\b
    (?:maybe|perhaps|for\ example)\b|\b[A-Za-z][\w/-]*\.(?:ts|tsx|js|jsx|py|go|rs|java|kt|rb|php|css|scss|html|vue
    |json|ya?ml|toml|c|cc|cpp|h|sql|sh)\b|\b(?:in|of|inside)\ \ue000
    |\bthe\ (?:\w+\ )?(?:file|function|endpoint|table|response|request|method|class|component|column|field|array|list
    |loop|query|header|button|page|form|modal|script|payload|parameter|argument|cache|server)\ (?:is|are|was|has|can
    |may|might|returns?|gets?|takes?|contains?)\b|方案|这个吧|那个""",
    re.IGNORECASE | re.VERBOSE,
)


_PROGRAM_NOUN = lazy_pattern(
    r"""\b(?:rows?|tokens?|passwords?|ports?|endpoints?|(?<!pull\ )(?<!merge\ )(?<!feature\ )requests?|responses?|columns?|sockets?|users?(?!-)|inputs?|null|javascript\ disabled
    |timeouts?|retries|payloads?|sessions?\ cookies?)\b
    |\bin\ the\ [\w-]+\ (?:file|function|class|method|module|component|table|page|form|handler)\b
    |\b(?:an?\ error|the\ error|crash(?:es)?|fails|an\ exception)\b|报错|报了|失败|为什么|崩溃|用户""",
    re.IGNORECASE | re.VERBOSE,
)
"""What programs deal with: a plain "always" beside it describes the program's behaviour."""


_HAPPENED = lazy_pattern(
    # English, German, French: a participle, or the same again.
    r"(?:never|always) (?:seen|had|been|gotten|done|heard|worked|happened|tried|wanted)\b"
    r"|(?:we|i) (?:always|never) (?:get|see|receive|hit|run into|end up)\b(?=.*\b(?:[45]\d\d|errors?|timeouts?|exceptions?|fail\w*|crash\w*|warnings?|null|undefined|nan|blank|nothing|empty|stuck)\b)"
    r"|(?:nie(?:mals)?|immer) (?:(?:zuvor|vorher|richtig|so (?:et)?was) )?(?:ge\w{2,}(?:t|en)|\w{3,}iert|\w*(?:funden|kommen|standen))\W*$|immer (?:noch|wieder|nur|d(?:er|ie|as|en) (?:gleich|selb)\w+|d\w+selbe\w*)\b"
    r"|(?:toujours|jamais) (?:(?:l[ea]|les) mêmes?|pareil\w*|rien|aucune?|pas|là|d['’]accord|en (?:erreur|panne|échec|cours|attente|rouge)|bloquée?s?|cassée?s?|(?:rien |bien )?(?:vu|eu|fait|pu|su|réussi|\w{3,}(?:é|ée|és|ées))\b)"
    r"|(?:we|i|you) (?:always|never) (?:(?:get|see|hit|had|got|have) (?:the same|this|that|an? (?:error|timeout|crash|exception|warning)|errors?|stuck|lost|timeouts?|null|undefined)\b|end(?:ed)? up\b|r[ua]n into\b|got (?:this|that) far)"
    r"|(?:nunca|jamás|jamais) (?:vimos|tuvimos|tivemos|pudimos|hubo|houve|llegamos|chegamos)\b"
    # Spanish and Portuguese: a verb in the past, or one of what happens by itself.
    r"|siempre (?:me|te|nos|le) (?!\w+[ae]s\b)\w+|(?:(?:casi|quase) )?(?:siempre|sempre|nunca|jamás|jamais) (?:(?:me|te|se|nos|lo|la|le|o|a) )?(?:\w{2,}(?:ó|ou|eu|iu|aron|ieron|aram|eram|iram|aban?|ábamos|avam?|ían?|iste|aste)|"
    r"vio?|viu|fu[ei]|foi|eram?|hizo|fez|tuv[eo]|tive|teve|pud[eo]|dijo|disse|tinha|havia|he|ha|hemos|han|hay|há|fall[ao]n?|falham?|funcionan?|funcionam|salen?|sai|saem|aparecen?m?|dá|d[ae]n?(?= (?:error|timeout|fallo|problem))|tardan?|demoram?|ca[ei]n?|quedan?|fica|está\w*|es|é|"
    r"temos|tenemos|vemos|son|são|tem|tengo|tenho|pasan?|acontece|ocurren?|ocorre|devuelven?|retornan?m?|volta|muere|morre|trava|llega\w*|chega\w*|recibo|recebo|veo|vejo|puedo|consigo)\b"
    r"|(?:siempre|sempre|nunca) (?:l[oa]s? |[oa]s? )?mesm[oa]s?\b|(?:siempre (?:l[oa]s?|el)|nunca lo) mism[oa]s?\b",
    re.IGNORECASE,
)
"""Says how often something happened, with a form of the verb that orders nothing."""


def tells_how_often(sentence: str) -> bool:
    """Whether it reports how often something happened: "nunca funcionó", "jamais vu ça"."""
    return _HAPPENED.match(sentence) is not None


def remove_tag_question(sentence: str) -> str:
    """The sentence without a question for assent at its end."""
    return _TAG.sub("", sentence) if "?" in sentence or "？" in sentence else sentence


@lru_cache(SENTENCE_CACHE_SIZE)
def is_question_or_supposition(sentence: str) -> bool:
    """Whether it is a question, a supposition or a doubt; a request put as a question is not."""
    sentence = remove_tag_question(sentence)
    return (
        _QUESTION.search(sentence) is not None
        and not is_polite_request(sentence)
        and not _STANDING_CONDITION.fullmatch(sentence)
    )


def is_polite_request(sentence: str) -> bool:
    """Whether it is a request in the form of a question."""
    return _POLITE_REQUEST.match(sentence) is not None


@lru_cache(SENTENCE_CACHE_SIZE)
def is_reported_speech(sentence: str) -> bool:
    """Whether it reports another party's words."""
    return _REPORTED_SPEECH.is_in(sentence)


def states_secret_value(text: str) -> bool:
    """Whether it says what a password, a key or a token is; not what holds for them."""
    return _NAMED_SECRET.search(text) is not None


def is_forbidden_in_memory(text: str) -> bool:
    """Whether it must never be kept, even on request (AM-7)."""
    return bool(name_forbidden_content(text))


@lru_cache(SENTENCE_CACHE_SIZE)
def name_forbidden_content(text: str) -> str:
    """What a text holds that is never kept, in words; empty where it may be kept."""
    for pattern, what in _FORBIDDEN:
        if pattern.search(text):
            return what
    is_judgement = _JUDGEMENT.search(text) is not None and _PERSON_SUBJECT.search(text) is not None
    return "a judgement of a person" if is_judgement else ""


_JOINT = lazy_pattern(r"[,;:–—]\s|\s-\s|\s(?:and|und|et|y|e|и) ", re.IGNORECASE)


def find_clause_before_code_location(masked: str, start: int) -> tuple[int, int] | None:
    """Where the clauses in front of one that says where something is in the code are; None where
    nothing stands in front of it.
    """
    found = _DERIVABLE_FACT.search(masked, start)
    ends = [each.start() for each in _JOINT.finditer(masked, start, found.start())] if found else []
    return (start, ends[-1]) if ends else None


_FORBIDDEN = (
    (_NAMED_SECRET, "a secret"),
    (_DERIVABLE_FACT, "what the code or its history shows"),
    (_FIX_RECIPE, "how a fault was mended"),
    (_PASSING_STATE, "a passing state"),
)


def is_task_bound(text: str, *, include_hints: bool) -> bool:
    """Whether words bind it to the current task; `include_hints` also counts words that only hint
    at it.
    """
    recurs = _RECURRING.match(text) is not None
    if _TASK_NAMED.search(text) is not None:
        other = _LIKE_PICTURE.sub("", _PART_OF_EACH.sub("", text) if recurs else text)
        if _TASK_NAMED.search(other) is not None:
            return True
    if _TASK_BEHIND.search(text) is not None and not recurs:
        return True
    return include_hints and any(pattern.search(text) for pattern in (_TASK_HINTED, _PROGRAM_NOUN))
