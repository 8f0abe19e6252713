"""A ban that is explained waits for the user's word, in every language that rules read (AM-8)."""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.bans import classify_ban
from memorist.auto_memory.statements.statement_parser import (
    list_certain_statements,
    split_typed_sentences,
)
from memorist.auto_memory.statements.unconfirmed_statements import list_probable_statements

EXPLAINED = (
    "don't stub the mail server in these tests, we shipped two broken templates that way",
    "no, don't stub the mail server. we shipped two broken templates that way",
    "don't mock the database. we shipped a broken migration that way",
    "don't squash release branches - the auditors read the single commits",
    "please don't add polling loops because the battery team measures every wakeup",
    "we lost the signing key once, so never store it in the repository",
    "the icons belong to the agency so don't redraw them",
    "the folder dist is generated, never edit it by hand",
    "the last release broke, so always run the smoke test first",
    "le dossier dist est généré, ne le modifie jamais à la main",
    "not with sudo, the account has no rights",
    "bitte nicht direkt auf den Server kopieren, das hat neulich die Kasse lahmgelegt",
    "mock den Mailserver nicht. wir haben so zwei kaputte Vorlagen ausgeliefert",
    "ne touche pas aux gabarits, c'est l'agence qui les maintient",
    "touche pas aux gabarits parce que l'agence les maintient",
    "no simules el servidor de correo, nos quemamos con eso en marzo",
    "no toques las plantillas porque son de la agencia",
    "não simula o servidor de e-mail. a gente quebrou dois modelos assim",
    "perdemos a chave uma vez, então nunca guarde ela no repositório",
    "не мокай почтовый сервер, мы так уже сломали два шаблона",
    "шаблоны не меняй, их ведёт агентство",
    "不要模拟邮件服务器，之前因为这个坏了两个模板",
    "別にメールサーバーをモックしないで。前にそれで壊れたから",
    "메일 서버를 모킹하지 마, 전에 그렇게 해서 두 번 깨졌어",
)


@pytest.mark.parametrize("typed", EXPLAINED)
def test_ban_with_its_reason_waits_with_the_reason(typed: str) -> None:
    """What is forbidden for a reason waits, and the reason is part of what waits."""
    waiting = [text for _, text, _ in list_probable_statements(typed)]
    assert any(waiting), typed
    assert any(len(text) > 0.7 * len(typed) for text in waiting), waiting


@pytest.mark.parametrize(
    "typed",
    [
        "don't deploy yet, the migration is running",
        "don't use a map in this function, it allocates too much",
        "don't move the menu. i want it on the left",
        "Don't touch the header.",
        "don't show the tooltip, it covers the text",
        "the list is empty, don't show it",
        "the user is logged out, never gets the mail",
        "the build fails, don't merge",
        "no cambia nada, ya lo probé",
        "kein Fehler, aber es passiert nichts",
        "я нажал кнопку, никогда не открывается",
        "zeig die Spalte nicht an, die ist zu breit",
        "不要显示总价，会误导用户",
        "don't forget the tests, they were missing",
        "noch nicht mergen, die Pipeline läuft",
        "geht leider nicht, weil der Dienst steht",
        "die Seite lädt nicht, weil der Server aus ist",
        "Unsere Pipeline startet nicht, weil der Runner fehlt",
        "Alle Anfragen laufen nicht durch, der Port ist belegt",
        "konnte den Fehler nicht nachstellen, weil Docker fehlt",
        "no clue, it was like that before",
        "no worries, it was my fault",
        "keine Eile, ich bin weg",
        "nicht schlimm, wir haben ein Backup",
        "sem pressa, eu estou fora",
        "ohne Erfolg, der Fehler bleibt",
        "keine Wirkung, die Farbe bleibt rot",
        "pas de réponse, le serveur est mort",
        "plus de mémoire, le serveur est mort",
        "sin cambios, el error es el mismo",
        "sem erro, a tela é boa",
        "без успеха, это та же ошибка",
        "das Menü öffnet sich nicht, wir haben es getestet",
        "ne fusionne pas encore, la CI tourne",
        "ça ne marche pas parce que le port est pris",
        "no subas nada todavía, la prueba está corriendo",
        "no funciona porque falta la tabla",
        "não aparece nada na tela, eu já limpei o cache",
        "не работает, мы проверили дважды",
        "先不要合并，测试还在跑",
        "まだマージしないで、テスト中だから",
        "아직 머지하지 마, 테스트가 돌고 있어",
    ],
)
def test_ban_of_the_moment_and_report_are_no_rule(typed: str) -> None:
    """Neither what is forbidden for now or for one thing in sight, nor a report with "not"."""
    assert not any(map(classify_ban, split_typed_sentences(typed)))


