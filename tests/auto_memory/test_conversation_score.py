"""What reads as a rule in German, French, Spanish, Portuguese, Russian, Chinese and Japanese."""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.prose_rule_score import clamp_rule_score, score_prose_rule
from memorist.auto_memory.statements.user_prose import split_prose_sentences

TALK = (
    "Der Absturz kam gestern schon zweimal, ich hänge das Protokoll an.",
    "Vielleicht hat der Kollege die Datei aus Versehen überschrieben.",
    "J'ai relancé le serveur et maintenant la page s'affiche.",
    "Le bouton bleu ne répond plus depuis hier.",
    "Subí los cambios hace una hora y todavía no aparecen.",
    "Parece que el servidor se quedó sin memoria.",
    "Reiniciei o servidor e agora a página abre.",
    "O botão azul parou de responder ontem.",
    "Перезапустил сервер, теперь страница открывается.",
    "Синяя кнопка со вчерашнего дня не отвечает.",
    "我重启了服务器，现在页面能打开了。",
    "昨天开始蓝色按钮点了没反应。",
    "サーバーを再起動したらページが開きました。",
    "昨日から青いボタンが反応しません。",
)
"""Reports of what happened: nobody's rule."""
RULES = (
    "Zwischenüberschriften bitte ohne Nummern.",
    "Las capturas de pantalla no van en el repositorio.",
    "Sem capturas de tela no repositório.",
    "Скриншоты в репозиторий не кладём.",
    "截图不要放进仓库。",
    "スクリーンショットはリポジトリに入れない。",
)


def _reads_as_rule(text: str) -> bool:
    return any(score_prose_rule(each, text) >= 0 for each in split_prose_sentences(text))


@pytest.mark.covers("AM-8")
def test_reports_in_other_languages_are_no_rules() -> None:
    """A file for agents also reports, remarks or orders one deed."""
    assert [each for each in TALK if _reads_as_rule(each)] == []


@pytest.mark.covers("AM-8")
def test_rules_in_other_languages_are_read() -> None:
    """Rules without "always" or "never", as people mention them."""
    assert [each for each in RULES if not _reads_as_rule(each)] == []


def test_the_score_as_a_written_rule_counts_only_so_far() -> None:
    """A sentence full of an instruction file's words says no more than one with many of them."""
    assert clamp_rule_score(40.0) == clamp_rule_score(3.0)
    assert clamp_rule_score(-40.0) == clamp_rule_score(-3.0)
