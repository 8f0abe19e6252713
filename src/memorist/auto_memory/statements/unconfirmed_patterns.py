"""What is probably meant to last and may be a task: it waits for the person's yes. Pure.

English first, then German, French, Spanish, Portuguese, Russian, Chinese and Japanese.
"""

from __future__ import annotations

from memorist.auto_memory.statements.brief_rule_patterns import BRIEF_RULES
from memorist.auto_memory.statements.correction_patterns import CORRECTIONS
from memorist.auto_memory.statements.korean_patterns import KOREAN_WAITING
from memorist.auto_memory.statements.plain_english_patterns import (
    MOMENT,
    NOT_NAMED,
    OFTEN,
    ONE_PLACE,
    THING,
    USE,
)
from memorist.auto_memory.statements.preference_patterns import PREFERENCES
from memorist.auto_memory.statements.project_circumstance_patterns import PROJECT_CIRCUMSTANCES
from memorist.auto_memory.statements.statement_patterns import (
    ANY_ORDER,
    CONDITION,
    NEGATION,
    ORDER,
    SOFTENERS,
    VERB,
    StatementPattern,
    parse_statement_patterns,
)
from memorist.auto_memory.statements.tool_choice_patterns import TOOL_CHOICES
from memorist.auto_memory.statements.working_agreement_patterns import WORKING_AGREEMENTS
from memorist.auto_memory.statements.written_rule_patterns import HOUSE_RULES

TIMES = (
    r"(?:committing|pushing|merging|releasing|deploying|finishing|opening|submitting|editing|"
    r"changing|writing|coding|implementing|each|every|any|you (?:commit|push|merge|edit|change|"
    r"start|finish|write|delete|make|do|are done)|making (?:any )?(?:changes|edits)|starting)"
)

_TALK = (
    r"(?:explanations?|summar(?:y|ies)|preambles?|intros?|pleasantries|small talk|flattery|apolog(?:y|ies)|"
    r"filler|fluff|jargon|buzzwords|emojis?|comments?|disclaimers?|markdown|bullet points?|praise|"
    r"placeholders?|abbreviations|semicolons?|mocks?|co-?authors?|attribution)"
)
"""What an agent adds to its answers or its code unasked."""
_STATE = r"(?:is|are|['’]s|['’]re|lives?|runs?|uses?|goes|go|belongs?|should be|must be|gets?|called|named)"

