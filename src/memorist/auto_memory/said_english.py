"""English patterns for remembering, forgetting, standing rules and corrections. Pure."""

from __future__ import annotations

from memorist.auto_memory.said_words import FUTURE, NOT, ORDER, PLACE, SOFT, VERB
from memorist.auto_memory.saying import Saying, saying

_ASK = (
    r"(?:(?:can|could|would|will) you (?:please |also )*|i(?:['’]d like| want| need) you to |you (?:should|must|need to"
    r"|have to) |let['’]s )?"
)
_OWN = r"(?:i|i['’]m|i['’]ve|i['’]d|we|we['’]re|we['’]ve|my|our|all|every|the|there|no|any|you|it['’]s)"
_MEMORY = r"(?:memory|memories)"
_SEP = r"\s*[:–—-]\s*"
_PAUSE = r"\s*[:,–—-]\s*"
_WEIGHTY = rf"(?=(?:i|i['’]m|i['’]ve|we|we['’]re|we['’]ve|my|our|in (?:this|our)|from|all|every|no|only|use)\b|{NOT}\b|always|never)"
_REPEATED = r"(?=.*\b(?:always|every|each|whenever|before (?:you|any)|after you|in (?:the )?future|from now on|any ?time)\b)"
_TOLD = r"(?:you )?(?:keep in mind|remember|don['’]?t forget|note|memori[sz]e)"
_HABIT = (
    r"(?:add|us|apologi[sz]|creat|writ|summari[sz]|ask|commit|repeat|explain|say|guess|mock|mak|putt|edit|forgett|chang|push|format|suggest"
    r"|tell|call|print|wrapp|invent|hedg|assum|install|touch|renam|delet|remov|refactor|introduc|append|leav|prefix|giv"
    r"|skipp|ignor|switch|plac|reformatt|rewrit|overwrit|propos|prais|flatter|over-?engineer|over-?complicat|duplicat"
    r"|hard-?cod|nest|mention)ing"
)

_SCREEN = (
    r"(?!(?:scroll|click|open|hover|type|press|log|sign|visit|refresh|resize|load|submit|select|navigate|deploy|start|restart|save)\b)"
)
"""What a user does to a program, not an agent: after "when you" it begins a bug report."""
_ASKED = r"(?:(?:can|could|would|will) you (?:please )?)?"

_PROGRAM = (
    r"(?:return|show|display|render|sort|throw|raise|store|cache|retry|redirect|fetch|load|close|open|hide|convert|trim|send"
    r"|start|stop|end|restart|trust|save"
    r"|validate|order|group|filter|log|print|call|see|get|reach|be able|end up|happen|round|escape|encode|decode|parse|clear"
    r"|reset|include|exclude)"
)
"""What programs do as well as agents: after a bare "always" it may describe the wanted code."""

