"""Rules as people write them down for an agent, in lists and instruction files: bare orders about
every text or change of a kind, and conditions in front of an order. Each may be a task in a
conversation, so it waits for the person's yes. English here, other languages in `foreign_rule_patterns`.
Pure.
"""

from __future__ import annotations

from memorist.auto_memory.statements.foreign_rule_patterns import FOREIGN_RULES
from memorist.auto_memory.statements.statement_patterns import (
    NEGATION,
    VERB,
    StatementPattern,
    parse_statement_patterns,
)
from memorist.auto_memory.statements.user_prose import MASK_CHARACTER

_ONE_TIME = (
    r".*\b(?:this|these|here|now|today|yet|again|above|below|current|(?:to|of|for|in|on|with|fix|use|do|keep|make|change|add|remove|update|"
    r"run|test|show|and) (?:it|that|those)|the (?:[\w-]+ )?(?:change|page|screen|form|modal|button|feature))\b"
    r"(?! (?:repo|project|codebase|team)\b)"
)
_MOMENT = r".*\b(?:this|these|here|now|today|yet|again|above|below)\b"
"""What holds under a condition may name its matter again ("add it"), but not the moment."""
_KIND = (
    r"(?:comments?|docstrings?|messages?|titles?|docs|documentation|names?|identifiers?|variables?|imports?|statements?|"
    r"tests?|functions?|methods?|classes|modules?|components?|commits?|prs|pull requests|changes|branches|types?|answers|"
    r"replies|responses|explanations|errors|logs|migrations|dependencies|secrets|strings|queries|headers?|endpoints?|files)"
)
"""What is written again and again, so that an order about it is a rule."""
_WORK = (
    r"(?:committing|pushing|merging|releasing|deploying|finishing|opening|submitting|editing|changing|writing|coding|implementing|removing|adding|"
    r"renaming|moving|introducing|creating|suggesting|proposing|refactoring|reviewing|generating|naming|debugging|fixing|performing|modifying|deleting|responding|answering|"
    r"preparing|making|starting|completing|building|testing|documenting|updating|explaining|translating|planning|requesting|claiming|executing|running|"
    r"touching|asking|declaring|marking|calling|using|installing|upgrading|migrating|publishing|tagging|passing|reporting)"
)
"""What an agent does again and again."""
_LIKE = (
    r"(?:minimal|small|tiny|short|concise|simple|clean|clear|focused|consistent|readable|professional|descriptive|explicit|"
    r"modular|self-documenting|meaningful|brief|lowercase|sorted|up to date|in sync|in english|atomic|cohesive|reversible|synchroni[sz]ed|updated|pure|"
    r"stateless|independent|separate|free of|out of|flat|tidy|thin|typed|alphabetical|incremental|deterministic|idempotent)"
)

_RECURRING = (
    r"(?:use|keep|prefer|preserve|follow|wrap|log|type|document|name|respect|validate|treat|group|sort|format|provide|limit|store|place|put|mark|"
    r"escape|sanitize|propagate|raise|catch|prefix|suffix|annotate|cite|write|make|separate|structure|organi[sz]e|trust|handle|favou?r|maintain|ensure|"
    r"minimi[sz]e|reuse|match|indent|capitali[sz]e|export|import|define|declare|design|split|extract|centrali[sz]e|encapsulate|isolate|cover|mock|stub)"
)
"""What an order asks for again and again, unlike what is fixed, added or removed once."""
_DETERMINER = (
    r"(?:the|this|that|these|those|a|an|another|my|its|their|his|her|our|your|more|other|some|few|both|new|missing|remaining|two|three|four|unit|it|them|me|us|"
    r"everything|sure|going|trying|in|on|at|to|for|from|of|as|by|with|and|or|up|out)"
)
"""What makes the thing after a verb one that was spoken of, or ends it."""
_GENERAL = rf"(?!{_DETERMINER}\b)[\w/-]+"
_SPOKEN_OF = (
    r"|.*\b(?:the (?!(?:same|existing|user|team|repo|project|code|codebase|agent|whole|surrounding|requested|shared|standard|official|established|relevant|corresponding|semantic|smallest|simplest|least|exact|actual|first time|command line)\b)|in (?:the )?[\w-]+ "
    r"(?:form|table|editor|view|dialog|list)\b|to (?:a|the) file\b|from [\w-]+\.\w+|search results)"
)
"""Words of one place in the program: an order about it is a task."""
_SPOKEN_OF_WITH_RESULTS = _SPOKEN_OF.replace("whole|", "whole|latest|answer|conclusion|result|")

