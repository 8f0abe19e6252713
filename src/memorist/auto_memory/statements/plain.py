"""Plain English: standing wishes as people type them, without "remember" or "from now on". Pure.

Two tables. What matches the first says by its own words that it holds beyond the task (a choice of
tools, how the project is set up, a preference): it is kept. What matches the second is probably
meant to last, and may be a task: it waits for the person's yes.
"""

from __future__ import annotations

from memorist.auto_memory.statements.patterns import (
    NEGATION,
    ORDER,
    PROJECT_NOUN,
    SOFTENERS,
    VERB,
    StatementPattern,
    define_pattern,
)

_NOT_NAMED = (
    r"(?!(?:the|this|that|these|those|it|them|my|your|his|her|one|option|approach|variant|version"
    r"|a|an|both|either|same|case|here|there)\b)"
)
"""Rules out things of the moment: what lasts is named, or has no article."""
_THING = rf"{_NOT_NAMED}[\w.@/+#-]+(?: {_NOT_NAMED}[\w.@/+#-]+){{0,3}}?"
_NO = rf"(?:{NEGATION}|never|stop|avoid|no more)"
_USE = r"(?:use|using|run|running|install|pick|choose|go with)"
_OUTPUTS = (
    r"(?:comments?|docstrings?|emojis?|co-?authored-?by|trailers?|attribution|semicolons?|mocks?|"
    r"em[- ]dash(?:es)?|todos?|type hints|types|tests?|examples?|citations?|sources?|links?|units?|"
    r"code (?:blocks?|snippets?|samples?)|bullet (?:points|lists?)|summar(?:y|ies)|headings?|tables?|"
    r"steps|version|versions|dates?|details?|explanations?|caveats?|disclaimers?|reasons?|"
    r"changelog|readme|docs|documentation|commit|commits|prs?|branch|branches|lint\w*|licen[cs]e)"
)
"""What an agent, rather than a program, writes or leaves out."""
_PLACES = (
    r"(?:tests|commits?(?: messages?)?|prs?|pull requests?|main|master|production|prod|comments|"
    r"docs|code|names|migrations|public|replies|answers|responses|documentation|reviews|ci)"
)
_STYLE = (
    r"(?:spelling|english|style|conventions?|naming|format|syntax|tense|indentation|indents?|"
    r"quotes|case|grammar|units|tone|voice|language|notation|type ?hints|commits?(?: messages)?)"
)
_OFTEN = (
    r"(?:strongly |really |absolutely |definitely |generally |usually |always |personally |"
    r"strictly |particularly |typically |normally |tend to |much |highly |greatly |just |also |"
    r"actively |firmly |honestly |deeply )*"
)
_MOMENT = (
    r"(?!(?:the|this|that|these|those|it|you|your|how|to (?:see|know|do|add|have|make|get|ask|go"
    r"|try|be)|what|where|option|both|one|if|when|more|a|an|another|some)\b)"
)
_MANNER = (
    r"(?:terse|concise|brief|honest|critical|precise|direct|explicit|skeptical|sceptical|succinct"
    r"|blunt|thorough|consistent)"
)
_TIMES = (
    r"(?:committing|pushing|merging|releasing|deploying|finishing|opening|submitting|editing|"
    r"changing|writing|coding|implementing|each|every|any|you (?:commit|push|merge|edit|change|"
    r"start|finish|write|delete|make|do|are done)|making (?:any )?(?:changes|edits)|starting)"
)

_ONE_PLACE = r".*\b(?:for|in|on|inside|within) (?:the|that|this|these) (?!tests\b|future\b|code|repo|project|team|workspace)"
"""Something that is meant for one place of the code."""

