"""The layouts of other agents: what they hold goes in and out without loss, and what they do not
hold is said.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.auto_memory.interop import (
    claude_code_memory,
    codex_memory,
    gemini_memory,
    hermes_memory,
    instruction_files,
)
from memorist.auto_memory.interop.dialect import ExportLoss
from memorist.auto_memory.interop.memory_transfer import DIALECTS, recognise_memory_dialect
from memorist.auto_memory.memory_file import (
    MemoryFile,
    MemoryKind,
    Provenance,
    Trust,
    create_memory_file,
    parse_memory_file,
    with_header_values,
)
from memorist.core.text_encoding import encode_file_text_as_utf8

pytestmark = pytest.mark.covers("AM-13")

HANDBOOK = b"""# Task Group: Totals of the shop
scope: rounding in prices.py
applies_to: cwd=/home/dev/shop; reuse_rule=this checkout only

## Task 1: mend the total, success
### rollout_summary_files
- rollout_summaries/a.md (cwd=/home/dev/shop)
### keywords
- prices, rounding

## User preferences
- when reviewing, the user asked "cite lines" -> cite file and line [Task 1]

## Reusable knowledge
- prices.py rounds each line [Task 1]
  and the tax too

## Failures and how to do differently
- total off by a cent -> rounding twice -> round once
"""
SUMMARY = b"""v1

## User Profile

Works on a shop; likes proof.

## User preferences
- Be brief. [ad-hoc note]

## General Tips
- Run make first.

## What's in Memory
### /home/dev/shop
#### 2026-01-02
- totals: rounding
  - desc: more
