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
    parse_statement_patterns,
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

PLAIN_PATTERNS: tuple[StatementPattern, ...] = parse_statement_patterns(
    rf"""
    rule beyond tasks: (?P<text>{_PROCESS_NOUN} (?:must|may|should|shall|can) (?:not|never|always|only) (?:ever )?[a-z]+\b.*|{_PROCESS_NOUN} (?:must
        |have to|need to) (?:be|have|pass|stay|start|end|follow|use|include|contain|go|carry|keep|run|work)\b.*)
      unless: .*\b(?:because|error|fail\w*|bug|broken|loading|clicked)\b
    rule beyond tasks: (?P<text>in (?:this|our|my) {PROJECT_NOUN},? (?:we|nobody|everyone|everybody|i) (?:never|always|only|{NEGATION}|must
        |have to) [a-z]+\b.*)
    rule beyond tasks: (?P<text>(?:please )?(?:keep|limit|cap|wrap|break) (?:all |your )?{_PROCESS_NOUN} (?:(?:shorter|smaller|longer|no longer) than
        |under|below|within|to|at|at most|over) (?:at most )?\d+\b.*)
    rule beyond tasks: (?P<text>{SOFTENERS}(?:never|always) (?:include|show|add|provide|mention|give|cite|write|put|leave|list|state|explain|format
        |use|end|start|begin|answer) (?:.{{0,40}}\b)?{OUTPUTS}\b.*)
    rule beyond tasks: (?P<text>{SOFTENERS}only {USE} {THING}\s*(?:,.*)?[.!]*$)
    rule beyond tasks: (?P<text>{SOFTENERS}(?:always |only )?{USE} {_THING_HERE},? (?:and )?(?:not|never|but not|no) {NOT_NAMED}[\w.@/+-]+.*)
      unless: {ONE_PLACE}
    rule beyond tasks: (?P<text>{SOFTENERS}(?:always |only |never ){USE} {_THING_HERE},? (?:instead of|rather than|over) {NOT_NAMED}[\w.@/+-]+.*)
      unless: {ONE_PLACE}
    rule beyond tasks: (?P<text>{SOFTENERS}{_NO} {USE} {_THING_HERE}\s*[,;:–—-]+ ?(?:but |and |please |we |just |only |always )*(?:use|using|prefer
        |this|our|switch|run) .+)
      unless: {ONE_PLACE}
    rule beyond tasks: (?P<text>(?:this|our|the) {PROJECT_NOUN} (?:only |always |still |now )?(?:uses|requires|targets|follows|runs on|supports
        |is (?:written|built) (?:in|with|on)|has to) .+)
    rule beyond tasks: (?P<text>(?:we|i)(?:['’]ve| have)? (?:just |already |recently |now )?(?:switched|migrated|moved) (?:over )?(?:from {THING} to
        |to|off|away from) {NOT_NAMED}\w.*)
    rule beyond tasks: (?P<text>(?:we|i) (?:no longer|{NEGATION}) (?:use|support|maintain|ship) {THING}(?: any ?more)?\s*(?:[,;–—-].*)?[.!]*$)
    rule beyond tasks: (?P<text>we(?:['’]ve| have)? (?:deprecated|dropped|retired|sunset|abandoned) (?!(?:it|that|this|them)\b).+)
    correction beyond tasks: i(?:['’]ve| have)?(?: already| just| repeatedly)? (?:told|asked) you (?:\w+ times )?(?P<text>(?:not to|to (?:use|avoid
        |always|never|stop|keep|stick|follow|ask|answer|reply|speak)) {NOT_NAMED}.+)
    remember: (?:please )?remember (?:that )?(?P<text>(?:the |our |this )?[\w-]+(?: [\w-]+){{0,3}} (?:runs?|uses?|needs?|requires?|listens?|lives?|is
        |are|has|have|goes|belongs?) .+)
      unless: (?:to|when|how|what|why|where|if)\b
    remember beyond tasks: (?:please )?(?:remember|{NEGATION} forget) to (?P<text>(?:always |never )?(?:use|follow|answer|reply|write|speak|prefer
        |avoid|keep) {NOT_NAMED}.+)
    rule beyond tasks: (?P<text>{SOFTENERS}(?:never |always )?use (?:the )?(?!the )(?:[\w-]+ ){{1,3}}{_STYLE}\b(?! (?:from|of)\b).{{0,80}})
      unless: .*\buse the (?:same|new|old|other|correct|right|proper|first|second)\b
    rule: (?P<text>{SOFTENERS}(?:never|always) .+\b(?:when|whenever|if|every time) (?:i|we) (?:ask|mention|request|talk|say|inquire|discuss|want
        |need)\b.*)
    rule beyond tasks: (?P<text>(?:when|whenever|if|every time) (?:i|we) (?:ask|mention|request|talk|say|inquire
        |discuss)\b.+?, ?(?:please )?{ORDER}.*)
    rule beyond tasks: (?P<text>{SOFTENERS}{NEGATION} (?:add|put|include|leave|write|use) (?:any |more |the )?{OUTPUTS}(?: \w+){{0,2}} (?:to|in|into
        |on) (?:the |our |your |my )?{_PLACES}\b.*)
    rule beyond tasks: (?P<text>{SOFTENERS}{NEGATION} (?:amend|squash|rebase|force[- ]push|mock|rewrite) (?:to |any |the )?(?:published |pushed )?(?:c
        ommits|history|merges|main|master|\w+ in tests)\b.*)
    rule beyond tasks: (?P<text>i {OFTEN}(?:prefer|hate|dislike|detest|despise|loathe|can['’]?t stand|cannot stand|avoid|refuse to
        |(?:will |would )?only (?:eat|drink|buy|use|watch|read|listen|travel|stay|wear|shop)|never (?:eat|drink|buy|use|watch|read|wear)|value
        |am allergic) {MOMENT}.+)
      unless: .*\b(?:option|approach|variant|version) \w\b
    rule: (?P<text>i(?:['’]m| am| have| suffer from|['’]ve)(?: got)?(?: an?| been)? (?:\w+(?:ly)? ){{0,2}}(?:allergy|allergic|intolerance|intolerant
        |vegan|vegetarian|aversion|phobia|fear of|dislike for|preference for|passion for|not a (?:big )?fan|sensitive to|averse to)\b.*)
    rule beyond tasks: (?P<text>i (?:really |absolutely |do )*(?:don['’]?t|do not) (?:like|enjoy|eat|drink|appreciate|care for|believe in
        |trust) {MOMENT}.+)
    rule beyond tasks: (?P<text>i (?:\w+ly )?(?:follow an? (?:\w+ ){{0,3}}(?:diet|lifestyle|routine|schedule)|live (?:in|with)|work (?:in|as|at|for
        |from)|speak (?-i:[A-Z])\w+|practice|commute|suffer from) .*)
    rule: (?P<text>i(?:['’]m| am) (?:the|an?|our) (?:[\w-]+ ){{0,3}}(?:lead|manager|owner|cto|ceo|director|head|nurse|doctor|musician|artist|parent
        |accountant|journalist)\b(?! (?:key|account|token|role)).*)
    rule: (?P<text>i(?:['’]m| am)(?: really| just| quite| very| also| more of)* (?:uncomfortable (?:with|around)|afraid of|scared of|terrified of
        |not (?:really )?into|(?:an? )?(?:\w+ )?(?:night owl|morning person|early bird|introvert|extrovert|minimalist|pescatarian|diabetic
        |colou?r-?blind|dyslexic|left-handed|deaf|pregnant|perfectionist|homebody|foodie)|on an? [\w -]{{2,30}}diet|lactose|gluten|trying to (?:cut
        |avoid|reduce|quit|lose|save|eat|drink|limit)|(?:an? )?(?:huge|big|avid|lifelong) )\b.*)
    rule: (?P<text>(?:given|due to|because of|for) my (?:[\w-]+ ){{0,2}}(?:problems?|conditions?|religion|allerg(?:y|ies)|budget|diet|faith|health
        |disability|injury|anxiety|beliefs?|values),? i .+)
    rule: (?P<text>i(?:['’]ve| have) (?:been diagnosed with|had (?:bad|terrible|negative|poor) experiences?|always (?:hated|loved|preferred|avoided
        |been)|never (?:liked|enjoyed|been (?:a fan|into))|(?:small|young|two|three|four|\d) (?:children|kids|dogs|cats|pets)|a (?:toddler|baby
        |newborn|dog|cat|pet|puppy|mortgage|disability)|(?:an? )?(?:bad |chronic |severe |mild )?(?:back|knee|health|hearing|vision|heart|skin|medical
        |stomach) (?:problems?|conditions?|issues?|pain)|asthma|migraines?|diabetes|insomnia|adhd|arthritis|vertigo|claustrophobia)\b.*)
    rule beyond tasks: (?P<text>i {OFTEN}(?:prioriti[sz]e|(?:cannot|can['’]?t|do not|don['’]t) tolerate|learn (?:best|better)|get (?:\w+ )?(?:sick
        |sickness|anxious|nauseous|headaches|bored|overwhelmed)|find {MOMENT}[\w -]{{2,40}}? (?:too |very |overly )?(?:\w+ing|stressful|overwhelming
        |boring|difficult|unpleasant)|believe in|struggle with|would (?:much )?rather (?!not\b|you\b|we\b)\w+ (?:\w+ ){{0,4}}than|refrain from
        |steer clear|stay away|have (?:an? )?(?:\w+ ){{0,2}}(?:aversion|allergy|phobia|preference|passion|intolerance|sensitivity|weakness
        |distaste)) .+)
    rule: (?P<text>as an? (?:[\w-]+ ){{0,4}}(?:enthusiast|lover|vegetarian|vegan|parent|person|beginner|fan|introvert|minimalist|student|teacher
        |muslim|jew|hindu|christian|diabetic|fanatic|purist|environmentalist|professional),? i (?!should|can|see|click)\w+ .+)
    rule: (?P<text>.{{0,80}}\b(?:is|are) (?:always )?(?:my|our) (?:number one|top|main|highest|first|biggest) (?:priority|concern|dealbreaker)\b.*)
    rule: (?P<text>i(?:['’]m| am) on (?:an? )?(?:windows|mac(?:os)?|linux|ubuntu|debian|fedora|arch|nixos|wsl|macbook|chromebook|android
        |ios)\b(?!.*\b(?:page|branch)\b).*)
    rule: (?P<text>my (?:(?:main|default|preferred|favou?rite|usual|go-to) )?(?:editor|ide|shell|terminal|os|operating system|laptop|keyboard|browser
        |manager|boss|team|company|employer|title|profession|hobby|hobbies|wife|husband|partner|daughter|son|birthday|city|country|language|diet
        |budget|pronouns?|airline|cuisine) (?:is|are|uses?|runs?) (?!not\b|broken|slow|down|too\b).+)
    rule: (?P<text>i need .{{3,80}} to be (?:considered|included|taken into account)\b.*)
    rule: (?P<text>(?:for|in) (?:any|every|all) (?:code|answers?|repl(?:y|ies)|responses?|emails?|messages?|commits?|prs?
        |examples?)\b.{{0,40}}, (?:please |always |never )*(?:include|use|add|write|give|keep|don['’]t|never|always|show|mention|put|avoid)\b.+)
    rule beyond tasks: (?P<text>{CONDITION}.*)
    rule: (?P<text>(?:make sure|be sure|remember|please)(?: to| that you)? (?:{VERB}|spell) .+\b(?:when|whenever|if|every time) (?:i|we) (?:ask
        |mention|request|talk|say|inquire|discuss)\b.*)
    rule beyond tasks: (?P<text>(?:i|we) (?:prefer|like|love|favou?r|enjoy) {MOMENT}.+ (?:over|to|rather than|more than|instead of) .+)
    """
)
"""Kept at once."""

CONFIRMATION = (
    r"(?:(?:yes|yeah|yep|perfect|exactly|great|good|nice|love it|right|correct|awesome|cool)\b[\s,.!]*"
    r")+(?:(?:please )?(?:keep|continue) (?:doing|working|writing|it)\b.{0,20}|(?:that|this)(?:['’]s| "
    r"is) (?:exactly )?(?:how|what) i (?:want|like|meant)\b.{0,30}|always (?:do )?(?:it )?(?:like|this"
    r"|that)\b.{0,20})[.!]*"
)
"""A whole message that asks to go on as before: what is meant is in the turn before it."""
