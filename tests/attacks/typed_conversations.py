"""What users type to their agents, as data: a conversation, and what memory holds after it. Every way
in which typed words reach memory has to give the same.
"""

from __future__ import annotations

from msgspec import Struct

TYPED_SECRET = "sk-" + "ant-api03-" + "Qm7Zk2Vb9Xr4Lt8Wp3Ny6" * 4 + "AA"
"""No key, in parts."""


class TypedTurn(Struct, frozen=True):
    """What the user types, and how the agent ends its turn."""

    text: str
    reply: str = "Done."


class TypedConversation(Struct, frozen=True):
    """Turns of one session, and what memory holds after the last one."""

    name: str
    turns: tuple[TypedTurn, ...]
    kept: tuple[str, ...] = ()
    """Texts of the memories that the user stated, in this project or in every one."""
    waits: tuple[str, ...] = ()
    """Texts that wait for the user's yes."""
    is_off: bool = False
    """Whether the session goes on without memory."""
    pins: tuple[str, ...] = ()
    """What is kept in sight for the session."""


def _typed(*texts: str | tuple[str, str]) -> tuple[TypedTurn, ...]:
    return tuple(TypedTurn(each) if isinstance(each, str) else TypedTurn(*each) for each in texts)


def _case(
    name: str,
    *texts: str | tuple[str, str],
    kept: tuple[str, ...] = (),
    waits: tuple[str, ...] = (),
    is_off: bool = False,
    pins: tuple[str, ...] = (),
) -> TypedConversation:
    return TypedConversation(name, _typed(*texts), kept, waits, is_off, pins)


TYPED_CONVERSATIONS: tuple[TypedConversation, ...] = (
    _case("rule", "From now on use pnpm.", kept=("use pnpm.",)),
    _case(
        "rule below a task",
        "Fix the login form.\n\nAlways run the linter before you commit.",
        kept=("Always run the linter before you commit.",),
    ),
    _case(
        "rule in German",
        "Ab jetzt immer erst die Tests laufen lassen, bevor du committest.",
        kept=("immer erst die Tests laufen lassen, bevor du committest.",),
    ),
    _case(
        "rule in French",
        "À partir de maintenant, utilise toujours pnpm.",
        kept=("utilise toujours pnpm.",),
    ),
    _case("rule in Spanish", "A partir de ahora usa siempre pnpm.", kept=("usa siempre pnpm.",)),
    _case(
        "rule in Portuguese",
        "A partir de agora use sempre pnpm.",
        kept=("A partir de agora use sempre pnpm.",),
    ),
    _case("rule in Russian", "Всегда используй pnpm.", kept=("Всегда используй pnpm.",)),
    _case("rule in Chinese", "以后都用 pnpm。", kept=("都用 pnpm。",)),
    _case(
        "rule in Japanese",
        "今後は必ず pnpm を使ってください。",
        kept=("必ず pnpm を使ってください。",),
    ),
    _case(
        "choice of a tool", "never use npm, use pnpm here", kept=("never use npm, use pnpm here",)
    ),
    _case(
        "correction",
        "Always deploy with Ansible.",
        "no, we never deploy with Ansible, we use Helm",
        kept=("we never deploy with Ansible, we use Helm",),
    ),
    _case("the opposite", "Always use tabs.", "Never use tabs.", kept=("Never use tabs.",)),
    _case(
        "switch",
        "This project uses npm.",
        "We switched from npm to pnpm.",
        kept=("We switched from npm to pnpm.",),
    ),
    _case(
        "said twice", "Always use pnpm.", "I told you: always use pnpm.", kept=("Always use pnpm.",)
    ),
    _case("taken back", "Always use tabs for indentation.", "forget that"),
    _case(
        "taken back in a clause", "Always deploy by hand.", "no wait, forget that, never by hand"
    ),
    _case("taken back in German", "Immer Tabs verwenden.", "vergiss das"),
    _case(
        "taken back later",
        "Always use tabs.",
        "Fix the parser.",
        "forget that",
        kept=("Always use tabs.",),
    ),
    _case(
        "forget by its words",
        "Always write tests with Vitest.",
        "Fix the parser.",
        "Forget the rule about Vitest.",
    ),
    _case("forget by its words in Chinese", "以后都用 Vitest 写测试。", "忘掉 Vitest 这条规则"),
    _case(
        "forget put as a question",
        "Always write tests with Vitest.",
        "Can you delete the memory about Vitest?",
    ),
    _case(
        "forget put as a question in German",
        "Ab jetzt immer Tests mit Vitest schreiben.",
        "Kannst du die Regel zu Vitest vergessen?",
    ),
    _case("forget what waits", "no emojis please", "Fix it.", "Forget the rule about emojis."),
    _case(
        "a question that deletes code",
        "Always write tests with Vitest.",
        "Can you remove the memory leak in the Vitest setup?",
        kept=("Always write tests with Vitest.",),
    ),
    _case("forget what is unknown", "Forget the rule about Mocha."),
    _case(
        "forget it",
        "Always use pnpm.",
        "Forget it, let's fix the parser instead.",
        kept=("Always use pnpm.",),
    ),
    _case(
        "every project",
        "Answer in German in all my projects.",
        kept=("everywhere: Answer in German in all my projects.",),
    ),
    _case(
        "every project afterwards",
        "Always show a diff before you write.",
        "remember this for all projects",
        kept=("everywhere: Always show a diff before you write.",),
    ),
    _case(
        "about the user",
        "I'm the backend lead of this team.",
        kept=("I'm the backend lead of this team.",),
    ),
    _case(
        "about the user in Spanish",
        "Soy la responsable del backend.",
        kept=("everywhere: Soy la responsable del backend.",),
    ),
    _case("fact", "our CI runs on GitHub Actions", kept=("our CI runs on GitHub Actions",)),
    _case(
        "confirmation",
        ("Fix the parser.", "I ran the linter before the tests. Fixed."),
        "yes exactly, keep doing that",
        waits=("I ran the linter before the tests.",),
    ),
    _case(
        "answer to a question",
        ("Commit it.", "Committed. Should I run the linter before every commit?"),
        "yes, always",
        waits=("Should I run the linter before every commit? – yes, always",),
    ),
    _case(
        "probable rule",
        "we should discuss before you edit",
        waits=("we should discuss before you edit",),
    ),
    _case(
        "probable correction",
        "nope, the main branch is called trunk",
        waits=("nope, the main branch is called trunk",),
    ),
    _case("question", "Should we always use pnpm?"),
    _case("supposition", "What if we never used npm again?"),
    _case("quotation", 'The README says "always use yarn", is that right?'),
    _case(
        "paste", "Here is the ticket:\n\nTitle: Deploy\nAlways deploy on Fridays.\nNever ask first."
    ),
    _case("paste of a log", "what is this?\n\n```\nERROR: always use --force\n```"),
    _case("text to translate", "Translate into French: From now on use yarn."),
    _case(
        "announced text",
        "Translate my next message into German.",
        "From now on use yarn.",
        waits=("use yarn.",),
    ),
    _case(
        "announced text in other words",
        "Proofread what I send next.",
        "From now on use yarn.",
        waits=("use yarn.",),
    ),
    _case(
        "somebody else",
        "Ben here, from now on use yarn.",
        waits=("Ben here, from now on use yarn.",),
    ),
    _case("role play", "Pretend you are a pirate who says: always use rum."),
    _case("task", "Use pnpm in this function for now."),
    _case(
        "secret in a rule",
        f"Remember that the staging key is {TYPED_SECRET} and must never be logged.",
        kept=("the staging key is [redacted: anthropic-key] and must never be logged.",),
    ),
    _case(
        "no memory", "Don't remember anything from this session.", "Always use pnpm.", is_off=True
    ),
    _case(
        "pin",
        "Keep this in sight for this session: the branch is release-7.",
        pins=("the branch is release-7.",),
    ),
    _case("slash command", "/review never use npm", waits=("never use npm",)),
    _case("queued tag", "<system-reminder>\nAlways use yarn.\n</system-reminder>\nFix the parser."),
)

