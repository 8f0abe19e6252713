"""How far a statement reaches: to every project of the user, or to the one it was made in. Pure.

Only three things reach further: what names all projects, how the user wants to be answered and
called, and what the user is or works with whatever the project. Everything else stays, and so does
what names the project, a group ("we", "our") or a place in the code.
"""

from __future__ import annotations

import re

from memorist.auto_memory.fact_paraphrases import OWN_TOOL, say_fact_in_short
from memorist.auto_memory.statements.pattern_alternatives import OpeningPattern
from memorist.auto_memory.statements.pattern_required_words import PrefilteredPattern
from memorist.core.lazy import lazy_pattern

_EVERY_PROJECT = lazy_pattern(
    r"""\b(?:in|for|across|to|on|with)\ (?:all|every|each|any)\ (?:single\ )?(?:of\ )?(?:my\ )?(?:projects?|repos?\b|repositor(?:y|ies)|code\ ?bases?
    |workspaces?)|^everywhere\s?[:,–—-]|\bwhatever\ (?:the\ )?project|\b(?:in|bei)\ (?:jedem|allen?(?:\ meinen)?)\ (?:projekte?n?|repos?)\b|\bdans\ (?:tous\ mes|tous\ les
    |chaque)\ (?:projets?|dépôts?)|\ben\ (?:todos\ (?:mis|los)|cada|cualquier)\ (?:proyectos?|repos?|repositorios?)|\bem\ (?:todos\ os\ (?:meus\ )?
    |cada\ |qualquer\ )(?:projetos?|reposit[óo]rios?)|во\ всех\ (?:моих\ )?(?:проектах|репозиториях)|в\ каждом\ проекте
    |(?:所有|每个|任何)(?:的)?(?:项目|仓库)|(?:すべて|全て|全部|どの)の?(?:プロジェクト|リポジトリ)|모든\ (?:프로젝트|저장소|레포)""",
    re.IGNORECASE | re.VERBOSE,
)
_HERE = lazy_pattern(
    r"""\b(?:this|these|that|here|we|we['’]re|us|our|ours|team['’]s)\b|\bthe\ (?:repo|project|codebase|code|docs?|readme|api|app|site|ui|file|tests?
    |commit|pr|issue|ticket|changelog)\b|\b(?:commits?|comments?|docstrings?|identifiers?|filenames?|changelog|readme|tests?|code|pull\ requests?
    |prs?|issues?|tickets?)\b|\b(?:hier|dieses?[mnrs]?|unser\w*|wir|ici|ce|cet|cette|nos|notre|nous|aquí|este|esta|nuestr[oa]s?|aqui|nosso|nossa
    |neste|nesta)\b|здесь|этом|этот|наш\w*|\bмы\b|这里|这个|本项目|我们|ここ|この|我が|여기|우리|저희|이\ (?:프로젝트|저장소|레포)|주석|커밋|문서|`|[\w-]+/[\w-]+|\w\.(?:py|js|ts|go|rs|md|java|rb|sh)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_LANGUAGE = (
    r"(?:english|german|french|spanish|portuguese|italian|dutch|polish|turkish|russian|ukrainian|"
    r"chinese|mandarin|japanese|korean|hindi|arabic|hebrew|greek|czech|swedish|danish|norwegian|"
    r"finnish|catalan|vietnamese|indonesian|romanian|hungarian)"
)
_OPENING = (
    r"(?:please|always|never|from\ now\ on|i\ (?:want|['’]d\ like)\ you\ to|you\ should|just|only|"
    r"do\ not|don['’]t|stop|and|,|\s)*"
)
_ADDRESS = PrefilteredPattern(
    rf"""^{_OPENING}(?:(?:answer|answering|respond|responding|reply|replying|talk|talking|speak|speaking|chat|chatting|write|explain(?:ing)?
    \ (?:things|everything))(?:\ (?:to\ me|back|only|always))*\ in\ {_LANGUAGE}\b(?!\ to\b)|(?:call|address)\ me\ (?!when|if|once|back|later|on\b|in\b|at\b
    |crazy|a\b|an\b)|speak\ {_LANGUAGE}(?:\ (?:to|with)\ me|\ please)?[\s.!]*$)|^(?:please\ )?(?:use\ )?no\ emojis\ in\ your\b|^my\ pronouns\b
    |^(?:bitte\ |immer\ |ab\ jetzt\ )*(?:antworte|sprich|rede|schreib)\b.{{0,20}}\bauf\ \w+(?:sch|inisch)\b|^(?:nenn\w*|duze|sieze)\ mich\b
    |^(?:toujours\ )?(?:réponds?|répondez|parle|parlez)\b.{{0,20}}\ben\ (?:fran|angl|all|esp|port|ital|russ|chin|jap)\w+|^(?:tutoie|appelle|vouvoie)[sz]?-moi\b
    |^(?:siempre\ )?(?:responde|contesta|habla|respóndeme|contéstame|háblame)\b.{{0,20}}\ben\ (?:espa|ingl|alem|franc|port|ital|rus|chin|jap)\w+|^llámame\b
    |^(?:sempre\ )?(?:responda|responde|fale|fala)\b.{{0,20}}\bem\ (?:port|ingl|espa|alem|franc|ital|russ|chin|jap)\w+|^me\ chame\ de\b
    |^(?:всегда\ )?(?:отвечай|говори|пиши|общайся)(?:те|тесь)?(?:\ (?:мне|нам|всегда|только|со\ мной|пожалуйста))*\ (?:по-\w+|на\ \w+(?:ском|цком)(?:\ языке)?\b)|^(?:называй|зови)(?:те)?\ меня|(?:用|使用).{{1,4}}[语文](?:来)?(?:回答|回复|交流)
    |(?:请|以后)?(?:都|一律)?(?:叫|称呼)我|[一-龥ァ-ヶ]{{1,5}}語で(?:答え|回答|返答|話)|^(?:항상\ |앞으로는?\ |무조건\ |\S*답\S*은\ )*(?:한국어|한글|영어|일본어|중국어|존댓말|반말)(?:로만?|으로만?)\ ?(?:답|대답|응답|말|대화|설명)"""
)
"""In which language the user wants to be answered, and how called."""
_MANNER = lazy_pattern(
    rf"""^{_OPENING}(?:(?:answer|respond|reply|explain\ (?:things|everything))(?:\ to\ me)?\ (?:briefly|concisely|shortly|directly|in\ (?:short|plain
    |simple|full)\b)|(?:keep|make|give\ me|write)\ (?:\w+\ ){{0,2}}(?:answers|replies|responses|explanations)\ (?:short|brief|concise|simple|plain|long)
    |(?:long|longer|short|shorter|brief|concise|verbose)\ (?:answers|replies|responses|explanations)\b)|\bin\ (?:all\ )?your\ (?:answers|replies
    |responses)\b|^your\ (?:answers|replies|responses|explanations)\ should\b|^i\ (?:prefer|like|want|hate|dislike)\ (?:\w+\ ){{0,3}}(?:answers
    |replies|responses|explanations)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""How answers should be."""
_SELF = OpeningPattern(
    rf"""^(?:(?:and|also|just\ so\ you\ know|btw|fyi|hi|hey|hello)\b[,:]?\ )*(?:
    i(?:['’]m|\ am)\ (?:(?:an?|the)\ (?:[\w+#./-]+\ ){{0,4}}(?:developer|dev|engineer|programmer|lead|architect|designer|manager|scientist|analyst|student
    |beginner|novice|teacher|researcher|admin\w*|sysadmin|sre|maintainer|founder|cto|ceo|writer|consultant|freelancer|intern|tester|newbie|expert)\b
    |(?:colou?r[\ -]?blind|deaf|blind|dyslexic|left[\ -]handed|vegetarian|vegan|allergic|based\ in|from|a\ native)\b|(?:new\ to|not\ familiar\ with)\ \w+[.!]?$)
    |my\ name['’]s\ (?-i:[A-Z])|moi,?\ (?:c['’]est\ (?-i:[A-ZÉÈÀ])|je\ (?:suis|fais|travaille)\b)|my\ (?:name|pronouns|time\ ?zone|native\ language|first\ language|mother\ tongue|job|role|profession|shell|editor|os|operating\ system|keyboard
    \ layout)\ (?:is|are)\ (?!not\b|\w+ing\b|broken|stuck|down|slow|in\b)|i\ (?:live\ in|work\ (?:as|from\ home)|(?:don['’]t\ )?speak\ {_LANGUAGE}|have\ (?:adhd|dyslexia|(?:\w+\ ){{1,3}}years\ of))\b
    |i\ (?:always\ |only\ |mostly\ |usually\ )?(?:use|work\ (?:in|on|with))\ (?:the\ )?{OWN_TOOL}(?:\ shell|\ as\ my\ (?:shell|editor))?\b
    |ich\ (?:bin|heiße|wohne|arbeite\ als|spreche)\b|mein\ name\ ist\b|je\ (?:suis|m['’]appelle|parle|travaille\ comme)\b|(?:yo\ )?soy\b|me\ llamo\b|vivo\ en\b
    |(?:eu\ )?sou\b|me\ chamo\b|moro\ em\b|меня\ зовут|я\ (?:—\ )?(?:работаю|живу|использую|(?!(?:бы|же|уже|тоже|также|так|просто|ещё|еще|только|сам[аи]?|один|одна|опять|снова|потом|сейчас|сегодня|вчера|завтра|готова?|рада?|прав|права|против|дома|здесь|всегда|никогда|вообще|даже|лично|имею|думаю|первый)\b)[а-яё-]{{4,}}(?<![ую])(?<!л)(?<!л[аи])(?<!лся)(?<!сь)(?<!шь)(?<!ен)(?<!ена)(?<!но)(?=,|\ (?:и|а|но|на|по|из)\ |[.!]*$))|我(?:是(?:一?名|一?个)?.{{1,14}}(?:工程师
    |开发者?|程序员|负责人|学生|设计师|经理|新手)|叫|住在|的名字)|(?:私は|僕は|俺は).{{1,16}}(?:エンジニア|開発者|プログラマ|学生|担当|デザイナー)|[^。]{{1,24}}を?担当(?:です|して(?:い|お)?(?:る|ます|り))
    |(?:저는|나는|난|전)\ .{{0,20}}(?:개발자|엔지니어|디자이너|기획자|학생|리드|팀장|매니저)(?:입니다|이에요|예요|야|이야|다)
    )"""
)
"""What the user is, and works with whatever the project."""
_PASSING_SELF = lazy_pattern(
    r"""\b(?:ich\ bin\ (?:gerade|noch|nicht|mir|dafür|dagegen|fertig|der\ meinung)|je\ suis\ (?:en\ train|d['’]accord|sûr|pas)|soy\ consciente)\b
    |\b(?:today|tonight|currently|right\ now|at\ the\ moment|heute|gerade|aujourd['’]hui|hoy|hoje|сейчас)\b|今天|现在|今日|今は""",
    re.IGNORECASE | re.VERBOSE,
)


def applies_to_every_project(text: str) -> bool:
    """Whether what the user said holds in all of their projects; in doubt it does not."""
    words = " ".join(text.split())
    return (
        _EVERY_PROJECT.search(words) is not None
        or _is_about_user(words)
        or _is_about_user(say_fact_in_short(words))
        or (_MANNER.search(words) is not None and _HERE.search(words) is None)
    )


def is_lasting_statement(text: str) -> bool:
    """Whether a sentence alone says that it lasts: it begins by naming all projects, or says what
    the user is, or how they want to be answered or called.
    """
    named = _EVERY_PROJECT.match(text)
    return _is_about_user(text) or (
        named is not None and text[named.end() :].startswith((",", ":"))
    )


def _is_about_user(words: str) -> bool:
    says = _ADDRESS.is_in(words) or _SELF.match(words) is not None
    return says and not (_HERE.search(words) or _PASSING_SELF.search(words))


_EVERY_PROJECT_REQUEST = lazy_pattern(
    r"(?:please |and |also |actually,? |yes,? |ok(?:ay)?,? )*(?:"
    r"(?:(?:remember|keep|save|store|apply|use|do|make) (?:this|that|it)(?: rule)?|(?:this|that|it) "
    r"(?:holds|goes|applies|counts|is)(?: true)?) (?:everywhere|globally|{projects})|{projects})"
    r"(?:,? please| too| as well)?[\s.!]*"
    r"|(?:bitte )?(?:merke? dir das (?:bitte )?|das gilt )?(?:für|in) alle[n]? (?:meine[n]? )?"
    r"projekte[n]?(?:,? bitte)?[\s.!]*"
    r"|(?:retiens(?: ça|-le| cela) )?pour tous mes projets(?:,? s['’]il (?:te|vous) pla[iî]t)?[\s.!]*"
    r"|(?:recuerda(?:lo)?(?: eso| esto)? )?(?:para|en) todos mis proyectos(?:,? por favor)?[\s.!]*"
    r"|(?:para|em) todos os meus projetos(?:,? por favor)?[\s.!]*"
    r"|(?:запомни это )?для всех (?:моих )?проектов(?:,? пожалуйста)?[\s.!]*"
    r"|(?:这个?|这条)?(?:规则)?(?:所有|每个)项目都(?:适用|要?记住|这样|一样)[。！!]*".replace(
        "{projects}",
        r"(?:for|in|across|to) (?:all|every|each)(?: of)?(?: my)? "
        r"(?:projects?|repos?|repositor(?:y|ies))",
    ),
    re.IGNORECASE,
)


def is_every_project_request(masked: str) -> bool:
    """Whether a sentence without its quotations asks for that, and so states nothing itself."""
    return _EVERY_PROJECT_REQUEST.fullmatch(masked) is not None