PLAIN_PATTERNS: tuple[StatementPattern, ...] = (
    define_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}(?:always |only )?{_USE} {_THING},? (?:and )?(?:not|never|but not|no) "
        rf"{_NOT_NAMED}[\w.@/+-]+.*)",
        rejects_task_words=True,
        unless=_ONE_PLACE,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}(?:always |only |never ){_USE} {_THING},? (?:instead of|rather than|"
        rf"over) {_NOT_NAMED}[\w.@/+-]+.*)",
        rejects_task_words=True,
        unless=_ONE_PLACE,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}{_NO} {_USE} {_THING}\s*[,;:–—-]+ ?(?:but |and |please |we |just |only "
        rf"|always )*(?:use|using|prefer|this|our|switch|run) .+)",
        rejects_task_words=True,
        unless=_ONE_PLACE,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}(?:never|always|only) {_USE} {_THING}\s*(?:,.*)?[.!]*$)",
        rejects_task_words=True,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>(?:this|our|the) {PROJECT_NOUN} (?:only |always |still |now )?(?:uses|requires|"
        rf"targets|follows|runs on|supports|is (?:written|built) (?:in|with|on)|has to) .+)",
        rejects_task_words=True,
    ),
    define_pattern(
        "rule",
        r"(?P<text>(?:we|i)(?:['’]ve| have)? (?:just |already |recently |now )?(?:switched|migrated|"
        rf"moved) (?:over )?(?:from {_THING} to|to|off|away from) {_NOT_NAMED}\w.*)",
        rejects_task_words=True,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>(?:we|i) (?:no longer|{NEGATION}) (?:use|support|maintain|ship) {_THING}"
        rf"(?: any ?more)?\s*(?:[,;–—-].*)?[.!]*$)",
        rejects_task_words=True,
    ),
    define_pattern(
        "rule",
        r"(?P<text>we(?:['’]ve| have)? (?:deprecated|dropped|retired|sunset|abandoned) .+)",
        rejects_task_words=True,
    ),
    define_pattern(
        "correction",
        r"i(?:['’]ve| have)?(?: already| just| repeatedly)? (?:told|asked) you (?:\w+ times )?"
        r"(?P<text>(?:not to|to (?:use|avoid|always|never|stop|keep|stick|follow|ask|answer|reply"
        rf"|speak)) {_NOT_NAMED}.+)",
        rejects_task_words=True,
    ),
    define_pattern(
        "remember",
        r"(?:please )?remember (?:that )?(?P<text>(?:the |our |this )?[\w-]+(?: [\w-]+){0,3} "
        r"(?:runs?|uses?|needs?|requires?|listens?|lives?|is|are|has|have|goes|belongs?) .+)",
        unless=r"(?:to|when|how|what|why|where|if)\b",
        rejects_task_words=False,
    ),
    define_pattern(
        "remember",
        rf"(?:please )?(?:remember|{NEGATION} forget) to (?P<text>(?:always |never )?(?:use|follow|"
        rf"answer|reply|write|speak|prefer|avoid|keep) {_NOT_NAMED}.+)",
        rejects_task_words=True,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}(?:never |always )?use (?:the )?(?!the )(?:[\w-]+ ){{1,3}}{_STYLE}\b"
        rf"(?! (?:from|of)\b).{{0,80}})",
        rejects_task_words=True,
        unless=r".*\buse the (?:same|new|old|other|correct|right|proper|first|second)\b",
    ),
    define_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}(?:never|always) (?:include|show|add|provide|mention|give|cite|write|"
        rf"put|leave|list|state|explain|format|use|end|start|begin|answer) (?:.{{0,40}}\b)?"
        rf"{_OUTPUTS}\b.*)",
        rejects_task_words=True,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}(?:never|always) .+\b(?:when|whenever|if|every time) (?:i|we) (?:ask|"
        rf"mention|request|talk|say|inquire|discuss|want|need)\b.*)",
    ),
    define_pattern(
        "rule",
        rf"(?P<text>(?:when|whenever|if|every time) (?:i|we) (?:ask|mention|request|talk|say|inquire|"
        rf"discuss)\b.+?, ?(?:please )?{ORDER}.*)",
        rejects_task_words=True,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}{NEGATION} (?:add|put|include|leave|write|use) (?:any |more |the )?"
        rf"{_OUTPUTS}(?: \w+){{0,2}} (?:to|in|into|on) (?:the |our |your |my )?{_PLACES}\b.*)",
        rejects_task_words=True,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}{NEGATION} (?:amend|squash|rebase|force[- ]push|mock|rewrite) (?:to "
        rf"|any |the )?(?:published |pushed )?(?:commits|history|merges|main|master|\w+ in tests)"
        rf"\b.*)",
        rejects_task_words=True,
    ),
    define_pattern(
        "rule",
        rf"(?P<text>i {_OFTEN}(?:prefer|hate|dislike|detest|despise|loathe|can['’]?t stand|cannot "
        rf"stand|avoid|refuse to|only (?:eat|drink|buy|use|watch|read|listen|travel|stay|wear|shop)"
        rf"|never (?:eat|drink|buy|use|watch|read|wear)|value|am allergic) {_MOMENT}.+)",
        rejects_task_words=True,
        unless=r".*\b(?:option|approach|variant|version) \w\b",
    ),
    define_pattern(
        "rule",
        r"(?P<text>i(?:['’]m| am| have| suffer from|['’]ve)(?: got)?(?: an?| been)? (?:\w+(?:ly)? ){0,2}"
        r"(?:allergy|allergic|intolerance|intolerant|vegan|vegetarian|aversion|phobia|fear of|"
        r"dislike for|preference for|passion for|not a (?:big )?fan|sensitive to|averse to)\b.*)",
    ),
    define_pattern(
        "rule",
        r"(?P<text>i (?:really |absolutely |do )*(?:don['’]?t|do not) (?:like|enjoy|eat|drink|"
        r"appreciate|care for|believe in|trust) " + _MOMENT + r".+)",
        rejects_task_words=True,
    ),
    define_pattern(
        "rule",
        r"(?P<text>i (?:\w+ly )?(?:follow an? (?:\w+ ){0,3}(?:diet|lifestyle|routine|schedule)|live (?:in|"
        r"with)|work (?:in|as|at|for|from)|speak (?-i:[A-Z])\w+|practice|commute|suffer from) .*)",
        rejects_task_words=True,
    ),
    define_pattern(
        "rule",
        r"(?P<text>i(?:['’]m| am) (?:the|an?|our) (?:[\w-]+ ){0,3}(?:lead|manager|owner|cto|ceo|director|head|"
        r"nurse|doctor|musician|artist|parent|accountant|journalist)\b(?! (?:key|account|token|role)).*)",
    ),
    define_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}(?:always )?(?:answer|reply|respond|write|speak|talk|explain)(?: to me)?"
        r"(?: only)? in (?:english|german|french|spanish|chinese|japanese|portuguese|russian|italian|"
        r"dutch|korean|polish|turkish|(?:british|american) english)\s*[.!]*$)",
    ),
    define_pattern(
        "rule",
        rf"(?P<text>(?:i|we) (?:prefer|like|love|favou?r|enjoy) {_MOMENT}.+ (?:over|to|rather than|more "
        rf"than|instead of) .+)",
        rejects_task_words=True,
    ),
)
"""Kept at once."""

