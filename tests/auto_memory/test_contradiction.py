"""What is said twice is one memory, and what is said otherwise takes the old one's place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.auto_memory import related_statement_search, statement_comparison
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import Actor, ChangeReason, MemoryChange
from memorist.auto_memory.memory_file import (
    MemoryFile,
    MemoryKind,
    Provenance,
    Trust,
    create_memory_file,
)
from memorist.auto_memory.memory_manifest import build_memory_header
from memorist.auto_memory.related_statement_search import RelatedStatementSearch
from memorist.auto_memory.removed_memories import find_removed_memory_by_name
from memorist.auto_memory.statement_comparison import (
    StatementRelation,
    compare_statements,
    remove_contradicted_clauses,
)
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.engine.engine import Memorist
from memorist.settings import Settings


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("never use npm", "always use npm"),
        ("Use pnpm, never npm", "always use npm"),
        ("use tabs", "use spaces"),
        ("use 2 spaces", "use tabs for indentation"),
        ("write tests with unittest", "tests are written with pytest"),
        ("always use yarn", "use bun from now on"),
        ("use npm as the package manager", "we switched to pnpm"),
        ("use Yarn because npm is slow", "we moved from yarn to bun"),
        ("answer in German", "answer in English from now on"),
        ("the API runs on port 4000", "the API runs on port 5000 now"),
        ("Max line length is 88", "Max line length is 100"),
        ("desk 1 is on floor 3", "desk 1 is on floor 4"),
        ("the timeout is 30 seconds", "the timeout is 60 seconds"),
        ("never push to main", "you may push to main"),
        ("always ask before running migrations", "run migrations without asking"),
        ("ask me before you delete files", "don't ask before deleting files"),
        ("commit without asking", "check with me before committing"),
        ("don't mock the database in tests", "mock the database in tests"),
        ("write short answers", "write detailed answers"),
        ("verwende immer Tabs", "verwende nie Tabs"),
        ("verwende npm", "wir sind von npm auf pnpm umgestiegen"),
        ("usa npm siempre", "nunca uses npm"),
        ("utilise toujours npm", "on est passés de npm à pnpm"),
        ("使用 npm", "我们从 npm 换成了 pnpm"),
        ("npmを使ってください", "npmを使わないで"),
        ("всегда используй npm", "мы перешли с npm на pnpm"),
        ("pousse toujours sur main", "ne pousse jamais sur main"),
        ("пиши тесты", "никогда не пиши тесты"),
        ("всегда запускай тесты перед коммитом", "больше не надо запускать тесты перед коммитом"),
        ("всегда пиши комментарии", "не пиши больше комментарии"),
        ("提交前必须跑测试", "以后提交前不用跑测试了"),
        ("每次都要写注释", "不要写注释了"),
        ("永远不要直接推送到 main", "以后可以直接推送到 main"),
        ("Schreibe immer Kommentare", "du musst keine Kommentare mehr schreiben"),
        ("Niemals direkt auf main pushen", "du darfst jetzt direkt auf main pushen"),
        ("écris toujours des commentaires", "n'écris plus de commentaires"),
        ("Nutze immer pnpm", "ab jetzt nehmen wir bun"),
        ("wir verwenden immer yarn", "wir sind auf bun umgestiegen"),
        ("Schreibe Kommentare immer auf Deutsch", "ab jetzt Kommentare auf Englisch"),
        ("utilise toujours yarn", "on passe à bun"),
        ("siempre usa yarn", "a partir de ahora usamos bun"),
        ("всегда используй pnpm", "отныне только bun"),
        ("мы всегда используем yarn", "мы перешли на bun"),
        ("всегда пиши комментарии на русском", "комментарии на английском"),
        ("以后都用 pnpm", "从现在开始用 bun"),
        ("注释一律用中文", "注释都写英文"),
        ("缩进用 tab", "缩进用空格"),
        ("常にyarnを使って", "これからはbunを使ってください"),
        ("常にyarnを使って", "bunに切り替えました"),
        ("always use tabs", "ab jetzt Leerzeichen"),
        ("항상 npm 써", "npm 말고 pnpm 써"),
        ("항상 pnpm을 사용해", "이제부터 bun으로 가자"),
        ("npm을 항상 쓴다", "더 이상 npm을 사용하지 않습니다"),
        ("절대 npm 쓰지 마", "항상 npm 사용해"),
        ("주석은 항상 한국어로 작성해줘", "주석은 영어로 작성해줘"),
    ],
)
def test_the_opposite_is_seen(known: str, said: str) -> None:
    """Polarity, a choice among alternatives, a value: each can be said otherwise, in many
    languages.
    """
    assert compare_statements(said, known) is StatementRelation.OPPOSITE
    assert find_near(said, known)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("the npm token is in 1password", "we switched from npm to pnpm"),
        ("npm publish runs in CI only", "never use npm"),
        ("use npm in CI", "never use npm"),
        ("use yarn in the docs folder", "use bun"),
        ("use npm for publishing and pnpm for the rest", "use yarn"),
        ("use Postgres for prod", "use SQLite for tests"),
        ("always write tests", "never commit without tests"),
        ("ticket 12 belongs to Anna", "ticket 13 belongs to Anna"),
        ("step 2 is lint", "step 3 is lint"),
        ("keep functions short", "write long commit messages"),
        ("I'm the backend lead", "I'm a data scientist"),
        ("the staging database is slow", "the staging database is in Frankfurt"),
        ("answer in German", "write commit messages in English"),
        ("deploys go out on Thursdays", "the login bug is fixed"),
        ("desk 0 is on floor 3", "desk 1 is on floor 3"),
        ("room 5 has 3 seats", "room 6 has 3 seats"),
        ("server 2 listens on 8080", "server 3 listens on 8080"),
        ("step 3 of the release takes 5 minutes", "step 4 of the release takes 5 minutes"),
        ("Kommentare auf Englisch", "antworte auf Deutsch"),
        ("注释用英文", "回复用中文"),
        ("das Frontend läuft auf bun", "das Backend läuft auf pnpm"),
        ("测试环境用 npm", "我们用 pnpm"),
        ("문서에는 npm을 써", "pnpm을 써"),
        ("main에 푸시하지 마", "develop에 푸시해"),
        ("ne pousse jamais sur main", "pousse toujours sur develop"),
        ("всегда пиши тесты", "не пиши комментарии"),
        ("提交前必须跑测试", "部署前不用跑测试"),
        ("npm 토큰은 1password에 있어", "npm에서 pnpm으로 갈아탔어"),
        ("never copy data from production", "never copy data to production"),
        ("copy fixtures from staging", "never copy fixtures to staging"),
        ("fail the build if coverage < 80", "fail the build if coverage > 80"),
        ("skip the test if count == 0", "skip the test if count != 0"),
        ("I speak German", "I speak French"),
        ("translate the docs to German", "translate the docs to French"),
        ("the shop is available in English", "the shop is available in Dutch"),
        ("Ich lerne Spanisch", "Ich lerne Italienisch"),
        ("je parle français", "je parle allemand"),
        ("hablo inglés", "hablo portugués"),
        ("мы поддерживаем немецкий", "мы поддерживаем французский"),
        ("我会说德语", "我会说英语"),
        ("英語を勉強しています", "フランス語を勉強しています"),
        ("나는 영어를 공부해", "나는 독일어를 공부해"),
        ("do not guess missing values", "if a value is missing, stop instead of guessing"),
        (f"{'one two ' * 80}and ask Mara", f"{'one two ' * 80}and ask Jonas"),
        ("always ask before running migrations", "run the tests without asking"),
        ("ask before you push", "push without asking in the docs repo"),
    ],
)
def test_an_unrelated_memory_is_left_alone(known: str, said: str) -> None:
    """A rule for another case, a fact about the same thing, and an exception contradict nothing."""
    assert compare_statements(said, known) is StatementRelation.UNRELATED
    assert compare_statements(known, said) is StatementRelation.UNRELATED


def test_a_part_that_is_said_otherwise_is_taken_out_and_the_rest_stays() -> None:
    """Two rules in one sentence: the correction of one does not touch the other."""
    known = "use tabs and run make lint before committing"

    assert compare_statements("use spaces", known) is StatementRelation.PARTLY_OPPOSITE
    assert remove_contradicted_clauses("use spaces", known) == "run make lint before committing"


@pytest.mark.parametrize(
    "why", ["because npm is slow", "since npm is slow", "damit es schnell ist"]
)
def test_a_sentence_behind_a_reason_is_not_part_of_it(why: str) -> None:
    """What follows the sentence with the reason was taken for a part of it, and went with it."""
    known = f"Use pnpm {why}. Never push to main."

    assert compare_statements("Use pnpm.", known) is StatementRelation.UNRELATED
    assert compare_statements("Use yarn.", known) is StatementRelation.PARTLY_OPPOSITE
    assert remove_contradicted_clauses("Use yarn.", known) == "Never push to main."


BANS = (
    "never commit or push|don't commit and push|no commits, no pushes|neither commit nor push|"
    "no hagas commit ni push|no hagas ni commit ni push|ne fais ni commit ni push|"
    "pas de commit ni de push|não faça commit nem push|sem commits nem pushes|"
    "не коммить и не пушь|никаких коммитов и пушей|Committe und pushe nicht|"
    "keine Commits, keine Pushes|不要commit也不要push|不要提交和推送代码|"
    "コミットもプッシュもしないで|커밋이나 푸시 하지 마|커밋도 푸시도 하지 마"
)


@pytest.mark.parametrize("known", [*BANS.split("|")])
@pytest.mark.parametrize("said", ["always push", "siempre haz push", "推送", "항상 푸시해"])
def test_a_ban_on_two_things_bans_each(known: str, said: str) -> None:
    """An order of one speaks against a part of it, an order of both against all; what is left is
    still a ban.
    """
    assert compare_statements(said, known) is StatementRelation.PARTLY_OPPOSITE
    assert find_near(said, known)
    assert compare_statements("always commit and push", known) is StatementRelation.OPPOSITE
    assert compare_statements("never commit or push", known) in (
        StatementRelation.SAME,
        StatementRelation.RESTATED,
    )
    rest = remove_contradicted_clauses(said, known)
    assert not rest or compare_statements("always commit", rest) is StatementRelation.OPPOSITE


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("never commit or push to main", "always commit"),
        ("no toques vendor ni el lockfile", "usa el lockfile"),
        ("use pnpm or yarn", "never lint"),
    ],
)
def test_what_may_limit_both_parts_is_not_taken_apart(known: str, said: str) -> None:
    """Nor is what allows either."""
    assert compare_statements(said, known) is StatementRelation.UNRELATED
    assert remove_contradicted_clauses(said, known) == known


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("use search and replace", "never replace"),
        ("always copy and paste", "never paste"),
        ("benutze Suchen und Ersetzen", "niemals ersetzen"),
        ("usa buscar y reemplazar", "nunca reemplazar"),
        ("use trial and error", "no errors"),
        ("use black and white", "no white"),
        ("open, review and merge pull requests", "never merge pull requests"),
        ("never search and replace", "always replace"),
        ("never build or test the app", "always test the app"),
    ],
)
def test_two_words_for_one_thing_are_not_taken_apart(known: str, said: str) -> None:
    """Nor are two verbs that share an object: the person is asked, or nothing is touched."""
    assert remove_contradicted_clauses(said, known) in ("", known)


VERBS = st.sampled_from(
    ["search", "replace", "copy", "paste", "build", "test", "fetch", "rebase", "check", "write"]
)
JOINTS = st.sampled_from([" and ", ", ", ", and ", " or ", " und ", " et ", " y "])
OBJECTS = st.sampled_from(["", " the importer", " schemas in the docs"])
LEADS = st.sampled_from(["", "always ", "never ", "please "])


@given(
    LEADS,
    st.lists(st.tuples(VERBS, OBJECTS), min_size=2, max_size=3, unique_by=lambda each: each[0]),
    JOINTS,
    st.data(),
)
def test_no_part_is_taken_out_that_leaves_a_verb_without_its_object(
    lead: str, parts: list[tuple[str, str]], joint: str, data: st.DataObject
) -> None:
    """What goes has no object that the verb before it could share."""
    known = lead + joint.join(verb + thing for verb, thing in parts)
    gone = data.draw(st.sampled_from(parts))
    said = f"{'always' if lead == 'never ' else 'never'} {gone[0]}{gone[1]}"

    rest = remove_contradicted_clauses(said, known)

    at = parts.index(gone)
    leaning = [verb for verb, thing in parts[max(0, at - 1) : at] if gone[1] and not thing]
    assert rest in ("", known) or not leaning


WORDS = st.sampled_from(
    ["deploy", "lint", "commit", "branch", "release", "importer", "parser", "schema", "ticket"]
)
RULES = st.lists(WORDS, min_size=1, max_size=4, unique=True).map(" ".join)


@given(RULES)
def test_a_rule_and_its_negation_are_opposites_both_ways(rule: str) -> None:
    """Whatever the rule; and each agrees with itself."""
    assert compare_statements(f"always {rule}", f"never {rule}") is StatementRelation.OPPOSITE
    assert compare_statements(f"never {rule}", f"always {rule}") is StatementRelation.OPPOSITE
    assert compare_statements(f"never {rule}", f"never {rule}") is StatementRelation.SAME


@given(RULES, WORDS, st.booleans())
def test_what_limits_a_rule_makes_it_another_one(rule: str, place: str, negative: bool) -> None:
    """A rule for one case never takes the place of the rule for all, nor the other way."""
    limited = f"{'never' if negative else 'always'} {rule} in the {place} folder"

    assert compare_statements(limited, f"always {rule}") is StatementRelation.UNRELATED
    assert compare_statements(f"always {rule}", limited) is StatementRelation.UNRELATED


OTHER_RULES = st.sampled_from(
    [
        "always use {} in this repo", "never {} on a Friday", "no more than 80 {} a file",
        "don't forget to check the {}", "write a {} for each change", "keep the {} out of the log",
        "the {} is owned by the platform team",
    ]
)  # fmt: skip


@given(OTHER_RULES, WORDS, WORDS)
def test_two_rules_that_differ_in_a_word_both_stay(rule: str, one: str, other: str) -> None:
    """Unless that word is an alternative to the other; a rule that goes with a doubt stays too."""
    found = compare_statements(rule.format(one), rule.format(other))

    assert (found is StatementRelation.SAME) == (one == other)
    assert found not in statement_comparison.OPPOSED
    assert found is not StatementRelation.RESTATED


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("always use pnpm in this repo", "don't forget to use pnpm in this repo"),
        ("Nutze immer pnpm", "vergiss nicht, pnpm zu nutzen"),
        ("每次都要跑测试", "别忘了跑测试"),
    ],
)
def test_not_to_forget_something_is_to_do_it(known: str, said: str) -> None:
    """It is one rule, said again; what one is never to do is its opposite."""
    assert compare_statements(said, known) is StatementRelation.RESTATED


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Lines have 80 columns", "no more than 80 columns"),
        ("80 columns", "no more than 80 columns"),
        ("wait 5 seconds", "wait no longer than 5 seconds"),
        ("80 Zeichen je Zeile", "nicht mehr als 80 Zeichen je Zeile"),
    ],
)
def test_a_limit_is_not_the_opposite_of_its_number(known: str, said: str) -> None:
    """`No more` rules out what is beyond the number, not the number."""
    assert compare_statements(said, known) is StatementRelation.UNRELATED
    assert compare_statements(known, said) is StatementRelation.UNRELATED


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_can_be_compared(one: str, other: str) -> None:
    """No text stops the comparison, and what is left of one is a part that can be read."""
    assert compare_statements(one, other) in StatementRelation
    assert len(remove_contradicted_clauses(one, other)) <= len(other) + 2


SPELLINGS = st.sampled_from(
    [
        "branch",
        "branches",
        "entry",
        "entries",
        "database",
        "class",
        "classes",
        "don't",
        "the",
        "please",
    ]
)


CLAUSES = st.lists(
    st.one_of(
        SPELLINGS,
        st.sampled_from(["npm", "pnpm", "never", "use", "port", "40", "50", ","]),
        st.sampled_from(["because", "and", "no longer", "is on", "en lugar de", "switched to"]),
        st.sampled_from(["moved from npm to", "v2", "src/40", "no,", "now"]),
        st.sampled_from(["no more than", "don't forget to", "owns", "is", "Tom"]),
    ),
    max_size=6,
).map(" ".join)


@given(CLAUSES, CLAUSES)
def test_what_has_to_do_with_a_statement_is_found_among_many(said: str, known: str) -> None:
    """Looking only at memories that share most words of a clause misses none that says the same or
    the opposite.
    """
    agreement = compare_statements(said, known.strip())

    assert (
        find_near(said, known) == (agreement is not StatementRelation.UNRELATED)
        or not known.strip()
    )


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("don't", "don't"),
        ("run the tests", "don't forget to run the tests"),
        ("always use npm", "don't forget to use pnpm in this repo"),
        ("the ledger is in src/40", "the ledger is in src/50"),
        ("use no longer 50 the", "no longer 50"),
        ("the policy", "the policies"),
    ],
)
def test_what_has_little_in_common_with_a_statement_is_found_as_well(said: str, known: str) -> None:
    """A short form, what nobody is to forget, a value with letters, a limit and a plural."""
    assert compare_statements(said, known) is not StatementRelation.UNRELATED
    assert find_near(said, known)


@given(
    CLAUSES,
    st.lists(st.sets(CLAUSES.filter(str.strip), max_size=14), max_size=4),
    st.sampled_from([related_statement_search.MAX_REMOVED_SHARE, 99]),
)
def test_a_search_that_follows_changes_finds_what_comparing_all_memories_finds(
    said: str, states: list[set[str]], share: float
) -> None:
    """Whichever memories come and go, and however often: none that is no more, and each that says
    the same or the opposite.
    """
    heads = {
        text: build_memory_header(topic(f"{at}.md", text), modified=0.0, size=len(text))
        for at, text in enumerate(sorted(set().union(*states)))
    }
    search = RelatedStatementSearch([])
    for state in states:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(related_statement_search, "MAX_REMOVED_SHARE", share)
            patch.setattr(related_statement_search, "MEMORIES_PER_STEP", 2)
            search.set_memories([heads[text] for text in sorted(state)])

        assert set(search.find_related_memories(said)) == {
            heads[text].path
            for text in state
            if compare_statements(said, text.strip()) is not StatementRelation.UNRELATED
        }


def find_near(said: str, known: str) -> bool:
    """Whether the search among many memories finds the one that says `known`."""
    head = build_memory_header(topic("known.md", known), modified=0.0, size=len(known))
    return RelatedStatementSearch([head]).find_related_memories(said) == ("known.md",)


def topic(path: str, body: str) -> MemoryFile:
    return create_memory_file(
        path,
        kind=MemoryKind.FEEDBACK,
        name=path.removesuffix(".md"),
        description=body[:150],
        body=body,
        provenance=Provenance(trust=Trust.STATED),
    )


class Talk:
    """One project; each call of `says` is a session in which the user types one message."""

    def __init__(self, root: Path) -> None:
        (root / "shop" / ".git").mkdir(parents=True)
        self.project = str(root / "shop")
        self.engine = Memorist(model="structural", settings=Settings(home=str(root / "home")))
        self.count = 0

    @property
    def memory(self) -> AutoMemory:
        return self.engine.memory(self.project)

    async def says(self, *texts: str) -> None:
        for text in texts:
            self.count += 1
            session = await self.engine.open(f"s{self.count}", project=self.project)
            await session.prepare(
                {
                    "model": "claude-sonnet-4-5",
                    "max_tokens": 10,
                    "messages": [{"role": "user", "content": text}],
                }
            )
            await session.close()

    def bodies(self) -> list[str]:
        return sorted(topic.body.rstrip(".") for topic in self.memory.read_memory_files())


@pytest.fixture
async def talk(tmp_path: Path) -> Talk:
    return Talk(tmp_path)


@pytest.mark.covers("AM-12")
async def test_the_opposite_takes_the_place_of_a_memory_and_the_history_keeps_both(
    talk: Talk,
) -> None:
    """The newest word counts alone; the new memory names the old one, one step takes it back, and
    memories on other matters stay.
    """
    await talk.says("Always use yarn.", "Never deploy on Fridays.", "Use bun from now on.")

    assert talk.bodies() == ["Never deploy on Fridays", "Use bun"]
    new = next(each for each in talk.memory.read_memory_files() if "bun" in each.body)
    assert new.provenance.replaces == ("yarn.md",)
    former = find_removed_memory_by_name(talk.memory, "yarn")
    assert former is not None
    assert former.successor == new.path
    assert "in place of yarn.md" in former.change.why.what

    talk.memory.undo()

    assert talk.bodies() == ["Always use yarn", "Never deploy on Fridays"]
    await talk.engine.close()


ANSWERS = (
    "Antworte immer auf Deutsch|answer in German|Réponds-moi toujours en allemand|"
    "Responde siempre en alemán|Responda sempre em alemão|Отвечай всегда по-немецки|"
    "请始终用德语回答|常にドイツ語で答えてください|항상 독일어로 답변해줘"
)
OTHER_ANSWERS = (
    "Antworte auf Chinesisch|answer in Chinese|Réponds en chinois|Responde en chino|"
    "Responda em chinês|Отвечай на китайском языке|请用中文回答我|中国語で回答してください|중국어로 답변해"
)


@pytest.mark.parametrize("known", [*ANSWERS.split("|")])
@pytest.mark.parametrize("said", [*OTHER_ANSWERS.split("|")])
def test_the_language_of_answers_is_one_choice_in_nine_languages(known: str, said: str) -> None:
    """Whatever language it is said in, another one is the opposite, and is found among many."""
    assert compare_statements(said, known) is StatementRelation.OPPOSITE
    assert find_near(said, known)
    assert compare_statements(said, "Write comments in English") is StatementRelation.UNRELATED


@pytest.mark.covers("AM-12")
@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("Never use npm, use pnpm here.", "never use npm, use pnpm here"),
        (
            "No, use pnpm instead of npm from now on.",
            "No, use pnpm instead of npm from now on. Please fix it.",
        ),
        ("Nope, always deploy on Tuesdays.", "No: always deploy on Tuesdays!"),
    ],
)
async def test_what_is_said_twice_is_one_memory_with_the_newer_date(
    talk: Talk, said: str, again: str
) -> None:
    """The second time refreshes date, session and words, and adds no file and no other name, also
    where both times refuse something.
    """
    await talk.says(said)
    path = talk.memory.read_memory_files()[0].path
    first = talk.memory.read_memory_files()[0].provenance
    await talk.says(again)

    (only,) = talk.memory.read_memory_files()
    assert only.path == path
    assert only.provenance.session == "s2"
    assert only.provenance.created == first.created
    assert only.provenance.verified >= first.verified
    await talk.engine.close()


@pytest.mark.covers("AM-12")
async def test_what_several_new_memories_say_again_gets_one_newer_date(talk: Talk) -> None:
    """One write of many memories, two of which say what one says already, is no conflict."""
    await talk.says("Never use npm, use pnpm here.")
    again = [topic(name, "never use npm, use pnpm here") for name in ("one.md", "two.md")]
    written = talk.memory.write(
        [
            MemoryChange(path=each.path, before=None, after=encode_file_text_as_utf8(each.text()))
            for each in again
        ],
        ChangeReason(actor="user", what="add"),
    )

    (only,) = talk.memory.read_memory_files()
    assert written.paths == (only.path,)
    await talk.engine.close()


@pytest.mark.covers("AM-12")
async def test_a_part_said_otherwise_goes_and_the_rest_stays(talk: Talk) -> None:
    """In one change, which one step takes back."""
    await talk.says("Always use tabs and run make lint before committing.")
    (former,) = talk.bodies()
    await talk.says("Always use spaces.")

    assert talk.bodies() == ["Always use spaces", "run make lint before committing"]
    assert not talk.memory.inbox.list_proposals()
    talk.memory.undo()
    assert talk.bodies() == [former]
    await talk.engine.close()


@pytest.mark.covers("AM-12")
@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Always run prek before pushing.", "We no longer use prek."),
        (
            "Always run the linter before a commit, and mend what it reports.",
            "Never run the linter before a commit.",
        ),
    ],
)
async def test_a_rest_that_leans_on_what_is_gone_and_a_tool_given_up_are_asked_about(
    talk: Talk, known: str, said: str
) -> None:
    """What is not clear waits, and nothing is deleted unasked."""
    await talk.says(known, said)

    (waiting,) = talk.memory.inbox.list_proposals()
    assert waiting.after is None
    assert len(talk.bodies()) == 2
    await talk.engine.close()


@pytest.mark.covers("AM-12")
@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Наш кэш — Redis.", "Мы больше не используем Redis, теперь у нас Valkey."),
        ("キャッシュはいつもRedisを使っています。", "RedisからValkeyに移行しました。"),
    ],
)
async def test_what_is_given_up_in_a_part_that_the_rest_needs_is_asked_about(
    talk: Talk, known: str, said: str
) -> None:
    """`Наш кэш —` was left; and what was switched from was kept without a word, as the text said
    nothing to keep.
    """
    await talk.says(f"Remember: {known}", said)

    (asked,) = talk.memory.inbox.list_proposals()
    assert (asked.is_removal, asked.one_line_text.strip(".。")) == (True, known.strip(".。"))
    assert len(talk.bodies()) == 2
    await talk.engine.close()


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Use pnpm, never npm", "always use yarn"),
        ("Use pnpm, not npm or yarn", "always use yarn"),
        ("Benutze Tabs, keine Leerzeichen", "Benutze immer Leerzeichen"),
        ("usa pnpm, nunca npm", "usa siempre yarn"),
        ("用pnpm，不要用npm", "以后用yarn"),
    ],
)
def test_a_choice_with_what_it_rules_out_is_one(known: str, said: str) -> None:
    """Another choice takes the place of both; that the first is banned leaves the ban of others."""
    assert compare_statements(said, known) is StatementRelation.OPPOSITE
    assert compare_statements("never use pnpm", "Use pnpm, never npm") is (
        StatementRelation.PARTLY_OPPOSITE
    )


@pytest.mark.covers("AM-12")
@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Alice owns billing.", "Bob owns billing now."),
        ("Our CI runs on CircleCI.", "Our CI runs on GitHub Actions."),
        ("The release manager is Maria.", "The release manager is Tom."),
    ],
)
async def test_a_fact_with_another_value_is_kept_and_the_former_is_asked_about(
    talk: Talk, known: str, said: str
) -> None:
    """Nothing tells whether both hold."""
    await talk.says(f"Remember: {known}")
    await talk.says(said)

    assert talk.bodies() == sorted([known.rstrip("."), said.rstrip(".")])
    (asked,) = talk.memory.inbox.list_proposals()
    assert asked.after is None
    assert said in asked.reasons[0]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Our web search goes through Jina.", "Our web search goes through Exa."),
        ("Maya owns the auth migration.", "Tom owns the auth migration."),
        ("Alice is a designer.", "Alice is an engineer."),
        ("Kai joined in 2020.", "Kai joined in 2024."),
        ("The default branch is master.", "The default branch is main."),
        ("Deploys happen on Tuesday.", "Deploys happen on Thursday."),
        ("Our backend is written in Go.", "Our backend is written in Rust since March."),
        ("My favorite player is Ronaldo.", "My current favorite player is Messi."),
        ("I love Chinese food.", "I hate Chinese food."),
        ("We use Linear for tickets.", "We use Jira for tickets."),
        ("Wir nutzen Jenkins für die CI.", "Wir nutzen GitHub Actions für die CI."),
        ("I work at Google.", "I work at Mozilla."),
        ("I'm the backend lead", "I'm the frontend lead now"),
        ("我爱吃苹果。", "我不爱吃苹果了。"),
        ("Maya owns the auth migration.", "The auth migration is now owned by Tom."),
        ("Maya maintains the search index.", "Search is maintained by Tom's team now."),
        ("Only maintainers can tag releases.", "Anyone on the team can tag releases."),
    ],
)
def test_a_fact_that_gives_one_thing_another_name_is_doubted(known: str, said: str) -> None:
    """A thing has one owner, one place and one tool for a purpose; whether both hold is asked."""
    assert compare_statements(said, known) is StatementRelation.STATED_OTHERWISE


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("La API escucha en el puerto 3000", "La API escucha en el puerto 5000"),
        ("Planning is on Mondays", "Planning is on Wednesdays"),
        ("定例会議は月曜日です", "定例会議は水曜日です"),
        ("Homework reviews are on Monday", "Reviews are on Wednesday evening from now on"),
        ("The reports database runs on MySQL 8", "Reports are on PostgreSQL 15 since the merger"),
        ("We raised uploadTimeout to 90 seconds", "uploadTimeout is 5s"),
        ("I live in Oslo", "I moved to Porto last year"),
        ("Ich wohne in Bremen", "Ich bin nach Kassel gezogen"),
        ("J'habite à Nantes", "J'habite maintenant à Lille"),
        ("Vivo en Bilbao", "Me mudé a Gijón"),
        ("Moro em Recife", "Agora moro em Natal"),
        ("Я живу в Омске", "Я переехал в Казань"),
        ("我住在南京", "我搬到成都了"),
        ("大阪に住んでいます", "札幌に引っ越しました"),
        ("O responsável pela busca é o Davi", "A responsável pela busca agora é a Lia"),
        ("Der Verantwortliche für die Suche ist Jan", "Die Verantwortliche für die Suche ist Eva"),
        ("搜索模块由李明负责", "搜索模块现在由王芳负责"),
        ("検索の担当は田中です", "検索の担当は今は佐藤です"),
        ("We moved the search from Solr to Meilisearch", "Our search runs on Solr"),
        ("Never amend commits", "We amend commits after each review"),
        ("Never amend, except on your own branch", "Always amend after a review"),
        ("Always amend after a review", "Never amend, except on your own branch"),
        ("The deadline is now April 30", "The deadline is March 31"),
        ("I'm a frontend developer these days", "I'm a backend developer"),
        ("We support Node 16 and up", "We support Node 20 and up"),
        ("Stand-up is at 9:30", "Stand-up moved to 10:00"),
        ("Stand-up moved to 10:00", "Stand-up is at 9:30"),
        ("Logs werden 14 Tage aufbewahrt", "Logs werden 30 Tage aufbewahrt"),
        ("Unser Standardbranch ist master", "Unser Standardbranch heißt jetzt main"),
        ("La date limite est le 15 mai", "La date limite est repoussée au 30 mai"),
        ("Ana mantiene el módulo de pagos", "Luis mantiene el módulo de pagos"),
        ("O Bruno cuida do faturamento agora", "A Ana cuida do faturamento"),
        ("默认分支是master", "默认分支改成main了"),
        ("默认分支改成main了", "默认分支是master"),
        ("デフォルトブランチはmasterです", "デフォルトブランチはmainになりました"),
        ("张伟负责支付模块", "李娜负责支付模块"),
        ("Matthias is the release manager", "Priya is the release manager this year"),
        ("The release manager is Matthias", "Priya is the release manager"),
        ("Webpack bundles the frontend", "Rspack bundles the frontend"),
        ("Our staging server is in Frankfurt", "Our staging server is in Dublin"),
        ("I report to Helen", "I report to Marcus"),
        ("Keep sign-off lines in commit messages", "Never add sign-off lines"),
        ("O prazo de entrega passou para 24 de junho", "O prazo de entrega é 10 de junho"),
        ("Больше не используй pytest, пиши на unittest", "Всегда пиши тесты на pytest"),
        ("Ответственный за релиз — Иван", "Ответственная за релиз — Ольга"),
    ],
)
def test_another_value_of_one_thing_is_doubted_in_each_language(known: str, said: str) -> None:
    """Numbers, days, what is chosen, where somebody lives, who is responsible; what a change gave up
    and is said to hold; and what is always done beside its ban.
    """
    assert compare_statements(said, known) is StatementRelation.STATED_OTHERWISE
    assert find_near(said, known)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Wait 30 seconds between retries", "Retry uploads 3 times"),
        ("Ich wohne in Bremen", "Ich arbeite in Kassel"),
        ("I live in Oslo", "I moved to the platform team"),
        ("I live in Oslo", "I moved to Neovim"),
        ("I live in Oslo", "I relocated to Team Atlas"),
        ("I live in Oslo", "I moved to Building 7"),
        ("I live in Oslo", "I'm based in EU timezone"),
        ("I work at Acme", "I joined Slack channels"),
        ("I work at Acme", "I joined Team Red"),
        ("默认分支是main", "默认端口是8080"),
        ("张伟负责支付模块", "李娜负责搜索模块"),
        ("Node 16 is slow", "Node 18 is slow"),
        ("Webpack bundles the frontend", "Esbuild bundles the functions"),
        ("Our staging server is in Frankfurt", "Our main office is in Dublin"),
        ("Maria is the release manager", "Maria is the tech lead"),
        ("I report to Helen", "I report bugs in Linear"),
        ("Keep functions short", "Never add functions to utils.py"),
        ("Ответственный за релиз — Иван", "Ответственная за тесты — Ольга"),
        ("The Python version is 3.11", "The API version is 2"),
        ("Vivo en Bilbao", "Me mudé a Linux"),
        ("Ich wohne in Bremen", "Ich bin nach Hause gezogen"),
        ("大阪に住んでいます", "コードをsrcに引っ越しました"),
        ("我在谷歌工作", "我在周末工作"),
        ("Planning is on Mondays", "The retro is on Wednesdays"),
        ("Der Cache läuft auf Port 6379", "Die API läuft auf Port 7000"),
        ("We ship on Mondays and Thursdays", "We ship on Mondays"),
        ("Server 2 runs the queue", "Server 3 runs the queue"),
        ("Never push without asking", "Push without asking in the docs repo"),
        ("搜索模块由李明负责", "支付模块由王芳负责"),
    ],
)
def test_values_of_two_things_are_apart_in_each_language(known: str, said: str) -> None:
    """The number may be a part of the name, and an exception is none."""
    assert compare_statements(said, known) is StatementRelation.UNRELATED
    assert not find_near(said, known)


def test_a_number_is_the_same_as_its_word() -> None:
    """`Twice` and `two times` are one frequency."""
    said, known = "Sync runs two times a week", "Sync runs twice a week"

    assert compare_statements(said, known) is StatementRelation.RESTATED


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("We ship on Fridays at noon.", "No shipments on Fridays."),
        ("Releases go out on Fridays.", "Never release on Fridays."),
        ("Run a schema validation before every import.", "We no longer validate the schema."),
        ("Unit tests need a running broker.", "Unit tests no longer need a broker."),
        ("Warnings are shown as banners.", "Warnings go into the log, no banners."),
        ("Use canary builds for each service.", "No canary builds, we roll out at once."),
        ("Our queue is RabbitMQ.", "We don't use RabbitMQ anymore, now it's NATS."),
        ("Unser Cache ist Redis.", "Wir nutzen Redis nicht mehr, sondern Valkey."),
        ("Notre cache est Redis.", "Nous n'utilisons plus Redis, maintenant c'est Valkey."),
        ("Nuestra cola es RabbitMQ.", "Ya no usamos RabbitMQ, ahora usamos NATS."),
        ("Nosso cache é Redis.", "Não usamos mais Redis, agora é Valkey."),
        ("我们的缓存是Redis。", "我们不再用Redis了，现在用Valkey。"),
        ("キャッシュはRedisです。", "Redisはもう使っていません、今はValkeyです。"),
    ],
)
def test_what_is_ruled_out_altogether_is_doubted_where_a_part_of_it_is_stated(
    known: str, said: str
) -> None:
    """All its words are in the known text, which says more; or it is the value that this gives."""
    if compare_statements(said, known) is not StatementRelation.CORRECTED:
        assert compare_statements(said, known) is StatementRelation.STATED_OTHERWISE
    assert find_near(said, known)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("copy reports from staging", "never copy reports to staging"),
        ("use tabs for indenting Makefiles", "never use tabs"),
        ("CI caches the RabbitMQ image", "we no longer use RabbitMQ"),
        ("Integration tests need a broker.", "Unit tests must not need a broker."),
        ("Mock external calls.", "Don't mock the database."),
        ("Use pnpm (npm breaks the lockfile)", "never use npm, use pnpm here"),
        ("Only admins can deploy.", "Only admins can merge."),
        ("Anna can deploy.", "Tom can deploy."),
        ("Anna owns billing.", "Search is owned by Tom now."),
        ("Force pushes are blocked on main.", "No force pushes."),
        ("ESLint forbids console.log.", "No console.log"),
        ("Force Pushes auf main sind gesperrt.", "Keine Force Pushes."),
        ("We deploy daily unless it is a Friday.", "No deployments on Fridays."),
    ],
)
def test_a_ban_of_something_else_or_of_one_case_asks_nothing(known: str, said: str) -> None:
    """A word that both have is not enough, and what forbids the same agrees."""
    assert compare_statements(said, known) is StatementRelation.UNRELATED


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Generated files are rebuilt when we commit to main.", "Never commit generated files."),
        ("The main page of the shop uses push notifications.", "Never push to main."),
        ("Old branches are listed before you delete the tag.", "Never delete branches."),
        ("The mock server writes to the database of staging.", "Never mock the database."),
        ("Tests that skip need a ticket number.", "Don't skip tests."),
        (
            "Checks are go build ./... and go test; run npm in web.",
            "Write `task` instead of `go run`.",
        ),
        (
            "A review is asked for on every pull request.",
            "The work is on a branch, no pull request.",
        ),
    ],
)
def test_a_ban_doubts_no_memory_that_has_its_words_in_another_sense(known: str, said: str) -> None:
    """The words stand apart, or the other way round."""
    assert compare_statements(said, known) is StatementRelation.UNRELATED


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("The fix is on release/v1.5, pushed.", "Branch review is one commit ahead, not pushed."),
        ("The demo scripts are not committed.", "Git (add, commit, reset) fails in the sandbox."),
        ("The page (shallow, objects, SSH) is written.", "The origin is read by HTTPS, not SSH."),
    ],
)
def test_what_a_clause_says_of_the_one_before_is_said_of_nothing_else(
    known: str, said: str
) -> None:
    """That one branch is not pushed says nothing of another, nor does a word in brackets."""
    assert compare_statements(said, known) is StatementRelation.UNRELATED
    assert compare_statements(known, said) is StatementRelation.UNRELATED


def test_the_state_of_the_same_thing_is_compared() -> None:
    """What is said of it at the end is a part of what is said of it."""
    known, said = "The fix is on main, not pushed.", "The fix is on main, pushed."

    assert compare_statements(said, known) is StatementRelation.OPPOSITE


@pytest.mark.parametrize(
    ("known", "said", "is_doubted"),
    [
        ("Reports go out every two weeks.", "Reports go out daily now.", True),
        ("Die Backups laufen wöchentlich.", "Die Backups laufen jeden Tag.", True),
        ("The audit happens once a year.", "The audit happens quarterly.", True),
        ("Backups run nightly.", "Backups are tested monthly.", False),
        ("The audit happens yearly.", "Invoices are sent yearly.", False),
        ("Backups run daily.", "Backups run every day.", False),
        ("We deploy once a week.", "Our deploys happen weekly.", False),
        ("Die Backups laufen wöchentlich.", "Die Backups laufen jede Woche.", False),
        ("Retros happen every other week.", "Retros happen fortnightly.", False),
    ],
)
def test_the_same_more_or_less_often_is_doubted(known: str, said: str, is_doubted: bool) -> None:
    """Whether it is the same is told by the words beside."""
    assert (compare_statements(said, known) is not StatementRelation.UNRELATED) == is_doubted
    assert find_near(said, known) == is_doubted


def test_a_fact_behind_another_clause_is_compared() -> None:
    """`Sarah left` says nothing of the manager, what follows does."""
    said, known = "Sarah left, the release manager is Kim.", "The release manager is Sarah."

    assert compare_statements(said, known) is StatementRelation.STATED_OTHERWISE


@pytest.mark.covers("AM-12")
async def test_a_fact_about_the_user_is_compared_wherever_it_is_kept(talk: Talk) -> None:
    """A name that one project alone knows is asked about when another is given, and a new role is
    the user's in every project, as the former one was.
    """
    known = create_memory_file(
        "name.md",
        kind=MemoryKind.PROJECT,
        name="name",
        description="My name is Sam.",
        body="My name is Sam.",
        provenance=Provenance(),
    )
    added = MemoryChange(path=known.path, before=None, after=encode_file_text_as_utf8(known.text()))
    talk.memory.write([added], ChangeReason(actor="user", what="name"))
    await talk.says("My name is Samantha.", "I'm the backend lead.", "I'm the frontend lead now.")

    asked = {each.path: each for each in talk.memory.list_proposals()}
    assert set(asked) == {"name.md", "everywhere/im-backend-lead.md"}
    assert all(each.after is None for each in asked.values())


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Alice owns billing.", "Alice owns payments."),
        ("Alice owns billing.", "Bob owns search now."),
        ("The staging database is Postgres.", "The production database is Postgres."),
        ("Bob reviews Go code.", "Bob reviews Rust code."),
        ("The importer is slow.", "The importer is old."),
        ("Maya owns the auth service.", "Tom owns the billing service."),
        ("We use Postgres for orders.", "We use Redis for sessions."),
        ("We use lazy loading for images.", "We use wide caching for images."),
        ("I'm a designer", "I'm a teacher"),
        ("I love Chinese food.", "I love Italian food."),
        ("The default branch is main.", "The release branch is stable."),
        ("Our CI runs on Buildkite.", "Our CI runs on Mondays."),
        ("die API läuft auf Port 8080", "die API läuft auf Debian"),
        ("我每周三去游泳。", "我每天不吃早饭。"),
    ],
)
def test_facts_of_two_things_are_apart(known: str, said: str) -> None:
    """Somebody may own several things, and a thing be several."""
    assert compare_statements(said, known) is StatementRelation.UNRELATED


@pytest.mark.covers("AM-12", "SF-2")
async def test_a_word_that_is_not_the_users_replaces_nothing(talk: Talk) -> None:
    """A model's memory that says the opposite waits and names what it contradicts; once the user
    accepts it, it takes the place.
    """
    await talk.says("Never use npm.")
    made = topic("package-manager.md", "always use npm")
    written = talk.memory.write(
        [MemoryChange(path=made.path, before=None, after=encode_file_text_as_utf8(made.text()))],
        ChangeReason(actor="extraction", what="extract"),
    )

    assert not written.paths
    assert talk.bodies() == ["Never use npm"]
    talk.memory.accept("1")
    assert talk.bodies() == ["always use npm"]
    await talk.engine.close()


def _write_derived(
    talk: Talk, body: str, actor: Actor = "extraction", path: str = "made.md"
) -> str:
    """Write a project memory that nobody's words prove; return the reasons why it waits."""
    made = create_memory_file(
        path,
        kind=MemoryKind.PROJECT,
        name="made",
        description="what was seen",
        body=body,
        provenance=Provenance(),
    )
    written = talk.memory.write(
        [MemoryChange(path=path, before=None, after=encode_file_text_as_utf8(made.text()))],
        ChangeReason(actor=actor, what="made"),
    )
    return "; ".join(reason for each in written.proposals for reason in each.reasons)


