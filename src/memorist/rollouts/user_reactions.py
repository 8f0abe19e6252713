"""Classify a user message by its effect on the task under way, and find what a short "yes" agreed
to. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from memorist.auto_memory.statements.statement_parser import DURABLE, list_certain_statements
from memorist.auto_memory.statements.task_requests import (
    is_general_prohibition,
    is_task_request,
    may_hold_lasting_statement,
)
from memorist.auto_memory.statements.unconfirmed_statements import list_probable_statements
from memorist.core.lazy import lazy_pattern
from memorist.core.sentences import extract_prose_sentences, shorten_to_one_line
from memorist.core.text_analysis import parse_word_list
from memorist.session_memory.work_notes import CORRECTION_START


class UserReaction(StrEnum):
    """The effect of a message."""

    COMMAND = "command"
    """A bare slash command, or a shell line of the user's own: it asks nothing of the agent."""
    ACCEPTS = "accepts"
    """Thanks, praise, or permission to commit what was done."""
    GOES_ON = "goes_on"
    """A short word to go on, or a question or addition about the current task."""
    CORRECTS = "corrects"
    BEGINS = "begins"


MAX_SHORT_WORDS = 8
"""Words of the longest message that only accepts or continues."""
MAX_READ_CHARACTERS = 2_000
"""Characters of a message that are examined."""
MAX_ASIDE_WORDS = 14
"""Words of the longest question or addition that belongs to the current task."""