_ENGLISH: tuple[StatementPattern, ...] = parse_statement_patterns(
    rf"""
    rule: (?P<text>you (?:will|shall|are to|need to|have to) (?:always|never|only) .{{3,}})
    rule: (?P<text>only (?:ever {VERB}\b .{{2,}}|use (?!(?:this|that|these|those|one|it|the)\b)[\w@./+-]{{2,}}(?: please)?[.!]*$|{VERB}\b.{{0,60}} (?:when|if|once|unless|with my) (?!you(?:['’]re| are| have|['’]ve) (?:done|finished|ready)\b).{{4,}}))
    rule: (?P<text>(?:{NEGATION} )?{VERB}\b(?!.*\b(?:file|function|line|loop|row|list|array)\b)(?: .{{1,60}})? at the (?:end|start
        |beginning) of (?:each|every|any|your) (?:session|task|turn|day|week|sprint|conversation|chat|reply|answer|response|message|phase|feature
        |commit|pr|release|replie)s?\b.*)
    # A bare order for always: it may describe the wanted code, so it is not kept by itself.
    rule: (?P<text>{SOFTENERS}(?:always|never) [a-z]{{3,}} (?!(?:it|that|this)\b).{{3,}})
    # An order whose verb is no known one ("Round totals half up, always."); what happens always has
    # a subject, or a verb in the third person or the past.
    rule: (?P<text>{ANY_ORDER}[^,?]{{3,80}}(?:, |(?<!not)(?<!like)(?<!as)(?<!than) )(?:always|without exception)(?:,? please)?\s*[.!]*$)
    rule: (?P<text>(?:(?:in|on) (?:this|our|my) (?:team|repo\w*|project|company|codebase|org\w*),? (?:we|i|nobody|everyone|all|it)\b.+|we(?:['’]ve
        | have)? (?:only |always |never )?(?:support|pair on|pair with|log in|keep (?!\w+ing\b)|store|track|host|tag|version|got rid of|ditched|killed
        |replaced|removed support for|phased out|do not ship|don['’]t ship) (?!(?:it|that|this|these|those|them)\b).{{3,}}))
      unless: .*\b(?:now|today|yet|again|this (?:file|function|test|page)|error)\b
    rule: (?P<text>(?:the|our|my) (?:[\w-]+ )?(?:folks|team|guys|people|colleagues?|boss|manager|designers?|leads?|devs|engineers|customers?|clients?
        |co-?founder|legal|security|marketing)(?: (?-i:[A-Z])\w+)? (?:owns?|handles?|approves?|maintains?|decides?|takes? care of|(?:is
        |are) responsible for|calls? (?:it|them|this)|wants? us|insists?|needs? to approve|signs? off|expects?|prefers?|uses?)\b.+)
    rule beyond tasks: (?P<text>(?:(?:our |all |the )?(?:[\w-]+ )?(?:tests?|files?|docs|components?|styles?|migrations?|fixtures?|titles?|names
        |branches|commits|messages|prs?|types|constants|helpers)) (?:go(?:es)?|starts?|ends?|lives?|belongs?|sits?|are named|are called) (?:next to
        |beside|in|under|with|into|after|by) (?!this\b|that\b|the same\b).{{3,}})
    rule: (?P<text>(?:please )?(?:leave (?:the |all |my )?[\w -]{{3,40}} (?:alone|untouched|as is)|stick to the (?:existing|current|usual|house|repo)
        |(?:don['’]?t|do not|never) say\b|.{{5,80}}\bso (?:please )?keep (?:it|them|things|these|everything) (?:short|small|simple|brief|tidy)).*)
      unless: .*\b(?:for now|now|yet)\b
    correction: (?P<text>i(?:['’]ve| have)? (?:already )?told you .{{0,30}}[,:] .{{5,}})
    correction: (?P<text>that['’]?s (?:the|an) (?:old|outdated|wrong) [\w ]{{2,30}}, (?:the (?:new|right|correct)|use|it['’]?s|we) .+)
    correction as question: (?P<text>isn['’]?t it (?:obvious|clear)\b.{{0,20}}\bthat .+)
    correction as question: (?P<text>(?:but )?why would (?:you|u) (?:ever\b|.*\b(?:any\w*|everything)\b).*)
    correction: (?:(?:no|nah|nope)\b[\s,.:;!–—-]+|(?:that['’]?s|this is|you['’]re|it['’]?s) (?:outdated|wrong|old|not right|incorrect
        |no longer true)[\s,.:;!–—-]+)(?P<text>we(?:['’]re| are| use| have|['’]ve| run| call| deploy| don['’]?t)\b.{{3,}})
      unless: .*\b(?:getting|seeing|done|ready|there|looking|talking|trying|going)\b
    rule: (?P<text>(?:we (?:follow|practi[cs]e|adopted|stick to|adhere to|standardi[sz]e on)|we(?:['’]re| are) an? (?:\w+ ){{0,2}}(?:shop|team|company
        |startup|monorepo|agency)|we(?:['’]ve| have) (?:stopped|quit|started|given up) (?:using|doing|with))\b.{{3,}})
    rule: (?P<text>(?:this|the|our) (?:repo\w*|project|customer|client|product|company|codebase|app|service|api|library|package) (?:is (?:public
        |private|internal|open[- ]source|a (?!bit\b|mess\b|lot\b)|multi-?tenant|regulated)|must (?:stay|remain|be|keep|work)|has to (?:stay|remain
        |work)).+)
      unless: .*\b(?:bug|broken|error|failing|down|this pr|while|loading)\b
    rule: (?P<text>(?:our |all |the )?(?:logs?|metrics|traces|secrets?|flags?|designs?|docs|tickets?|bugs?|alerts?|dashboards?|specs?|mockups?
        |credentials) (?:are|is) (?:in|on) (?-i:[A-Z])\w+.*)
    rule: (?P<text>(?:please )?(?:be|keep it|stay) (?:more )?(?:terse|concise|brief|honest|critical|precise|direct|explicit|skeptical|sceptical|succinct|blunt|thorough|consistent)\b.*)
    rule: (?P<text>(?:max(?:imum)? )?(?:line length|indent(?:ation)?|tab (?:width|size)|line width|coverage|quotes|encoding|line endings?) (?:is|are
        |must be|should be|stays?|=|:) ?\S+.{{0,40}})
      unless: .*\b(?:wrong|broken|off)\b
    rule: (?P<text>{NOT_NAMED}[\w-]+(?: {NOT_NAMED}[\w-]+)?, not {NOT_NAMED}[\w-]+(?: {NOT_NAMED}[\w-]+)?[.!]*$)
      unless: (?:yes|no|maybe|sorry|ok|tomorrow|today|now|later)\b
    rule: (?P<text>(?:there['’]?s |there is )?(?:no (?:real |actual )?need|don['’]?t bother) (?:to|for|with) (?!(?:it|that|this|those|them)\b).{{4,}})
      unless: .*\b(?:now|yet|this|that|again|anymore|worry)\b
    rule: (?P<text>(?:(?:each|every|all) [\w -]{{2,40}}? (?:needs?|must|should|gets?|requires?) .+|one \w+ per \w+\b.*|treat \w+ as \w+.*
        |give me (?:only |always )?(?:short|brief|concise|detailed)\b.*|(?:answer|reply|respond) (?:in|with|using) (?:bullet|short|full|plain|complete
        |numbered|one|two|three|english|german|french|spanish|\w+ (?:points|lines|sentences|words))\b.*|(?:please )?(?:speak|talk) to me\b.*
        |(?:please )?(?:address|call) me .+))
      unless: .*\b(?:loading|clicked|response|request|user)\b
    rule: (?P<text>.{{2,40}} (?:has|have) been (?:replaced (?:by|with)|superseded by|migrated to|moved to|renamed to) .+)
    rule: (?P<text>you(?: may| can| could|['’]re allowed to| are allowed to) .+ without (?:asking|my|permission|confirm\w*)\b.*)
    rule: (?P<text>(?:.{{3,80}}, )?(?:please )?(?:only )?(?:work|stay|edit|write|change|look|touch) only (?:in|under|on|inside|at) .+)
    rule: (?P<text>(?:i(?:['’]ve| have) only (?:been )?\w+|i (?:usually|normally|mostly|mainly|typically) \w+|(?:english|german|french) (?:isn['’]?t
        |is not) my|i(?:['’]m| am) based in|i(?:['’]m| am) in (?:the )?(?-i:[A-Z])\w+ time) .+)
    rule: (?P<text>(?:please )?(?:make|keep|treat) (?:that|this|it) (?:as |part of )?(?:a |the |your |our )?(?:new )?(?:standard|default|habit|rule
        |norm|workflow|routine|practice|convention|policy)\b.*)
    rule: (?P<text>(?:please )?(?:always )?do (?:that|this|it|so) (?:always|every time|from now on|by default)\b.*)
    rule: (?P<text>{SOFTENERS}{USE} {THING},? (?:instead of|rather than|over|not) {NOT_NAMED}.+)
      unless: {ONE_PLACE}
    rule: (?P<text>(?:make sure|be sure|ensure)(?: that| to| you| we)* .+\b(?:(?:before|after|when|whenever) {TIMES}\b|(?:for|with|in|on) (?:each|every)(?: new)?
        [ ](?:pr|pull request|commit|change|release|feature|(?:bug ?)?fix|migration|endpoint|module|component|task|branch)\b).*)
    # A rule for one part of the project, and how the agent is to be.
    rule: (?P<text>(?:in|on|for|inside|within|under) (?:the |our |all |every |any )?(?:[\w.-]+ )?(?:packages?|modules?|folders?
        |director(?:y|ies)|services?|apps?|layers?|back-?end|front-?end|api|library|workspace|[\w.-]*/[\w./-]+),? (?:please |we |you (?:should
        |must )?)*(?:always|never|(?<=\bwe )only) .+)
      unless: .*\b(?:here|this|these|now|today|yet)\b
    correction: (?P<text>(?:please )?{NEGATION} be (?:so|too|that|overly) (?!sure\b|fast\b|quick\b|sad\b|hard\b|surprised\b|worried\b)\w+.*)
    rule: (?P<text>{ORDER} .+ (?:before|after) {TIMES}\b.*)
    rule: (?P<text>(?:prefer|avoid|favou?r|adhere to|stick to|follow) {MOMENT}\w+.*)
    rule: (?P<text>make no assumptions\b.*)
    rule: (?P<text>(?:wait[,. ]+)?(?:let['’]?s|we should|please) (?:always |first )?(?:discuss|talk (?:about|it))\b.{{0,80}}\b(?:first|before|edit
        |code|implement)\w*.*)
    rule: (?P<text>wait[,. ]+let['’]?s discuss\b.*)
    rule: (?P<text>(?:(?:we|i) )?(?:really )?(?:don['’]?t|do not) want (?:any |my |our |to |you to )?{NOT_NAMED}.+)
      unless: .*\b(?:yet|for now|this)\b
    rule: (?P<text>we should (?:be |always |never |only |also )*(?:us(?:e|ing)|prefer\w*|avoid\w*|keep\w*|follow\w*) .*\b(?:wherever|everywhere|always
        |instead of|rather than|strong)\b.*)
    rule: (?P<text>.*\b(?:so (?:that )?(?:we|you|i) (?:don['’]?t|do not|won['’]?t|never) .+ (?:again|in (?:the )?future|next time)|in (?:the )?future
        |next time|any ?more going forward)\b.*)
    rule: (?P<text>.{{3,80}} (?:is|are) (?:deprecated|stale|no longer (?:used|supported|needed)|off limits|forbidden|not allowed)\b.*)
    correction: (?P<text>(?:why (?:do|are|did) you (?:keep|still|always|again)|i (?:didn['’]?t|did not|never) (?:tell|ask|say|told|asked|want
        |allow(?:ed)?|permit(?:ted)?) (?:you|u) to)\b.+)
    rule: (?P<text>(?:there['’]?s|there is) no (?:point|need) (?:in )?\w+ing .+)
    rule: (?P<text>.{{3,60}} always happens?\b.*)
    rule: (?P<text>i {OFTEN}(?:like|love|enjoy) {MOMENT}\w+ .+)
    rule: (?P<text>i(?:['’]m| am) (?:(?:more of|very much|rather|mostly|mainly|still|really|not) )?an? (?:\w+ ){{0,3}}(?:person|lover|fan|user|learner
        |thinker|reader|beginner|newcomer|newbie|developer|engineer|student|freelancer)\b.*)
    rule: (?P<text>my (?:favou?rite|preferred|usual|go-to|main) .+)
    rule: (?P<text>(?:please |just |ok |and )*(?:no|without|fewer|less|skip(?: the| any| all)?|drop the|cut the|enough with the|stop it with the
        |no more|(?:way )?too (?:many|much)) (?:[\w-]+ )?{_TALK}\b.{{0,40}})
    rule: (?P<text>.{{5,60}},? (?:and )?(?:no|without(?: any)?) {_TALK}\s*[.!]*$)
    rule: (?P<text>(?:please )?(?:(?:be )?(?:more|less|a bit more|a bit less) (?:verbose|concise|brief|terse|direct|formal|casual|technical|detailed
        |chatty|wordy|specific|careful)|(?:shorter|briefer|longer|simpler) (?:answers|repl(?:y|ies)|responses|explanations|sentences|messages)
        |keep (?:it|your (?:answers|replies|responses|messages)|(?:the )?language|answers|explanations|explanation) (?:short|brief|simple|concise
        |plain)).{{0,40}})
    rule: (?P<text>(?:your |the )?(?:answers|repl(?:y|ies)|responses|explanations|summaries|commit messages|commits|prs|comments) (?:should|must
        |need to|have to|are (?:always |way )?too|in|always) .+)
    rule: (?P<text>explain (?:things|it|everything|stuff) (?:to me )?(?:like|as if|simply).*)
    rule: (?P<text>(?:verify|test|read|look|think|plan|check)\b.{{0,40}} before you \w+.*)
    rule: (?P<text>(?:please )?(?:indent (?:with|by|using)|(?:use|write|prefer) (?:tabs|spaces|\w+[- ]?case|single quotes|double quotes
        |conventional commits)|keep (?:\w+ )?(?:functions|files|lines|methods|classes|prs|commits|components|modules|branches|names|tests) (?:under
        |below|short|small|to|at|within|in)|write (?:the |your )?tests? first|tests? first|(?:run|use) [\w.-]+ on (?:save|commit|push|every)
        |use the (?:repo|project|team|house|company)(?:['’]s)? own|use our own)\b.*)
      unless: {ONE_PLACE}
    rule: (?P<text>.{{6,120}}\bevery (?:single )?time\s*[.!]*$|we (?!(?:need|want|should|could|can|have|had|got|saw|will|met|meet|see|get)\b)[a-z]+(?<!ed)(?<!ing) [^?]{{2,60}} (?:every|each|on) (?:week|month|quarter|sprint|release|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)[.!]*$)
      unless: .*\b(?:fails?|crash\w*|happens)\b
    rule: (?P<text>(?:i|you) (?:don['’]?t|do not) (?:need|have) (?:to|an?|the) .+\b(?:every|each|always)\b.*)
    rule: (?P<text>you (?:can|may|should) (?:always )?skip .+)
    correction: (?P<text>that['’]?s not (?:how|what|where) (?:we|i) (?!(?:meant|asked|said|wanted|want)\b).+)
    correction: (?P<text>(?:(?:please )?(?:stop|quit) (?!the\b|it\b|this\b|that\b)\w+ing\b.{{0,80}}
        |you (?:always |keep |constantly |repeatedly |again )+(?:forget\w*|\w+ing)\b.*))
    correction: (?:no|nope|nah|wrong|incorrect|not quite)\b[\s,.:;!–—-]+(?P<text>(?!the other\b|that\b|this\b|it\b|i\b|not\b|just\b
        |wait\b)(?:[\w/.'’-]+ ){{1,6}}{_STATE}\b.{{2,}})
    rule: (?P<text>(?!this\b|that\b)(?:[\w/.'’-]+ ){{0,6}}[\w/.-]*(?:\b(?:is|are|lives?|runs?|uses?|called|named)|['’]s
        |['’]re)\b[^,]{{2,50}}, (?:and )?(?:not|never) {NOT_NAMED}[\w./-]+(?: {NOT_NAMED}[\w./-]+){{0,3}}\s*[.!]*$)
    rule: (?P<text>call (?:the |our |it )?.{{2,40}},? (?:and )?(?:not|never) {NOT_NAMED}[\w./-]+.*)
    rule: (?P<text>we (?:(?:don['’]?t|do not|never|always|only|usually|normally|mostly) (?:do|have|allow|rebase|squash|merge|release|ship|deploy
        |review|write|store|keep|name|pin|mock|log|use|commit|push|test)|(?:squash|rebase)(?:[- ]merge)?|deploy on|release on|release every|ship on
        |name our)\b(?! (?:this|that|it|the)\b).*)
      unless: .*\b(?:yet|now|anymore\?)\b
    rule beyond tasks: (?P<text>(?:all |our |the )?(?:[\w-]+ ){{1,4}}(?:is|are|should be|must be|have to be|need to be) (?:always|never|only) (?:\w+ed
        |written|run|done|made|kept|built|sent|put|held|shown)\b.*)
    rule: (?P<text>(?:all |our |the )?(?:[\w-]+ ){{1,4}}(?:should|must|have to) be \w+(?:ed|en|n)\b.*, (?:never|not) .+)
    rule: (?P<text>(?:the|our|my) (?:[\w-]+ ){{1,4}}(?:script|command|migrations?|build|release|tests?|deploy) (?:must|has to|have to) .+)
    rule: (?P<text>(?-i:[A-Z])\w+ (?:reviews|owns|approves|maintains|signs off|is responsible|is in charge|decides|leads)\b.+)
    rule: (?P<text>(?-i:[A-Z])[\w ]{{1,20}} is where (?:we|i|the team|you) .+)
    rule: (?P<text>you(?:['’]ll| can| will)? (?:always )?find .+ (?:in|at|on|under) .+)
    rule: (?P<text>we(?:['’]re| are) (?:still |stuck |now )?on (?-i:[A-Z])[\w.]+ v?\d.*)
    rule: (?P<text>we have (?:two|three|four|five|\d+|several|many) (?:customers|clients|teams|environments|repos|regions|stages)\b.*)
    rule: (?P<text>(?:i (?:use|run|work with|develop on|code in)|i(?:['’]m| am) using) (?:the )?(?:vs ?code|neovim|n?vim|emacs|helix|zed|cursor
        |jetbrains|intellij|pycharm|fish|zsh|bash|nushell|tmux|arch|nixos|windows|linux|macos|docker|podman|orbstack|colima|mise|asdf|nix|homebrew
        |pnpm|yarn|bun|uv|poetry|conda|[\w-]+ (?:shell|editor|terminal|distro|os))\b.*)
    rule: (?P<text>i (?:already )?know [\w+#.-]+(?: [\w+#.-]+)? (?:well|already|inside out|very well)\b.*)
    rule: (?P<text>i(?:['’]d| would) (?:like|love|prefer|want) (?:you |it )(?:to|if) .+\b(?:always|never|every|each|first|all)\b.*)
    rule: (?P<text>i want (?!to\b|a\b|an\b|the\b|this\b|that\b|it\b|you\b)(?:[\w-]+ ){{1,3}}(?:messages|commits|answers|names|tests|comments|prs
        |functions|explanations)\b.*)
    rule: (?P<text>.{{3,80}},? (?:so )?keep (?:it|the \w+|everything) (?:short|simple|brief|small|minimal)\b.*)
    rule: (?P<text>{CONDITION}.*)
    correction as question: (?P<text>(?:should(?:n['’]?t)|would(?:n['’]?t)|do(?:n['’]?t)) (?:you
        |we) (?:always |rather |first |not )*{VERB}\b.*\b(?:before|first|always|instead|every|rather)\b.*)
    correction as question: (?P<text>aren['’]?t you (?:supposed|meant|told|asked) .*)
    correction as question: (?P<text>(?:but )?why (?:on earth |the hell |the heck )?(?:do|are|did) (?:you|u) (?:(?:keep|still|always|again
        |constantly)\b.+|\w+.*\bagain\b.*|(?<=are you )(?!(?:going|getting|seeing|showing|saying|thinking|suggesting|recommending
        |proposing)\b)\w+ing (?!to\b|(?:this|that|it|so|me)\W*$)\w.+))
    """
)