@pytest.mark.parametrize(
    ("typed", "entries"),
    [
        ("Two things:\n- never rebase shared branches\n- always sign", 2),
        ("zwei Sachen:\n- nie auf main pushen\n- immer signieren", 2),
        ("две вещи:\n- никогда не пушь в main\n- всегда делай ревью", 2),
        ("duas coisas:\n- nunca dê push na main\n- sempre use assinatura", 2),
    ],
)
def test_entry_of_a_list_that_is_a_rule_alone_waits(typed: str, entries: int) -> None:
    """An entry below a short introduction waits where it would be kept if it were typed alone."""
    assert len(list(list_probable_statements(typed))) == entries


@pytest.mark.parametrize(
    "typed",
    [
        "fix this. I prefer short answers",
        "I prefer short answers. why does it fail?",
        "fix this. I prefer short answers\n\nTraceback (most recent call last):\nValueError: port",
    ],
)
def test_rule_that_would_be_kept_alone_waits_beside_a_task_or_a_question(typed: str) -> None:
    """What neighbours leave in doubt waits."""
    (waiting,) = [text for _, text, _ in list_probable_statements(typed)]
    assert waiting.strip(".") == "I prefer short answers"


@pytest.mark.parametrize(
    "typed",
    [
        "si tienes dudas, antes de tocar nada lo hablamos",
        "besprich es mit mir, bevor du etwas umbaust",
        "avant de changer le schéma, préviens-moi",
        "antes de mexer no banco me avise",
        "прежде чем менять схему, спроси меня",
    ],
)
def test_wish_to_be_asked_first_waits_in_either_order(typed: str) -> None:
    """To be asked before something is done is a rule, wherever "before" stands."""
    assert list(list_probable_statements(typed))


@pytest.mark.parametrize(
    "typed",
    [
        "en pagos cuando cargo una cuota, hay algo raro en los importes, mas alla que debe ser fijo o "
        "no, tambien deberia sumar los recargos de cuotas que no se pagaron, y si es parcial o no "
        "deberia ser otro dato",
        "se me olvidó esa pregunta",
    ],
)
def test_description_in_spanish_does_not_wait(typed: str) -> None:
    """Neither its length nor a noun that is written as an order makes a description wait."""
    assert not list(list_probable_statements(typed))


@pytest.mark.parametrize(
    ("typed", "stated"),
    [
        ("we use a monorepo, api lives in services/api", "we use a monorepo"),
        ("our backend is in Go, the entry point is in cmd/server", "our backend is in Go"),
    ],
)
def test_fact_in_front_of_a_place_in_the_code_waits_without_it(typed: str, stated: str) -> None:
    """Where something stands in the code is not kept; what is said in front of it waits."""
    assert [text for _, text, _ in list_probable_statements(typed)] == [stated]


@pytest.mark.parametrize(
    "typed",
    [
        "why are you using sed instead of the rename tool?",
        "why is the server touched when I said client only?",
        "why did you delete this file without asking?",
        "hatten wir nicht vereinbart, dass du nicht mergst?",
        "on n'avait pas dit une seule branche ?",
        "¿no habíamos quedado en usar pnpm?",
        "a gente não tinha combinado de usar pnpm?",
        "разве мы не договорились о ревью?",
        "勝手にマージしないと約束しませんでしたか？",
    ],
)
def test_reproach_that_is_put_as_a_question_waits(typed: str) -> None:
    """A question about what the agent does, or about what was agreed, waits as a correction."""
    assert list(list_probable_statements(typed))