_BARE_COMMAND = lazy_pattern(
    r"/[\w:-]+|!.*|Read the output file to retrieve the result: \S+|Continue from where you "
    r"left off\.",
    re.DOTALL,
)
"""The last two are inserted by Claude Code in the user's name."""
_GO_WORDS = parse_word_list(
    """
    ok okay k yes yeah yep yup y sure please pls pelase then now and great good perfect nice
    cool go ahead continue proceed do it on with this that         these those them all both the a
    an next step steps finish keep going resume let s again try         run commit push merge pr
    main master origin changes         change branch implement apply
    recommended suggested         directly to done saved complete
    ship fine right correct 好 好的 继续 可以 是 对 行 嗯 提交 推送
    """
)
_SHIPS = lazy_pattern(
    r"\b(?:commit|push|merge it|merge this|ship it|land it)\b|提交|推送|合并", re.IGNORECASE
)
_PRAISES = lazy_pattern(
    r"(?:ok(?:ay)?,? |yes,? |yeah,? |ah,? |oh,? )?(?:thanks|thank you|thx|ty\b|perfect|great|"
    r"awesome|nice|excellent|amazing|brilliant|lovely"
    r"|(?:it|that|this|everything|all)(?: now)? works\b|works\b|looks (?:good|great|fine|right)"
    r"|lgtm|love it|well done"
    r"|good (?:job|work|catch)|谢谢|多谢|很好|完美|太好了|可以了|没问题了)",
    re.IGNORECASE,
)
DOUBTS = lazy_pattern(
    r"\b(?:but|however|except|although|still|not|n['’]t|fails?|failing|broken|error|wrong)\b|但|"
    r"不过|还是|没有|不行",
    re.IGNORECASE,
)
_WRONG = lazy_pattern(
    r"(?:oops|hmm+|huh|ugh|argh|sorry|umm?)?[,.! ]*(?:(?:it|this|that|which|still) (?:is |was |"
    r"does |did |has )?(?:still )?(?:not|n['’]t|broken|wrong"
    r"|fails?|failing)|(?:it|this|that) (?:doesn|didn|isn|wasn|hasn|won|can)['’]?t\b|not "
    r"(?:what|right|working|quite|like)"
    r"|you['’]?(?:ve| have) (?:just )?\w+ the wrong"
    r"|i didn['’]?t (?:ask|tell|say|mean|want)|i (?:said|meant|told you|asked)\b|you (?:were "
    r"not|weren['’]?t) (?:asked|supposed)|doesn['’]?t work"
    r"|does not work|same (?:error|problem|issue)|oops|that['’]?s not)"
    r"|(?:不对|错了|不是这样|还是不行|没用)",
    re.IGNORECASE,
)
_WRONG_ELSEWHERE = lazy_pattern(
    r"(?:nein|non|não|нет|no)[,.!: ]+(?:das|so|ce|c['’]|pas|eso|esto|así|isso|está|это|не|nicht"
    r"|falsch|faux|mal|errado|неправильно|nimm|utilise|usa|use|используй)\b"
    r"|(?:das|so|dies)(?: ist| war)? (?:stimmt nicht|falsch|nicht (?:richtig|was))|nicht so\b"
    r"|falsch\b|(?:c['’]est|c['’]était) (?:faux|pas (?:ça|ce|bon))|ce n['’]est pas|pas comme ça"
    r"|(?:eso|esto) (?:no es|está mal)|está mal\b|así no\b|isso (?:não|está errado)"
    r"|(?:está )?errado\b|assim não\b|это (?:не(?: то|верно|правильно)|неправильно|неверно)"
    r"|не так\b|неправильно|неверно|(?:ich|wir) (?:habe|hatte|haben)\b.{0,12} gesagt"
    r"|(?:ich|wir) sagten?\b|je (?:t['’]|vous )(?:ai|avais) (?:dit|demandé)|j['’]ai dit"
    r"|(?:ya )?te (?:dije|pedí)|(?:eu )?(?:já )?(?:disse|pedi)\b"
    r"|я (?:же |уже )?(?:сказал|говорил|просил)|我(?:已经)?说过|我说的是|我没(?:有)?(?:让|叫)"
    r"|違う|違います|ちが|そうじゃな|そうでは?な|아니(?:야|요|,| )|그게 아니|틀렸",
    re.IGNORECASE,
)
"""The same in other languages: a refusal alone ("nein, danke") refuses an offer."""
_NO_PROBLEM = lazy_pattern(
    r"(?:no (?:problem|worries|rush|need|hurry|hay (?:problema|prisa))|never ?mind)\b",
    re.IGNORECASE,
)
_WRONG_THEN = lazy_pattern(
    r"[.!?,] (?:that|this|it)(?:['’]s| is| was)(?: just)? (?:not|wrong)\b", re.IGNORECASE
)
"""Turns a sentence that only reports into a correction."""
_JOINS = lazy_pattern(
    r"(?:and|also|but|so|then|now|plus|additionally|in add\w+|something else|another thing|one "
    r"more|anything else|while (?:we|you)['’]?re|next"
    r"|once done|after that|what about|how about|ok|okay|yes|yeah|yep|yup|instead|actually|for "
    r"(?:this|that)|the same|same for"
    r"|this|that|these|those|it|they|why|what['’]?s"
    r"|is (?:this|that|it|there)|are (?:these|those|there|they)|does (?:this|that|it)|do (?:we|"
    r"these)|did|was|tell me why|not sure|what i mean"
    r"|can (?:you|we) also|另外|还有|然后|接着|顺便|为什么)(?![\w-])",
    re.IGNORECASE,
)
_REQUESTS = lazy_pattern(r"(?:can|could|would|will) you (?!also\b)|please ", re.IGNORECASE)
"""A request in the form of a question."""
_WORD = lazy_pattern(r"[\w'’]+|[\u4e00-\u9fff]")
_URL = lazy_pattern(r"https?://\S+")