_ENGLISH: tuple[StatementPattern, ...] = parse_statement_patterns(
    rf"""
    # Things in general: no article, no pointing word, and a plural, a process or what exists.
    rule: (?P<text>{_RECURRING} (?:(?:all|any|only|every|each) )?(?:{_GENERAL},? (?:and |or )?){{0,4}}?(?:(?!{_DETERMINER}\b|tests\b
        |docs\b)[\w-]{{3,}}(?:(?<!s)s|ing)\b(?! (?:instead|and (?:push|commit)|for the))|existing {_GENERAL}).*)
      unless: {_ONE_TIME}{_SPOKEN_OF}
    rule: (?P<text>(?:{NEGATION}|never) (?!(?:worry|hesitate|mind|bother|know|see|understand|have|get|like|want|need|believe|care|think|remember
        |forget|feel|work|seem|look|exist|find|recall|expect)\b)[a-z-]{{3,}} (?!(?:the|this|that|these|those|it|them|your|here|yet|so|anything else|me
        |any more)\b).{{6,}})
      unless: {_ONE_TIME}{_SPOKEN_OF}
    rule: (?P<text>(?:(?:when(?:ever)?|if|before) (?!(?:the|this|that|these|it|so|not|possible|example|instance|now|done|finished|ready|initial
        |some reason|sure|certain|in doubt|(?:click|sav|load|hover|scroll|open|clos|submitt|logg)ing)\b)(?:(?!\b(?:clicks?|click|press
        |presses)\b)[^?,]){{4,80}}, (?:please |also |then )?(?:{NEGATION}|never|always|{VERB}) (?!(?:the (?!same)|this|that|these)\b)(?!(?<=(?:show
        |hide) )an? )(?!(?<=add )an? )(?!(?<=create )an? ).{{3,}}))
      unless: {_MOMENT}|.*\b(?:we start|that,|done,)
    rule: (?P<text>{VERB} (?!.*\bgo through\b)[^?]{{0,60}}\b(?:after|before|on|for|in|with|at|per) (?:every|each)\b(?! the\b).*
        |{VERB} (?:[^?]{{1,60}} )?only (?:when|if|after) .*\b(?:explicit\w*|asked|request\w*|told|needed|necessary|approv\w+|you|i)\b.*
        |(?:please )?(?:ask|check with me|confirm|say so|tell me|stop)(?: me)?(?: first)? (?:if|when(?:ever)?) (?:unclear|unsure|uncertain|in doubt
        |not sure|something is unclear|anything is|you(?:['’]re| are)? (?:un|not )\w+|ambiguous|requirements?)\b.*|ask (?:me )?before .+)
      unless: {_ONE_TIME}{_SPOKEN_OF}
    rule: (?P<text>(?!(?:it|this|that|there|we|i|the|these|those|he|she|they|you)\b)[^?,]{{3,60}}? (?:must (?:(?:never|always|not|only) [a-z]+|go|be
        |have|pass|use|stay|come|follow|include|live|start|end|match|contain|add|update|carry|keep|support|remain)\b.*|(?:is|are) (?:mandatory
        |compulsory|obligatory|forbidden|prohibited|not allowed|not permitted|non-negotiable|off-limits)\b.*|(?:is|are) (?:never|always) (?:committed
        |pushed|merged|edited|checked|deployed|mocked|shipped|released|written|reviewed|squashed|rebased|generated|pinned|documented|tested)\b.*))
      unless: {_ONE_TIME}|.*\b(?:error|fails?|failed|broken|bug)\b
    rule: (?P<text>(?:no (?!(?:need|errors?|problems?|worr\w+|thanks|ideas?|questions?|wait|it|not|one|longer|failing|failed|merge|conflicts?|new
        |other|more|open|matching|such|further|visible|obvious|real|changes?|results?|tests? (?:fail|ran)|way|luck|rush|reason|they\w*|matter|doubt
        |idea|clue)\b)[\w/-]+(?: [\w/-]+){{0,3}}?(?:ing|s)|{_LIKE},? (?:[\w-]+ ){{0,2}}(?:[\w-]{{3,}}s)(?: \([^)]*\)|,[^.?]+| only)?
        |{VERB} after (?:every|each|any) [\w-]+(?: \([^)]*\))?|no (?:[\w-]+ ){{0,2}}[\w-]+, [\w -]{{3,40}} only)\s*[.!]*$)
      unless: {_ONE_TIME}
    rule: (?P<text>{VERB} [^?]{{2,60}} (?:after|when|whenever|before) (?:you )?{_WORK}\b(?! (?:the|this|that)\b).*|(?:ask|write|run|reference|report
        |stop|test|document|verify|explain|update|add|comment|check|use|mention|name) (?!{_DETERMINER}\b)[^?]{{3,60}} when (?!(?:the|it|i|we|this|that
        |done|you(?:['’]re)? done|clicked|data|loading)\b)[\w-]+ [^?]*|{VERB} (?!(?:that|this|it)\b)[^?]{{0,80}}\b(?:rather than (?!the\b|this\b
        |that\b)[\w-]+|unless (?:\w+ )?(?:told|asked|instructed|requested|necessary|needed|specified|required|otherwise)|before (?!(?:the|this|that|it
        |i|we|you)\b)(?:[\w-]+ )?[\w-]+(?:s|ing)\b)[^?]*|(?:report|answer|write|work|refactor|explain|think|speak|communicate|commit|proceed|review
        |test|document) (?:honestly|incrementally|carefully|concisely|briefly|clearly|directly|systematically|regularly|consistently|early|often
        |in small steps)\b.*|(?:prefer|favou?r|choose|optimi[sz]e for|value) [^?]+ over .+|{VERB} (?!(?:that|this|it|me)\b)[^?]{{3,60}} first[.!]*$
        |{VERB} only what\b.+|(?:communicate|speak|write|answer|respond) (?:with|to) (?:users?|customers?|me|people) in .+|work (?:on
        |in) (?:a |your |own )?(?:feature |separate |topic |dedicated )?(?:branch(?:es)?|worktrees?)\b.*|assume (?:the latest|all|nothing|no\b
        |that all).+|lead with .+|{VERB}(?: [\w-]+){{0,4}}[,;] (?:{NEGATION}|never|not) [a-z]+(?: [\w-]+){{0,3}}[.!]*$
        |{VERB} [^?]{{3,80}} (?:at all times|in all cases|across the board|throughout)[.!]*$|(?:use|write|keep|prefer
        |speak) (?:[\w-]+,? ){{1,3}}(?:language|tone|style|wording|english|spelling|notation|typing|naming|formatting|syntax|casing|voice)[.!]*$
        |do (?:only|exactly|just) what .+|(?:sacrifice|trade) \w+ for \w+.*)
      unless: {_ONE_TIME}{_SPOKEN_OF_WITH_RESULTS}
    rule: (?P<text>(?:(?:if|when) (?:blocked|stuck|uncertain|unclear|ambiguous|instructed|requested|in doubt|(?!(?:click|load|hover|scroll|clos
        |submitt|logg)ing)[a-z]{{4,}}ing)\b[^?,]{{0,80}}, (?:please |also |then |[a-z]+ly )?{VERB} (?!the new\b).{{3,}}|(?:nothing|no one
        |nobody) [\w-]+ [^?]+ (?:without|until|unless|before) .+|nothing (?:[\w-]+ ){{1,4}}(?:but|except) .+|(?:new|every|each|all|any
        |bug) (?:[\w-]+ ){{1,3}}?(?:ships?|lands?|goes|go|gets?|merges?|reach(?:es)?|comes?|carries|carry|lives?|starts?|ends?|is|are) (?:with|in|into
        |through|to|by|only|never|always|an?|first|behind|under)\b.+|{_KIND} (?:target|follow|stay|belong|never|always|explain|describe|must)\b.+
        |(?!(?:it|this|that|they|we|i|the)\b)[\w, -]{{3,40}} (?:come from|go into|go in|go through|go under) [\w/.-]+[.!]*$
        |[\w ]{{2,30}}: [^?]{{2,40}} only[.!]*$|[\w-]+ stays? (?:pure|small|thin|simple|stateless|generic|private|optional)\b.*|(?:max(?:imum)?\.?
        |at most|no more than) \d+ [^?]+ (?:per|in|for)\b.+))
      unless: {_MOMENT}|.*\b(?:error|fails?|failed|failing|broken|bug (?:is|was)|clicks?|click)\b
    # What holds for the whole project, while one works, or where it fits.
    rule: (?P<text>(?:{_RECURRING}|adopt|adhere|comply|integrate|leverage) [^?]{{4,}} (?:in|for|across|throughout) (?:this|our|the whole
        |the entire) (?:project|repo\w*|codebase|code base|monorepo)[.!]*$|(?:read|check|consult|review|study|search|verify|inspect|look (?:at|up
        |into)) [^?]{{3,90}} before (?:you )?{_WORK}\b[^?]*|(?:write|use|commit|push|mock|ask|catch|comment|log|abstract|refactor|respond
        |answer) (?!(?:it|that|this|them)\b)[^?]{{2,40}} only (?:when|if|where|after|for) [^?]+|(?:throw|raise|catch|require|target
        |reject) (?:only )?(?!{_DETERMINER}\b)[\w-]+(?: [\w-]+){{1,6}}[.!]*$|{VERB} (?!(?:it|that|this|them)\b)[^?]{{2,80}} without (?:asking
        |confirmation|approval|permission|being asked)\b[^?]*)
      unless: .*\b(?:now|today|yet|again|above|below|button|page|screen|form|modal)\b|.*\b(?:these|this (?!project|repo|codebase))
    rule: (?P<text>you must (?:(?:always|never|not|only) )*(?!(?:have|know|see|understand|click|log|be able|mean|think)\b)[a-z]+ [^?]{{6,}}
        |[^?]{{3,60}} (?:has|have|takes?|take) (?:precedence|priority) over [^?]+|[^?]{{3,60}} (?:is|are|remains?) (?:the
        |our) (?:[\w-]+ ){{0,2}}source of truth\b[^?]*|[\w, -]{{3,60}}(?:errors?|files?|names?|tests?|types|modules|functions
        |commits) stay (?!(?:the same|open|there|in)\b)[^?]+)
      unless: .*\b(?:this|these|here|now|today|yet|again|above|below|button|page|screen|form|modal)\b
    rule: (?P<text>(?:if [^?,]{{3,60}}, |when [^?,]{{3,60}}, )?(?:claude|codex|copilot|cursor|gemini|(?:the |an )?(?:agent|assistant|model|ai
        |bot)s?) (?:must|should|may|shall|needs? to|has to|have to) [^?]{{4,}}|all [^?]{{3,50}} must be (?:followed|respected|met|observed|honou?red
        |kept)\b[^?]*|(?:notify|tell|inform|warn|alert|ask) (?:the user|me|us) (?:if|when(?:ever)?|before|about any)\b[^?]{{4,}}
        |no [^?]{{3,60}} beyond what\b[^?]+|default to (?!(?:it|that|this|the)\b)[^?]{{4,}}|{VERB} (?!(?:it|that|this
        |them)\b)[^?]{{3,60}} everywhere\b[^?]*|(?:each|every) time (?:you |we |i )?[^?,]{{5,80}}, (?:just |please |always |also )*(?!(?:it|the|this
        |that|a|an|i|we|they|nothing)\b)[^?]{{5,}})
      unless: .*\b(?:now|today|yet|again|above|below|button|page|screen|form|modal|click\w*|crash\w*|fails?|error)\b
    # A reason at the end may name the moment; what is ordered for always may not.
    rule: (?P<text>(?:always|never) (?:[a-z]+-)?[a-z]{{3,}} (?!(?:it|this|that)[\s.,!]*$).{{3,}}?)(?:[,;:–—] ?(?:this|that|it|which|as|since|because
        |so)\b.*)?$
      unless: {_ONE_TIME}
    rule: (?P<text>only {VERB} .+ (?:if|when|after|on) .*\b(?:explicit\w*|asked|request\w*|told|necessary|needed|essential)\b.*)
      unless: {_ONE_TIME}
    rule: (?P<text>[a-z]{{3,}} (?!the\b|your\b)[^?]{{3,80}} before (?:every |each |any )?(?:commits?|merges?|releases?|pushes|deploys
        |{_WORK})\b(?! (?:the|this)\b).*)
      unless: {_ONE_TIME}|.*\b(?:was|were|had|did|error|worked)\b
    rule: (?P<text>{VERB} .{{3,80}}(?: and|;|,) (?:avoid|never) \w+.+)
      unless: {_ONE_TIME}
    rule: (?P<text>(?!(?:go|move|carry|hand|take|hover|come|left|start|all|read|look|run|it|i|we|is
        |was)\b)[\w-]+(?: [\w-]+)? over [\w-]+(?: [\w-]+)?(?:[;,.].*|$)|one (?:[\w-]+ ){{1,3}}per (?:[\w-]+ ?){{1,3}}.*)
      unless: {_ONE_TIME}
    rule: (?P<text>(?:(?:speak|write|answer|respond|communicate) in an? .{{3,60}} (?:tone|voice|style|manner)\b.*|(?:answer|do) (?:only )?what (?:was
        |is|i|has been) .{{2,40}}\b(?:nothing (?:more|else)|no more|only)\b.*|(?:prioriti[sz]e|emphasi[sz]e|optimi[sz]e for|strive for
        |aim for) (?:{_LIKE}|readability|clarity|simplicity|performance|quality|correctness|security|safety|maintainability|accessibility)\b.*
        |(?:code style|style|naming|indentation|formatting|language|commit messages?|commits|comments) ?: .{{3,}}))
      unless: {_ONE_TIME}
    rule: (?P<text>(?:if|when) (?:you (?:add|change|remove|create|modify|edit|delete|write|touch|introduce|rename|update|need|want|must|have to
        |are (?:un|not )?sure|are asked)|the user|in doubt|unsure|uncertain|unclear|a (?:query|question|request|task)) ?[^?]{{0,80}}?, (?:always|never
        |{NEGATION}|ensure|include|ask|answer|use|add|prefer|stop)\b.{{3,}})
      unless: {_MOMENT}
    rule: (?P<text>(?:keep|stay|be|write) (?:[\w/-]+ ){{0,3}}{_LIKE}\b(?:[ ,&].*|[.!]*$))
      unless: {_ONE_TIME}
    rule: (?P<text>(?:use|write|choose|prefer) (?:only )?{_LIKE} (?:[\w/-]+ ){{0,2}}{_KIND}\b.*)
      unless: {_ONE_TIME}
    rule: (?P<text>(?:keep|put|place|group) (?:all |every |any |your )?(?:[\w/-]+ ){{0,3}}{_KIND} (?:at the (?:very )?(?:top|end|bottom)|next to|separate)\b.*)
      unless: {_ONE_TIME}
    rule: (?P<text>(?:[\w-]+ )?{_KIND} (?:(?:are|is) )?(?:required|mandatory|forbidden|prohibited|not allowed|not permitted)\b.*)
      unless: {_ONE_TIME}
    rule: (?P<text>no (?:[\w-]+ ){{0,2}}(?:annotations|attributions?|globals|magic numbers|wildcards?|footers?|signatures|inline styles|side effects
        |dead code|trailing \w+|todos?|hacks|workarounds|shortcuts|stubs|any types|new dependencies)\b.{{0,60}})
      unless: {_ONE_TIME}
    rule: (?P<text>(?:prefer|favou?r) .{{2,60}} (?:over|to|instead of|rather than|when|where) .+
        |use [\w./#@-]*{MASK_CHARACTER}*[\w./#@-]* (?:for (?:all|every|each|any|(?!the\b)(?:(?!the\b)[\w-]+ ){{0,2}}[\w-]+s)\b|over|instead of
        |rather than)\b.*)
      unless: {_ONE_TIME}
    # Several orders for one kind of thing, a name for one purpose, and what to do where in doubt.
    rule: (?P<text>{NEGATION} {VERB}(?:, {VERB})*,? or {VERB} (?:any|all|the \w+ of|files?|anything)\b.*|{VERB} .{{4,80}} without being (?:asked|told
        |prompted)\b.*)
    rule: (?P<text>(?:please )?use (?!(?:the|this|that|it|these|those|an?|your|my)\b)[^\s,]+(?: [\w.-]+)? (?:for|when) (?!(?:the|this|that|it|now
        |these|those)\b)[^?]{{3,}})
      unless: {_ONE_TIME}
    rule: (?P<text>if (?:you|something|anything|a|an|any|the user|no|unsure|unclear|in doubt)\b[^?]{{3,90}}?,? (?:please |then |always )*(?:{NEGATION}
        |never|stop|ask|write|say|report|mention|prefer|follow|flag|clarify|warn|clean up|remove|leave|move|rewrite|state|explain|escalate
        |wait)\b[^?]{{4,}})
      unless: .*\b(?:this|that) (?:function|file|test|pr|branch|bug|error)\b|if (?:a|the) (?:user|request|response|value|row|page|button)\b
    rule: (?P<text>(?:[\w`./-]+ )?[\w`./-]+ (?:only|exclusively)[.!]*$|no (?:new |more |additional )?[\w -]{{3,30}}, (?:and )?no [\w -]{{3,}}.*)
      unless: (?:read|view|local|not|yes|just|this|for now|one|test)\b
    """
)

HOUSE_RULES = (*_ENGLISH, *FOREIGN_RULES)
"""Rules as people write them down: each waits in the inbox."""
