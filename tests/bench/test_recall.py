"""The benches of recall: what counts as found, that published files are read, and that questions
run end to end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.datasets import BenchConversation, is_longmemeval, read_locomo, read_longmemeval
from benchmarks.questions import QuestionsRun, answer_all, exact, f1, measure_with, says_yes, summed
from benchmarks.recall import LEXICAL, WORDS, figures_of, made_up, measure
from memorist.errors import InputError, ModelUnavailable
from memorist.ports import Request
from memorist.recall import lexical_score
from memorist.recall.ranker import Ranker
from memorist.testing.models import ScriptedModel
from memorist.testing.provider_server import ScriptedServer
from memorist.testing.steps import Fail, Say, Step

LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ana",
            "speaker_b": "Ben",
            "session_1_date_time": "1 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ana", "dia_id": "D1:1", "text": "Where did you spend the summer?"},
                {
                    "speaker": "Ben",
                    "dia_id": "D1:2",
                    "text": "By the lake.",
                    "blip_caption": "a photo of a red canoe",
                },
            ],
            "session_2_date_time": "2 pm on 9 June, 2023",
            "session_2": [
                {"speaker": "Ben", "dia_id": "D2:1", "text": "I adopted a beagle called Rex."}
            ],
            "session_10_date_time": "3 pm on 1 July, 2023",
            "session_10": [{"speaker": "Ana", "dia_id": "D10:1", "text": "Good night."}],
        },
        "qa": [
            {
                "question": "Where was Ben in summer?",
                "answer": "by the lake",
                "evidence": ["D1:2"],
                "category": 4,
            },
            {
                "question": "When did Ben adopt Rex?",
                "answer": 2023,
                "evidence": ["D2:1; D1:2", "D9:9"],
                "category": 2,
            },
            {
                "question": "What has no answer?",
                "adversarial_answer": "x",
                "evidence": ["D1:1"],
                "category": 5,
            },
            {"question": "What has no evidence?", "answer": "x", "evidence": [], "category": 1},
        ],
    }
]
LONGMEMEVAL = [
    {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "What is my dog called?",
        "question_date": "2023/06/01",
        "answer": "Rex",
        "haystack_dates": ["2023/05/01", "2023/05/02"],
        "haystack_session_ids": ["s1", "s2"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "My dog Rex is ill."},
                {"role": "assistant", "content": "I am sorry."},
            ],
            [{"role": "user", "content": "What shall I cook?"}],
        ],
        "answer_session_ids": ["s1"],
    }
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "locomo").mkdir()
    (tmp_path / "locomo" / "locomo7.json").write_text(json.dumps(LOCOMO))
    return tmp_path


def conversation(data: Path) -> BenchConversation:
    (found,) = read_locomo(data / "locomo" / "locomo7.json")
    return found


def answers(request: Request) -> Step:
    text = json.dumps(request.body)
    return Say(
        text="yes"
        if "Right answer" in text
        else "By the lake."
        if 'summer?"' in text or "Ben in summer" in text
        else "unknown"
    )


def test_locomo_is_read_with_its_sessions_in_order(data: Path) -> None:
    """Captions belong to the turn; questions without evidence or without an answer are left out,
    evidence that is no turn too.
    """
    found = conversation(data)

    assert [turn.id for turn in found.turns] == ["D1:1", "D1:2", "D2:1", "D10:1"]
    assert found.turns[1].text == "By the lake. a photo of a red canoe"
    assert [(asked.kind, sorted(asked.evidence)) for asked in found.questions] == [
        ("one turn", ["D1:2"]),
        ("time", ["D1:2", "D2:1"]),
    ]


def test_longmemeval_is_read_in_its_published_shape(tmp_path: Path) -> None:
    """Each question has its own haystack; its evidence are sessions."""
    path = tmp_path / "longmemeval_s.json"
    path.write_text(json.dumps(LONGMEMEVAL))
    (found,) = read_longmemeval(path)

    assert is_longmemeval(path)
    first = found.turns[0]
    assert (first.speaker, first.session, first.date) == ("user", "s1", "2023/05/01")
    assert found.questions[0].evidence == {"s1"}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        '[{"haystack_sessions": 5}]',
        '[{"question": "x", "haystack_sessions": [[{"role": "user"}]]}]',
    ],
)
def test_a_file_of_another_shape_is_a_clear_error(tmp_path: Path, content: str) -> None:
    """It is named, and what is wrong with it."""
    path = tmp_path / "longmemeval_s.json"
    path.write_text(content)

    with pytest.raises(InputError, match="longmemeval_s"):
        list(read_longmemeval(path))


@pytest.mark.parametrize("way", LEXICAL)
def test_every_way_is_measured_alike(data: Path, tmp_path: Path, way: str) -> None:
    """Each finds the beagle; recall is the share of the evidence."""
    figures = figures_of(LEXICAL[way], [conversation(data)], tmp_path)

    assert [len(found) for found in figures.recalls["conv-1"]] == [2, 2]
    assert figures.recalls["conv-1"][1][0] >= 0.5
    assert len(figures.milliseconds) == 2


def test_the_figure_that_counts_is_of_conversations_held_back(data: Path, tmp_path: Path) -> None:
    """One of those that the weights were chosen on does not enter it."""
    figures = figures_of(LEXICAL[WORDS], [conversation(data)], tmp_path)
    both = type(figures)({**figures.recalls, "conv-26": [(0.0, 0.0)]}, figures.milliseconds, 0.0)

    assert both.recall(5, held_back=True) == figures.recall(5, held_back=True)
    assert both.recall(5, held_back=False) < figures.recall(5, held_back=True)


def test_without_data_the_bench_says_so(tmp_path: Path) -> None:
    """No figure is made up."""
    found = measure(tmp_path)

    assert found.rows == () or all("not measured" in row.what for row in found.rows)
    assert "LoCoMo" in found.absent


@pytest.mark.covers("RC-6")
@pytest.mark.parametrize("placed", [False, True])
def test_a_question_of_common_words_scores_no_more_entries_when_there_are_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, placed: bool
) -> None:
    """A test has no stop watch, so entries are counted: four times the memories, and no more of
    them than the bounds allow are scored.
    """
    monkeypatch.setattr(lexical_score, "MAX_SCANNED_POSTINGS", 120)
    monkeypatch.setattr(lexical_score, "LEADER_COUNT", 40)
    monkeypatch.setattr(lexical_score, "COMMON_LEADER_COUNT", 8)  # each with four neighbours
    words = [f"word{at % 17}" if at % 50 else f"rare{at % 2_000}" for at in range(20_000)]
    for count in (300, 1_200):
        with Ranker(tmp_path / str(count)) as ranker:
            ranker.sync(made_up(words, count, placed=placed))
            ranker.search("rare50 word1 word2 word3")
            ordered = sorted(ranker._postings.items(), key=lambda pair: len(pair[1]))

            scored = lexical_score.score_by_words(ordered, ranker._columns)

            assert len(ordered) == 4
            assert 0 < len(scored) <= lexical_score.LEADER_COUNT


async def test_questions_run_end_to_end(data: Path, tmp_path: Path) -> None:
    """Retrieved, asked, judged; kept line by line; taken up where it stopped; the evidence was
    shown.
    """
    kept = tmp_path / "out" / "answers.jsonl"
    model = ScriptedModel(answers, name="anthropic:claude-opus-4-6")
    first = await answer_all([conversation(data)], QuestionsRun(model=model, kept=kept, at_most=1))
    assert [each.answer for each in first] == ["By the lake."]
    assert len(model.requests) == 2

    both = await answer_all([conversation(data)], QuestionsRun(model=model, kept=kept))

    assert len(model.requests) == 4
    assert [each.found for each in both] == [1.0, 1.0]
    assert both[0].exact
    assert both[0].cost_usd is not None
    assert both[0].cost_usd > 0
    rows = {row.what: row.figure for row in summed(both).rows}
    assert rows["all: questions"] == 2
    assert rows["one turn: F1"] == 1.0
    assert rows["cost"] > 0
    shown = json.dumps(model.requests[0].body)
    assert "[1 pm on 8 May, 2023] Ben: By the lake." in shown


async def test_a_failed_call_loses_no_answer(data: Path, tmp_path: Path) -> None:
    """The run ends with the error; the next one asks only what is open. A line cut off by a kill is
    asked again.
    """
    kept = tmp_path / "answers.jsonl"
    broken = ScriptedModel(
        [Say(text="By the lake."), Say(text="yes"), Fail(error=ModelUnavailable("down"))],
        name="x:m",
    )
    with pytest.raises(ModelUnavailable):
        await answer_all([conversation(data)], QuestionsRun(model=broken, kept=kept))
    kept.write_bytes(kept.read_bytes() + b'{"id": "conv-1/1", "ki')
    model = ScriptedModel(answers, name="x:m")

    both = await answer_all([conversation(data)], QuestionsRun(model=model, kept=kept))

    assert len(model.requests) == 2
    assert [each.id for each in both] == ["conv-1/0", "conv-1/1"]


async def test_answers_of_another_model_are_not_mixed(data: Path, tmp_path: Path) -> None:
    """The file says whose they are."""
    kept = tmp_path / "answers.jsonl"
    await answer_all(
        [conversation(data)], QuestionsRun(model=ScriptedModel(answers, name="x:one"), kept=kept)
    )

    with pytest.raises(InputError, match="x:one"):
        await answer_all(
            [conversation(data)],
            QuestionsRun(model=ScriptedModel(answers, name="x:two"), kept=kept),
        )


async def test_longmemeval_runs_too_and_its_absence_is_told(tmp_path: Path) -> None:
    """By the file itself, or from a folder; without either the result says where it comes from."""
    model = ScriptedModel(answers, name="x:m")
    absent = await measure_with(tmp_path, QuestionsRun(model=model, kept=tmp_path / "a"))
    assert "published by their authors" in absent.absent
    path = tmp_path / "longmemeval" / "longmemeval_s.json"
    path.parent.mkdir()
    path.write_text(json.dumps(LONGMEMEVAL))
    found = await measure_with(
        tmp_path, QuestionsRun(model=ScriptedModel(answers, name="x:m"), kept=tmp_path / "a")
    )

    assert {row.what: row.figure for row in found.rows}[
        "single-session-user: share of the evidence shown"
    ] == 1.0


ROOT = Path(__file__).parents[2]


def command(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: click keeps the help that a command was first asked with."""
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", "questions", *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}", **environment},
    )


