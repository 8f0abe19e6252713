"""The instruction and material of the dream's fork (DR-3). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.topic import Topic, moment
from memorist.core.template import render
from memorist.dream.conflicts import Instruction
from memorist.dream.gather import SAYING, Saying
from memorist.safety.data import neutralise
from memorist.safety.hidden import visible
from memorist.safety.secrets import redact

_TAGS = ("memory", "index", "log", "saying", "instruction-file", "memorist-fork")


class Material(Struct, frozen=True, kw_only=True):
    """Everything a dream may be made from, most informative first."""

    folder: Path
    index: str
    topics: tuple[Topic, ...]
    """Memories that a model may be shown, most important first."""
    logs: tuple[tuple[str, str], ...] = ()
    """Day and text of the daily logs, newest first."""
    sayings: tuple[tuple[Saying, str], ...] = ()
    instructions: tuple[Instruction, ...] = ()


class Shown(Struct, frozen=True, kw_only=True):
    """The material that fits."""

    text: str
    paths: tuple[str, ...]
    """The memories that are shown whole."""
    sayings: tuple[Saying, ...]
    left_out: int
    """Memories that did not fit."""


def shown(material: Material, *, limit: int) -> Shown:
    """Render the material in at most about `limit` characters.

    Of what does not fit, memories are dropped last.
    """
    memories, paths = _fitting([(topic.path, _memory(material.folder, topic)) for topic in material.topics], limit * 7 // 10)
    room = limit - sum(map(len, memories))
    logs, _ = _fitting([(day, f'<log day="{day}">\n{_data(text)}\n</log>') for day, text in material.logs], room // 3)
    room -= sum(map(len, logs))
    said, heard = _fitting([(str(number), _saying(*each)) for number, each in enumerate(material.sayings)], room // 2)
    files, _ = _fitting([(file.path, _file(file)) for file in material.instructions], room - sum(map(len, said)))
    index = f"<index>\n{_data(material.index.strip()) or '(empty)'}\n</index>"
    return Shown(
        text="\n\n".join((index, *memories, *logs, *said, *files)),
        paths=paths,
        sayings=tuple(material.sayings[int(number)][0] for number in heard),
        left_out=len(material.topics) - len(paths),
    )


def _fitting(parts: Sequence[tuple[str, str]], room: int) -> tuple[list[str], tuple[str, ...]]:
    """Select the parts that fit, in order; a part that is too large is skipped in favour of the
    next.
    """
    texts: list[str] = []
    names: list[str] = []
    for name, text in parts:
        if len(text) <= room:
            texts.append(text)
            names.append(name)
            room -= len(text)
    return texts, tuple(names)


def _memory(folder: Path, topic: Topic) -> str:
    return f'<memory path="{visible(str(folder / topic.path))}">\n{_data(topic.text().rstrip())}\n</memory>'


def _saying(saying: Saying, path: str) -> str:
    text = saying.text if len(saying.text) <= SAYING else saying.text[:SAYING].rstrip() + " …"
    return f'<saying memory="{path}" day="{moment(saying.at)[:10]}">\n{_data(text)}\n</saying>'


def _file(file: Instruction) -> str:
    return (
        f'<instruction-file path="{visible(file.path)}" changed="{moment(file.at)[:10]}">\n{_data(file.text.strip())}\n</instruction-file>'
    )


def _data(text: str) -> str:
    return neutralise(visible(redact(text.encode("utf-8", "replace").decode()).text), _TAGS)


def task(text: str, folder: Path, *, now: float, retired: int) -> str:
    """Render the instruction."""
    return render(text, {"folder": str(folder), "today": moment(now)[:10], "retired": str(retired)}, strict=True).strip() + "\n"
