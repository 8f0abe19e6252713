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
    parse_statement_patterns,
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

ENGLISH_REMEMBER_PATTERNS: tuple[StatementPattern, ...] = parse_statement_patterns(
    rf"""
    remember: {_POLITE_START}(?:please )?remember,? (?P<text>(?:(?:for|in|across) (?:all|every|each) (?:(?:of )?my |single )?(?:projects?|repos?
        |repositor(?:y|ies))|everywhere)(?:\s*[:,–—-]\s*| )(?:that )?\S.{{3,}})
    remember: {_POLITE_START}(?:please )?remember(?:,? please)?(?: (?:this|it|that))?(?:{_SEPARATOR}| that |,\s*{_FACT_AHEAD})(?:that )?(?P<text>.+)
    remember: {_POLITE_START}remember (?P<text>{_FACT_START}\b(?<!\bthe)(?<!\bit['’]s).+)
      unless: (?:my|our|all|the|any) (?:[\w-]+ ?){{1,3}}[.!]*$
    remember: (?:.{{0,24}}\b)?{_REMEMBER_VERB} (?:this|it|that)(?: please)?\s*[:–—]\s*(?P<text>.+)
    remember beyond tasks: {_POLITE_START}(?:keep|bear) in mind(?: that |{_PAUSE}| )(?P<text>.+)
    remember: {_POLITE_START}(?:(?:make|take) a (?:mental )?note|note (?:it )?down)(?: that |{_SEPARATOR}| of the fact that )(?P<text>.+)
    remember: (?:a )?notes? (?:for (?:the )?(?:future|next time|later sessions|your memory)|to (?:your )?memory){_PAUSE}(?P<text>.+)
    remember: for (?:future reference|your memory|your records)\s*[:,–—-]?\s*(?P<text>.+)
    remember: {NEGATION} forget(?: that |{_SEPARATOR}|,\s*{_FACT_AHEAD})(?P<text>.+)
    remember: never forget(?: that |{_SEPARATOR}|,\s*{_FACT_AHEAD})(?P<text>.+)
    remember: {_POLITE_START}(?:save|add|write|put|commit|store)(?: (?:this|that|it))? (?:to|in|into) (?:your |the |long.term )?{_MEMORY}(?:{_PAUSE}
        | that )(?P<text>.+)
    remember: {_POLITE_START}memori[sz]e(?: that |{_PAUSE})(?P<text>.+)
    remember: (?P<text>.{{10,}}?)\s*[,;–—-]+\s*(?:so |and |please )*{_REMEMBER_VERB} (?:that|this|it)(?: please)?[.!]*$
    remember beyond tasks: {_POLITE_START}(?:remember|{NEGATION} forget|keep in mind) (?P<text>(?:to|not to) {_REPEATED}.+)
    """
)

ENGLISH_CORRECTION_PATTERNS: tuple[StatementPattern, ...] = parse_statement_patterns(
    rf"""
    correction beyond tasks: (?P<text>(?:stop|quit) {_AGENT_HABIT}\b.+)
    correction: i(?:['’]ve| have)? (?:already |repeatedly )?(?:told|asked) you (?:(?:before|already|repeatedly|many times|several times
        |\w+ times) )?(?P<text>(?:not|never) to .+|to (?:always|never) .+)
      unless: .*\b(?:yet|until|now)\b
    correction: i(?:['’]ve| have)? (?:already )?(?:said|told you)(?: it| this| that)?(?: (?:before|already|repeatedly|twice|many times|\w+ times
        |again and again))\s*[:,–—-]\s*(?P<text>(?:{ORDER}|no|we|our|in) .+)
    correction: how (?:many times|often) do i (?:have|need) to .{{1,40}}?\s*[:?–—-]\s*(?P<text>(?:{ORDER}|no|we) .+)
    correction beyond tasks: (?:once )?again\s*[:,–—-]\s*(?P<text>(?:no |{NEGATION} |never |always |we )\S.+)
    correction beyond tasks: (?P<text>{NEGATION} .+ (?:any ?more|ever again)\b.*)
    correction: (?P<text>you keep (?={_AGENT_HABIT}\b).+)
    correction: (?:.{{0,40}}, )?(?P<text>keep (?:doing|using|writing|making) (?!(?:that|this|it|so|what)\b).+)
      after: (?:exactly|perfect|great|yes|love|like (?:that|this)|good)
    correction: (?P<text>.*\b{VERB}\b.*\bso (?:that )?i(?:['’]ll| will)? (?:only|don['’]?t|do not|won['’]?t|will not|never) (?:have
        |need) to (?:approve|confirm|allow|click|read)\b.*)
    """
)
"""What follows `no,` is also matched against the rules, in
`memorist.auto_memory.statements.statement_parser`.
"""

