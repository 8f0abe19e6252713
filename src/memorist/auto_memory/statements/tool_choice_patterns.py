"""One tool in place of another ("nie npm, nimm pnpm"), as people type it: eight languages and mixtures
of them, without punctuation, with slips of the keyboard, with signs for yes and no. It may be meant
for the task alone, so it waits for the person's yes. Pure.
"""

from __future__ import annotations

from memorist.auto_memory.statements.statement_patterns import (
    StatementPattern,
    parse_statement_patterns,
)

_POLITE = (
    r"(?:(?:please|pls|plz|bitte|mal|stp|svp|por favor|porfa|пожалуйста|请|ok|okay|really|just|"
    r"here|hier|ici|aqu[ií]|тут|здесь|这里|这儿|ここでは|ここは|also|and|und|et|y|e|и|но|aber|but|mais|pero|mas|"
    r"sondern|sino|stattdessen|instead|el|la|le|der|die|das)[\s,、，]*)*"
)
_NEVER = (
    r"(?:(?:never ever|never|nver|nevr|nevre|neve|no more|don['’]?t|do not|not|no|stop|avoid|nie mehr|niemals|nie|nicht|keine?n?|bloß kein|"
    r"jamais|plus jamais|pas de|pas|ne|nunca|não|sem|sin|никогда не|никогда|не надо|не|без)\b|不要|不准|不许|不能|别|禁止)"
)
_ALWAYS = (
    r"(?:(?:always|allways|alwyas|alwasy|only|just|immer|stets|nur|ausschließlich|toujours|seulement|uniquement|siempre|sempre|solo|sólo|só|"
    r"apenas|всегда|только)\b|一律|只|都|必须|いつも|必ず)"
)
_USE = (
    r"(?:(?:use|using|usa|usar|usas|uses|usen|usamos|utilise[rsz]?|utiliza|utilizar|utilize|emplea|benutze?n?|benutzt|nutze?n?|verwende?n?|nimm|"
    r"nehmt|nehmen|prends?|prenez|install|run|pick|prefer|используй(?:те)?|использовать|используем|юзай(?:те)?|бери(?:те)?)\b|用|使用|改用|选)"
)
_TOOL = (
    r"(?!(?:the|this|that|these|those|it|them|a|an|my|your|sure|yet|now|me|us|you|here|there|to|in|on|at|of|for|problem|need|idea|"
    r"way|worries|error|errors|one|option|variant|first|second|third|other|both|former|latter|sicher|sûr|sure|seguro|certeza|erste|zweite|"
    r"andere|premi[eè]re?|deuxième|second[eo]?|autre|primero|segund[oa]|primeir[oa]|otr[oa]|outr[oa]|das|den|die|der|es|ihn|sie|le|la|les|ça|lo|los|las|el|eso|isso|o|os|as)\b)"
    r"[@a-z][\w@./+-]*"
)
_CHOSEN = (
    r"(?!(?:tests?|unit|e2e|integration|lint\w*|build\w*|compil\w+|ci|cd|deploy\w*|typ(?:es?|echeck\w*|ing)|format\w*|check\w*|coverage|docs?|"
    r"release\w*|steps?|jobs?|pipeline|stage|staging|prod\w*|back-?end|front-?end|server|client|api|ui|db|setup|install\w*|login|pass\w*|fail\w*)\b)"
    rf"{_TOOL}"
)
"""A tool beside a sign: `tests ✅ lint ❌` says how the work stands."""
_HERE = r"(?: (?:here|hier|ici|aqu[ií]|тут|здесь)| ?(?:这里|在这))?"
_GAP = r"[\s,;:.!、，；。–—-]*"

WELL_KNOWN_TOOL = (
    r"(?:pnpm|yarn|bun|npm|uv|poetry|pip|conda|ruff|black|prettier|biome|eslint|mypy|pyright|pytest|vitest|jest|playwright|cypress|vite|"
    r"webpack|docker|podman|terraform|postgres|sqlite|redis|tailwind|typescript|fish|zsh)"
)

