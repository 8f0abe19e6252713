"""English patterns for remembering, forgetting, standing rules and corrections. Pure."""

from __future__ import annotations

from memorist.auto_memory.statements.statement_patterns import (
    ANY_ORDER,
    FROM_NOW_ON,
    NEGATION,
    ORDER,
    PROJECT_NOUN,
    SOFTENERS,
    VERB,
    StatementPattern,
    define_statement_pattern,
)

_POLITE_START = (
    r"(?:(?:can|could|would|will) you (?:please |also )*|i(?:['’]d like| want| need) you to |"
    r"you (?:should|must|need to"
    r"|have to) |let['’]s )?"
)
_FACT_START = (
    r"(?:i|i['’]m|i['’]ve|i['’]d|we|we['’]re|we['’]ve|my|our|all|every|the|there|no|any|"
    r"you|it['’]s)"
)
_MEMORY = r"(?:memory|memories)"
_SEPARATOR = r"\s*[:–—-]\s*"
_PAUSE = r"\s*[:,–—-]\s*"
_FACT_AHEAD = (
    rf"(?=(?:i|i['’]m|i['’]ve|we|we['’]re|we['’]ve|my|our|in (?:this|our)|from|all|every|"
    rf"no|only|use)\b|{NEGATION}\b|always|never)"
)
_REPEATED = (
    r"(?=.*\b(?:always|every|each|whenever|before (?:you|any)|after you|in (?:the )?future|"
    r"from now on|any ?time)\b)"
)
_REMEMBER_VERB = r"(?:you )?(?:keep in mind|remember|don['’]?t forget|note|memori[sz]e)"
_AGENT_HABIT = (
    r"(?:add|us|apologi[sz]|creat|writ|summari[sz]|ask|commit|repeat|explain|say|guess|mock|"
    r"mak|putt|edit|forgett|chang|push|format|suggest"
    r"|tell|call|print|wrapp|invent|hedg|assum|install|touch|renam|delet|remov|refactor|"
    r"introduc|append|leav|prefix|giv"
    r"|skipp|ignor|switch|plac|reformatt|rewrit|overwrit|propos|prais|flatter|over-?engineer|"
    r"over-?complicat|duplicat"
    r"|hard-?cod|nest|mention)ing"
)

_NO_PROGRAM_USE = (
    r"(?!(?:scroll|click|open|hover|type|press|log|sign|visit|refresh|resize|load|submit|"
    r"select|navigate|deploy|start|restart|save)\b)"
)
"""What a user does to a program, not an agent: after "when you" it begins a bug report."""
_POLITE_QUESTION = r"(?:(?:can|could|would|will) you (?:please )?)?"

_PROGRAM_VERB = (
    r"(?:return|show|display|render|sort|throw|raise|store|cache|retry|redirect|fetch|load|"
    r"close|open|hide|convert|trim|send"
    r"|start|stop|end|restart|trust|save"
    r"|validate|order|group|filter|log|print|call|see|get|reach|be able|end up|happen|round|"
    r"escape|encode|decode|parse|clear"
    r"|reset|include|exclude)"
)
"""What programs do as well as agents: after a bare "always" it may describe the wanted code."""