FORGETS: tuple[Saying, ...] = (
    saying(
        "forget",
        rf"forget that (?P<text>(?:{_OWN}\b|(?-i:[A-Z])\w+ (?:is|was|has|owns|leads)).+)",
        unless=r"i (?:asked|mentioned|said (?:that|it|anything))\b",
    ),
    saying(
        "forget",
        r"forget that (?P<text>(?!(?:one|idea|approach|plan|thing|for|part|last|it)\b)(?:[\w'’-]+ ){1,6}(?:is|are|was|were|has"
        r"|have|owns?|leads?|should|must|will|goes?)\b.+)",
    ),
    saying("forget", r"forget (?:about )?(?P<text>what i (?:said|told you|asked)\b.+)"),
    saying(
        "forget",
        r"forget (?P<text>(?:everything|all|anything|what) (?:that )?(?:you|i) (?:know|knew|remember|learn(?:ed|t)|saved|kept|said|told you)"
        r" (?:about|of|on) .+)",
    ),
    saying("forget", r"forget (?P<text>(?:everything|anything) (?:about|on) .+)"),
    saying(
        "forget",
        r"(?:you (?:can|may|should) )?forget (?:about )?(?P<text>(?:the|my|our|that) (?:[\w-]+ ){0,4}"
        r"(?:rule|preference|preferences|convention|memory|memories|instruction|reminder|deadline|habit)\b.*)",
    ),
    saying(
        "forget",
        r"forget (?:about )?(?P<text>my (?:[\w-]+ ?){1,4}[.!]*$)",
        unless=r".*\b(?:last|previous|earlier|question|message|comment|request|changes?|branch|commit|idea|suggestion|mistake)\b",
    ),
    saying("forget", r"(?:stop|quit) remembering (?:that )?(?P<text>.+)"),
    saying("forget", r"(?:don['’]t|do not|no longer) remember (?:that )?(?P<text>.+?)(?: any ?more| any longer)\b"),
    saying(
        "forget",
        rf"(?:delete|remove|erase|drop|clear|discard) (?:the|that|any|your|my|this) {_MEMORY} (?:about|of|that|on|for) (?P<text>.+)",
    ),
    saying("forget", rf"(?:delete|remove|erase|drop) from (?:your |the )?{_MEMORY}\s*[:,]?\s*(?:that )?(?P<text>.+)"),
    saying("forget", rf"(?:delete|remove|erase|drop) (?P<text>.{{3,120}}?) from (?:your |the )?{_MEMORY}\b"),
)

REMEMBERS: tuple[Saying, ...] = (
    saying(
        "remember", rf"{_ASK}(?:please )?remember(?:,? please)?(?: (?:this|it|that))?(?:{_SEP}| that |,\s*{_WEIGHTY})(?:that )?(?P<text>.+)"
    ),
    saying(
        "remember",
        rf"{_ASK}remember (?P<text>{_OWN}\b(?<!\bthe)(?<!\bit['’]s).+)",
        unless=r"(?:my|our|all|the|any) (?:[\w-]+ ?){1,3}[.!]*$",
    ),
    saying("remember", rf"(?:.{{0,24}}\b)?{_TOLD} (?:this|it|that)(?: please)?\s*[:–—]\s*(?P<text>.+)"),
    saying("remember", rf"{_ASK}(?:keep|bear) in mind(?: that |{_PAUSE}| )(?P<text>.+)", standing=True),
    saying("remember", rf"{_ASK}(?:(?:make|take) a (?:mental )?note|note (?:it )?down)(?: that |{_SEP}| of the fact that )(?P<text>.+)"),
    saying(
        "remember",
        rf"(?:a )?notes? (?:for (?:the )?(?:future|next time|later sessions|your memory)|to (?:your )?memory){_PAUSE}(?P<text>.+)",
    ),
    saying("remember", r"for (?:future reference|your memory|your records)\s*[:,–—-]?\s*(?P<text>.+)"),
    saying("remember", rf"{NOT} forget(?: that |{_SEP}|,\s*{_WEIGHTY})(?P<text>.+)"),
    saying("remember", rf"never forget(?: that |{_SEP}|,\s*{_WEIGHTY})(?P<text>.+)"),
    saying(
        "remember",
        rf"{_ASK}(?:save|add|write|put|commit|store)(?: (?:this|that|it))? (?:to|in|into) (?:your |the |long.term )?{_MEMORY}"
        rf"(?:{_PAUSE}| that )(?P<text>.+)",
    ),
    saying("remember", rf"{_ASK}memori[sz]e(?: that |{_PAUSE})(?P<text>.+)"),
    saying("remember", rf"(?P<text>.{{10,}}?)\s*[,;–—-]+\s*(?:so |and |please )*{_TOLD} (?:that|this|it)(?: please)?[.!]*$"),
    saying("remember", rf"{_ASK}(?:remember|{NOT} forget|keep in mind) (?P<text>(?:to|not to) {_REPEATED}.+)", standing=True),
)

