"""How near an answer is to the one wanted: the measures that question sets use, and what a model is asked. Pure."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")

ANSWER_RULES = (
    "You answer questions about conversations from the excerpts you are given, each with its day and speaker. Answer in as few words as say it,"
    " with names, places and numbers as they stand there. Work out dates from the day of the excerpt. When the excerpts do not tell, answer: unknown."
)
JUDGE_RULES = (
    "You compare an answer with the right one. Say yes when it states the same thing, in whatever words and with whatever detail besides, and no when"
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
    return f"Question: {question}\nRight answer: {wanted}\nGiven answer: {answer}\n\nDo they state the same?"


def says_yes(reply: str) -> bool:
    """The judge's word."""
    return normalised(reply)[:1] == ["yes"]
