"""Rules and facts in a few words, in many languages: what is kept, what waits, what is neither."""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
from memorist.core.messages import Message, Origin, TextBlock

pytestmark = pytest.mark.covers("WD-1")

KEPT = """
    Starting today the API listens on 9090|from now on, CI runs on Buildkite
    From now on round all totals to five cents|round totals to five cents from now on
    going forward dock the sidebar on the left|mets en mémoire l'adresse du serveur de test
    mets en memoire commit et push|garde en tête que la base est en lecture seule|merk dir dass die Datenbank nur lesbar ist
    guarda en memoria que usamos pnpm|guarda na memória que usamos pnpm|ricorda che usiamo pnpm
    only use pnpm|please only use tabs|only use named exports.|always end answers with a summary
"""
WAITS = """
    always pnpm|Never npm!|Never Jenkins|niemals Redux, bitte|jamais npm|siempre pnpm|nunca npm|sempre pnpm|никогда npm
    From now on the tests run on sqlite|starting now our nightly job runs on the small runner
    nicht pushen|bitte nicht pushen|ne push pas|ne pousse pas|nada de commits|não pushe|не пушить|не коммить|niet pushen
    non pushare|不要提交|コミットしない|nicht anfassen|ne pas toucher|no tocar|не трогать|한 번에 두 건 처리 X
    accessibility is a big deal|Barrierefreiheit ist Pflicht|l'accessibilité est indispensable|la accesibilidad es innegociable
    后台兼容是底线|後方互換は譲れません|접근성은 필수야|DNS stays on Netlify|DNS bleibt bei Netlify|le DNS reste chez Netlify
    the fair starts June 30|a feira começa dia 30/6|die Messe beginnt am 30.06|autoformat everything always
    there is no staging server anymore|es gibt keinen Staging-Server mehr|ya no hay servidor de staging|сервера staging больше нет
    Review the change on that branch - you can read the thread via the shop cli|we should not touch the default ssh config
    let's not break the public API|let's avoid code duplication|you are using mocks instead of the real client
    tú eres quien debería proponer las mejoras|vc que deveria dar essas ideias|c'est à toi de lancer les tests
    我说了让你先测试，你怎么还没测|错，折扣是按档位一档一档算的|링크는 기본으로 줘라 항상|이제 팝업은 띄우지말고 여기서 물어봐
    пожалуйста, без эмодзи|меньше комментариев|поменьше воды|menos texto, por favor|evitar comentarios obvios|evitar abreviações
    文档尽量简洁|注释要写清楚|be blunt|be more skeptical|keep it honest|put all tests next to the code|keep imports at the top
"""
NEITHER = """
    never mind|always broken|Never again!|never works|immer noch|always slow|never ready|immer leer|from now on the login fails|from now on it crashes
    from now on the total is rounded, why?|the build fails always|tests break always|it crashes always|nicht gefunden|nicht vorhanden
    ne marche pas|no funciona|não funciona|не работает|не понимаю|no error|sin cambios|sem mudanças|there are no errors anymore
    the spinner stays on screen|the modal stays on Home|chapter 3 starts on page 12|we should not see this error
    let's avoid this for now|don't do anything, tell me whether you understood|mach noch nichts|ne fais rien
    no hagas nada, dime si me entendiste|não faça nada ainda|ничего не делай|先别改|何もしないで|아무것도 하지 마
    no, it should always show the total|no, I meant the footer, so it's always visible
    nunca lo mismo|siempre lo mismo
    ช่วยดูให้หน่อยว่าโอเคไหม ก่อนที่จะแก้ไขต่อ
"""


def split_examples(text: str) -> list[str]:
    return [each.strip() for line in text.strip().splitlines() for each in line.split("|")]


def judge(text: str) -> str:
    message = Message(
        id="m", role="user", origin=Origin.USER, is_typed=True, blocks=(TextBlock(text=text),)
    )
    if find_statements(message):
        return "kept"
    return "waits" if find_unconfirmed_statements(message, "") else "neither"


@pytest.mark.parametrize("text", split_examples(KEPT))
def test_what_says_that_it_lasts_is_kept_whatever_its_verb(text: str) -> None:
    """An order that says how long it holds is a rule, also with a verb of no list."""
    assert judge(text) == "kept"


@pytest.mark.parametrize(
    "text",
    ["toujours pareil", "toujours en erreur", "toujours le même résultat", "siempre lo mismo"],
)
def test_what_is_always_the_same_is_no_rule(text: str) -> None:
    """It tells of a fault: at most it waits."""
    assert judge(text) != "kept"


@pytest.mark.parametrize("text", split_examples(WAITS))
def test_a_brief_rule_or_fact_waits(text: str) -> None:
    """What is probably one goes to the inbox."""
    assert judge(text) == "waits"


@pytest.mark.parametrize("text", split_examples(NEITHER))
def test_a_fault_a_hold_and_a_passing_remark_are_neither(text: str) -> None:
    """Nothing is kept of them, and nothing waits."""
    assert judge(text) == "neither"