CORRECTIONS: tuple[Saying, ...] = (
    saying("correction", rf"(?P<text>(?:stop|quit) {_HABIT}\b.+)", standing=True),
    saying(
        "correction",
        r"i(?:['’]ve| have)? (?:already |repeatedly )?(?:told|asked) you (?:(?:before|already|repeatedly|many times"
        r"|several times|\w+ times) )?"
        r"(?P<text>(?:not|never) to .+|to (?:always|never) .+)",
        unless=r".*\b(?:yet|until|now)\b",
    ),
    saying(
        "correction",
        rf"i(?:['’]ve| have)? (?:already )?(?:said|told you)(?: it| this| that)?(?: (?:before|already|repeatedly|twice|many times"
        rf"|\w+ times|again and again))\s*[:,–—-]\s*"
        rf"(?P<text>(?:{ORDER}|no|we|our|in) .+)",
    ),
    saying("correction", rf"how (?:many times|often) do i (?:have|need) to .{{1,40}}?\s*[:?–—-]\s*(?P<text>(?:{ORDER}|no|we) .+)"),
    saying("correction", rf"(?:once )?again\s*[:,–—-]\s*(?P<text>(?:no |{NOT} |never |always |we )\S.+)", standing=True),
    saying("correction", rf"(?P<text>{NOT} .+ (?:any ?more|ever again)\b.*)", standing=True),
    saying("correction", rf"(?P<text>you keep (?={_HABIT}\b).+)", follow=True),
    saying(
        "correction",
        r"(?:.{0,40}, )?(?P<text>keep (?:doing|using|writing|making) .+)",
        after=r"(?:exactly|perfect|great|yes|love|like (?:that|this)|good)",
    ),
    saying(
        "correction",
        rf"(?P<text>.*\b{VERB}\b.*\bso (?:that )?i(?:['’]ll| will)? (?:only|don['’]?t|do not|won['’]?t|will not|never) (?:have|need) to "
        r"(?:approve|confirm|allow|click|read)\b.*)",
    ),
)
"""What follows `no,` is also matched against the rules, in `memorist.auto_memory.said`."""