TOOL_CHOICES: tuple[StatementPattern, ...] = parse_statement_patterns(
    rf"""
    # Never one, use the other; the verb may stand after the tool.
    rule: {_POLITE}(?P<text>{_NEVER}\s*(?:{_USE}\s*{_TOOL}|{_TOOL} {_USE}){_HERE}{_GAP}{_POLITE}(?:{_ALWAYS}|{_USE}|we use|wir nehmen|nehmen wir
        |on est sur|on utilise|se usa|у нас)\s*.*{_TOOL}.*)
    rule: {_POLITE}(?P<text>{_NEVER}\s*{_TOOL}{_HERE}{_GAP}{_POLITE}(?:{_ALWAYS}|{_USE})\s*{_TOOL}.*
        |{_NEVER}\s*{_TOOL}{_HERE}{_GAP}{_POLITE}{_TOOL} {_ALWAYS}.*)
    rule: {_POLITE}(?P<text>(?:n['’]|ne )?{_USE} (?:pas|jamais|plus|nicht|kein\w*|nie) (?:de )?{_TOOL}{_HERE}{_GAP}{_POLITE}(?:{_ALWAYS}|{_USE}
        |on est sur|on utilise)\s*{_TOOL}.*)
    # Use one, not the other.
    rule: {_POLITE}(?P<text>(?:(?:we|i|you|wir|ich|du|man|on|nous|tu|a gente|nós|se|aqui se|мы
        |我们)\s*)?{_USE}\s*(?:immer |nur |toujours )?{_TOOL}{_HERE}[\s,;–—-]*{_POLITE}(?:а )?{_NEVER}\s*(?:{_USE}\s*)?{_TOOL}.*)
    rule: (?P<text>{_TOOL} ?(?:不行|不可以|不要|没有)[，, ]*(?:要|请|得|必须)?用 ?{_TOOL}.*|{_TOOL} ?(?:を
        |は)?(?:使わないで|使わずに?|じゃなくて|ではなく|でなく|はやめて|やめて|禁止で?|はダメ)、?{_TOOL} ?(?:を|で|に)?(?:使って|して|使用|お願い|統一).*)
    # Nothing but one well-known tool.
    rule: (?P<text>(?:please |pls |just |always )*use {WELL_KNOWN_TOOL}(?: (?:here|please|pls|for (?:everything|tests|testing|packages|formatting
        |linting)))*[.!]*$)
    # Always or never one: well known, or named like a tool ("always slow" describes).
    rule: {_POLITE}(?P<text>(?:always|never|immer|stets|nie(?:mals)?|toujours|jamais|siempre|nunca|sempre|mai|всегда|никогда) (?:{WELL_KNOWN_TOOL}
        |(?-i:[A-Z])[\w.+#/@-]+|[\w@.-]*[\d/@_-][\w./@-]*)(?:,? {_POLITE})?{_HERE}\s*[.!]*$)
    # Signs for no and yes.
    rule: (?P<text>{_CHOSEN} ?[❌🚫👎✗✘⛔]\ufe0f?[\s,]*{_CHOSEN} ?[✅👍✔✓💯🙏]\ufe0f?.*|{_CHOSEN} ?[✅👍✔✓💯]\ufe0f?[\s,]*{_CHOSEN} ?[❌🚫👎✗✘⛔]\ufe0f?.*
        |[❌🚫👎✗✘⛔]\ufe0f? ?{_CHOSEN}[\s,;/|]*[✅👍✔✓💯]\ufe0f? ?{_CHOSEN}.*|[✅👍✔✓💯]\ufe0f? ?{_CHOSEN}[\s,;/|]*[❌🚫👎✗✘⛔]\ufe0f? ?{_CHOSEN}.*)
    """
)
"""A tool in place of another: each waits in the inbox."""