_OTHER_LANGUAGES: tuple[StatementPattern, ...] = parse_statement_patterns(
    r"""
    # What holds from now on, wherever in the sentence it says so.
    rule: (?P<text>(?:.*[，,。！!；;、 ])?(?:以后|今后|往后)(?!再(?:说|看|谈|做|处理)|会|可能|才|怎么|的).{3,}|(?:.*[、。])?(?:今後|これから|以後|次から)は(?!.*(?:でしょう|思い|思う|予定|どう)).{2,})
    # "Always" at the end. What happens always has a subject before its verb, and what is done "as
    # always" is a task.
    rule: (?P<text>(?!(?:der|die|das|ein|eine|es|ich|er|sie|da|dann|wenn|warum|wieso|wie|was|jetzt|sonst)\b)[^,?]{4,90}, (?:immer|jedes mal|jedesmal
        |stets|grundsätzlich|ausnahmslos|ohne ausnahme)(?:,? bitte)?\s*[.!]*$)
      unless: .*\bwie immer\b
    rule: (?P<text>(?!(?:les?|la|une?|ça|cela|ce|cette|ces|il|elle|ils|elles|je|j['’]|pourquoi|quand|si)\b|l['’]|c['’])[^,?]{4,90}, (?:toujours
        |systématiquement|à chaque fois|chaque fois|sans exception)(?:,? (?:stp|svp|s['’]il (?:te|vous) pla[iî]t))?\s*[.!]*$)
      unless: .*\bcomme (?:toujours|à chaque fois)\b
    rule: (?P<text>(?!(?:el|la|los|las|una?|esto|eso|se|me|por qué|cuando|o|a|os|as|uma?|isso|isto|ele|ela|por que|quando)\b)[^,?]{4,90}, (?:siempre
        |cada vez|todas las veces|sin excepción|sempre|toda vez|todas as vezes|sem exceção)(?:,? por favor)?\s*[.!]*$)
      unless: .*\bcomo (?:siempre|sempre)\b
    rule: (?P<text>(?:por favor,? )?(?:sin|sem|menos|nada de) (?!embargo|duda|dúvida|problema)\w+(?: \w+){0,3},? por favor\s*[.!]*$)
    rule: (?P<text>(?:пожалуйста,? )?(?:никаких|без|поменьше|меньше) (?!проблем|разницы)[\w-]+(?: [\w-]+){0,3}(?:,? пожалуйста)?\s*[.!]*$)
    rule: (?P<text>(?:代码|注释|回复|回答|文档|提交信息|日志)(?:里面?|中|内)?(?:都|请)?(?:不要|别|不用|尽量|要|用).{2,})
      unless: .*(?:这|那|现在)
    rule: (?P<text>(?:пожалуйста,? )?(?:\w+(?:[ауюоеия]й|и|ь)(?:те)?\b[^?]{3,90}?|(?!(?:это|он|она|оно|они|почему|когда)\b
        |\w+ \w+[еёиуюая]т\b)[^,?]{4,90}),? (?:всегда|каждый раз|без исключений)(?:,? пожалуйста)?\s*[.!]*$)
      unless: .*\bкак (?:всегда|каждый раз)\b|(?:это|он|она|оно|они|почему)\b|\w+ \w+[еёиуюая]т\b
    rule: (?P<text>(?!为什么|怎么|这个|那个|这里|它)[^，,？?]{3,60}[，,](?:请)?(?:每次都要|每次都这样|每次都得|一直都是|一直都要|永远|始终|无一例外)[。！!]*$)
      unless: .*(?:报错|错误|失败|崩溃|卡住|出现)
    rule: (?P<text>[^、？?]{3,60}、(?:いつも|常に|毎回|必ず|例外なく)(?:で)?(?:お願い(?:します)?)?[。！!]*$)
      unless: .*(?:が(?:出|起|落|止|返|表示)|エラー|なぜ|この|ここ)
    # What holds here, what must not be touched, and what the person likes.
    rule: (?P<text>(?:bei uns (?:heißt|ist|gilt|wird|werden|gibt|nutzt|läuft|nimmt man)|in diesem (?:projekt|repo) |ich hätte (?:gern|lieber)|ich möchte (?:immer|nie
        |keine?n?)|(?:fass|rühr) .{2,40} nicht an)\b.*)
      unless: bei uns (?:\w+ )?(?:es|das|nichts)\b|bei uns .*\b(?:gerade|jetzt|heute|fehler|kaputt|nicht[.!]*$)\b
    rule: (?P<text>(?:chez nous|dans ce (?:projet|dépôt)|ne (?:touche|modifie|change)[sz]? (?:pas|jamais)|j['’]aimerais (?:toujours|des|que tu))\b.*)
      unless: .*\b(?:ici|maintenant|encore)\b|chez nous (?:ça|il|elle|pareil|aussi)\b
    rule: (?P<text>(?:en este (?:proyecto|repo\w*)|aquí siempre(?! (?:sale|da|falla|aparece|hay|está)\b)|neste (?:projeto|repo\w*)|no (?:toques|modifiques) (?:nunca )?(?:la|el|los|las)
        |não (?:toque|mexa|modifique) (?:na|no|em)) .{3,})
      unless: .*\b(?:error|erro|falla|falha|bug)\b
    rule: (?P<text>(?:в этом (?:проекте|репозитории)|у нас (?:принято|используется|так заведено)|мне (?:не )?нрав\w+|я хочу всегда) .{3,})
      unless: .*\b(?:ошибк\w+|баг|падает)\b
    rule: (?P<text>(?:这个|本|我们的?)(?:项目|仓库|团队)(?:里|中)?(?:都|一直|统一)?(?:用|使用|采用).{2,}|我(?:不喜欢|不想要|不希望|更喜欢|比较喜欢).{2,})
      unless: .*(?:报错|这个按钮|这样)
    rule: (?P<text>(?:この|うちの|本)(?:プロジェクト|リポジトリ|チーム)(?:では|は).{2,40}(?:ます|です|だ|る)[。！!]*$|.{2,30}(?:が|は)(?:好きではありません|嫌いです|苦手です|好きじゃない|好みです)[。！!]*$
        |.{1,30}には(?:触らないで|手を加えないで).*)
      unless: .*(?:エラー|落ち|バグ|動かない)
    # In which language things are written, and how the person is spoken to.
    rule: (?P<text>(?:bitte )?(?:duze?|sieze?|nenn|nenne) mich\b.*|ich arbeite (?:mit|unter|auf) .+|(?:[\w -]{3,40}|schreibe? [\w -]{3,40}) (?:auf
        |in) (?:deutsch|englisch)(?: sein)?\s*[.!]*$|wir \w+en (?:\w+ ){0,3}(?:nicht|nie|niemals|nur|immer|freitags)\b.*)
      unless: .*\b(?:gerade|heute|jetzt|hier|noch|das|können|(?:wir|ich) müssen|müssen (?:wir|ich)|sollten|\w*selben?|gleichen?|fehler\w*)\b
    rule: (?P<text>(?:tutoie|vouvoie|appelle)-moi\b.*|je travaille (?:sous|sur|avec) .+|(?:les |mes |nos |des )?[\w' -]{3,40} en (?:anglais
        |français)\s*[.!]*$)
      unless: .*\b(?:cette?|ici)\b
    rule: (?P<text>(?:tutéame|trátame|llámame|me chame|me trate)\b.*|(?:trabajo|trabalho) (?:con|en|com|no|na) .+
        |(?:los |las |mis |as |os )?[\w -]{3,40} (?:en|em) (?:inglés|español|inglês|português)\s*[.!]*$)
      unless: .*\b(?:est[ea]|aquí|aqui)\b
    rule: (?P<text>(?:обращайся|зови|называй)(?:те)? .+|я (?:работаю|сижу|пишу) (?:на|в|под) .+|[\w -]{3,40} на (?:английском
        |русском)(?: языке)?\s*[.!]*$)
      unless: .*\b(?:эт\w+|здесь)\b
    rule: (?P<text>我(?:用的是|使用的是|在用).{2,20}|[^，。]{2,12}(?:用|使用|写)(?:英文|中文|英语|拼音)[。！!]*$)
      unless: .*(?:这|那|报错)
    rule: (?P<text>(?:敬語|絵文字|お世辞|前置き)は(?:不要|いりません|使わない).{0,10}|私は.{1,20}を(?:使って|使用して)(?:います|いる)[。！!]*$|.{2,20}は(?:英語|日本語)で[。！!]*$)
    # To be asked before something is done, in either order.
    rule: (?P<text>[^?]{0,80}\b(?:(?:frag\w*|sprich|besprich\w*) (?:(?:es|das|sie) )?(?:mit )?(?:mich|mir|uns)\b[^?]{0,30}\b(?:bevor|vor|vorher
        |zuerst)|bevor [^?]{3,60}\b(?:frag\w*|besprech\w*|besprich|sprechen|reden wir)|(?:demande|demandez|préviens|prévenez|consulte|parle)[- ](?:moi
        |nous|m['’]en)\b[^?]{0,20}\b(?:avant|d['’]abord)|avant d(?:e |['’])[^?]{3,60}\b(?:demande\w*|préviens|prévenez|discut\w+|parl(?:e|ons|ez))
        |(?:pregúnt\w+|avísa\w+|consúlta\w+|pergunt(?:e|a)(?:-me)?|avis(?:e|a)-me|me (?:pergunte|avise|consulte))\b[^?]{0,20}\b(?:antes|primero
        |primeiro)|antes d(?:e|o|a) [^?]{3,60}\b(?:pregúnt\w+|avísa\w+|consúlta\w+|lo (?:conversamos|hablamos|charlamos|vemos juntos)
        |pergunt[ea](?:-me)?|me (?:pergunt|avis|consult)[ea]|(?:a gente )?(?:conversa|fala)(?:mos)? sobre)|(?:спрашивай|спроси|уточняй|предупреждай
        |согласуй)(?:те)?\b[^?]{0,20}\b(?:перед|прежде|до|сначала)|(?:перед|прежде чем|перед тем как) [^?]{3,60}\b(?:спрашивай|спроси|уточняй|согласуй
        |обсудим|обсуждаем)(?:те)?)\b[^?]*)
      unless: .*\b(?:cette|maintenant|ahora|agora|сейчас|jetzt|heute)\b
    # German
    rule: (?P<text>bei (?:jede[rm]|mehreren|allen|unklar\w+|zweifel\w*|unsicherheit\w*) (?:\w+ ){0,2}(?:nenn|nummerier|frag|zeig|list|sortier|nimm|gib
        |schreib|wähl|prüf|verwend|nutz|benutz|antwort)\w* .{3,})
    rule: (?P<text>(?:bitte )?(?:keine?n?|weniger|ohne|nicht so viele) (?!ahnung|idee|sorge|lust|zeit|panik|änderung|frage|eile|problem
        |mehr\b)\w+(?: \w+){0,4}\s*[.!]*$)
    rule: (?P<text>(?:bitte )?(?:fasse? dich|halte? dich|sei)(?: bitte)? (?:kürzer|kurz|knapp\w*|präzise\w*|direkter|ehrlich).*)
    correction: (?P<text>(?:bitte )?(?:hör|höre) (?:endlich |bitte )?auf,? .+)
    rule: (?P<text>(?:bitte )?(?:(?:füge|schreib|mach|nutz|verwend|benutz|lösch|änder|erstell|commit|push)\w* (?:\w+ ){0,4}(?:keine?n?|nie|niemals
        |nicht)\b.+|(?:commit|push|deploy)\w* (?:und \w+ )?nicht[.!]*$|(?:nicht|weder) \w+en (?:oder|noch|und nicht) \w+en\b.*))
      unless: .*\b(?:hier|jetzt|noch(?! \w+en\b)|diese\w*)\b
    # French
    rule: (?P<text>(?:à la fin|au début) de (?:chaque|toute) (?:session|tâche|réponse|conversation|journée),? .{3,})
    correction: (?P<text>(?:arrête|arrêtez|cesse|cessez) (?:de |d['’]).+)
    rule: (?P<text>(?:sois|soyez) (?:plus )?(?:concis|bref|brève|direct|précis)\w*.*)
    # What the whole project is to have; what the agent does again and again; one thing yes, another
    # no; whom to turn to.
    rule: (?P<text>(?:(?:for|in|across|throughout) (?:this|the|our) (?:whole|entire) (?:project|repo|codebase|app)|im ganzen projekt|(?:für|in) d(?:as|em) ganze[n]? projekt|(?:pour|dans) tout le (?:projet|dépôt)|(?:para|en) todo el (?:proyecto|repo)|(?:pra|para|em) (?:ess[ea]|est[ea]|o) (?:projeto|repo) (?:todo|inteiro)|(?:pra|para|em) todo o projeto|(?:для|во?|на) вс[её]\w* (?:проект\w*|репозитори\w*))\b,? (?=.*\b(?:like|want|use|should|must|please|always|never|only|soll\w*|bitte|nutz\w*|verwend\w*|möchte|hätte|aimerais|voudrais|veux|mets|utilise\w*|quiero|usa\w*|use[sn]?|quero|хочу|используй\w*|нужно|должн\w+)\b).{6,}
        |整个(?:项目|仓库)[^?？]{0,4}(?:都(?:要|用|写|得|必须|不)|一律|统一|必须)[^?？]{2,}|[^?？]{0,8}(?:プロジェクト|リポジトリ)全体で[^?？]{3,})
      unless: .*\b(?:fails?|broken|crash\w*|error\w*|find|search|list|rename|replace|kaputt|suche?|ersetze?|cherche|remplace|busca|reemplaza|procura|substitui|найди|замени)\b|.*(?:查找|替换|報|检索|検索|置換)
    correction: (?P<text>du \w+st (?:ständig|dauernd|andauernd|immer wieder)\b[^?]+|tu \w+ (?:tout le temps|sans cesse|sans arrêt)\b[^?]*|(?:você|vc) (?:sempre|vive|fica) (?!est[áa]\b|foi\b)\w+ [^?]{4,}|ты (?:вечно|постоянно|вс[её] время|опять|снова) \w+шь(?:ся)? [^?]+|你?(?:老是|总是)[^，。?？]{1,12}[，,][^?？]*(?:我们|不|别)[^?？]*|いつも[^?？]{2,}(?:けど|のに)、?[^?？]*(?:うち|こちら|使わ|しない|要ら|いら|やめ)[^?？]*)
      unless: .*(?:wieder recht|raison|razón|razão|прав\b)
    rule: (?P<text>[\w-]+ (?:yes|ja|oui|sí|sim|да|ok)[,;:] ?(?:but |aber |mais |pero |mas |но )?[\w-]+ (?:no|nein|non|não|нет|nicht)\b.*|[\w-]+ (?:oui|sim|да|ja|sí) [\w-]+ (?:non|não|нет|nein|no)\b, .+|(?:可以)?[^，。?？]{1,10}[，,](?:但是?|不过)[^，。?？]{1,10}(?:我自己来|不要|不可以|得问我|要问我)[^?？]*|[^。?？]{1,12}は(?:OK|いい|可)(?:だけど|ですが|で)?、[^。?？]{1,12}は(?:自分|だめ|ダメ|NG|禁止|不可)[^?？]*)
      unless: .*\b(?:fail\w*|pass\w*|broken|red|green|works?)\b
    rule: (?P<text>[^?]{0,40}\b(?:contact(?:er)?|kontakt|ansprechpartner\w*|kolleg\w+|contacto|contato|контакт\w*)\b[^?]{0,30}?(?: is| ist|,? c['’]est| es| é| —| -|:)(?: o| a)? (?-i:[A-ZÀ-ÖА-Я])\w+[.!]*$|[^?]{0,30}\bконтакт\w* (?-i:[А-Я])\w+[.!]*$|[^?？]{1,16}(?:联系人|负责人)(?:是|找)[^?？]{1,10}|[^?？]{1,20}の?担当(?:者)?は[^。?？]{1,14}(?:さん|です)[。]*$)
    # From the next time on; when in doubt; who does what.
    rule: (?P<text>(?:nächstes mal|beim nächsten mal|la prochaine fois|la próxima vez|(?:d?a )?próxima vez|в следующий раз)[\s,:]+(?!(?:que|quand|quando|cuando|als|wenn|когда|será|sera|wird|il|elle|on|je|ich|es|она?|мы|я|\w+t|\w+[еи]м)\b).{6,}
        |(?:下次|下回)(?!再(?:说|聊|来))[^?？]{4,}|(?:次から|次回(?:から|は))[^?？]{3,}(?:て|ないで)(?:ください|下さい|ね|よ)?[。！!]*$)
    rule: (?P<text>(?:if|when|si|se|quando|cuando|quand|wenn|falls|im zweifel|bei|en cas d|en caso d|em caso d|если|когда) [^?]{3,60}?(?<! la)(?<! una)(?<! esa)(?<! tu)(?<! mi)[, ](?:(?:je|tu|me|du|ты)\b |simplement |einfach )*(?:ask|frag\w*|demande\w*|pregunt\w*|pergunt\w*|спр[ао]\w+|уточн\w+)(?:-moi| me| mich| nach| first| erst| avant| antes)*[.!]*$
        |[^，。?？]{0,6}(?:不(?:确定|清楚|懂|明白|知道)|有(?:疑问|问题)|拿不准)[^，。?？]{0,6}[，,]?(?:就|请|先)*问(?:我|一下)[^?？]{0,8})
      unless: .*\b(?:paul|todos|alle|everyone|all)\b
    rule: (?P<text>(?:yo )?me encargo (?:yo )?de [^?]{3,}, (?:tú|vos|no)\b.*|deja(?:me)? [^?]{3,30} a mí[.!]*$|deixa [^?]{3,30} (?:comigo|pra mim)[.!]*$|(?!это\b|ошибк|баг)[^?,]{3,30} (?:на мне|(?:делаю|катаю|запускаю) я(?: сам[аи]?)?)(?:, .*|[.!]*$)|(?!das (?:mache|übernehme|erledige)\b|es\b)[^?,]{3,30} (?:mache|übernehme|erledige) ich(?: selbst| selber| immer)?(?:, .*|[.!]*$)
        |[^?]{3,60}c['’]est (?:moi|(?-i:[A-Z])\w+) qui (?:m['’]|s['’]|les? |la )?(?:en )?(?:occupe|gère|fais|fait|lance)\b.*|[^，。?？]{1,10}(?:我(?:自己)?来|由我)(?:做|弄|处理|负责|发|部署|提交)[^?？]*|[^。?？]{1,20}は(?:自分|私|僕|俺|こちら)(?:が|で)(?:やる|やり|行|対応)[^?？]*)
      unless: .*\b(?:now|jetzt|heute|maintenant|aujourd\w+|ahora|hoy|agora|hoje|сейчас|сегодня)\b|.*(?:现在|今天|今(?!後)|ます[。]*$)
    rule: (?P<text>(?:a mí )?me gustan? (?:más )?(?!(?:est|es[eao]\b|cómo|como|así|la idea|el (?:resultado|cambio|diseño|nuevo)|la nueva)\w*)\w+ .{6,}|(?:eu )?gosto (?:mais )?d[eao]s? (?!(?:como|ess|iss|est|ver|ideia)\w*)\w+ .{5,}|[^。?？]{3,30}が(?:好き|苦手|嫌い)(?:です|だ)?[。！!]*$)
    rule: (?P<text>(?:うちは|今は)?[A-Za-z][\w.+-]*(?:は|を)(?:やめて|捨てて)、?[A-Za-z][\w.+-]*(?:に(?:し|移|変|切|乗)|を使).{1,12})
    # What holds for all of a kind, and what is to be kept in mind behind a task.
    rule: (?P<text>(?!(?:es|das|il|ça|elle|eso|isso|ele|ela|это|он|она)\b)[^,?:]{3,60}, (?:siempre|sempre|toujours|immer|всегда|nur noch) (?:en|em|auf|in|на|mit|avec|con|com|sans|sin|sem|ohne|без) [\w-]+(?: [\w-]+){0,2}[.!]*$)
      unless: .*\b(?:est|ist|sind|está|es|fica|reste|bleibt|sont|son|são|hängt|läuft|tourne|bloqu\w+|échou\w+|plante\w*|fall[aeo]\w*|falh\w+|пада\w+)\b
    rule: [^?]{3,120}?(?:[,;.–—] ?(?:(?:and|und|et|y|e|и|а) )?|\b(?:and|und|et|y|e|и) )(?:keep in mind|note|mind|beachte|denk (?:dran|daran)|n['’]oublie pas|sache|ten en cuenta|ojo|recuerda|lembr[ae]|não esque[cç][ae]|учти|имей в виду|помни|не забудь),?
        [ ](?:(?:that|dass|que|qu['’]|что) )?(?P<text>(?:we|our|wir|unser\w*|bei uns|on|nous|nos|chez nous|usamos|tenemos|nuestr\w+|temos|noss\w+|a gente|у нас|мы|наш\w*)\b.{4,})
      unless: .*\b(?:fail\w*|broken|down|error\w*|wait\w*|need to|have to|warte\w*|müssen|attend\w*|espera\w*|падает|ждём|ждем)\b
    # An order with "always" or "never" behind its verb, whatever the verb.
    rule: (?P<text>(?:bitte )?(?!(?:ich|habe|hatte|hätte|wäre|wurde|werde|würde|sollte|könnte|konnte|wollte|finde|sehe|bekomme|kriege|leider|heute
        |danke|alle|eine|diese|keine|welche)\b)[a-zäöüß]{3,}e (?:immer|nie(?:mals)?) (?!(?:noch|wieder|mehr|gleich)\b)\w.+)
    rule: (?P<text>(?!(?:marche|fonctionne|plante|échoue|reste|manque|elle|je|ce|cette|une|le|affiche|donne|retourne|renvoie)\b)\w{3,}(?:e|ez|s|is) (?:toujours|jamais)
        [ ](?:les?|la|l['’]|un|une|des|avec|avant|sur|dans|en|tes|tous|ton|ta)\b.+)
    rule: (?P<text>(?!(?:falla|funciona|sale|aparece|queda|tarda|devuelve|pasa|hay|era|esta|ella|una|para|esa|falha|aparece|fica|demora|retorna
        |volta|cada|nada|toda|casa|quase)\b)\w{3,}[ae] (?:siempre|nunca|sempre) (?:el|la|los|las|un|una|con|antes|en|o|os|a|as|um|uma|com|em)\b.+)
    # Spanish and Portuguese
    correction: (?P<text>(?:por favor,? )?(?:deja|dejá|para|pare|parem?) de \w+[aei]r\b.+)
    rule: (?P<text>(?:sé|sea|seja) (?:más |mais )?(?:breve|conciso|directo|direto|objetivo)\w*.*)
    rule: (?P<text>(?:não quero|no quiero) \w+(?: \w+)?,? (?:quero|quiero|prefiro|prefiero) \w+(?: \w+)?[.!]*$)
    # Russian
    rule: (?P<text>(?:в конце|в начале|после|перед) (?:кажд(?:ой|ого|ым)) (?:сесси\w+|задач\w+|ответ\w+|коммит\w+|изменени\w+) .{3,}
        |не хочу \w+, (?:хочу|лучше) \w+[.!]*$)
    correction: (?P<text>(?:хватит|перестань(?:те)?|прекрати(?:те)?) \w+.*)
    rule: (?P<text>будь(?:те)? (?:более )?(?:лаконич|крат|кратк)\w*.*)
    # Chinese
    rule: (?P<text>每次(?:会话|对话|任务|回答|提交|修改)(?:结束|开始|完成|之?前|之?后)(?:时|之?后|之?前)?.{3,})
    rule: (?P<text>(?:提交|推送|合并|部署|发布|删除|修改|动手|写代码|编码)(?:代码)?(?:之前|前)(?:都|要|请|必须|一定)*先?.{2,})
    rule: (?P<text>neither \w+ nor \w+\b.{0,40})
    rule: (?P<text>(?:回答|回复|说话|解释)(?:尽量|请|要)?(?:简短|简洁|短一?点|简单).{0,20})
    # Japanese
    rule: (?P<text>(?:(?:事前|先|最初)に.{0,8}(?:確認|相談|許可).{0,8}てから.{0,8}(?:して|する)|.{2,20}(?:の最後|の最初|の終わり|のたび)に(?:毎回|必ず|いつも).{2,}(?:して|て)|(?:お願い|依頼
        |指示)していない.{2,}ないで).{0,6}$)
    rule: (?P<text>.{2,40}(?:しないで|使わないで|入れないで|書かないで|つけないで|触らないで|変更しないで|消さないで|やめて)(?:ください|下さい|ね)?[。！!]*$)
      unless: .*(?:この|ここ|これ|まだ|今)
    rule: (?P<text>.{2,30}(?:先に|最初に|まず)(?:書いて|聞いて|確認して|相談して|読んで|実行して).{0,10})
    rule: (?P<text>.{2,40}(?:する前に|の前に)(?:必ず|まず)?.{2,30}(?:ください|下さい|して|聞いて|こと)[。！!]*$)
    rule: (?P<text>(?:もっと)?(?:短く|簡潔に|シンプルに)(?:答えて|回答して|説明して|して)?(?:ください|下さい)?[。！!]*$)
    """
)

UNCONFIRMED_PATTERNS = (
    *_ENGLISH,
    *_OTHER_LANGUAGES,
    *CORRECTIONS,
    *TOOL_CHOICES,
    *HOUSE_RULES,
    *PREFERENCES,
    *KOREAN_WAITING,
    *BRIEF_RULES,
    *WORKING_AGREEMENTS,
    *PROJECT_CIRCUMSTANCES,
)
"""Probably meant to last: waits in the inbox."""
