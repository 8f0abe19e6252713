"""Questions about long conversations, answered end to end by a model from what recall finds:
retrieve, ask, judge.

One line of JSON is kept for each question as soon as it is answered, so that a run can be stopped
and taken up again; a file belongs to one model and one ranker. Each question costs two calls, one
for the answer and one for the judge; what they cost is counted from the usage the provider reports.
"""

from __future__ import annotations

import re
import string
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

import msgspec
from msgspec import Struct

from benchmarks.datasets import (
    BenchConversation,
    BenchQuestion,
    is_longmemeval,
    locomo_file,
    read_locomo,
    read_longmemeval,
)
from benchmarks.report import BenchResult, BenchRow
from memorist.core.messages import Usage
from memorist.errors import InputError
from memorist.formats.codec_registry import find_codec
from memorist.ports import Embedder, Model, Reply, Request
from memorist.recall.ranker import Ranker

# How near an answer is to the one wanted: the measures that question sets use, and what a model
# is asked. Pure.


_ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")

ANSWER_RULES = (
    "You answer questions about conversations from the excerpts you are given, each with its "
    "day and speaker. Answer in as few words as say it,"
    " with names, places and numbers as they stand there. Work out dates from the day of the "
    "excerpt. When the excerpts do not tell, answer: unknown."
)
JUDGE_RULES = (
    "You compare an answer with the right one. Say yes when it states the same thing, in "
    "whatever words and with whatever detail besides, and no when"
    " it leaves the thing out, differs from it or is unsure. Say one word."
)


def normalised(text: str) -> list[str]:
    """The words without case, punctuation and articles."""
    plain = text.lower().translate(str.maketrans("", "", string.punctuation))
    return _ARTICLES.sub(" ", plain).split()


def f1(answer: str, wanted: str) -> float:
    """The harmonic mean of precision and recall over words, 0 to 1."""
    mine, theirs = normalised(answer), normalised(wanted)
    shared = sum((Counter(mine) & Counter(theirs)).values())
    return 2 * shared / (len(mine) + len(theirs)) if shared else float(mine == theirs)


def exact(answer: str, wanted: str) -> bool:
    """Whether both are the same words in the same order."""
    return normalised(answer) == normalised(wanted)


def question_text(question: str, excerpts: Sequence[str]) -> str:
    """What the model is asked."""
    return "Excerpts:\n\n" + "\n".join(excerpts) + f"\n\nQuestion: {question}"


def judge_text(question: str, wanted: str, answer: str) -> str:
    """What the judge is asked."""
    return (
        f"Question: {question}\nRight answer: {wanted}\nGiven answer: {answer}\n\nDo they "
        f"state the same?"
    )


def says_yes(reply: str) -> bool:
    """The judge's word."""
    return normalised(reply)[:1] == ["yes"]


EXCERPTS = 20
"""Turns shown to the model. With ten, a tenth of the evidence that recall finds in twenty is not
shown.
"""

AROUND = 1
"""Turns shown before and after each: an answer is often understood by its question only."""

ANSWER_TOKENS, JUDGE_TOKENS = 1_024, 512
"""Output limits. The answers take a few tokens; models that reason need the rest."""


class Answered(Struct, frozen=True, kw_only=True):
    """One question as it was answered and judged."""

    id: str
    kind: str
    model: str
    answer: str
    wanted: str
    exact: bool
    f1: float
    judged: bool
    found: float
    """Share of the evidence that was shown."""
    usage: Usage
    cost_usd: float | None
    """None when the price table does not know the model."""


class QuestionsRun(Struct, frozen=True, kw_only=True):
    """What to run: the model, where the answers are kept, the embedder if there is one, and after
    how many new questions to stop.
    """

    model: Model
    kept: Path
    embedder: Embedder | None = None
    at_most: int | None = None
    said: Callable[[str], object] = str
    """Is told how far it is after each question. By default nobody is."""


async def answer_all(
    conversations: Iterable[BenchConversation], run: QuestionsRun
) -> list[Answered]:
    """Answer what is not answered yet; gives every answer, old and new. Raises a ModelError when a
    call fails: what was answered stands, and the same command goes on from there. Raises InputError
    when the file of answers is of another model.
    """
    done = read_answers(run.kept, run.model.name)
    left = run.at_most
    run.kept.parent.mkdir(parents=True, exist_ok=True)
    for conversation in conversations:
        open_ = [asked for asked in conversation.questions if asked.id not in done][:left]
        if not open_:
            continue
        with (
            tempfile.TemporaryDirectory() as folder,
            Ranker(Path(folder) / "index", embedder=run.embedder) as ranker,
        ):
            entries = conversation.entries()
            ranker.sync(entries)
            ranker.embed_missing_vectors(entries)
            for asked in open_:
                answered = done[asked.id] = await _answer(asked, conversation, ranker, run.model)
                with run.kept.open("ab") as file:
                    file.write(msgspec.json.encode(answered) + b"\n")
                run.said(_progress(list(done.values())))
        if left is not None and (left := left - len(open_)) <= 0:
            break
    return list(done.values())