@pytest.mark.covers("AM-12", "SF-2")
@pytest.mark.parametrize("actor", ["extraction", "agent", "dream", "import", "team"])
async def test_a_derived_memory_against_the_users_word_waits_at_every_door(
    talk: Talk, actor: Actor
) -> None:
    """Whoever made it, it waits and names the user's memory; one that agrees with it does not."""
    await talk.says("Never use npm, use pnpm.")
    (stated,) = (each.path for each in talk.memory.headers())
    folder = "team/" if actor == "team" else ""

    against = _write_derived(talk, "The project uses npm for installs.", actor, f"{folder}npm.md")
    beside = _write_derived(talk, "The npm mirror is mirror.shop.test.", actor, f"{folder}more.md")

    assert against == f"it contradicts the user's own word in {stated}"
    assert not beside
    assert sorted(each.path for each in talk.memory.headers()) == sorted(
        (stated, f"{folder}more.md")
    )
    await talk.engine.close()


@pytest.mark.covers("AM-12", "SF-2")
@pytest.mark.parametrize(
    ("said", "against", "beside"),
    [
        ("Always use tabs.", "Indent with spaces", "Makefile recipes have their own rules"),
        ("Benutze immer pnpm, nie npm.", "Benutze npm", "Das npm-Token liegt in 1Password."),
        ("Utilise toujours pnpm.", "Le projet utilise npm", "Le site est publié chaque lundi."),
        ("Usa siempre pnpm.", "El proyecto usa npm", "El paquete se publica en npm los lunes."),
        ("Usa sempre pnpm.", "O projeto usa npm", "O cache do pnpm fica em /var/cache."),
        ("Всегда используй pnpm.", "используй npm", "Кэш pnpm лежит на диске сборки."),
        ("永远不要用 npm，用 pnpm。", "使用 npm", "npm 令牌保存在 1Password 中。"),
        (
            "今後はnpmを使わないでください。",
            "npmを使ってください",
            "npmのトークンは1Passwordにある。",
        ),
    ],
)
async def test_a_line_of_a_derived_memory_against_the_users_word_is_found(
    talk: Talk, said: str, against: str, beside: str
) -> None:
    """In eight languages, and wherever it stands in the text; what agrees is written."""
    await talk.says(said)
    assert len(talk.memory.headers()) == 1

    assert "the user's own word" in _write_derived(talk, f"Setup of this machine.\n\n{against}")
    assert not _write_derived(talk, f"Setup of this machine.\n\n{beside}", path="beside.md")
    await talk.engine.close()