@pytest.mark.parametrize(
    "typed", ["why did you use a set there?", "why are you going to need a lock?", "¿por qué 50?"]
)
def test_question_about_the_work_does_not_wait(typed: str) -> None:
    """A question about a choice is no correction."""
    assert not list(list_probable_statements(typed))


@pytest.mark.parametrize(
    "typed",
    [
        "je suis sur un 27 pouces et je ne vois pas le bas de la page",
        "je suis sur la page de login et rien ne marche",
        "I use vim and the plugin fails to load",
    ],
)
def test_what_the_user_works_with_waits_where_trouble_follows(typed: str) -> None:
    """What somebody says of themselves in front of a fault may be part of the report."""
    assert not list_certain_statements(typed)
    assert list(list_probable_statements(typed))


@pytest.mark.parametrize(
    "typed",
    [
        "je suis débutant, explique simplement",
        "ich spreche kein Deutsch",
        "je suis développeur, pas designer",
        "я разработчик, а не дизайнер",
    ],
)
def test_what_the_user_is_is_kept(typed: str) -> None:
    """A negation in the first clause, an order behind it or a contrast is no trouble."""
    assert list_certain_statements(typed)


@pytest.mark.parametrize(
    "typed",
    [
        "In the api package always use zod for validation",
        "under packages/ui always use css modules",
        "on the backend we always use zod",
        "make sure to update the changelog for each PR",
        "don't be so verbose",
    ],
)
def test_rule_for_one_part_or_each_change_waits(typed: str) -> None:
    """What always holds in one part of the project, or for each change, and how the agent is not
    to be.
    """
    assert list(list_probable_statements(typed))


@pytest.mark.parametrize(
    "typed",
    [
        "in the api folder it always fails",
        "in the parser always return None here",
        "make sure it works with all browsers",
        "don't be afraid to refactor",
        "don't be worried",
    ],
)
def test_report_task_or_encouragement_does_not_wait(typed: str) -> None:
    """The same words of what happens, of this task, or to encourage."""
    assert not list(list_probable_statements(typed))


@pytest.mark.parametrize(
    "typed",
    [
        "why are you doing this?",
        "on n'a pas décidé le nom",
        "j'ai pas dit ça",
        "no hemos decidido el nombre",
        "no dijimos nada",
        "não combinamos nada ainda",
        "мы не решили, что брать",
        "я не говорил про это",
    ],
)
def test_what_was_not_agreed_yet_is_no_reminder(typed: str) -> None:
    """Only as a question does "we did not decide" remind of a decision; "this" names nothing."""
    assert not list(list_probable_statements(typed))


@pytest.mark.parametrize(
    "typed",
    [
        "führe immer den Linter vor dem Commit aus",
        "Nein, führe immer die Tests aus",
        "lance toujours les tests",
        "Non, lance toujours le linter avant de committer",
        "ejecuta siempre los tests",
        "rode sempre os testes antes do commit",
        "никогда не пушь в main",
        "Нет, всегда запускай линтер перед коммитом",
    ],
)
def test_order_for_always_is_noticed_whatever_its_verb(typed: str) -> None:
    """With "always" or "never" behind the verb, and behind a refusal, it waits or is kept."""
    assert list_certain_statements(typed) or list(list_probable_statements(typed))


@pytest.mark.parametrize(
    "typed",
    [
        "falla siempre el mismo test",
        "habe immer noch den Fehler",
        "échoue toujours avec la même erreur",
        "Nein, das ist immer noch kaputt",
        "никогда не знаешь что будет",
    ],
)
def test_report_of_what_always_happens_is_no_order(typed: str) -> None:
    """A third person without its subject, and a state that lasts."""
    assert not list_certain_statements(typed)
    assert not list(list_probable_statements(typed))