ENGLISH_REMEMBER_PATTERNS: tuple[StatementPattern, ...] = (
    define_statement_pattern(
        "remember",
        rf"{_POLITE_START}(?:please )?remember,? (?P<text>(?:(?:for|in|across) (?:all|every|each)"
        r" (?:(?:of )?my |single )?(?:projects?|repos?|repositor(?:y|ies))|everywhere)"
        r"(?:\s*[:,–—-]\s*| )(?:that )?\S.{3,})",
    ),
    define_statement_pattern(
        "remember",
        rf"{_POLITE_START}(?:please )?remember(?:,? please)?(?: (?:this|it|that)"
        rf")?(?:{_SEPARATOR}| that |,\s*{_FACT_AHEAD})(?:that )?(?P<text>.+)",
    ),
    define_statement_pattern(
        "remember",
        rf"{_POLITE_START}remember (?P<text>{_FACT_START}\b(?<!\bthe)(?<!\bit['’]s).+)",
        unless=r"(?:my|our|all|the|any) (?:[\w-]+ ?){1,3}[.!]*$",
    ),
    define_statement_pattern(
        "remember",
        rf"(?:.{{0,24}}\b)?{_REMEMBER_VERB} (?:this|it|that)(?: please)?\s*[:–—]\s*(?P<text>.+)",
    ),
    define_statement_pattern(
        "remember",
        rf"{_POLITE_START}(?:keep|bear) in mind(?: that |{_PAUSE}| )(?P<text>.+)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "remember",
        rf"{_POLITE_START}(?:(?:make|take) a (?:mental )?note|note (?:it )?down)(?: that "
        rf"|{_SEPARATOR}| of the fact that )(?P<text>.+)",
    ),
    define_statement_pattern(
        "remember",
        rf"(?:a )?notes? (?:for (?:the )?(?:future|next time|later sessions|your memory)|to "
        rf"(?:your )?memory){_PAUSE}(?P<text>.+)",
    ),
    define_statement_pattern(
        "remember", r"for (?:future reference|your memory|your records)\s*[:,–—-]?\s*(?P<text>.+)"
    ),
    define_statement_pattern(
        "remember", rf"{NEGATION} forget(?: that |{_SEPARATOR}|,\s*{_FACT_AHEAD})(?P<text>.+)"
    ),
    define_statement_pattern(
        "remember", rf"never forget(?: that |{_SEPARATOR}|,\s*{_FACT_AHEAD})(?P<text>.+)"
    ),
    define_statement_pattern(
        "remember",
        rf"{_POLITE_START}(?:save|add|write|put|commit|store)(?: (?:this|that|it))? (?:to|in|"
        rf"into) (?:your |the |long.term )?{_MEMORY}"
        rf"(?:{_PAUSE}| that )(?P<text>.+)",
    ),
    define_statement_pattern(
        "remember", rf"{_POLITE_START}memori[sz]e(?: that |{_PAUSE})(?P<text>.+)"
    ),
    define_statement_pattern(
        "remember",
        rf"(?P<text>.{{10,}}?)\s*[,;–—-]+\s*(?:so |and |please )*{_REMEMBER_VERB} (?:that|this|"
        rf"it)(?: please)?[.!]*$",
    ),
    define_statement_pattern(
        "remember",
        rf"{_POLITE_START}(?:remember|{NEGATION} forget|keep in mind) (?P<text>(?:to|not to)"
        rf" {_REPEATED}.+)",
        rejects_task_words=True,
    ),
)

ENGLISH_CORRECTION_PATTERNS: tuple[StatementPattern, ...] = (
    define_statement_pattern(
        "correction", rf"(?P<text>(?:stop|quit) {_AGENT_HABIT}\b.+)", rejects_task_words=True
    ),
    define_statement_pattern(
        "correction",
        r"i(?:['’]ve| have)? (?:already |repeatedly )?(?:told|asked) you (?:(?:before|already|"
        r"repeatedly|many times"
        r"|several times|\w+ times) )?"
        r"(?P<text>(?:not|never) to .+|to (?:always|never) .+)",
        unless=r".*\b(?:yet|until|now)\b",
    ),
    define_statement_pattern(
        "correction",
        rf"i(?:['’]ve| have)? (?:already )?(?:said|told you)(?: it| this| that)?(?: (?:before|"
        rf"already|repeatedly|twice|many times"
        rf"|\w+ times|again and again))\s*[:,–—-]\s*"
        rf"(?P<text>(?:{ORDER}|no|we|our|in) .+)",
    ),
    define_statement_pattern(
        "correction",
        rf"how (?:many times|often) do i (?:have|need) to "
        rf".{{1,40}}?\s*[:?–—-]\s*(?P<text>(?:{ORDER}|no|we) .+)",
    ),
    define_statement_pattern(
        "correction",
        rf"(?:once )?again\s*[:,–—-]\s*(?P<text>(?:no |{NEGATION} |never |always |we )\S.+)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "correction",
        rf"(?P<text>{NEGATION} .+ (?:any ?more|ever again)\b.*)",
        rejects_task_words=True,
    ),
    define_statement_pattern("correction", rf"(?P<text>you keep (?={_AGENT_HABIT}\b).+)"),
    define_statement_pattern(
        "correction",
        r"(?:.{0,40}, )?(?P<text>keep (?:doing|using|writing|making) (?!(?:that|this|it|so|what)\b).+)",
        after=r"(?:exactly|perfect|great|yes|love|like (?:that|this)|good)",
    ),
    define_statement_pattern(
        "correction",
        rf"(?P<text>.*\b{VERB}\b.*\bso (?:that )?i(?:['’]ll| will)? (?:only|don['’]?t|do not|"
        rf"won['’]?t|will not|never) (?:have|need) to "
        r"(?:approve|confirm|allow|click|read)\b.*)",
    ),
)
"""What follows `no,` is also matched against the rules, in
`memorist.auto_memory.statements.statement_parser`.
"""

