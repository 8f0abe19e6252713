"""Five hundred made memories in which it is known what is the same, what only looks so, what contradicts, what points nowhere, and what was dated."""

from __future__ import annotations

from msgspec import Struct

SUBJECTS = (
    "billing", "checkout", "search", "login", "catalogue", "shipping", "returns", "pricing", "reviews", "stock",
    "mail", "exports", "imports", "reports", "audit", "gateway", "cache", "queue", "mobile", "admin",
)  # fmt: skip
VARIANTS = (
    ("Run the {0} suite {1} with the recorded answers.", "run the {0} suite {1} with the recorded answers"),
    ("Don't deploy {0} {1} without a second look.", "do not deploy {0} {1} without a second look."),
    ("- Keep the {0} fixtures {1} in `tests/data`.", "* keep the {0} fixtures {1} in `tests/data`"),
    ("Please ask the {0} owner about release {1} first.", "Ask the {0} owner about release {1} first"),
)
"""Two ways to say the same, by rule."""
LOOKALIKES = (
    ("The {0} server {1} fails at night.", "The {0} servers {1} fail at night."),
    ("Deploy {0} {1} after the tests.", "Deploy {0} {1} before the tests."),
    ("The {0} limit {1} has 10 rows.", "The {0} limit {1} has 100 rows."),
    ("Use the {0} client {1} for reads.", "Use a {0} client {1} for reads."),
    ("Ask Ann, Bob and Carl about {0} {1}.", "Ask Carl, Bob and Ann about {0} {1}."),
    ("Copy {0} {1} from staging to production.", "Copy {0} {1} from production to staging."),
)
"""Two that differ in one thing, and may not become one."""
POLAR = ("Use the shared pool for {0} {1}", "Do not use the shared pool for {0} {1}")
VALUES = ("The port of {0} {1} is 8{2:03}", "The port of {0} {1} is 9{2:03}")


class Case(Struct, frozen=True, kw_only=True):
    """A memory of the corpus."""

    path: str
    body: str
    kind: str
    day: int
    """Day on which it was written, from 0."""
    actor: str = "extraction"


class Corpus(Struct, frozen=True, kw_only=True):
    """The memories, and what is known of them."""

    cases: tuple[Case, ...]
    gone: tuple[str, ...]
    """Paths that were there once."""
    same: tuple[frozenset[str], ...]
    """Pairs that say the same."""
    alike: tuple[frozenset[str], ...]
    """Pairs that only look so."""
    contrary: tuple[frozenset[str], ...]
    dead: tuple[str, ...]
    """Memories with a link to one that is gone."""
    living: tuple[str, ...]
    """Memories with a link that stays: to one that is there, to one that was never written, in code, to a file of the repository."""
    dated: tuple[str, ...]
    """Memories with a date of a proven day."""
    undated: tuple[str, ...]
    """Memories whose words for days stay: rules, and texts of an unknown day."""


LIVING = (
    "Part {0} is told in [[{same_target}]].",
    "Part {0} deserves [[a-memory-not-yet-written-{0}]].",
    "Part {0} is written as `[[gone-1]]` in the template.",
    "Part {0} is told in [the guide](docs/guide-{0}.md) of the repository.",
)
DAYS = ("tomorrow", "next Friday", "in two weeks", "yesterday")


class _Making:
    """Adds cases and remembers them."""

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def add(self, name: str, body: str, *, kind: str = "project", day: int = 0, actor: str = "extraction") -> str:
        self.cases.append(Case(path=f"{name}.md", body=body, kind=kind, day=day, actor=actor))
        return f"{name}.md"

    def pairs(self, name: str, forms: tuple[tuple[str, str], ...], count: int, kind: str) -> tuple[frozenset[str], ...]:
        found = []
        for number in range(count):
            subject, form = SUBJECTS[number % len(SUBJECTS)], forms[number % len(forms)]
            both = [form[side].format(f"{name} {subject}", number, number) for side in (0, 1)]
            # Names that say no more than the text does: which of them is kept makes no difference.
            names = (f"{name}-{subject}-{number}", f"{name}_{subject}_{number}")
            found.append(frozenset(self.add(names[side], both[side], kind=kind, day=side) for side in (0, 1)))
        return tuple(found)

    def named(self) -> tuple[frozenset[str], ...]:
        """Pairs of the same text that are about two things, or two days."""
        found = [
            frozenset(
                self.add(f"{place}-window-{number}", f"It opens at {number} in the morning.", kind="reference")
                for place in ("berlin", "tokyo")
            )
            for number in range(10)
        ]
        found += [
            frozenset(self.add(f"demo-{day}-{number}", f"The demo {number} is tomorrow.", kind="reference", day=day) for day in (3, 9))
            for number in range(5)
        ]
        return tuple(found)

    def linked(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Memories with dead links, and with living ones."""
        there = self.cases[0].path.removesuffix(".md")
        dead = [
            self.add(f"dead-{number}", f"The plan of {SUBJECTS[number % 20]} stands in [[gone-{number % 8}]] since round {number}.")
            for number in range(40)
        ]
        living = [
            self.add(f"living-{number}-{form}", text.format(f"{form} of {number}", same_target=there))
            for number in range(5)
            for form, text in enumerate(LIVING)
        ]
        return tuple(dead), tuple(living)

    def with_days(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Memories with a date of a proven day, and with words for days that stay."""
        dated = [
            self.add(
                f"dated-{number}", f"The {SUBJECTS[number % 20]} freeze number {number} begins {DAYS[number % len(DAYS)]}.", day=number % 20
            )
            for number in range(40)
        ]
        undated = [
            self.add(f"rule-{number}", f"Always note today's date in ledger {number} of {SUBJECTS[number]}.") for number in range(10)
        ]
        undated += [
            self.add(f"found-{number}", f"Batch {number} of {SUBJECTS[number]} arrives tomorrow.", actor="import") for number in range(10)
        ]
        return tuple(dated), tuple(undated)


def corpus(size: int = 500) -> Corpus:
    """The corpus, the same each time."""
    making = _Making()
    same = making.pairs("first", VARIANTS, 60, "feedback")
    alike = (*making.pairs("second", LOOKALIKES, 60, "feedback"), *making.named())
    contrary = making.pairs("third", (POLAR, VALUES), 40, "project")
    dead, living = making.linked()
    dated, undated = making.with_days()
    for number in range(size - len(making.cases)):
        text = f"Team {number} looks after {SUBJECTS[number % 20]} part {number}, and reports to desk {number * 7}."
        making.add(f"fact-{number}", text, kind="reference", day=number % 20)
    return Corpus(
        cases=tuple(making.cases),
        gone=tuple(f"gone-{number}.md" for number in range(8)),
        same=same,
        alike=alike,
        contrary=contrary,
        dead=dead,
        living=living,
        dated=dated,
        undated=undated,
    )