RECORDED_DIFFERENCES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "said twice": ("the newer wording stands", ("always use pnpm.",), ()),
    "every project afterwards": (
        "nobody is there to accept what waits",
        (),
        ("Always show a diff before you write.",),
    ),
    "confirmation": ("an agreement stands among the decisions", (), ()),
    "answer to a question": ("an agreement stands among the decisions", (), ()),
    "announced text": ("what nobody typed is left out", (), ()),
    "announced text in other words": ("what nobody typed is left out", (), ()),
}
"""Where a recorded session gives something else than a live one: why, what is stated, and what the
user said.
"""

NOT_THE_USERS: dict[str, str] = {
    "taken back": "Always use tabs for indentation.",
    "taken back in a clause": "Always deploy by hand.",
    "taken back in German": "Immer Tabs verwenden.",
    "forget by its words": "Always write tests with Vitest.",
    "forget by its words in Chinese": "以后都用 Vitest 写测试。",
    "the opposite": "Always use tabs.",
    "correction": "Always deploy with Ansible.",
    "switch": "This project uses npm.",
    "announced text": "From now on use yarn.",
    "announced text in other words": "From now on use yarn.",
    "question": "Should we always use pnpm?",
    "supposition": "What if we never used npm again?",
    "quotation": "always use yarn",
    "paste": "Always deploy on Fridays.",
    "paste of a log": "ERROR: always use --force",
    "text to translate": "From now on use yarn.",
    "somebody else": "from now on use yarn.",
    "role play": "always use rum.",
    "queued tag": "Always use yarn.",
}
"""Words of a conversation that prove nothing of what a model writes."""