ENGLISH_RULE_PATTERNS: tuple[StatementPattern, ...] = (
    define_statement_pattern(
        "rule",
        rf"{FROM_NOW_ON}\s*[:,–—-]?\s*{_POLITE_QUESTION}(?P<text>(?:{ORDER}|{ANY_ORDER}\S+|no|you (?:should|"
        rf"must|will|always|never|only|{VERB})|we (?:must"
        rf"|always|never|only|(?!(?:get|see|hit|reach|run into|end up)\b){VERB})|i (?:want|prefer|expect)|i['’]d (?:like|rather|prefer)|all|"
        rf"every|when(?:ever)?|if|before|after"
        rf"|each time) .+)",
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>(?:{ORDER} |{ANY_ORDER}|(?:no|i (?:want|expect) you to) ).+?),? {FROM_NOW_ON}\s*[.!]*$",
        unless=r"(?:think|consider|look|find|figure|explain|tell|describe|propose|suggest)\b|"
        r".*\bhow (?:you|to|we)\b",
    ),
    define_statement_pattern(
        "rule", rf"(?P<text>(?:every|each|any) ?time you {_NO_PROGRAM_USE}.+?, ?{ORDER}.*)"
    ),
    define_statement_pattern(
        "rule", rf"(?P<text>whenever (?:you|i|we) {_NO_PROGRAM_USE}.+?, ?{ORDER}.*)"
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>(?:when|if|before|after) (?:you|i|we|writing|adding|changing|creating|"
        rf"editing|working)\b.+?, ?(?:please |you "
        rf"(?:should|must) )?(?:always|never) {VERB}\b.*)",
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}(?:always|never)(?: ever)? (?!give up|say never|look (?:back|"
        rf"forward)|{_PROGRAM_VERB}\b){SOFTENERS}"
        rf"(?:\w+ly )?{VERB}\b(?!['’]s).*)",
        rejects_task_words=True,
    ),
    define_statement_pattern("rule", rf"(?P<text>(?:{NEGATION}|do not) ever {VERB}\b.*)"),
    define_statement_pattern("rule", rf"(?P<text>{ORDER} .+ every (?:single )?time\s*[.!]*$)"),
    define_statement_pattern(
        "rule",
        rf"(?P<text>[^,]{{3,80}}, (?:and |but |so |please )*(?:always|never|{NEGATION} ever) "
        rf"(?!{_PROGRAM_VERB}\b){VERB}\b.*)",
        rejects_task_words=True,
        unless=r"(?:if|when|because|since|it|that|the|this|there)\b"
        r"|(?:write|create|implement|build|add|generate|draft|design|compose|make|refactor|rename|"
        r"rewrite|port|convert|translate) (?:a|an|the|this|that|these|me|my|another|some)\b",
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>(?:you|we) (?:should|must|need to|have to|are to) (?:always|never) "
        rf"(?!{_PROGRAM_VERB}\b).+)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:make sure|ensure|be sure)(?: that)? (?:you|to|we) (?:always|never) .+)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>i (?:always|never) want (?:you|to (?:see|know|be|review|approve|have|hear|"
        r"read))\b.+)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>i (?:want|need|expect) you to (?:always|never) .+)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>i (?:(?:strongly|really|much|generally|usually|always|personally|tend to) "
        r")*prefer (?!to (?:see|go|do|try)\b"
        r"|if\b|when\b|that we\b|the\b|this\b|that\b|these\b|those\b|your\b|it\b|not\b|one\b).+)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>i['’]d (?:much |really )?(?:rather|prefer(?: it if| if| that)?) "
        r"you(?:['’]d)? .+)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>i (?:really )?(?:don['’]?t|do not) (?:like|want|appreciate|enjoy|need|care "
        r"for) (?:it )?(?:when you"
        r"|you to ever|you ever|you to always)\b.+)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>i (?:really )?(?:hate (?:it )?|dislike (?:it )?|can['’]?t stand (?:it )?|"
        r"(?:love|like"
        r"|appreciate) it )when you " + _NO_PROGRAM_USE + r".+)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>we (?:only |always |all )?(?:use|write|deploy with|test with|build with|"
        r"prefer|go with|ship) (?!an?\b|the\b"
        r"|it\b|this\b|that\b)[^.]{1,60}?[,;]? (?:not|never|instead of|rather than|over|and "
        r"not|no) .+)",
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>we (?:always|never) (?!look forward|say never){VERB}\b.*)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>we {NEGATION} (?:use|do|write|allow|commit|want|accept|merge|ship) "
        rf".+\b(?:in this|in our|at this) {PROJECT_NOUN}\b.*)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>we (?:should|must|need to|have to) .+\b(?:wherever|everywhere|whenever)\b.*)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>in (?:this|our|all my|all our) {PROJECT_NOUN},? (?:we (?:always |never |"
        rf"only |don['’]t )?{VERB}|{NEGATION}|always"
        rf"|never|all|every|no)\b.+)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>in (?:this|our) {PROJECT_NOUN},? .{{3,80}}\b(?:we (?:always|never|"
        rf"only|{NEGATION})|forbidden|not allowed)\b.*)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>{ORDER} .+,? (?<!\bas )(?<!\blike )always\s*[.!]*$)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:every|each|all) (?:commits?|prs?|pull requests?|merge requests?|"
        r"branch(?:es)?|migrations?|releases?"
        r"|bug ?fix(?:es)?|commit messages?)\b.{0,40}?\b(?:needs?|must|has to|have to)\b.+)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>(?:when|if) (?:you(?:['’]re| are) )?(?:in doubt|unsure|not sure)(?: about "
        rf".{{1,40}}?)?,? {ORDER}.*)",
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>(?:for|across|in) (?:all|every|each)(?: of)?(?: my| our)? {PROJECT_NOUN},? .+)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>(?:no|never|always|avoid|{NEGATION}) .+ (?:in (?:this|our) {PROJECT_NOUN}|"
        rf"across (?:the|all) {PROJECT_NOUN}|ever)\s*[.!]*$)",
        unless=r".*\b(?:if|whether|where|all|every|find|search)\b",
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>by default,? {SOFTENERS}(?:reply|answer|respond|write|use|ask|explain|keep|"
        rf"work|assume|commit|run|{NEGATION}) .+)",
        unless=r".*\b(?:if|when|unless) (?:the|no|there|it)\b",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>our (?:\w+ )?(?:convention|rule|policy|standard|practice|guideline|"
        r"agreement) (?:is|says|for)\b.+)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:we|(?:the|our|my) team)(?:['’]ve| have| has)? (?:all )?(?:decided|agreed|settled|committed) (?:with "
        r"[^,.]{2,40}? )?(?:to|on|that"
        r"|against|not to)\b.+)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:the|our) (?:\w+ ){0,3}(?:deadline|due date|freeze|code freeze|launch|"
        r"go-live|release)(?: (?:for"
        r"|of) .{1,40}?)? (?:is|begins|starts|ends) (?:on |by |in |due )?(?=[^.]*(?:\d|day\b|"
        r"week|month|january|february|march"
        r"|april|may|june|july|august|september|october|november|december)).+)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:\w+ ){1,3}(?:go|goes|belong|belongs|live|lives|are tracked|is tracked|"
        r"are filed|are reported"
        r"|are discussed) (?:to|in|into|at|on|under) .*(?:https?://|slack|jira|linear|"
        r"confluence|notion|grafana|sentry|datadog"
        r"|trello|asana|teams channel|dashboard|tracker|board\b).*)",
        rejects_task_words=True,
    ),
    define_statement_pattern("rule", r"(?P<text>(?:just |please )?call me (?-i:[A-Z])[\w-]+.*)"),
    define_statement_pattern(
        "rule",
        r"(?P<text>my (?:name|pronouns|time ?zone|native language|first language) (?:is|are) "
        r"(?!in\b|on\b|at\b|not\b|missing"
        r"|wrong|misspelled).+)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>i(?:['’]m| am) (?:an? |the )(?:[\w-]+ ){0,4}(?:engineer|developer|"
        r"programmer|designer|scientist|student"
        r"|researcher|analyst|beginner|teacher|founder|architect|sysadmin|administrator|"
        r"maintainer|dba|product manager|pm|sre|cto"
        r"|novice|newcomer|lawyer|writer|consultant|freelancer|intern)\b(?! (?:key|account|"
        r"token|role)).*)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>i(?:['’]m| am) (?:(?:completely|totally|fairly|quite|very|pretty|relatively)"
        r" )?(?:new to|unfamiliar with"
        r"|not familiar with|fluent in|experienced (?:in|with)|colou?r-?blind|dyslexic|based "
        r"in) .*)",
        unless=r".*\b(?:this (?:file|bug|error|function|pr|branch))\b",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>i(?:['’]ve| have) (?:been (?:writing|doing|using|working (?:with|in|on|as)|"
        r"programming(?: in)?|coding(?: in)?"
        r"|developing|an? [\w ]{2,30}?)|worked (?:with|in|as)) .+ (?:for|since) (?:(?:a|the "
        r"last|about|over|more than|almost"
        r"|nearly|around|\w+|\d+) ){0,3}"
        r"(?:decades?|years?|\d{4})\b.*)",
    ),
)