_COMPLAINS = lazy_pattern(
    r"\b(?:(?:i['’]?m|im|i am) (?:not happy|unhappy|annoyed|upset|disappointed)"
    r"|(?:you|u) (?:just |have |again )?(?:edited|deleted|removed|changed|overwrote|pushed"
    r"|committed|merged|renamed|reverted|rewrote)\b[^.?!]*"
    r"\b(?:without|(?:put|bring) (?:it|that|them) back"
    r"|i (?:did ?n['’]?t|never) (?:ask|want))"
    r"|i (?:do ?n['’]?t|do not|did ?n['’]?t) (?:like|want) (?:the|this|that|it|how|your)\b)",
    re.IGNORECASE,
)
"""Displeasure with what the agent did, anywhere in a message."""
_LASTS = lazy_pattern(
    r"\b(?:(?:i|we)(?:['’]?m|['’]?ve| am| have)? no longer (?:use|support|want|need|like|work)\w*"
    r"|we(?:['’]?ve| have)? (?:just |already )?(?:deprecated|dropped|retired|abandoned"
    r"|stopped using|moved away from|switched (?:from|to))\b"
    r"|we should (?:always )?(?:discuss|talk|agree|decide)\b[^.?!]*\bbefore\b"
    r"|(?:discuss (?:it )?with|ask|check with|tell) me\b[^.?!]*\b(?:before|first)\b"
    r"|(?:do ?n['’]?t|do not|never) want (?:my|our)\b"
    r"|we (?:should|must) ?(?:n['’]?t|not|never) (?!have\b)\w|let['’]?s (?:always )?avoid\b)",
    re.IGNORECASE,
)
"""A habit, a decision or a wish about the agent's conduct that will hold in later sessions."""


def find_habit_and_decision_sentences(text: str) -> list[str]:
    """Return the user's sentences that say what will hold in later sessions, though not as a rule.

    Of a message with a paste only the last line counts: before it others may speak.
    """
    plain = text[:MAX_READ_CHARACTERS].strip()
    own = plain.rsplit("\n", 1)[-1]
    return [
        each.text
        for each in extract_prose_sentences(own, short=True)
        if _LASTS.search(each.text) and len(each.text) <= MAX_LASTING_CHARACTERS
    ]


def may_hold_in_later_sessions(sentence: str) -> bool:
    """Whether the user's sentence, read by itself, may hold in later sessions: something in it is a
    rule or a wish in general, and it neither asks for what is done once nor is about one thing.
    """
    if _ONE_PIECE.search(sentence) or (
        _APPEARANCE.search(sentence) and not DURABLE.search(sentence)
    ):
        return False
    return may_hold_lasting_statement(sentence) and not is_task_request(sentence)


_SETTLES = lazy_pattern(
    r"\blet['’]?s (?:keep|stick (?:to|with)|stay with) (?!(?:it|this|that|these|those|the)\b)"
    r"(?!.*\bfor now\b)",
    re.IGNORECASE,
)
"""Settles how something stays: a model may know that it is a wish, no program does."""
_ONE_PIECE = lazy_pattern(
    r"\A\W*(?:for example|for instance|e\.g\.)|\b(?:in|on|for|with|from) (?:this|that) (?:pr|mr"
    r"|pull request|branch|commit|ticket|issue|task|session|file|function|page|screen|view)\b"
    r"|\byet\W*\Z|\bfor now\b|\bthis time\b",
    re.IGNORECASE,
)
"""An example, or words that bind a wish to the work in hand."""
_APPEARANCE = lazy_pattern(
    r"\b(?:render\w*|paddings?|margins?|avatars?|icons?|iconography|borders?|buttons?|tooltips?"
    r"|sidebars?|fonts?|pixels?|px|animations?|transitions?|hover|layout|align(?:ed|ment)"
    r"|cent(?:er|re)ed)\b",
    re.IGNORECASE,
)
"""What a program looks like: told of one piece of it, unless the words say that it holds always."""


def select_lasting_sentences(sentences: Sequence[str], typed: str) -> tuple[str, ...]:
    """Return those sentences of a typed text that state something for later sessions; one that does
    not by itself counts within what another one states. None where all are asked for once.
    """
    certain = [quote for act, _, quote in list_certain_statements(typed) if act != "forget"]
    probable = [quote for _, _, quote in list_probable_statements(typed)]
    probable = [quote for quote in probable if may_hold_in_later_sessions(quote)]
    stated = [" ".join(quote.split()) for quote in (*certain, *probable)]
    return tuple(
        each
        for each in sentences
        if find_habit_and_decision_sentences(each)
        or _SETTLES.search(each)
        or is_general_prohibition(each)
        or (any(each in quote or quote in each for quote in stated) and not is_task_request(each))
    )


MAX_LASTING_CHARACTERS = 160
"""Characters of a sentence that is kept as what the user said."""


