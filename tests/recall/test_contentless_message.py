"""Messages that name nothing a memory could be about."""

from __future__ import annotations

import pytest

from memorist.recall.contentless_message import has_no_searchable_content

CONTENTLESS = (
    "thanks", "ok", "yes, go on", "Yes, please continue with the next step.", "OK, do it.",
    "Great, that works now!", "let's do 2", "👍", "", "Sounds good, go ahead 🙂",
    "Danke, bitte mach weiter.", "Ja, genau so.", "Oui, merci, continue s'il te plaît.",
    "D'accord, vas-y.", "Sí, gracias, sigue adelante.", "Sim, pode continuar, obrigado!",
    "Sì, grazie, vai avanti.", "Ja, ga maar door, bedankt.", "Да, спасибо, продолжай.",
    "Tak, dziękuję, kontynuuj.", "Evet, teşekkürler, devam et.", "好的，谢谢，请继续。", "可以，下一步",
    "はい、続けてください。", "ありがとうございます", "네, 계속해주세요. 감사합니다!", "نعم شكرا",
)  # fmt: skip
WITH_CONTENT = (
    "commit", "option", "yes, please commit", "run the tests", "push it", "ok, deploy to staging",
    "continue with the parser", "thanks, now the docs", "let's do 300", "try pnpm",
    "Danke, jetzt die Tests.", "mach die Tür zu", "Oui, lance les tests.", "Sí, haz commit.",
    "Да, запусти тесты.", "close the door", "好的，提交代码", "はい、コミットしてください。",
    "네, 커밋해 주세요.", "what is the port?", "Yes. " * 3 + "main.py", "go on as with RFC",
)  # fmt: skip


@pytest.mark.covers("RC-2")
@pytest.mark.parametrize("message", CONTENTLESS)
def test_agreement_thanks_and_go_on_name_nothing(message: str) -> None:
    """In every main language, with any punctuation."""
    assert has_no_searchable_content(message)


@pytest.mark.covers("RC-2")
@pytest.mark.parametrize("message", WITH_CONTENT)
def test_a_word_of_work_is_content(message: str) -> None:
    """However short: a memory may say how it is done here."""
    assert not has_no_searchable_content(message)
