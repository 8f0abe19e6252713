"""Rules as people write them down for an agent, and what they like and avoid."""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.statement_parser import (
    find_statements,
    find_waiting_statements,
)
from memorist.core.messages import Message, Origin, TextBlock

pytestmark = pytest.mark.covers("WD-1")

RULES = """
    Before every release, read the checklist.|When renaming modules, do not leave aliases behind: always update callers.
    Write test names in English.|Keep modules small and focused.|Docstrings are mandatory for public functions.
    No magic numbers.|Prefer composition over inheritance.|Do not use global variables anywhere.
    Use `dataclass` for all values.|If you are unsure, ask first instead of guessing.|Descriptive names only.
    Für alle Module Typannotationen verwenden|Commits müssen auf Englisch sein|Keine Emojis in Meldungen verwenden
    No usar abreviaturas en los nombres|Antes de subir cambios, ejecuta siempre las pruebas|Jamais de secrets dans les journaux
    Перед каждым коммитом запускай тесты|Все имена должны быть на английском
    所有变量名必须使用英文|不要引入新的依赖|代码合并之前，需要通过全部检查
    変数名は英語で統一する|必ずテストを追加する|秘密情報をログに出力しないこと
"""
PREFERENCES = """
    As someone with weak eyesight, I need large print.|I'm passionate about slow travel.|I strictly avoid added sugar.
    I'd rather walk than take a taxi.|I have no interest in team sports.|Due to my asthma I avoid dusty rooms.
    I am not fond of loud restaurants.|My diet excludes shellfish.|I refuse to buy fast fashion.
"""
TASKS = """
    I have no interest in the other variant, take the first one|I follow the link and get a 404
    I'm interested in why the cache is cold|When clicking save, use the new endpoint|After saving, show a toast
    If you find nothing, add a log line|Use Redis for the sessions|ボタンを押しても保存しない|エラーを修正すること
    Bitte den Parser dokumentieren|mantener el botón a la izquierda|Si falla el test, usa el otro|I read your plan, go ahead
    with my changes, I get a conflict|keep the docs up to date with the change|write clean code for the login page
    I support the first proposal|先修复这个bug再提交|このファイルを変更しない|I'm afraid the build is broken
    Before merging, fix the failing test|As you said, the parser is broken|测试报错，需要修复
"""


def _split(listed: str) -> list[str]:
    return [
        part.strip() for line in listed.splitlines() for part in line.split("|") if part.strip()
    ]


def _is_noticed(text: str) -> bool:
    message = Message(id="m", role="user", blocks=(TextBlock(text),), origin=Origin.USER)
    return bool(find_statements(message) or find_waiting_statements(message))


def test_rules_and_preferences_are_kept_or_wait() -> None:
    """In eight languages, without "remember" or "from now on"."""
    assert [each for each in _split(RULES + PREFERENCES) if not _is_noticed(each)] == []


def test_tasks_and_reports_with_the_same_words_are_left_alone() -> None:
    """What orders one change, or reports what a program does, neither is kept nor waits."""
    assert [each for each in _split(TASKS) if _is_noticed(each)] == []
