"""A verb whose form changes with the negation is the same verb: its opposite is seen."""

from __future__ import annotations

import pytest

from memorist.auto_memory.memory_file import (
    MemoryFile,
    MemoryKind,
    Provenance,
    Trust,
    create_memory_file,
)
from memorist.auto_memory.memory_manifest import build_memory_header
from memorist.auto_memory.related_statement_search import RelatedStatementSearch
from memorist.auto_memory.statement_comparison import StatementRelation, compare_statements


def find_near(said: str, known: str) -> bool:
    """Whether the search among many memories finds the one that says `known`."""
    topic: MemoryFile = create_memory_file(
        "known.md",
        kind=MemoryKind.FEEDBACK,
        name="known",
        description=known,
        body=known,
        provenance=Provenance(trust=Trust.STATED),
    )
    head = build_memory_header(topic, modified=0.0, size=len(known))
    return RelatedStatementSearch([head]).find_related_memories(said) == ("known.md",)


OPPOSITES = [
    # Korean
    ("스냅샷을 저장하세요", "스냅샷을 저장하지 마세요"),
    ("로그에 색을 넣지 마", "로그에 색을 넣어줘"),
    ("배포 전에 태그를 붙여라", "배포 전에 태그를 붙이지 마라"),
    ("생성된 파일을 고치지 마세요", "생성된 파일을 고쳐도 됩니다"),
    ("브랜치를 자동으로 지우지 않는다", "브랜치를 자동으로 지운다"),
    ("릴리스에 메모를 만들어 주세요", "릴리스에 메모를 만들지 말아 주세요"),
    ("결과를 자동으로 공개하면 안 됩니다", "결과를 자동으로 공개합니다"),
    ("설정을 바꾸지 마", "설정을 바꿔"),
    ("타입을 생략하지 말 것", "타입을 생략할 것"),
    # Japanese
    ("ログに色を付けてください", "ログに色を付けないでください"),
    ("生成ファイルを編集しない", "生成ファイルを編集してもよい"),
    ("タグを自動で消す", "タグを自動で消さない"),
    ("型を省略してはいけません", "型を省略してください"),
    ("設定を勝手に変えるな", "設定を勝手に変えていい"),
    ("リリースメモを作ること", "リリースメモを作らないこと"),
    ("スナップショットを更新しなければならない", "スナップショットを更新しなくてよい"),
    ("古いAPIを使う", "古いAPIは使わない"),
    ("結果を公開します", "結果を公開しません"),
    # Spanish
    ("Borra las ramas viejas", "no borres las ramas viejas"),
    ("haz copias de la base", "no hagas copias de la base"),
    ("Publica los resultados", "ya no publiques los resultados"),
    ("no agregues dependencias", "puedes agregar dependencias"),
    ("nunca utilices mocks", "utiliza mocks"),
    ("corrige los avisos", "no corrijas los avisos"),
    # Portuguese
    ("apaga os ramos velhos", "não apague os ramos velhos"),
    ("faz cópias do banco", "não faça mais cópias do banco"),
    ("publique os resultados", "não publica os resultados"),
    ("Nunca comite snapshots", "pode comitar snapshots"),
    ("sempre comita os snapshots", "não comite mais os snapshots"),
    # German
    ("Lege für jede Aufgabe einen Branch an", "leg nicht mehr für jede Aufgabe einen Branch an"),
    ("Führe die Migration aus", "die Migration nicht ausführen"),
    ("Prüfe die Links", "Links nicht mehr prüfen"),
    ("Füge Beispiele hinzu", "füg keine Beispiele mehr hinzu"),
    ("Du sollst keine Berichte anlegen", "Lege Berichte an"),
    ("Führe Jobs aus", "keine Jobs ausführen"),
    ("Du darfst die Konfiguration nicht ändern", "Ändere die Konfiguration"),
]


@pytest.mark.covers("AM-12")
@pytest.mark.parametrize(("known", "said"), OPPOSITES)
def test_an_opposite_in_the_ending_of_a_verb_is_seen(known: str, said: str) -> None:
    """Both ways, and among many memories."""
    for new, old in ((said, known), (known, said)):
        assert compare_statements(new, old) is StatementRelation.OPPOSITE
        assert find_near(new, old)


@pytest.mark.covers("AM-12")
@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("스냅샷을 저장하지 마세요", "리포트를 저장하세요"),
        ("로그에 색을 넣지 마", "로그에서 색을 빼줘"),
        ("생성된 파일을 고치지 마세요", "생성된 파일을 지우세요"),
        ("main에 바로 올리지 마", "develop에 바로 올려"),
        ("이미지 마이그레이션을 실행하세요", "이미지 이전을 실행하지 마세요"),
        ("ログに色を付けないでください", "ログに時刻を付けてください"),
        ("タグを自動で消さない", "タグを自動で作る"),
        ("型を省略してはいけません", "コメントを省略してください"),
        ("スナップショットを更新しなければならない", "スナップショットを更新してください"),
        ("no borres las ramas viejas", "borra los ficheros viejos"),
        ("no hagas copias de la base", "haz copias de los informes"),
        ("não apague os ramos velhos", "apaga os arquivos velhos"),
        ("Lege Dateien an", "Lege keine Dateien ab"),
        ("Schalte die Protokolle ein", "Schalte die Protokolle nicht aus"),
        ("Führe die Migration aus", "Führe die Migration nicht ein"),
    ],
)
def test_another_verb_or_another_thing_is_no_opposite(known: str, said: str) -> None:
    """Folding the endings makes no two verbs, things or separable prefixes the same."""
    for new, old in ((said, known), (known, said)):
        assert compare_statements(new, old) not in (
            StatementRelation.OPPOSITE,
            StatementRelation.PARTLY_OPPOSITE,
        )