"""
CODEX_FILES = {
    "MEMORY.md": HANDBOOK,
    "memory_summary.md": SUMMARY,
    "raw_memories.md": b"# Raw Memories\n\n## Thread `t-1`\nupdated_at: x\n\nraw text\n",
    "rollout_summaries/a.md": b"thread_id: t-1\n\nwhat happened\n",
    "skills/x/SKILL.md": b"---\nname: x\n---\n",
    "extensions/ad_hoc/notes/2026-01-02T03-04-05-use-pnpm.md": b"Use pnpm here.\n",
}

lines = st.text(st.sampled_from("ab-*#§`<> \n\r\t—é[]:\u2028"), max_size=60)
header = st.lists(
    st.sampled_from(
        [b"name: a\n", b"type: user\n", b"# a remark\n", b"metadata:\n  type: feedback\n  node: 4\n", b"x-own: [1, 'two']\r\n", b"pinned: true\n",
         b"description: \xff\xfe\n", b"\r\n", b"\xc2\x85", b"broken: [\n", b"  stray\n"]
    ),
    max_size=6,
)  # fmt: skip


def topic(
    body: str, kind: MemoryKind | None = MemoryKind.PROJECT, name: str = "", path: str = "a-name.md"
) -> MemoryFile:
    """A memory whose description is the start of its text, so that only what a test adds can go
    lost.
    """
    return create_memory_file(
        path,
        kind=kind,
        name=name or path[:-3],
        description=body.strip().partition("\n")[0][:30],
        body=body,
        provenance=Provenance(trust=Trust.IMPORTED),
    )


def flat(text: str) -> str:
    """A text without regard to white space."""
    return " ".join(text.split())


def bodies(dialect: str, topics: list[MemoryFile]) -> list[str]:
    """The texts that come back when a dialect writes and reads."""
    chosen = DIALECTS[dialect]
    return [each.body.strip() for each in chosen.read(chosen.write(topics, {}).files).topics]


@settings(deadline=None)
@given(
    st.sampled_from([b"", b"\xef\xbb\xbf"]), st.sampled_from([b"---\n", b"---\r\n", b"--- \n", b""]), header,
    st.sampled_from([b"---\n", b"---\r\n", b"...\n", b"---", b""]), st.binary(max_size=40),
)  # fmt: skip
def test_a_file_of_claude_code_goes_through_byte_for_byte(
    mark: bytes, opening: bytes, head: list[bytes], closing: bytes, body: bytes
) -> None:
    """Unknown keys, remarks, line ends, a byte order mark and bytes that are no UTF-8 survive
    reading and writing.
    """
    data = mark + opening + b"".join(head) + closing + body + b"\nx"

    read = claude_code_memory.import_claude_code_memory({"a.md": data})

    assert [each.path for each in read.topics] == ["a.md"]
    assert claude_code_memory.build_claude_code_export(read.topics, {}).files["a.md"] == data


@settings(deadline=None)
@given(header, st.binary(max_size=30))
def test_one_key_set_leaves_every_other_line(head: list[bytes], body: bytes) -> None:
    """A change of a header touches the lines of that key and no other byte."""
    before, after = b"\xef\xbb\xbf---\r\n" + b"".join(head), b"---\r\n" + body

    changed = encode_file_text_as_utf8(
        with_header_values(
            parse_memory_file("a.md", before + after), {"memorist": {"trust": "stated"}}
        ).text()
    )

    assert changed == before + b"memorist:\n  trust: stated\n" + after


def test_both_shapes_of_claude_code_are_read() -> None:
    """The kind stands in `type` or in `metadata.type`; links and pins stay."""
    files = {
        "MEMORY.md": b"- [Old](old.md) \xe2\x80\x94 a hook\n- [New](new.md)\n",
        "old.md": b"---\nname: old\ndescription: d\ntype: feedback\n---\n\nUse tabs.\n",
        "new.md": b"---\nname: new\ndescription: d\npinned: true\nmetadata:\n  type: "
        b"user\n---\n\nSee [[old]].\n",
    }

    read = claude_code_memory.import_claude_code_memory(files)

    assert recognise_memory_dialect(files) == "claude-code"
    assert {each.path: each.kind for each in read.topics} == {
        "old.md": MemoryKind.FEEDBACK,
        "new.md": MemoryKind.USER,
    }
    assert next(each for each in read.topics if each.path == "new.md").pinned
    assert read.ignored == ()
    assert claude_code_memory.build_claude_code_export(read.topics, files).files == files


def test_an_index_of_claude_code_keeps_the_lines_of_others() -> None:
    """Export into a folder in use adds lines to its index, drops none, and does not touch the files
    of others.
    """
    present = {
        "MEMORY.md": b"# Mine\n- [Their title](theirs.md) \xe2\x80\x94 their hook\n",
        "theirs.md": b"---\nname: t\n---\nText.\n",
    }

    files = claude_code_memory.build_claude_code_export(
        [topic("Deploys are on Fridays.")], present
    ).files

    assert set(files) == {"MEMORY.md", "a-name.md"}
    index = files["MEMORY.md"].decode().splitlines()
    assert index[0] == "# Mine"
    assert "- [Their title](theirs.md) — their hook" in index
    assert "- [a-name](a-name.md) — Deploys are on Fridays." in index


def test_what_is_no_memory_in_a_folder_of_claude_code_is_said() -> None:
    """Logs, team files, empty files and loose lines of the index are named with the reason."""
    read = claude_code_memory.import_claude_code_memory({
        "MEMORY.md": b"# H\nloose line\n", "logs/2026/01/2026-01-02.md": b"- x\n", "team/a.md": b"t\n", "team/MEMORY.md": b"x\n",
        "empty.md": b"---\nname: e\n---\n",
    })  # fmt: skip

    assert read.topics == ()
    assert {each.where for each in read.ignored} == {
        "MEMORY.md",
        "logs/2026/01/2026-01-02.md",
        "team/a.md",
        "team/MEMORY.md",
        "empty.md",
    }


def test_a_name_that_a_memory_folder_does_not_take_is_changed() -> None:
    """A file whose name would be refused is read under another, and none is lost by it."""
    read = claude_code_memory.import_claude_code_memory(
        {"a\\b.md": b"one", "a-b.md": b"two", "bad. /x\u200b.md": b"three"}
    )

    assert len({each.path for each in read.topics}) == 3
    assert sorted(each.body for each in read.topics) == ["one", "three", "two"]


def test_codex_is_read_by_its_schema() -> None:
    """Profile, preferences, tips, knowledge and notes are memories of their kinds; evidence and
    contents are left, and said.
    """
    read = codex_memory.import_codex_memory(CODEX_FILES)

    assert [(each.kind, each.body) for each in read.topics] == [
        (MemoryKind.FEEDBACK, 'when reviewing, the user asked "cite lines" -> cite file and line'),
        (
            MemoryKind.PROJECT,
            "Totals of the shop. rounding in prices.py\n\n- prices.py rounds each line [Task "
            "1]\n  and the tax too",
        ),
        (
            MemoryKind.PROJECT,
            "Totals of the shop: what failed, and what to do instead. rounding in "
            "prices.py\n\n- total off by a cent -> rounding twice -> round once",
        ),
        (None, "Use pnpm here."),
        (MemoryKind.USER, "Works on a shop; likes proof."),
        (MemoryKind.FEEDBACK, "Be brief."),
        (MemoryKind.PROJECT, "Run make first."),
    ]
    assert set(read.folders.values()) == {("/home/dev/shop",)}
    assert {each.where for each in read.ignored} == {
        "MEMORY.md: Totals of the shop", "memory_summary.md: What's in Memory", "raw_memories.md", "rollout_summaries/", "skills/",
    }  # fmt: skip


def test_raw_memories_are_read_where_no_handbook_is() -> None:
    """Before the first consolidation they are all there is; each holds for the folder of its
    session.
    """
    raw = (
        b"# Raw Memories\n\n## Thread `t-1`\nupdated_at: x\ncwd: /home/dev/shop\n\nraw "
        b"one\n\n## Thread `t-2`\nupdated_at: y\n\nraw two\n"
    )

    read = codex_memory.import_codex_memory({"raw_memories.md": raw})

    assert [each.body for each in read.topics] == ["raw one", "raw two"]
    assert list(read.folders.values()) == [("/home/dev/shop",)]


def test_memories_go_to_codex_as_notes() -> None:
    """Codex makes its own files anew, so a memory goes in as a note; what one holds already is not
    written again.
    """
    made = topic("Use pnpm here.\n\nWhy: the lock file.", name="Use pnpm")

    wrote = codex_memory.export_memories_as_codex_notes([made], CODEX_FILES)
    again = codex_memory.export_memories_as_codex_notes([made], {**CODEX_FILES, **wrote.files})

    assert list(wrote.files) == ["extensions/ad_hoc/notes/1970-01-01T00-00-00-use-pnpm.md"]
    assert codex_memory.import_codex_memory(wrote.files).topics[0].name == "Use pnpm"
    assert wrote.losses == (ExportLoss("a-name.md", ("kind",)),)
    assert again.files == {}


@settings(deadline=None)
@given(st.lists(lines, max_size=4, unique_by=flat))
def test_texts_come_back_from_codex_and_from_instruction_files(texts: list[str]) -> None:
    """Any text, with blank lines, marks and signs of lists in it, comes back word for word."""
    made = [topic(text, path=f"{number}.md") for number, text in enumerate(texts) if text.strip()]

    assert [flat(each) for each in bodies("codex", made)] == [flat(each.body) for each in made]
    assert [flat(each) for each in bodies("instructions", made)] == [
        flat(each.body) for each in made
    ]


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.text("ab -#*", min_size=1, max_size=9), min_size=1, max_size=4), max_size=4
    )
)
def test_lines_and_their_indents_come_back_from_instruction_files(texts: list[list[str]]) -> None:
    """Lines stay lines, and what is set in stays set in."""
    made = [
        topic("\n".join(["x", *text, "y"]) + str(number), path=f"{number}.md")
        for number, text in enumerate(texts)
    ]

    assert bodies("instructions", made) == [each.body.strip() for each in made]


@settings(deadline=None)
@given(st.lists(lines, max_size=4))
def test_a_fact_of_gemini_is_one_line_and_comes_back(texts: list[str]) -> None:
    """What is written is one line without angle brackets; read again it is that line, and what it
    lost is said.
    """
    made = [
        topic(text, None, path=f"{number}.md") for number, text in enumerate(texts) if text.strip()
    ]
    wrote = gemini_memory.export_gemini_memory(made, {})

    found = [each.body for each in gemini_memory.import_gemini_memory(wrote.files).topics]

    assert found == list(
        dict.fromkeys(
            line for line in (gemini_memory.render_gemini_line(each.body) for each in made) if line
        )
    )
    told = {each.path: each.lost_parts for each in wrote.losses}
    assert all(
        "lines" in told[each.path]
        for each in made
        if "\n" in each.body.strip() and gemini_memory.render_gemini_line(each.body)
    )


@settings(deadline=None)
@given(st.lists(lines, max_size=5))
def test_entries_of_hermes_come_back(texts: list[str]) -> None:
    """Each entry comes back as it was; a sign that would part it is taken out, and that is said."""
    made = [topic(text, path=f"{number}.md") for number, text in enumerate(texts) if text.strip()]
    wrote = hermes_memory.export_hermes_memory(made, {})

    found = [each.body for each in hermes_memory.import_hermes_memory(wrote.files).topics]

    plain = [each.body.strip() for each in made if "§" not in each.body and "\r\n" not in each.body]
    assert [each for each in plain if each not in found] == []
    told = {each.path for each in wrote.losses}
    assert not [each.path for each in made if "\n§\n" in each.body and each.path not in told]


def test_hermes_keeps_the_person_apart_and_its_limits() -> None:
    """What is about the person goes to `USER.md`; what does not fit is named as not written."""
    made = [
        topic("Likes short answers.", MemoryKind.USER, path="u.md"),
        topic("Cite lines.", MemoryKind.FEEDBACK, path="f.md"),
        topic("x" * 2_000, path="long.md"),
        topic("y" * 300, path="next.md"),
    ]

    wrote = hermes_memory.export_hermes_memory(made, {"MEMORY.md": "kept ✓".encode()})

    assert wrote.files["USER.md"].decode() == "Likes short answers.\n§\nCite lines."
    assert wrote.files["MEMORY.md"].decode() == "kept ✓\n§\n" + "x" * 2_000
    assert [(each.path, each.is_nothing_written) for each in wrote.losses] == [
        ("f.md", False),
        ("next.md", True),
    ]
    assert [each.kind for each in hermes_memory.import_hermes_memory(wrote.files).topics] == [
        MemoryKind.PROJECT,
        MemoryKind.PROJECT,
        MemoryKind.USER,
        MemoryKind.USER,
    ]


@settings(deadline=None)
@given(st.binary(max_size=60), st.binary(max_size=60), st.booleans())
def test_what_stands_in_an_instruction_file_stays(
    before: bytes, after: bytes, section: bool
) -> None:
    """Only lines are added: every byte of the file is there again, in order, whatever it holds."""
    heading = gemini_memory.GEMINI_HEADING.encode()
    present = (
        before + (b"\n" + heading + b"\n- known\n" if section else b"") + b"\n## Next\n" + after
    )

    wrote = gemini_memory.export_gemini_memory(
        [topic("A new fact.", None)], {"GEMINI.md": present}
    ).files["GEMINI.md"]
    again = gemini_memory.export_gemini_memory(
        [topic("A new fact.", None)], {"GEMINI.md": wrote}
    ).files["GEMINI.md"]

    assert wrote.count(b"- A new fact.") == present.count(b"- A new fact.") + 1
    assert again == wrote
    position = 0
    for line in present.split(b"\n"):
        position = wrote.index(line.rstrip(b"\r"), position) + len(line.rstrip(b"\r"))


def test_the_section_of_gemini_ends_where_its_own_program_ends_it() -> None:
    """At the next heading of two signs; other parts of the file are instructions, and no memories."""
    text = (
        b"# Rules\n- not a memory\n\n## Gemini Added Memories\n- one fact\n- another\n\n## "
        b"Else\n- nor this\n"
    )

    read = gemini_memory.import_gemini_memory({"GEMINI.md": text})

    assert [each.body for each in read.topics] == ["one fact", "another"]
    assert [each.where for each in read.ignored] == ["GEMINI.md"]


def test_an_instruction_file_without_our_section_is_read_by_its_lists() -> None:
    """List entries are memories; prose and code are named as left."""
    text = b"# Rules\nprose\n- Use tabs.\n  Always.\n\n## Code\n```\n- no entry\n```\n"

    read = instruction_files.read_memories_from_instruction_files({"AGENTS.md": text})

    assert [(each.kind, each.body) for each in read.topics] == [
        (MemoryKind.FEEDBACK, "Use tabs.\nAlways.")
    ]
    assert [each.where for each in read.ignored] == ["AGENTS.md: Rules", "AGENTS.md: Code"]


LAID_OUT = """---
description: how we work
---
# Working here