def classify_user_reaction(text: str, *, first: bool) -> UserReaction:
    """Classify a typed message; `first` if nothing was asked before it."""
    plain = text[:MAX_READ_CHARACTERS].strip()
    if _BARE_COMMAND.fullmatch(plain):
        return UserReaction.COMMAND
    words = _WORD.findall(_URL.sub("", plain).casefold())
    if first or not words:
        return UserReaction.BEGINS if words or plain else UserReaction.COMMAND
    if _is_acceptance(plain, words):
        return UserReaction.ACCEPTS
    if len(words) <= MAX_SHORT_WORDS and set(words) <= _GO_WORDS:
        return UserReaction.GOES_ON
    if _is_correction(plain, words):
        return UserReaction.CORRECTS
    return UserReaction.GOES_ON if _is_aside(plain, words) else UserReaction.BEGINS


def _is_acceptance(text: str, words: list[str]) -> bool:
    if text.endswith("?") or DOUBTS.search(text):
        return False
    return (len(words) <= MAX_SHORT_WORDS and _SHIPS.search(text) is not None) or (
        len(words) <= 2 * MAX_SHORT_WORDS and _PRAISES.match(text) is not None
    )


def _is_correction(text: str, words: list[str]) -> bool:
    if _NO_PROBLEM.match(text):
        return False
    if any(each.match(text) for each in (CORRECTION_START, _WRONG, _WRONG_ELSEWHERE)):
        return True
    if len(words) <= 3 * MAX_ASIDE_WORDS and _COMPLAINS.search(text):
        return True
    praised = len(words) <= MAX_ASIDE_WORDS and _PRAISES.match(text) and DOUBTS.search(text)
    return bool(praised) or (
        len(words) <= 3 * MAX_ASIDE_WORDS and _WRONG_THEN.search(text) is not None
    )


def _is_aside(text: str, words: list[str]) -> bool:
    """Tell whether it is a short question, or an addition that says so.

    A message with a link of its own is a topic of its own.
    """
    if _URL.search(text) and len(words) > 2:
        return False
    asks = text.endswith("?") and not (_REQUESTS.match(text) and len(words) > MAX_SHORT_WORDS)
    return (
        (len(words) <= MAX_ASIDE_WORDS and asks)
        or len(words) <= 3
        or (len(words) <= 3 * MAX_ASIDE_WORDS and _JOINS.match(text) is not None)
    )


# What a short answer agreed to: the last proposal of the agent, in the words of the agent.

MAX_PROPOSAL_CHARACTERS = 320
MIN_OPTION_CHARACTERS = 100
"""Characters of each of several list items that were chosen. Our choice."""


_MAX_AGREEING_WORDS = 14


_PROPOSAL_SENTENCES = 3


_AGREES = lazy_pattern(
    r"(?:(?:oh |ah |ok(?:ay)?,? |well,? )*(?:yes|yep|yeah|yup|sure|agreed?|exactly|correct|right"
    r"|ok(?:ay)?(?!,? *(?:so|now|then|next|we|i|can|could|what|how|why|cool|show|let me)\b)"
    r"|fine|perfect|great|sounds (?:good|great|right)|go (?:ahead|for it)"
    r"|do (?:it|that|so)"
    r"|let['’]?s (?:do (?:it|that|this)|go)|please do|i agree|makes sense|that works|ship it)\b"
    r"|ja\b|s[ií]\b|oui\b|d['’]accord|好的?|可以|是的?|对|行|同意|はい|お願い|да\b)",
    re.IGNORECASE,
)


_CHOICE = lazy_pattern(
    r"(?:(?:i (?:choose|pick|prefer|want)|let['’]?s (?:do|go (?:with|for))|go (?:with|for)|use|do"
    r"|option|approach|choice|variant|number|nr\.?|方案|选)\s*)*[#(]?([1-9]|[a-f])[.):]?(?:[\s,;!.]|$)",
    re.IGNORECASE,
)