@pytest.mark.covers("AM-12", "SF-2")
@pytest.mark.parametrize("heading", ["The user's standing instructions:", "## The user said"])
async def test_a_line_below_a_heading_in_the_users_name_is_found(talk: Talk, heading: str) -> None:
    """The heading limits nothing, whoever wrote it, nor does a name in front of the line."""
    await talk.says("Never push to main.")

    against = f"Facts.\n\n{heading}\n- user said: always push to main"
    assert "the user's own word" in _write_derived(talk, against)
    await talk.engine.close()


@pytest.mark.covers("AM-12", "SF-2")
async def test_a_derived_memory_is_not_changed_to_say_the_opposite_of_the_users_word(
    talk: Talk,
) -> None:
    """An edit of a memory that was compatible is judged like a new one, also where the user's word
    holds in every project.
    """
    everywhere = talk.memory.everywhere
    assert everywhere is not None
    everywhere.add("Always answer in German.", kind=MemoryKind.USER)
    assert not _write_derived(talk, "Reports go to the wiki.")
    before = talk.memory.folder.read_memory_file("made.md")
    after = before.text().replace("Reports go to the wiki.", "Answer in English.")

    written = talk.memory.write(
        [
            MemoryChange(
                path="made.md",
                before=encode_file_text_as_utf8(before.text()),
                after=encode_file_text_as_utf8(after),
            )
        ],
        ChangeReason(actor="dream", what="tidy"),
    )

    (proposal,) = written.proposals
    assert proposal.reasons[0].startswith("it contradicts the user's own word in everywhere/")
    await talk.engine.close()


@pytest.mark.covers("AM-12")
def test_only_a_clause_that_has_what_is_ruled_out_is_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of ten thousand memories hundreds have the words of a ban somewhere, and `never throw` took
    half a second.
    """
    compared: list[str] = []

    def count(new: str, known: str) -> StatementRelation:
        compared.append(known)
        return compare_statements(new, known)

    monkeypatch.setattr(related_statement_search, "compare_statements", count)
    texts = {
        "apart.md": "To add a page, ask Ann. The git log is short.",
        "before.md": "We throw nothing away.",
        "other.md": "Add nothing; git ignores it.",
        "at-once.md": "We run git add -A before each commit.",
    }
    search = RelatedStatementSearch(
        [
            build_memory_header(topic(path, text), modified=0.0, size=len(text))
            for path, text in texts.items()
        ]
    )

    assert search.find_related_memories("never use git add -A") == ("at-once.md",)
    assert set(compared) == {texts["at-once.md"]}