RULES: tuple[Saying, ...] = (
    saying(
        "rule",
        rf"{FUTURE}\s*[:,–—-]?\s*{_ASKED}(?P<text>(?:{ORDER}|no|you (?:should|must|will|always|never|only|{VERB})|we (?:must"
        rf"|always|never|only|use)|i (?:want|prefer|expect)|i['’]d (?:like|rather|prefer)|all|every|when(?:ever)?|if|before|after"
        rf"|each time) .+)",
    ),
    saying(
        "rule",
        rf"(?P<text>(?:{ORDER}|no|i (?:want|expect) you to) .+?),? {FUTURE}\s*[.!]*$",
        unless=r"(?:think|consider|look|find|figure|explain|tell|describe|propose|suggest)\b|.*\bhow (?:you|to|we)\b",
    ),
    saying("rule", rf"(?P<text>(?:every|each|any) ?time you {_SCREEN}.+?, ?{ORDER}.*)"),
    saying("rule", rf"(?P<text>whenever (?:you|i|we) {_SCREEN}.+?, ?{ORDER}.*)"),
    saying(
        "rule",
        rf"(?P<text>(?:when|if|before|after) (?:you|i|we|writing|adding|changing|creating|editing|working)\b.+?, ?(?:please |you "
        rf"(?:should|must) )?(?:always|never) {VERB}\b.*)",
    ),
    saying(
        "rule",
        rf"(?P<text>{SOFT}(?:always|never)(?: ever)? (?!give up|say never|look (?:back|forward)|{_PROGRAM}\b){SOFT}"
        rf"(?:\w+ly )?{VERB}\b(?!['’]s).*)",
        standing=True,
    ),
    saying("rule", rf"(?P<text>(?:{NOT}|do not) ever {VERB}\b.*)"),
    saying("rule", rf"(?P<text>{ORDER} .+ every (?:single )?time\s*[.!]*$)"),
    saying(
        "rule",
        rf"(?P<text>[^,]{{3,80}}, (?:and |but |so |please )*(?:always|never|{NOT} ever) (?!{_PROGRAM}\b){VERB}\b.*)",
        standing=True,
        unless=r"(?:if|when|because|since|it|that|the|this|there)\b",
    ),
    saying("rule", rf"(?P<text>(?:you|we) (?:should|must|need to|have to|are to) (?:always|never) (?!{_PROGRAM}\b).+)", standing=True),
    saying("rule", r"(?P<text>(?:make sure|ensure|be sure)(?: that)? (?:you|to|we) (?:always|never) .+)"),
    saying("rule", r"(?P<text>i (?:always|never) want (?:you|to (?:see|know|be|review|approve|have|hear|read))\b.+)"),
    saying("rule", r"(?P<text>i (?:want|need|expect) you to (?:always|never) .+)", standing=True),
    saying(
        "rule",
        r"(?P<text>i (?:(?:strongly|really|much|generally|usually|always|personally|tend to) )*prefer (?!to (?:see|go|do|try)\b"
        r"|if\b|when\b|that we\b|the\b|this\b|that\b|these\b|those\b|your\b|it\b|not\b|one\b).+)",
        standing=True,
    ),
    saying("rule", r"(?P<text>i['’]d (?:much |really )?(?:rather|prefer(?: it if| if| that)?) you(?:['’]d)? .+)", standing=True),
    saying(
        "rule",
        r"(?P<text>i (?:really )?(?:don['’]?t|do not) (?:like|want|appreciate|enjoy|need|care for) (?:it )?(?:when you"
        r"|you to ever|you ever|you to always)\b.+)",
    ),
    saying(
        "rule",
        r"(?P<text>i (?:really )?(?:hate (?:it )?|dislike (?:it )?|can['’]?t stand (?:it )?|(?:love|like"
        r"|appreciate) it )when you " + _SCREEN + r".+)",
    ),
    saying(
        "rule",
        r"(?P<text>we (?:only |always |all )?(?:use|write|deploy with|test with|build with|prefer|go with|ship) (?!an?\b|the\b"
        r"|it\b|this\b|that\b)[^.]{1,60}?[,;]? (?:not|never|instead of|rather than|over|and not|no) .+)",
    ),
    saying("rule", rf"(?P<text>we (?:always|never) (?!look forward|say never){VERB}\b.*)", standing=True),
    saying("rule", rf"(?P<text>we {NOT} (?:use|do|write|allow|commit|want|accept|merge|ship) .+\b(?:in this|in our|at this) {PLACE}\b.*)"),
    saying("rule", r"(?P<text>we (?:should|must|need to|have to) .+\b(?:wherever|everywhere|whenever)\b.*)", standing=True),
    saying(
        "rule",
        rf"(?P<text>in (?:this|our|all my|all our) {PLACE},? (?:we (?:always |never |only |don['’]t )?{VERB}|{NOT}|always"
        rf"|never|all|every|no)\b.+)",
        standing=True,
    ),
    saying(
        "rule",
        rf"(?P<text>in (?:this|our) {PLACE},? .{{3,80}}\b(?:we (?:always|never|only|{NOT})|forbidden|not allowed)\b.*)",
        standing=True,
    ),
    saying("rule", rf"(?P<text>{ORDER} .+,? always\s*[.!]*$)", standing=True),
    saying(
        "rule",
        r"(?P<text>(?:every|each|all) (?:commits?|prs?|pull requests?|merge requests?|branch(?:es)?|migrations?|releases?"
        r"|bug ?fix(?:es)?|commit messages?)\b.{0,40}?\b(?:needs?|must|has to|have to)\b.+)",
        standing=True,
    ),
    saying("rule", rf"(?P<text>(?:when|if) (?:you(?:['’]re| are) )?(?:in doubt|unsure|not sure)(?: about .{{1,40}}?)?,? {ORDER}.*)"),
    saying("rule", rf"(?P<text>(?:for|across|in) (?:all|every|each)(?: of)?(?: my| our)? {PLACE},? .+)", standing=True),
    saying(
        "rule",
        rf"(?P<text>(?:no|never|always|avoid|{NOT}) .+ (?:in (?:this|our) {PLACE}|across (?:the|all) {PLACE}|ever)\s*[.!]*$)",
        unless=r".*\b(?:if|whether|where|all|every|find|search)\b",
    ),
    saying(
        "rule",
        rf"(?P<text>by default,? {SOFT}(?:reply|answer|respond|write|use|ask|explain|keep|work|assume|commit|run|{NOT}) .+)",
        unless=r".*\b(?:if|when|unless) (?:the|no|there|it)\b",
    ),
    saying("rule", r"(?P<text>our (?:\w+ )?(?:convention|rule|policy|standard|practice|guideline|agreement) (?:is|says|for)\b.+)"),
    saying(
        "rule",
        r"(?P<text>we(?:['’]ve| have)? (?:all )?(?:decided|agreed|settled|committed) (?:with [^,.]{2,40}? )?(?:to|on|that"
        r"|against|not to)\b.+)",
        standing=True,
    ),
    saying(
        "rule",
        r"(?P<text>(?:the|our) (?:\w+ ){0,3}(?:deadline|due date|freeze|code freeze|launch|go-live|release)(?: (?:for"
        r"|of) .{1,40}?)? (?:is|begins|starts|ends) (?:on |by |in |due )?(?=[^.]*(?:\d|day\b|week|month|january|february|march"
        r"|april|may|june|july|august|september|october|november|december)).+)",
        standing=True,
    ),
    saying(
        "rule",
        r"(?P<text>(?:\w+ ){1,3}(?:go|goes|belong|belongs|live|lives|are tracked|is tracked|are filed|are reported"
        r"|are discussed) (?:to|in|into|at|on|under) .*(?:https?://|slack|jira|linear|confluence|notion|grafana|sentry|datadog"
        r"|trello|asana|teams channel|dashboard|tracker|board\b).*)",
        standing=True,
    ),
    saying("rule", r"(?P<text>(?:just |please )?call me (?-i:[A-Z])[\w-]+.*)"),
    saying(
        "rule",
        r"(?P<text>my (?:name|pronouns|time ?zone|native language|first language) (?:is|are) (?!in\b|on\b|at\b|not\b|missing"
        r"|wrong|misspelled).+)",
    ),
    saying(
        "rule",
        r"(?P<text>i(?:['’]m| am) (?:an? |the )(?:[\w-]+ ){0,4}(?:engineer|developer|programmer|designer|scientist|student"
        r"|researcher|analyst|beginner|teacher|founder|architect|sysadmin|administrator|maintainer|dba|product manager|pm|sre|cto"
        r"|novice|newcomer|lawyer|writer|consultant|freelancer|intern)\b(?! (?:key|account|token|role)).*)",
    ),
    saying(
        "rule",
        r"(?P<text>i(?:['’]m| am) (?:(?:completely|totally|fairly|quite|very|pretty|relatively) )?(?:new to|unfamiliar with"
        r"|not familiar with|fluent in|experienced (?:in|with)|colou?r-?blind|dyslexic|based in) .*)",
        unless=r".*\b(?:this (?:file|bug|error|function|pr|branch))\b",
    ),
    saying(
        "rule",
        r"(?P<text>i(?:['’]ve| have) (?:been (?:writing|doing|using|working (?:with|in|on|as)|programming(?: in)?|coding(?: in)?"
        r"|developing|an? [\w ]{2,30}?)|worked (?:with|in|as)) .+ (?:for|since) (?:(?:a|the last|about|over|more than|almost"
        r"|nearly|around|\w+|\d+) ){0,3}"
        r"(?:decades?|years?|\d{4})\b.*)",
    ),
)