async def _answer(
    asked: BenchQuestion, conversation: BenchConversation, ranker: Ranker, model: Model
) -> Answered:
    shown = _around(conversation, [found.id for found in ranker.search(asked.text, EXCERPTS)])
    turns = [conversation.turns[at] for at in shown]
    excerpts = [f"[{turn.date}] {turn.speaker}: {turn.text}" for turn in turns]
    reply = await _ask(
        model, ANSWER_RULES, question_text(asked.text, excerpts), ANSWER_TOKENS, "answer"
    )
    answer = _text(reply)
    verdict = await _ask(
        model, JUDGE_RULES, judge_text(asked.text, asked.answer, answer), JUDGE_TOKENS, "judge"
    )
    costs = (reply.cost_usd, verdict.cost_usd)
    return Answered(
        id=asked.id,
        kind=asked.kind,
        model=model.name,
        answer=answer,
        wanted=asked.answer,
        exact=exact(answer, asked.answer),
        f1=f1(answer, asked.answer),
        judged=says_yes(_text(verdict)),
        found=len(asked.evidence & {name for turn in turns for name in (turn.id, turn.session)})
        / max(1, len(asked.evidence)),
        usage=reply.usage + verdict.usage,
        cost_usd=sum(cost for cost in costs if cost is not None) if None not in costs else None,
    )


def _around(conversation: BenchConversation, ids: list[str]) -> list[int]:
    """Places of these turns and their neighbours, in the order they were said."""
    turns = conversation.turns
    place = {turn.id: at for at, turn in enumerate(turns)}
    near = {
        at
        for id in ids
        for at in range(place[id] - AROUND, place[id] + AROUND + 1)
        if 0 <= at < len(turns)
    }
    return sorted(near)


async def _ask(model: Model, rules: str, text: str, tokens: int, label: str) -> Reply:
    name = model.name.partition(":")[2].partition("@")[0] or model.name
    body = find_codec(model.format).build_request(name, system=rules, text=text, max_output=tokens)
    return await model.send(Request(format=model.format, body=body, label=label))


def _text(reply: Reply) -> str:
    return " ".join(message.text for message in reply.messages).strip()


def questions_below(data: Path) -> tuple[str, Iterator[BenchConversation]] | None:
    """The name and the conversations of a published file, or of LoCoMo or LongMemEval below a
    folder; None when there is neither.

    Raises InputError for a file of another shape.
    """
    files = (
        [data]
        if data.is_file()
        else [locomo_file(data), *sorted((data / "longmemeval").glob("*.json"))]
    )
    for path in files:
        if path.is_file():
            return path.stem, read_longmemeval(path) if is_longmemeval(path) else iter(
                read_locomo(path)
            )
    return None


def read_answers(path: Path, model: str) -> dict[str, Answered]:
    """The answers kept so far, by question; a last line that was cut off is asked again. Raises
    InputError when they are another model's.
    """
    if not path.exists():
        return {}
    raw = path.read_bytes()
    whole = raw[: raw.rfind(b"\n") + 1]
    if whole != raw:
        path.write_bytes(whole)
    answers = [msgspec.json.decode(line, type=Answered) for line in whole.splitlines()]
    if others := {each.model for each in answers} - {model}:
        raise InputError(
            f"{path} holds answers of {', '.join(sorted(others))}; give another file with "
            f"--answers for {model}"
        )
    return {each.id: each for each in answers}


def _progress(answers: list[Answered]) -> str:
    cost = cost_of(answers)
    return f"{len(answers)} answered, {fmean(each.judged for each in answers):.2f} right" + (
        f", ${cost:.4f}" if cost is not None else ""
    )


def cost_of(answers: Iterable[Answered]) -> float | None:
    """US dollars of all of them; None when any is unknown."""
    costs = [each.cost_usd for each in answers]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def summed(answers: list[Answered]) -> BenchResult:
    """The shares by kind of question, and what it took."""
    rows = []
    for kind in ["all", *sorted({each.kind for each in answers})]:
        mine = [each for each in answers if kind in {"all", each.kind}]
        rows += [
            BenchRow(f"{kind}: questions", len(mine)),
            BenchRow(
                f"{kind}: right, by the model's judgement", fmean(each.judged for each in mine)
            ),
            BenchRow(f"{kind}: F1", fmean(each.f1 for each in mine)),
            BenchRow(f"{kind}: exact", fmean(each.exact for each in mine)),
            BenchRow(f"{kind}: share of the evidence shown", fmean(each.found for each in mine)),
        ]
    usage = sum((each.usage for each in answers), Usage())
    rows.append(BenchRow("input tokens", usage.input + usage.cache_read + usage.cache_write))
    rows.append(BenchRow("output tokens", usage.output))
    if (cost := cost_of(answers)) is not None:
        rows.append(BenchRow("cost", cost, "US dollars"))
    return BenchResult("questions", tuple(rows))


async def measure_with(data: Path, run: QuestionsRun) -> BenchResult:
    """Answer the questions below the folder, or of the file, and sum up. Without such a file the
    result says so.
    """
    found = questions_below(data)
    if found is None:
        why = (
            f"no LoCoMo or LongMemEval file at {data}; they are published by their authors: "
            f"give the file, or its folder, as --data"
        )
        return BenchResult("questions", absent=why)
    try:
        answers = await answer_all(found[1], run)
    finally:
        await run.model.close()
    return summed(answers) if answers else BenchResult("questions", absent="no question was asked")