_MARKS = lazy_pattern(
    r"(?<![\w.'’/-])(?:#|\()?([1-9](?:(?: ?[-–] ?| to )[1-9])?|[A-F]"
    r"|(?:(?<=option )|(?<=choice )|(?<=variant )|(?<=approach ))[a-f])\b(?![%/:-]|\.\d)"
    r"(?=\W*\Z|[).,;!&]|\s+(?:and|or|then|first|please|now|too|only|is|sounds|looks|for|but|with"
    r"|as|plus)\b)"
)
"""Numbers and letters of list items in an answer, no counts (`in 3 commits`)."""
_LEFT_OUT = lazy_pattern(r"\b(?:ignore|skip|drop|not|without|except|leave)\b[^,;.]*", re.IGNORECASE)
_PROPOSES = lazy_pattern(
    r"\?$|\b(?:suggest|recommend(?:ed|ation)?|propose|proposal|we (?:could|can|should)"
    r"|i (?:can|could|would|['’]?d)|should (?:i|we)|shall (?:i|we)|want me to|would you like"
    r"|my (?:plan|pick)"
    r"|(?:cleaner|better|simplest|best) (?:solution|option|way|fix)|instead)\b|建议|要不要|可以",
    re.IGNORECASE,
)


def find_agreed_proposal(words: str, reply: str) -> str:
    """Return what a short answer agreed to, in the words of the reply before it; empty if the
    answer agrees to nothing, or the reply proposes nothing.

    Numbers and letters choose list items; a yes agrees to the proposal that ends the reply.
    """
    answer = words.strip().split("\n", 1)[0][:200]
    if not reply or len(answer.split()) > _MAX_AGREEING_WORDS or answer.endswith("?"):
        return ""
    chosen = _CHOICE.match(answer)
    if not chosen and (not _AGREES.match(answer) or DOUBTS.search(answer)):
        return ""
    options = _find_options(_list_marks(answer) or ([chosen[1]] if chosen else []), reply)
    return options if options or chosen else _find_last_proposal(reply)


def _list_marks(answer: str) -> list[str]:
    """The numbers and letters that an answer names, ranges in full."""
    found: list[str] = []
    for mark in _MARKS.findall(_LEFT_OUT.sub("", answer)):
        many = mark[0].isdigit() and len(mark) > 1
        found += map(str, range(int(mark[0]), int(mark[-1]) + 1)) if many else [mark]
    return list(dict.fromkeys(found))


def _find_options(marks: Sequence[str], reply: str) -> str:
    """The list items of a reply with these marks, each with its mark where there are several."""
    found = [(mark, text) for mark in marks if (text := _find_option(mark, reply))]
    if len(found) == 1:
        return shorten_to_one_line(found[0][1], MAX_PROPOSAL_CHARACTERS)
    room = max(MIN_OPTION_CHARACTERS, MAX_PROPOSAL_CHARACTERS // max(1, len(found)))
    return " ".join(f"{mark}. {shorten_to_one_line(text, room)}" for mark, text in found)


def _find_option(mark: str, reply: str) -> str:
    pattern = re.compile(
        rf"^[ \t]*(?:[-*•][ \t]+)?(?:\*\*|#+[ \t]*)?(?:option |approach )?[(]?{mark}"
        r"(?:[.):]|[ \t][—–-])[ \t]*(\S.*)",
        re.IGNORECASE | re.MULTILINE,
    )
    found = pattern.findall(reply)
    return found[-1].replace("**", "") if found else ""


def _find_last_proposal(reply: str) -> str:
    sentences = [each.text for each in extract_prose_sentences(reply, short=True)]
    last = max((at for at, each in enumerate(sentences) if _PROPOSES.search(each)), default=-1)
    if last < 0 or last < len(sentences) - 2 * _PROPOSAL_SENTENCES:
        return ""
    text = ""
    for each in reversed(sentences[max(0, last - _PROPOSAL_SENTENCES) : last + 1]):
        longer = f"{each} {text}".strip()
        if text and len(longer) > MAX_PROPOSAL_CHARACTERS:
            break
        text = longer
    return shorten_to_one_line(text, MAX_PROPOSAL_CHARACTERS)
