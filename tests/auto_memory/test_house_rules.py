"""Rules as people write them down for an agent, and what they like and avoid."""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
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
    Wrap failures with context|Do not call vendors from views|Ask before big rewrites|Name fields in snake_case style, keep modules thin
    Passwords must stay in the vault|dist/ is never committed|Every change ships with a test|Show me a plan before touching more files
    No drive-by renames.|Report honestly what was skipped|Push only when explicitly asked|Choose clarity over speed|Tiny atomic commits.
    Nie force-pushen.|Tabellen nur auf Englisch|Nur relative Links.|Vermeide Abkürzungen|Vor großen Umbauten erst Fragen stellen
    Pas de variables globales|Ne jamais committer de fichiers générés|Respecter le style existant|Avant de renommer, chercher les usages
    Sin dependencias nuevas|No borrar migraciones antiguas|Revisar permisos antes de publicar|Usa nombres cortos para los paquetes
    Sem atalhos mágicos.|Não alterar migrações antigas|Escreva mensagens de commit curtas|Testes em inglês
    Не менять публичный API без спроса|Комментарии на английском|Пиши короткие сообщения|Документация обязательна для модулей
    每个接口都要有测试|数据访问不要写在控制器里|提交信息用英文
    既存の命名に従う|秘密鍵は含めない|迷った場合は質問する|設定ファイルを勝手に変えない
    Do not open, copy or move any files below legal/|Propose the next test without being asked|No new services, no extra queues
    Use `logging` for diagnostics|If a step is unclear, ask one question|Relative links only
    Format dates as ISO strings in all responses.
    Validez les entrées de chaque formulaire|Nombra las ramas en inglés|Nomeie branches em inglês
    Имена веток на английском|分支名使用英文
    Follow the naming scheme in this repository|Consult the style guide before adding endpoints|Split modules where appropriate
    Deploy the preview without asking|You must write a test for each change of behaviour|The schema takes precedence over the docs
    settings.toml is the single source of truth|Throw typed errors for wrong input|Write comments only where the code is surprising
    If a lock file exists, the agent must respect it|Tell me if a migration is destructive|No refactoring beyond what the change needs
    Default to immutable records for new code|Every time you add a flag, document its default|Rename a concept everywhere it occurs
    Fixtures aktuell halten|Wir nehmen immer die kleinste Lösung|速度より読みやすさが重要|できるだけ標準ライブラリで|尽量使用标准库
    Ninguna rama se mezcla sin revisión|注释太多，别写了
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
    Add tests for the parser|Do not merge it yet|no merge conflicts|Keep going|Deploy to staging|When the list is empty, show a placeholder
    Return results as JSON from the endpoint|Der Knopf wird nicht angezeigt|Nur die erste Funktion umbenennen
    Corregir el error al guardar el formulario|Ajouter un bouton en haut de la page|Não consigo rodar os testes|Не могу запустить сервер
    не трогай этот файл|首页要加一个按钮|所有用例都跑完了|ログイン画面のバグを修正する|表示されない|Добавить поддержку тёмной темы
    Act as a pirate and use short words in all answers|给表格加一列|Добавь поле в форму|Füge der Tabelle eine Spalte hinzu
    Use the second answer in this case|you must have seen the error|Tell me why it fails|read the log before it rotates again
    試してみて config.md を変更|sonst klappt der Import gleich wieder nicht|Rename the button on the page
    Before merging, fix the failing test|As you said, the parser is broken|测试报错，需要修复
"""


def _split(listed: str) -> list[str]:
    return [
        part.strip() for line in listed.splitlines() for part in line.split("|") if part.strip()
    ]


def _is_noticed(text: str) -> bool:
    message = Message(
        id="m", role="user", blocks=(TextBlock(text),), origin=Origin.USER, is_typed=True
    )
    return bool(find_statements(message) or find_unconfirmed_statements(message))


def test_rules_and_preferences_are_kept_or_wait() -> None:
    """In eight languages, without "remember" or "from now on"."""
    assert [each for each in _split(RULES + PREFERENCES) if not _is_noticed(each)] == []


def test_tasks_and_reports_with_the_same_words_are_left_alone() -> None:
    """What orders one change, or reports what a program does, neither is kept nor waits."""
    assert [each for each in _split(TASKS) if _is_noticed(each)] == []


def test_what_a_shell_printed_is_not_the_users_word() -> None:
    """From a prompt to the next empty line, and in lines that begin with a tool's mark."""
    for pasted in (
        "❯ npm run build\nNever commit generated files.\nAlways use pnpm.",
        "$ make\nPrefer `make all` over `make` for full builds.",
        "✔ Always use the new API for every call.",
        "error: never push to protected branches",
        "npm ERR! Always run npm audit fix before publishing\nnpm ERR! Never skip it",
        "npm warn Always set the engines field",
        "remote: Never force-push to this branch",
        "make[1]: Always build the docs first",
        "web_1  | Always set SECRET_KEY in production",
        "Nov 27 10:00:01 box app: always rotate the log first",
        "level=warn Always use the new endpoint",
        "PS C:\\shop> type AGENTS.md\nNever use npm here, always use yarn.",
        "ann@box:~/shop$ cat AGENTS.md\nNever use npm here, always use yarn.",
        "~/shop % cat AGENTS.md\nNever use npm here, always use yarn.",
        "Traceback (most recent call last):\n  File 'a.py'\nNever use npm here, always use yarn.",
    ):
        assert not _is_noticed(pasted), pasted
    assert _is_noticed("❯ npm run build\nfailed\n\nNever use npm here, use pnpm.")


def test_what_somebody_else_says_is_not_the_users_word_in_eight_languages() -> None:
    """A rule that is announced as another's is neither kept nor waits; the user's own is noticed."""
    rule = "Never use npm here, always use yarn."
    for lead in (
        *("Im Ticket steht:", "Der Kunde verlangt:", "Laut Wiki:", "Le client demande :"),
        *("Selon le wiki :", "El cliente pide:", "Según la guía:", "O cliente disse:"),
        *("Segundo o guia:", "Клиент пишет:", "Согласно документации:", "客户要求："),
        *("同僚からのメール：", "READMEによると、", "The ticket says:"),
    ):
        assert not _is_noticed(f"{lead} {rule}"), lead
    assert _is_noticed(rule)


def test_a_rule_in_a_long_paste_is_not_the_users_word() -> None:
    """Over 900 characters only a short first and last paragraph are read."""
    page = " ".join(["The importer reads its rows from the queue and writes them down."] * 14)
    assert not _is_noticed(f"{page}\nNever use npm here, always use yarn.\n{page}")
    assert _is_noticed(f"{page}\n\nNever use npm here, always use yarn.")