WAITING_PATTERNS: tuple[StatementPattern, ...] = (
    define_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}{_USE} {_THING},? (?:instead of|rather than|over|not) {_NOT_NAMED}.+)",
        unless=_ONE_PLACE,
    ),
    define_pattern("rule", rf"(?P<text>{SOFTENERS}(?:never|always) {VERB}\b(?!['’]s).+)"),
    define_pattern(
        "rule",
        rf"(?P<text>(?:please |pls )+(?:{NEGATION}|never|always|stop|avoid) {_NOT_NAMED}\w+ "
        rf"{_NOT_NAMED}.+)",
        unless=r".*\b(?:yet|now|for now|again)\b",
    ),
    define_pattern(
        "rule",
        rf"(?P<text>{NEGATION} (?:use|add|mock|commit|push|amend|create|write|include|touch|edit|"
        rf"install|assume|make (?:any )?assumptions?) ?{_NOT_NAMED}.*\b(?:in|to|into|on|unless|without|"
        rf"directly|assumptions?)\b.*)",
        unless=r".*\b(?:yet|now|for now)\b",
    ),
    define_pattern(
        "rule",
        rf"(?P<text>(?:make sure|be sure|ensure)(?: that| to| you| we)* .+\b(?:before|after|when|"
        rf"whenever) {_TIMES}\b.*)",
    ),
    define_pattern("rule", rf"(?P<text>{ORDER} .+ (?:before|after) {_TIMES}\b.*)"),
    define_pattern(
        "rule", rf"(?P<text>(?:prefer|avoid|favou?r|adhere to|stick to|follow) {_MOMENT}\w+.*)"
    ),
    define_pattern("rule", rf"(?P<text>(?:please )?(?:be|keep it|stay) (?:more )?{_MANNER}\b.*)"),
    define_pattern(
        "rule",
        r"(?P<text>(?:please )?(?:do not|don['’]?t|make no|never)(?: make| any)* assum\w+.*)",
    ),
    define_pattern("rule", r"(?P<text>make no assumptions\b.*)"),
    define_pattern(
        "rule",
        r"(?P<text>(?:wait[,. ]+)?(?:let['’]?s|we should|please) (?:always |first )?(?:discuss|talk "
        r"(?:about|it))\b.{0,80}\b(?:first|before|edit|code|implement)\w*.*)",
    ),
    define_pattern("rule", r"(?P<text>wait[,. ]+let['’]?s discuss\b.*)"),
    define_pattern(
        "rule",
        r"(?P<text>(?:we|i) (?:really )?(?:don['’]?t|do not) want (?:any |my |our |to |you to )?"
        rf"{_NOT_NAMED}.+)",
        unless=r".*\b(?:yet|for now|this)\b",
    ),
    define_pattern(
        "rule",
        rf"(?P<text>we (?:{NEGATION}|never|always|only|no longer) {VERB} {_NOT_NAMED}.+)",
    ),
    define_pattern(
        "rule",
        r"(?P<text>we should (?:be |always |never |only |also )*(?:us(?:e|ing)|prefer\w*|avoid\w*|"
        r"keep\w*|follow\w*) .*\b(?:wherever|everywhere|always|instead of|rather than|strong)\b.*)",
    ),
    define_pattern(
        "rule",
        r"(?P<text>.*\b(?:so (?:that )?(?:we|you|i) (?:don['’]?t|do not|won['’]?t|never) .+ (?:again|in "
        r"(?:the )?future|next time)|in (?:the )?future|next time|any ?more going forward)\b.*)",
    ),
    define_pattern(
        "rule",
        r"(?P<text>.{3,80} (?:is|are) (?:deprecated|stale|no longer (?:used|supported|needed)|off "
        r"limits|forbidden|not allowed)\b.*)",
    ),
    define_pattern("rule", rf"(?P<text>we (?:use|deploy|target|test with|write|run) {_THING}\b.*)"),
    define_pattern(
        "correction",
        r"(?P<text>(?:didn['’]?t i (?:say|tell|ask)|why (?:do|are|did) you (?:keep|still|always|again)"
        r"|i (?:didn['’]?t|did not|never) (?:tell|ask|say|told|asked|want) you to)\b.+)",
    ),
    define_pattern(
        "rule", r"(?P<text>(?:there['’]?s|there is) no (?:point|need) (?:in )?\w+ing .+)"
    ),
    define_pattern("rule", r"(?P<text>.{3,60} always happens?\b.*)"),
    define_pattern("rule", rf"(?P<text>i {_OFTEN}(?:like|love|enjoy|want|need) {_MOMENT}\w+ .+)"),
    define_pattern(
        "rule",
        r"(?P<text>i(?:['’]m| am) (?:more of )?an? (?:\w+ ){0,3}(?:person|lover|fan|user)\b.*)",
    ),
    define_pattern("rule", r"(?P<text>my (?:favou?rite|preferred|usual|go-to|main) .+)"),
)
"""Probably meant to last: waits in the inbox."""

CONFIRMATION = (
    r"(?:(?:yes|yeah|yep|perfect|exactly|great|good|nice|love it|right|correct|awesome|cool)\b[\s,.!]*"
    r")+(?:(?:please )?(?:keep|continue) (?:doing|working|writing|it)\b.{0,20}|(?:that|this)(?:['’]s| "
    r"is) (?:exactly )?(?:how|what) i (?:want|like|meant)\b.{0,30}|always (?:do )?(?:it )?(?:like|this"
    r"|that)\b.{0,20})[.!]*"
)
"""A whole message that asks to go on as before: what is meant stands in the turn before it."""