@pytest.mark.slow
def test_the_command_asks_a_real_server(data: Path, tmp_path: Path) -> None:
    """Over the wire, with the SDK, on this machine; the sum is printed with its cost."""
    with ScriptedServer(answers) as server:
        options = [
            "--model",
            "anthropic:claude-opus-4-6",
            "--data",
            str(data),
            "--answers",
            str(tmp_path / "a"),
        ]
        said = command(*options, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="none")

    assert said.returncode == 0
    assert "right, by the model's judgement" in said.stdout
    assert "US dollars" in said.stdout


def test_the_command_wants_a_model() -> None:
    """What costs money is never chosen for anybody."""
    said = command()

    assert said.returncode == 2
    assert "--model" in said.stderr


@pytest.mark.parametrize(
    ("answer", "wanted", "score", "same"),
    [
        ("The lake.", "lake", 1.0, True),
        ("by the lake", "lake", 2 / 3, False),
        ("", "", 1.0, True),
        ("sea", "lake", 0.0, False),
        ("", "x", 0.0, False),
    ],
)
def test_answers_are_compared_by_words(answer: str, wanted: str, score: float, same: bool) -> None:
    """Articles, case and punctuation do not count."""
    assert f1(answer, wanted) == pytest.approx(score)
    assert exact(answer, wanted) == same


def test_the_judge_says_yes_or_not() -> None:
    """Anything else is no."""
    assert [
        says_yes(word) for word in ("Yes.", "yes, it does", "No", "", "They state the same: yes")
    ] == [True, True, False, False, False]