ENGLISH_RULE_PATTERNS: tuple[StatementPattern, ...] = parse_statement_patterns(
    rf"""
    rule: {FROM_NOW_ON}\s*[:,–—-]?\s*{_POLITE_QUESTION}(?P<text>(?:{ORDER}|{ANY_ORDER}\S+|no|you (?:should|must|will|always|never|only|{VERB})
        |we (?:must|always|never|only|(?!(?:get|see|hit|reach|run into|end up)\b){VERB})|i (?:want|prefer|expect)|i['’]d (?:like|rather|prefer)|all
        |every|when(?:ever)?|if|before|after|each time) .+)
    rule: (?P<text>(?:{ORDER} |{ANY_ORDER}|(?:no|i (?:want|expect) you to) ).+?),? {FROM_NOW_ON}\s*[.!]*$
      unless: (?:think|consider|look|find|figure|explain|tell|describe|propose|suggest)\b|.*\bhow (?:you|to|we)\b
    rule: (?P<text>(?:every|each|any) ?time you {_NO_PROGRAM_USE}.+?, ?{ORDER}.*)
    rule: (?P<text>whenever (?:you|i|we) {_NO_PROGRAM_USE}.+?, ?{ORDER}.*)
    rule: (?P<text>(?:when|if|before|after) (?:you|i|we|writing|adding|changing|creating|editing|working)\b.+?, ?(?:please |you (?:should
        |must) )?(?:always|never) {VERB}\b.*)
    rule beyond tasks: (?P<text>{SOFTENERS}(?:always|never)(?: ever)? (?!give up|say never|look (?:back|forward)
        |{_PROGRAM_VERB}\b){SOFTENERS}(?:\w+ly )?{VERB}\b(?!['’]s).*)
    rule: (?P<text>(?:{NEGATION}|do not) ever {VERB}\b.*)
    rule: (?P<text>{ORDER} .+ every (?:single )?time\s*[.!]*$)
    rule beyond tasks: (?P<text>[^,]{{3,80}}, (?:and |but |so |please )*(?:always|never|{NEGATION} ever) (?!{_PROGRAM_VERB}\b){VERB}\b.*)
      unless: (?:if|when|because|since|it|that|the|this|there)\b|(?:write|create|implement|build|add|generate|draft|design|compose|make|refactor
        |rename|rewrite|port|convert|translate) (?:a|an|the|this|that|these|me|my|another|some)\b
    rule beyond tasks: (?P<text>(?:you|we) (?:should|must|need to|have to|are to) (?:always|never) (?!{_PROGRAM_VERB}\b).+)
    rule: (?P<text>(?:make sure|ensure|be sure)(?: that)? (?:you|to|we) (?:always|never) .+)
    rule: (?P<text>i (?:always|never) want (?:you|to (?:see|know|be|review|approve|have|hear|read))\b.+)
    rule beyond tasks: (?P<text>i (?:want|need|expect) you to (?:always|never) .+)
    rule beyond tasks: (?P<text>i (?:(?:strongly|really|much|generally|usually|always|personally|tend to) )*prefer (?!to (?:see|go|do|try)\b|if\b
        |when\b|that we\b|the\b|this\b|that\b|these\b|those\b|your\b|it\b|not\b|one\b).+)
    rule beyond tasks: (?P<text>i['’]d (?:much |really )?(?:rather|prefer(?: it if| if| that)?) you(?:['’]d)? .+)
    rule: (?P<text>i (?:really )?(?:don['’]?t|do not) (?:like|want|appreciate|enjoy|need|care for) (?:it )?(?:when you|you to ever|you ever
        |you to always)\b.+)
    rule: (?P<text>i (?:really )?(?:hate (?:it )?|dislike (?:it )?|can['’]?t stand (?:it )?|(?:love|like|appreciate) it )when you {_NO_PROGRAM_USE}.+)
    rule: (?P<text>we (?:only |always |all )?(?:use|write|deploy with|test with|build with|prefer|go with|ship) (?!an?\b|the\b|it\b|this\b
        |that\b)[^.]{{1,60}}?[,;]? (?:not|never|instead of|rather than|over|and not|no) .+)
    rule beyond tasks: (?P<text>we (?:always|never) (?!look forward|say never){VERB}\b.*)
    rule: (?P<text>we {NEGATION} (?:use|do|write|allow|commit|want|accept|merge|ship) .+\b(?:in this|in our|at this) {PROJECT_NOUN}\b.*)
    rule beyond tasks: (?P<text>we (?:should|must|need to|have to) .+\b(?:wherever|everywhere|whenever)\b.*)
    rule beyond tasks: (?P<text>in (?:this|our|all my|all our) {PROJECT_NOUN},? (?:we (?:always |never |only |don['’]t )?{VERB}|{NEGATION}|always
        |never|all|every|no)\b.+)
    rule beyond tasks: (?P<text>in (?:this|our) {PROJECT_NOUN},? .{{3,80}}\b(?:we (?:always|never|only|{NEGATION})|forbidden|not allowed)\b.*)
    rule beyond tasks: (?P<text>{ORDER} .+,? (?<!\bas )(?<!\blike )always\s*[.!]*$)
    rule beyond tasks: (?P<text>(?:every|each|all) (?:commits?|prs?|pull requests?|merge requests?|branch(?:es)?|migrations?|releases?|bug ?fix(?:es)?
        |commit messages?)\b.{{0,40}}?\b(?:needs?|must|has to|have to)\b.+)
    rule: (?P<text>(?:when|if) (?:you(?:['’]re| are) )?(?:in doubt|unsure|not sure)(?: about .{{1,40}}?)?,? {ORDER}.*)
    rule beyond tasks: (?P<text>(?:for|across|in) (?:all|every|each)(?: of)?(?: my| our)? {PROJECT_NOUN},? .+)
    rule: (?P<text>(?:no|never|always|avoid|{NEGATION}) .+ (?:in (?:this|our) {PROJECT_NOUN}|across (?:the|all) {PROJECT_NOUN}|ever)\s*[.!]*$)
      unless: .*\b(?:if|whether|where|all|every|find|search)\b
    rule: (?P<text>by default,? {SOFTENERS}(?:reply|answer|respond|write|use|ask|explain|keep|work|assume|commit|run|{NEGATION}) .+)
      unless: .*\b(?:if|when|unless) (?:the|no|there|it)\b
    rule: (?P<text>our (?:\w+ )?(?:convention|rule|policy|standard|practice|guideline|agreement) (?:is|says|for)\b.+)
    rule beyond tasks: (?P<text>(?:we|(?:the|our|my) team)(?:['’]ve| have| has)? (?:all )?(?:decided|agreed|settled
        |committed) (?:with [^,.]{{2,40}}? )?(?:to|on|that|against|not to)\b.+)
    rule beyond tasks: (?P<text>(?:the|our) (?:\w+ ){{0,3}}(?:deadline|due date|freeze|code freeze|launch|go-live|release)(?: (?:for
        |of) .{{1,40}}?)? (?:is|begins|starts|ends) (?:on |by |in |due )?(?=[^.]*(?:\d|day\b|week|month|january|february|march|april|may|june|july
        |august|september|october|november|december)).+)
    rule beyond tasks: (?P<text>(?:\w+ ){{1,3}}(?:go|goes|belong|belongs|live|lives|are tracked|is tracked|are filed|are reported|are discussed) (?:to
        |in|into|at|on|under) .*(?:https?://|slack|jira|linear|confluence|notion|grafana|sentry|datadog|trello|asana|teams channel|dashboard|tracker
        |board\b).*)
    rule: (?P<text>(?:just |please )?call me (?-i:[A-Z])[\w-]+.*)
    rule: (?P<text>my (?:name|pronouns|time ?zone|native language|first language) (?:is|are) (?!in\b|on\b|at\b|not\b|missing|wrong|misspelled).+)
    rule: (?P<text>i(?:['’]m| am) (?:an? |the )(?:[\w-]+ ){{0,4}}(?:engineer|developer|programmer|designer|scientist|student|researcher|analyst
        |beginner|teacher|founder|architect|sysadmin|administrator|maintainer|dba|product manager|pm|sre|cto|novice|newcomer|lawyer|writer|consultant
        |freelancer|intern)\b(?! (?:key|account|token|role)).*)
    rule: (?P<text>i(?:['’]m| am) (?:(?:completely|totally|fairly|quite|very|pretty|relatively) )?(?:new to|unfamiliar with|not familiar with
        |fluent in|experienced (?:in|with)|colou?r-?blind|dyslexic|based in) .*)
      unless: .*\b(?:this (?:file|bug|error|function|pr|branch))\b
    rule: (?P<text>i(?:['’]ve| have) (?:been (?:writing|doing|using|working (?:with|in|on|as)|programming(?: in)?|coding(?: in)?|developing
        |an? [\w ]{{2,30}}?)|worked (?:with|in|as)) .+ (?:for|since) (?:(?:a|the last|about|over|more than|almost|nearly|around|\w+
        |\d+) ){{0,3}}(?:decades?|years?|\d{{4}})\b.*)
    """
)
