"""Plain English: standing wishes as people type them, without "remember" or "from now on". Pure.

What matches says by its own words that it holds beyond the task: a choice of tools, how the project
is set up, a preference, a fact about the person. It is kept.
"""

from __future__ import annotations

from memorist.auto_memory.statements.statement_patterns import (
    CONDITION,
    NEGATION,
    ORDER,
    PROJECT_NOUN,
    SOFTENERS,
    VERB,
    StatementPattern,
    define_statement_pattern,
)

NOT_NAMED = (
    r"(?!(?:the|this|that|these|those|it|them|my|your|his|her|one|option|approach|variant|version"
    r"|a|an|both|either|same|case|here|there)\b)"
)
"""Rules out things of the moment: what lasts is named, or has no article."""
THING = rf"{NOT_NAMED}[\w.@/+#-]+(?: {NOT_NAMED}[\w.@/+#-]+){{0,3}}?"
_THING_HERE = rf"{THING}(?: here| in (?:this|the|our) (?:repo(?:sitory)?|project|codebase))?"
_NO = rf"(?:{NEGATION}|never|stop|avoid|no more)"
USE = r"(?:use|using|run|running|install|pick|choose|go with)"
OUTPUTS = (
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
OFTEN = (
    r"(?:strongly |really |absolutely |definitely |generally |usually |always |personally |"
    r"strictly |particularly |typically |normally |tend to |much |highly |greatly |just |also |"
    r"actively |firmly |honestly |deeply )*"
)
MOMENT = (
    r"(?!(?:the|this|that|these|those|it|you|your|how|to (?:see|know|do|add|have|make|get|ask|go"
    r"|try|be)|what|where|option|both|one|if|when|more|a|an|another|some)\b)"
)
ONE_PLACE = r".*\b(?:for|in|on|inside|within) (?:the|that|this|these) (?!tests\b|future\b|code|repo|project|team|workspace)"
"""Something that is meant for one place of the code."""

_PROCESS_NOUN = (
    r"(?:(?:unit|integration|e2e|end-to-end|public|private|feature|release|commit|database|db|shell|helper|new|all|our) )*(?:tests|commits?|commit messages|"
    r"pull requests|prs|branches|migrations|functions|methods|classes|modules|files|names|identifiers|variables|comments|docstrings|dependencies|imports|"
    r"releases|deploys|deployments|builds|scripts|fixtures|changelog entries|titles|types|constants|secrets|credentials|reviews|agents?|dates|times|lines)"
)
"""What is made again and again while a project is worked on: with no article before it, a rule."""

PLAIN_PATTERNS: tuple[StatementPattern, ...] = (
    define_statement_pattern(
        "rule",
        rf"(?P<text>{_PROCESS_NOUN} (?:must|may|should|shall|can) (?:not|never|always|only) (?:ever )?[a-z]+\b.*|{_PROCESS_NOUN} (?:must|have to|need to) "
        r"(?:be|have|pass|stay|start|end|follow|use|include|contain|go|carry|keep|run|work)\b.*)",
        rejects_task_words=True,
        unless=r".*\b(?:because|error|fail\w*|bug|broken|loading|clicked)\b",
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>in (?:this|our|my) {PROJECT_NOUN},? (?:we|nobody|everyone|everybody|i) (?:never|always|only|{NEGATION}|must|have to) [a-z]+\b.*)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>(?:please )?(?:keep|limit|cap|wrap|break) (?:all |your )?{_PROCESS_NOUN} (?:(?:shorter|smaller|longer|no longer) than|under|below|within|to|at|at most|over) "
        r"(?:at most )?\d+\b.*)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}(?:always |only )?{USE} {_THING_HERE},? (?:and )?(?:not|never|but not|no) "
        rf"{NOT_NAMED}[\w.@/+-]+.*)",
        rejects_task_words=True,
        unless=ONE_PLACE,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}(?:always |only |never ){USE} {_THING_HERE},? (?:instead of|rather than|"
        rf"over) {NOT_NAMED}[\w.@/+-]+.*)",
        rejects_task_words=True,
        unless=ONE_PLACE,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}{_NO} {USE} {_THING_HERE}\s*[,;:–—-]+ ?(?:but |and |please |we |just |only "
        rf"|always )*(?:use|using|prefer|this|our|switch|run) .+)",
        rejects_task_words=True,
        unless=ONE_PLACE,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}(?:never|always|only) {USE} {THING}\s*(?:,.*)?[.!]*$)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>(?:this|our|the) {PROJECT_NOUN} (?:only |always |still |now )?(?:uses|requires|"
        rf"targets|follows|runs on|supports|is (?:written|built) (?:in|with|on)|has to) .+)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:we|i)(?:['’]ve| have)? (?:just |already |recently |now )?(?:switched|migrated|"
        rf"moved) (?:over )?(?:from {THING} to|to|off|away from) {NOT_NAMED}\w.*)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>(?:we|i) (?:no longer|{NEGATION}) (?:use|support|maintain|ship) {THING}"
        rf"(?: any ?more)?\s*(?:[,;–—-].*)?[.!]*$)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>we(?:['’]ve| have)? (?:deprecated|dropped|retired|sunset|abandoned) (?!(?:it|that|this|them)\b).+)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "correction",
        r"i(?:['’]ve| have)?(?: already| just| repeatedly)? (?:told|asked) you (?:\w+ times )?"
        r"(?P<text>(?:not to|to (?:use|avoid|always|never|stop|keep|stick|follow|ask|answer|reply"
        rf"|speak)) {NOT_NAMED}.+)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "remember",
        r"(?:please )?remember (?:that )?(?P<text>(?:the |our |this )?[\w-]+(?: [\w-]+){0,3} "
        r"(?:runs?|uses?|needs?|requires?|listens?|lives?|is|are|has|have|goes|belongs?) .+)",
        unless=r"(?:to|when|how|what|why|where|if)\b",
        rejects_task_words=False,
    ),
    define_statement_pattern(
        "remember",
        rf"(?:please )?(?:remember|{NEGATION} forget) to (?P<text>(?:always |never )?(?:use|follow|"
        rf"answer|reply|write|speak|prefer|avoid|keep) {NOT_NAMED}.+)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}(?:never |always )?use (?:the )?(?!the )(?:[\w-]+ ){{1,3}}{_STYLE}\b"
        rf"(?! (?:from|of)\b).{{0,80}})",
        rejects_task_words=True,
        unless=r".*\buse the (?:same|new|old|other|correct|right|proper|first|second)\b",
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}(?:never|always) (?:include|show|add|provide|mention|give|cite|write|"
        rf"put|leave|list|state|explain|format|use|end|start|begin|answer) (?:.{{0,40}}\b)?"
        rf"{OUTPUTS}\b.*)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}(?:never|always) .+\b(?:when|whenever|if|every time) (?:i|we) (?:ask|"
        rf"mention|request|talk|say|inquire|discuss|want|need)\b.*)",
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>(?:when|whenever|if|every time) (?:i|we) (?:ask|mention|request|talk|say|inquire|"
        rf"discuss)\b.+?, ?(?:please )?{ORDER}.*)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}{NEGATION} (?:add|put|include|leave|write|use) (?:any |more |the )?"
        rf"{OUTPUTS}(?: \w+){{0,2}} (?:to|in|into|on) (?:the |our |your |my )?{_PLACES}\b.*)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}{NEGATION} (?:amend|squash|rebase|force[- ]push|mock|rewrite) (?:to "
        rf"|any |the )?(?:published |pushed )?(?:commits|history|merges|main|master|\w+ in tests)"
        rf"\b.*)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>i {OFTEN}(?:prefer|hate|dislike|detest|despise|loathe|can['’]?t stand|cannot "
        rf"stand|avoid|refuse to|(?:will |would )?only (?:eat|drink|buy|use|watch|read|listen|travel|stay|wear|shop)"
        rf"|never (?:eat|drink|buy|use|watch|read|wear)|value|am allergic) {MOMENT}.+)",
        rejects_task_words=True,
        unless=r".*\b(?:option|approach|variant|version) \w\b",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>i(?:['’]m| am| have| suffer from|['’]ve)(?: got)?(?: an?| been)? (?:\w+(?:ly)? ){0,2}"
        r"(?:allergy|allergic|intolerance|intolerant|vegan|vegetarian|aversion|phobia|fear of|"
        r"dislike for|preference for|passion for|not a (?:big )?fan|sensitive to|averse to)\b.*)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>i (?:really |absolutely |do )*(?:don['’]?t|do not) (?:like|enjoy|eat|drink|"
        r"appreciate|care for|believe in|trust) " + MOMENT + r".+)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>i (?:\w+ly )?(?:follow an? (?:\w+ ){0,3}(?:diet|lifestyle|routine|schedule)|live (?:in|"
        r"with)|work (?:in|as|at|for|from)|speak (?-i:[A-Z])\w+|practice|commute|suffer from) .*)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>i(?:['’]m| am) (?:the|an?|our) (?:[\w-]+ ){0,3}(?:lead|manager|owner|cto|ceo|director|head|"
        r"nurse|doctor|musician|artist|parent|accountant|journalist)\b(?! (?:key|account|token|role)).*)",
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>{SOFTENERS}(?:always )?(?:answer|reply|respond|write|speak|talk|explain)(?: to me)?"
        r"(?: only)? in (?:english|german|french|spanish|chinese|japanese|portuguese|russian|italian|"
        r"dutch|korean|polish|turkish|(?:british|american) english)\s*[.!]*$)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>i(?:['’]m| am)(?: really| just| quite| very| also| more of)* (?:uncomfortable (?:with|"
        r"around)|afraid of|scared of|terrified of|not (?:really )?into|(?:an? )?(?:\w+ )?(?:night owl|"
        r"morning person|early bird|introvert|extrovert|minimalist|pescatarian|diabetic|colou?r-?blind"
        r"|dyslexic|left-handed|deaf|pregnant|perfectionist|homebody|foodie)|on an? [\w -]{2,30}diet"
        r"|lactose|gluten|trying to (?:cut|avoid|reduce|quit|lose|save|eat|drink|limit)|(?:an? )?(?:huge|big"
        r"|avid|lifelong) )\b.*)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:given|due to|because of|for) my (?:[\w-]+ ){0,2}(?:problems?|conditions?|religion|"
        r"allerg(?:y|ies)|budget|diet|faith|health|disability|injury|anxiety|beliefs?|values),? i .+)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>i(?:['’]ve| have) (?:been diagnosed with|had (?:bad|terrible|negative|poor) experiences?"
        r"|always (?:hated|loved|preferred|avoided|been)|never (?:liked|enjoyed|been (?:a fan|into))"
        r"|(?:small|young|two|three|four|\d) (?:children|kids|dogs|cats|pets)|a (?:toddler|baby|newborn|dog"
        r"|cat|pet|puppy|mortgage|disability)|(?:an? )?(?:bad |chronic |severe |mild )?(?:back|knee|health|"
        r"hearing|vision|heart|skin|medical|stomach) (?:problems?|conditions?|issues?|pain)|asthma|"
        r"migraines?|diabetes|insomnia|adhd|arthritis|vertigo|claustrophobia)\b.*)",
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>i {OFTEN}(?:prioriti[sz]e|(?:cannot|can['’]?t|do not|don['’]t) tolerate|learn (?:best|"
        rf"better)|get (?:\w+ )?(?:sick|sickness|anxious|nauseous|headaches|bored|overwhelmed)|find "
        rf"{MOMENT}[\w -]{{2,40}}? (?:too |very |overly )?(?:\w+ing|stressful|overwhelming|boring|difficult|unpleasant)|"
        rf"believe in|struggle with|would (?:much )?rather (?!not\b|you\b|we\b)\w+ (?:\w+ ){{0,4}}than|refrain from|steer clear|stay away|"
        rf"have (?:an? )?(?:\w+ ){{0,2}}(?:aversion|allergy|phobia|preference|passion|intolerance|"
        rf"sensitivity|weakness|distaste)) .+)",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>as an? (?:[\w-]+ ){0,4}(?:enthusiast|lover|vegetarian|vegan|parent|person|beginner|fan|"
        r"introvert|minimalist|student|teacher|muslim|jew|hindu|christian|diabetic|fanatic|purist|"
        r"environmentalist|professional),? i (?!should|can|see|click)\w+ .+)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>.{0,80}\b(?:is|are) (?:always )?(?:my|our) (?:number one|top|main|highest|first|biggest) "
        r"(?:priority|concern|dealbreaker)\b.*)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>i(?:['’]m| am) on (?:an? )?(?:windows|mac(?:os)?|linux|ubuntu|debian|fedora|arch|nixos|wsl|"
        r"macbook|chromebook|android|ios)\b(?!.*\b(?:page|branch)\b).*)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>my (?:(?:main|default|preferred|favou?rite|usual|go-to) )?(?:editor|ide|shell|terminal|"
        r"os|operating system|laptop|keyboard|browser|manager|boss|team|company|employer|title|"
        r"profession|hobby|hobbies|wife|husband|partner|daughter|son|birthday|city|country|language|"
        r"diet|budget|pronouns?|airline|cuisine) (?:is|are|uses?|runs?) (?!not\b|broken|slow|down|too\b).+)",
    ),
    define_statement_pattern(
        "rule", r"(?P<text>i need .{3,80} to be (?:considered|included|taken into account)\b.*)"
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:for|in) (?:any|every|all) (?:code|answers?|repl(?:y|ies)|responses?|emails?|messages?|"
        r"commits?|prs?|examples?)\b.{0,40}, (?:please |always |never )*(?:include|use|add|write|give|keep|"
        r"don['’]t|never|always|show|mention|put|avoid)\b.+)",
    ),
    define_statement_pattern("rule", rf"(?P<text>{CONDITION}.*)", rejects_task_words=True),
    define_statement_pattern(
        "rule",
        rf"(?P<text>(?:make sure|be sure|remember|please)(?: to| that you)? (?:{VERB}|spell) .+\b(?:when|whenever|if|every "
        r"time) (?:i|we) (?:ask|mention|request|talk|say|inquire|discuss)\b.*)",
    ),
    define_statement_pattern(
        "rule",
        rf"(?P<text>(?:i|we) (?:prefer|like|love|favou?r|enjoy) {MOMENT}.+ (?:over|to|rather than|more "
        rf"than|instead of) .+)",
        rejects_task_words=True,
    ),
)
"""Kept at once."""

CONFIRMATION = (
    r"(?:(?:yes|yeah|yep|perfect|exactly|great|good|nice|love it|right|correct|awesome|cool)\b[\s,.!]*"
    r")+(?:(?:please )?(?:keep|continue) (?:doing|working|writing|it)\b.{0,20}|(?:that|this)(?:['’]s| "
    r"is) (?:exactly )?(?:how|what) i (?:want|like|meant)\b.{0,30}|always (?:do )?(?:it )?(?:like|this"
    r"|that)\b.{0,20})[.!]*"
)
"""A whole message that asks to go on as before: what is meant is in the turn before it."""