This file provides guidance to an agent. The shop sells books.

1. Number invoices from one.
2) Keep the `ledger` folder small.

## Style

Never write to standard output in a library; every message goes through the log of the
program that uses it.

<!-- Always commit. -->
• Name tests after claims.
❌ Bare excepts
- [ ] Run `make lint` before a commit

| Topic | Rule |
|---|---|
| Dates | UTC everywhere |

```
- not this
```
"""


@pytest.mark.timeout(20)
def test_an_instruction_file_of_comment_marks_and_empty_entries_is_read() -> None:
    """Marks that open a comment which never ends cost no more than the text's length, and an entry
    without a word is no memory.
    """
    text = "# Rules\n\n- Use tabs.\n- - -\n- …\n<!-- a -->\n" + "<!-- " * 100_000

    read = instruction_files.read_memories_from_instruction_files({"AGENTS.md": text.encode()})

    assert [topic.body for topic in read.topics] == ["Use tabs."]


def test_an_instruction_file_is_read_however_it_is_laid_out() -> None:
    """Numbers, boxes, signs, rows of a table, and prose that reads as a rule, also where it wraps."""
    read = instruction_files.read_memories_from_instruction_files(
        {".cursorrules": LAID_OUT.encode()}
    )

    assert {each.body for each in read.topics} == {
        "Number invoices from one.",
        "Keep the `ledger` folder small.",
        "Never write to standard output in a library; every message goes through the log of the "
        "program that uses it.",
        "Name tests after claims.",
        "❌ Bare excepts",
        "Run `make lint` before a commit",
        "Dates: UTC everywhere",
    }
    assert [each.where for each in read.ignored] == [
        ".cursorrules: Working here",
        ".cursorrules: Style",
    ]


@pytest.mark.parametrize("name", ["codex", "gemini", "hermes", "instructions"])
def test_what_a_dialect_cannot_hold_is_said_for_each_memory(name: str) -> None:
    """Kind, name, description, pin, origin, own keys: each is held or named; a superseded memory is
    not shown as true.
    """
    rich = with_header_values(
        topic("Use tabs.", MemoryKind.REFERENCE, name="where tabs are told"),
        {"description": "a hook", "pinned": "true", "own": "x"},
    )
    stated = create_memory_file(
        "s.md",
        kind=None,
        name="s",
        description="s",
        body="s",
        provenance=Provenance(quote="the words", trust=Trust.STATED),
    )
    old = create_memory_file(
        "o.md",
        kind=None,
        name="o",
        description="o",
        body="old",
        provenance=Provenance(status="superseded"),
    )
    dialect = DIALECTS[name]

    told = {each.path: each for each in dialect.write([rich, stated, old], {}).losses}

    assert (
        set(told["a-name.md"].lost_parts)
        == {"kind", "name", "description", "pinned", "other keys"} - dialect.supported_traits
    )
    assert told["s.md"].lost_parts == ("origin",)
    assert told["o.md"].is_nothing_written


def test_claude_code_holds_everything() -> None:
    """Nothing is lost there, so nothing is told."""
    rich = with_header_values(
        topic("See [[other]].\nMore.", MemoryKind.REFERENCE),
        {"description": "a hook", "pinned": "true", "own": "x"},
    )

    assert claude_code_memory.build_claude_code_export([rich], {}).losses == ()


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (CODEX_FILES, "codex"),
        ({"memory_summary.md": SUMMARY}, "codex"),
        ({"MEMORY.md": HANDBOOK}, "codex"),
        ({"MEMORY.md": "one\n§\ntwo".encode()}, "hermes"),
        ({"memories/USER.md": b"who", "memories/MEMORY.md": b"what"}, "hermes"),
        ({"GEMINI.md": b"x"}, "gemini"),
        ({"NOTES.md": b"## Gemini Added Memories\n- x\n"}, "gemini"),
        (
            {
                "MEMORY.md": b"- [A](a.md) - b\n",
                "a.md": b"x",
                "USER.md": b"---\nname: u\ndescription: d\n---\nx",
            },
            "claude-code",
        ),
        ({"a.md": b"---\ntype: user\n---\nx"}, "claude-code"),
        ({"AGENTS.md": b"- x\n"}, "instructions"),
        ({".cursorrules": b"- x\n"}, "instructions"),
        ({".windsurfrules": b"x\n"}, "instructions"),
        ({"copilot-instructions.md": b"x\n"}, "instructions"),
        ({"rules/python.mdc": b"x\n"}, "instructions"),
        ({"README.md": b"- x\n"}, None),
        ({}, None),
    ],
)
def test_a_dialect_is_known_by_its_content(files: dict[str, bytes], name: str | None) -> None:
    """Each layout is recognised, and what is none of them is not taken for one."""
    assert recognise_memory_dialect(files) == name


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["MEMORY.md", "USER.md", "GEMINI.md", "memory_summary.md", "raw_memories.md", "AGENTS.md", "a.md",
                                        "extensions/ad_hoc/notes/x.md"]), st.one_of(st.binary(max_size=80), lines.map(str.encode))))  # fmt: skip
def test_no_content_breaks_a_dialect(files: dict[str, bytes]) -> None:
    """Whatever stands in the files, every dialect reads it, its memories have text and paths of
    their own, and all dialects write them.
    """
    recognise_memory_dialect(files)
    for dialect in DIALECTS.values():
        found = dialect.read(files).topics
        assert len({each.path for each in found}) == len(found)
        assert all(each.body.strip() for each in found)
        for other in DIALECTS.values():
            assert isinstance(other.write(found, files).files, dict)


def test_many_entries_with_the_same_start_get_names_of_their_own() -> None:
    """Names are counted on, so that thousands of entries that begin alike cost no more than others."""
    text = (
        "## Gemini Added Memories\n"
        + "".join(f"- {'the same start of every entry ' * 3}{number}\n" for number in range(60))
        + "- twice\n- twice\n"
    )

    found = gemini_memory.import_gemini_memory({"GEMINI.md": text.encode()}).topics

    assert len(found) == 61
    assert {each.path[-6:] for each in found[1:3]} == {"y-2.md", "y-3.md"}
