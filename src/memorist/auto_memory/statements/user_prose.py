"""Extract the user's own prose from typed text: sentences with positions, without code, quotations,
diffs, tables and logs.

Pure. Everything here runs in linear time: each line is examined once, and only sentences of bounded
length go further.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from memorist.auto_memory.statements.pattern_required_words import PrefilteredPattern
from memorist.auto_memory.statements.speech_fillers import remove_hesitation_sounds
from memorist.auto_memory.statements.statement_patterns import NEGATION, VERB
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import ImageBlock, Message, Origin, TextBlock
from memorist.core.text_analysis import WIDE_LETTERS
from memorist.formats.host_markup import find_reply_in_result, strip_host_markup
from memorist.safety.secrets import redact

MAX_SENTENCE_CHARS = 400
"""Characters of the longest sentence that is read as a statement; longer ones are descriptions or
pasted.
"""

LONG_MESSAGE_CHARS = 900
"""Characters above which a message is a description or a paste; only its first and last paragraph
are examined then.
"""

PROSE_CACHE_SIZE = 4
"""Typed texts of which is remembered what was read in them: a message is read for certain
statements, for corrections, and for what may be meant to last.
"""

MASK_CHARACTER = "\ue000"
"""Replaces each character of a quotation, so that its words match nothing and all positions stay
the same.
"""

_PASTED_LINE = lazy_pattern(
    r"""\s*(?:>|\||\+\+\+|---\s|@@|diff\ --git|[$❯➜]\s|(?:PS|C:)[^ ]*>|[✔✓✖✗✘⚠ℹ●]|(?:error|warning|fatal|hint):\s|Traceback\b|at\s\S+\s?\(|File\s"|\d+[:|]
    |[+-](?:\s{2,}|\S)|\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL)\b|
    npm\s(?:ERR!|WARN\b|notice\b|(?:warn|error)\s(?!messages?\b|handling\b))|[\w.@-]{1,40}\sERR!|remote:\s|make(?:\[\d+\])?:\s|DEPRECATION:\s|(?:level|ts|time)=\S|
    [A-Z][a-z]{2}\s{1,2}\d{1,2}\s\d\d:\d\d:\d\d\s|[IWEF]\d{4}\s\d\d:\d\d:|[a-z][\w-]{0,39}[-_]\d+\s+\|\s|
    (?:\w+\.)*\w*(?:Error|Exception):|<[A-Za-z!/][^>\n]{0,200}>.*</[A-Za-z][\w-]{0,30}>\s*$)""",
    re.VERBOSE,
)
_PRINTED_LINE = lazy_pattern(
    r"\s*(?:[$❯➜]\s|(?:PS\s+)?[A-Za-z]:\\[^>]*(?<![-=\s])>|PS[^ ]*>|(?:\([\w.-]+\)\s*)?\[?[\w.-]+@[\w.-]+[: ][^$#%>]{0,200}[$#%>](?:\s|$)|"
    r"(?:bash|sh|zsh)-[\d.]+[$#]\s|In\s\[\d+\]:|%\s\w|[~/][\w./-]*\s?[%$#❯➜]\s|[\w-]{1,40}:\s[|>][+-]?\s*$|"
    r"Traceback\s\(|panic:\s|Exception\sin\s|@@\s-\d|\d\d:\d\d:\d\d[,.]\d{1,3}\s*-->)"
)
"""A command at a prompt, the head of a stack trace, the time of a subtitle or the key of a text block:
what was printed follows, up to an empty line.
"""
_EXCEPTION_LINE = lazy_pattern(
    r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning)(?::|\s*$)"
)
"""The last line of a stack trace."""
_ROW = lazy_pattern(
    rf"\s*(?:[^\s,;{WIDE_LETTERS}]{{1,40}}(?:,[^\s,;]{{1,40}},|;)\S|[^\t\n]{{1,60}}\t\S|\S{{1,12}}\s+\|\s\S)"
)
"""A row of a table. A field with Chinese, Japanese or Korean begins none: who types `,` there writes a
sentence.
"""
_TYPED_ROW = lazy_pattern(
    rf"\s*(?:(?i:ok(?:ay)?|yes|no|sure|and|also|hey|hi|please|remember|reminder|rules?|note|important|always|never|{NEGATION}|"
    rf"from now on|we|i|our|my|{VERB})\b|[^\t\n]*\s[^\W\dA-Z_]+,?[ \t]*\t[ \t]*[^\W\dA-Z_])"
)
"""Looks like a row by a tab or a missing space, and begins or goes on as a sentence does."""
_BOX = lazy_pattern(r"\s*(?:[☑☐✅❎□■▢]\ufe0f?\s*)")
"""A box or a tick in front of a line: of an entry where several lines have one."""
_PASTE_MARKS = lazy_pattern(
    r"^[ \t]*(?:(?:\[(?:image|pasted text) #\d[^\]\n]{0,30}\]|\[image: source: [^\]\n]{1,300}\]"
    r"|(?:@|['\"]?(?:~|\.{0,2}/|[a-z]:\\))[^'\"\n]{0,300}?\.(?:png|jpe?g|gif|webp|heic)['\"]?(?=\s))\s*)+",
    re.IGNORECASE | re.MULTILINE,
)
"""What Claude Code puts in front of a line in the place of a pasted picture or text, and a terminal in
that of a picture that is dropped on it.
"""
_PICTURE_MARKS = lazy_pattern(
    r"(?:[ \t]*\[image #\d[^\]\n]{0,30}\])+[ \t]*$", re.IGNORECASE | re.MULTILINE
)
"""The same at the end of a line or alone on it."""
_ORNAMENT = lazy_pattern(
    r"\s*(?:[☑✅❎👉📌❗‼🚨💡📝⭐🔥➡▶🙏]\ufe0f?\s*|[❌🚫⛔🛑]\ufe0f?\s*(?=(?:please )?(?:never|no|not|avoid|don['’]?t|do not|"
    r"nie|niemals|kein\w*|nicht|jamais|ne|pas|nunca|no|não|никогда|не)\b|不|别|禁))+(?=\S)(?!.*[❌🚫👎✗✘⛔✅👍✔✓💯])",
    re.IGNORECASE,
)
"""A sign in front of a sentence that says nothing else than the sentence."""
_FENCED = lazy_pattern(
    r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE
)
_FENCES = ("```", "~~~", '"""', "'''")
_ONE_QUOTATION = lazy_pattern(r'\s*["“][^"“”]*\n[^"“”]*["”]\s*')
"""A text of several lines in one pair of quotation marks, as programs hand on what they were given."""
_CODE_LINE = lazy_pattern(
    r"[{};]\s*$|=>|==|\+=|\w\(\)|^\s*(?:def|class|import|from \w+ import|const|let|var|return|"
    r"function|public|if \()\b.*[(){}=:]"
)
_NESTED_ENTRY = lazy_pattern(r"\s{2,}(?:- )?[\w-]{1,40}:\s")
"""An entry of a settings file below another."""
_TEXT_NOUN = (
    r"(?:texts?|sentences?|paragraphs?|lines?|e-?mails?|mails?|messages?|chat|transcript|subtitles?|notes?|comments?|ticket|story|poem|table|csv|"
    r"yaml|json|html|sql|prompt|minutes|quotes?|guidelines?|proposal|following|above|below|next (?:one|message)|log|snippet|code)"
)
_PERSONA = (
    r"(?:(?:(?:system|developer|bot|agent|assistant|llm|ai) (?:prompts?|messages?)|personas?|bot instructions|character sheets?) (?:for|of|to)"
    r"|prompts? for (?:[\w'’-]+ ){0,3}(?:bots?|chatbots?|assistants?|agents?|gpts?|llms?|models?))"
)
_TEXT_JOB = PrefilteredPattern(
    r"(?:^|[\n.!?:;,] ?|\b(?:please|can|could|would|will|you|and|then|i|we) )"
    r"(?:translate|proof-?read|rephrase|reword|paraphrase|summari[sz]e|transcribe|decode|parse|validate|reformat|convert|sort|import|critique|"
    rf"answer|reply to|respond to|clean up|refactor|review|make minutes of|extract \w+ from)\b(?: (?:this|that|these|it|(?:the|my|his|her|their) (?:\w+ ){{0,2}}{_TEXT_NOUN})\b|(?: (?:in)?to \w+)?:)"
    r"|\b(?:translate|proof-?read|rephrase|reword|paraphrase|shorten|summari[sz]e) (?:the )?(?:first|second|third|last|other|top|bottom|former|latter)\b"
    r"|\bput (?:\w+ )?(?:in|into) (?:english|french|german|spanish|portuguese|italian|russian|chinese|japanese|korean|dutch|polish)\b"
    r"|\b(?:mets|mettez|passe|pon|ponlo|pásalo|pasa|coloca|coloque|passa|setz\w*|übertrag\w*)\b[^\n.]{0,20}\b(?:en|in|em|ins|al?) (?:anglais|français|inglés|francés|alemán|español|inglês|francês|alemão|englische?|deutsche?|französische?)\b"
    r"|\b(?:fix|correct|check|improve|polish) (?:the |my )?(?:grammar|spelling|wording|english)\b"
    r"|\b(?:rewrite|edit|shorten|simplify|polish|improve|correct|format|explain|review|check|rate|grade|score|read|continue|complete) the following\b"
    r"|\b(?:use|take) (?:this|that|it|the following) as (?:test data|an? (?:input|example|sample|text))\b"
    r"|\b(?:banner|label|title|button|text|message|toast|caption|heading|tooltip|headline|footer|slogan|placeholder|sign) (?:should|must|shall|has to|"
    r"needs to) (?:read|say)\b"
    r"|\b(?:does|do|would|is|are) (?:that|this|it|these|those) (?:apply|hold|make sense|an? good|good|fine|correct|allowed|valid|legal)\b"
    r"|\b(?:improve|polish|shorten|rate|rewrite|spell-?check|triage|rephrase) (?:it|this|that)[.!?]*\s*\Z|\bis (?:that|this) (?:line|sentence|text|paragraph|wording|entry)\b"
    r"|\bshould (?:we|i) (?:accept|adopt|follow|sign)\b|\bwhat(?:['’]s| is) wrong (?:with|in)\b|\bwhat (?:does|do) (?:this|that|it|these) (?:mean|say)\b"
    r"|^you are (?:now )?(?:an?|the) (?:[\w-]+ ){0,4}(?:sub-?agent|agent|assistant|bot)\b"
    r"|\b(?:make|improve|polish|shorten|tighten|rework|rewrite|optimi[sz]e|tune) (?:this|that|these|the|my|our|his|her|their) (?:[\w-]+ ){0,2}(?:prompts?|personas?)\b"
    r"|\b(?:verbesser|überarbeit|kürz|optimier|amélior|optimis|mejor|melhor)\w* .{0,20}\bprompt|улучши.{0,20}промпт|(?:优化|改进|完善).{0,12}提示词|プロンプトを(?:改善|直し|良く|短く)"
    r"|\bübersetz\w*|\bfass\w* .{0,30}zusammen|\bformulier\w* .{0,20}um\b|\b(?:darauf|hierauf) (?:antworten|reagieren)|\btradui(?:s|t|re|sez)\b|\brésume[zr]?\b"
    r"|\breformule[zr]?\b|\btraduc(?:e|ir|elo)\b|\btradu(?:z|za|zir|zca)\b|\bresum[ae] (?:est[aeo]s?|el|las?|los?|os?|as?|isso|isto|ess[ae]s?)\b|\breformula\b|переведи|перескажи|перефразируй|翻译|翻譯|润色|改写|校对|翻訳|要約|言い換え|校正|添削|返信を|번역해|요약해|교정해|다듬어"
    rf"|\b(?:need|want|write|draft|create|make|give me|generate|come up with|suggest|looking for|work on) (?:me |us )?(?:an?|the|some|our|my) (?:[\w-]+ ){{0,3}}{_PERSONA}\b"
    r"|\b(?:prompt|persona) (?:für|pour|para|per|для) .{0,30}(?:bot|assist|asist|agent|ассист|бот)|(?:写|寫|给我|要)[^。\n]{0,12}提示词|プロンプトを(?:書|作|考)|프롬프트(?:를|가)? ?(?:써|작성|만들|필요)"
    r"|\b(?:how|what) (?:should|do|can|could|would) (?:i|we) (?:reply|respond|answer|write back|say (?:to (?:him|her|them|that|this)|back))\b"
    r"|\bwie soll(?:te)? ich .{0,20}(?:antworten|reagieren|zurückschreiben)|\bwas (?:soll ich )?(?:ihm|ihr|ihnen|darauf|da) .{0,20}(?:antworten|schreiben)|\bque (?:(?:lui|leur) )?répondre\b|\bqué (?:le |les )?(?:respondo|contesto|digo|escribo)\b"
    r"|\bo que (?:eu )?(?:lhe )?(?:respondo|digo)\b|\bcosa (?:gli |le )?rispondo\b|что (?:(?:мне|ему|ей|им) )*(?:ответить|написать в ответ)|(?:怎么|如何)(?:回复|回他|回她|回信|答复)|(?:どう|何と|なんて)(?:、)?返(?:事|信|答)|뭐라고 (?:답|대답|회신)|어떻게 (?:답|대답|회신)"
    r"|からの(?:連絡|伝言|メッセージ|依頼|指示|コメント|返信|メール|指摘|お願い)(?:です|だ|でした|が来|が届)?(?:[。、:：\n]|\Z)|보낸 (?:메시지|메일|글|내용|카톡)(?:야|이야|입니다|이에요|예요|인데)?[.,:：]?(?:\n|\Z)"
    r"|(?:发来|發來|发给我|轉發|转发|转告|留言)(?:的|了)?(?:消息|邮件|信|话)?(?:[：:]|\n|\Z)|(?:^|\n)[^\n.:]{0,20}\b(?:(?:nachricht|e-?mail) von|message de|mail de|mot de|mensaje de|correo de|mensagem de|messaggio di|сообщение от|письмо от) (?:\w+ )?\w+[.:]?[ \t]*(?:\n|\Z)"
    r"|(?:^|\n)(?:[^\n.:]{0,20} )?(?:an?|this|the following) (?:message|e-?mail|mail|note|dm|comment) (?:i (?:got|received) )?from (?:\w+ )?\w+[.:,]"
)
_TRAILER = lazy_pattern(
    r"^(?:(?:Signed-off|Reviewed|Acked|Tested|Co-authored|Reported|Suggested|Co-developed|Approved)-by: \S|Change-Id: I[0-9a-f]{8}|(?:Fixes|Closes|Refs): #?\w+[ \t]*$)",
    re.MULTILINE | re.IGNORECASE,
)
"""A line at the end of a commit's message."""
_GREETING = lazy_pattern(
    r"^[ \t]*(?:(?:dear|hi|hello|hey|hallo|liebe[rs]?|sehr geehrte|guten \w+|bonjour|cher|chère|hola|estimad\w+|buenos|olá|prezad\w+|caro|здравствуйте|"
    r"добрый|уважаем\w+)\b[^\n]{0,40}[,!.]?[ \t]*$|(?:您好|你好|お世話に|いつもお世話))",
    re.IGNORECASE | re.MULTILINE,
)
_CLOSING = lazy_pattern(
    r"^[ \t]*(?:(?:best|kind|warm)(?: regards| wishes)?|regards|cheers|sincerely|yours|(?:viele|liebe|beste|mit freundlichen) grüße?n?|gruß|cordialement|bien à "
    r"vous|saludos|atentamente|abraços?|atenciosamente|с уважением|此致|敬具|よろしくお願い\S*|以上、?よろしく\S*)[ \t]*[,.!。]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_SECTION = lazy_pattern(r"^[ \t]{0,3}#{1,6}[ \t]+\S", re.MULTILINE)
_SPEAKER = lazy_pattern(
    r"^[ \t]*(?:system|user|assistant|human|ai|developer|bot|customer|agent)[ \t]?:[ \t]",
    re.IGNORECASE | re.MULTILINE,
)
_FIELD = lazy_pattern(
    r"^[ \t]*(?:(?:\d\d:\d\d )?(?:answer|response|option|speaker|participant|reviewer|commenter|antwort|réponse|respuesta|resposta|ответ|回答|发言人|話者) ?\d*"
    r"|q|a|question|invitation|invitees|attendees|present|when|where|organi[sz]er|description|location|subject|from|to|cc|date|author|title|status|assignee|"
    r"reporter|priority|labels|summary|minutes|betreff|von|an|datum|objet|asunto|assunto|тема|件名|主题)[ \t]*[:：][ \t]*\S",
    re.IGNORECASE | re.MULTILINE,
)
"""A field of a form, a letter, an invitation or a survey."""
_NAMED_SPEAKER = lazy_pattern(
    r"^[ \t]*(?P<name>(?!(?:rules?|notes?|remember|reminder|also|and|important|never|always|do|style|tests?|todo|fixme|tip|warning|ps|nb|please|hinweis|wichtig|regel|règle|regla|regra|nota|правило|важно)\b)[^\W\d_][\w .'’-]{0,24}?)[ \t]*[:：](?![/\\])[ \t]*\S",
    re.IGNORECASE | re.MULTILINE,
)
"""Not the scheme of an address, nor the letter of a drive."""
_REPEATED = 2
"""Times from which a name in front of lines, or a short line alone, is taken for a speaker's."""
_SHORT_LINE_CHARS = 30
INTERJECTION_WORDS = (
    r"(?:ok(?:ay)?|k|yes|yeah|yep|yup|nope|nah|really|lgtm|no|thanks|thank you|thx|please|pls|todo|fixme|next|then|and|also|or|but|hm+|cool|great|nice|good|perfect|sure|right|done|wait|stop|wrong|sorry|"
    r"ja|nein|danke|bitte|oui|non|merci|sí|si|gracias|sim|não|obrigad[oa]|да|нет|спасибо|好的?|是的?|不|谢谢|はい|いいえ|ありがとう)"
)
_INTERJECTION = lazy_pattern(rf"(?:{INTERJECTION_WORDS}\W*)+", re.IGNORECASE)
"""A line that names nobody."""
_NEXT_TEXT = PrefilteredPattern(
    r"\bnext (?:message|one|paste|prompt)\b|\b(?:i['’]ll|i will|let me) (?:now )?(?:paste|send|post|forward)\b|\bready for (?:the|it|a)\b[^\n]{0,30}\?\s*\Z|\bhere (?:comes|it comes)\b[^\n]{0,60}\Z"
    r"|\bwhat (?:i|we) (?:will |am going to )?(?:send|paste|post|type|write)\b[^\n]{0,20}\bnext\b|\b(?:i['’]m|i am) (?:about|going) to (?:paste|send|post|forward)\b|\brepeat after me\b|\b(?:told|asked|sent|gave|showed) you the following\W*\Z|\bpaste (?:it|that|the \w+) next\b"
    r"|\bi(?:['’]m| am)? (?:now )?past(?:e|ing)\b|\bread(?:ing)? (?:it |this )?(?:out )?to you\b|\breading you\b"
    r"|\bfüge?\b[^\n.]{0,60}\bein\b|\bich (?:kopiere|poste|schicke) (?:dir|euch|hier|jetzt|gleich|mal)\b|\bje (?:te |vous )?(?:colle|copie|poste|transfère)\b|\bje t['’]envoie\b"
    r"|\b(?:te|os|le|les) (?:pego|copio|paso|mando|reenvío)\b|\b(?:vou colar|te colo|te mando|te repasso|vou repassar)\b|\bti (?:incollo|copio|giro|mando)\b"
    r"|вставлю|вставляю|скину |скидываю|перешлю|(?:贴|粘贴|转发|发)(?:一下|给你|过来)|貼り(?:付け)?ます|転送します|붙여\s?넣"
    r"|\b(?:read|go|walk|step) (?:through )?[^\n.!?]{1,60}\b(?:line by line|one by one|sentence by sentence|piece by piece)\b"
    r"|nächste nachricht|prochain message|siguiente mensaje|próxima mensagem|следующ\w+ сообщени|下一条|次のメッセージ"
)
_BULLET = lazy_pattern(r"\s*(?:[-*•·]|\d{1,2}[.)])\s+")
_HEADING = lazy_pattern(r"\s{0,3}#{1,6}\s")
_PASTE_ANNOUNCEMENT = PrefilteredPattern(
    r"\b(?:says?|said|wrote|results?|answer|ticket|manual|sentence|paragraph|notice|minutes|subtitles?|docs?|guide|guidelines|readme|output|errors?|logs?|below|following|"
    r"feedback|comments?|review"
    r"|email|spec|plan|prompt"
    r"|template|transcript|agent|poem|lyrics|text|translate|quote|article)\b[^\n]{0,60}:\s*$|"
    r"(?:如下|原文|日志|报错|文档"
    r"|翻译|티켓|메일|메시지|댓글|슬랙|원문|로그|내용)[^\n]{0,20}[：:]\s*$"
    r"|message from (?:another|an|the other) (?:agent|bot)"
    rf"|^\s*(?:here(?:['’]s| is| are)|attached (?:is|are)|this is) (?:the|my|our|a|an|their|his|her) (?:[\w-]+ ){{0,3}}?{_TEXT_NOUN}\b[^\n]{{0,40}}$"
    r"|^\s*(?:answered|asked|edited|posted|replied|commented)\b[^\n]{0,24}\d[^\n]{0,24}$"
)
_SENTENCE_END = lazy_pattern(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bcf)(?<!\betc)[.!?](?=[\s\"”’)]|$)|[。！？]"
)
_QUOTATION = lazy_pattern(
    r"!\[[^\]\n]{0,300}\]\([^)\n]{0,300}\)"
    r"|`[^`\n]{1,300}`|\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|„[^“”\n]{1,300}[“”]|«[^»\n]{1,300}»|"
    r"「[^」\n]{1,300}」"
    r"|『[^』\n]{1,300}』|《[^》\n]{1,300}》"
    r"|‘[^’\n]{1,300}’(?!\w)|(?<![\w'])'[^'\n]{1,300}'(?!\w)"
)


class ProseSentence(Struct, frozen=True):
    """A sentence of a typed text: its words, the same with quotations masked (equal length), and
    its surroundings.
    """

    text: str
    masked: str
    before: str = ""
    """The preceding sentence on the same line; empty at the start of a line."""
    after: str = ""
    """The following sentence on the same line."""
    in_list: bool = False
    """Whether it is part of a list item."""
    list_lead: str = ""
    """For a list item: the line before the list."""


_OTHER_SPEAKER = lazy_pattern(
    r"\s*(?i:(?:hi|hello|hey|hallo|moin|salut|bonjour|hola|olá)(?: (?:there|all|claude|codex))?[\s,.!–—-]+)?(?:"
    r"[A-Z][\w'’-]{1,20} here(?:[\s]*[,.!;:–—-]|$)|(?i:this is|here is|it['’]s) [A-Z][\w'’-]{1,20} (?:speaking|here|typing)\b"
    r"|(?i:hier (?:ist|spricht|schreibt)) [A-ZÄÖÜ][\w'’-]{1,20}(?=[\s]*[,.!;:–—-])|(?i:ici|c['’]est) [A-ZÉ][\w'’-]{1,20} (?:qui|à l['’]appareil)\b"
    r"|(?i:(?:habla|aquí|aqui|fala)) [A-ZÁÉ][\w'’-]{1,20}(?=[\s]*[,.!;:–—-]))"
)
"""Somebody says who sits at the keyboard now: it may not be the user whose memory this is."""


@lru_cache(PROSE_CACHE_SIZE)
def names_other_speaker(typed: str) -> bool:
    """Whether a message begins with who writes it ("Ben here, …"): only somebody else, or one of
    several, needs to.
    """
    return _OTHER_SPEAKER.match(typed) is not None


@lru_cache(PROSE_CACHE_SIZE)
def contains_unattributable_text(typed: str) -> bool:
    """Whether a message wants work on a text that it holds (translate, proofread, answer …), or is a
    letter, a document of several sections or a dialogue: whose words the rest of it is, nobody can
    tell.
    """
    typed = _cut_anywhere(typed)
    return gives_text_job(typed) or has_greeting_and_closing(typed) or is_document_or_form(typed)


def has_greeting_and_closing(typed: str) -> bool:
    """Whether a text begins with a greeting and ends with a close on lines of their own."""
    return _GREETING.search(typed) is not None and _CLOSING.search(typed) is not None


def gives_text_job(typed: str) -> bool:
    """Whether a text asks for work on a text: to translate, proofread, explain or answer it."""
    return _TEXT_JOB.is_in(typed)


def is_document_or_form(typed: str) -> bool:
    """Whether a message has the form of a document, a filled-in form or a dialogue, and says of none
    of its words whose they are. A person writes so as well ("Title: … / Description: …").
    """
    around = _FENCED.sub("", _cut_anywhere(typed))
    return (
        _TRAILER.search(around) is not None
        or any(len(part.findall(around)) > 1 for part in (_SECTION, _SPEAKER, _FIELD))
        or _is_dialogue(around)
    )


def names_speaker(line: str) -> bool:
    """Whether a name or a label stands in front of a line: `Ann: always use tabs`."""
    return _NAMED_SPEAKER.match(line) is not None


def _is_dialogue(typed: str) -> bool:
    """Whether the same name stands in front of several lines, or alone on several lines."""
    names = Counter(found["name"].casefold() for found in _NAMED_SPEAKER.finditer(typed))
    alone = Counter(
        line.strip()
        for line in typed.splitlines()
        if 1 < len(line.strip()) <= _SHORT_LINE_CHARS
        and line.strip()[-1].isalpha()
        and not _INTERJECTION.fullmatch(line.strip())
    )
    return any(count >= _REPEATED for each in (names, alone) for count in each.values())


def extract_redacted_user_text(message: Message, picture: str = "") -> str:
    """Return what the user typed in a message without secrets and sounds of hesitation, all its
    parts as one text; empty for a message that is not the user's. `picture` stands for each picture
    that is alone on a line, at the end of one, or between two parts.

    Redacted here, while lines are lines: a password that is a word is known by the line it has.
    """
    if message.origin is not Origin.USER:
        return ""
    reply = find_reply_in_result(message.text)
    parts: list[str] = []
    for block in (TextBlock(text=reply),) if reply else message.blocks:
        if isinstance(block, TextBlock) and block.origin in (None, Origin.USER):
            text = _PICTURE_MARKS.sub(lambda _: picture, strip_host_markup(block.text))
            parts.append(_PASTE_MARKS.sub("", text))
        elif isinstance(block, ImageBlock):
            parts.append(picture)
    typed = "\n".join(part.strip() for part in parts if part.strip())
    return remove_hesitation_sounds(redact(typed).text)


def announces_text_in_next_message(typed: str) -> bool:
    """Whether a message announces that the next one holds a text of somebody else."""
    typed = _cut_anywhere(typed)
    return typed.rstrip().endswith((":", "：")) or _NEXT_TEXT.is_in(typed)


def _cut_anywhere(typed: str) -> str:
    """The beginning and the end of a long message: a job may be in front of a text of one line."""
    if len(typed) <= 2 * LONG_MESSAGE_CHARS:
        return typed
    return f"{typed[:LONG_MESSAGE_CHARS]}\n{typed[-LONG_MESSAGE_CHARS:]}"


def cut_middle(typed: str) -> str:
    """The whole lines of a long message that are at its beginning and its end."""
    if len(typed) <= 2 * LONG_MESSAGE_CHARS:
        return typed
    head, tail = typed[:LONG_MESSAGE_CHARS], typed[-LONG_MESSAGE_CHARS:]
    return "\n".join((head.rpartition("\n")[0] or head, tail.partition("\n")[2] or tail))


def mask_quotations(text: str) -> str:
    """Mask quotations and code spans; the length stays the same."""
    return _QUOTATION.sub(lambda match: MASK_CHARACTER * len(match[0]), text)


def find_sentence_ends(masked: str) -> list[int]:
    """Return the end positions of a masked line's sentences, including the end of the line."""
    return [*(match.end() for match in _SENTENCE_END.finditer(masked)), len(masked)]


def find_quotation_spans(text: str) -> Iterator[tuple[int, int]]:
    """Return the spans of quotations in a line; code spans are not quotations."""
    return (match.span() for match in _QUOTATION.finditer(text) if not match[0].startswith("`"))


def split_prose_sentences(text: str, *, whole: bool = False) -> Iterator[ProseSentence]:
    """Split the user's prose into sentences, in order. Each `text` occurs verbatim in the input.
    `whole` reads a long text to its end, not its outer paragraphs alone.
    """
    lead = ""
    lines = list(extract_prose_lines(text if whole else _outer_paragraphs(text)))
    boxed = sum(_BOX.match(line) is not None for line in lines) > 1
    for line in lines:
        bullet = _BULLET.match(line) or (_BOX.match(line) if boxed else None)
        body = line[bullet.end() :] if bullet else line
        ornament = _ORNAMENT.match(body)
        body = body[ornament.end() :] if ornament else body
        if not bullet:
            lead = line.strip()
        yield from _sentences_of_line(body, listed=bullet is not None, lead=lead if bullet else "")


def _outer_paragraphs(text: str) -> str:
    """The first and the last paragraph of a long message, where they are short. What a machine wrote
    ends the first as an empty line does.
    """
    if len(text) <= LONG_MESSAGE_CHARS:
        return text
    first = text[:LONG_MESSAGE_CHARS].split("\n\n", 1)
    if len(first) == 1 or len(first[0]) > MAX_SENTENCE_CHARS:
        first = _split_at_machine_text(first[0])
    last = text[-LONG_MESSAGE_CHARS:].rsplit("\n\n", 1)
    parts = [part[-1] if part is last else part[0] for part in (first, last) if len(part) > 1]
    return "\n\n".join(part for part in parts if len(part) <= MAX_SENTENCE_CHARS)


def find_last_line_behind_program_output(text: str) -> str:
    """The last line of a text where a machine wrote its beginning: somebody may have typed on behind
    what they pasted. Empty for a quotation, a part of a table or a difference, and for prose.
    """
    line = text.rstrip().rpartition("\n")[2]
    is_printed = _is_machine_text(line) and not line.lstrip().startswith((*_FENCES, *">|+-"))
    return line if is_printed else ""


def _split_at_machine_text(text: str) -> list[str]:
    """Split before the first line, but the very first, that nobody types; whole where there is none."""
    start = 0
    for line in text.splitlines(keepends=True):
        if start and _is_machine_text(line):
            return [text[:start], text[start:]]
        start += len(line)
    return [text]


def _is_machine_text(line: str) -> bool:
    return line.lstrip().startswith(_FENCES) or any(
        pattern.match(line) for pattern in (_PRINTED_LINE, _PASTED_LINE)
    )


def extract_prose_lines(text: str) -> Iterator[str]:
    """Yield the lines the user wrote.

    A line that announces pasted text ends the user's part; an open code fence hides the rest.
    """
    return (line for line, _ in _read_prose_lines(text))


def list_lines_right_below_print(text: str) -> Iterator[str]:
    """Yield the lines the user seems to have written right below a stack trace or a difference: the
    last lines of what was printed may look the same.
    """
    return (line for line, is_below in _read_prose_lines(text) if is_below)


def _read_prose_lines(text: str) -> Iterator[tuple[str, bool]]:
    fenced = is_below = False
    head = ""
    lines = [] if _ONE_QUOTATION.fullmatch(text) else text.splitlines()
    tabular = sum(_ROW.match(line) is not None for line in lines) > 1
    for line in lines:
        head, is_below = _follow_print(head, line, is_below=is_below)
        if line.lstrip().startswith(_FENCES):
            fenced = not fenced
            continue
        if (
            fenced
            or head
            or not line.strip()
            or line.startswith(("    ", "\t"))
            or _HEADING.match(line)
            or _NESTED_ENTRY.match(line)
        ):
            continue
        if (
            _PASTED_LINE.match(line)
            or (_ROW.match(line) and (tabular or not _TYPED_ROW.match(line)))
            or _CODE_LINE.search(line[-MAX_SENTENCE_CHARS:])
        ):
            continue
        yield line, is_below
        if announces_paste(line):
            return


def _follow_print(head: str, line: str, *, is_below: bool) -> tuple[str, bool]:
    """The head of what was printed, if a line is part of it, and whether the line is right below."""
    if not line.strip():
        return "", False
    if _PRINTED_LINE.match(line):
        return line, False
    is_end = bool(head) and (
        (head.lstrip().startswith("Traceback (") and _EXCEPTION_LINE.match(line) is not None)
        or (head.lstrip().startswith("@@") and line[0] not in " +-\\")
    )
    return ("", True) if is_end else (head, is_below)


def announces_paste(line: str) -> bool:
    """Whether a line announces that what is below it was pasted."""
    return _PASTE_ANNOUNCEMENT.is_in(line[-MAX_SENTENCE_CHARS:])


def _sentences_of_line(line: str, *, listed: bool, lead: str) -> Iterator[ProseSentence]:
    """Split a line into sentences.

    Quotations are masked first, so that a full stop in one ends nothing.
    """
    masked = mask_quotations(line)
    spans = []
    start = 0
    for end in find_sentence_ends(masked):
        if line[start:end].strip():
            spans.append(_strip_span(line, start, end))
        start = end
    for at, (begin, end) in enumerate(spans):
        if end - begin > MAX_SENTENCE_CHARS:
            continue
        before = line[slice(*spans[at - 1])][-MAX_SENTENCE_CHARS:] if at else ""
        after = line[slice(*spans[at + 1])][:MAX_SENTENCE_CHARS] if at + 1 < len(spans) else ""
        yield ProseSentence(
            line[begin:end], masked[begin:end], before, after, listed, lead[-MAX_SENTENCE_CHARS:]
        )


def _strip_span(line: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without surrounding white space."""
    part = line[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))
